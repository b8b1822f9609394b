//! A run in parts, put together again.

use crate::desk::{Desk, assert_same};
use crate::roles::talk;
use crate::server::{Act, Server};

#[test]
fn merged_shards_equal_single_process_run() {
    let desk = Desk::new();
    let bench = "bench quickstart --strategy fifo,session-state --quiet --cuts 1 --out";
    desk.good(&format!("{bench} whole"));
    // Quickstart has six sessions: some of nine shards have none.
    for of in [1, 2, 9] {
        let mut merge = format!("merge --out merged-{of}");
        for index in (1..=of).rev() {
            desk.good(&format!("{bench} part-{of}-{index} --shard {index}/{of}"));
            merge += &format!(" part-{of}-{index}");
        }
        desk.good(&merge);
        assert_same(&desk, "whole", &format!("merged-{of}"));
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

const ASKED: &str = "bench talks --window 50% --strategy fifo --cuts none --answerer openai/m \
                     --judge openai/m --quiet";

fn asked(desk: &Desk, base: &str, more: &str) -> crate::desk::Ran {
    desk.recap_at(base, &format!("{ASKED} {more}"))
}

#[test]
fn merged_shard_cassettes_replay_whole_run() {
    let (desk, server) = (Desk::new(), answers());
    talks(&desk);
    let base = server.base();
    let whole = asked(&desk, &base, "--cassette whole.jsonl --record --out whole");
    assert_eq!(whole.code, 0, "{whole:?}");
    for n in 1..=3 {
        let part = format!("--shard {n}/3 --out part-3-{n} --cassette tape-{n}.jsonl --record");
        let ran = asked(&desk, &base, &part);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let merge = "merge part-3-2 part-3-1 part-3-3 --out";
    let tapes = "--cassettes tape-2.jsonl tape-3.jsonl tape-1.jsonl";
    let merged = desk.good(&format!("{merge} merged {tapes}"));
    assert!(merged.err.contains("merged/cassette.jsonl"), "{merged:?}");

    // The same calls in the same order with the same replies; times are measured.
    let calls = |file: &str| -> Vec<[String; 2]> {
        let call = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            [&line["key"], &line["outcome"]["reply"]["text"]].map(ToString::to_string)
        };
        desk.read(file).lines().map(call).collect()
    };
    assert_eq!(calls("merged/cassette.jsonl"), calls("whole.jsonl"));
    let tape = desk.read("merged/cassette.jsonl");
    let shared = (1..=3).map(|n| calls(&format!("tape-{n}.jsonl")).len()).sum::<usize>();
    assert!(shared > tape.lines().count(), "two parts made the same calls");
    drop(server);
    desk.good(&format!("{ASKED} --cassette merged/cassette.jsonl --replay --out replayed"));
    std::fs::remove_file(desk.path("merged/cassette.jsonl")).unwrap();
    assert_same(&desk, "merged", "replayed");

    // Another reply to a call of another cassette is a contradiction.
    let first = tape.lines().find(|line| line.contains("\"text\":\"It is ")).unwrap();
    desk.file("odd.jsonl", first.replacen("It is ", "It was ", 1) + "\n");
    let said = desk.refused(&format!("{merge} never {tapes} odd.jsonl"));
    let key = &first[8..20];
    assert!(said.contains(&format!("(key {key}) has one reply in tape-")), "{said}");
    assert!(said.contains("and another in odd.jsonl"), "{said}");
    let gone = desk.refused(&format!("{merge} never --cassettes gone.jsonl"));
    assert!(gone.contains("gone.jsonl"));
}

#[test]
fn each_shard_has_an_equal_part_of_the_limits() {
    let (desk, server) = (Desk::new(), answers());
    talks(&desk);
    let price = r#"{"openai/m": {"input_cost_per_token": 1, "output_cost_per_token": 1}}"#;
    desk.file("prices.json", price);
    let capped =
        asked(&desk, &server.base(), "--prices prices.json --max-cost 2 --shard 1/4 --out capped");
    assert_eq!(capped.code, 2, "{capped:?}");
    assert!(capped.err.contains("--max-cost allows $0.50"), "{capped:?}");
    let few = asked(&desk, &server.base(), "--per-minute 2 --shard 1/4 --out few");
    assert_eq!(few.code, 2, "{few:?}");
    assert!(few.err.contains("less than one call a minute for each of the 4 shards"), "{few:?}");
}
