use std::sync::Arc;

use jiff::Timestamp;

use super::Offline;
use super::compose::UNKNOWN;
use crate::roles::answerer::{ANSWER_TOKENS, AnswerContext, Answerer, Passage};
use recap_core::model::Role;
use recap_core::tokens::Counter;

fn at(day: &str) -> Option<Timestamp> {
    Some(format!("{day}T10:00:00Z").parse().unwrap())
}

fn said(role: Role, at: Option<Timestamp>, text: &str) -> Passage {
    Passage { role, at, text: text.into() }
}

fn shown(passages: Vec<Passage>) -> AnswerContext {
    AnswerContext { passages, now: None }
}

fn asked(shown: &AnswerContext, questions: &[&str]) -> Vec<String> {
    let reader = Offline::new(Arc::new(Counter::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answers = runtime.block_on(reader.answer(shown, questions));
    answers.into_iter().map(|answer| answer.unwrap()).collect()
}

fn answer(shown: &AnswerContext, question: &str) -> String {
    asked(shown, &[question]).remove(0)
}

/// A chat of two people over three days, with small talk.
fn chat() -> AnswerContext {
    let turns = [
        ("2023-05-08", "Ann: Hi Ben! How are you? The garden keeps me busy these days."),
        ("2023-05-08", "Ben: Hello Ann! I ran a charity race last Sunday, it was exhausting."),
        ("2023-05-08", "Ann: Wow, well done! What did you raise money for?"),
        ("2023-05-08", "Ben: Mental health. We collected 300 dollars."),
        ("2023-06-20", "Ann: I adopted a puppy yesterday! Her name is Luna."),
        ("2023-06-20", "Ben: So cute! I am still baking bread every weekend."),
        ("2023-07-02", "Ann: My sister moved to Lisbon last month."),
        ("2023-07-02", "Ben: Lisbon is lovely. I visited Rome with my brother in 2019."),
        ("2023-08-11", "Ben: I bought a red bicycle two weeks ago."),
        ("2023-08-11", "Ann: Nice! I am reading a novel about whales."),
    ];
    let role = |text: &str| if text.starts_with("Ann") { Role::User } else { Role::Assistant };
    shown(turns.map(|(day, text)| said(role(text), at(day), text)).to_vec())
}

/// A session of an agent that works on a program: calls and results as text, a
/// summary, two snapshots of a treasury.
fn work() -> AnswerContext {
    let texts = [
        (Role::System, "You are a coding agent. Be brief."),
        (
            Role::System,
            "Summary of earlier work:\n## Decisions\n- We chose SQLite over Postgres because the tool has to run without a server.\n- Logs are kept for 30 days.\n## Files\n- src/net/retry_policy.rs holds the retry logic with exponential backoff.\n- src/cli/args.rs parses the command line.",
        ),
        (Role::User, "Please use port 8081 for the preview server, 8080 is taken."),
        (Role::Assistant, "Done. The preview server listens on port 8081 now."),
        (
            Role::Tool,
            "{\"turn\": 3, \"treasury\": {\"balance\": 1200, \"currency\": \"gold\"}, \"army\": {\"archers\": 14}}",
        ),
        (Role::Assistant, "Next I will write the migration for the users table."),
        (
            Role::Tool,
            "error[E0308]: mismatched types\n  --> src/cli/args.rs:41:9\n   expected `u16`, found `&str`",
        ),
        (Role::User, "We should call the release Bluebird."),
        (
            Role::Tool,
            "{\"turn\": 9, \"treasury\": {\"balance\": 950, \"currency\": \"gold\"}, \"army\": {\"archers\": 22}}",
        ),
        (Role::Assistant, "The build passes. Remaining: document the flags."),
    ];
    shown(texts.map(|(role, text)| said(role, None, text)).to_vec())
}

#[test]
fn sentence_sharing_rare_words_is_the_answer() {
    assert!(answer(&chat(), "What is the name of Ann's puppy?").contains("Her name is Luna."));
    assert!(answer(&chat(), "What did Ben buy?").contains("red bicycle"));
}

#[test]
fn a_turn_after_a_question_answers_it() {
    let actual = answer(&chat(), "What did Ben raise money for?");
    assert!(actual.contains("Mental health."), "{actual}");
}

#[test]
fn relative_dates_resolve_against_their_passage_date() {
    // 8 May 2023 was a Monday.
    let actual = answer(&chat(), "When did Ben run a charity race?");
    assert!(actual.contains("7 May 2023, the Sunday before 8 May 2023"), "{actual}");
    assert!(answer(&chat(), "When did Ann adopt a puppy?").contains("19 June 2023"));
    let actual = answer(&chat(), "When did Ben buy his bicycle?");
    assert!(actual.contains("28 July 2023, two weeks before 11 August 2023"), "{actual}");
    assert!(answer(&chat(), "When did Ann's sister move to Lisbon?").contains("June 2023"));
}

#[test]
fn an_empty_context_never_answers() {
    assert_eq!(answer(&AnswerContext::default(), "Where does Ann live?"), UNKNOWN);
    let hollow =
        shown(vec![said(Role::User, None, ""), said(Role::Tool, None, "?!… --- \u{0}\u{7}")]);
    assert_eq!(answer(&hollow, "Where does Ann live?"), UNKNOWN);
}

#[test]
fn a_fact_that_was_never_mentioned_is_unknown() {
    for question in
        ["What colour is the roof of the submarine?", "When did the orchestra rehearse?"]
    {
        assert_eq!(answer(&chat(), question), UNKNOWN);
        assert_eq!(answer(&work(), question), UNKNOWN);
    }
}

#[test]
fn fact_about_one_speaker_is_unknown_for_another() {
    assert_eq!(answer(&chat(), "When did Ann run a charity race?"), UNKNOWN);
    assert_ne!(answer(&chat(), "When did Ben run a charity race?"), UNKNOWN);
}

#[test]
fn agent_files_decisions_and_choices_are_found() {
    let actual = answer(&work(), "Which file holds the retry logic?");
    assert!(actual.contains("src/net/retry_policy.rs"), "{actual}");
    let actual =
        answer(&work(), "What did we decide about the database and why, SQLite or Postgres?");
    assert!(actual.contains("because the tool has to run without a server"), "{actual}");
    let actual = answer(&work(), "Which port did I choose for the preview server?");
    assert!(actual.contains("8081"), "{actual}");
    let actual = answer(&work(), "What is the name of the release?");
    assert!(actual.contains("Bluebird"), "{actual}");
}

#[test]
fn the_newer_of_two_snapshots_is_the_answer() {
    let actual = answer(&work(), "What is the current balance of the treasury?");
    assert!(actual.contains("950") && !actual.contains("1200"), "{actual}");
    let actual = answer(&work(), "How many archers are in the army now?");
    assert!(actual.contains("22") && !actual.contains("14"), "{actual}");
}

#[test]
fn unspaced_text_is_found_by_character_pairs() {
    let context = shown(vec![
        said(Role::User, None, "我的妹妹在南京大学读书。她喜欢打篮球。"),
        said(Role::Assistant, None, "好的，我记住了。"),
        said(Role::User, None, "昨天我买了一辆红色的自行车。"),
    ]);
    assert!(answer(&context, "妹妹在哪里读书？").contains("南京大学"));
    assert!(answer(&context, "我买了什么颜色的自行车？").contains("红色"));
    assert_eq!(answer(&context, "火星上有几个月亮？"), UNKNOWN);
}

#[test]
fn long_tool_results_are_read_line_by_line() {
    let mut log: String =
        (0..2000).map(|n| format!("{n:04} compiled module_{n} without warnings\n")).collect();
    log.push_str("deployed commit 4f2a9c1 to staging\n");
    let context = shown(vec![said(Role::Tool, None, &log), said(Role::Assistant, None, "Fine.")]);
    let actual = answer(&context, "Which commit was deployed to staging?");
    assert!(actual.contains("4f2a9c1"), "{actual}");
}

#[test]
fn answer_fits_its_bound_and_copies_the_text() {
    let long = "whale ".repeat(3000);
    let unbroken = "鲸".repeat(9000);
    let listed: String = (0..300).map(|n| format!("The whale number {n} sings.\n")).collect();
    let counter = Counter::default();
    for text in [long, unbroken, listed, "whale".repeat(4000)] {
        let context = shown(vec![said(Role::User, at("2023-05-08"), &text)]);
        for question in ["What does the whale sing?", "鲸鲸", "How many whales sing now?"] {
            let actual = answer(&context, question);
            assert!(counter.count(&actual) <= ANSWER_TOKENS, "{actual}");
            let copied = |line: &str| line == UNKNOWN || text.contains(line);
            assert!(actual.lines().all(copied), "{actual}");
        }
    }
}

#[test]
fn all_answers_except_resolved_dates_are_in_context() {
    let context = chat();
    let all: String =
        context.passages.iter().map(|passage| format!("{}\n", passage.text)).collect();
    for question in ["What does Ben bake?", "Who visited Rome?", "Which books is Ann reading?"] {
        for line in answer(&context, question).lines() {
            assert!(all.contains(line), "{line}");
        }
    }
}

#[test]
fn hostile_passages_and_questions_cause_no_panic() {
    let texts =
        ["", "\u{0}\u{1b}[31m", ":::", "?", "。", "A: ", "\u{202e}", "...", "{\"", "１２３"];
    let context = shown(texts.map(|text| said(Role::User, at("2023-05-08"), text)).to_vec());
    let endless = "why ".repeat(5000);
    let many: String = (0..300).map(|n| format!("word{n} ")).collect();
    for question in ["", "?", "\u{0}", "。。", "How many days between and ?", &endless, &many] {
        asked(&context, &[question]);
        asked(&chat(), &[question]);
    }
}

#[test]
fn ten_thousand_passages_are_read() {
    let mut passages: Vec<Passage> = (0..10_000)
        .map(|n| said(Role::Tool, None, &format!("row {n} holds the usual figures")))
        .collect();
    passages.push(said(Role::User, None, "The password hint is marmalade."));
    assert!(answer(&shown(passages), "What is the password hint?").contains("marmalade"));
}

#[test]
fn answers_depend_on_no_other_question_or_context() {
    let questions = ["What did Ben buy?", "When did Ann adopt a puppy?", "Where did Ben go?"];
    let forth = asked(&chat(), &questions);
    let mut back = asked(&chat(), &[questions[2], questions[1], questions[0]]);
    back.reverse();
    assert_eq!(forth, back);

    let reader = Offline::new(Arc::new(Counter::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(reader.answer(&work(), &questions));
    let after: Vec<String> = runtime
        .block_on(reader.answer(&chat(), &questions))
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(forth, after);
}

/// A short session of an agent: tools, a choice, a change of mind, data, a log.
fn session() -> AnswerContext {
    let texts = [
        (
            Role::System,
            "You are an agent.\n{\"name\":\"deploy\",\"description\":\"Deploy a release to a host.\",\"parameters\":{\"type\":\"object\"}}",
        ),
        (Role::User, "The canary flag is tall-oak-17 for now."),
        (
            Role::Assistant,
            "The broken invoices are open. We could delete them, mend them by script or leave them alone.",
        ),
        (Role::User, "Mend them by script."),
        (
            Role::Assistant,
            "Writing it.\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"mend.py\",\"content\":\"rows = load()\\nfor row in rows:\\n    fix(row)\\n\"}}",
        ),
        (Role::Tool, "[trunk 7be20c4] Mend broken invoices\n 1 file changed"),
        (
            Role::Tool,
            "[\n  {\n    \"invoice\": \"V-4410\",\n    \"state\": \"open\"\n  },\n  {\n    \"invoice\": \"V-4417\",\n    \"state\": \"frozen\"\n  }\n]",
        ),
        (Role::User, "The canary flag is now called low-elm-20."),
        (
            Role::Tool,
            "09:01 req=a1c9 disk quota hit\n09:02 req=b2d8 disk quota hit\n09:03 req=c3e7 disk quota hit",
        ),
    ];
    shown(texts.map(|(role, text)| said(role, None, text)).to_vec())
}

#[test]
fn value_of_requested_form_is_the_answer() {
    let actual = answer(&session(), "Which commit mended the broken invoices?");
    assert!(actual.contains("7be20c4"), "{actual}");
    let actual = answer(&session(), "Which invoice id is in state frozen?");
    assert!(actual.contains("V-4417"), "{actual}");
}

#[test]
fn newer_of_two_stated_values_is_the_answer() {
    let actual = answer(&session(), "Which flag is the canary flag?");
    assert!(actual.contains("low-elm-20") && !actual.contains("tall-oak-17"), "{actual}");
}
