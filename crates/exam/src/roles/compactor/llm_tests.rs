use super::*;
use crate::roles::testkit::{Scripted, down, ended, rejected, said, uncounted};
use recap_core::model::{Role, Unusable};
use recap_llm::{Finish, Message, Speaker};
use recap_strategy::{Live, MESSAGES, Metered, ModelCall, SentText, TaskMessage};

fn digest(text: &str) -> Result<(String, Vec<String>), String> {
    read_digest(ReplyText { text, cut: false }).map(|digest| (digest.summary, digest.memories))
}

fn of(summary: &str, memories: &[&str]) -> Result<(String, Vec<String>), String> {
    Ok((summary.to_owned(), memories.iter().map(|m| (*m).to_owned()).collect()))
}

#[test]
fn sections_are_parsed_despite_tag_case_and_ending() {
    for text in [
        "<summary>\nThey talked.\n</summary>\n\n<memories>\n- Likes tea.\n- Uses pnpm.\n</memories>",
        "Here it is.\n<Summary>They talked.</SUMMARY><MEMORIES>* Likes tea.\n* Uses pnpm.",
        "<summary>They talked.\n<memories>1. Likes tea.\n2) Uses pnpm.</memories>",
        "<memories>Likes tea.\nUses pnpm.</memories><summary>They talked.</summary> Bye!",
    ] {
        assert_eq!(digest(text), of("They talked.", &["Likes tea.", "Uses pnpm."]), "{text}");
    }
}

#[test]
fn summary_is_required_and_memories_are_optional() {
    assert_eq!(digest("<summary>They talked.</summary>"), of("They talked.", &[]));
    for nothing in ["", "- None.", "(none)", "- "] {
        let text = format!("<summary>x</summary><memories>\n{nothing}\n</memories>");
        assert_eq!(digest(&text), of("x", &[]), "{nothing}");
    }
    for text in ["They talked.", "<summary> </summary>", "<memories>- x</memories>", ""] {
        let wrong = "its <summary> section is missing or empty";
        assert_eq!(digest(text), Err(wrong.to_owned()), "{text}");
    }
}

#[test]
fn a_line_without_a_bullet_continues_its_memory() {
    let text =
        "<summary>x</summary><memories>- Born in 1990\n  in Bern.\n- -5 degrees\n-7 is no bullet";
    assert_eq!(digest(text), of("x", &["Born in 1990 in Bern.", "-5 degrees -7 is no bullet"]));
    let text = "<summary>x</summary><memories>1990 in Bern.\n3.5 kg</memories>";
    assert_eq!(digest(text), of("x", &["1990 in Bern.", "3.5 kg"]));
}

#[test]
fn a_memory_that_was_cut_off_is_removed() {
    let cut = |text| read_digest(ReplyText { text, cut: true }).map(|digest| digest.memories);
    let memories = |list: &[&str]| Ok(list.iter().map(|m| (*m).to_owned()).collect());
    assert_eq!(cut("<summary>x</summary><memories>- Likes tea.\n- The"), memories(&["Likes tea."]));
    assert_eq!(cut("<summary>They tal"), memories(&[]));
    assert_eq!(cut("<summary>x</summary><memories>- a\n</memories> I ho"), memories(&["a"]));
}

#[test]
fn non_ascii_letters_do_not_shift_the_tags() {
    assert_eq!(digest("İÄß <SUMMARY>Straße İ</SUMMARY>"), of("Straße İ", &[]));
}

const STATE: &str = r#"{"logos": ["Port 8080."], "pathos": [], "abstract": ["REST"],
"conversation_summary": "They set up a server. It runs."}"#;

fn state() -> SessionState {
    SessionState {
        logos: vec!["Port 8080.".to_owned()],
        pathos: Vec::new(),
        abstract_: vec!["REST".to_owned()],
        conversation_summary: "They set up a server. It runs.".to_owned(),
    }
}

fn counter() -> Arc<Counter> {
    Arc::new(Counter::default())
}

fn message(role: Role, text: &str) -> TaskMessage {
    TaskMessage { role, text: SentText::new(text), images: 0, tokens: 0 }
}

fn talk() -> Vec<TaskMessage> {
    vec![
        TaskMessage { images: 2, ..message(Role::User, "Which port?") },
        message(Role::Assistant, "8080."),
        message(Role::Tool, "ok"),
    ]
}

fn state_task(prompt: &str) -> Task {
    let (prompt, messages) = (prompt.to_owned(), talk());
    Task { prompt, messages, max_tokens: 500, asked: Asked::SessionState { previous: None } }
}

fn digest_task() -> Task {
    let asked = Asked::Digest { rolling: None, known: Vec::new() };
    Task { prompt: "Summarize.".to_owned(), messages: talk(), max_tokens: 500, asked }
}

fn continuation_task(live: Option<Live>) -> Task {
    let asked = Asked::Continuation { headings: Vec::new(), live };
    Task { prompt: "Go on.".to_owned(), messages: talk(), max_tokens: 1_500, asked }
}

fn role(llm: &Arc<Scripted>) -> Llm {
    Llm::new(Arc::clone(llm) as Arc<dyn llm::Llm>, counter())
}

async fn run(
    task: &Task,
    replies: impl IntoIterator<Item = Result<llm::Reply, CallError>>,
) -> (Result<Reply, CompactorError>, Arc<Scripted>) {
    let llm = Arc::new(Scripted::new(replies));
    (role(&llm).run(task).await.map_err(|failed| failed.error), llm)
}

/// The compactor's usage of one call.
async fn metered(
    task: &Task,
    replies: impl IntoIterator<Item = Result<llm::Reply, CallError>>,
) -> ModelCall {
    let llm = Arc::new(Scripted::new(replies));
    let role = role(&llm);
    let meter = Metered::new(&role);
    let _ = meter.run(task).await;
    meter.take()[0]
}

fn turn(speaker: Speaker, text: &str) -> Message {
    Message { speaker, text: text.to_owned() }
}

#[test]
fn messages_fill_their_placeholder_or_precede_the_prompt() {
    let shown = "[user]\nWhich port?\n[2 images]\n\n[assistant]\n8080.\n\n[tool]\nok";
    let place = |prompt: &str| question(&state_task(prompt));
    let asked = place(&format!("<a>{MESSAGES}</a> {{{{messages}}}}"));
    assert_eq!(asked.system, "");
    assert_eq!(
        asked.messages,
        [turn(Speaker::User, &format!("<a>{shown}</a> {{{{messages}}}}"))],
        "what a value says is no placeholder"
    );
    assert_eq!(place("Compile.").messages[0].text, format!("{shown}\n\nCompile."));
    assert_eq!((asked.max_tokens, asked.shared_system), (500, false));
}

#[test]
fn only_state_task_has_schema_with_four_fields() {
    let schema = question(&state_task("")).schema.unwrap();
    let names: Vec<&String> = schema.json["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["logos", "pathos", "abstract", "conversation_summary"]);
    assert_eq!(schema.json["required"].as_array().unwrap().len(), 4);
    assert_eq!(question(&digest_task()).schema, None);
    assert_eq!(question(&continuation_task(None)).schema, None);
}

#[test]
fn live_conversation_continues_as_turns_with_prompt_last() {
    let messages = vec![
        message(Role::System, "[Earlier conversation - 4 messages summarized]"),
        message(Role::User, "Which port?"),
        message(Role::Assistant, "I look."),
        message(Role::Assistant, "{\"name\":\"Read\"}"),
        message(Role::Tool, "8080"),
        message(Role::User, ""),
        TaskMessage { images: 1, ..message(Role::User, "") },
    ];
    let live = Live { tokens: 9, system: "S".to_owned(), messages };
    let asked = question(&continuation_task(Some(live)));
    assert_eq!(asked.system, "S");
    assert_eq!(
        asked.messages,
        [
            turn(
                Speaker::User,
                "[system]\n[Earlier conversation - 4 messages summarized]\n\nWhich port?"
            ),
            turn(Speaker::Assistant, "I look.\n\n{\"name\":\"Read\"}"),
            turn(Speaker::User, "[tool]\n8080\n\n[1 image]\n\nGo on."),
        ]
    );
}

#[test]
fn assistant_first_live_conversation_gets_user_message() {
    let live = Live { messages: vec![message(Role::Assistant, "Hello.")], ..Live::default() };
    let asked = question(&continuation_task(Some(live)));
    let speakers: Vec<Speaker> = asked.messages.iter().map(|turn| turn.speaker).collect();
    assert_eq!(speakers, [Speaker::User, Speaker::Assistant, Speaker::User]);
    let asked = question(&continuation_task(Some(Live::default())));
    assert_eq!(asked.messages, [turn(Speaker::User, "Go on.")]);
}

#[tokio::test]
async fn each_task_returns_its_shape_tokens_and_latency() {
    let digest = recap_strategy::Digest {
        summary: "They talked.".to_owned(),
        memories: vec!["Port 8080.".to_owned()],
    };
    let sections = "<summary>They talked.</summary><memories>- Port 8080.</memories>";
    for (task, reply, produced) in [
        (state_task(""), STATE, Produced::SessionState(state())),
        (continuation_task(None), " Go on so.\n", Produced::Continuation("Go on so.".to_owned())),
        (digest_task(), sections, Produced::Digest(digest)),
    ] {
        let written = counter().count(reply.trim());
        let (reply, llm) = run(&task, [said(reply)]).await;
        // 30 tokens uncached, 60 read from the cache, 10 written to it.
        let usage = CallUsage { input: 100, output: 7 };
        let (latency_ms, recorded, cut) = (Some(40.0), false, false);
        assert_eq!(reply, Ok(Reply { produced, usage, written, cut, latency_ms, recorded }));
        assert_eq!(llm.calls()[0].request.max_tokens, task.max_tokens);
        assert_eq!((llm.calls()[0].role, llm.calls()[0].replicate), (ModelRole::Compactor, 0));
    }
}

#[tokio::test]
async fn wrong_shape_is_retried_once_and_both_paid() {
    let extra = STATE.replace("\"pathos\"", "\"ethos\": [], \"pathos\"");
    let empty = r#"{"logos": [], "pathos": [], "abstract": [], "conversation_summary": ""}"#;
    for (wrong, why) in [
        ("Port 8080.", "it holds no whole JSON object"),
        (r#"{"logos": []}"#, "it lacks the field `pathos`"),
        (&extra, "a field is unknown or of another type"),
        (r#"{"logos": "Port 8080."}"#, "a field is unknown or of another type"),
        (empty, "every field is empty"),
        ("", "it is empty"),
    ] {
        let task = state_task("");
        let (reply, llm) = run(&task, [said(wrong), said(STATE)]).await;
        let reply = reply.unwrap();
        assert_eq!(reply.produced, Produced::SessionState(state()));
        assert_eq!(reply.usage, CallUsage { input: 200, output: 14 });
        assert_eq!(reply.latency_ms, Some(80.0));
        let repair = llm.calls()[1].request.messages.last().unwrap().text.clone();
        assert!(repair.contains(&format!("Your reply cannot be used: {why}.")), "{repair}");
        let (reply, _) = run(&task, [said(wrong), said(wrong)]).await;
        let why = why.to_owned();
        let failed =
            if why.contains("empty") { CompactorError::Empty } else { CompactorError::Malformed };
        assert_eq!(reply, Err(failed(why)));
    }
}

#[tokio::test]
async fn empty_text_or_missing_summary_is_sent_back() {
    for (task, wrong, right, why) in [
        (continuation_task(None), "\n", "Go on so.", "it is empty"),
        (digest_task(), "They talked.", "<summary>x</summary>", "<summary> section is missing"),
    ] {
        let (reply, llm) = run(&task, [said(wrong), said(right)]).await;
        assert!(reply.is_ok());
        let sent = &llm.calls()[1].request.messages;
        assert!(sent.iter().any(|turn| turn.text.contains(why)), "{sent:?}");
    }
}

#[tokio::test]
async fn truncated_state_is_refused_and_truncated_text_kept() {
    let cut = |text| ended(text, Finish::Length);
    let torn = |bound: u64| Err(CompactorError::CutOff(format!("cut off at {bound} tokens")));
    let (reply, llm) = run(&state_task(""), [cut(STATE)]).await;
    assert_eq!((reply, llm.calls().len()), (torn(500), 1));
    let (reply, _) = run(&continuation_task(None), [cut("1. We ac")]).await;
    let reply = reply.unwrap();
    assert_eq!(reply.produced, Produced::Continuation("1. We ac".to_owned()));
    assert!(reply.cut);
    let (reply, _) = run(&digest_task(), [cut("<summary>They ta")]).await;
    let Produced::Digest(digest) = reply.unwrap().produced else { panic!("a digest") };
    assert_eq!((digest.summary.as_str(), digest.memories.len()), ("They ta", 0));
    for (task, text) in [(continuation_task(None), ""), (digest_task(), "They talked about")] {
        let bound = task.max_tokens;
        let (reply, llm) = run(&task, [cut(text)]).await;
        assert_eq!((reply, llm.calls().len()), (torn(bound), 1));
    }
}

#[tokio::test]
async fn error_kind_decides_whether_strategy_may_fall_back() {
    use FaultKind::{Auth, BadRequest, ContextTooLong, Filtered, NotFound};
    let error = |reply| async { run(&digest_task(), [reply]).await.0.unwrap_err() };
    for reply in [
        ended("I would rather not.", Finish::Refused),
        ended("", Finish::Filtered),
        rejected(Filtered),
        rejected(BadRequest),
    ] {
        assert!(matches!(error(reply).await, CompactorError::Refused(_)));
    }
    let too_large = error(rejected(ContextTooLong)).await;
    assert!(matches!(too_large, CompactorError::TooLarge(_)));
    let early = ended("x", Finish::Other("pause".to_owned()));
    assert!(matches!(error(early).await, CompactorError::CutOff(_)));
    let halted = Err(CallError::Halted("the key is wrong".to_owned()));
    for reply in [halted, rejected(Auth), rejected(NotFound)] {
        assert!(matches!(error(reply).await, CompactorError::Unavailable(_)));
    }
    let nobody = "no reply after 5 attempts: connection refused".to_owned();
    assert_eq!(error(down()).await, CompactorError::NoReply(nobody));
}

#[tokio::test]
async fn tokens_that_nobody_told_are_counted() {
    let counter = counter();
    let (reply, _) = run(&continuation_task(None), [uncounted("Go on so.")]).await;
    let asked = &question(&continuation_task(None)).messages[0].text;
    let usage = CallUsage { input: counter.count(asked), output: counter.count("Go on so.") };
    assert_eq!(reply.unwrap().usage, usage);
}

#[tokio::test]
async fn a_repetition_says_so_in_its_calls() {
    let llm = Arc::new(Scripted::saying(["", "Go on so."]));
    let repeated = role(&llm).repeated(2).unwrap().counting(&counter()).unwrap();
    assert!(repeated.run(&continuation_task(None)).await.is_ok());
    let replicates: Vec<u32> = llm.calls().iter().map(|call| call.replicate).collect();
    assert_eq!(replicates, [2, 2]);
    assert_eq!(repeated.name(), "test/scripted");
    assert!(repeated.reads_live());
}

#[tokio::test]
async fn unusable_reply_states_reason_and_is_paid() {
    use FaultKind::{BadRequest, ContextTooLong};
    let (one, two, none) = ((100, 7), (200, 14), (0, 0));
    let cut = |text| ended(text, Finish::Length);
    for (task, replies, unusable, paid) in [
        (continuation_task(None), vec![said(""), said(" \n")], Unusable::Empty, two),
        (continuation_task(None), vec![ended("No.", Finish::Refused)], Unusable::Refused, one),
        (continuation_task(None), vec![cut("1. We ac")], Unusable::CutOff, one),
        (continuation_task(None), vec![cut("")], Unusable::CutOff, one),
        (continuation_task(None), vec![rejected(ContextTooLong)], Unusable::Refused, none),
        (continuation_task(None), vec![rejected(BadRequest)], Unusable::Refused, none),
        (
            digest_task(),
            vec![said("They talked."), said("They talked.")],
            Unusable::WrongShape,
            two,
        ),
        (digest_task(), vec![said("They talked."), said("")], Unusable::Empty, two),
        (digest_task(), vec![cut("<summary>They ta")], Unusable::CutOff, one),
        (state_task(""), vec![cut(STATE)], Unusable::CutOff, one),
        (state_task(""), vec![said("{}"), ended("", Finish::Filtered)], Unusable::Refused, two),
    ] {
        let replied = paid != none;
        let call = metered(&task, replies).await;
        assert_eq!(call.reply.unwrap().unusable, Some(unusable), "{task:?}");
        assert_eq!((call.usage.input, call.usage.output), paid, "{unusable:?}");
        assert_eq!(call.latency_ms.is_some(), replied, "{unusable:?}");
    }
}

#[tokio::test]
async fn short_reply_is_unusable_however_long_the_reasoning() {
    let large = TaskMessage { tokens: 5_000, ..message(Role::User, "Which port?") };
    let task =
        |max_tokens| Task { messages: vec![large.clone()], max_tokens, ..continuation_task(None) };
    // The reasoning does not count among the five words.
    let text = format!("<think>{}</think>We talked about a port", "hm ".repeat(400));
    let call = metered(&task(1_500), [said(&text)]).await;
    let reply = call.reply.unwrap();
    assert_eq!((reply.replaced, reply.written, reply.bound), (5_000, 5, 1_500));
    assert_eq!(reply.unusable, Some(Unusable::TooShort));
    let asked_for_little = metered(&task(40), [said(&text)]).await;
    assert_eq!(asked_for_little.reply.unwrap().unusable, None);
}

#[tokio::test]
async fn call_without_reply_is_unusable_and_took_its_attempts() {
    let call = metered(&digest_task(), [down()]).await;
    assert_eq!(call.reply.unwrap().unusable, Some(Unusable::NoReply));
    assert_eq!(call.usage, CallUsage::default());
    assert_eq!((call.latency_ms, call.recorded), (Some(8_000.0), false));
}
