use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Fault, FaultKind, Finish, NoUsage, Reply, Request, Settings, Tokens, WireError};
use recap_core::model::{ModelRole, Timing, Usage};

fn plain() -> Scrub {
    Arc::new(str::to_owned)
}

fn model() -> Model {
    let settings = Settings::default();
    Model { provider: "openai".to_owned(), name: "m".to_owned(), settings }
}

fn call(text: &str) -> Call {
    let request = model().request(Request::of("", text, 9));
    Call { role: ModelRole::Judge, replicate: 0, request }
}

fn said(text: &str) -> Result<Answered, CallError> {
    let usage = Usage { input: 7, output: 2, output_final: true, ..Usage::default() };
    Ok(Answered {
        reply: Reply {
            text: text.to_owned(),
            finish: Finish::Done,
            usage: Ok(Tokens { usage, reasoning: Some(1) }),
            model: Some("m-2026".to_owned()),
        },
        timing: Timing { queue_ms: 0.1, first_byte_ms: 1.0 / 3.0, total_ms: 1e3, attempts: 2 },
        recorded: false,
    })
}

fn at() -> Timestamp {
    "2026-11-20T02:00:00.5Z".parse().unwrap()
}

fn written(text: &str, outcome: &Result<Answered, CallError>) -> String {
    let call = call(text);
    let key = key(&model(), &call);
    CassetteLine::of((&key, &model(), &call), (outcome, 1), at(), &plain()).unwrap().written()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &tempfile::TempDir, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.path().join("calls.jsonl");
    fs::write(&file, bytes).unwrap();
    file
}

fn opened(file: &Path, mode: Mode) -> (Cassette, Vec<String>) {
    Cassette::open(file, mode, plain()).unwrap()
}

fn refused(bytes: impl AsRef<[u8]>) -> String {
    let folder = folder();
    let file = file(&folder, bytes);
    let shown = file.display().to_string();
    match Cassette::open(&file, Mode::Replay, plain()) {
        Err(error) => error.to_string().replace(&shown, "FILE"),
        Ok(_) => panic!("the file was read"),
    }
}

/// Records a reply to a question, and returns its line.
fn record(cassette: &Cassette, question: &str, reply: &str) -> String {
    let call = call(question);
    let key = key(&model(), &call);
    cassette.record((&key, &model(), &call), (said(reply), 1), at()).unwrap();
    written(question, &said(reply)) + "\n"
}

fn text_of(cassette: &Cassette, question: &str) -> Option<String> {
    let recorded = cassette.get(&key(&model(), &call(question)))?;
    Some(recorded.outcome.unwrap().reply.text)
}

#[test]
fn line_is_plain_json_of_call_and_outcome() {
    let key = key(&model(), &call("Why?"));
    let expected = format!(
        concat!(
            r#"{{"key":"{}","v":1,"provider":"openai","model":"m","replicate":0,"#,
            r#""role":"judge","at":"2026-11-20T02:00:00.5Z","outcome":{{"reply":{{"#,
            r#""text":"Because.","finish":"done","model":"m-2026","tokens":{{"known":{{"#,
            r#""usage":{{"input":7,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"#,
            r#""output":2,"output_final":true}},"reasoning":1}}}},"#,
            r#""timing":{{"queue_ms":0.1,"first_byte_ms":0.3333333333333333,"#,
            r#""total_ms":1000.0,"attempts":2}}}}}}}}"#,
        ),
        key
    );
    assert_eq!(written("Why?", &said("Because.")), expected);
}

#[test]
fn every_request_outcome_survives_a_round_trip() {
    let reply = |finish, usage| {
        let mut outcome = said("t").unwrap();
        (outcome.reply.finish, outcome.reply.usage, outcome.reply.model) = (finish, usage, None);
        Ok(outcome)
    };
    let fault = |kind| Fault { kind, status: 400, message: "no".to_owned() };
    let not_json = WireError::NotJson { why: "w".to_owned(), excerpt: "<p>".to_owned() };
    let contradictory = NoUsage::Contradictory("c".to_owned());
    let mut outcomes = vec![
        said(""),
        reply(Finish::Length, Err(NoUsage::Missing)),
        reply(Finish::Refused, Err(contradictory)),
        reply(Finish::Filtered, Err(NoUsage::Missing)),
        reply(Finish::Other("tool_calls".to_owned()), Err(NoUsage::Missing)),
        Err(CallError::Malformed(not_json)),
        Err(CallError::Malformed(WireError::Lacks("choices".into()))),
        Err(CallError::Malformed(WireError::Fault(fault(FaultKind::Server)))),
    ];
    for kind in ["rate-limited", "overloaded", "context-too-long", "auth", "quota", "not-found"] {
        let kind: FaultKind = serde_json::from_value(kind.into()).unwrap();
        outcomes.push(Err(CallError::Rejected(fault(kind))));
    }
    for outcome in outcomes {
        let line = written("Why?", &outcome);
        let recorded = CassetteLine::read(&line).unwrap().recorded();
        let expected = outcome.map(|answered| Answered { recorded: true, ..answered });
        assert_eq!((recorded.outcome, recorded.at), (expected, at()));
    }
}

#[test]
fn failures_unrelated_to_the_request_are_not_recorded() {
    let folder = folder();
    let path = folder.path().join("calls.jsonl");
    let (cassette, _) = opened(&path, Mode::Record);
    let call = call("Why?");
    for error in [
        CallError::Unavailable { attempts: 3, why: "down".to_owned(), took: Duration::ZERO },
        CallError::Halted("h".to_owned()),
        CallError::OverBudget("o".to_owned()),
        CallError::NotRecorded("n".to_owned()),
    ] {
        let outcome = Err(error);
        assert_eq!(cassette.record(("k", &model(), &call), (outcome.clone(), 1), at()), outcome);
    }
    assert_eq!(cassette.count(), 0);
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn recording_grows_by_whole_lines_and_ends_sorted() {
    let folder = folder();
    let path = folder.path().join("calls.jsonl");
    let (cassette, _) = opened(&path, Mode::Record);
    let mut lines = Vec::new();
    for question in ["a", "b", "c", "d", "e"] {
        lines.push(record(&cassette, question, question));
        // A program that is killed here has lost nothing.
        assert_eq!(fs::read_to_string(&path).unwrap(), lines.concat());
    }
    cassette.finish().unwrap();
    lines.sort();
    assert_eq!(fs::read_to_string(&path).unwrap(), lines.concat());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    record(&cassette, "f", "f");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 6);
}

#[test]
fn torn_last_line_is_dropped_and_recorded_again() {
    let (whole, torn) = (written("a", &said("1")), written("b", &said("2")));
    for cut in [1, torn.len() / 2, torn.len() - 1] {
        let folder = folder();
        let path = file(&folder, format!("{whole}\n{}", &torn[..cut]));
        let (cassette, warnings) = opened(&path, Mode::Replay);
        assert_eq!((cassette.count(), warnings.len()), (1, 1));
        assert!(warnings[0].ends_with("calls.jsonl:2"), "{}", warnings[0]);

        record(&opened(&path, Mode::Record).0, "b", "2");
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}\n{torn}\n"));
    }
}

#[test]
fn unterminated_last_line_counts_and_next_starts_fresh() {
    let folder = folder();
    let path = file(&folder, written("a", &said("1")));
    let (cassette, warnings) = opened(&path, Mode::Record);
    assert_eq!((cassette.count(), warnings.len()), (1, 0));
    record(&cassette, "b", "2");
    drop(cassette);
    assert_eq!(opened(&path, Mode::Replay).0.count(), 2);
}

/// Files merge by concatenation; of two recordings of a call the first in byte order counts.
#[test]
fn each_call_is_read_once() {
    let [one, two, other] = [("a", "1"), ("b", "2"), ("a", "2")].map(|(q, a)| written(q, &said(a)));
    for (lines, calls, warned) in [
        (format!("{one}\n{two}\n\r\n{one}\r\n"), 2, false),
        (format!("{one}\n{other}\n"), 1, true),
        (format!("{other}\n{one}\n"), 1, true),
    ] {
        let folder = folder();
        let (cassette, warnings) = opened(&file(&folder, &lines), Mode::Replay);
        assert_eq!((cassette.count(), text_of(&cassette, "a").as_deref()), (calls, Some("1")));
        let told = |warning: &String| warning.starts_with("lines 1 and 2 record the same call");
        assert_eq!((warnings.len() == 1, warnings.iter().all(told)), (warned, true), "{lines}");
    }
}

#[test]
fn a_line_that_is_no_call_is_named() {
    let good = written("a", &said("1"));
    let remedy = "\n  --> FILE:2";
    for (line, problem) in [
        ("{}".to_owned(), "missing field `key`"),
        ("[1]".to_owned(), "invalid"),
        ("\"text\"".to_owned(), "invalid type: string"),
        (good.replace("\"v\":1", "\"v\":2"), "its format is version 2, this program reads"),
        ("{\"v\":7,\"more\":1}".to_owned(), "its format is version 7"),
        (good.replace("\"v\":1", "\"v\":1,\"x\":1"), "unknown field `x`"),
        (good.replace("},\"timing\":", "},\"batch\":true,\"timing\":"), "unknown field `batch`"),
        (good.replace("\"input\":7", "\"input\":-7"), "invalid value: integer `-7`"),
        (good.replace("1000.0", "1e999"), "number out of range"),
        (good.replace("\"judge\"", "\"jury\""), "unknown variant `jury`"),
        (good.replacen("\"key\":\"", "\"key\":\"g", 1), "the key is not 64"),
        (format!("{good}{good}"), "trailing characters"),
        ("[".repeat(100_000), "invalid type: list"),
    ] {
        let shown = refused(format!("{good}\n{line}\n{good}\n"));
        assert!(shown.starts_with("the line is not a recorded call: "), "{shown}");
        assert!(shown.contains(problem), "{problem}: {shown}");
        assert!(shown.ends_with(remedy), "{shown}");
    }
    let shown = refused([good.as_bytes(), b"\n\xff\xfe\n"].concat());
    assert!(shown.contains("invalid utf-8") && shown.ends_with(remedy), "{shown}");
}

#[test]
fn missing_cassette_cannot_be_replayed() {
    let folder = folder();
    let error = Cassette::open(&folder.path().join("none"), Mode::Replay, plain()).err().unwrap();
    assert!(error.to_string().starts_with("cannot read the cassette: "), "{error}");
    let error = Cassette::open(folder.path(), Mode::Record, plain()).err().unwrap();
    assert!(error.to_string().starts_with("cannot write the cassette: "), "{error}");
}

#[test]
fn two_runs_do_not_record_to_one_file() {
    let folder = folder();
    let path = file(&folder, "");
    let (first, _) = opened(&path, Mode::Record);
    first.finish().unwrap();
    let error = Cassette::open(&path, Mode::Record, plain()).err().unwrap();
    assert!(error.to_string().starts_with("another run is recording"), "{error}");
    opened(&path, Mode::Replay);
    drop(first);
    opened(&path, Mode::Record);
}

#[test]
fn every_text_is_scrubbed_before_it_is_written() {
    let scrub: Scrub = Arc::new(|text| text.replace("s3cret\"", "***"));
    let secret = || "a s3cret\" b".to_owned();
    let fault = || Fault { kind: FaultKind::Auth, status: 401, message: secret() };
    let mut reply = said(&secret()).unwrap();
    reply.reply.finish = Finish::Other(secret());
    reply.reply.model = Some(secret());
    reply.reply.usage = Err(NoUsage::Contradictory(secret()));
    for outcome in [
        Ok(reply),
        Err(CallError::Rejected(fault())),
        Err(CallError::Malformed(WireError::NotJson { why: secret(), excerpt: secret() })),
        Err(CallError::Malformed(WireError::Lacks(secret().into()))),
        Err(CallError::Malformed(WireError::Fault(fault()))),
    ] {
        let model = Model { provider: secret(), name: secret(), ..model() };
        let call = Call { request: model.request(Request::of("", secret(), 9)), ..call("") };
        let line =
            CassetteLine::of(("k", &model, &call), (&outcome, 1), at(), &scrub).unwrap().written();
        assert!(line.contains("a *** b") && !line.contains("s3cret"), "{line}");
    }
    let folder = folder();
    let (cassette, _) = Cassette::open(&file(&folder, ""), Mode::Record, scrub).unwrap();
    let not_recorded =
        cassette.not_recorded(&"0".repeat(64), &model(), &call(&secret())).to_string();
    assert!(not_recorded.contains("asked \"a *** b\""), "{not_recorded}");
}

#[test]
fn missing_call_names_its_role_key_and_question() {
    let folder = folder();
    let path = file(&folder, "");
    let (cassette, _) = opened(&path, Mode::Replay);
    let call = call(&"é".repeat(90));
    let shown = cassette.not_recorded(&key(&model(), &call), &model(), &call).to_string();
    let begin = format!(
        "the cassette has no such call: judge of openai/m, replicate 0, key {}, asked \"{}\"\n",
        &key(&model(), &call)[..12],
        "é".repeat(80),
    );
    assert!(shown.starts_with(&begin), "{shown}");
    assert!(shown.ends_with("calls.jsonl"), "{shown}");
}

proptest! {
    #[test]
    fn timings_and_texts_are_read_byte_for_byte(
        text in any::<String>(),
        times in any::<[f64; 3]>(),
        attempts in any::<u32>(),
    ) {
        prop_assume!(times.iter().all(|time| time.is_finite()));
        let [queue_ms, first_byte_ms, total_ms] = times;
        let mut outcome = said(&text).unwrap();
        outcome.timing = Timing { queue_ms, first_byte_ms, total_ms, attempts };
        let line = written("Why?", &Ok(outcome.clone()));
        let again = CassetteLine::read(&line).unwrap();
        prop_assert_eq!(again.written(), line);
        prop_assert_eq!(again.recorded().outcome.unwrap().timing, outcome.timing);
    }

    #[test]
    fn no_bytes_end_the_program(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Lines::read(Path::new("f"), &bytes);
    }
}

#[test]
fn replies_are_priced_by_their_own_model() {
    let folder = folder();
    let lines = [written("a", &said("A")), written("b", &said("B"))].join("\n") + "\n";
    let (tape, _) = opened(&file(&folder, lines), Mode::Replay);
    let entry = serde_json::json!({"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5});
    let prices = ModelPrices::read("m", &entry).unwrap();
    // 7 tokens at $1 and 2 at $10 a million are $0.000027.
    let usd = tape.usd(|model| (model == "openai/m").then(|| prices.clone()));
    assert!((usd - 2.0 * 27e-6).abs() < 1e-12, "{usd}");
    assert_eq!(tape.usd(|_| None), 0.0);
}

#[test]
fn merge_keeps_quickest_equal_reply_and_refuses_different() {
    let folder = folder();
    let took = |text: &str, total_ms: f64| {
        said(text).map(|answered| {
            let timing = Timing { total_ms, ..answered.timing };
            Answered { timing, ..answered }
        })
    };
    let tape = |name: &str, lines: &[String]| {
        let file = folder.path().join(name);
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        file
    };
    let one = tape("one", &[written("b", &took("B", 9.0)), written("a", &took("A", 4.0))]);
    let two = tape("two", &[written("c", &took("C", 1.0)), written("b", &took("B", 5.0))]);
    for files in [[one.clone(), two.clone()], [two.clone(), one.clone()]] {
        let (lines, warnings) = merged(&files).unwrap();
        assert_eq!(warnings, [""; 0]);
        let mut expected = [("a", "A", 4.0), ("b", "B", 5.0), ("c", "C", 1.0)]
            .map(|(asked, text, ms)| written(asked, &took(text, ms)) + "\n");
        expected.sort();
        assert_eq!(lines.join("\n") + "\n", expected.concat());
    }
    let odd = tape("odd", &[written("b", &took("another", 1.0))]);
    let error = merged(&[one, odd]).unwrap_err().to_string();
    let key = &key(&model(), &call("b"))[..12];
    let actual = format!("judge of openai/m, replicate 0 (key {key}) has one reply in ");
    assert!(error.starts_with(&actual) && error.ends_with("odd"), "{error}");
    // One is rejected, the other replied.
    let fault = Fault { kind: FaultKind::BadRequest, status: 400, message: "no".to_owned() };
    let rejected = tape("no", &[written("c", &Err(CallError::Rejected(fault)))]);
    assert!(merged(&[two, rejected]).is_err());
    assert!(merged(&[folder.path().join("gone")]).is_err());
    assert!(merged(&[]).unwrap().0.is_empty());
}

#[test]
fn requests_of_an_error_are_recorded() {
    let call = call("a");
    let fault = Fault { kind: FaultKind::BadRequest, status: 400, message: "no".to_owned() };
    let rejected = Err(CallError::Rejected(fault));
    for sent in [1, 3] {
        let (key, rejected) = ("0".repeat(64), (&rejected, sent));
        let line = CassetteLine::of((&key, &model(), &call), rejected, at(), &plain());
        let written = line.unwrap().written();
        assert_eq!(written.contains("attempts"), sent > 1, "{written}");
        assert_eq!(CassetteLine::read(&written).unwrap().recorded().sent, sent);
    }
}
