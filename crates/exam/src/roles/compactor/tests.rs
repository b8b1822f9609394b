//! Tests of the offline compactor: formats, bounds and what it keeps.

use std::sync::Arc;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::json;

use super::Offline;
use recap_core::model::{Role, Session};
use recap_core::tokens::{Counter, Sizes};
use recap_formats::{LoadOptions, load};
use recap_strategy::testkit::{Rig, Talk, words};
use recap_strategy::{
    Compactor, CompactorError, Digest, Live, MESSAGES, Produced, Reply, SessionState, Task,
    TaskMessage,
};

#[path = "../../../../../tests/common/recordings.rs"]
mod recordings;

const HEADINGS: [&str; 5] = [
    "What we accomplished so far",
    "What we're currently working on",
    "Which files we modified and key changes made",
    "What we plan to do next",
    "Any important context or decisions that would be needed",
];

fn counter() -> Arc<Counter> {
    Arc::new(Counter::default())
}

fn run(task: &Task) -> Result<Reply, CompactorError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(Offline::new(counter()).run(task)).map_err(|failed| failed.error)
}

fn message(role: Role, text: &str) -> TaskMessage {
    TaskMessage { role, text: text.to_owned(), images: 0, tokens: counter().count(text) }
}

/// A short session: a request, a decision, a change, an error and its fix, a plan.
fn session() -> Vec<TaskMessage> {
    let edit = json!({"name": "Edit", "arguments": {"file_path": "src/auth.ts",
        "old_string": "const a = 1", "new_string": "const ttl = 900 // seconds"}});
    vec![
        message(Role::User, "Please build a login for the shop. I prefer short answers."),
        message(Role::Assistant, "We decided to use JWT with refresh tokens that live 15 minutes."),
        message(Role::Assistant, &format!("I'll change it.\n{edit}")),
        message(Role::Tool, "error: cannot find module 'jose'\nat line 3"),
        message(Role::Assistant, "Fixed the import of jose in src/auth.ts; all 12 tests pass."),
        message(Role::Assistant, "A refresh token is a credential that buys new access tokens."),
        message(Role::Assistant, "Next, /logout needs to revoke tokens in Redis on port 6380."),
        message(Role::User, "Good. Never log the tokens, though."),
    ]
}

fn state_task(messages: Vec<TaskMessage>, previous: Option<SessionState>, max: u64) -> Task {
    Task::SessionState { prompt: "Compile.".to_owned(), messages, previous, max_tokens: max }
}

fn continuation_task(messages: Vec<TaskMessage>, max_tokens: u64) -> Task {
    let headings = HEADINGS.map(str::to_owned).to_vec();
    Task::Continuation { prompt: "Go on.".to_owned(), messages, headings, live: None, max_tokens }
}

fn digest_task(
    messages: Vec<TaskMessage>,
    rolling: Option<&str>,
    known: &[&str],
    max_tokens: u64,
) -> Task {
    Task::Digest {
        prompt: "Summarise.".to_owned(),
        messages,
        rolling: rolling.map(str::to_owned),
        known: known.iter().map(|text| (*text).to_owned()).collect(),
        max_tokens,
    }
}

fn state(task: &Task) -> SessionState {
    match run(task).unwrap().produced {
        Produced::SessionState(state) => state,
        other => panic!("a state was asked for, not {other:?}"),
    }
}

fn continuation(task: &Task) -> String {
    match run(task).unwrap().produced {
        Produced::Continuation(text) => text,
        other => panic!("a continuation was asked for, not {other:?}"),
    }
}

fn digest(task: &Task) -> Digest {
    match run(task).unwrap().produced {
        Produced::Digest(digest) => digest,
        other => panic!("a digest was asked for, not {other:?}"),
    }
}

/// Tokens of a reply, counted independently of the tested code.
fn tokens(produced: &Produced) -> u64 {
    let text = match produced {
        Produced::SessionState(state) => serde_json::to_string(state).unwrap(),
        Produced::Continuation(text) => text.clone(),
        Produced::Digest(Digest { summary, memories }) => {
            let memories: String = memories.iter().map(|m| format!("- {m}\n")).collect();
            format!("<summary>\n{summary}\n</summary>\n\n<memories>\n{memories}</memories>")
        }
    };
    counter().count(&text)
}

#[test]
fn a_state_separates_facts_from_manner_and_concepts() {
    let state = state(&state_task(session(), None, 500));
    let holds = |list: &[String], text: &str| list.iter().any(|entry| entry.contains(text));
    assert!(holds(&state.logos, "JWT"), "{state:?}");
    assert!(holds(&state.logos, "port 6380"), "{state:?}");
    assert!(holds(&state.logos, "src/auth.ts"), "{state:?}");
    assert!(holds(&state.pathos, "prefer short answers"), "{state:?}");
    assert!(holds(&state.pathos, "Never log the tokens"), "{state:?}");
    assert!(holds(&state.abstract_, "refresh token is a credential"), "{state:?}");
    assert!(!holds(&state.logos, "refresh token is a credential"), "nothing stands twice");
}

#[test]
fn the_narrative_has_two_or_three_sentences() {
    let previous = SessionState {
        conversation_summary: "They planned a shop. It left off at: the cart.".to_owned(),
        ..SessionState::default()
    };
    let many = message(Role::User, "One. Two is longer. Is three? Four! And so on it goes.");
    for messages in [vec![], vec![many], session(), session()[1..2].to_vec()] {
        for previous in [None, Some(previous.clone())] {
            let summary = state(&state_task(messages.clone(), previous, 500)).conversation_summary;
            let sentences = summary.matches(". ").count() + 1;
            assert!((2..=3).contains(&sentences) && summary.ends_with('.'), "{summary}");
        }
    }
}

#[test]
fn merge_keeps_valid_entries_and_drops_contradicted_ones() {
    let previous = SessionState {
        logos: vec![
            "The shop is called Acorn".to_owned(),
            "The port is 8080".to_owned(),
            "We decided to use JWT with refresh tokens that live 15 minutes".to_owned(),
        ],
        pathos: vec!["Likes puns".to_owned()],
        ..SessionState::default()
    };
    let mut messages = session();
    messages.push(message(Role::User, "The port is 9090 from now on."));
    let state = state(&state_task(messages, Some(previous), 800));
    assert_eq!(state.logos[0], "The shop is called Acorn");
    assert!(!state.logos.contains(&"The port is 8080".to_owned()), "{state:?}");
    assert!(state.logos.iter().any(|entry| entry.contains("9090")), "{state:?}");
    assert_eq!(state.pathos[0], "Likes puns");
    let jwt = state.logos.iter().filter(|entry| entry.contains("JWT")).count();
    assert_eq!(jwt, 1, "no duplicates: {state:?}");
}

#[test]
fn full_previous_state_leaves_room_for_entries() {
    let logos = (0..60).map(|n| format!("Old fact {n}: service{n}.example runs on host{n}"));
    let previous = SessionState { logos: logos.collect(), ..SessionState::default() };
    let state = state(&state_task(session(), Some(previous), 500));
    assert!(state.logos.iter().any(|entry| entry.contains("JWT")), "{state:?}");
    assert!(state.logos.iter().filter(|entry| entry.starts_with("Old fact")).count() > 3);
}

#[test]
fn a_continuation_has_the_five_headings_in_order() {
    let text = continuation(&continuation_task(session(), 1_500));
    let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(found, HEADINGS);
    let section = |at: usize| text.split("## ").nth(at + 1).unwrap();
    assert!(section(0).contains("Fixed the import of jose"), "{text}");
    assert!(section(1).contains("Never log the tokens"), "{text}");
    assert!(section(2).contains("src/auth.ts: `const ttl = 900"), "{text}");
    assert!(section(3).contains("/logout needs to revoke"), "{text}");
    assert!(section(4).contains("JWT"), "{text}");
    let bullets = text.lines().filter(|line| !line.is_empty() && !line.starts_with("## "));
    assert!(bullets.clone().count() >= 6 && bullets.clone().all(|line| line.starts_with("- ")));
}

#[test]
fn headings_over_half_the_bound_are_omitted() {
    let frame = HEADINGS.map(|h| counter().count(&format!("## {h}\n\n"))).iter().sum::<u64>();
    let headed = continuation(&continuation_task(session(), frame * 2));
    assert!(headed.starts_with("## "), "{headed}");
    for bound in [frame * 2 - 1, frame, 30] {
        let text = continuation(&continuation_task(session(), bound));
        assert!(text.lines().all(|line| line.starts_with("- ")), "{bound}: {text}");
    }
}

#[test]
fn newest_text_beginning_is_used_without_fitting_sentence() {
    let said = "The invoices are sent by the worker that Maria wrote in spring.";
    let text = continuation(&continuation_task(vec![message(Role::User, said)], 6));
    let beginning = text.strip_prefix("- ").expect("it is a bullet");
    assert!(said.starts_with(beginning) && beginning.split(' ').count() >= 3, "{text}");
}

#[test]
fn chosen_scheme_is_still_known_after_fold() {
    // The published recovery test: "What authentication scheme did we choose?"
    // -> JWT.
    let talk = Talk::new("S").user("Implement user authentication for the shop.");
    let talk = talk.assistant("We will use JWT with refresh tokens instead of sessions.");
    let talk =
        (0..11).fold(talk, |talk, _| talk.user("Go on.")).user(&words(1_300)).assistant("ok");
    let mut rig = Rig::new("continuation", &[], 9_492, talk, Arc::new(Offline::new(counter())));
    rig.finish();
    assert!(rig.ledger().starts_with("ff"), "{}", rig.ledger());
    assert!(rig.sent()[0].1.contains("JWT with refresh tokens"), "{}", rig.sent()[0].1);
}

#[test]
fn digest_continues_previous_summary_without_repeating_memories() {
    let rolling = "- The shop is called Acorn and ships from Oslo";
    let known = ["Please build a login for the shop."];
    let digest = digest(&digest_task(session(), Some(rolling), &known, 600));
    assert!(digest.summary.starts_with("- The shop is called Acorn"), "{digest:?}");
    assert!(digest.summary.contains("/logout"), "{digest:?}");
    assert!(digest.memories.iter().any(|m| m.contains("prefer short answers")), "{digest:?}");
    assert!(!digest.memories.iter().any(|m| m.contains("build a login")), "{digest:?}");
}

#[test]
fn an_old_summary_among_the_messages_is_recognised() {
    let marker = "[Conversation summary from automatic context compaction]";
    let old = format!("{marker}\n\n- The warehouse code is OSL-7741\n- Paid by invoice");
    let mut messages = vec![message(Role::User, &old)];
    messages.extend(session());
    let digest = digest(&digest_task(messages, None, &[], 600));
    assert!(digest.summary.contains("OSL-7741"), "{digest:?}");
    assert!(!digest.summary.contains(marker), "{digest:?}");
}

#[test]
fn long_lines_are_omitted_code_is_no_error() {
    let giant = format!("The key file is {} and we decided to keep it.", "x".repeat(5_000));
    let listing = "  12→ if (error) { throw new Error('failed'); }\n".repeat(200);
    let messages = vec![message(Role::User, &giant), message(Role::Tool, &listing)];
    let text = continuation(&continuation_task(messages, 1_500));
    assert!(text.lines().all(|line| line.len() < 300), "{text}");
    assert!(!text.contains('→'), "{text}");
}

#[test]
fn bill_counts_prompt_with_messages_or_live_conversation() {
    let read: u64 = session().iter().map(|m| m.tokens).sum();
    let mut task = continuation_task(session(), 1_500);
    let reply = run(&task).unwrap();
    assert_eq!(reply.usage.input, read + counter().count("Go on."));
    assert_eq!(reply.usage.output, tokens(&reply.produced));
    assert_eq!(reply.latency_ms, None);
    if let Task::Continuation { live, prompt, .. } = &mut task {
        *live = Some(Live { tokens: 70_000, ..Live::default() });
        *prompt = format!("Go on.{MESSAGES}");
    }
    assert_eq!(run(&task).unwrap().usage.input, 70_000 + counter().count("Go on."));
}

#[test]
fn bound_below_empty_format_is_an_error() {
    for task in [
        state_task(session(), None, 5),
        continuation_task(session(), 1),
        digest_task(session(), None, &[], 5),
    ] {
        assert!(matches!(run(&task), Err(CompactorError::Malformed(_))));
    }
}

#[test]
fn every_compacting_strategy_runs_on_offline_compactor() {
    let talk = || {
        (0..12).fold(Talk::new("S"), |talk, at| {
            let said = format!("Step {at}: we decided that service{at} runs on port 80{at}.");
            talk.user(&format!("{said}{}", words(900))).assistant(&words(900))
        })
    };
    for strategy in [
        "session-state",
        "session-state-system",
        "continuation",
        "continuation-as-written",
        "chunked-summary",
    ] {
        let overrides: &[(&str, &str)] = match strategy {
            "chunked-summary" => &[("when", "{ reserve = 8_000 }"), ("keep_recent", "2_000")],
            _ => &[],
        };
        let run = || {
            let mut rig = Rig::new(
                strategy,
                overrides,
                20_000,
                talk().user("End."),
                Arc::new(Offline::new(counter())),
            );
            rig.finish();
            (rig.ledger(), rig.sent(), rig.notes(), rig.fallbacks())
        };
        let (ledger, sent, notes, fallbacks) = run();
        assert!(
            ledger.starts_with("ff") || strategy == "continuation-as-written",
            "{strategy}: {ledger}"
        );
        assert!(fallbacks.is_empty(), "{strategy}: {fallbacks:?}");
        let carried: String = sent.iter().map(|(_, text)| text.as_str()).collect::<String>()
            + &notes.values().cloned().collect::<String>();
        let lost = strategy == "continuation-as-written";
        assert!(lost || carried.contains("service2 runs on port 802"), "{strategy}: {carried}");
        assert_eq!(run(), (ledger, sent, notes, fallbacks), "{strategy} is deterministic");
    }
}

#[test]
fn a_full_state_stays_within_its_reserved_size() {
    // Each message has 70 sentences of about 17 tokens: the state fills to its
    // bound, and the context with tags and acknowledgement still meets the
    // target.
    let said = |from: usize| -> String {
        let sentence = |n: usize| format!("We decided that host{n}.example runs on port {n}77. ");
        (from..from + 70).map(sentence).collect()
    };
    let mut talk = Talk::new("S");
    for at in 0..14 {
        let text = said(at * 70);
        talk = if at % 2 == 0 { talk.user(&text) } else { talk.assistant(&text) };
    }
    let offline = Arc::new(Offline::new(counter()));
    let mut rig = Rig::new("arachne", &[], 10_000, talk.user("End."), offline);
    let (mut folds, mut largest) = (0, 0);
    for _ in 0..15 {
        rig.feed(1);
        if rig.outcomes.len() > folds {
            folds = rig.outcomes.len();
            assert!(rig.context.weight().tokens <= 6_000, "{}", rig.context.weight().tokens);
            let pair: String = rig.sent().into_iter().take(2).map(|(_, text)| text).collect();
            largest = largest.max(counter().count(&pair));
        }
    }
    assert!(folds >= 2 && (600..=800).contains(&largest), "{folds} folds, {largest} tokens");
}

#[test]
fn folding_strategies_keep_calls_whole_in_real_sessions() {
    let Some(path) = recordings::shared("data/claude-code-sessions") else { return };
    let dataset = load(&path, &LoadOptions::default()).unwrap();
    // The longer sessions take minutes without optimisation.
    let short = |session: &Session| session.messages.len() < 130;
    for session in dataset.sessions.into_iter().filter(short) {
        let talk = Talk::from(session);
        let sizes = Sizes::of(&talk.clone().end(), &counter());
        let room = 2_000.max(sizes.all_messages() / 4);
        let window = sizes.preamble_tokens() + sizes.largest_output() + room;
        for strategy in ["session-state", "session-state-system", "continuation", "chunked-summary"]
        {
            let offline = Arc::new(Offline::new(counter()));
            // After every compaction the rig checks that no call is separated
            // from its result.
            let mut rig = Rig::scaled(strategy, &[], window, talk.clone(), offline);
            rig.finish();
            assert!(rig.fallbacks().is_empty(), "{strategy} at {window}");
        }
    }
}

/// Hostile and ordinary lines of text.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,120}",
        "\\PC{0,60}",
        "(The|We|I) (port|host) is [a-z]{1,8}\\.",
        "(decided|fixed|next|error:) src/[a-z]{1,8}\\.rs [0-9]{1,5}",
        Just(
            r#"{"name":"Edit","arguments":{"file_path":"a/b.rs","new_string":"let x = 1;"}}"#
                .to_owned()
        ),
        Just(r#"{"name":"#.to_owned()),
        Just("```".to_owned()),
        Just("x".repeat(400)),
    ]
}

fn messages() -> impl Strategy<Value = Vec<TaskMessage>> {
    let role =
        prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::Tool), Just(Role::System)];
    let text = prop::collection::vec(line(), 0..8).prop_map(|lines| lines.join("\n"));
    prop::collection::vec((role, text).prop_map(|(role, text)| message(role, &text)), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn reply_stays_within_bound_and_is_deterministic(
        messages in messages(),
        before in prop::collection::vec(line(), 0..20),
        bound in 1u64..900,
    ) {
        let previous = SessionState {
            logos: before.clone(),
            pathos: before.iter().take(3).cloned().collect(),
            abstract_: Vec::new(),
            conversation_summary: before.join(" "),
        };
        let rolling = before.join("\n");
        for task in [
            state_task(messages.clone(), None, bound),
            state_task(messages.clone(), Some(previous), bound),
            continuation_task(messages.clone(), bound),
            digest_task(messages.clone(), Some(&rolling), &["known"], bound),
        ] {
            match run(&task) {
                Ok(reply) => {
                    prop_assert!(tokens(&reply.produced) <= bound);
                    prop_assert_eq!(run(&task), Ok(reply));
                }
                Err(error) => {
                    prop_assert!(bound < 80, "{bound} tokens: {error}");
                }
            }
        }
    }
}

#[test]
fn short_words_are_summarised_below_the_heading_bound() {
    let messages: Vec<TaskMessage> = (0..40)
        .map(|at| message([Role::User, Role::Assistant][at % 2], ["ok", "no"][at % 2]))
        .collect();
    let headings: Vec<String> = HEADINGS.iter().map(|heading| (*heading).to_owned()).collect();
    let task = Task::Continuation {
        prompt: "Go on.".to_owned(),
        messages,
        headings,
        live: None,
        max_tokens: 15,
    };
    assert_eq!(run(&task).unwrap().produced, Produced::Continuation("- no".to_owned()));
}
