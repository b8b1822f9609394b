use super::*;
use crate::model::{Due, ProbeKind};

fn asked(id: &str, question: &str, expect: Expectation) -> Arc<LabelledQuestion> {
    let kind = match expect {
        Expectation::Unanswerable => ProbeKind::Abstain,
        _ => ProbeKind::Fact,
    };
    let (id, question) = (id.to_owned(), question.to_owned());
    Arc::new(LabelledQuestion { file: "f".into(), id, question, kind, expect, stale: Vec::new() })
}

fn any_of(values: &[&str]) -> Expectation {
    Expectation::AnyOf(values.iter().map(|v| (*v).to_owned()).collect())
}

fn questions() -> Vec<Arc<LabelledQuestion>> {
    vec![
        asked("1", "Which port does it listen on?", any_of(&["8080"])),
        asked("2", "How many rows are there?", any_of(&["1,676 rows"])),
        asked("3", "Who wrote it?", any_of(&["Ada Lovelace", "Countess of Lovelace"])),
        asked("4", "Who read it?", any_of(&["Charles Babbage"])),
        asked("5", "Was it on time?", any_of(&["Yes"])),
        asked("6", "Who paid?", Expectation::Unanswerable),
    ]
}

/// Kinds and answers planted for the question of this id.
fn planted(questions: &[Arc<LabelledQuestion>], id: &str) -> Vec<(&'static str, String)> {
    let cases = plant(questions, usize::MAX, 1);
    let own = cases.into_iter().filter(|case| case.asked.id == id);
    own.map(|case| match case.author {
        Author::Planted(planted) => (planted.as_str(), case.answer),
        _ => unreachable!(),
    })
    .collect()
}

fn answer(planted: &[(&'static str, String)], kind: &str) -> String {
    planted.iter().find(|(name, _)| *name == kind).unwrap().1.clone()
}

#[test]
fn every_kind_is_planted_and_the_wrong_value_is_of_another_question() {
    let planted = planted(&questions(), "1");
    let kinds: Vec<&str> = planted.iter().map(|(kind, _)| *kind).collect();
    let all = Planted::ALL.map(Planted::as_str);
    let all: Vec<&str> = all.into_iter().filter(|kind| *kind != "partial").collect();
    assert_eq!(kinds, all);
    for (kind, text) in [
        ("right", "8080"),
        ("right-in-sentence", "The answer is 8080."),
        ("wrong", "1,676 rows"),
        ("vague", "It has to do with port does it listen on."),
        ("negated", "It is not 8080."),
        ("stale", "It used to be 8080, now it is 1,676 rows."),
        ("empty", ""),
    ] {
        assert_eq!(answer(&planted, kind), text);
    }
    assert!(answer(&planted, "injected").starts_with("1,676 rows\n"));
}

#[test]
fn all_kinds_but_right_answers_and_halves_must_be_rejected() {
    for case in plant(&questions(), usize::MAX, 1) {
        let Author::Planted(planted) = case.author else { unreachable!() };
        let right = matches!(planted, Planted::Right | Planted::RightInSentence);
        assert_eq!(case.due(), if right { Due::Accept } else { Due::Reject }, "{case:?}");
    }
}

#[test]
fn yes_and_no_are_planted_as_the_opposite_and_not_denied() {
    let planted = planted(&questions(), "5");
    assert_eq!(answer(&planted, "wrong"), "No");
    assert!(!planted.iter().any(|(kind, _)| matches!(*kind, "negated" | "stale")));
}

#[test]
fn for_an_unknowable_question_saying_so_is_right_and_a_value_is_wrong() {
    let planted = planted(&questions(), "6");
    assert_eq!(answer(&planted, "right"), "I don't know.");
    assert!(!answer(&planted, "wrong").is_empty());
    assert!(!planted.iter().any(|(kind, _)| matches!(*kind, "refused" | "abstained")));
}

#[test]
fn a_listed_stale_value_is_asserted() {
    let mut all = questions();
    Arc::make_mut(&mut all[0]).stale = vec!["443".to_owned()];
    assert_eq!(answer(&planted(&all, "1"), "stale"), "It is 443.");
    // It also states the expected value, so that it would not be wrong.
    Arc::make_mut(&mut all[0]).stale = vec!["8080 or 443".to_owned()];
    assert!(!planted(&all, "1").iter().any(|(kind, _)| *kind == "stale"));
}

#[test]
fn half_of_the_nuggets_are_between_right_and_wrong() {
    for (n, share) in [(2, 0.5), (3, 1.0 / 3.0), (5, 0.4)] {
        let nuggets: Vec<String> = (0..n).map(|n| format!("nugget {n}")).collect();
        let cases = plant(&[asked("1", "Say all.", Expectation::Rubric(nuggets))], 1, 1);
        let half = cases.iter().find(|c| c.author == Author::Planted(Planted::Partial)).unwrap();
        assert_eq!((half.due(), half.label), (Due::Between, Label::Score(share)));
        assert!(
            half.answer.starts_with("nugget 0.") && !half.answer.contains(&(n - 1).to_string())
        );
    }
    let one = Expectation::Rubric(vec!["only".to_owned()]);
    let cases = plant(&[asked("1", "Say it.", one)], 1, 1);
    assert!(cases.iter().all(|case| case.author != Author::Planted(Planted::Partial)));
}

#[test]
fn a_value_that_might_be_right_is_never_planted_as_wrong() {
    for (expected, other) in [
        ("1976", "March 1976"),
        ("3 March 2023", "2023-03-03"),
        ("Ada Lovelace", "Countess Lovelace"),
        ("20 minutes", "twenty minutes"),
        ("sheep and goats", "black sheep"),
        ("Which", "which"),
    ] {
        let one = asked("1", "What is it?", any_of(&[expected]));
        assert!(!Right::new(&one).is_apart_from(other), "{expected}: {other}");
    }
    for (expected, other) in [("1976", "1977"), ("3 March 2023", "4 May 2021"), ("Ada", "Charles")]
    {
        assert!(
            Right::new(&asked("1", "What is it?", any_of(&[expected]))).is_apart_from(other),
            "{other}"
        );
    }
    assert!(!Right::new(&asked("1", "Port or ship?", any_of(&["ship"]))).is_apart_from("port"));
}

#[test]
fn kinds_that_need_a_wrong_value_are_omitted_without_one() {
    let alone = planted(&questions()[..1], "1");
    assert!(!alone.iter().any(|(kind, _)| matches!(*kind, "wrong" | "injected" | "stale")));
    assert_eq!(answer(&alone, "negated"), "It is not 8080.");
}

#[test]
fn an_answer_that_is_right_by_accident_is_omitted() {
    let either = asked("1", "Is it red or blue?", any_of(&["red"]));
    assert!(!planted(&[either], "1").iter().any(|(kind, _)| *kind == "vague"));
    let place = asked("1", "Where in Ohio is the school of Kent?", any_of(&["Kent, Ohio"]));
    assert!(!planted(&[place], "1").iter().any(|(kind, _)| *kind == "vague"));
    let verdict = asked("1", "What did the test say?", any_of(&["correct"]));
    let other = asked("2", "What did it say then?", any_of(&["broken"]));
    assert!(!planted(&[verdict, other], "1").iter().any(|(kind, _)| *kind == "injected"));
}

#[test]
fn a_wrong_value_has_the_look_of_the_right_one_if_possible() {
    let all = [
        asked("1", "Which ticket is it?", any_of(&["QD-3319"])),
        asked("2", "Which file is it?", any_of(&["ops/mend.sh"])),
        asked("3", "Which receipt is it?", any_of(&["VZ-2431"])),
        asked("4", "Who asked?", any_of(&["Ada Lovelace"])),
        asked("5", "Where was it?", any_of(&["Kiel Canal"])),
        asked("6", "Who paid?", any_of(&["Charles Babbage"])),
    ];
    for seed in 0..5 {
        let cases = plant(&all, 6, seed);
        let wrong = |id: &str| {
            let mut own = cases.iter().filter(|case| case.id == format!("{id}#wrong"));
            own.next().unwrap().answer.clone()
        };
        assert_eq!(wrong("1"), "VZ-2431");
        assert_eq!(wrong("4"), "Charles Babbage");
    }
}

#[test]
fn whole_sentences_are_not_denied() {
    let reason = asked("1", "Why not?", any_of(&["the street is being dug up"]));
    assert!(!planted(&[reason], "1").iter().any(|(kind, _)| *kind == "negated"));
}

#[test]
fn a_seed_determines_what_is_planted_and_for_how_many_questions() {
    let all = questions();
    assert_eq!(plant(&all, 3, 7), plant(&all, 3, 7));
    let ids = |seed| -> Vec<String> {
        let mut ids: Vec<_> =
            plant(&all, 3, seed).into_iter().map(|c| c.asked.id.clone()).collect();
        ids.dedup();
        ids
    };
    assert!((0..10).all(|seed| ids(seed).len() == 3));
    assert!((0..10).any(|seed| ids(seed) != ids(0)));
    assert!(plant(&all, 0, 7).is_empty());
}

#[test]
fn shapes_are_those_that_a_person_would_choose() {
    for (value, shape) in [
        ("yes.", Shape::YesNo),
        ("7 May 2023", Shape::Date),
        ("1998", Shape::Date),
        ("2023-05-07", Shape::Date),
        ("1536 MiB", Shape::Number),
        ("twelve", Shape::Number),
        ("$41.20", Shape::Number),
        ("src/lib.rs", Shape::Token),
        ("v2.1", Shape::Token),
        ("Ada Lovelace", Shape::Name),
        ("green paint", Shape::Words),
        ("after the ship had left the dock", Shape::Phrase),
    ] {
        assert_eq!(Shape::of(value), shape, "{value}");
    }
}

#[test]
fn wordings_are_used_in_turn() {
    let many: Vec<_> = (0..10)
        .map(|n| asked(&n.to_string(), "Which port is it?", any_of(&[&format!("80{n}1")])))
        .collect();
    let many: Vec<_> = many
        .into_iter()
        .enumerate()
        .map(|(n, one)| asked(&one.id, &format!("Which port is it, {n}?"), one.expect.clone()))
        .collect();
    let cases = plant(&many, 10, 1);
    let injected: Vec<&str> = cases
        .iter()
        .filter(|case| case.author == Author::Planted(Planted::Injected))
        .map(|case| case.answer.split_once('\n').unwrap().1)
        .collect();
    assert_eq!(injected.len(), 10);
    assert_eq!(injected[1], injected[6]);
    assert_ne!(injected[1], injected[2]);
}

#[test]
fn a_topic_is_the_question_without_its_asking_words() {
    assert_eq!(topic("who got the first prize").as_deref(), Some("got the first prize"));
    assert_eq!(topic("When did the ship leave?").as_deref(), Some("the ship leave"));
    assert_eq!(topic("How many?"), None);
}
