use serde_json::json;

use super::Rarity;
use crate::facts::{MiningRules, Survival, mine};
use recap_core::model::{Block, Message, Role, Session};

const PATH: &str = "src/net/pool_guard.rs";

fn message(role: Role, block: Block) -> Message {
    Message {
        id: String::new(),
        role,
        at: None,
        blocks: vec![block],
        usage: None,
        synthetic: false,
        broadcast: false,
    }
}

fn user(text: &str) -> Message {
    message(Role::User, Block::Text { text: text.into() })
}

/// Whether a text supports the path, which the session uses behind `messages`.
fn supports(mut messages: Vec<Message>, text: &str) -> bool {
    messages.push(message(Role::Assistant, Block::Text { text: PATH.into() }));
    let session = Session { id: "t".into(), messages, ..Session::default() };
    let sizes = vec![5_000; session.messages.len()];
    let exam = mine(&session, &sizes, &MiningRules::default());
    assert_eq!(exam.references.len(), 1);
    Survival::new(&session, &exam).supported_in(0, text).is_some()
}

#[test]
fn words_beside_an_older_source_support_a_text() {
    let sources = |newer: usize| {
        let mut messages = vec![user(&format!("zebra quagga {PATH}"))];
        messages.extend((0..newer).map(|n| {
            user(&format!("and then a tapir{n} llama{n} lemur{n} gecko{n} heron{n}: {PATH}"))
        }));
        messages.push(user("so it went on"));
        messages
    };
    let text = format!("and then zebra quagga: {PATH}");
    assert!(supports(sources(9), &text));
    assert!(!supports(sources(10), &text));
}

#[test]
fn call_result_describes_what_its_arguments_concern() {
    let (id, name) = ("c".to_owned(), "read".to_owned());
    let call = Block::ToolCall { id: id.clone(), name, arguments: json!({"path": PATH}) };
    let text = "zebra quagga okapi".to_owned();
    let answer = Block::ToolResult { call: id, text, images: 0, is_error: false };
    let read = vec![message(Role::Assistant, call), message(Role::Tool, answer), user("go on")];
    assert!(supports(read.clone(), &format!("zebra: quagga: {PATH}")));
    assert!(!supports(read, &format!("zebra: tapir: {PATH}")));
}

#[test]
fn list_beside_supporting_words_is_no_sentence() {
    let mut messages = vec![user(&format!("zebra quagga {PATH}"))];
    messages.extend((0..9).map(|n| user(&format!("now{n} the llama goes with{n} into that"))));
    let supports = |text: &str| supports(messages.clone(), text);
    // "the", "llama", "goes", "into" and "that" stand in nine of eleven messages.
    assert!(supports(&format!("the zebra goes to the quagga: {PATH}")));
    assert!(!supports(&format!("{PATH} zebra quagga")));
    assert!(!supports(&format!("{PATH} zebra quagga the")));
    assert!(!supports(&format!("{PATH} zebra quagga the/llama.rs into_that")));
}

/// Reference §4: support is taken from 150 characters beside a source, and has to
/// stand within 250 of a carrier.
#[test]
fn support_reaches_150_source_or_250_carrier_characters() {
    let rarity = Rarity::new(&Session::default());
    let taken = |gap: usize| {
        let space = " ".repeat(gap);
        let text = format!("zebra{space}{PATH}{space}okapi");
        let from = "zebra".len() + gap;
        rarity.support(&text, &(from..from + PATH.len()), "")
    };
    // With five letters, a gap of 145 ends at the 150th character.
    assert_eq!(taken(145), ["zebra", "okapi"]);
    assert_eq!(taken(146), [""; 0]);
    let sources = vec![user(&format!("zebra quagga {PATH}")), user("so it went on")];
    let carried = |gap: usize| {
        let text = format!("zebra quagga{}{PATH}", " ".repeat(gap));
        supports(sources.clone(), &text)
    };
    // Both words are needed: with twelve characters a gap of 238 ends at the 250th.
    assert!(carried(238));
    assert!(!carried(239));
}

#[test]
fn of_an_answer_the_first_150_characters_count() {
    let rarity = Rarity::new(&Session::default());
    let taken = |gap: usize| {
        let answer = format!("zebra{}okapi", " ".repeat(gap));
        rarity.support(PATH, &(0..PATH.len()), &answer)
    };
    // Two words of five letters: with a gap of 140 the second ends at the 150th.
    assert_eq!(taken(140), ["zebra", "okapi"]);
    assert_eq!(taken(141), ["zebra"]);
}

#[test]
fn own_and_repeated_words_add_no_support() {
    let rarity = Rarity::new(&Session::default());
    let text = format!("src zebra pool_guard zebra {PATH} okapi Zebra");
    let from = text.find(PATH).unwrap();
    let found = rarity.support(&text, &(from..from + PATH.len()), "okapi tapir");
    assert_eq!(found, ["zebra", "okapi", "tapir"]);
}

#[test]
fn five_rarest_words_support_a_name() {
    let messages = vec![user("zebra zebra zebra"), user("okapi"), user("Okapi lemur")];
    let rarity = Rarity::new(&Session { messages, ..Session::default() });
    let text = format!("okapi zebra lemur tapir heron gecko quagga {PATH}");
    let from = text.find(PATH).unwrap();
    let found = rarity.support(&text, &(from..from + PATH.len()), "");
    assert_eq!(found, ["tapir", "heron", "gecko", "quagga", "zebra"]);
}

#[test]
fn word_is_current_in_tenth_common_in_fifth() {
    let of = |with: usize, all: usize| {
        let messages = (0..all).map(|at| user(if at < with { "lane" } else { "so" })).collect();
        let rarity = Rarity::new(&Session { messages, ..Session::default() });
        (rarity.is_current("lane"), rarity.is_current("lanes"), rarity.common().contains("lane"))
    };
    assert_eq!(of(8, 40), (true, true, true));
    assert_eq!(of(8, 41), (true, true, false));
    assert_eq!(of(8, 80), (true, true, false));
    assert_eq!(of(8, 81), (false, false, false));
    assert_eq!(of(7, 20), (false, false, false));
}

#[test]
fn bare_list_entry_and_truncated_path_carry_nothing() {
    let sources = vec![user(&format!("zebra quagga {PATH}")), user("so it went on")];
    let carried = |text: &str| supports(sources.clone(), text);
    for list in [
        "the zebra and quagga\n<read-files>\nsrc/net/other_guard.rs\nPATH\n</read-files>",
        "zebra quagga\n- `src/net/other_guard.rs`\n- `PATH`",
        "zebra, quagga. Read and not modified: src/a/x_1.rs, PATH, src/b/y_2.rs",
        "zebra quagga: cat PATH…",
        "zebra quagga: cat PATH...",
    ] {
        assert!(!carried(&list.replace("PATH", PATH)), "{list}");
    }
    for actual in [
        "zebra quagga\n- `src/net/other_guard.rs`\n- `PATH` holds the lease",
        "zebra quagga\n- `src/net/other_guard.rs`\n- `PATH`\n  - holds the lease",
        "the zebra of the quagga is guarded in\nPATH\nand nowhere else",
        "Changed: src/a/x_1.rs, PATH (the zebra's quagga), src/b/y_2.rs",
    ] {
        assert!(carried(&actual.replace("PATH", PATH)), "{actual}");
    }
}
