//! A model as author of questions: it reads the session from cut to cut and
//! writes questions, of which those stay that hold up.
//!
//! A question stays if its answer stands in its evidence, if it is not answered
//! without the conversation, and if it is answered right twice with the whole
//! conversation. So a wrong question of the model costs two calls and is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::draft::{self, Draft, choose};
use super::view::{View, passages, preamble};
use crate::facts::CutPlace;
use crate::roles::answerer::{Answerer, Llm as AnsweringModel};
use crate::roles::ask::{self, ModelClient, fence};
use crate::roles::judge::{Grading, Judge, Llm as JudgingModel};
use recap_core::model::{
    Message, MessageIndex, ModelRole, Question, QuestionKind, RIGHT, Role, Session,
};
use recap_core::text::Normal;
use recap_llm::{Llm, Request, Schema};

const PROMPT: &str = include_str!("author/prompt.md");

/// Most questions that are asked for in one call.
const MOST: usize = 8;
/// Largest length of a reply in tokens: a question with its answer and evidence
/// takes about a hundred.
const REPLY_TOKENS: u64 = 1_600;
/// Typical length of a reply in tokens, to estimate the cost.
pub const TYPICAL_QUESTIONS_TOKENS: u64 = 800;
/// Characters of a message that are read at its beginning and at its end.
const READ: [usize; 2] = [3_000, 1_000];
/// Characters of one call, and most calls for the part between two cuts.
const A_CALL: usize = 60_000;
const CALLS: usize = 3;

/// What an author asked, and why other questions were left out.
#[derive(Debug, Default)]
pub struct Written {
    /// The questions that stay.
    pub questions: Vec<Question>,
    /// Number of questions that were left out, and of calls without a usable
    /// reply, by reason.
    pub left_out: BTreeMap<String, u64>,
}

/// A model that writes questions, and answers and grades them to test them.
pub struct Author {
    llm: Arc<dyn Llm>,
    answerers: [AnsweringModel; 2],
    judge: JudgingModel,
}

impl Author {
    /// An author that calls the model behind `llm`.
    pub fn new(llm: &Arc<dyn Llm>) -> Author {
        let answerer = |n| AnsweringModel::new(Arc::clone(llm)).repeated(n);
        Author {
            llm: Arc::clone(llm),
            answerers: [answerer(0), answerer(1)],
            judge: JudgingModel::new(Arc::clone(llm)),
        }
    }

    /// The questions at these places, by place.
    pub async fn write(&self, session: &Session, places: &[CutPlace]) -> Written {
        let mut written = Written::default();
        for (place, parts) in stretches(session, places) {
            self.write_at(session, place, &parts, &mut written).await;
        }
        written
    }

    /// The questions at a place, about the parts before it. One call is made at
    /// a time: each may read its prompt from the cache that the one before it
    /// wrote.
    async fn write_at(
        &self,
        session: &Session,
        place: &CutPlace,
        parts: &[Vec<MessageIndex>],
        written: &mut Written,
    ) {
        let view = View::new(session, &[], place);
        let mut drafts: Vec<Draft> = Vec::new();
        for part in parts {
            match self.propose(session, part).await {
                Ok(proposals) => {
                    proposals.into_iter().for_each(|p| written.take(p, &view, &mut drafts));
                }
                Err(why) => written.leave_out(&format!("no usable reply: {why}")),
            }
        }
        let sound = self.tested(session, place, drafts, written).await;
        written.questions.extend(choose(&view, place, by_role(session, sound), &[]));
    }

    /// Makes the calls that [`Author::write`] would make if every question were
    /// good, to count them.
    pub async fn dry_run(&self, session: &Session, places: &[CutPlace]) {
        for (place, parts) in stretches(session, places) {
            for part in &parts {
                // A dry run has no reply; the call is counted.
                _ = self.propose(session, part).await;
            }
            let question = |n: usize| {
                let question =
                    format!("Which of the {n} files did the agent change last, and why?");
                Draft::new(QuestionKind::Fact, question, ["a value of it".to_owned()], [place.from])
            };
            let drafts = (0..MOST * parts.len()).map(question).collect();
            self.tested(session, place, drafts, &mut Written::default()).await;
        }
    }

    async fn propose(
        &self,
        session: &Session,
        part: &[MessageIndex],
    ) -> Result<Vec<Proposal>, String> {
        let line = ModelClient { llm: &*self.llm, role: ModelRole::Author, replicate: 0 };
        let read = |said: ask::ReplyText<'_>| read(said.text);
        line.ask(asked(session, part), read, |_, _| {}).await.map_err(|why| why.to_string())
    }

    /// The questions that are not answered without the conversation, and twice
    /// with all of it.
    async fn tested(
        &self,
        session: &Session,
        place: &CutPlace,
        drafts: Vec<Draft>,
        written: &mut Written,
    ) -> Vec<Draft> {
        let questions: Vec<&str> = drafts.iter().map(|draft| draft.question.as_str()).collect();
        let alone = preamble(session, place.from);
        let whole = passages(session, place);
        let [first, second] = &self.answerers;
        let asked = [
            first.answer(&alone, &questions).await,
            first.answer(&whole, &questions).await,
            second.answer(&whole, &questions).await,
        ];
        let mut sound = Vec::new();
        for (number, draft) in drafts.into_iter().enumerate() {
            let judged = asked.iter().map(|answers| async {
                match &answers[number] {
                    Ok(answer) => self.is_right(&draft, answer).await,
                    Err(_) => false,
                }
            });
            match join_all(judged).await[..] {
                [true, ..] => written.leave_out("answered without the conversation"),
                [false, true, true] => sound.push(draft),
                _ => written.leave_out("not answered twice with the whole conversation"),
            }
        }
        sound
    }

    async fn is_right(&self, draft: &Draft, answer: &str) -> bool {
        let grading = Grading {
            question: &draft.question,
            kind: draft.kind,
            expect: &draft.expect,
            stale: &draft.stale,
            answer,
        };
        self.judge.grade(&grading).await.score.is_some_and(|score| score >= RIGHT)
    }
}

impl Written {
    fn leave_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    /// Takes a question that can be asked and graded, with its evidence.
    fn take(&mut self, proposal: Proposal, view: &View<'_>, drafts: &mut Vec<Draft>) {
        let labels = proposal.evidence.iter().map(|label| message(label));
        let evidence: Option<Vec<MessageIndex>> = labels.collect();
        let held = |at: &MessageIndex| view.messages.binary_search(at).is_ok();
        let Some(evidence) = evidence.filter(|all| !all.is_empty() && all.iter().all(held)) else {
            return self.leave_out("its evidence is not in the part");
        };
        let texts = evidence.iter().map(|&at| view.session.messages[at as usize].sent());
        let said = Normal::new(&texts.collect::<Vec<_>>().join("\n"));
        if !said.contains(&Normal::new(&proposal.answer)) {
            return self.leave_out("its evidence does not say the answer");
        }
        let Proposal { kind, question, answer, stale, .. } = proposal;
        let draft = Draft::new(kind, question, [answer], evidence).with_stale(stale);
        if !draft::is_sound(&draft) {
            return self.leave_out("it gives its answer away, or cannot be graded");
        }
        if drafts.iter().any(|other| alike(&other.question, &draft.question)) {
            return self.leave_out("another question asks nearly the same");
        }
        drafts.push(draft);
    }
}

/// Share of words that two questions have in common at which they ask nearly the
/// same.
const ALIKE: f64 = 0.75;

fn alike(a: &str, b: &str) -> bool {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        Normal::new(text).as_str().split(' ').map(str::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    let both = a.intersection(&b).count() as f64;
    both >= ALIKE * a.union(&b).count() as f64
}

/// The questions by the role of the message that answers them, so that what the
/// user said has its turn.
fn by_role(session: &Session, drafts: Vec<Draft>) -> Vec<Vec<Draft>> {
    let mut roles: BTreeMap<Role, Vec<Draft>> = BTreeMap::new();
    for draft in drafts {
        let role = session.messages[draft.evidence[0] as usize].role;
        roles.entry(role).or_default().push(draft);
    }
    roles.into_values().collect()
}

/// The messages that are read for each place: those since the place before, in
/// parts of one call each.
fn stretches<'p>(
    session: &Session,
    places: &'p [CutPlace],
) -> Vec<(&'p CutPlace, Vec<Vec<MessageIndex>>)> {
    let mut from = 0;
    let mut stretches = Vec::new();
    for place in places {
        let own = place.material.iter().filter(|kept| !kept.cleared && kept.message >= from);
        let mut parts: Vec<Vec<MessageIndex>> = vec![Vec::new()];
        let mut length = 0;
        for at in own.map(|kept| kept.message) {
            let size = session.messages[at as usize].sent().len().min(READ[0] + READ[1]);
            if length + size > A_CALL {
                parts.push(Vec::new());
                length = 0;
            }
            length += size;
            parts.last_mut().expect("there is one").push(at);
        }
        parts.retain(|part| !part.is_empty());
        // Of a long stretch its beginning, its middle and its end.
        if parts.len() > CALLS {
            let last = parts.len() - 1;
            let keep: Vec<usize> = (0..CALLS).map(|n| n * last / (CALLS - 1)).collect();
            let mut number = 0;
            parts.retain(|_| {
                number += 1;
                keep.contains(&(number - 1))
            });
        }
        stretches.push((place, parts));
        from = place.from;
    }
    stretches
}

/// The request for questions about a part.
fn asked(session: &Session, part: &[MessageIndex]) -> Request {
    let text = |at: &MessageIndex| clipped(&session.messages[*at as usize]);
    let texts: Vec<String> = part.iter().map(text).collect();
    let mark = &fence(texts.iter().map(String::as_str));
    let mut document = String::new();
    for (at, text) in part.iter().zip(&texts) {
        let role = session.messages[*at as usize].role.as_str();
        document.push_str(&format!("[{mark}] m{at} {role}\n{}\n", text.trim_end()));
    }
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.as_str()).collect();
    let system = PROMPT
        .replace("{{mark}}", mark)
        .replace("{{most}}", &MOST.to_string())
        .replace("{{kinds}}", &kinds.join(", "));
    Request {
        schema: Some(Schema { name: "questions".to_owned(), json: schema() }),
        ..Request::of(system, document, REPLY_TOKENS)
    }
}

/// A message; of a long one its beginning and its end.
fn clipped(message: &Message) -> String {
    let text = message.sent();
    if text.len() <= READ[0] + READ[1] {
        return text;
    }
    let head = text.floor_char_boundary(READ[0]);
    let tail = text.ceil_char_boundary(text.len() - READ[1]);
    format!("{}\n[…]\n{}", &text[..head], &text[tail..])
}

// The reply of a model that writes questions.

/// Kinds that a model writes: their answers stand in the evidence.
const KINDS: [QuestionKind; 7] = [
    QuestionKind::Fact,
    QuestionKind::Artifact,
    QuestionKind::Constraint,
    QuestionKind::Decision,
    QuestionKind::Update,
    QuestionKind::Plan,
    QuestionKind::Snapshot,
];

/// A question as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposal {
    pub kind: QuestionKind,
    pub question: String,
    pub answer: String,
    pub evidence: Vec<String>,
    #[serde(default)]
    pub stale: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    questions: Vec<Proposal>,
}

/// The questions in a reply, or what is wrong with it.
fn read(text: &str) -> Result<Vec<Proposal>, String> {
    let reply: Reply = ask::object(text)?;
    let unknown = reply.questions.iter().find(|proposal| !KINDS.contains(&proposal.kind));
    match unknown {
        Some(proposal) => Err(format!("the kind `{}` is not one of these", proposal.kind.as_str())),
        None => Ok(reply.questions),
    }
}

/// The message of a label such as `m12`.
fn message(label: &str) -> Option<MessageIndex> {
    label.trim().trim_start_matches('m').parse().ok()
}

/// The schema of a reply.
fn schema() -> Json {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.as_str()).collect();
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let question = json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": kinds},
            "question": {"type": "string"},
            "answer": {"type": "string"},
            "evidence": texts,
            "stale": texts,
        },
        "required": ["kind", "question", "answer", "evidence", "stale"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"questions": {"type": "array", "items": question}},
        "required": ["questions"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::facts::CompactableMessage;
    use recap_core::model::{Block, Timing, Usage};
    use recap_llm::{Answered, Call, CallError, Finish, Model, Reply, Settings, Tokens};

    #[test]
    fn reply_lists_questions_of_known_kinds() {
        let one = json!({"kind": "update", "question": "Which port?", "answer": "8443",
            "evidence": ["m3"], "stale": ["8080"]});
        let read_one = |one: &Json| read(&json!({"questions": [one]}).to_string());
        let found = read_one(&one).unwrap();
        assert_eq!((found[0].kind, found[0].answer.as_str()), (QuestionKind::Update, "8443"));
        for (field, value, says) in [
            ("kind", json!("tone"), "the kind `tone`"),
            ("kind", json!("rhyme"), "a field is unknown"),
            ("answer", Json::Null, "of another type"),
        ] {
            let mut wrong = one.clone();
            wrong[field] = value;
            assert!(read_one(&wrong).unwrap_err().contains(says), "{field}");
        }
        assert!(read("nothing").is_err());
        assert_eq!(
            (message("m12"), message("12"), message("mx"), message("")),
            (Some(12), Some(12), None, None)
        );
    }

    /// A model that proposes these questions, answers with the words after `the
    /// answer to N is` where its context has them, and grades by equality.
    struct Pupil {
        model: Model,
        proposals: Json,
        roles: Mutex<Vec<(ModelRole, u32)>>,
    }

    fn pupil(proposals: Json) -> Arc<Pupil> {
        let (provider, name) = ("test".to_owned(), "pupil".to_owned());
        let model = Model { provider, name, settings: Settings::default() };
        Arc::new(Pupil { model, proposals, roles: Mutex::default() })
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
        let message = |(n, (role, text)): (usize, (Role, &str))| {
            let blocks = vec![Block::Text { text: text.to_lowercase() }];
            Message::new(format!("id{n}"), role, None, blocks)
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
        let pupil = pupil(proposals);
        let llm: Arc<dyn Llm> = Arc::clone(&pupil) as Arc<dyn Llm>;
        let (session, places) = (session(), [place(3)]);
        let written = Author::new(&llm).write(&session, &places).await;
        let asked = written.questions.iter().map(|p| {
            [p.question.clone(), p.expect.alternatives().join(", "), p.evidence.join(", ")]
        });
        let mut asked: Vec<[String; 3]> = asked.collect();
        asked.sort();
        let of = |key: &str| format!("What did they say of `{key}`?");
        assert_eq!(asked, [[&*of("port"), "8443", "id0"], [&*of("store"), "sqlite", "id2"]]);
        let left_out = [
            ("another question asks nearly the same", 1),
            ("it gives its answer away, or cannot be graded", 1),
            ("its evidence does not say the answer", 2),
            ("its evidence is not in the part", 1),
            ("not answered twice with the whole conversation", 1),
        ];
        let left_out = left_out.map(|(why, n)| (why.to_owned(), n));
        assert_eq!(written.left_out, BTreeMap::from(left_out));
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
        let llm: Arc<dyn Llm> = pupil(proposals);
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
}
