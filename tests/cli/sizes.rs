//! At what size to compact: figures worked out by hand, from recordings on disk to the rows that
//! people read.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::desk::Desk;
use crate::growing::session;
use crate::recordings::shared;

/// A desk with these sessions.
fn desk(sessions: &[(&str, Vec<Json>)]) -> Desk {
    let desk = Desk::new();
    for (name, records) in sessions {
        desk.log(&format!("logs/{name}.jsonl"), records);
    }
    desk
}

fn six() -> Desk {
    let names = ["a", "b", "c", "d", "e", "f"];
    desk(&names.map(|name| (name, session(name, 25))))
}

const RUN: &str = "bench logs --strategy prune --questions none --quiet --out run";

fn sizes(desk: &Desk) -> Json {
    desk.json("run/summary.json")["sizes"].clone()
}

/// USD per million at claude-opus-4-6: read 0.5, written for an hour 10, output 25; no other
/// prices for long prompts. A compaction adds 13.4k to the first prompt, 23k of the next one are
/// read from the cache (here the first prompt has 20k, which is written before), 8.7k and three
/// calls are read again, and the summary takes 9k.
///
/// Today: 20k · n read for n = 0 … 24 are 6,000k: 3.0; 500k written: 5.0; 2.5k put out: 0.0625.
///
/// At 200k the prompt of 220k (n = 10) is compacted: the call reads 200k, writes 20k and 1k, and
/// puts out 9k: 0.1 + 0.21 + 0.225. The next prompt has 42.1k: 23k read, 19.1k written, and three
/// calls read it: 0.0115 + 0.191 + 0.06315. 177.9k are gone. At n = 18 it has 202.1k and is
/// compacted again: the call reads 182.1k. Behind it 337.9k are gone.
#[test]
fn bill_at_a_size_is_that_worked_out_by_hand() {
    let desk = six();
    desk.good(&format!("{RUN} --compact-at 200k"));
    let row = desk.csv("run/sizes.csv").remove(0);
    let read = |prompts: std::ops::Range<u64>, gone: f64| -> f64 {
        prompts.map(|n| (20_000.0 * n as f64 - gone) * 0.5e-6).sum()
    };
    let written = 20_000.0 * 10e-6;
    let (today, output) = (3.0 + 5.0 + 0.0625, 0.0625);
    let again = 23_000.0 * 0.5e-6 + 19_100.0 * 10e-6 + 3.0 * 42_100.0 * 0.5e-6;
    let call = |read: f64| read * 0.5e-6 + 21_000.0 * 10e-6 + 9_000.0 * 25e-6;
    let first = read(0..10, 0.0) + 10.0 * written + call(200_000.0) + again;
    let second = read(11..18, 177_900.0) + 7.0 * written + call(182_100.0) + again;
    let third = read(19..25, 337_900.0) + 6.0 * written;
    let number = |field: &str| row[field].parse::<f64>().unwrap();
    assert!((number("today_usd") - today).abs() < 1e-9, "{row:?}");
    let usd = first + second + third + output;
    assert!((number("usd") - usd).abs() < 1e-9, "{row:?}, expected {usd}");
    assert_eq!((&*row["compactions_today"], &*row["compactions"]), ("0", "2"));
    // What people read has the same figures.
    let all = sizes(&desk);
    assert!((all["today_usd"].as_f64().unwrap() - 6.0 * today).abs() < 1e-6);
    let size = &all["sizes"][0];
    assert!((size["usd"].as_f64().unwrap() - 6.0 * usd).abs() < 1e-6, "{size}");
    assert_eq!((size["cheaper"].as_u64(), size["compactions"].as_u64()), (Some(6), Some(12)));
    let text = desk.good("report run").out;
    let bill = format!("${:.2}", 6.0 * usd);
    for words in [&*bill, "200k", "$48.38", "\"autoCompactWindow\": 233000"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Windows, strategies and models that are billed change nothing, nor does a report on the run.
#[test]
fn sizes_are_the_same_whatever_windows_a_run_names() {
    let desk = six();
    let runs = [
        "--window native",
        "--window 100k",
        "--window 25% --window 1m",
        "--window 200k --no-scale --cuts none",
        "--agent-model gpt-5.5",
    ];
    let known = runs.map(|windows| {
        desk.good(&format!("{RUN} {windows}"));
        let own = sizes(&desk);
        desk.good("report run");
        (own, desk.read("run/sizes.csv"))
    });
    assert!(known[0].0["advised"]["Ok"].is_number(), "{}", known[0].0);
    assert!(known.iter().all(|one| *one == known[0]), "{known:?}");
}

/// A fork repeats the history that it continues: it is billed once, and is one family with it.
#[test]
fn forks_are_counted_once_and_are_a_family() {
    let fork = |requests: usize| {
        let mut records = session("a", 25);
        records.truncate(2 * requests);
        let mut other = session("g", 25);
        other[2 * requests]["parentUuid"] = records.last().unwrap()["uuid"].clone();
        records.extend(other.split_off(2 * requests));
        records
    };
    let desk = desk(&[("a", session("a", 25)), ("b", session("b", 25)), ("g", fork(20))]);
    let told = desk.good(RUN).out;
    assert_eq!(sizes(&desk)["none"], json!({"reason": "few", "families": 2}));
    assert!(told.contains("three sessions that are no forks of each other"), "{told}");
    let today = |session: &str| {
        let own = desk.rows("run/receipt.csv", &[&format!("session={session}"), "model=ALL"]);
        own.iter().map(|row| row["usd"].parse::<f64>().unwrap_or(0.0)).fold(0.0, f64::max)
    };
    // The last five of 25 requests are its own.
    assert!(today("g") < 0.5 * today("a"), "{} {}", today("g"), today("a"));
    // The same of files that are named one by one.
    let rows = desk.csv("run/receipt.csv");
    desk.good(&RUN.replace("logs", "logs/a.jsonl logs/b.jsonl logs/g.jsonl"));
    assert_eq!(desk.csv("run/receipt.csv"), rows);
}

/// What is no answer is said in a sentence with what to do, and never as a verdict.
#[test]
fn without_an_answer_a_sentence_says_what_to_do() {
    let short = desk(&["a", "b", "c"].map(|name| (name, session(name, 4))));
    let told = short.good(RUN).out;
    assert!(told.contains("the largest prompt has 80k tokens"), "{told}");
    let mut unpriced = ["a", "b", "c"].map(|name| (name, session(name, 25)));
    for (_, records) in &mut unpriced {
        let answers = records.iter_mut().filter(|record| record["type"] == "assistant");
        answers.for_each(|record| record["message"]["model"] = json!("house-model-1"));
    }
    let told = desk(&unpriced).good(RUN).out;
    assert!(told.contains("house-model-1") && told.contains("--prices FILE"), "{told}");
    assert!(!told.contains("Compacting at"), "{told}");
}

#[test]
fn wrong_sizes_are_refused_and_named_ones_shown() {
    let desk = six();
    let run = |more: &str, code| {
        let ran = desk.recap(&format!("{RUN} {more}"));
        assert_eq!(ran.code, code, "{ran:?}");
        ran.err + &ran.out
    };
    for size in ["0", "soon", "25%", "11m"] {
        let told = run(&format!("--compact-at {size}"), 2);
        assert!(told.contains("is no size of a prompt"), "{size}: {told}");
    }
    desk.file("recap.toml", "compact-at = [\"90k\", \"250000\"]");
    desk.good(RUN);
    let named: Vec<Json> = sizes(&desk)["sizes"].as_array().unwrap().clone();
    let named: Vec<u64> = named.iter().map(|row| row["size"].as_u64().unwrap()).collect();
    assert_eq!(named, [90_000, 250_000]);
}

/// Folders of recordings whose agents have a setting for the size.
const FOLDERS: [&str; 5] =
    ["claude-code-sessions", "cli-more", "context-evaluator", "agentv-codex", "oh-my-posh"];

/// The sessions of a folder, without those of other sources below it.
fn sessions_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let is_session =
        |path: &PathBuf| name(path).ends_with(".jsonl") || name(path).ends_with(".jsonl.gz");
    let mut files: Vec<PathBuf> = entries.filter(is_session).collect();
    files.sort();
    files
}

/// Every dollar and share in sentences is a cell of the tables.
#[track_caller]
fn assert_figures_are_cells(said: &str, tables: &str) {
    let words = |text: &str| -> Vec<String> {
        let trimmed = |word: &str| word.trim_matches(['(', ')', ',', '.', ':', ';']).to_owned();
        text.split_whitespace().map(trimmed).collect()
    };
    let (words, cells) = (words(said), words(tables));
    for amount in words.iter().filter(|word| word.starts_with('$')) {
        assert!(cells.contains(amount), "{amount}: {said}\n{tables}");
    }
    let number = |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
    // A cell is a share, or a range of shares.
    let mut shares: Vec<String> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let is_range = cell.contains('…') || cell.contains('–');
        if is_range || cells.get(at + 1).is_some_and(|next| next == "%") {
            shares.extend(cell.split(['…', '–']).map(number));
        }
    }
    for (at, _) in words.iter().enumerate().filter(|(_, word)| *word == "%") {
        let range = (at >= 3 && words[at - 2] == "to").then(|| &words[at - 3]);
        for share in [&words[at - 1]].into_iter().chain(range) {
            assert!(shares.contains(&number(share)), "{share} %: {said}\n{tables}");
        }
    }
}

/// What stands above the table of sizes, which ends at an empty line.
fn above_sizes(told: &str) -> (&str, &str) {
    let at = told.find(" compacts at ").unwrap_or_else(|| panic!("{told}"));
    let (said, tables) = told.split_at(told[..at].rfind('\n').unwrap());
    (said, tables.split("\n\n").next().unwrap())
}

/// Of agents with sizes, without a setting for them, and without a price: each sentence of the
/// terminal and of `summary.json` rests on the tables that all of it has.
#[test]
fn every_dollar_and_share_of_a_sentence_is_a_cell() {
    let Some(data) = shared("data") else { return };
    let desk = Desk::new();
    for folder in ["agentv-codex", "opencode", "pi-sessions", "gemini-cli"] {
        let path = data.join(folder);
        let told = desk.good(&["bench", path.to_str().unwrap(), "--quiet", "--out", "run"]).out;
        if told.contains(" compacts at ") {
            let (said, sizes) = above_sizes(&told);
            assert_figures_are_cells(said, sizes);
            // The page has questions of the agent's own compactions with both answers.
            let page = desk.read("run/report.html");
            assert!(page.contains("those that it lost first"), "{folder}");
        }
        // What the agent's own compactions kept is a row of the brief table.
        let first = told.find(" compacts at ").or(told.find("\n strategy ")).expect("a table");
        let brief = told[first..].split_once("\n sure ").expect("how sure it is").0;
        let wide = desk.good("report run --wide").out;
        let (said, tables) = wide.split_once("\n next ").expect("what to do next");
        let answer = desk.json("run/summary.json")["answer"].clone();
        let sentences = ["answer", "how_sure", "doubt", "lost", "harness"];
        let sentences = sentences.iter().filter_map(|name| answer[name].as_str());
        let also = answer["also"].as_array().unwrap().iter().filter_map(Json::as_str);
        // The price of the next run is of no table, and the end of that paragraph no figure.
        for sentence in [said].into_iter().chain(sentences).chain(also) {
            let tables = format!("{}\n{brief}", tables.split_once('\n').unwrap().1);
            assert_figures_are_cells(sentence, &tables);
        }
    }
}

/// What each size saves, as a simulation in another language finds it in the same files that was
/// written without looking at this one: within three hundredths of today's bill.
#[test]
fn savings_match_an_independent_simulation() {
    let Some(data) = shared("data") else { return };
    let desk = Desk::new();
    for folder in FOLDERS {
        let files = sessions_of(&data.join(folder));
        let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
        let run = ["--strategy", "prune", "--cuts", "none", "--quiet", "--out", "run"];
        let told = desk.good(&[&["bench"], &paths[..], &run[..]].concat()).out;
        let (said, table) = above_sizes(&told);
        assert_figures_are_cells(said, table);
        let own = sizes(&desk);
        let rows = own["sizes"].as_array().unwrap();
        let value = |name: &str| own["quantities"][name]["value"].clone();
        let quantities = json!({
            "added": value("added"), "cached": value("cached"), "output": value("output"),
            "read_again": value("read_again"), "calls": value("calls"), "counted_output": true,
            "sizes": rows.iter().map(|row| row["size"].clone()).collect::<Vec<_>>(),
        });
        desk.file("quantities.json", quantities.to_string());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulate_sizes.py");
        let mut simulation = Command::new("python3");
        simulation.arg(script).arg(data.join("prices/litellm_model_prices.trimmed.json"));
        let ran = simulation.arg(desk.path("quantities.json")).args(&files).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let other: Json = serde_json::from_slice(&ran.stdout).unwrap();
        let usd = |value: &Json| value.as_f64().unwrap();
        for row in rows {
            let there = &other["sizes"][row["size"].to_string()];
            let saved = usd(&own["today_usd"]) - usd(&row["usd"]);
            let found = usd(&other["today"]) - usd(&there["usd"]);
            let apart = (saved - found).abs() / usd(&own["today_usd"]);
            assert!(apart < 0.01, "{folder} at {}: {saved} and {found}", row["size"]);
        }
    }
}
