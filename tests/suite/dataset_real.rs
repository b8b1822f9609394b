//! Counts on real recordings, which are not part of the repository.

use crate::common::shared;
use crate::outline::dataset;
use jiff::Timestamp;
use recap_core::clock::{PROFILE, Timeline};
use recap_core::model::{RecordedTrigger, Role, Session};
use recap_formats::{Dataset, LoadOptions, load, write_native};

fn data(name: &str) -> Option<Dataset> {
    let path = shared(&format!("data/{name}"))?;
    Some(dataset(path))
}

fn results(session: &Session) -> usize {
    let messages = session.messages.iter();
    messages.filter(|m| m.tool_result().is_some()).count()
}

#[test]
fn claude_code_sessions_keep_every_result_and_compaction() {
    let Some(dataset) = data("claude-code-sessions") else { return };
    use RecordedTrigger::{Auto, Manual};
    // One response of 1e0816ef was rewound (its text is not in the file), and
    // vibecodingtracker holds one result twice: a resumed session copied it.
    // File, tool results, requests, compactions (trigger, tokens before).
    type Row = (&'static str, usize, usize, Vec<(RecordedTrigger, u64)>);
    let expected: Vec<Row> = vec![
        ("1284c080", 248, 258, vec![(Auto, 167_471), (Auto, 167_448)]),
        ("1e0816ef", 207, 203, vec![(Auto, 167_979), (Manual, 149_025)]),
        ("67d765b5", 61, 61, vec![(Manual, 163_509)]),
        ("53ea1606", 85, 50, vec![(Auto, 174_247)]),
        ("3ae3ab59", 87, 76, vec![(Auto, 171_646)]),
        ("4f8c1176", 72, 58, vec![(Auto, 167_361)]),
        ("e37675fd", 40, 21, vec![]),
        ("0cd9edf7", 55, 57, vec![(Auto, 58_573)]),
        ("cde341db", 66, 66, vec![]),
        ("ae68c513", 41, 30, vec![]),
        ("6da7d497", 3, 6, vec![]),
        ("agentcmd-full-session-four", 27, 30, vec![]),
        ("agentcmd-full-session-two", 10, 11, vec![]),
        ("vibecodingtracker", 31, 32, vec![]),
    ];
    for (id, tool_results, requests, compactions) in expected {
        let found = dataset.sessions.iter().find(|t| t.id.starts_with(id));
        let session = found.unwrap_or_else(|| panic!("no session {id}"));
        assert_eq!(results(session), tool_results, "results of {id}");
        assert_eq!(session.requests().count(), requests, "requests of {id}");
        let made: Vec<_> =
            session.compactions.iter().map(|c| (c.trigger, c.tokens_before.unwrap_or(0))).collect();
        assert_eq!(made, compactions, "compactions of {id}");
    }
}

#[test]
fn pi_session_keeps_messages_and_what_compactions_kept() {
    let Some(dataset) = data("pi-sessions") else { return };
    assert_eq!(dataset.sessions.len(), 1);
    let session = &dataset.sessions[0];
    // 55 user, 484 assistant, 448 results, 3 commands of the user.
    assert_eq!(session.messages.len(), 990);
    assert_eq!(results(session), 448);
    let users = session.messages.iter().filter(|m| m.opens_exchange());
    assert_eq!(users.count(), 58);
    let letters = |text: &String| text.chars().count();
    let made = session.compactions.iter();
    let made =
        made.map(|c| (c.after, c.kept_from, c.tokens_before, c.summary.as_ref().map(letters)));
    let made: Vec<_> = made.collect();
    // Entries 359 and 628 are the compactions, 293 and 551 what they kept;
    // before them stand the session entry, 4 level changes and, for the
    // second, the first compaction.
    assert_eq!(made[0], (354, 288, Some(175_004), Some(4_291)));
    assert_eq!(made[1], (622, 545, Some(185_014), Some(3_649)));
    assert_eq!(session.messages[288].role, Role::User);
    assert_eq!(session.messages[545].role, Role::User);
    let largest = session.messages.iter().filter_map(|m| m.usage.map(|u| u.prompt()));
    assert_eq!(largest.max(), Some(184_915));
}

#[test]
fn codex_rollouts_keep_every_call_response_and_count() {
    let Some(dataset) = data("codex-rollouts") else { return };
    // Tool calls with their results, web searches (the provider keeps what
    // they found), responses, largest prompt, compactions, and the totals of
    // prompts and outputs that the last event of each file reports.
    type Row = (&'static str, usize, usize, usize, u64, usize, [u64; 2]);
    let expected: [Row; 4] = [
        ("agentcmd-rollout-2025-09-24T19-22-20", 123, 0, 132, 96_338, 0, [7_494_343, 99_678]),
        ("agentcmd-rollout-2025-09-24T20-12-23", 16, 0, 18, 16_579, 0, [149_449, 4_808]),
        ("localpush-redacted-2026-02-23T12-54-34", 365, 7, 286, 209_950, 1, [33_810_485, 133_999]),
        ("vibecodingtracker-codex", 19, 0, 19, 22_279, 0, [270_530, 12_551]),
    ];
    assert_eq!(dataset.sessions.len(), expected.len());
    for (session, (id, called, searches, requests, largest, compactions, totals)) in
        dataset.sessions.iter().zip(expected)
    {
        assert_eq!(session.id, id);
        assert_eq!(results(session), called, "{id}");
        let calls = session.calls();
        assert_eq!(calls.len(), called + searches, "{id}");
        let open = calls.iter().filter(|c| c.result.is_none());
        assert!(open.clone().all(|c| c.tool == "web_search"), "{id}");
        assert_eq!(open.count(), searches, "{id}");
        assert_eq!(session.requests().count(), requests, "{id}");
        let usage = session.requests().map(|at| session.messages[at as usize].usage);
        let usage: Option<Vec<_>> = usage.collect();
        let usage = usage.unwrap_or_else(|| panic!("{id}: a response was not counted"));
        assert!(usage.iter().all(|u| u.output_final && u.output > 0), "{id}");
        assert_eq!(usage.iter().map(|u| u.prompt()).max(), Some(largest), "{id}");
        let sums: [u64; 2] =
            [usage.iter().map(|u| u.prompt()).sum(), usage.iter().map(|u| u.output).sum()];
        assert_eq!(sums, totals, "{id}");
        assert_eq!(session.compactions.len(), compactions, "{id}");
    }
    let redacted = &dataset.sessions[2];
    let last = redacted.requests().last().expect("it has requests");
    assert_eq!(redacted.messages[last as usize].usage.map(|u| u.prompt()), Some(162_073));
    assert_eq!(redacted.compactions[0].summary, None);
    assert_eq!(redacted.left_out["encrypted summary"], 1);
    assert_eq!(redacted.compactions[0].tokens_before, Some(209_950));
    assert!(dataset.warnings.iter().any(|w| w.contains("encrypted")), "{:?}", dataset.warnings);
}

#[test]
fn newer_codex_rollouts_keep_tool_searches_and_window() {
    let Some(dataset) = data("agentv-codex") else { return };
    // Counted from the events of each file: responses, those without a count (a
    // turn was aborted, or the log ends in them), calls, results, compactions,
    // and the sums of prompts and outputs.
    type Row = (&'static str, [usize; 5], [u64; 2]);
    let expected: [Row; 7] = [
        ("019ed893", [278, 0, 447, 443, 1], [34_300_017, 82_098]),
        ("019ed99c", [217, 0, 342, 342, 2], [27_745_385, 73_827]),
        ("019eecb9", [142, 2, 280, 266, 1], [19_673_344, 61_344]),
        ("019efc87", [173, 1, 318, 316, 1], [19_562_425, 57_203]),
        ("019f05f8", [61, 0, 111, 111, 0], [3_044_675, 15_834]),
        ("019f1111", [172, 0, 352, 352, 1], [19_615_319, 69_209]),
        ("019f1d64", [112, 0, 221, 221, 0], [15_572_605, 39_666]),
    ];
    assert_eq!(dataset.sessions.len(), expected.len());
    for (session, (id, counts, sums)) in dataset.sessions.iter().zip(expected) {
        assert!(session.id.starts_with(id), "{}", session.id);
        let usages: Vec<_> = session.messages.iter().filter_map(|m| m.usage).collect();
        let (requests, made) = (session.requests().count(), &session.compactions);
        let uncounted = requests - usages.len();
        let found = [requests, uncounted, session.calls().len(), results(session), made.len()];
        assert_eq!(found, counts, "{id}");
        let prompts = usages.iter().map(|usage| usage.prompt()).sum::<u64>();
        assert_eq!([prompts, usages.iter().map(|usage| usage.output).sum()], sums, "{id}");
        assert_eq!(session.window, Some(258_400), "{id}");
        let pinned = session.preamble.pinned.concat();
        assert!(pinned.contains("# AGENTS.md") && pinned.contains("<environment_context>"), "{id}");
        let why = Some("its summary was taken out of the recording");
        assert!(made.iter().all(|compaction| compaction.unreadable.as_deref() == why), "{id}");
    }
}

#[test]
fn opencode_sessions_keep_every_step_result_and_compaction() {
    let Some(dataset) = data("opencode") else { return };
    // Name, user messages, steps, tool parts, largest prompt, summaries and
    // prunings. Of the steps, four of an aborted response and a request that
    // was still under way are left out, and of the user messages the question
    // for the summary.
    type Row = (&'static str, usize, usize, usize, u64, [usize; 2]);
    let expected: [Row; 5] = [
        ("curious-sailor", 4, 34, 47, 118_767, [1, 1]),
        ("kind-meadow", 12, 65, 87, 51_224, [0, 0]),
        ("neon-river", 3, 6, 15, 33_863, [0, 0]),
        ("nimble-pixel", 2, 5, 4, 18_430, [0, 0]),
        ("silent-panda", 4, 57, 102, 119_785, [0, 1]),
    ];
    assert_eq!(dataset.sessions.len(), expected.len());
    for (session, (name, users, steps, tools, largest, boundaries)) in
        dataset.sessions.iter().zip(expected)
    {
        assert!(session.id.contains(name), "{}", session.id);
        let said = session.messages.iter().filter(|m| m.opens_exchange());
        assert_eq!(said.count(), users, "{name}");
        assert_eq!(session.requests().count(), steps, "{name}");
        assert_eq!(results(session), tools, "{name}");
        assert_eq!(session.messages.len(), users + steps + tools, "{name}");
        let usage = session.requests().map(|at| session.messages[at as usize].usage);
        let usage: Option<Vec<_>> = usage.collect();
        let usage = usage.unwrap_or_else(|| panic!("{name}: a step was not counted"));
        assert_eq!(usage.iter().map(|u| u.prompt()).max(), Some(largest), "{name}");
        let made = &session.compactions;
        let folded = made.iter().filter(|c| c.summary.is_some()).count();
        assert_eq!([folded, made.len() - folded], boundaries, "{name}");
        assert_eq!(session.model.as_deref(), Some("gpt-5.3-codex"), "{name}");
    }
    let [pruned, folded] = &dataset.sessions[0].compactions[..] else { panic!() };
    assert_eq!((pruned.after, pruned.cleared.len()), (85, 20));
    let summary = folded.summary.as_deref().map(|text| text.chars().count());
    assert_eq!((folded.trigger, summary), (RecordedTrigger::Manual, Some(4_062)));
    let call = folded.call.as_ref().expect("its call is on record");
    assert_eq!((call.usage.prompt(), call.usage.output), (53_375, 1_007));
    // Behind two aborted responses, in front of the next question.
    let [pruned] = &dataset.sessions[4].compactions[..] else { panic!() };
    assert_eq!(pruned.cleared.len(), 31);
    assert_eq!(dataset.sessions[4].messages[pruned.after as usize].sent(), "Then for it ");
}

/// Messages, results, calls without one, requests, largest prompt, all outputs.
fn counts(session: &Session) -> [u64; 6] {
    let usages = session.messages.iter().filter_map(|message| message.usage);
    let open = session.calls().iter().filter(|call| call.result.is_none()).count();
    [
        session.messages.len() as u64,
        results(session) as u64,
        open as u64,
        session.requests().count() as u64,
        usages.clone().map(|usage| usage.prompt()).max().unwrap_or(0),
        usages.map(|usage| usage.output).sum(),
    ]
}

#[test]
fn gemini_cli_sessions_keep_every_response_and_call() {
    let Some(dataset) = data("gemini-cli") else { return };
    // Notes to the user are left out; a message has its calls and results.
    let expected = [
        ("agentcmd-session-2025-10-27T19-55", [31, 13, 0, 15, 9_198, 6_456]),
        ("entire-f7633853", [21, 9, 0, 11, 14_200, 1_812]),
        ("toolpath-sample_main_with_subagent_ref", [12, 4, 0, 5, 12_083, 1_380]),
        ("toolpath-sample_subagent", [14, 6, 0, 6, 13_022, 905]),
        ("vibecodingtracker-gemini", [21, 12, 0, 6, 40_914, 4_293]),
    ];
    assert_eq!(dataset.sessions.len(), expected.len());
    for (session, (id, numbers)) in dataset.sessions.iter().zip(expected) {
        assert_eq!((session.id.as_str(), counts(session)), (id, numbers));
        let answers = session.messages.iter().filter(|message| message.is_request());
        assert!(answers.clone().all(|message| message.at.is_some()), "{id}");
    }
    // The log of events repeats most responses.
    let log = dataset.sessions.last().expect("it is there");
    assert_eq!(log.other_models.len(), 1);
}

#[test]
fn openhands_runs_keep_every_response_and_its_usage() {
    let Some(dataset) = data("openhands") else { return };
    let [first, second] = &dataset.sessions[..] else { panic!() };
    // 23 and 33 responses with a call each; the last ends the run.
    assert_eq!(counts(first), [46, 22, 1, 23, 33_459, 2_558]);
    assert_eq!(counts(second), [67, 32, 1, 33, 19_391, 5_156]);
    // What the run's own sums say.
    let prompts = |session: &Session| {
        let usages = session.messages.iter().filter_map(|message| message.usage);
        usages.map(|usage| usage.prompt()).sum::<u64>()
    };
    assert_eq!((prompts(first), prompts(second)), (565_158, 410_169));
    assert!(first.preamble.tools.len() == 4 && first.preamble.system.len() == 1);
}

#[test]
fn swe_agent_trajectories_pair_commands_with_outputs() {
    let Some(dataset) = data("swe-agent") else { return };
    // Most end with a command that has no output.
    let expected = [
        ("ctf__crypto__katy", [36, 17, 1, 18, 0, 0]),
        ("ctf__web__i_got_id_demo", [42, 20, 1, 21, 0, 0]),
        ("function_calling__install-1__marshmallow-1867", [23, 11, 0, 11, 0, 0]),
        ("pydicom__pydicom-1458", [25, 11, 1, 12, 0, 0]),
    ];
    assert_eq!(dataset.sessions.len(), expected.len());
    for (session, (id, numbers)) in dataset.sessions.iter().zip(expected) {
        assert_eq!((session.id.as_str(), counts(session)), (id, numbers));
        assert_eq!(session.preamble.system.len(), 1, "{id}");
    }
}

#[test]
fn the_inspect_log_keeps_every_page_and_request() {
    let Some(dataset) = data("inspect-logs") else { return };
    let [session] = &dataset.sessions[..] else { panic!() };
    assert_eq!(counts(session), [10, 4, 0, 5, 5_915, 281]);
    assert_eq!(session.preamble.tools.len(), 8);
    let read = session.messages.iter().filter_map(|m| m.usage.map(|u| u.cache_read));
    assert_eq!(read.sum::<u64>(), 9_088);
    assert_eq!(session.compactions, []);
}

#[test]
fn a_resumed_response_was_sent_before_the_break() {
    let path = "claude-code-sessions/other-sources/vibecodingtracker-claude_code.jsonl";
    let Some(dataset) = data(path) else { return };
    // The last response of the first sitting is stamped with the time at which
    // the session was resumed, 376 s after its request. It read all that was
    // stored for five minutes: the request came 10 s after the one before.
    let session = &dataset.sessions[0];
    let timeline = Timeline::of(session, &PROFILE, &[]);
    let requests: Vec<u32> = session.requests().collect();
    let whole = |at: &u32| session.messages[*at as usize].usage.map(|u| u.cache_read);
    let resumed = requests.iter().position(|at| whole(at) == Some(40_088)).expect("it is there");
    let [before, at] = [requests[resumed - 1], requests[resumed]];
    let seconds = |a: Timestamp, b: Timestamp| b.duration_since(a).as_secs();
    assert_eq!(seconds(timeline.at(before), timeline.at(at)), 375);
    assert_eq!(seconds(timeline.sent_at(before), timeline.sent_at(at)), 10);
}

#[test]
fn tau_bench_runs_become_one_session_each() {
    let Some(dataset) = data("tau-bench") else { return };
    assert_eq!(dataset.sessions.len(), 100);
    let messages = dataset.sessions.iter().map(|t| t.messages.len());
    // 2,526 with the 100 policies, which belong to the preamble.
    assert_eq!(messages.sum::<usize>(), 2_426);
    assert!(dataset.sessions.iter().all(|t| t.preamble.system.len() == 1));
    let calls = dataset.sessions.iter().flat_map(Session::calls);
    let calls: Vec<_> = calls.collect();
    assert_eq!(calls.len(), 577);
    assert!(calls.iter().all(|c| c.result.is_some()));
    let details = calls.iter().filter(|c| c.tool == "get_reservation_details");
    assert_eq!(details.count(), 198);
    assert_eq!(dataset.sessions[0].id, "task-0-trial-0");
}

#[test]
fn sidechains_become_sessions_on_request_without_losing_results() {
    let path = "claude-code-sessions/other-sources/claude-code-viewer-fe5e1c67.jsonl";
    let Some(main) = data(path) else { return };
    assert_eq!(main.sessions.len(), 1);
    assert_eq!(main.sessions[0].left_out["sidechain record"], 405);
    // Several lines a response; each is billed once.
    let billed = &main.sessions[0].sidechains;
    assert_eq!(billed.len(), 161);
    assert_eq!(billed.iter().map(|r| r.usage.prompt()).sum::<u64>(), 3_618_290);
    let path = shared(&format!("data/{path}")).expect("it was read before");
    let all = load(&path, &LoadOptions { sidechains: true, ..LoadOptions::default() })
        .expect("the main chain loads");
    assert_eq!(all.sessions.len(), 6);
    assert!(all.sessions.iter().all(|t| t.sidechains.is_empty()));
    assert_eq!(all.sessions.iter().map(results).sum::<usize>(), 167);
}

#[test]
fn real_sessions_survive_the_native_format() {
    for name in [
        "claude-code-sessions",
        "pi-sessions",
        "codex-rollouts",
        "opencode",
        "tau-bench",
        "gemini-cli",
        "openhands",
        "swe-agent",
        "inspect-logs",
    ] {
        let Some(dataset) = data(name) else { return };
        let folder = tempfile::tempdir().expect("a folder for the data set");
        write_native(&dataset, folder.path()).expect("the data set is written");
        assert!(self::dataset(folder.path()).sessions == dataset.sessions, "{name} changed");
    }
}

#[test]
fn recorded_compactions_stand_where_the_reported_prompt_falls() {
    let Some(dataset) = data("claude-code-sessions") else { return };
    let mut seen = 0;
    for session in &dataset.sessions {
        for compaction in session.compactions.iter().filter(|c| c.summary.is_some()) {
            let (before, after) = session.messages.split_at(compaction.after as usize);
            let prompt = |m: &recap_core::model::Message| m.usage.map(|u| u.prompt());
            let last = before.iter().rev().find_map(prompt);
            let last = last.expect("a request stands before");
            // SOURCE.md: 149k to 174k before, 43k to 67k after.
            assert!((145_000..175_000).contains(&last), "{}: {last}", session.id);
            if let Some(first) = after.iter().find_map(prompt) {
                assert!((40_000..70_000).contains(&first), "{}: {first}", session.id);
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}
