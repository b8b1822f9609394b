//! The reply of a model that writes questions.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::roles::ask;
use recap_core::model::{MessageIndex, QuestionKind};

/// Kinds that a model writes: their answers stand in the evidence.
pub(super) const KINDS: [QuestionKind; 7] = [
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
pub(super) struct Proposal {
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
pub(super) fn read(text: &str) -> Result<Vec<Proposal>, String> {
    let reply: Reply = ask::object(text)?;
    let unknown = reply.questions.iter().find(|proposal| !KINDS.contains(&proposal.kind));
    match unknown {
        Some(proposal) => Err(format!("the kind `{}` is not one of these", proposal.kind.as_str())),
        None => Ok(reply.questions),
    }
}

/// The message of a label such as `m12`.
pub(super) fn message(label: &str) -> Option<MessageIndex> {
    label.trim().trim_start_matches('m').parse().ok()
}

/// The schema of a reply.
pub(super) fn schema() -> Json {
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
    use super::*;

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
}
