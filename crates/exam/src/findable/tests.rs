use super::*;
use recap_core::model::{Expectation, QuestionKind};

fn question(text: &str, values: &[&str], stale: &[&str]) -> Question {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Question {
        id: "p".into(),
        session: "t".into(),
        asked_at: 0,
        kind: QuestionKind::Fact,
        question: text.to_owned(),
        expect: Expectation::AnyOf(texts(values)),
        evidence: Vec::new(),
        stale: texts(stale),
    }
}

fn messages(texts: &[&str]) -> Vec<(Role, Arc<str>)> {
    texts.iter().map(|text| (Role::User, Arc::from(*text))).collect()
}

/// Whether the answer is findable in all of these messages.
fn found(texts: &[&str], question: &Question) -> Option<bool> {
    let findable = Findable::new(messages(texts), [(question, 0)]);
    findable.is_findable(0, &[all(texts.len())], &BTreeMap::new())
}

fn all(messages: usize) -> SnapshotPart {
    SnapshotPart::Messages { from: 0, to: messages as u32 }
}

#[test]
fn a_value_is_findable_while_a_message_that_states_it_is_sent() {
    let texts = ["Hello.", "The service listens on port 8443.", "Thanks."];
    let port = question("Which port does the service use?", &["8443"], &[]);
    let findable = Findable::new(messages(&texts), [(&port, 0)]);
    let sent = |from, to| {
        let context = [SnapshotPart::Messages { from, to }];
        findable.is_findable(0, &context, &BTreeMap::new())
    };
    assert_eq!((sent(0, 3), sent(1, 2)), (Some(true), Some(true)));
    assert_eq!((sent(0, 1), sent(2, 3)), (Some(false), Some(false)));
    assert_eq!(findable.is_findable(0, &[], &BTreeMap::new()), Some(false));
}

#[test]
fn a_denied_or_former_value_is_not_findable() {
    let port = question("Which port does the service use?", &["9090"], &["8080"]);
    for (text, expected) in [
        ("The service uses port 9090.", true),
        ("The service does not use port 9090.", false),
        ("The service used port 8080. The service now uses port 9090.", true),
        ("The service uses port 9090. It uses port 8080 again.", false),
        ("The service uses port 9090 (formerly 8080).", true),
        ("The service uses port 8080.", false),
    ] {
        assert_eq!(found(&[text], &port), Some(expected), "{text}");
    }
}

/// Of four messages with the same words the three last ones are read.
#[test]
fn three_best_passages_are_read_and_the_newest_of_equals() {
    let port = question("Which port does the service use?", &["8443"], &[]);
    let other = "The service uses port 7000.";
    let value = "The service uses port 8443.";
    assert_eq!(found(&[value, other, other], &port), Some(true));
    assert_eq!(found(&[value, other, other, other], &port), Some(false));
    assert_eq!(found(&[other, value, other, other], &port), Some(true));
    // A passage with fewer words of the question is read before none of them.
    assert_eq!(found(&["A port: 8443.", other, other, other], &port), Some(false));
}

/// Worked out by hand: two of three passages hold `port`, ln(1 + 1.5 / 2.5) = ln 1.6,
/// one holds `servic`, ln(1 + 2.5 / 1.5) = ln 2.67: the passage with the rarer word is
/// the best of those with one word each and of the same length.
#[test]
fn a_rare_word_ranks_a_passage_higher() {
    let texts = ["port alpha", "port beta", "service gamma"];
    let asked = question("Which port of which service?", &["gamma"], &[]);
    let findable = Findable::new(messages(&texts), [(&asked, 0)]);
    let own = findable.questions[0].as_ref().unwrap();
    let best = findable.best(own, &[all(3)], &BTreeMap::new());
    let best: Vec<&str> = best.iter().map(|(text, number, _)| text.passage(*number)).collect();
    assert_eq!(best, ["service gamma", "port beta", "port alpha"]);
}

#[test]
fn a_bare_list_of_names_is_not_findable_beside_sentences() {
    let asked = question("Which module retries a failed request?", &["net/backoff.rs"], &[]);
    let names: Vec<String> = (0..40).map(|n| format!("area{n}/unit{n}.rs")).collect();
    let list = format!("{}\nnet/backoff.rs\n{}", names[..20].join("\n"), names[20..].join("\n"));
    let talk = "A failed request is put aside.\nThe module is not known.\nWhich request failed?";
    assert_eq!(found(&[&list], &asked), Some(false));
    assert_eq!(found(&[&list, talk], &asked), Some(false));
    let said = "The module net/backoff.rs retries a failed request.";
    assert_eq!(found(&[&list, said], &asked), Some(true));
}

#[test]
fn a_result_is_found_by_the_words_of_its_call() {
    let asked = question("Which error did `cargo test --lib` report?", &["missing crate"], &[]);
    let call = r#"{"name":"Bash","arguments":{"command":"cargo test --lib"}}"#;
    let mut session = messages(&[call, "exit 1: missing crate", "Go on with cargo."]);
    session[0].0 = Role::Assistant;
    session[1].0 = Role::Tool;
    let findable = Findable::new(session, [(&asked, 0)]);
    assert_eq!(findable.is_findable(0, &[all(3)], &BTreeMap::new()), Some(true));
    // Cleared, nothing is left of it.
    let texts = BTreeMap::from([("cleared".to_owned(), "[cleared]".to_owned())]);
    let cleared = SnapshotPart::Edited { message: 1, text: "cleared".into() };
    assert_eq!(findable.is_findable(0, &[cleared], &texts), Some(false));
}

#[test]
fn written_texts_and_edited_messages_count_as_sent() {
    let port = question("Which port does the service use?", &["8443"], &[]);
    let findable = Findable::new(messages(&["The service uses port 8443."]), [(&port, 0)]);
    let texts = BTreeMap::from([
        ("summary".to_owned(), "They chose port 8443 for the service.".to_owned()),
        ("cleared".to_owned(), "[cleared]".to_owned()),
    ]);
    let written = SnapshotPart::Written { role: Role::User, text: "summary".into() };
    let edited = SnapshotPart::Edited { message: 0, text: "cleared".into() };
    let found = |context: &[SnapshotPart]| findable.is_findable(0, context, &texts);
    assert_eq!(found(std::slice::from_ref(&written)), Some(true));
    assert_eq!(found(std::slice::from_ref(&edited)), Some(false));
    assert_eq!(found(&[edited, written]), Some(true));
}

#[test]
fn parts_of_a_list_may_stand_in_several_passages() {
    let asked = question("What did we buy for the party?", &["kite, drum, violin"], &[]);
    // Two thirds of three parts are two parts.
    assert_eq!(found(&["We did buy a kite.", "We did buy a drum."], &asked), Some(true));
    assert_eq!(found(&["We did buy a kite."], &asked), Some(false));
}

#[test]
fn rubrics_booleans_and_unknown_answers_have_no_value() {
    let own = question("Which port?", &["8443"], &[]);
    for expect in [
        Expectation::Rubric(vec!["8443".into()]),
        Expectation::Unanswerable,
        Expectation::AnyOf(vec!["Yes".into()]),
        Expectation::AnyOf(vec!["…".into()]),
    ] {
        assert_eq!(found(&["Yes, port 8443."], &Question { expect, ..own.clone() }), None);
    }
}

#[test]
fn scripts_without_spaces_are_found_by_their_characters() {
    let asked = question("妹妹在哪里读书？", &["南京大学"], &[]);
    assert_eq!(found(&["我的妹妹在南京大学读书。", "好的。"], &asked), Some(true));
    assert_eq!(found(&["我的妹妹在北京大学读书。", "好的。"], &asked), Some(false));
}

#[test]
fn hostile_texts_are_cut_and_ranked_in_linear_time() {
    let unbroken = "x".repeat(3_000_000);
    let spaced = "port ".repeat(600_000);
    let lines = "port\n".repeat(600_000);
    let escapes = "\\n\\".repeat(500_000);
    let wide = "鲸".repeat(500_000);
    let texts =
        ["", "\u{0}\u{1b}[31m", ":::", "\\", "{\"", &unbroken, &spaced, &lines, &escapes, &wide];
    let begun = std::time::Instant::now();
    for asked in ["Which port?", "", "?", "鲸鲸", &"why port ".repeat(5_000)] {
        assert_eq!(found(&texts, &question(asked, &["8443"], &["", "x"])), Some(false));
    }
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}

#[test]
fn passages_end_at_lines_and_sentences() {
    let cut = |text: &str| -> Vec<String> {
        passages::sentences(text).into_iter().map(|place| text[place].to_owned()).collect()
    };
    assert_eq!(cut("Ann left. Why?\nv2.5 ran!"), ["Ann left.", "Why?", "v2.5 ran!"]);
    assert_eq!(cut("我在。你呢？"), ["我在。", "你呢？"]);
    assert_eq!(cut(r"fn a() {}\nfn b() {}"), ["fn a() {}", "fn b() {}"]);
    assert_eq!(cut(" \n\n "), [""; 0]);
    assert!(cut(&"key, ".repeat(4_000)).iter().all(|piece| piece.len() <= 366));
}

#[test]
fn value_said_before_first_evidence_is_only_offered() {
    let texts = ["Which store, Postgres or SQLite?", "The store is SQLite.", "Next."];
    let store = question("Which store was chosen?", &["SQLite"], &[]);
    let findable = Findable::new(messages(&texts), [(&store, 1)]);
    let texts = BTreeMap::from([("cut".to_owned(), "Which store: SQLite".to_owned())]);
    let shown = |part| findable.is_findable(0, &[part], &texts);
    assert_eq!(shown(SnapshotPart::Messages { from: 0, to: 1 }), Some(false));
    assert_eq!(shown(SnapshotPart::Messages { from: 0, to: 2 }), Some(true));
    let edited = |message| SnapshotPart::Edited { message, text: "cut".into() };
    assert_eq!(shown(edited(0)), Some(false));
    assert_eq!(shown(edited(1)), Some(true));
}
