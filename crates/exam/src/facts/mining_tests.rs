//! What a request makes up, restates or says in the words of everybody is no
//! reference, and what the project declares is one.

use serde_json::json;

use super::tests::{FILLER, agent, call, names, result, talk, user};

/// What is mined where an agent makes a call long after it has read a file.
fn mined(file: &str, tool: &str, arguments: serde_json::Value) -> Vec<String> {
    names(&talk(vec![
        user("go"),
        call("1", "read", json!({"file": "notes"})),
        result("1", file),
        agent(FILLER),
        call("2", tool, arguments),
    ]))
}

#[test]
fn plain_word_name_counts_if_code_declares_it() {
    let edit = |text: &str| json!({"new": text});
    for declared in ["func (s *Store) SaveContext(c int) {", "async SaveContext(c) {"] {
        assert_eq!(mined(declared, "edit", edit("s.run(SaveContext)")), ["SaveContext"]);
    }
    assert_eq!(mined("x = SaveContext", "edit", edit("run(SaveContext)")), [""; 0]);
    // A member of an object that is called as anything may be.
    let helper = "func (env *Env) Helper() {}\nenv.Helper()";
    assert_eq!(mined(helper, "edit", edit("env.Helper()")), ["env.Helper"]);
    assert_eq!(mined("env.Helper()", "edit", edit("env.Helper()")), [""; 0]);
    let branch = "On branch fix-tests\nnothing to commit";
    let push = json!({"command": "git push origin fix-tests"});
    assert_eq!(mined(branch, "bash", push.clone()), ["fix-tests"]);
    assert_eq!(mined("fix-tests", "bash", push), [""; 0]);
}

#[test]
fn what_a_request_defines_is_no_fact() {
    let file = "if state.path == staleWorktree {\n\tlet drainedShard = open();\n}";
    let written = |line: &str| mined(file, "write", json!({"content": format!("a\n{line}\nb")}));
    assert_eq!(written("staleWorktree := 1"), [""; 0]);
    assert_eq!(written("check(staleWorktree)"), ["staleWorktree"]);
    assert_eq!(written("let drainedShard = open();"), [""; 0]);
    assert_eq!(written("let other = 1;\nclass staleWorktree:\n  run(staleWorktree)"), [""; 0]);
}

#[test]
fn text_copied_from_edited_file_is_no_fact() {
    let file = "run(drainShardQueue, leaseHolderEpoch)";
    let edit = |path: &str| {
        json!({"file_path": path, "old_string": "drainShardQueue", "new_string":
            "drainShardQueue(leaseHolderEpoch)"})
    };
    // The old text is read again before the edit; what is only in the new one is not.
    assert_eq!(mined(file, "edit", edit("a.rs")), ["leaseHolderEpoch"]);
    let named = json!({"file_path": "a.rs", "old_string": "drainShardQueue", "new_string": "x",
        "why": "drainShardQueue blocks"});
    assert_eq!(mined(file, "edit", named), ["drainShardQueue"], "it is also used elsewhere");
    let patch = |mark: &str| json!({"patch": format!("*** Update File: src/net/pool.rs\n@@\n{mark}run(drainShardQueue)\n")});
    let file = "src/net/pool.rs: run(drainShardQueue)";
    assert_eq!(mined(file, "patch", patch("-")), ["src/net/pool.rs"]);
    assert_eq!(mined(file, "patch", patch(" ")), ["src/net/pool.rs"]);
    assert_eq!(mined(file, "patch", patch("+")), ["drainShardQueue", "src/net/pool.rs"]);
}

#[test]
fn a_drawing_and_a_style_are_no_facts() {
    let write = |text: &str| json!({"content": text});
    let path =
        "M411.699 56.6754C411.699 49.908 407.977 44.1556 394.104 44.1556C377.693 44.1556 372";
    assert_eq!(mined(path, "write", write(&format!("d={path}"))), [""; 0]);
    assert_eq!(mined("took 411.699 ms", "write", write("so 411.699 ms")), ["411.699"]);
    let styled = "<p className=\"lease-holder-7 text-red-4\">";
    assert_eq!(mined(styled, "write", write(styled)), [""; 0]);
}

#[test]
fn redaction_marks_options_own_addresses_are_no_facts() {
    for text in [
        "[REDACTED_TEXT len=178 sha=ed482046]",
        "<REDACTED_SECRET_KEY>",
        "REDACTED_SECRET_KEY",
        "<EMAIL_ADDRESS>",
        "serve --keep-stale-leases",
        "read/write/execute",
        "Linux/macOS/Windows",
        "import { useRouter } from 'next/navigation'",
    ] {
        assert_eq!(mined(text, "bash", json!({"command": text})), [""; 0], "{text}");
    }
    let url = "https://wiki.exp.io/leases?of=shard-7";
    assert_eq!(mined(url, "fetch", json!({"url": url})), [url]);
    let own = talk(vec![
        call("1", "fetch", json!({"url": url})),
        result("1", url),
        agent(FILLER),
        call("2", "fetch", json!({"url": url})),
    ]);
    assert_eq!(names(&own), [""; 0]);
}

#[test]
fn list_sent_again_says_nothing_new() {
    let list = |items: &[&str]| json!({"todos": items});
    let asked = |first: &[&str], second: &[&str]| {
        names(&talk(vec![
            user("go"),
            call("1", "todo", list(first)),
            agent(FILLER),
            call("2", "todo", list(second)),
        ]))
    };
    let item = "mend drainShardQueue in the pool before the next release";
    assert_eq!(asked(&[item], &[item]), [""; 0]);
    assert_eq!(asked(&[item], &["drainShardQueue is mended"]), ["drainShardQueue"]);
}

#[test]
fn previously_written_text_is_never_a_new_fact() {
    let plan = "first: see the pool\nthen: mend drainShardQueue\n";
    let given = |tool: &str, key: &str, text: &str| {
        let written = json!({"path": "p.md", "content": plan});
        let mut given = serde_json::Map::new();
        given.insert(key.to_owned(), text.into());
        names(&talk(vec![
            user("go"),
            call("1", "write", written),
            agent(FILLER),
            call("2", tool, given.into()),
        ]))
    };
    for (tool, key) in [("ExitPlanMode", "plan"), ("submit", "text")] {
        assert_eq!(given(tool, key, plan.trim()), [""; 0], "{tool}");
        let other = "first: mend drainShardQueue\nthen: see the pool";
        assert_eq!(given(tool, key, other), ["drainShardQueue"], "{tool}");
    }
}

#[test]
fn prose_line_is_known_by_form_or_key() {
    let sent = |key: &str, line: &str| {
        let mut sent = serde_json::Map::new();
        sent.insert(key.to_owned(), line.into());
        mined("`pool-warden-lanes`", "todo", sent.into())
    };
    assert_eq!(sent("command", "stop pool-warden-lanes now"), ["pool-warden-lanes"]);
    for key in ["activeForm", "step", "command"] {
        assert_eq!(sent(key, "Stopping the pool-warden-lanes today"), [""; 0], "{key}");
    }
    for key in ["content", "task_description", "taskDescription"] {
        assert_eq!(sent(key, "stop pool-warden-lanes now"), [""; 0], "{key}");
    }
}

#[test]
fn of_references_within_one_another_the_longest_counts() {
    let file = "pool.drainShardQueue in /src/pool/drain_shard.rs";
    let said = json!({"note": "pool.drainShardQueue, drainShardQueue, src/pool/drain_shard.rs, \
                               drain_shard.rs"});
    assert_eq!(mined(file, "note", said), ["pool.drainShardQueue", "src/pool/drain_shard.rs"]);
}

#[test]
fn metadata_folders_are_roots_longest_first() {
    let mut t = talk(Vec::new());
    t.metadata = ["main", "/", "/w", "/w/shop", "w/p"].map(str::to_owned).to_vec();
    assert_eq!(super::mining::roots(&t), ["/w/shop", "/w"]);
}

#[test]
fn longest_nested_reference_counts_in_every_request() {
    let t = talk(vec![
        user("see pool.drainShardQueue"),
        user(FILLER),
        agent("set pool.drainShardQueue, drainShardQueue"),
        user(FILLER),
        agent("set drainShardQueue, pool.drainShardQueue"),
    ]);
    assert_eq!(names(&t), ["pool.drainShardQueue"; 2]);
}

#[test]
fn two_spellings_of_one_path_count_once() {
    let mut t = talk(vec![
        user("src/net/pool_guard.rs"),
        user(FILLER),
        agent("src/net/pool_guard.rs, /w/p/src/net/pool_guard.rs"),
    ]);
    t.metadata = vec!["/w/p".into()];
    t.compactions = vec![super::tests::cut(1, 1, "nothing of it")];
    let exam = super::tests::exam(&t);
    assert_eq!((exam.references.len(), exam.did_without), (0, 1));
}

#[test]
fn prose_binds_no_name() {
    let said = "drainShardQueue = mended";
    let t = talk(vec![user("see drainShardQueue"), user(FILLER), agent(said)]);
    assert_eq!(names(&t), ["drainShardQueue"]);
    assert_eq!(mined("drainShardQueue", "bash", json!({ "command": said })), [""; 0]);
}

#[test]
fn an_argument_of_several_lines_may_be_prose() {
    let sent = |text: &str| mined("`pool-warden-lanes`", "todo", json!({ "command": text }));
    assert_eq!(sent("stop pool-warden-lanes now"), ["pool-warden-lanes"]);
    assert_eq!(sent("stop pool-warden-lanes now\nand go on"), [""; 0]);
}

#[test]
fn calls_with_same_tool_and_strings_are_equal() {
    let reread = |tool: &str, first: serde_json::Value, again: serde_json::Value| {
        let t = talk(vec![
            call("a", "read", first),
            result("a", "fn drainShardQueue"),
            user(FILLER),
            call("b", tool, again),
            result("b", "nothing"),
            agent("drainShardQueue"),
        ]);
        super::tests::exam(&t).references[0].reread
    };
    let described = |text: &str| json!({"path": "lib", "description": text});
    assert!(reread("read", described("first"), described("again")));
    assert!(!reread("open", described("first"), described("first")));
    let listed = |path: &str| json!({"paths": [path], "from": {"line": 7}});
    assert!(reread("read", listed("lib"), listed("lib")));
    assert!(!reread("read", listed("lib"), listed("bin")));
}

/// A cut before request 1, message 3: two requests are looked at.
#[test]
fn facts_are_used_later_and_unsaid_since_cut() {
    let mut t = talk(vec![
        user("drainShardQueue leaseEpochGuard fluxCapacitorPort shardWardenLane laneKeeperSlot"),
        agent("tunnelDrainRate"),
        user("leaseEpochGuard, tunnel_drain_rate"),
        agent("drainShardQueue, leaseEpochGuard, laneKeeperSlot, tunnelDrainRate"),
        agent("fluxCapacitorPort, drainShardQueue"),
        agent("shardWardenLane"),
    ]);
    t.preamble.pinned = vec!["laneKeeperSlot".into()];
    let sizes = [10, 20, 30, 40, 50, 60];
    let kept = |message| super::CompactableMessage { message, cleared: false };
    let place = super::CutPlace {
        request: 1,
        requests: 2,
        left: 3,
        from: 2,
        last: 4,
        material: vec![kept(0), kept(1)],
        recorded: None,
    };
    let facts = super::Mining::new(&t, &sizes, &super::MiningRules::default()).facts_at(&place);
    let actual: Vec<_> = facts.iter().map(|fact| (fact.request, fact.text.as_str())).collect();
    assert_eq!(actual, [(1, "drainShardQueue"), (2, "fluxCapacitorPort")]);
    let fact = &facts[0];
    assert_eq!((fact.last_seen, fact.distance_tokens, fact.refetch), (0, 20, None));
    assert_eq!((&fact.sources[..], fact.reread), (&[0][..], false));
}

/// What is mined of `used` where `before` stood far back and `near` just before it.
fn near(before: &str, near: &str, used: &str) -> Vec<String> {
    names(&talk(vec![user(before), user(FILLER), user(near), agent(used)]))
}

#[test]
fn same_words_nearby_in_other_style_give_a_name_away() {
    let (plain, member, file) = ("drainShardQueue", "pool.drainShardQueue", "net/pool_guard.js");
    let both = "see drain_shard_queue and pool.drainShardQueue";
    for (before, seen, used, expected) in [
        (plain, "go", plain, &[plain][..]),
        (plain, "a drain_shard_queue", plain, &[]),
        (both, "go", member, &[member]),
        (both, "a drainShardQueue", member, &[]),
        (both, "a DRAIN_SHARD_QUEUE", member, &[]),
        // What a file is compiled from, and what has nothing to do with it.
        (file, "src/net/pool_guard.ts", file, &[]),
        (file, "net/pool_guard.py", file, &[file]),
    ] {
        assert_eq!(near(before, seen, used), expected, "{used} after {seen}");
    }
}

#[test]
fn what_follows_from_parts_seen_nearer_is_no_fact() {
    let path = "/w/p/src/net/pool_guard.rs";
    assert_eq!(near(path, "go on", path), [path]);
    for seen in [
        "look into /w/p/src/net for pool_guard.rs",
        "/tmp/tree/src/net/pool_guard.rs",
        "from src.net.pool_guard import open",
        "import { open } from '@/src/net/pool_guard'",
    ] {
        assert_eq!(near(path, seen, path), [""; 0], "{seen}");
    }
    assert_eq!(near(path, "look into /w/p/src/net", path), [path], "the folder alone");
    // Any project may have the file, so the folder is enough.
    assert_eq!(near("src/lanes/mod.rs", "look into src/lanes", "src/lanes/mod.rs"), [""; 0]);
    let dotted = "app.lanes.warden_pool";
    assert_eq!(near(dotted, "app/lanes/warden_pool.py is there", dotted), [""; 0]);
    let quote = "\"failed to drain the shard queue of lane\"";
    assert_eq!(near(quote, "go on", quote).len(), 1);
    assert_eq!(near(quote, "failed to drain the shard\nqueue of lane", quote), [""; 0]);
    assert_eq!(near("warden-lane-7", "warden_lane_7", "warden-lane-7"), [""; 0]);
}

#[test]
fn searched_name_is_not_known_by_that() {
    let searched = |tool: &str, arguments: serde_json::Value| {
        names(&talk(vec![
            user("go"),
            call("1", tool, arguments),
            result("1", "nothing"),
            user(FILLER),
            agent("drainShardQueue"),
        ]))
    };
    for command in [
        "grep -rn drainShardQueue src",
        "cd src && rg 'drainShardQueue'",
        "git grep drainShardQueue",
    ] {
        assert_eq!(searched("bash", json!({ "command": command })), [""; 0], "{command}");
    }
    assert_eq!(searched("Grep", json!({"pattern": "drainShardQueue"})), [""; 0]);
    let run = json!({"command": "grep -c x src | run drainShardQueue"});
    assert_eq!(searched("bash", run), ["drainShardQueue"]);
}

#[test]
fn lines_copied_from_a_file_are_no_facts() {
    let file = "let drainShardQueue = 1;\nrun(leaseEpochGuard);\nstop(laneKeeperSlot);\n";
    let write = |text: String| mined(file, "write", json!({ "content": text }));
    assert_eq!(write(format!("fn moved() {{\n{file}}}")), [""; 0]);
    assert_eq!(write("fn own() {\nrun(leaseEpochGuard);\n}".to_owned()), ["leaseEpochGuard"]);
}

#[test]
fn range_of_git_names_both_ends() {
    for range in ["main..topic/lane-warden", "main...topic/lane-warden", "topic/lane-warden..main"]
    {
        let seen = near("topic/lane-warden", range, "push topic/lane-warden");
        assert_eq!(seen, [""; 0], "{range}");
    }
    let cut_off = near("topic/lane-warden", "see topic/lane-warden...", "push topic/lane-warden");
    assert_eq!(cut_off, ["topic/lane-warden"]);
}

/// A compaction after three messages, with two requests behind it.
#[test]
fn each_identifier_used_again_is_counted_where_it_was() {
    let names = "drainShardQueue leaseEpochGuard fluxCapacitorPort shardWardenLane";
    let mut t = talk(vec![
        user(names),
        agent("I see."),
        user("keep tunnelDrainRate"),
        user("now: fluxCapacitorPort"),
        agent(&format!("{names}, tunnelDrainRate, neverSeenBefore")),
        agent("drainShardQueue again"),
    ]);
    t.compactions = vec![super::tests::cut(3, 2, "It drained drainShardQueue, tunnelDrainRate.")];
    let sizes = [10; 6];
    let place = super::places(&t, &sizes, super::Cuts::Recorded, 1).unwrap().remove(0);
    let mining = super::Mining::new(&t, &sizes, &super::MiningRules::default());
    let again = mining.used_again(&place, &t.compactions[0]);
    // Two in the summary (the kept message has one of them, too), none in the kept message alone,
    // one that the user said again, and two of which the log shows nothing.
    assert_eq!((again.summary, again.kept, again.came_back, again.nowhere), (2, 0, 1, 2));
    t.compactions = vec![super::tests::cut(3, 2, "It went on.")];
    let mining = super::Mining::new(&t, &sizes, &super::MiningRules::default());
    let again = mining.used_again(&place, &t.compactions[0]);
    assert_eq!((again.summary, again.kept, again.came_back, again.nowhere), (0, 1, 1, 3));
    assert_eq!(again.all(), 5);
}
