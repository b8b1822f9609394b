use super::Rarity;
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

#[test]
fn words_within_150_characters_are_near() {
    let rarity = Rarity::new(&Session::default());
    let taken = |gap: usize| {
        let space = " ".repeat(gap);
        let text = format!("zebra{space}{PATH}{space}okapi");
        let from = "zebra".len() + gap;
        rarity.near(&text, &(from..from + PATH.len()), "")
    };
    // With five letters, a gap of 145 ends at the 150th character.
    assert_eq!(taken(145), ["zebra", "okapi"]);
    assert_eq!(taken(146), [""; 0]);
}

#[test]
fn of_an_answer_the_first_150_characters_count() {
    let rarity = Rarity::new(&Session::default());
    let taken = |gap: usize| {
        let answer = format!("zebra{}okapi", " ".repeat(gap));
        rarity.near(PATH, &(0..PATH.len()), &answer)
    };
    // Two words of five letters: with a gap of 140 the second ends at the 150th.
    assert_eq!(taken(140), ["zebra", "okapi"]);
    assert_eq!(taken(141), ["zebra"]);
}

#[test]
fn own_and_repeated_words_are_left_out() {
    let rarity = Rarity::new(&Session::default());
    let text = format!("src zebra pool_guard zebra {PATH} okapi Zebra");
    let from = text.find(PATH).unwrap();
    let found = rarity.near(&text, &(from..from + PATH.len()), "okapi tapir");
    assert_eq!(found, ["zebra", "okapi", "tapir"]);
}

#[test]
fn five_rarest_words_are_kept() {
    let messages = vec![user("zebra zebra zebra"), user("okapi"), user("Okapi lemur")];
    let rarity = Rarity::new(&Session { messages, ..Session::default() });
    let text = format!("okapi zebra lemur tapir heron gecko quagga {PATH}");
    let from = text.find(PATH).unwrap();
    let found = rarity.near(&text, &(from..from + PATH.len()), "");
    assert_eq!(found, ["tapir", "heron", "gecko", "quagga", "zebra"]);
}

#[test]
fn word_of_a_tenth_of_the_messages_is_current() {
    let of = |with: usize, all: usize| {
        let messages = (0..all).map(|at| user(if at < with { "lane" } else { "so" })).collect();
        let rarity = Rarity::new(&Session { messages, ..Session::default() });
        (rarity.is_current("lane"), rarity.is_current("lanes"))
    };
    assert_eq!(of(8, 80), (true, true));
    assert_eq!(of(8, 81), (false, false));
    assert_eq!(of(7, 20), (false, false));
}
