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
fn a_name_of_plain_words_counts_if_the_code_declares_it() {
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
fn a_name_that_new_code_binds_is_new_unless_the_line_was_read() {
    let file = "if state.path == staleWorktree {\n\tlet drainedShard = open();\n}";
    let written = |line: &str| mined(file, "write", json!({"content": format!("a\n{line}\nb")}));
    assert_eq!(written("staleWorktree := 1"), [""; 0]);
    assert_eq!(written("check(staleWorktree)"), ["staleWorktree"]);
    assert_eq!(written("let drainedShard = open();"), ["drainedShard"]);
    assert_eq!(written("let drainedShard = close();"), [""; 0]);
}

#[test]
fn what_an_edit_replaces_was_read_however_plain_its_words() {
    let file = "run(readConfig)";
    let edit = json!({"old_string": "readConfig", "new_string": "loadConfig"});
    assert_eq!(mined(file, "edit", edit), ["readConfig"]);
    let patch =
        |mark: &str| json!({"patch": format!("*** Update File: a\n@@\n{mark}run(readConfig)\n")});
    assert_eq!(mined(file, "patch", patch("-")), ["readConfig"]);
    assert_eq!(mined(file, "patch", patch("+")), [""; 0]);
    let idiom = json!({"old_string": "it.toHaveBeenCalledTimes(1)"});
    assert_eq!(mined("it.toHaveBeenCalledTimes(1)", "edit", idiom), [""; 0]);
}

#[test]
fn a_list_that_is_sent_again_and_a_plan_from_its_file_say_nothing_new() {
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
    let plan = json!({"plan": "mend drainShardQueue", "planFilePath": "p.md"});
    assert_eq!(mined("drainShardQueue", "ExitPlanMode", plan.clone()), [""; 0]);
    assert_eq!(mined("drainShardQueue", "Write", plan), ["drainShardQueue"]);
}

#[test]
fn of_references_within_one_another_the_longest_counts() {
    let file = "pool.drainShardQueue in /src/pool/drain_shard.rs";
    let said = json!({"note": "pool.drainShardQueue, drainShardQueue, src/pool/drain_shard.rs, \
                               drain_shard.rs"});
    assert_eq!(mined(file, "note", said), ["pool.drainShardQueue", "src/pool/drain_shard.rs"]);
}
