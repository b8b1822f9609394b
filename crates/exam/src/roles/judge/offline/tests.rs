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

fn judged(question: &str, value: &str, answer: &str) -> &'static str {
    verdict_of(question, value, "", answer).verdict.as_str()
}

fn is_right(value: &str, answer: &str) -> bool {
    judged("", value, answer) == "correct"
}

#[track_caller]
fn right(value: &str, answers: &[&str]) {
    for answer in answers {
        assert!(
            is_right(value, answer),
            "{value}: {answer}: {:?}",
            verdict_of("", value, "", answer)
        );
    }
}

#[track_caller]
fn wrong_for(value: &str, answers: &[&str]) {
    for answer in answers {
        assert!(!is_right(value, answer), "{value}: {answer}");
    }
}

#[test]
fn case_punctuation_articles_marks_and_inflection_are_ignored() {
    right("The Müller tubes", &["muller TUBE!", "It was a “Müller” tube."]);
    right("adopted a dog", &["She adopts dogs.", "adopting a dog"]);
    right("the US army", &["US Army", "the army of the USA"]);
    right("Canada", &["a Canadian"]);
}

#[test]
fn numbers_are_compared_by_value_whatever_their_spelling() {
    right("25,000 users", &["25000 users", "25,000 users"]);
    right("3.50", &["3.5", "it is 3.50 exactly"]);
    right("$2.5 million", &["2.50 million dollars in all", "2.5 million"]);
    right("the third season", &["season 3", "the 3rd season"]);
    right("a week", &["one week", "1 week"]);
    wrong_for("4 months", &["5 months", "4 years", "months", "40 months", "a few months"]);
}

#[test]
fn date_is_right_if_at_least_as_exact() {
    right("7 May 2023", &["May 7th, 2023", "2023-05-07", "on the 7th of May, 2023, I think"]);
    right("May 2023", &["7 May 2023", "in May of 2023"]);
    wrong_for("7 May 2023", &["8 May 2023", "May 2023", "7 May", "7 June 2023", "in 2023"]);
    right("Since around 2014", &["2014", "from 2014 on"]);
    wrong_for("2022", &["2021", "some years back"]);
}

#[test]
fn a_denied_value_is_not_stated() {
    wrong_for("adopted a dog", &["She did not adopt a dog.", "She never adopted a dog"]);
    right("adopted a dog", &["She did not move, but adopted a dog."]);
    wrong_for("did not adopt a dog", &["She adopted a dog."]);
    right("did not adopt a dog", &["She didn't adopt any dog."]);
    wrong_for("Paris", &["Not Paris, but London.", "London instead of Paris"]);
}

#[test]
fn denial_within_question_does_not_excuse_denied_value() {
    for question in [
        "Who sings that you can't get what you want?",
        "Which band sang “Never Without You”?",
        "Before which day is a talk not allowed?",
    ] {
        assert_eq!(judged(question, "Rolling Stones", "It is not Rolling Stones."), "incorrect");
        assert_eq!(judged(question, "Rolling Stones", "Rolling Stones"), "correct");
    }
    let question = "Which city did she not visit?";
    assert_eq!(judged(question, "Paris", "Paris"), "correct");
    for answer in ["It is not Paris.", "That isn't Paris.", "Not Paris."] {
        assert_eq!(judged(question, "Paris", answer), "incorrect", "{answer}");
    }
}

#[test]
fn negation_quoted_from_question_denies_nothing() {
    let question = "One rule begins with “Do not commit likely”: how does it go on?";
    let gold = "secret files (`.env`, credentials)";
    for answer in [
        "secret files (`.env`, credentials)",
        "- Do not commit likely secret files (`.env`, credentials).",
        "Do not commit likely secret files, that is `.env` and credentials.",
    ] {
        assert_eq!(judged(question, gold, answer), "correct", "{answer}");
    }
    // Another negation, and what no negation of the question stands before.
    for answer in [
        "It is not secret files.",
        "Do not commit likely big files, and never secret files.",
        "Do not commit likely generated files.",
    ] {
        assert_eq!(judged(question, gold, answer), "incorrect", "{answer}");
    }
}

#[test]
fn denied_time_with_equal_parts_is_wholly_denied() {
    wrong_for("20:20", &["It is not 20:20.", "never at 20:20"]);
    right("20:20", &["It is 20:20.", "not 06:06, but 20:20"]);
    wrong_for("2008", &["It was not September 14, 2008."]);
    right("2008", &["It was not in May 2007: it was September 14, 2008."]);
}

#[test]
fn a_value_with_a_negation_requires_the_negation() {
    let title = "Rebel Without a Cause";
    right(title, &["Rebel Without a Cause", "It is Rebel Without a Cause."]);
    wrong_for(title, &["Rebel With a Cause"]);
    right("did not adopt a dog", &["No she did not adopt a dog."]);
}

#[test]
fn past_without_current_value_still_states_the_value() {
    let question = "What is the capital?";
    for answer in [
        "It used to be Paris.",
        "It was Paris, and it is still Paris now.",
        "It has been Paris since 1790.",
        "The decree was signed in Paris, now a large city.",
        "It was moved to Paris and is now visited by many.",
    ] {
        assert_eq!(judged(question, "Paris", answer), "correct", "{answer}");
    }
    let event = "It was built by Eiffel and is now owned by the city.";
    assert_eq!(judged("Who built the tower?", "Eiffel", event), "correct");
}

#[test]
fn past_question_is_answered_by_former_value() {
    let answer = "It used to be Paris, now it is Nice.";
    for question in [
        "What was the first capital?",
        "What is the former capital?",
        "What did the capital use to be?",
        "What was the capital before the move?",
        "What was the capital in 1901?",
    ] {
        assert_eq!(judged(question, "Paris", answer), "correct", "{question}");
    }
    let actual = "It was Paris, now it is Nice.";
    assert_eq!(judged("Which city was the capital?", "Paris", actual), "correct");
}

#[test]
fn a_value_may_be_a_sign_alone() {
    right("🍐", &["🍐", "The answer is 🍐.", "It's 🍐!"]);
    wrong_for("🍐", &["🍎", "It is not 🍐.", "", "a pear"]);
    right("❤️", &["❤", "I like ❤️ best"]);
    right("→", &["it is →"]);
    assert_eq!(verdict_of("", "🍐", "", "🍎").rationale, "`🍐` is not said: it lacks `🍐`");
}

#[test]
fn scripts_without_spaces_may_be_denied() {
    wrong_for("南京大学", &["It is not 南京大学."]);
}

#[test]
fn a_vague_answer_on_the_subject_is_wrong() {
    let question = "What book did Ana give to Ole?";
    for answer in ["A well-known novel.", "A book that Ana gave to Ole", "Something he liked"] {
        assert_eq!(judged(question, "The Silent Harbour by Mira Lund", answer), "incorrect");
    }
    wrong_for("yellow tulips", &["tulips", "a beautiful flowering plant"]);
}

#[test]
fn words_of_the_question_need_not_be_repeated() {
    let question = "How many months has she had the canoe?";
    assert_eq!(judged(question, "4 months", "4"), "correct");
    assert_eq!(judged(question, "4 months", "5"), "incorrect");
    assert_eq!(judged("What sector is it?", "public sector", "It is the sector."), "incorrect");
    assert_eq!(judged("Is the sector public?", "public sector", "It is a sector."), "incorrect");
}

#[test]
fn list_needs_two_thirds_but_both_of_two() {
    right("fishing, weaving", &["Weaving and fishing."]);
    wrong_for("fishing, weaving", &["She fishes.", "weaving"]);
    right("bakery, harbour, museum", &["the museum and the bakery"]);
    wrong_for("bakery, harbour, museum", &["the museum"]);
}

#[test]
fn person_needs_surname_with_first_name_or_initial() {
    right("Karen Anna Lena Holm", &["Karen Holm", "K. Holm"]);
    right("David Karl Meyer", &["Dave Meyer played him."]);
    wrong_for("David Karl Meyer", &["David Weber", "Steve Meyer", "John Meyer"]);
}

#[test]
fn text_in_parentheses_is_not_required() {
    right("3 (Rex, Mimi and Bo)", &["three"]);
    right("(Pierre) Lambert", &["Lambert"]);
    wrong_for("Anthology (Lund album)", &["an album by Lund"]);
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
fn long_words_may_change_ending_but_no_letter() {
    right("Moonstone Legends", &["a Moonstone Legend"]);
    right("Canada", &["Canadian"]);
    wrong_for("Moonstone Legends", &["Sunstone Legends"]);
    wrong_for("Jean", &["Joan"]);
    wrong_for("Iran", &["Iraq"]);
}

#[test]
fn scripts_without_spaces_are_compared_by_character() {
    right("南京大学", &["我在南京大学读书"]);
    wrong_for("南京大学", &["我在北京大学读书"]);
}

#[test]
fn yes_and_no_must_be_at_the_beginning() {
    let question = "Has Ana been to South Australia?";
    for answer in ["Yes", "Yeah, twice.", "Definitely"] {
        assert_eq!(judged(question, "Yes", answer), "correct", "{answer}");
        assert_eq!(judged(question, "Likely no, since it is far", answer), "incorrect", "{answer}");
    }
    for answer in ["No", "Probably not", "Unlikely"] {
        assert_eq!(judged(question, "No", answer), "correct", "{answer}");
        assert_eq!(judged(question, "Yes; for work", answer), "incorrect", "{answer}");
    }
    for answer in ["Maybe", "Ana might have been to South Australia", "She likes Australia"] {
        assert_eq!(judged(question, "Yes", answer), "incorrect", "{answer}");
    }
    assert!(is_right("No Doubt", "the band No Doubt"));
    assert_eq!(polarity("True Blood"), None);
}

#[test]
fn empty_answer_is_wrong_and_not_knowing_abstains() {
    for answer in ["", "  \n", "?!…"] {
        assert_eq!(judged("Where?", "Paris", answer), "incorrect", "{answer}");
    }
    for answer in [
        "I don't know.",
        "Unknown",
        "The conversation does not mention it.",
        "I’m sorry, but there is no information about that.",
    ] {
        let judgement = verdict_of("Where?", "Paris", "", answer);
        assert_eq!(judgement.verdict, Verdict::Abstained, "{answer}");
        assert_eq!(judgement.score, Some(0.0));
    }
    assert_eq!(judged("Where?", "Paris", "I'm not sure, but I think it was Paris."), "correct");
    assert_eq!(judged("Where?", "Paris", "I don't know, probably London."), "incorrect");
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
fn stale_value_is_stale_unless_called_past() {
    let judged = |answer| verdict_of("What port is it?", "9090", "8080", answer).verdict;
    for answer in [
        "9090",
        "It was 8080, now it is 9090.",
        "It moved from 8080 to 9090.",
        "9090, not 8080.",
        "9090 (previously 8080)",
        "It is 9090; it was 8080 before.",
    ] {
        assert_eq!(judged(answer), Verdict::Correct, "{answer}");
    }
    for answer in ["8080", "It is 8080 now.", "It was 9090, now it is 8080.", "8080 and 9090"] {
        assert_eq!(judged(answer), Verdict::Stale, "{answer}");
    }
    assert_eq!(judged("7070"), Verdict::Incorrect);
    assert_eq!(judged("It was 8080 before."), Verdict::Incorrect);
    // A stale value that is part of the expected one is not asserted.
    let within =
        verdict_of("Which car?", "the blue electric car", "blue car", "A blue electric car");
    assert_eq!(within.verdict, Verdict::Correct);
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

/// Words differ by an ending if five letters and all but one of the shorter word
/// agree, and no more than four letters of the longer one are left.
#[test]
fn changed_ending_has_at_most_four_letters() {
    right("velbor", &["velborquaz"]);
    wrong_for("velbor", &["velborquazo"]);
    right("velbo", &["velbor"]);
    wrong_for("velbran", &["velbrop"]);
    wrong_for("Iranian", &["Iran"]);
    // Only an answer may say it so: a long text is searched for the word itself.
    assert!(Haystack::new("it was velborquaz").last(&Sought::new("velbor"), true).is_none());
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

#[test]
fn first_name_stands_within_three_words_before_surname() {
    right("David Meyer", &["D. Anton Karl Meyer"]);
    wrong_for("David Meyer", &["D. Anton Karl Otto Meyer"]);
}

#[test]
fn word_for_the_past_reaches_eight_terms_of_its_clause() {
    let judged = |answer| verdict_of("What port is it?", "9090", "8080", answer).verdict;
    assert_eq!(judged("9090. Was a b c d e f g 8080."), Verdict::Correct);
    assert_eq!(judged("9090. Was a b c d e f g h 8080."), Verdict::Stale);
    assert_eq!(judged("9090, and it was closed, 8080."), Verdict::Stale);
}
