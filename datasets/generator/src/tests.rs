//! What every kind keeps, whatever the seed and the size.

use std::collections::BTreeSet;

use recap_core::model::{Block, Expectation, QuestionKind, Role};
use recap_core::tokens::Counter;

use super::near::{FEWEST_NEAR_MISSES, same_shape};
use super::*;

/// Small, middle and large sizes of a kind.
fn sizes(kind: &Kind) -> [u64; 3] {
    let (least, most) = (*kind.tokens.start(), *kind.tokens.end());
    [least, 30_000.clamp(least, most), 60_000.clamp(least, most)]
}

fn written(kind: &Kind, seed: u64, tokens: u64) -> (Session, Vec<Question>) {
    generate(kind, seed, tokens, "s").unwrap_or_else(|e| {
        panic!("{} --seed {seed} --tokens {tokens}: {e}", kind.name);
    })
}

/// Each session of 8 seeds and 3 sizes of every kind.
fn each(mut check: impl FnMut(&Kind, u64, &Session, &[Question])) {
    for kind in KINDS {
        for tokens in sizes(kind) {
            for seed in 0..8 {
                let (session, questions) = written(kind, seed, tokens);
                check(kind, tokens, &session, &questions);
            }
        }
    }
}

#[test]
fn names_are_unique_and_in_kebab_case() {
    let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
    for name in names {
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(kind(name).is_some());
    }
}

#[test]
fn same_seed_gives_same_session_and_others_differ() {
    for kind in KINDS {
        let tokens = sizes(kind)[1];
        assert_eq!(written(kind, 7, tokens), written(kind, 7, tokens));
        let said = |seed| {
            let (session, _) = written(kind, seed, tokens);
            let users = session.messages.into_iter().filter(|m| m.role == Role::User);
            users.map(|m| m.sent()).collect::<Vec<_>>()
        };
        let (seven, eight) = (said(7), said(8));
        let shared = seven.iter().filter(|text| eight.contains(text)).count();
        assert!(shared * 10 <= seven.len(), "{}: {shared} messages in common", kind.name);
    }
}

#[test]
fn sizes_out_of_range_are_refused() {
    for kind in KINDS {
        for tokens in [0, kind.tokens.start() - 1, kind.tokens.end() + 1, u64::MAX] {
            let error = generate(kind, 1, tokens, "s").unwrap_err();
            assert!(matches!(error, GenerateError::Size { .. }), "{error}");
        }
    }
}

/// 8 seeds × 3 sizes; one test, since writing them is what takes the time.
#[test]
fn every_generated_session_satisfies_all_session_rules() {
    each(|kind, tokens, session, questions| {
        let counter = Counter::default();
        let written: u64 = session.messages.iter().map(|m| counter.count(&m.sent())).sum();
        let said = format!("{} of {tokens} tokens", kind.name);
        assert!(written.abs_diff(tokens) * 10 <= tokens, "{said}: {written}");
        assert!(questions.len() >= 30, "{said}: {} questions", questions.len());
        times_ascend(session);
        calls_have_results(session);
        questions_hold(session, questions);
        kinds_are_spread(&said, questions);
    });
}

fn times_ascend(session: &Session) {
    let times: Vec<_> = session.messages.iter().map(|m| m.at.unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    let ids: BTreeSet<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids.len(), session.messages.len());
}

fn calls_have_results(session: &Session) {
    let calls = session.calls();
    let mut waiting = calls.len();
    for call in &calls {
        let result = call.result.expect("every call has a result");
        assert!(result > call.message);
        let between = &session.messages[call.message as usize + 1..=result as usize];
        assert!(between.iter().all(|m| m.role == Role::Tool));
        waiting -= 1;
    }
    assert_eq!(waiting, 0);
    let tools: BTreeSet<&str> =
        session.preamble.tools.iter().map(|tool| tool.name.as_str()).collect();
    for call in &calls {
        assert!(tools.contains(call.tool.as_str()), "{} is not defined", call.tool);
    }
    let results = session.messages.iter().flat_map(|m| &m.blocks);
    let results = results.filter(|b| matches!(b, Block::ToolResult { .. })).count();
    assert_eq!(results, calls.len());
}

fn questions_hold(session: &Session, questions: &[Question]) {
    let texts: Vec<String> = session.messages.iter().map(|m| m.sent()).collect();
    let position = |id: &str| session.messages.iter().position(|m| m.id == id).unwrap();
    for question in questions {
        let places: Vec<usize> = question.evidence.iter().map(|id| position(id)).collect();
        assert!(places.iter().all(|at| *at <= question.asked_at as usize), "{question:?}");
        let newest = places.iter().max().copied().unwrap_or(0);
        for stale in &question.stale {
            assert!(texts[..=newest].iter().any(|text| text.contains(stale)), "{question:?}");
        }
        match &question.expect {
            Expectation::AnyOf(values) => {
                let mut near = same_shape(&values[0], values, texts.iter().map(String::as_str));
                near.extend(question.stale.iter().map(String::as_str));
                // Words have near misses that only their kind knows.
                let is_word = !values[0].contains(|c: char| c.is_ascii_digit());
                assert!(is_word || near.len() >= FEWEST_NEAR_MISSES, "{question:?}: {near:?}");
                assert!(!places.is_empty());
            }
            Expectation::Rubric(_) => assert!(!places.is_empty()),
            Expectation::Unanswerable => assert!(places.is_empty()),
        }
    }
}

fn kinds_are_spread(said: &str, questions: &[Question]) {
    let kinds: BTreeSet<QuestionKind> = questions.iter().map(|question| question.kind).collect();
    assert!(kinds.len() >= 8, "{said}: {kinds:?}");
    let rubrics = questions.iter().filter(|p| matches!(p.expect, Expectation::Rubric(_))).count();
    assert!(
        rubrics * 100 <= questions.len() * 16,
        "{said}: {rubrics} of {} rubrics",
        questions.len()
    );
}

#[test]
fn recipes_say_what_is_wrong_with_them() {
    let order = "[[session]]\nid = \"a\"\nkind = \"coding-agent\"\nseed = 1\ntokens = 20000\n";
    for (text, expected) in [
        ("name = 1".to_owned(), "not a recipe"),
        ("name = \"n\"\nsession = []\n".to_owned(), "no session"),
        (format!("name = \"n\"\n{}", order.replace("coding-agent", "opera")), "kind `opera`"),
        (format!("name = \"n\"\n{order}{order}"), "two sessions have the id `a`"),
        (format!("name = \"n\"\n{}", order.replace("20000", "20")), "not 20"),
        (format!("name = \"n\"\ntenor = 1\n{order}"), "not a recipe"),
        (format!("name = \"n\"\n{order}about = \"tulips\"\n"), "`a`: not about tulips"),
    ] {
        let error = Recipe::read(&text).and_then(|recipe| recipe.dataset()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
}

/// The datasheet's rule: the first seeds of 1, 2, 3 and so on that fit.
#[test]
fn order_without_seed_takes_first_free_fitting_one() {
    let order =
        |id: &str| format!("[[session]]\nid = \"{id}\"\nkind = \"assistant\"\ntokens = 20000\n");
    let text = format!("name = \"n\"\n{}{}", order("a"), order("b"));
    let sessions = Recipe::read(&text).unwrap().sessions().unwrap();
    let [first, second] = &sessions[..] else { panic!("two sessions") };
    let assistant = kind("assistant").unwrap();
    let fits = |seed| {
        let (session, _) = written(assistant, seed, 20_000);
        texture::Texture::of(&session).misses(&texture::bounds("assistant")).is_empty()
    };
    let fitting: Vec<u64> = (1..=second.seed).filter(|seed| fits(*seed)).collect();
    assert_eq!(fitting, [first.seed, second.seed]);
    let passed: Vec<u64> = first.passed.iter().map(|(seed, _)| *seed).collect();
    assert_eq!(passed, (1..first.seed).collect::<Vec<_>>());
    assert_eq!(first.session, generate(assistant, first.seed, 20_000, "a").unwrap().0);
}
