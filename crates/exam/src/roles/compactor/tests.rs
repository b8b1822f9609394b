//! Tests of the offline compactor: formats, bounds and what it keeps.

use std::sync::Arc;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::Offline;
use recap_core::model::{Role, Session};
use recap_core::tokens::{Counter, Sizes};
use recap_formats::{LoadOptions, load};
use recap_strategy::testkit::{Rig, Talk, words};
use recap_strategy::{
    Asked, Compactor, CompactorError, Digest, Live, MESSAGES, Produced, Reply, SentText,
    SessionState, Task, TaskMessage,
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
    TaskMessage { role, text: SentText::new(text), images: 0, tokens: counter().count(text) }
}

/// A short session: three lines name files, the others nothing.
fn session() -> Vec<TaskMessage> {
    vec![
        message(Role::User, "Please build a login for the shop. I prefer short answers."),
        message(Role::Assistant, "The login is in src/auth.ts."),
        message(Role::Tool, "error: cannot find the import\nat src/shop/jose.ts"),
        message(Role::Assistant, "Fixed src/tokens.ts, which src/auth.ts imports."),
        message(Role::User, "Good. Never log the tokens, though."),
    ]
}

fn state_task(messages: Vec<TaskMessage>, previous: Option<SessionState>, max: u64) -> Task {
    let asked = Asked::SessionState { previous };
    Task { prompt: "Compile.".to_owned(), messages, max_tokens: max, asked }
}

fn continuation_task(messages: Vec<TaskMessage>, max_tokens: u64) -> Task {
    let headings = HEADINGS.map(str::to_owned).to_vec();
    let asked = Asked::Continuation { headings, live: None };
    Task { prompt: "Go on.".to_owned(), messages, max_tokens, asked }
}

fn digest_task(
    messages: Vec<TaskMessage>,
    rolling: Option<&str>,
    known: &[&str],
    max_tokens: u64,
) -> Task {
    let known = known.iter().map(|text| (*text).to_owned()).collect();
    let asked = Asked::Digest { rolling: rolling.map(str::to_owned), known };
    Task { prompt: "Summarise.".to_owned(), messages, max_tokens, asked }
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
fn lines_with_new_names_are_listed_newest_first() {
    // The line on the login names nothing that a newer one does not.
    let listed = state(&state_task(session(), None, 500)).logos;
    let named = ["Fixed src/tokens.ts, which src/auth.ts imports.", "at src/shop/jose.ts"];
    assert_eq!(listed[..2], named);
    assert_eq!(listed[2..4], ["Never log the tokens, though.", "Good."]);
}

#[test]
fn continuation_has_headings_where_they_take_at_most_half() {
    let frame = HEADINGS.map(|h| format!("## {h}\n")).join("\n");
    let frame = counter().count(frame.trim_end());
    let headed = continuation(&continuation_task(session(), frame * 2));
    let found: Vec<&str> = headed.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(found, HEADINGS);
    let bare = continuation(&continuation_task(session(), frame * 2 - 1));
    assert!(bare.starts_with("- Fixed src/tokens.ts"), "{bare}");
}

#[test]
fn newest_line_stands_where_nothing_is_named() {
    let messages = vec![message(Role::User, "Hello there."), message(Role::Assistant, "Good day.")];
    assert_eq!(continuation(&continuation_task(messages, 6)), "- Good day.");
}

#[test]
fn what_was_written_before_comes_last() {
    let previous = SessionState {
        logos: vec!["It runs in src/main.ts".to_owned()],
        ..SessionState::default()
    };
    let logos = state(&state_task(session(), Some(previous), 500)).logos;
    assert_eq!(logos[2], "It runs in src/main.ts", "behind the two lines of the messages");
    let digest = digest(&digest_task(
        session(),
        Some("- The shop is src/cart.ts\n- It was src/old.ts"),
        &[],
        600,
    ));
    assert!(digest.summary.starts_with("- It was src/old.ts\n- Never log"), "{digest:?}");
    assert_eq!(digest.memories[0], "Fixed src/tokens.ts, which src/auth.ts imports.");
}

#[test]
fn a_known_memory_is_not_repeated() {
    let known = "Fixed src/tokens.ts, which src/auth.ts imports.";
    let digest = digest(&digest_task(session(), None, &[known], 600));
    let said = format!("{digest:?}");
    assert!(!said.contains("src/tokens.ts") && said.contains("src/shop/jose.ts"), "{said}");
}

#[test]
fn a_long_text_without_lines_is_read_at_its_beginning() {
    let giant = format!("The key is in src/keys/a.pem and {}", "x".repeat(4_000_000));
    let text = continuation(&continuation_task(vec![message(Role::User, &giant)], 1_500));
    assert!(text.contains("src/keys/a.pem") && text.len() < 1_000, "{}", text.len());
}

#[test]
fn bill_counts_prompt_with_messages_or_live_conversation() {
    let read: u64 = session().iter().map(|m| m.tokens).sum();
    let mut task = continuation_task(session(), 1_500);
    let reply = run(&task).unwrap();
    assert_eq!(reply.usage.input, read + counter().count("Go on."));
    assert_eq!(reply.usage.output, tokens(&reply.produced));
    assert_eq!(reply.latency_ms, None);
    task.prompt = format!("Go on.{MESSAGES}");
    if let Asked::Continuation { live, .. } = &mut task.asked {
        *live = Some(Live { tokens: 70_000, ..Live::default() });
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
            let said = format!("Step {at}: we decided that it runs in src/step{at}.rs.");
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
        assert!(lost || carried.contains("it runs in src/step2.rs"), "{strategy}: {carried}");
        assert_eq!(run(), (ledger, sent, notes, fallbacks), "{strategy} is deterministic");
    }
}

#[test]
fn a_full_state_stays_within_its_reserved_size() {
    // Each message has 70 sentences of about 17 tokens: the state fills to its
    // bound, and the context with tags and acknowledgement still meets the
    // target.
    let said = |from: usize| -> String {
        let sentence = |n: usize| {
            format!("We decided that it runs in src/host{n}.rs with nine of the others. ")
        };
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
fn newest_line_is_cut_where_it_does_not_fit() {
    let said = "The invoices are sent by the worker that Maria wrote in spring.";
    let text = continuation(&continuation_task(vec![message(Role::User, said)], 6));
    let beginning = text.strip_prefix("- ").unwrap();
    assert!(said.starts_with(beginning) && beginning.split(' ').count() >= 3, "{text}");
}
