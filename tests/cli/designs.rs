//! What the published designs say, from a session on disk to the rows that people read.

use serde_json::{Value as Json, json};

use crate::desk::Desk;
use crate::server::{Act, Server};

/// A session by its messages. A text of so many tokens has as many by the tokeniser as by
/// characters / 4.
#[derive(Default)]
struct Talk {
    messages: Vec<Json>,
    asks: bool,
}

impl Talk {
    /// An agent's turn of 18 rounds, about 18,000 tokens, and a short question behind it.
    fn long_turn() -> Self {
        Self::default().user(100).calls("read", 18, 1_000).agent(1).user(2).agent(1)
    }

    fn push(mut self, role: &str, block: Json) -> Self {
        let id = format!("m{}", self.messages.len());
        self.messages.push(json!({"id": id, "role": role, "blocks": [block]}));
        self
    }

    fn user(self, tokens: usize) -> Self {
        self.push("user", json!({"type": "text", "text": " the".repeat(tokens)}))
    }

    fn agent(self, tokens: usize) -> Self {
        self.push("assistant", json!({"type": "text", "text": " the".repeat(tokens)}))
    }

    /// So many rounds of a call and its result of this size.
    fn calls(self, tool: &str, rounds: usize, tokens: usize) -> Self {
        (0..rounds).fold(self, |talk, _| {
            let id = format!("c{}", talk.messages.len());
            let arguments = json!({"path": "a.rs"});
            let call = json!({"type": "tool_call", "id": id, "name": tool, "arguments": arguments});
            let text = " the".repeat(tokens);
            let result = json!({"type": "tool_result", "call": id, "text": text});
            talk.push("assistant", call).push("tool", result)
        })
    }

    /// With a question at its end.
    fn asking(mut self) -> Self {
        self.asks = true;
        self
    }

    /// A desk with a data set of this session, of this model.
    fn on_desk(self, model: &str) -> Desk {
        let last = self.messages.len() - 1;
        let session = json!({"id": "t", "model": model, "messages": self.messages});
        let question = json!({"id": "p", "session": "t", "asked_at": last, "kind": "fact",
            "question": "Which word?", "expect": {"any_of": ["the"]}, "evidence": ["m0"]});
        let desk = Desk::new();
        desk.data_set("talks", &session, &[question][..usize::from(self.asks)]);
        desk
    }
}

/// Runs strategies, or the rows that changes make of them, on the session of the desk.
fn bench(desk: &Desk, strategies: &str, more: &str) {
    let _ = std::fs::remove_dir_all(desk.path("run"));
    desk.good(&format!(
        "replay talks --quiet --strategy {strategies} --cuts none --out run {more}"
    ));
}

/// A column of a file of the run, in the rows of a strategy.
fn column(desk: &Desk, file: &str, strategy: &str, column: &str) -> Vec<String> {
    let rows = desk.rows(&format!("run/{file}"), &[&format!("strategy={strategy}")]);
    rows.iter().map(|row| row[column].clone()).collect()
}

/// A number of the last request under a strategy.
fn last(desk: &Desk, strategy: &str, name: &str) -> u64 {
    column(desk, "requests.csv", strategy, name).last().unwrap().parse().unwrap()
}

/// Number of messages of the last request, and whether a provider takes it.
fn sent(desk: &Desk, strategy: &str) -> (u64, bool) {
    let valid = column(desk, "requests.csv", strategy, "valid").pop().unwrap();
    (last(desk, strategy, "messages"), valid == "true")
}

/// Roles of the messages that the last request sends, as `recap show` prints them.
fn sent_roles(desk: &Desk, strategy: &str, window: &str) -> Vec<String> {
    let out = desk.good(&format!("show talks --strategy {strategy} --window {window}")).out;
    let heads = out.lines().map(str::trim_start);
    let heads = heads.filter(|line| line.starts_with("=== ") && line.contains(" · "));
    heads.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
}

/// Seed 000: "drops the oldest messages entirely when the token budget is exceeded"
#[test]
fn failed_fold_of_one_long_turn_drops_its_oldest_messages() {
    let desk = Talk::long_turn().on_desk("m");
    // A state of one token has no room for its shape, so every fold fails.
    bench(&desk, "arachne", "--set arachne.1.max_tokens=1 --window 20000");
    let row = "arachne[1.max_tokens=1]";
    let fallbacks = column(&desk, "compactions.csv", row, "fallback");
    assert!(fallbacks[0].starts_with("fifo: "), "{fallbacks:?}");
    // Beside the question of 100 and the rounds there are 3 tokens, and the awareness block of 115.
    let round = (last(&desk, row, "tokens_full") - 103) / 18;
    let whole = 115 + 103 + 18 * round;
    assert!((18_219..18_600).contains(&whole), "{whole}");
    // 85 % are 17,000: the question goes, and two rounds.
    assert!(whole - 100 - round > 17_000 && whole - 100 - 2 * round <= 17_000);
    assert_eq!(last(&desk, row, "tokens_sent"), 115 + 3 + 16 * round);
    assert_eq!(last(&desk, row, "messages"), 39 - 1 - 4);
}

/// Seed 000: "PydanticAI's expected alternating message pattern"
#[test]
fn assistants_message_behind_the_pair_is_folded_too() {
    // At the last user message 115 and 8,500 tokens, over 7,000: with 800 for the state, 3,415
    // must go to reach 6,000. The first three messages have 3,500; the fourth is the assistant's.
    let talk = (0..3).fold(Talk::default(), |talk, _| talk.user(1_000).agent(1_500));
    let desk = talk.user(1_000).agent(1).on_desk("m");
    let sent = sent_roles(&desk, "arachne", "10000");
    assert_eq!(sent, ["user", "assistant", "user", "assistant", "user"]);
    // 2,417 must go, which the first two messages have: the third is the user's.
    let talk = (0..3).fold(Talk::default(), |talk, _| talk.user(1_000).agent(1_500));
    let desk = talk.user(2).agent(1).on_desk("m");
    let sent = sent_roles(&desk, "arachne", "10000");
    assert_eq!(sent, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
}

/// Seed 000: "only if state exists": the pair, where roles go on taking turns
#[test]
fn pair_has_no_answer_in_the_middle_of_a_turn() {
    let desk = Talk::long_turn().on_desk("m");
    let sent = sent_roles(&desk, "arachne", "20000");
    // Of about 18,470 tokens 7,270 must go: the question and eight rounds. Ten rounds are left,
    // an answer and the next question.
    assert_eq!(sent.len(), 1 + 20 + 2);
    assert_eq!(sent[..3], ["user", "assistant", "tool"]);
    assert_eq!(sent[21..], ["assistant", "user"]);
}

/// Seed 001: table "Model Context Windows": 191,808, 123,904 and 991,808 are usable
#[test]
fn usable_context_follows_the_recorded_model() {
    for (model, window, usable) in [
        ("claude-sonnet-4-5", "native", 191_808),
        ("gpt-4o-2024-08-06", "native", 123_904),
        ("gemini-2.0-flash", "1m", 991_808),
    ] {
        for (total, messages) in [(usable, 15), (usable + 1, 2 + 10)] {
            // The seventh response reports so many tokens, its own among them. Over usable all but
            // the last ten of 14 messages are folded, and of 15 with the next: two summaries.
            let talk = (0..6).fold(Talk::default(), |talk, _| talk.user(1).agent(1));
            let desk = talk.user(total - 13).agent(1).user(1).agent(1).on_desk(model);
            bench(&desk, "gencode", &format!("--window {window}"));
            assert_eq!(last(&desk, "gencode", "messages"), messages, "{model} {total}");
        }
    }
}

/// Seed 001: `pruneMinimum: 20_000`, `pruneProtect: 40_000`
#[test]
fn prune_numbers_scale_with_shares_alone() {
    let desk =
        Talk::default().user(1).calls("read", 5, 10_000).agent(1).user(1).agent(1).on_desk("m");
    let edited = |window: &str| {
        bench(&desk, "prune", &format!("--window {window}"));
        let edited = column(&desk, "compactions.csv", "prune", "messages_edited").into_iter();
        edited.map(|n| n.parse::<u32>().unwrap()).sum::<u32>()
    };
    // The newest 40,000 tokens stay, at 128,000 as at 200,000; 20,000 are too few to act.
    assert_eq!([edited("128k"), edited("native"), edited("1m")], [1, 1, 1]);
    // Half of some 50,000 tokens: both numbers are an eighth, less than one result.
    assert_eq!(edited("50%"), 5);
}

/// Seed 001: CheckPruneMin: without enablePruning → compact
#[test]
fn several_values_of_one_change_are_one_row() {
    let talk = (0..10).fold(Talk::default(), |talk, _| talk.user(10_000).agent(10_000));
    let desk = talk.user(1).agent(1).on_desk("m");
    let off = "gencode-as-written: 1.enabled=false; 2.when={ above = \"usable\", share = 1.0 }";
    let grid = "sliding-window: last=2,4; keep_pairs=true,false";
    let more = format!("--set '{off}' --set '{grid}' --set sliding-window.last=3 --window 200k");
    bench(&desk, "gencode-as-written,sliding-window", &more);
    let mut rows: Vec<String> =
        desk.csv("run/summary.csv").into_iter().map(|row| row["strategy"].clone()).collect();
    rows.retain(|row| row.contains('['));
    rows.sort();
    rows.dedup();
    let row = "gencode-as-written[1.enabled=false 2.when={ above = \"usable\", share = 1.0 }]";
    let grid = [2, 4].map(|n| {
        ["false", "true"].map(|pairs| format!("sliding-window[last={n} keep_pairs={pairs}]"))
    });
    let mut expected = vec![row.to_owned(), "sliding-window[last=3]".to_owned()];
    expected.extend(grid.concat());
    expected.sort();
    assert_eq!(rows, expected);
    let compactions = |row: &str| column(&desk, "compactions.csv", row, "mechanism");
    assert_eq!(compactions("gencode-as-written"), [""; 0], "it prunes, and finds nothing");
    assert_eq!(compactions(row), ["continuation"]);
    assert_eq!(last(&desk, "sliding-window[last=4 keep_pairs=true]", "messages"), 4);
}

/// Seed 001: "Keep: Last 10 messages"
#[test]
fn as_written_keeps_ten_messages_and_parts_a_pair() {
    // From the sixth response on more than 20,000 less 8,192 tokens are there. Of the 14 messages
    // before the last one the tenth from the end is the result of the second round.
    let talk = Talk::default().user(1).calls("read", 5, 10).user(12_000).agent(1).user(1).agent(1);
    let desk = talk.on_desk("m");
    bench(&desk, "continuation,continuation-as-written", "--window 20000 --no-scale");
    assert_eq!(sent(&desk, "continuation-as-written"), (1 + 10, false));
    assert_eq!(sent(&desk, "continuation"), (1 + 11, true), "its call stays with it");
}

/// Seed 001: "Call LLM … max_tokens: 1500": the call fits the model's window
#[test]
fn summary_call_fits_the_window_with_its_reply() {
    // Four messages of one token are folded, after a response to a user who said the rest.
    let call = |rest: usize| {
        let talk = (0..6).fold(Talk::default(), |talk, _| talk.user(1).agent(1));
        let desk = talk.user(rest).agent(1).on_desk("m");
        bench(&desk, "continuation", "--window 20000 --no-scale");
        column(&desk, "compactions.csv", "continuation", "input_tokens")[0].parse::<u64>().unwrap()
    };
    // The live conversation, and the template behind it.
    let template = call(15_000) - 15_013;
    let most = 20_000 - 1_500 - template - 13;
    assert_eq!(call(most as usize), 13 + most + template);
    // One token more would be refused: what is folded is sent alone.
    assert_eq!(call(most as usize + 1), 4 + template);
}

/// Seed 001: "Determine range": what does not fit the window is not summarised
#[test]
fn call_that_cannot_fit_is_recorded_and_not_made() {
    let talk = (0..6).fold(Talk::default().user(18_600), |talk, _| talk.agent(1).user(1));
    let desk = talk.agent(1).on_desk("m");
    bench(&desk, "continuation", "--window 20000 --no-scale");
    let of = |name: &str| column(&desk, "compactions.csv", "continuation", name);
    let why = "none: the task is too large for the compactor: 18600 tokens, and ";
    assert!(of("fallback")[0].starts_with(why), "{:?}", of("fallback"));
    assert!(of("fallback")[0].ends_with(" are over the window of 20000"));
    assert!(of("model_calls").iter().all(|calls| calls == "0"));
    assert_eq!(last(&desk, "continuation", "messages"), 13, "the context stays");
}

/// Seed 003: getContextMemories(): N most recent, then snapshot compaction
#[test]
fn zoea_as_written_sends_twenty_rows_less_old_snapshots() {
    // A user message and twelve rounds; of the window of rows 5 to 24, a result and ten rounds less
    // a call, nine results are superseded.
    let desk = Talk::default().user(1).calls("get_ship", 12, 1).agent(1).on_desk("m");
    bench(&desk, "zoea,zoea-as-written", "--window 200k");
    assert_eq!(sent(&desk, "zoea-as-written"), (11, false));
    assert_eq!(sent(&desk, "zoea"), (2, true), "calls leave with their results");
}

/// Seed 003: `"mysis_id": "abc123"`, `"query": "iron ore"`, `"limit": 20`
#[test]
fn zoea_search_takes_limit_and_owner() {
    let found = |arguments: &'static str| {
        let talk = (1..8).fold(Talk::default(), |talk, n| talk.user(100 * n).agent(n));
        let desk = talk.user(1).agent(1).asking().on_desk("m");
        let server = Server::start(move |request| {
            let text = request.text();
            Act::chat(match text.contains("zoea_search_messages`") {
                true => arguments,
                false if text.contains("Searches left") => "the",
                false => "I don't know.",
            })
        });
        let run = "bench talks --strategy zoea-as-written --answerer openai/m --out run";
        let run = format!("{run} --set zoea-as-written.2.last=1");
        let ran = desk.recap_at(&server.base(), &run);
        assert!([0, 3].contains(&ran.code), "{ran:?}");
        let row = |name: &str| column(&desk, "questions.csv", "zoea-as-written[2.last=1]", name);
        assert_eq!(row("recovery_calls"), ["1"], "{ran:?}");
        row("recovery_tokens")[0].parse::<u64>().unwrap()
    };
    // The newest messages have 1, 1, 7, 700 and 6 tokens.
    assert_eq!(found(r#"zoea_search_messages: {"query": "the", "limit": 3}"#), 9);
    assert_eq!(found(r#"zoea_search_messages: {"query": "the", "limit": 4}"#), 709);
    let own = r#"zoea_search_messages: {"mysis_id": "t", "query": "the", "limit": 5}"#;
    assert_eq!(found(own), 715);
    let other = r#"zoea_search_messages: {"mysis_id": "u", "query": "the", "limit": 5}"#;
    assert_eq!(found(other), 0, "of another agent nothing is recorded");
    // All of them: 2,800 of the user, 28 of the agent, and the last two.
    assert_eq!(found("zoea_search_messages: the"), 2_830);
}
