use std::sync::Arc;

use super::*;
use recap_core::model::{Label, LabelledQuestion, NoGrade, QuestionKind, Source, Verdict};

fn row(file: Option<&str>, group: Option<&str>) -> JudgeRow {
    JudgeRow {
        file: file.map(str::to_owned),
        group: group.map(str::to_owned),
        questions: 1_500,
        graded: 2_000,
        agreed: 1_800,
        kappa: Some(0.75),
        kappa_bounds: Some((0.7, 0.8)),
        false_accepts: 50,
        to_reject: 1_000,
        false_accept_bounds: Some((0.0375, 0.0654)),
        false_rejects: 150,
        to_accept: 1_000,
        unscored: 3,
        score_error: None,
    }
}

fn report() -> JudgeReport {
    JudgeReport {
        judge: "offline".to_owned(),
        source: Source::Lexical,
        seed: 7,
        rows: vec![row(Some("a"), None), row(Some("a"), Some("=m\u{1b}[31m"))],
        reasons: vec![("busy".to_owned(), 3)],
        trust: Trust::Untrusted,
    }
}

fn screen(width: usize) -> Screen {
    Screen { width, color: false, wide: true }
}

#[test]
fn the_table_shows_people_and_groups() {
    insta::assert_snapshot!(calibration_table(&report(), screen(100)), @r"
    recap · judge offline (lexical)

     a · 1,500 questions
     answers  graded  agreement  kappa              false accepts  false rejects  unscored
     all       2,000     90.0 %  0.75 [0.70, 0.80]     50 (5.0 %)   150 (15.0 %)         3
     =m [31m   2,000     90.0 %  0.75 [0.70, 0.80]     50 (5.0 %)   150 (15.0 %)         3

     Whether the judge can be trusted
     []: 95 % intervals over questions; kappa is Cohen's.
     unscored: 3 × busy
     not trusted: kappa against people is 0.75; of the answers that people find wrong 5.0 % [3.8, 6.5]
     are accepted, at worst 5.0 % [3.8, 6.5] of those by =m [31m (trusted from kappa 0.7 on, with the
     upper bound below 5 %, each over six questions or more).
    ");
}

#[test]
fn without_labels_trust_is_open_and_names_gaps() {
    let empty = JudgeReport { rows: vec![], trust: Trust::Unknown, ..report() };
    let table = calibration_table(&empty, screen(200));
    let missing = "not known: no kappa against people; too few answers that people find wrong (";
    assert!(table.contains(missing), "{table}");
}

#[test]
fn figures_are_the_same_in_csv_and_json() {
    let csv = String::from_utf8(calibration_csv(&report())).unwrap();
    let lines: Vec<&str> = csv.split("\r\n").collect();
    let header = "file,group,questions,graded,agreement,kappa,kappa_lo,kappa_hi,false_accepts,\
                  false_accept_share,false_accept_lo,false_accept_hi,false_rejects,\
                  false_reject_share,unscored,score_error,judge";
    assert_eq!(lines[0], header);
    assert_eq!(lines[1], "a,,1500,2000,0.9,0.75,0.7,0.8,50,0.05,0.0375,0.0654,150,0.15,3,,offline");
    assert!(lines[2].starts_with("a,'=m"), "{}", lines[2]);
    let json: Json = serde_json::from_str(&calibration_json(&report())).unwrap();
    assert_eq!(json["rows"][0]["kappa"], 0.75);
    assert_eq!(json["rows"][0]["group"], Json::Null);
    assert_eq!((&json["trust"], &json["rows"][0]["judge"]), (&json!("untrusted"), &Json::Null));
}

#[test]
fn every_answer_is_in_verdicts_with_its_label() {
    let asked = Arc::new(LabelledQuestion {
        file: "f".into(),
        id: "1".to_owned(),
        question: "Which, exactly?".to_owned(),
        kind: QuestionKind::Fact,
        expect: Expectation::AnyOf(vec!["a".to_owned(), "b".to_owned()]),
        stale: vec!["c".to_owned()],
    });
    let case = |label, group: Option<&str>| LabelledCase {
        asked: Arc::clone(&asked),
        id: "1".to_owned(),
        line: 4,
        answer: "=1+1".to_owned(),
        label,
        group: group.map(Into::into),
    };
    let cases = [case(Label::Incorrect, Some("m")), case(Label::Score(0.5), None)];
    let judgement = Judgement {
        verdict: Verdict::Correct,
        score: Some(1.0),
        rationale: "it says `a`".to_owned(),
        votes: Vec::new(),
    };
    let unscored = Judgement::unscored(NoGrade::Other("busy".to_owned()));
    let csv = String::from_utf8(verdicts_csv(&cases, &[judgement, unscored])).unwrap();
    assert_eq!(
        csv.split("\r\n").skip(1).collect::<Vec<_>>(),
        [
            "f,4,1,m,fact,\"Which, exactly?\",a | b,c,'=1+1,incorrect,correct,1,false-accept,it says `a`",
            "f,4,1,,fact,\"Which, exactly?\",a | b,c,'=1+1,0.5,unscored,,unscored,busy",
            "",
        ]
    );
}
