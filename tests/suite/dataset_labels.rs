//! The format of labelled answers against its published schema.

use recap_core::model::QuestionKind;
use recap_formats::load_labels;
use serde_json::{Value as Json, json};

fn schema(name: &str) -> Json {
    let path = format!("{}/datasets/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn case() -> Json {
    json!({
        "id": "1", "question": "Which port?", "expect": {"any_of": ["81"]}, "stale": ["80"],
        "kind": "update", "answer": "It is 81.", "label": true, "answered_by": "a-model"
    })
}

fn changed(key: &str, value: Json) -> Json {
    let mut case = case();
    case[key] = value;
    case
}

fn without(key: &str) -> Json {
    let mut case = case();
    case.as_object_mut().unwrap().remove(key);
    case
}

fn reads(case: &Json) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.jsonl");
    std::fs::write(&path, case.to_string()).unwrap();
    load_labels(&path).is_ok()
}

#[test]
fn schema_and_reader_agree_on_valid_cases() {
    let schema = jsonschema::draft202012::new(&schema("labelled")).unwrap();
    let rubric = |label: Json| {
        let mut case = changed("label", label);
        case["expect"] = json!({"rubric": ["a", "b"]});
        case
    };
    let unanswerable = |kind: Option<&str>| {
        let mut case = without("kind");
        if let Some(kind) = kind {
            case["kind"] = json!(kind);
        }
        case["expect"] = json!({"unanswerable": true});
        case
    };
    let good = [
        case(),
        without("stale"),
        without("kind"),
        without("answered_by"),
        changed("answer", json!("")),
        changed("label", json!("stale")),
        rubric(json!(0.25)),
        rubric(json!(1)),
        rubric(json!("abstained")),
        unanswerable(None),
        unanswerable(Some("abstain")),
    ];
    let bad = [
        without("id"),
        without("question"),
        without("expect"),
        without("answer"),
        without("label"),
        changed("more", json!(1)),
        changed("id", json!(7)),
        changed("question", json!(" ")),
        changed("kind", json!("riddle")),
        changed("kind", json!("abstain")),
        changed("expect", json!({})),
        changed("expect", json!({"any_of": []})),
        changed("expect", json!({"any_of": [" "]})),
        changed("expect", json!({"any_of": ["a"], "rubric": ["a"]})),
        changed("expect", json!({"unanswerable": false})),
        changed("label", json!("right")),
        changed("label", json!(0.5)),
        changed("label", json!(null)),
        rubric(json!(1.01)),
        rubric(json!(-0.5)),
        unanswerable(Some("fact")),
    ];
    for (cases, expected) in [(good.as_slice(), true), (&bad, false)] {
        for case in cases {
            assert_eq!(schema.is_valid(case), expected, "schema: {case}");
            assert_eq!(reads(case), expected, "reader: {case}");
        }
    }
}

#[test]
fn every_kind_of_question_is_in_the_schemas() {
    let kinds: Vec<&str> = QuestionKind::ALL.iter().map(|kind| kind.as_str()).collect();
    for name in ["labelled", "question"] {
        assert_eq!(schema(name)["properties"]["kind"]["enum"], json!(kinds), "{name}");
    }
}
