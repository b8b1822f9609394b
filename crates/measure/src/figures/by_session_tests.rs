use super::*;
use crate::statistics::pooling::{groups, owner};
use crate::testkit::{cell, facts, run};
use recap_core::model::{Absent, QuestionKind, SessionFacts};

fn row<'a>(run: &'a BySession, strategy: &str) -> &'a UnitRow {
    run.rows.iter().find(|row| row.strategy == strategy).unwrap()
}

#[test]
fn each_session_figure_is_averaged_over_replicates() {
    // s0 was replayed twice: (300 + 500) / 2 tokens; s1 once: 200.
    let both = ["s0", "s1"].map(|id| facts(id).requests(&[200, 400]).build()).to_vec();
    let cells = vec![
        cell("s0", "fifo").sent(&[100, 200]).build(),
        cell("s0", "fifo").replicate(1).sent(&[200, 300]).build(),
        cell("s1", "fifo").sent(&[100, 100]).build(),
    ];
    let apart = by_session(&run(both, cells));
    let fifo = row(&apart, "fifo");
    let one = |x| Some(Figure::One(x));
    assert_eq!(fifo.figures["tokens_sent"], [one(400.0), one(200.0)]);
    assert_eq!(fifo.figures["peak_tokens"], [one(300.0), one(100.0)], "a maximum of its own");
    assert_eq!(apart.rows.len(), 1, "the rows over all data sets are made of these");
}

#[test]
fn another_text_or_another_question_is_another_session() {
    let plain = || facts("s").requests(&[100]).question(QuestionKind::Fact, 0, 10);
    let same = fingerprint_of(&plain().build());
    assert_eq!(fingerprint_of(&plain().build()), same);
    let text =
        fingerprint_of(&plain().with(|facts| facts.messages[0].text = "other".into()).build());
    assert!(text.content != same.content && text.questions == same.questions);
    let question =
        fingerprint_of(&plain().with(|facts| facts.questions[0].question.asked_at = 1).build());
    assert!(question.content == same.content && question.questions != same.questions);
    let words = plain().with(|facts| facts.questions[0].question.question = "What?".into()).build();
    assert!(
        fingerprint_of(&words).questions == same.questions
            && fingerprint_of(&words).words != same.words
    );
    // Without the text of its questions a run still has the other hashes.
    let silent = plain().with(|facts| facts.questions[0].question.question.clear()).build();
    assert_eq!(
        (fingerprint_of(&silent).words, fingerprint_of(&silent).questions),
        (None, same.questions)
    );
}

#[test]
fn the_figures_are_parsed_as_they_were_written() {
    let session = facts("s").requests(&[100, 300]).build();
    let cells = vec![
        cell("s", "full").control().sent(&[100, 300]).build(),
        cell("s", "fifo").sent(&[33, 77]).build(),
    ];
    let apart = by_session(&run(vec![session], cells));
    let text = serde_json::to_string(&apart).unwrap();
    assert!(text.contains("\"token_savings\":[[290.0,400.0]]"), "{text}");
    assert_eq!(serde_json::from_str::<BySession>(&text).unwrap(), apart);
    assert_eq!(rounded(1.0 / 3.0), 0.333333333);
}

#[test]
fn several_projects_are_clusters_unassigned_sessions_count_singly() {
    let of = |names: &[Option<&str>]| {
        let one = |(at, name): (usize, &Option<&str>)| match name {
            Some(name) => facts(&format!("s{at}")).cluster(name).build(),
            None => facts(&format!("s{at}")).build(),
        };
        let all: Vec<SessionFacts> = names.iter().enumerate().map(one).collect();
        groups(all.iter().map(|facts| (owner(facts), ()))).len()
    };
    let (p, q) = (Some("p"), Some("q"));
    for (names, expected) in [
        (&[][..], 0),
        (&[None, None, None][..], 3),
        (&[p, p, p][..], 3),
        (&[p, p, q][..], 2),
        (&[p, p, None][..], 2),
        (&[p, q, p, None, None, None][..], 5),
    ] {
        assert_eq!(of(names), expected, "{names:?}");
    }
}

#[test]
fn keeps_only_table_figures_and_nonzero_failure_counts() {
    let sessions = ["s0", "s1", "s2"].map(|id| facts(id).requests(&[100]).build()).to_vec();
    let cells = vec![
        cell("s0", "fifo").sent(&[50]).build(),
        cell("s1", "fifo").failed("it broke"),
        cell("s2", "fifo").failed("it broke"),
        cell("s0", "prune").sent(&[70]).build(),
    ];
    let apart = by_session(&run(sessions, cells));
    let (fifo, prune) = (row(&apart, "fifo"), row(&apart, "prune"));
    assert_eq!((fifo.failed, prune.failed), (2, 0));
    assert_eq!(fifo.figures["tokens_sent"], [Some(Figure::One(50.0)), None, None]);
    assert!(!fifo.figures.contains_key("did_without") && !fifo.figures.contains_key("cost_usd"));
    let written = |row: &UnitRow| serde_json::to_value(row).unwrap();
    assert_eq!(written(fifo)["failed"], 2);
    assert!(written(prune).get("failed").is_none());
}

#[test]
fn data_set_has_figures_of_its_own_table() {
    // The price is unknown in the second data set.
    let (d, e) = (facts("s").requests(&[100]), facts("t").dataset("e").requests(&[100]));
    let billed = |id: &str, set: &str, model: &str| {
        let made = cell(id, "fifo").dataset(set).sent(&[50]);
        made.bill("recorded", model, &[(1_000, 0, 0)]).build()
    };
    let cells = vec![billed("s", "d", "cheap"), billed("t", "e", "nobody")];
    let apart = by_session(&run(vec![d.build(), e.build()], cells));
    let [d, e] = &apart.rows[..] else { panic!("{apart:?}") };
    assert_eq!((&*d.dataset, &*e.dataset), ("d", "e"));
    assert_eq!(d.figures["cost_usd"], [Some(Figure::One(0.00105))]);
    assert!(e.figures.get("cost_usd").is_none_or(|figures| *figures == [None]), "{e:?}");
    assert_eq!(e.figures["tokens_sent"], [Some(Figure::One(50.0))]);
}

#[test]
fn session_figure_is_a_number_or_a_fraction() {
    let many = || Contribution::Many(vec![9.0, 1.0, 2.0, 7.0, 3.0]);
    let fraction = Contribution::Fraction { of: 4.0, to: 15.0 };
    let absent = Contribution::Absent(Absent::NoQuestions);
    for (pool, own, expected) in [
        (Pool::Mean, Contribution::One(4.5), Some(Figure::One(4.5))),
        (Pool::Percentile(95), many(), Some(Figure::One(9.0))),
        (Pool::Percentile(20), many(), Some(Figure::One(1.0))),
        (Pool::AtCuts, fraction, Some(Figure::Fraction(4.0, 15.0))),
        (Pool::Sum, absent, None),
    ] {
        assert_eq!(figure(pool, own), expected, "{pool:?}");
    }
}
