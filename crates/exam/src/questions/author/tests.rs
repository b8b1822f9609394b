use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::{Value as Json, json};

use super::*;
use crate::facts::CompactableMessage;
use recap_core::model::{Block, Timing, Usage};
use recap_llm::{Answered, Call, CallError, Finish, Model, Reply, Settings, Tokens};

/// A model that proposes these questions, answers with the words behind `the
/// answer to N is` where its context has them, and grades by equality.
struct Pupil {
    model: Model,
    proposals: Json,
    roles: Mutex<Vec<(ModelRole, u32)>>,
}

#[async_trait]
impl Llm for Pupil {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        self.roles.lock().unwrap().push((call.role, call.replicate));
        let said = &call.request.messages.last().unwrap().text;
        let text = match call.role {
            ModelRole::Author => json!({"questions": self.proposals}).to_string(),
            ModelRole::Answerer => {
                let key = said.split('`').nth(1).unwrap_or("none");
                let mark = format!("answer to {key} is ");
                let found = call.request.system.split(&mark).nth(1);
                let word = found.and_then(|rest| rest.split(['.', '\n']).next());
                // It guesses the second time.
                let guess = if call.replicate == 1 && key == "shaky" { None } else { word };
                guess.unwrap_or("I don't know").to_owned()
            }
            _ => {
                let document: Json = serde_json::from_str(said).unwrap();
                let right = document["expected"][0] == document["answer"];
                let verdict = if right { "correct" } else { "incorrect" };
                json!({"reason": "compared", "verdict": verdict}).to_string()
            }
        };
        let usage = Ok(Tokens { usage: Usage::default(), reasoning: None });
        let reply = Reply { text, finish: Finish::Done, usage, model: None };
        Ok(Answered { reply, timing: Timing::default(), recorded: false })
    }
}

fn session() -> Session {
    let texts = [
        (Role::User, "The answer to port is 8443."),
        (Role::Assistant, "Noted. The answer to shaky is maybe."),
        (Role::User, "The answer to store is SQLite."),
        (Role::Assistant, "Go on."),
    ];
    let message = |(n, (role, text)): (usize, (Role, &str))| Message {
        id: format!("id{n}"),
        role,
        at: None,
        blocks: vec![Block::Text { text: text.to_lowercase() }],
        usage: None,
        synthetic: false,
        broadcast: false,
    };
    let messages = texts.into_iter().enumerate().map(message).collect();
    let mut session = Session { id: "t".to_owned(), messages, ..Session::default() };
    session.preamble.system = vec!["The answer to known is forty two.".to_lowercase()];
    session
}

fn place(from: MessageIndex) -> CutPlace {
    let material =
        (0..from).map(|message| CompactableMessage { message, cleared: false }).collect();
    let (request, requests, left, last, recorded) = (from, 1, 1, from, None);
    CutPlace { request, requests, left, from, last, material, recorded }
}

fn proposal(key: &str, answer: &str, evidence: &[&str]) -> Json {
    json!({"kind": "fact", "question": format!("What did they say of `{key}`?"), "answer": answer,
        "evidence": evidence, "stale": []})
}

#[tokio::test]
async fn only_questions_that_hold_up_stay() {
    let proposals = json!([
        proposal("port", "8443", &["m0"]),
        proposal("shaky", "maybe", &["m1"]),
        proposal("known", "forty two", &["m0"]),
        proposal("store", "sqlite", &["m2"]),
        proposal("store", "sqlite", &["m2"]),
        proposal("sqlite", "sqlite", &["m2"]),
        proposal("port", "9999", &["m0"]),
        proposal("port", "8443", &["m9"]),
    ]);
    let model =
        Model { provider: "test".into(), name: "pupil".into(), settings: Settings::default() };
    let pupil = Arc::new(Pupil { model, proposals, roles: Mutex::default() });
    let llm: Arc<dyn Llm> = Arc::clone(&pupil) as Arc<dyn Llm>;
    let (session, places) = (session(), [place(3)]);
    let written = Author::new(&llm).write(&session, &places).await;
    let mut asked: Vec<(&str, &[String], &[String])> = written
        .questions
        .iter()
        .map(|p| (p.question.as_str(), p.expect.alternatives(), p.evidence.as_slice()))
        .collect();
    asked.sort();
    let text = |text: &str| vec![text.to_owned()];
    assert_eq!(
        asked,
        [
            ("What did they say of `port`?", text("8443").as_slice(), text("id0").as_slice()),
            ("What did they say of `store`?", text("sqlite").as_slice(), text("id2").as_slice()),
        ]
    );
    let left_out: Vec<(&str, u64)> =
        written.left_out.iter().map(|(why, n)| (why.as_str(), *n)).collect();
    assert_eq!(
        left_out,
        [
            ("another question asks nearly the same", 1),
            ("it gives its answer away, or cannot be graded", 1),
            ("its evidence does not say the answer", 2),
            ("its evidence is not in the part", 1),
            ("not answered twice with the whole conversation", 1),
        ]
    );
    // The same calls give the same questions, with the same ids.
    let again = Author::new(&llm).write(&session, &places).await;
    assert_eq!(again.questions, written.questions);
    let roles = pupil.roles.lock().unwrap();
    assert_eq!(roles.iter().filter(|role| **role == (ModelRole::Answerer, 1)).count(), 6);
}

#[tokio::test]
async fn question_answered_by_system_prompt_is_left_out() {
    let mut session = session();
    session.messages[0].blocks =
        vec![Block::Text { text: "the answer to known is forty two.".to_owned() }];
    let proposals = json!([proposal("known", "forty two", &["m0"])]);
    let model =
        Model { provider: "test".into(), name: "pupil".into(), settings: Settings::default() };
    let llm: Arc<dyn Llm> = Arc::new(Pupil { model, proposals, roles: Mutex::default() });
    let written = Author::new(&llm).write(&session, &[place(3)]).await;
    assert_eq!(written.questions, []);
    assert_eq!(written.left_out["answered without the conversation"], 1);
}

#[test]
fn long_stretch_is_read_at_start_middle_end() {
    let mut session = session();
    let long = "word ".repeat(1_000);
    let one = session.messages[0].clone();
    session.messages = (0..200)
        .map(|n| Message {
            id: n.to_string(),
            blocks: vec![Block::Text { text: long.clone() }],
            ..one.clone()
        })
        .collect();
    let places = [place(100), place(200)];
    let stretches = stretches(&session, &places);
    let firsts: Vec<Vec<u32>> =
        stretches.iter().map(|(_, parts)| parts.iter().map(|part| part[0]).collect()).collect();
    // 15 messages of 4,000 characters a call: 7 calls, of which 3 are made.
    assert_eq!(firsts, [[0, 45, 90], [100, 145, 190]]);
    assert_eq!(clipped(&session.messages[0]).len(), 4_000 + "\n[…]\n".len());
}
