//! The parts of the documents that are made from the program's output, and the
//! columns of its files; `tests/common/generated.rs` says how they are written
//! anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use recap::model::catalogue;

use crate::desk::Desk;
use crate::generated_parts::hold;

#[test]
fn bench_without_arguments_prints_the_table_of_the_readme_and_the_path_of_the_page() {
    let desk = Desk::new();
    let ran = desk.good(&["bench"]);
    let page = ran.last().strip_prefix(" page     ").expect("the last line is the path");
    assert!(desk.path(page).is_file(), "{page}");
    assert!(page.starts_with("reports/") && page.ends_with("-quickstart/report.html"), "{page}");
    for name in ["quickstart", "full", "fifo", "prune", "sliding-window", " requests"] {
        assert!(ran.out.contains(name), "{name} is missing in\n{}", ran.out);
    }
    assert!(ran.err.contains(" cells"), "{}", ran.err);
    let (table, _) = ran.out.trim_end().rsplit_once('\n').unwrap();
    hold("README.md", "table", &format!("```text\n{table}\n```\n"));
}

/// The commands that a command lists in its help.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What explains a command may take several lines.
    let named = listed.filter_map(|line| line.strip_prefix("  "));
    let named = named.filter(|line| !line.starts_with(' '));
    named.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect()
}

/// Help without the lines that name the command itself.
fn options(help: &str) -> Option<&str> {
    help.split_once("\nUsage: ").and_then(|(_, rest)| rest.split_once('\n')).map(|(_, rest)| rest)
}

/// The help of a command, as wide as where there is no terminal.
fn help_of(desk: &Desk, path: &[&str]) -> String {
    let ran = desk.recap_with(&[("COLUMNS", "100")], &[path, &["--help"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

/// Writes the help of a command and of those under it.
fn describe(desk: &Desk, path: &[&str], page: &mut String) {
    let help = help_of(desk, path);
    let name = [&["recap"], path].concat().join(" ");
    if path == ["replay"] && options(&help) == options(&help_of(desk, &["bench"])) {
        let (about, _) = help.split_once('\n').unwrap();
        writeln!(page, "## {name}\n\n{about}. Arguments and options: those of `recap bench`.\n")
            .unwrap();
        return;
    }
    writeln!(page, "## {name}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    for command in commands(&help) {
        describe(desk, &[path, &[command]].concat(), page);
    }
}

// With Parquet the formats' default is another.
#[cfg(not(feature = "parquet"))]
#[test]
fn the_page_of_commands_is_what_help_prints() {
    let mut page = String::new();
    describe(&Desk::new(), &[], &mut page);
    // A line that ends with blanks would be changed by editors.
    let lines: Vec<&str> = page.lines().map(str::trim_end).collect();
    hold("docs/commands.md", "help", &format!("{}\n", lines.join("\n")));
}

/// Columns that the tables under a heading of the page name in their first cells.
fn described(page: &str, heading: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| *line != format!("### {heading}")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('#'));
    let cells = lines.filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`')));
    names.map(str::to_owned).collect()
}

#[test]
fn every_column_of_every_file_is_described_and_no_other() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/files.md");
    let page = fs::read_to_string(page).unwrap();
    let keys = described(&page, "Columns that name a row");
    let desk = Desk::with_run(&[]);
    let files: Vec<String> =
        desk.list("run").into_iter().filter(|name| name.ends_with(".csv")).collect();
    assert_eq!(files.len(), 12, "{files:?}");
    for file in files {
        let mut known = described(&page, &file);
        let header = desk.read(&format!("run/{file}"));
        let header = header.lines().next().unwrap().split(',');
        let columns: BTreeSet<String> = header
            .filter(|name| !keys.contains(*name) || known.contains(*name))
            .map(str::to_owned)
            .collect();
        if file == "summary.csv" {
            assert!(known.is_subset(&columns), "{known:?}");
            known.extend(catalogue::all().map(|measure| measure.id.to_owned()));
            assert!(columns.is_subset(&known), "{:?}", columns.difference(&known));
        } else {
            assert_eq!(known, columns, "{file}");
        }
    }
}
