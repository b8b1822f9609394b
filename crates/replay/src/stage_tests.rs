use super::*;
use crate::PreparedSession;
use crate::plan::Plan;
use recap_core::tokens::{Estimator, Reported};
use recap_exam::roles::compactor::EmptySummary;
use recap_strategy::testkit::{Talk, words};
use recap_strategy::{
    CallUsage, Context, Fallback, MechanismError, Of, Op, Record, Scaling, StoredFile,
    StrategyState, builtin,
};

const GAUGE: Gauge<'static> = Gauge {
    believed: Some(9_500),
    window: 10_000,
    budget: 8_000,
    usable: 9_000,
    tool_tokens: 0,
    messages: 9,
    turn: None,
    recorded: false,
};

/// How-it-works §44: a stage shrinks to its own target, else to the size at which it
/// becomes due, else to the budget.
#[test]
fn stage_shrinks_to_target_or_threshold_or_budget() {
    let mut stage = builtin("session-state", &[]).unwrap().unwrap().stages.remove(0);
    let above = When::Above { of: Of::Usable, share: 0.7, and_over: 0, at_most: None };
    for (target_of, when, expected) in [
        (Some((Of::Window, 0.6)), above.clone(), 6_000),
        (Some((Of::Budget, 0.5)), When::Always, 4_000),
        (None, above, 6_300),
        (None, When::AboveReserve { reserve: 1_500 }, 8_500),
        (None, When::Messages(3), 8_000),
    ] {
        stage.target = target_of;
        assert_eq!(target(&stage, &when, &GAUGE), expected, "{target_of:?} {when:?}");
    }
}

/// Three questions of 10, 20 and 30 tokens, each with an answer of one.
fn subject() -> PreparedSession {
    let talk = [10, 20, 30].into_iter();
    let talk = talk.fold(Talk::new("S"), |talk, n| talk.user(&words(n)).assistant("Yes"));
    PreparedSession::new("d", talk.end(), Arc::default())
}

fn plan(strategy: &str) -> Plan {
    let mut strategy = builtin(strategy, &[]).unwrap().unwrap();
    strategy.estimator = Estimator::Exact;
    Plan {
        key: recap_core::model::CellKey {
            dataset: "d".to_owned(),
            session: String::new(),
            strategy: strategy.name.clone(),
            window: String::new(),
            replicate: 0,
        },
        strategy: Arc::new(strategy),
        window: 1_000_000,
        scaling: Scaling::All,
        seed: 1,
        offline: true,
        agents: Arc::new([]),
        compactor: None,
    }
}

fn call(input: u64, output: u64, latency_ms: Option<f64>) -> ModelCall {
    let usage = CallUsage { input, output };
    ModelCall { usage, latency_ms, recorded: false, live: false, reply: None }
}

/// How-it-works §13.
#[tokio::test]
async fn report_shrinks_by_counted_messages_that_are_removed() {
    let (subject, plan) = (subject(), plan("session-state"));
    let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
    assert!(session.run_to_request(1).await.unwrap());
    let counted = session.reported_weight();
    assert_eq!(counted, session.context.weight());
    session.arrive(3).await.unwrap();
    assert_eq!(session.reported_weight(), counted, "the answer came after the report");
    let removed = |session: &mut ReplaySession<'_>, message, input| {
        let before = session.reported_weight();
        session.reported = Some(Reported { input, output: 7 });
        session.context.apply(Op::Evict(vec![EntryId::message(message)])).unwrap();
        session.adjust_reported(before);
        session.reported.unwrap().input
    };
    let sizes = &subject.recording.sizes.messages;
    assert!(sizes[0].tokens >= 10);
    assert_eq!(removed(&mut session, 3, 1_000), 1_000);
    assert_eq!(removed(&mut session, 0, 1_000), 1_000 - sizes[0].tokens);
    assert_eq!(removed(&mut session, 2, 3), 0, "no less than nothing");
}

#[tokio::test]
async fn stage_has_row_after_change_call_or_fallback() {
    let (subject, plan) = (subject(), plan("session-state"));
    let fallback = || Some(Fallback { to: "fifo".to_owned(), reason: "no reply".to_owned() });
    let folded = Changes { folded: 2, gone: 3, edited: 5 };
    for (at_end, changes, calls, fallback, kept) in [
        (false, Changes::default(), Vec::new(), None, 0),
        (false, folded, Vec::new(), None, 1),
        (false, Changes::default(), vec![call(0, 0, None)], None, 1),
        (false, Changes::default(), Vec::new(), fallback(), 1),
        (true, folded, Vec::new(), None, 1),
    ] {
        let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(1).await.unwrap());
        session.at_end = at_end;
        let records = vec![Record { kind: "summary".to_owned(), body: serde_json::Value::Null }];
        let notices = vec!["Compacted.".to_owned()];
        let outcome = Outcome { fallback, records, notices, ..Outcome::default() };
        let row = session.row(0, session.context.weight(), &calls, &outcome);
        session.keep(StageOutcome { outcome, row, calls }, changes);
        assert_eq!((session.records.len(), session.notices.len()), (1, 1));
        let rows = session.compactions.iter();
        let rows: Vec<_> = rows
            .map(|(n, row)| (*n, row.messages_folded, row.messages_evicted, row.messages_edited))
            .collect();
        let expected = (0, changes.folded, changes.gone, changes.edited);
        assert_eq!(rows, vec![expected; kept]);
        assert_eq!(session.begun as usize, kept);
    }
}

#[tokio::test]
async fn stage_row_sums_calls_and_gives_fallback_reason() {
    let (subject, plan) = (subject(), plan("session-state"));
    let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
    assert!(session.run_to_request(2).await.unwrap());
    let fallback = Fallback { to: "fifo".to_owned(), reason: "no reply".to_owned() };
    let outcome = Outcome { fallback: Some(fallback), ..Outcome::default() };
    let before = Weight { tokens: 99, ..Weight::default() };
    let calls = [call(20, 3, Some(2.0)), call(30, 4, Some(5.0))];
    let row = session.row(0, before, &calls, &outcome);
    assert_eq!((row.request, row.begun, row.messages_seen, row.stage), (3, 3, 5, 0));
    assert_eq!((row.model_calls, row.input_tokens, row.output_tokens), (2, 50, 7));
    assert_eq!((row.tokens_before, row.tokens_after), (99, session.context.weight().tokens));
    assert_eq!((row.latency_ms, row.at_end, row.view), (Some(7.0), false, false));
    assert_eq!(row.fallback.as_deref(), Some("fifo: no reply"));
    assert_eq!(*row.mechanism, *plan.strategy.stages[0].mechanism.name);
    let untimed = [call(20, 3, Some(2.0)), call(30, 4, None)];
    assert_eq!(session.row(0, before, &untimed, &outcome).latency_ms, None);
    assert_eq!(session.row(0, before, &[], &outcome).latency_ms, None);
}

/// A mechanism that has these files on its disk.
struct Keeps(&'static [(&'static str, &'static str)]);

#[async_trait::async_trait]
impl Mechanism for Keeps {
    async fn compact(&mut self, _: Work<'_>) -> Result<Outcome, MechanismError> {
        Ok(Outcome::default())
    }

    fn stored(&self, _: &Context, _: &StrategyState) -> Vec<StoredFile> {
        let file = |&(path, content): &(&str, &str)| StoredFile {
            path: path.to_owned(),
            content: content.as_bytes().to_vec(),
        };
        self.0.iter().map(file).collect()
    }
}

#[test]
fn files_on_disk_are_listed_once_by_path() {
    let (subject, plan) = (subject(), plan("lis"));
    let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
    session.stages.truncate(2);
    session.stages[0].mechanism = Box::new(Keeps(&[("b", "2"), ("a", "1")]));
    session.stages[1].mechanism = Box::new(Keeps(&[("c", "3"), ("b", "2")]));
    let stored: Vec<_> = session.stored().into_iter().map(|file| file.path).collect();
    assert_eq!(stored, ["a", "b", "c"]);
}

#[tokio::test]
async fn only_user_message_opens_turn_knowing_earlier_time() {
    let (subject, plan) = (subject(), plan("session-state"));
    let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
    assert!(session.turn().is_none());
    let at = |message| subject.timeline.at(message);
    let mut found = Vec::new();
    for _ in 0..3 {
        session.context.append();
        found.push(session.turn().map(|turn| (turn.at, turn.before)));
    }
    assert_eq!(found, [Some((at(0), None)), None, Some((at(2), Some(at(1))))]);
}

/// How-it-works §27.
#[test]
fn strategy_goes_on_without_reply_only_by_a_fallback_it_has() {
    let (subject, plan) = (subject(), plan("session-state"));
    let mut session = ReplaySession::open(&subject, &plan, &EmptySummary).unwrap();
    let falls_back = |session: &ReplaySession<'_>, to: &str| {
        let fallback = Fallback { to: to.to_owned(), reason: "no reply".to_owned() };
        session.falls_back(&Outcome { fallback: Some(fallback), ..Outcome::default() })
    };
    assert!(falls_back(&session, "fifo") && falls_back(&session, "tier 3"));
    assert!(!falls_back(&session, Fallback::NONE) && !session.falls_back(&Outcome::default()));
    session.stages.truncate(1);
    assert!(!falls_back(&session, "fifo"), "no stage cuts");
}
