//! A run in parts, put together again.

use crate::desk::{Desk, assert_same};
use crate::roles::talk;
use crate::server::{Act, Server};

const WHAT: [&str; 9] = [
    "bench",
    "quickstart",
    "--strategy",
    "fifo",
    "--strategy",
    "session-state",
    "--quiet",
    "--cuts",
    "1",
];

/// Makes these shards of the run.
fn make(desk: &Desk, shards: &[(u32, u32)]) {
    for (index, of) in shards {
        let (shard, out) = (format!("{index}/{of}"), format!("part-{of}-{index}"));
        desk.good(&[&WHAT[..], &["--shard", &shard, "--out", &out]].concat());
    }
}

fn merge(desk: &Desk, shards: &[(u32, u32)], out: &str) -> crate::desk::Ran {
    let parts: Vec<String> = shards.iter().map(|(n, of)| format!("part-{of}-{n}")).collect();
    let parts = parts.iter().map(String::as_str);
    let arguments: Vec<&str> =
        std::iter::once("merge").chain(parts).chain(["--out", out]).collect();
    desk.recap(&arguments)
}

#[test]
fn merged_shards_equal_single_process_run() {
    let desk = Desk::new();
    desk.good(&[&WHAT[..], &["--out", "whole"]].concat());
    // Quickstart has six sessions: some of nine shards have none.
    for of in [1, 2, 9] {
        let shards: Vec<(u32, u32)> = (1..=of).rev().map(|index| (index, of)).collect();
        make(&desk, &shards);
        let out = format!("merged-{of}");
        let merged = merge(&desk, &shards, &out);
        assert_eq!(merged.code, 0, "{merged:?}");
        assert_same(&desk, "whole", &out);
    }
}

/// A model that answers every request by its text.
fn answers() -> Server {
    Server::start(|request| {
        let system = request.body["messages"][0]["content"].as_str().unwrap_or_default();
        let schema = request.body.get("response_format").is_some();
        Act::chat(&if schema {
            r#"{"reason": "it is as good as any", "verdict": "incorrect"}"#.to_owned()
        } else {
            format!("It is {} of {}.", request.text().len(), system.len())
        })
    })
}

/// A data set of three talks: two are the same but for their names.
fn talks(desk: &Desk) {
    talk(desk);
    let all = |file: &str| -> String {
        let one = desk.read(&format!("talk/{file}"));
        let named = |n: usize| {
            let own = one.replace("\"id\":\"talk\"", &format!("\"id\":\"talk-{n}\""));
            let own = own.replace("\"session\":\"talk\"", &format!("\"session\":\"talk-{n}\""));
            let own = own.replace("\"id\":\"p", &format!("\"id\":\"p{n}-"));
            if n == 2 { own.replace("heron", "egret") } else { own }
        };
        (0..3).map(named).collect()
    };
    desk.file("talks/dataset.toml", desk.read("talk/dataset.toml"))
        .file("talks/sessions.jsonl", all("sessions.jsonl"))
        .file("talks/questions.jsonl", all("questions.jsonl"));
}

const ASKED: [&str; 13] = [
    "bench",
    "talks",
    "--window",
    "50%",
    "--strategy",
    "fifo",
    "--cuts",
    "none",
    "--answerer",
    "openai/m",
    "--judge",
    "openai/m",
    "--quiet",
];

fn asked(desk: &Desk, base: &str, more: &[&str]) -> crate::desk::Ran {
    desk.recap_at(base, &[&ASKED[..], more].concat())
}

#[test]
fn merged_shard_cassettes_replay_whole_run() {
    let (desk, server) = (Desk::new(), answers());
    talks(&desk);
    let base = server.base();
    let whole = asked(&desk, &base, &["--cassette=whole.jsonl", "--record", "--out=whole"]);
    assert_eq!(whole.code, 0, "{whole:?}");
    for index in 1..=3 {
        let [shard, out, tape] = [
            format!("--shard={index}/3"),
            format!("--out=part-3-{index}"),
            format!("--cassette=tape-{index}.jsonl"),
        ];
        let ran = asked(&desk, &base, &[&shard, &out, &tape, "--record"]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let parts = ["part-3-2", "part-3-1", "part-3-3"];
    let tapes = ["--cassettes", "tape-2.jsonl", "tape-3.jsonl", "tape-1.jsonl"];
    let merge = [&["merge"], &parts[..], &tapes, &["--out", "merged"]].concat();
    let merged = desk.good(&merge);
    assert!(merged.err.contains("merged/cassette.jsonl"), "{merged:?}");

    // The same calls in the same order with the same replies; times are measured.
    let calls = |file: &str| -> Vec<(String, String)> {
        let lines = desk.read(file);
        let read =
            lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        read.map(|line| (line["key"].to_string(), line["outcome"]["reply"]["text"].to_string()))
            .collect()
    };
    assert_eq!(calls("merged/cassette.jsonl"), calls("whole.jsonl"));
    let tape = desk.read("merged/cassette.jsonl");
    let shared = (1..=3).map(|n| calls(&format!("tape-{n}.jsonl")).len()).sum::<usize>();
    assert!(shared > tape.lines().count(), "two parts made the same calls");
    drop(server);
    let replay = ["--cassette=merged/cassette.jsonl", "--replay", "--out=replayed"];
    let replayed = desk.recap(&[&ASKED[..], &replay].concat());
    assert_eq!(replayed.code, 0, "{replayed:?}");
    std::fs::remove_file(desk.path("merged/cassette.jsonl")).unwrap();
    assert_same(&desk, "merged", "replayed");

    // Another reply to a call of another cassette is a contradiction.
    let first = tape.lines().find(|line| line.contains("\"text\":\"It is ")).unwrap();
    desk.file("odd.jsonl", first.replacen("It is ", "It was ", 1) + "\n");
    let odd = [&["merge"], &parts[..], &tapes, &["odd.jsonl", "--out", "never"]].concat();
    let said = desk.refused(&odd);
    let key = &first[8..20];
    assert!(said.contains(&format!("(key {key}) has one reply in tape-")), "{said}");
    assert!(said.contains("and another in odd.jsonl"), "{said}");
    let gone = [&["merge"], &parts[..], &["--cassettes", "gone.jsonl", "--out", "never"]].concat();
    assert!(desk.refused(&gone).contains("gone.jsonl"));
}

#[test]
fn limits_split_by_calls_and_parts_add_up() {
    let (desk, server) = (Desk::new(), answers());
    talks(&desk);
    let price = r#"{"openai/m": {"input_cost_per_token": 0, "output_cost_per_token": 0}}"#;
    desk.file("prices.json", price);
    let (mut micro, mut calls) = (0, 0);
    let limits = ["--prices=prices.json", "--max-cost=1", "--per-minute=100000"];
    for index in 1..=4 {
        let (shard, out) = (format!("--shard={index}/4"), format!("--out=part-4-{index}"));
        let ran = asked(&desk, &server.base(), &[&limits[..], &[&shard, &out]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let line = ran.err.lines().find(|line| line.contains("of the calls: ")).unwrap();
        let figure = |mark: &str| -> u64 {
            let rest = line.split(mark).nth(1).map_or("0", |rest| rest.split(' ').next().unwrap());
            rest.replace('.', "").parse().unwrap()
        };
        let own = (figure("at most $"), figure("and at most "));
        // Of four parts of three sessions one has none.
        let busy = !line.contains("has 0.00 % of the calls");
        assert_eq!((own.0 > 0, own.1 > 0), (busy, busy), "{line}");
        (micro, calls) = (micro + own.0, calls + own.1);
    }
    assert_eq!((micro, calls), (1_000_000, 100_000), "dollars have six decimals");
    let few = asked(&desk, &server.base(), &["--per-minute=2", "--shard=1/4", "--out=few"]);
    assert_eq!(few.code, 2, "{few:?}");
    assert!(few.err.contains("less than one call a minute for each of the 3 shards"), "{few:?}");
}
