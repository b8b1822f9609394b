//! `results.parquet` as DuckDB and pandas read it, against `questions.csv`. With
//! the cargo feature `parquet` alone.
#![cfg(feature = "parquet")]

use std::path::Path;
use std::process::Command;

use crate::test_tools::tool;

/// Reads both files and compares every field; CSV rounds and defuses, Parquet does neither.
const COMPARE: &str = r#"
import csv, sys
import duckdb, pandas
run = sys.argv[1]
with open(run + "/questions.csv", newline="", encoding="utf-8") as file:
    expected = list(csv.DictReader(file))
frame = pandas.read_parquet(run + "/results.parquet")
query = duckdb.sql(f"select * from '{run}/results.parquet'")
assert list(frame.columns) == list(expected[0]) == query.columns, frame.columns

def same(written, read):
    if read is None or (not isinstance(read, str) and pandas.isna(read)):
        return written == ""
    if isinstance(read, str):
        return written == ("'" + read if read[:1] in tuple("=+-@\t\r") else read)
    if isinstance(read, bool) or type(read).__name__ == "bool_":
        return written == str(bool(read)).lower()
    return abs(float(written) - float(read)) <= 5e-7

for name, rows in (("duckdb", query.fetchall()), ("pandas", frame.itertuples(index=False, name=None))):
    rows = list(rows)
    assert len(rows) == len(expected), (name, len(rows), len(expected))
    for line, (want, got) in enumerate(zip(expected, rows)):
        for column, read in zip(want, got):
            assert same(want[column], read), (name, line, column, want[column], read)
types = dict(zip(query.columns, map(str, query.types)))
assert types["score"] == "DOUBLE" and types["findable"] == "BOOLEAN", types
assert types["age_tokens"] == "UBIGINT" and types["question"] == "VARCHAR", types
kept = duckdb.sql(f"select strategy, avg(score) from '{run}/results.parquet' group by 1").fetchall()
print(len(expected), "rows,", len(kept), "strategies")
"#;

/// A run over the bundled session with every format, or without its words.
fn run(out: &Path, more: &[&str]) {
    let mut recap = Command::new(env!("CARGO_BIN_EXE_recap"));
    let strategies = ["--strategy", "fifo", "--strategy", "prune", "--format", "csv,parquet"];
    let status = recap.args(["bench", "--quiet", "--out"]).arg(out).args(strategies).args(more);
    assert!(status.output().unwrap().status.success());
}

/// What the readers make of a run; `None` where they are not installed.
fn compared(out: &Path) -> Option<String> {
    let mut python = Command::new(tool("RECAP_RELEASE_TOOLS", "python")?);
    let said = python.args(["-c", COMPARE]).arg(out).output().unwrap();
    let errors = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{errors}");
    Some(String::from_utf8(said.stdout).unwrap())
}

#[test]
fn duckdb_and_pandas_read_what_the_csv_says() {
    let out = tempfile::tempdir().unwrap();
    run(out.path(), &[]);
    let Some(said) = compared(out.path()) else { return };
    let rows: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!(rows > 100 && said.ends_with(" strategies\n"), "{said}");
}

#[test]
fn run_without_text_has_no_words_in_parquet() {
    let out = tempfile::tempdir().unwrap();
    run(out.path(), &["--no-text"]);
    compared(out.path());
    let bytes = std::fs::read(out.path().join("results.parquet")).unwrap();
    let questions = std::fs::read_to_string(out.path().join("questions.csv")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && questions.lines().count() > 100);
    let csv = csv::Reader::from_reader(questions.as_bytes()).into_records().map(Result::unwrap);
    assert!(
        csv.into_iter().all(|record| record.iter().nth(21) == Some("")),
        "questions are left out"
    );
}

#[test]
fn questionless_run_has_empty_table_with_every_column() {
    let out = tempfile::tempdir().unwrap();
    let mut recap = Command::new(env!("CARGO_BIN_EXE_recap"));
    let replay = recap.args(["replay", "--quiet", "--strategy", "fifo", "--out"]).arg(out.path());
    assert!(replay.output().unwrap().status.success());
    let Some(python) = tool("RECAP_RELEASE_TOOLS", "python") else { return };
    let read = "import pandas, sys; print(pandas.read_parquet(sys.argv[1]).shape)";
    let file = out.path().join("results.parquet");
    let said = Command::new(python).args(["-c", read]).arg(file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "(0, 27)\n");
}
