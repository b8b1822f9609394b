use super::*;

fn verdict_of(question: &str, value: &str, stale: &str, answer: &str) -> Judgement {
    let stale: Vec<String> =
        [stale].iter().filter(|s| !s.is_empty()).map(|s| (*s).into()).collect();
    Offline.judge(&Grading {
        question,
        kind: QuestionKind::Fact,
        expect: &Expectation::AnyOf(vec![value.to_owned()]),
        stale: &stale,
        answer,
    })
}

fn is_right(value: &str, answer: &str) -> bool {
    verdict_of("", value, "", answer).verdict == Verdict::Correct
}

/// The answers of `answers.txt`: behind a question (`?`), the value that is right (`=`) and one
/// that was (`~`), if there are some, each that is right (`+`), wrong (`-`), stale (`!`) or none
/// (`0`).
#[test]
fn answers_are_graded_as_people_do() {
    for case in include_str!("answers.txt").split("\n\n") {
        let (mut question, mut value, mut stale) = ("", "", "");
        for line in case.lines() {
            let (mark, text) = line.split_once(' ').unwrap_or((line, ""));
            let verdict = match mark {
                "+" => "correct",
                "-" => "incorrect",
                "!" => "stale",
                "0" => "abstained",
                _ => {
                    match mark {
                        "?" => question = text,
                        "=" => value = text,
                        "~" => stale = text,
                        _ => {}
                    }
                    continue;
                }
            };
            let found = verdict_of(question, value, stale, text);
            assert_eq!(found.verdict.as_str(), verdict, "{question} {value} {stale}: {text}");
            assert_eq!(found.score, Some(f64::from(u8::from(verdict == "correct"))), "{text}");
        }
    }
    assert_eq!(polarity("True Blood"), None);
    // Only an answer may change an ending: a long text is searched for the word itself.
    assert!(Haystack::new("it was velborquaz").last(&Sought::new("velbor"), true).is_none());
}

#[test]
fn words_must_be_close_in_long_text() {
    let filler = "and then we talked for a while about all the weather in town ".repeat(6);
    let near = format!("{filler} she bought a red wooden boat yesterday {filler}");
    let far = format!("a red {filler} wooden {filler} boat");
    assert!(is_right("red wooden boat", &near));
    assert!(!is_right("red wooden boat", &far));
}

#[test]
fn unknowable_question_accepts_only_saying_so() {
    let grade = |answer| {
        let (expect, kind) = (&Expectation::Unanswerable, QuestionKind::Abstain);
        Offline.judge(&Grading { question: "Where?", kind, expect, stale: &[], answer })
    };
    let known = grade("That was never mentioned.");
    assert_eq!((known.verdict, known.score), (Verdict::Abstained, Some(1.0)));
    for answer in ["Paris.", "", "I don't know, but it was probably Paris."] {
        let judgement = grade(answer);
        assert_eq!(
            (judgement.verdict, judgement.score),
            (Verdict::Incorrect, Some(0.0)),
            "{answer}"
        );
    }
}

#[test]
fn rubrics_tone_and_shared_concepts_require_a_model() {
    let one = Expectation::AnyOf(vec!["warm".to_owned()]);
    let rubric = Expectation::Rubric(vec!["warm".to_owned()]);
    let grade = |kind, expect| {
        Offline.judge(&Grading { question: "How?", kind, expect, stale: &[], answer: "warm" })
    };
    for (kind, expect) in [
        (QuestionKind::Tone, &one),
        (QuestionKind::SharedConcept, &one),
        (QuestionKind::Plan, &rubric),
        (QuestionKind::Summary, &rubric),
    ] {
        let judgement = grade(kind, expect);
        assert_eq!(judgement.score, None);
        let Verdict::Unscored(why) = judgement.verdict else { panic!("{kind:?} was graded") };
        assert!(why.to_string().contains("a model has to judge"), "{why}");
    }
    assert_eq!(grade(QuestionKind::Plan, &one).verdict, Verdict::Correct);
}

#[test]
fn rationale_names_stated_value_or_missing_part() {
    let why = |value, answer| verdict_of("", value, "", answer).rationale;
    assert_eq!(why("Paris", "in Paris"), "it says `Paris`");
    assert_eq!(why("🍐", "🍎"), "`🍐` is not said: it lacks `🍐`");
    assert_eq!(why("red boat", "a boat"), "`red boat` is not said: it lacks `red`");
    assert_eq!(why("4 months", "5 months"), "`4 months` is not said: it lacks the number 4");
    assert_eq!(why("7 May 2023", "2023"), "`7 May 2023` is not said: it lacks the number 7");
}

#[test]
fn any_alternative_is_accepted() {
    let expect = Expectation::AnyOf(vec!["Roma".to_owned(), "Rome".to_owned()]);
    let (kind, stale) = (QuestionKind::Fact, &[]);
    let grading = Grading { question: "", kind, expect: &expect, stale, answer: "in Rome" };
    assert_eq!(Offline.judge(&grading).rationale, "it says `Rome`");
}

#[test]
fn hostile_texts_are_graded_without_a_panic() {
    let long = "7 May 2023, one hundred and two or 3 not the cat's U.S. ".repeat(200);
    let dates = "between 1 May 2023 and 2 May 2023 ".repeat(200);
    let digits = "9".repeat(20_000);
    let texts = [
        "",
        "\0\u{7f}\u{1b}[31m",
        "שלום עולם 7 מאי",
        "…—–()[]{}",
        "🍐",
        "1,2,,3..4",
        "[4]",
        "a",
        "'’'",
        "the",
        "\u{301}e\u{301}",
        "Ⅻ ² ½",
        &long,
        &dates,
        &digits,
    ];
    for value in texts {
        for answer in texts {
            let judgement = verdict_of(value, value, answer, answer);
            assert!(!judgement.rationale.is_empty());
        }
    }
    assert!(!is_right("🍐", "a pear"), "a value without a word is said nowhere");
    assert!(is_right(&digits, &digits));
}

#[test]
fn haystack_states_nearby_words_unless_denied() {
    let haystack = Haystack::new(
        "user: The port is 8,080 now.\nassistant: Noted, on 7 May 2023.\n\
         user: We did not adopt the blue parrot. The red cat came home.",
    );
    let states = |value: &str| haystack.last(&Sought::new(value), true).is_some();
    for value in ["8080", "port 8080", "May 7, 2023", "May 2023", "red cats", "the cat"] {
        assert!(states(value), "{value}");
    }
    for value in ["8081", "8 May 2023", "adopted a blue parrot", "red parrot cage", "Yes", "…", ""]
    {
        assert!(!states(value), "{value}");
    }
    assert!(Sought::new("Yes, twice").is_yes_no() && !Sought::new("Yesterday").is_yes_no());
    assert!(Sought::new("…").is_empty());
}

#[tokio::test]
async fn it_sits_in_the_judges_role() {
    let judge: &dyn Judge = &Offline;
    let expect = Expectation::AnyOf(vec!["Rome".to_owned()]);
    let (kind, stale) = (QuestionKind::Fact, &[]);
    let grading = Grading { question: "", kind, expect: &expect, stale, answer: "Rome" };
    assert_eq!(judge.grade(&grading).await.score, Some(1.0));
    assert_eq!((judge.name(), judge.source()), ("offline", Source::Lexical));
}

fn filler(terms: usize) -> String {
    vec!["filler"; terms].join(" ")
}

#[test]
fn long_text_needs_two_words_within_twelve_terms() {
    // The second word is `apart` terms after the first, in a text of `all` terms.
    let text = |apart: usize, all: usize| {
        format!("copper {} lantern {}", filler(apart - 1), filler(all - apart - 1))
    };
    assert!(is_right("copper lantern", &text(11, 41)));
    assert!(!is_right("copper lantern", &text(12, 41)));
    // A text of forty terms is short: the words may stand anywhere.
    assert!(is_right("copper lantern", &text(12, 40)));
    // Five words have three terms each, which is more than twelve: three of the
    // five are needed.
    let five = "amber bronze copper dagger easel";
    let three = |gap| format!("amber {} copper {} easel {}", filler(6), filler(gap), filler(40));
    assert!(is_right(five, &three(6)), "the third word is the fifteenth term");
    assert!(!is_right(five, &three(7)));
}

#[test]
fn haystack_needs_four_fifths_beyond_four_words() {
    let six = Sought::new("amber bronze copper dagger easel falcon");
    assert!(Haystack::new("amber bronze copper dagger easel").last(&six, true).is_some());
    assert!(Haystack::new("amber bronze copper dagger").last(&six, true).is_none());
    let four = Sought::new("amber bronze copper dagger");
    assert!(Haystack::new("dagger copper bronze amber").last(&four, true).is_some());
    assert!(Haystack::new("dagger copper bronze").last(&four, true).is_none());
}
