//! Strategies of the user's own behind an address: what is posted, and that
//! nothing a server does wrong reaches past its cell.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{ledger, offline, plan, sent, small, subject};
use crate::server::{Act, Received, Server, nowhere};
use recap::model::{CellOutcome, CellRows};
use recap::replay::{ReplaySession, replay};
use recap::strategy::Preset;
use serde_json::{Value as Json, json};

fn text(url: &str, more: &str) -> String {
    format!(
        "version = 1\nname = \"mine\"\nsummary = \"\"\nsource = \"\"\n[[stage]]\nmechanism = \
         \"http\"\nat = \"request\"\nwhen = {{ messages = 4 }}\nurl = \"{url}\"\n{more}\n"
    )
}

/// A preset in a folder of its own: one that asks a server is the user's.
fn load(url: &str, more: &str) -> Result<Preset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, text(url, more)).unwrap();
    Preset::load(&path, &[]).map_err(|e| e.to_string())
}

fn go<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn outcome(preset: Preset) -> CellOutcome {
    let (subject, plan) = (subject(small()), plan(preset, 1_000));
    go(replay(&subject, &plan, &offline())).cell.outcome
}

#[track_caller]
fn rows(preset: Preset) -> CellRows {
    match outcome(preset) {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

#[track_caller]
fn error(url: &str, more: &str) -> String {
    match outcome(load(url, more).unwrap()) {
        CellOutcome::Failed { error } => error,
        CellOutcome::Done(rows) => panic!("it ran through: {:?}", rows.compactions),
    }
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in\n{error}");
    }
}

/// Answers `open`, and each `compact` by a function.
fn serving(compact: impl Fn(&Received) -> Act + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.body["type"].as_str() {
        Some("open") => Act::json(200, &json!({"type": "ready"})),
        Some("compact") => compact(request),
        _ => Act::json(200, &json!({})),
    })
}

fn keeping(request: &Received, from: usize) -> Json {
    let ids = request.body["context"].as_array().unwrap();
    let kept: Vec<Json> = ids[from.min(ids.len())..].iter().map(|id| json!({"id": id})).collect();
    json!({"type": "context", "messages": kept})
}

// The third request of `small` has the messages 0 to 4, the fourth 0 to 7, the
// fifth 0 to 9.

#[test]
fn every_message_is_one_post_with_the_id_of_its_session() {
    let server = serving(|request| Act::json(200, &keeping(request, 0)));
    let url = format!("{}/compact", server.base());
    rows(load(&url, "parameters = { keep = 3 }").unwrap());
    let log = server.log();
    let kinds: Vec<&str> = log.iter().map(|r| r.body["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["open", "compact", "compact", "compact", "close"]);
    assert!(log.iter().all(|r| r.path == "/compact"));
    assert!(log.iter().all(|r| r.header("content-type") == Some("application/json")));
    let session = log[0].body["session"].as_str().unwrap();
    assert!(!session.is_empty() && log.iter().all(|r| r.body["session"] == session));
    assert_eq!(log[0].body["parameters"], json!({"keep": 3}));
    let new = |at: usize| log[at].body["messages"].as_array().unwrap().len();
    assert_eq!([new(1), new(2), new(3)], [5, 3, 2], "what is known is not sent again");
}

#[test]
fn the_answer_is_the_new_context() {
    let server = serving(|request| {
        let first = request.body["call"] == 1;
        Act::json(200, &keeping(request, if first { 3 } else { 0 }))
    });
    let preset = load(&server.base(), "").unwrap();
    let (subject, plan, compactor) = (subject(small()), plan(preset, 1_000), offline());
    let mut session = ReplaySession::open(&subject, &plan, &compactor).unwrap();
    go(async {
        session.run_to_request(2).await.unwrap();
        session.close().await;
    });
    assert_eq!(ledger(&session), "...VV");
    assert_eq!(sent(&session).len(), 2);
}

#[test]
fn cells_and_restored_sessions_have_sessions_of_their_own() {
    let server = serving(|request| {
        let mut answer = keeping(request, 0);
        answer["state"] = json!(request.body["call"]);
        Act::json(200, &answer)
    });
    let preset = load(&server.base(), "").unwrap();
    let (subject, plan, compactor) = (subject(small()), plan(preset, 1_000), offline());
    go(async {
        let mut session = ReplaySession::open(&subject, &plan, &compactor).unwrap();
        session.run_to_request(2).await.unwrap();
        let saved = serde_json::to_string(&session.save()).unwrap();
        session.close().await;
        let saved = serde_json::from_str(&saved).unwrap();
        let mut session = ReplaySession::restore(&subject, &plan, &compactor, saved).unwrap();
        session.run_to_end().await.unwrap();
        session.close().await;
    });
    let log = server.log();
    let opened: Vec<&Json> =
        log.iter().filter(|r| r.body["type"] == "open").map(|r| &r.body).collect();
    assert_eq!(opened.len(), 2);
    assert_ne!(opened[0]["session"], opened[1]["session"]);
    assert_eq!((opened[0].get("state"), &opened[1]["state"]), (None, &json!(1)));
}

// What goes wrong.

#[test]
fn a_refused_connection_names_preset_and_address_and_no_secret() {
    let secret = nowhere().replace("http://", "http://user:canary@") + "/path?token=canary";
    let error = error(&secret, "");
    let shown =
        format!("`{}/path`", secret.replace("user:canary@", "").replace("/path?token=canary", ""));
    assert_says(&error, &["preset `mine`", "at its start", &shown, "no connection"]);
    assert!(!error.contains("canary"), "{error}");
}

#[test]
fn a_status_other_than_200_is_told_with_its_first_words() {
    for status in [201, 204, 400, 404, 500, 503] {
        let server = serving(move |_| Act::html(status, "the database is down"));
        let error = error(&server.base(), "");
        assert_says(&error, &["call 1", &format!("status {status}")]);
        if status != 204 {
            assert_says(&error, &["; its words: the database is down"]);
        }
        let compactions = server.log().iter().filter(|r| r.body["type"] == "compact").count();
        assert_eq!(compactions, 1, "nothing is sent twice");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = serving(|request| Act::json(200, &keeping(request, 0)));
    let to = other.base();
    let server = Server::start(move |_| Act::html(307, "").with("location", &to));
    assert_says(&error(&server.base(), ""), &["status 307", "redirects are not followed"]);
    assert_eq!(other.requests(), 0);
}

#[test]
fn an_answer_that_breaks_off_or_never_ends_fails_its_cell() {
    let cases: [(Act, &str); 6] = [
        (Act::Close, "the connection broke off"),
        (Act::Reset, "the connection broke off"),
        (Act::Truncate(b"{\"type\":".to_vec()), "the connection broke off"),
        (Act::Hang, "no whole answer within 0.5 s"),
        (Act::Drip, "no whole answer within 0.5 s"),
        (Act::Flood, "longer than 64 MB"),
    ];
    for (act, says) in cases {
        let shown = format!("{act:?}");
        let long = matches!(act, Act::Flood);
        let server = serving(move |_| act.clone());
        let more = if long { "" } else { "timeouts = { call = 0.5 }" };
        let error = error(&server.base(), more);
        assert!(error.contains(says) && error.contains("call 1"), "{shown}: {error}");
    }
}

#[test]
fn start_and_total_have_time_outs_of_their_own() {
    let server = Server::start(|_| Act::Hang);
    let late = error(&server.base(), "timeouts = { start = 0.2 }");
    assert_says(&late, &["at its start", "no whole answer within 0.2 s"]);
    let late = error(&server.base(), "timeouts = { start = 5, total = 0.2 }");
    assert_says(&late, &["its 0.2 s in total are used up"]);
}

#[test]
fn wrong_content_is_told_as_a_programs_is() {
    let cases: [(&[u8], &str); 7] = [
        (b"<html>", "its words: <html>"),
        (b"", "is not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{\"type\":\"ready\"}", "must answer `compact`"),
        (b"{\"type\":\"context\",\"messages\":[],\"more\":1}", "unknown field `more`"),
        (b"{\"type\":\"context\",\"messages\":[{\"id\":\"m99\"}]}", "m99"),
        (
            b"{\"type\":\"error\",\"message\":\"no model\"}",
            "it reports an error; its words: no model",
        ),
    ];
    for (body, says) in cases {
        let body = body.to_vec();
        let server =
            serving(move |_| Act::Answer { status: 200, headers: Vec::new(), body: body.clone() });
        let error = error(&server.base(), "");
        assert_says(&error, &["preset `mine`", "call 1", says]);
    }
}

#[test]
fn a_pair_that_a_server_breaks_is_its_bug() {
    // m2 is the result of m1's call.
    let server = serving(|request| Act::json(200, &keeping(request, 2)));
    assert_says(
        &error(&server.base(), ""),
        &["the result of call `A` (read) is sent without its call"],
    );
}

#[test]
fn a_preset_of_a_server_is_checked_before_anything_is_sent() {
    let refused = |url: &str, more: &str, says: &str| {
        assert_says(&load(url, more).unwrap_err(), &["stage 1", says]);
    };
    refused("ftp://host/canary", "", "`url` must begin with http:// or https://");
    refused("nothing", "", "`url` is no address");
    refused("http://host", "timeouts = { call = 0 }", "seconds above 0");
    refused("http://host", "command = [\"x\"]", "unknown field `command`");
    let text = text("http://host", "");
    let error = Preset::parse("mine.toml", &text, &[], &|_| None).unwrap_err().to_string();
    assert_says(&error, &["only by a preset file of your own"]);
    let preset = load("http://user:canary@host/x?key=canary", "").unwrap();
    assert_eq!(preset.servers().collect::<Vec<_>>(), ["http://host/x"]);
}

#[test]
fn the_command_line_checks_it_and_shows_no_secret_of_it() {
    let server = serving(|request| Act::json(200, &keeping(request, 0)));
    let url = server.base().replace("http://", "http://user:canary@") + "/x?key=canary";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), text(&url, "")).unwrap();
    let recap = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("recap"));
        let ran = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(!said.contains("canary"), "{said}");
        said
    };
    let checked = recap(&["strategies", "check", "mine.toml"]);
    assert_says(&checked, &["mine: 1 stage, no error", "tried on 3 sessions"]);
    assert!(server.requests() > 3);
    let shown = recap(&["strategies", "show", "mine.toml"]);
    let sends =
        format!("sends the conversation to {}/x: run it only if you trust it", server.base());
    assert_says(&shown, &[&sends, "the hash of the preset does not cover what it does"]);
    let run = [
        "bench",
        "quickstart",
        "--limit",
        "1",
        "--strategy",
        "mine.toml",
        "--quiet",
        "--out",
        "run",
    ];
    recap(&run);
    let manifest = fs::read_to_string(folder.path().join("run/manifest.json")).unwrap();
    assert_says(&manifest, &["not part of the preset's hash"]);
    assert!(!manifest.contains("canary"), "{manifest}");
}

#[test]
fn the_sample_server_does_what_the_sample_program_does() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: there is no python3");
        return;
    }
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies/samples");
    let mut child = Command::new("python3")
        .args(["keep_last_server.py", "0"])
        .current_dir(&samples)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    let ran = std::panic::catch_unwind(|| {
        let preset = Preset::load(&samples.join("keep-last-http.toml"), &[]).unwrap();
        assert_eq!(preset.servers().collect::<Vec<_>>(), ["http://127.0.0.1:8765/"]);
        let text = fs::read_to_string(samples.join("keep-last-http.toml")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, text.replace("http://127.0.0.1:8765/", &address)).unwrap();
        let asked = last(Preset::load(&path, &[]).unwrap());
        let program = last(Preset::load(&samples.join("keep-last-python.toml"), &[]).unwrap());
        assert_eq!(asked, program);
        assert!(asked[0].1.starts_with("[Earlier messages were dropped: "), "{}", asked[0].1);
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ran.is_ok());
}

/// What is sent at the end of a bundled session.
fn last(preset: Preset) -> Vec<(String, String)> {
    let dataset = recap::dataset::bundled("quickstart").unwrap().unwrap();
    let subject = subject(dataset.transcripts.into_iter().next().unwrap());
    let window = "25%".parse::<recap::replay::WindowSpec>().unwrap();
    let window = window.tokens(&subject.recording.sizes, 0).unwrap();
    let (plan, compactor) = (plan(preset, window), offline());
    let mut session = ReplaySession::open(&subject, &plan, &compactor).unwrap();
    go(async {
        session.run_to_end().await.unwrap();
        session.close().await;
    });
    sent(&session)
}
