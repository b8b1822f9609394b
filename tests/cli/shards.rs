//! A run in parts, put together again.

use crate::desk::{Desk, assert_same};

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
fn shards_put_together_are_the_run_of_one_process() {
    let desk = Desk::new();
    desk.good(&[&WHAT[..], &["--out", "whole"]].concat());
    // Quickstart has six sessions: of eight shards two have none.
    for of in [1, 2, 8] {
        let shards: Vec<(u32, u32)> = (1..=of).rev().map(|index| (index, of)).collect();
        make(&desk, &shards);
        let out = format!("merged-{of}");
        let merged = merge(&desk, &shards, &out);
        assert_eq!(merged.code, 0, "{merged:?}");
        assert_same(&desk, "whole", &out);
    }
}

#[test]
fn shards_that_are_missing_doubled_or_of_another_run_are_refused_by_name() {
    let desk = Desk::new();
    make(&desk, &[(1, 2), (2, 2), (3, 3)]);
    desk.good(&[&WHAT[..], &["--out", "part-0-0"]].concat());
    let refused = |shards: &[(u32, u32)], code: i32, says: &str| {
        let ran = merge(&desk, shards, "merged");
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.contains(says) && ran.err.contains("help: "), "{ran:?}");
        assert!(!desk.path("merged").exists(), "nothing was written");
    };
    refused(&[(1, 2)], 3, "of 2 shards these are missing: 2");
    refused(&[(1, 2), (1, 2)], 2, "part-2-1 and part-2-1 are both shard 1/2");
    refused(&[(1, 2), (3, 3)], 2, "part-3-3: this is a shard of another run than part-2-1");
    refused(&[(0, 0), (2, 2)], 2, "part-0-0: this is a whole run, not a shard of one");
    refused(&[(1, 2), (9, 9)], 2, "part-9-9");
    // The late one comes, and the merge succeeds; a shard is never written over.
    assert_eq!(merge(&desk, &[(2, 2), (1, 2)], "merged").code, 0);
    let same = desk.refused(&["merge", "part-2-1", "part-2-2", "--out", "part-2-1"]);
    assert!(same.contains("--out is one of the shards"), "{same}");
}

/// In a build without them; `destinations.rs` has the others.
#[cfg(not(feature = "destinations"))]
#[test]
fn a_program_without_destinations_says_how_to_get_one_that_has_them() {
    let desk = Desk::new();
    for address in ["s3://bucket/a", "file:///shared"] {
        let told = desk.refused(&[&WHAT[..], &["--shard=1/2", "--out", address]].concat());
        assert!(told.contains("built without destinations"), "{told}");
        assert!(told.contains("--features destinations"), "{told}");
        let told = desk.refused(&["merge", address, "--out", "merged"]);
        assert!(told.contains("--features destinations"), "{told}");
    }
}

#[test]
fn a_shard_is_a_number_of_as_many_as_there_are() {
    let desk = Desk::new();
    for typed in ["0/2", "3/2", "1", "a/b", "1/0", "1/200000", "-1/2"] {
        let shard = format!("--shard={typed}");
        let ran = desk.recap(&[&WHAT[..], &[shard.as_str(), "--out", "run"]].concat());
        assert!(ran.code == 2 && ran.err.contains("shard"), "{typed}: {ran:?}");
    }
    let model = [
        "--questions",
        "openai/m",
        "--cassette",
        "t.jsonl",
        "--record",
        "--shard=1/2",
        "--out=run",
    ];
    let said = desk.refused(&[&WHAT[..], &model].concat());
    assert!(said.contains("recap probes generate"), "{said}");
}
