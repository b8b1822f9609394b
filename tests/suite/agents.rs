//! Strategies of agents in production: each does what its public source says. The
//! numbers are those of the sources, at a tenth or a hundredth of their window.

use std::sync::{Arc, Mutex};

use crate::common::talk::{Talk, last, real};
use crate::common::{block_on, ledger, prepared, replayed};
use recap_core::model::{Role, Session};
use recap_replay::{Plan, ReplaySession};
use recap_strategy::{
    Asked, CallUsage, Compactor, FailedCall, Produced, Reply, Task, TaskMessage, builtin,
};

/// Answers with a point of its own at each call, and remembers what it was asked.
#[derive(Default)]
struct Numbered(Mutex<Vec<Task>>);

#[async_trait::async_trait]
impl Compactor for Numbered {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let mut tasks = self.0.lock().unwrap();
        tasks.push(task.clone());
        let produced =
            Produced::Continuation(format!("## Decisions made\n- point {}", tasks.len()));
        let (usage, written) = (CallUsage::default(), 10);
        Ok(Reply::unmodelled(produced, usage, written))
    }

    fn name(&self) -> &str {
        "numbered"
    }
}

/// What is sent at the last request, by role and text; the ledger; the tasks.
struct Seen {
    sent: Vec<(Role, String)>,
    ledger: String,
    tasks: Vec<Task>,
}

impl Seen {
    fn roles(&self) -> Vec<Role> {
        self.sent.iter().map(|(role, _)| *role).collect()
    }
}

fn seen(session: &Session, plan: &Plan) -> Seen {
    let compactor = Arc::new(Numbered::default());
    let prepared = prepared(session.clone());
    let requests = session.messages.iter().filter(|message| message.is_request()).count();
    let (sent, ledger) = block_on(async {
        let mut replay = ReplaySession::open(&prepared, plan, &*compactor).unwrap();
        assert!(replay.run_to_request(requests as u32 - 1).await.unwrap());
        let context = replay.context();
        let entry = |id| context.entry(id).map(|entry| (entry.role, entry.text.to_owned()));
        (context.visible().filter_map(entry).collect(), ledger(&replay))
    });
    let tasks = std::mem::take(&mut *compactor.0.lock().unwrap());
    Seen { sent, ledger, tasks }
}

fn asked(task: &Task) -> (&str, &[TaskMessage], bool) {
    match task {
        Task { prompt, messages, asked: Asked::Continuation { live, .. }, .. } => {
            (prompt, messages, live.is_some())
        }
        other => panic!("another task: {other:?}"),
    }
}

const SUMMARY: &str = "[Conversation summary]\n\n## Decisions made\n- point 1";

#[test]
fn codex_keeps_newest_20k_user_tokens_before_summary() {
    // A tenth: above 24,480 of 27,200, and 2,000 tokens of the user's.
    let talk = |answer| {
        let talk = Talk::new("").user(1_500).says(10_000).user(1_000).says(10_000);
        talk.user(100).says(answer).user(1).says(1).end()
    };
    let plan = real("codex", 27_200, &[]);
    assert_eq!(seen(&talk(1_879), &plan).ledger, "VVVVVVV", "24,480 are not above 24,480");
    let seen = seen(&talk(1_880), &plan);
    // Of the first message 899 tokens are left, its two ends.
    assert_eq!(seen.ledger, "FFVFVFV");
    assert_eq!(seen.roles(), [Role::User; 5]);
    assert_eq!(seen.sent[0].1.matches(" the").count(), 898);
    assert_eq!(seen.sent[3].1, SUMMARY);
    assert!(asked(&seen.tasks[0]).2, "the prompt is appended to the live conversation");
}

#[test]
fn codex_leaves_summary_last_in_mid_turn_compaction() {
    let talk = Talk::new("").user(10).uses("shell", &[15_000, 10_000]).says(1).end();
    let seen = seen(&talk, &real("codex", 27_200, &[]));
    assert_eq!(seen.ledger, "VFFFF");
    assert_eq!(seen.sent[1].1, SUMMARY);
}

#[test]
fn gemini_keeps_newest_30_percent_at_half_window() {
    let talk = |size| {
        let talk = (0..5).fold(Talk::new(""), |talk, _| talk.user(100).says(size));
        talk.user(1).says(1).user(1).says(1).end()
    };
    // A hundredth: 5,243 of 10,486. The figure is that of the response before.
    let plan = real("gemini-cli", 10_486, &[]);
    assert_eq!(seen(&talk(948), &plan).ledger, "V".repeat(13));
    let seen = seen(&talk(1_000), &plan);
    // 30 % of 5,503 are 1,650: the last long turn fits, two do not.
    assert_eq!(seen.ledger, "FFFFFFFFVVVVV");
    assert_eq!(seen.roles()[..3], [Role::User, Role::Assistant, Role::User]);
}

#[test]
fn gemini_cli_uses_snapshot_verified_by_second_call() {
    let talk = (0..5).fold(Talk::new(""), |talk, _| talk.user(100).says(1_000));
    let talk = talk.user(1).says(1).user(1).says(1).end();
    let seen = seen(&talk, &real("gemini-cli", 10_486, &[]));
    let [first, second] = &seen.tasks[..] else { panic!("{} calls", seen.tasks.len()) };
    assert!(asked(second).0.contains("- point 1"), "it sees the draft");
    assert_eq!(asked(first).1, asked(second).1, "and the conversation");
    assert!(seen.sent[0].1.ends_with("- point 2"));
    assert!(!asked(first).2, "a request of its own");
}

#[test]
fn gemini_cli_never_compresses_single_turn_session() {
    // Only tool output is cut, behind the newest.
    let talk = Talk::new("").user(100).uses("read", &[3_000, 3_000, 1]).says(1).end();
    let seen = seen(&talk, &real("gemini-cli", 10_486, &[]));
    assert_eq!((seen.ledger.as_str(), seen.tasks.len()), ("VVEVEVV", 0));
}

#[test]
fn gemini_cli_masks_beyond_50k_if_saving_30k() {
    // A hundredth: 500 stay, 300 must go, and of 250 characters at either end 2
    // stay. With the marker between them these are 27 characters, 7 tokens.
    let talk = |size| Talk::new("").user(1).uses("read", &[size, 490, 1, 1]).says(1).end();
    let plan = real("gemini-cli", 10_486, &[]);
    let rows = replayed(talk(307), &plan, &Numbered::default());
    // The newest output never counts.
    assert_eq!(rows[2..], ["VVVVV", "VVEVVVV", "VVEVVVVVV"]);
    let rows = replayed(talk(306), &plan, &Numbered::default());
    assert_eq!(rows[4], "VVVVVVVVV", "too little is saved");
}

#[test]
fn gemini_cli_compression_cuts_output_to_40k_characters() {
    // A hundredth: the budget is 500 tokens, and of an output of 48,000
    // characters the first 80 and the last 320 stay.
    let talk = Talk::new("").user(1).uses("read", &[12_000, 1]).says(1).end();
    let plan = real("gemini-cli", 10_486, &[]);
    let rows = replayed(talk.clone(), &plan, &Numbered::default());
    // What the output brings is reported only by the response behind it.
    assert_eq!(rows[1..], ["VVV", "VVEVV"]);
    let cut = &seen(&talk, &plan).sent[2].1;
    let (head, tail) = cut.split_once("\n[Part of the output removed]\n").unwrap();
    assert_eq!((head.len(), tail.len()), (80, 320));
}

#[test]
fn opencode_clears_outputs_beyond_40k_if_saving_20k() {
    // A tenth: 4,000 and 2,000.
    let talk = |sizes: &[usize]| {
        let talk = Talk::new("").user(1).uses("read", sizes).says(1);
        talk.user(1).says(1).user(1).says(1).end()
    };
    let plan = real("opencode", 20_000, &[]);
    let rows = replayed(talk(&[3_000, 3_000, 3_000]), &plan, &Numbered::default());
    // The turn that has just ended stays; the next one lets it go.
    assert_eq!(rows[4], "VVVVVVVVV");
    assert_eq!(rows[5], "VVEVEVVVVVV");
    assert_eq!(last(&talk(&[1_000, 3_000, 1_000]), &plan), "VVVVVVVVVVV");
    let skill = Talk::new("").user(1).uses("skill", &[3_000, 3_000, 3_000]).says(1);
    let skill = skill.user(1).says(1).user(1).says(1).end();
    assert_eq!(last(&skill, &plan), "VVVVVVVVVVV");
}

#[test]
fn opencode_keeps_15k_token_tail_possibly_splitting_turns() {
    let talk = Talk::new("").user(100).says(8_000).user(100).says(8_000).user(700).says(1_000);
    let seen = seen(&talk.user(200).says(1).end(), &real("opencode", 20_000, &[]));
    // 200 and 1,000 fit into 1,500, and 700 more do not.
    assert_eq!(seen.ledger, "FFFFFVV");
    assert_eq!(seen.roles(), [Role::User, Role::Assistant, Role::Assistant, Role::User]);
    assert_eq!(seen.sent[1].1, SUMMARY);
    assert!(!asked(&seen.tasks[0]).2, "a request of its own");
}

#[test]
fn opencode_summariser_sees_2000_output_characters_and_summary() {
    let talk = Talk::new("").user(100).uses("read", &[16_000]).says(2_000).user(9).says(16_000);
    let talk = talk.user(9).says(2_000).user(9).says(1).end();
    let seen = seen(&talk, &real("opencode", 20_000, &[("keep_turns", "9")]));
    let [first, second] = &seen.tasks[..] else { panic!("{} calls", seen.tasks.len()) };
    // A tenth: 200 characters.
    let shown = &asked(first).1[2].text;
    assert_eq!(***shown, format!("{}\n[shortened]", " the".repeat(50)));
    assert_eq!(&**asked(second).1[1].text, SUMMARY);
    assert_ne!(asked(first).0, asked(second).0, "updating has a prompt of its own");
}

#[test]
fn claude_code_folds_33k_tokens_before_window_end() {
    // A tenth: above 16,700 of 20,000.
    let talk = |size| Talk::new("").user(10).says(size).user(20).says(1).end();
    let plan = real("claude-code", 20_000, &[]);
    assert_eq!(seen(&talk(16_670), &plan).ledger, "VVV");
    let seen = seen(&talk(16_671), &plan);
    assert_eq!(seen.ledger, "FFF");
    assert_eq!(seen.sent, [(Role::User, SUMMARY.to_owned())]);
}

#[test]
fn anthropic_keeps_three_tool_results_above_100k_tokens() {
    // A hundredth: above 1,000 of 2,000; each call takes some tokens itself.
    let talk = Talk::new("").user(1).uses("read", &[300, 300, 300, 300]).says(1).end();
    let rows = replayed(talk, &real("anthropic-context-editing", 2_000, &[]), &Numbered::default());
    assert_eq!(rows[3..], ["VVVVVVV", "VVEVVVVVV"]);
}

#[test]
fn anthropic_clearing_respects_minimum_saving_and_input_settings() {
    let talk = || Talk::new("").user(1).uses("read", &[300, 300, 300, 300]).says(1).end();
    let with =
        |key, value| last(&talk(), &real("anthropic-context-editing", 2_000, &[(key, value)]));
    assert_eq!(with("minimum_saving", "40_000"), "VVVVVVVVV");
    assert_eq!(with("exclude_tools", "[\"read\"]"), "VVVVVVVVV");
    assert_eq!(with("clear_inputs", "true"), "V..VVVVVV");
}

#[test]
fn anthropic_compacts_into_assistant_block_above_150k_tokens() {
    // A hundredth: above 1,500.
    let talk = |size| Talk::new("").user(1).says(size).user(1).says(1).end();
    let plan = real("anthropic-compaction", 2_000, &[]);
    assert_eq!(seen(&talk(1_498), &plan).ledger, "VVV");
    let seen = seen(&talk(1_499), &plan);
    assert_eq!(seen.ledger, "FFF");
    assert_eq!(seen.sent, [(Role::Assistant, SUMMARY.to_owned())]);
    assert!(asked(&seen.tasks[0]).2, "it reads the cache");
}

#[test]
fn observation_masking_masks_output_older_than_ten_turns() {
    let talk = Talk::new("").user(1).uses("read", &[9; 12]).says(1).end();
    let rows = replayed(talk, &real("observation-masking", 200_000, &[]), &Numbered::default());
    assert_eq!(rows[10], format!("V{}", "VV".repeat(10)));
    assert_eq!(rows[11], format!("VVE{}", "VV".repeat(10)));
    assert_eq!(rows[12], format!("VVEVE{}", "VV".repeat(10)));
}

#[test]
fn hybrid_masks_then_summarises_21_turns_keeping_ten() {
    let talk = Talk::new("").user(5).uses("read", &[9; 31]).says(1).end();
    let plan = real("hybrid", 200_000, &[]);
    let rows = replayed(talk.clone(), &plan, &Numbered::default());
    assert_eq!(rows[30], format!("V{}{}", "VE".repeat(20), "VV".repeat(10)));
    assert_eq!(rows[31], format!("V{}{}", "FF".repeat(21), "VV".repeat(10)));
    let seen = seen(&talk, &plan);
    assert_eq!(seen.sent[1].1, SUMMARY);
    // What came 21 turns earlier was masked when it was summarised.
    assert!(asked(&seen.tasks[0]).1[1].text.starts_with("[1 lines of old output"));
}

#[test]
fn anchored_summary_grows_by_section_and_never_rewrites() {
    // Above 16,000 of 20,000; down to 10,000 with a summary of 400 at most, a
    // tenth of 4,000: four messages stay of nine, and of the eight later on.
    let talk = (0..7).fold(Talk::new(""), |talk, _| talk.user(2_000).says(2_000));
    let talk = talk.user(2_000).says(1).end();
    let seen = seen(&talk, &real("anchored-summary", 20_000, &[]));
    let [first, second] = &seen.tasks[..] else { panic!("{} calls", seen.tasks.len()) };
    assert_eq!((asked(first).1.len(), asked(second).1.len()), (5, 4));
    assert_eq!(seen.ledger, "FFFFFFFFFVVVVVV");
    assert!(asked(second).1.iter().all(|message| message.text.starts_with(" the")));
    let text = "[Conversation summary]\n\n## Decisions made\n- point 1\n- point 2";
    assert_eq!(seen.sent[0], (Role::User, text.to_owned()));
}

#[test]
fn inspect_trim_keeps_input_dropping_fifths_until_fitting() {
    let talk = (0..5).fold(Talk::new("").user(10), |talk, _| talk.says(100).user(100));
    // At 1,010 of 1,000: two tenths of ten, which is one by the source's own
    // floating point, and again one of nine.
    assert_eq!(last(&talk.says(1).end(), &real("inspect-trim", 1_000, &[])), "V..VVVVVVVV");
}

#[test]
fn each_agent_strategy_names_its_source_and_date() {
    for name in [
        "codex",
        "gemini-cli",
        "opencode",
        "claude-code",
        "anthropic-context-editing",
        "anthropic-compaction",
        "observation-masking",
        "hybrid",
        "anchored-summary",
        "inspect-trim",
    ] {
        let strategy = builtin(name, &[]).unwrap().unwrap();
        assert!(strategy.source.contains("202"), "{name}: {}", strategy.source);
    }
}
