//! What the world of this kind keeps.

use std::collections::BTreeMap;

use recap_core::model::{Block, Call, Role, Session};
use serde_json::Value as Json;

use super::KIND;
use super::bank::{Bank, Letter, Told};
use crate::{FEWEST_WORDINGS, generate};

fn written(seed: u64, tokens: u64) -> Session {
    generate(&KIND, seed, tokens, "s").unwrap_or_else(|e| panic!("{seed}, {tokens}: {e}")).0
}

/// Calls in order: tool, arguments, result.
fn calls(session: &Session) -> Vec<(String, Json, String)> {
    let text = |at: u32| session.messages[at as usize].sent();
    let call = |call: &Call| {
        let block = &session.messages[call.message as usize].blocks[call.block as usize];
        let Block::ToolCall { arguments, .. } = block else { panic!("{block:?} is no call") };
        (call.tool.clone(), arguments.clone(), text(call.result.unwrap()))
    };
    session.calls().iter().map(call).collect()
}

fn text<'j>(value: &'j Json, key: &str) -> &'j str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn entry_appears_only_at_newest_time_every_week() {
    let mut moved = 0;
    for seed in 0..12 {
        let mut times: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (tool, _, result) in calls(&written(seed, 40_000)) {
            let result: Json = serde_json::from_str(&result).unwrap_or_default();
            match tool.as_str() {
                "event_create" | "event_update" => {
                    let event = &result["event"];
                    let when = (text(event, "date").to_owned(), text(event, "start").to_owned());
                    times.insert(text(event, "id").to_owned(), when);
                }
                "calendar_week" => {
                    let events = result["events"].as_array().unwrap();
                    for event in events {
                        if let Some((date, start)) = times.get(text(event, "id")) {
                            assert_eq!(
                                (text(event, "date"), text(event, "start")),
                                (date.as_str(), start.as_str())
                            );
                            moved += 1;
                        }
                    }
                    let first: jiff::civil::Date = text(&result, "week_of").parse().unwrap();
                    for (id, (date, _)) in &times {
                        let date: jiff::civil::Date = date.parse().unwrap();
                        let inside = (0..7).contains(&(date - first).get_days());
                        let shown = events.iter().any(|event| text(event, "id") == id);
                        assert_eq!(inside, shown, "seed {seed}: {id} on {date}");
                    }
                }
                _ => {}
            }
        }
    }
    assert!(moved > 20, "only {moved} entries were looked at again");
}

fn cents(text: &str) -> i64 {
    text.replace('.', "").parse().unwrap()
}

#[test]
fn budget_grows_by_payments_and_totals_add_up() {
    for seed in 0..12 {
        let mut before: BTreeMap<String, i64> = BTreeMap::new();
        let mut paid: BTreeMap<String, i64> = BTreeMap::new();
        for (tool, arguments, result) in calls(&written(seed, 40_000)) {
            if tool == "expense_add" {
                let amount = cents(text(&arguments, "amount"));
                *paid.entry(text(&arguments, "category").to_owned()).or_default() += amount;
            } else if tool == "budget_summary" {
                let result: Json = serde_json::from_str(&result).unwrap();
                let mut sum = 0;
                for row in result["categories"].as_array().unwrap() {
                    let (category, spent) = (text(row, "category"), cents(text(row, "spent")));
                    assert_eq!(cents(text(row, "limit")) - spent, cents(text(row, "left")));
                    if let Some(before) = before.get(category) {
                        let grown = paid.get(category).copied().unwrap_or(0);
                        assert_eq!(spent, before + grown, "seed {seed}: {category}");
                    }
                    before.insert(category.to_owned(), spent);
                    sum += spent;
                }
                paid.clear();
                assert_eq!(sum, cents(text(&result, "total_spent")));
            }
        }
        assert!(!before.is_empty());
    }
}

#[test]
fn a_list_reads_back_as_it_was_changed() {
    let mut changed = 0;
    for seed in 0..8 {
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (tool, arguments, result) in calls(&written(seed, 40_000)) {
            if !tool.starts_with("note_") {
                continue;
            }
            let result: Json = serde_json::from_str(&result).unwrap();
            let lines: Vec<String> =
                serde_json::from_value(result["note"]["lines"].clone()).unwrap();
            let id = text(&result["note"], "id").to_owned();
            if tool == "note_update" {
                changed += 1;
                let set: Vec<String> = serde_json::from_value(arguments["set"].clone()).unwrap();
                let gone: Vec<String> =
                    serde_json::from_value(arguments["remove"].clone()).unwrap();
                assert!(set.iter().all(|line| lines.contains(line)));
                assert!(!lines.iter().any(|line| line.ends_with(&gone[0])));
                assert_eq!(lines.len() + 1, lists[&id].len());
            }
            lists.insert(id, lines);
        }
    }
    assert!(changed > 3);
}

#[test]
fn answers_have_no_exclamation_marks_once_user_asked() {
    let mut asked = 0;
    for seed in 0..10 {
        let session = written(seed, 20_000);
        let is_wish = |text: &str| text.to_lowercase().contains("exclamation marks");
        let said = session.messages.iter().position(|m| m.role == Role::User && is_wish(&m.sent()));
        let Some(said) = said else { continue };
        asked += 1;
        for message in session.messages[said..].iter().filter(|m| m.role == Role::Assistant) {
            for block in &message.blocks {
                if let Block::Text { text } = block {
                    assert!(!text.contains('!'), "seed {seed}: {text}");
                }
            }
        }
    }
    assert_eq!(asked, 10);
}

#[test]
fn every_fact_has_enough_wordings_with_its_value() {
    let bank = Bank::new();
    let remarks = &bank.remarks;
    let groups = [&remarks.fact, &remarks.rule, &remarks.liking, &remarks.plan, &remarks.concept];
    let letters: Vec<&Letter> = bank.mails.iter().chain(&bank.pages).collect();
    let told = groups.into_iter().flatten().chain(letters.iter().flat_map(|letter| &letter.told));
    for Told { says, changes, asks, .. } in told {
        assert!(says.len() >= FEWEST_WORDINGS && asks.len() >= FEWEST_WORDINGS, "{says:?}");
        assert!(changes.is_empty() || changes.len() >= FEWEST_WORDINGS, "{changes:?}");
        for sentence in says.iter().chain(changes) {
            assert_eq!(sentence.matches("{v}").count(), 1, "{sentence}");
        }
        assert!(asks.iter().all(|ask| ask.ends_with('?') && !ask.contains('{')), "{asks:?}");
    }
    for letter in letters {
        for at in 0..letter.told.len() {
            assert!(letter.body.contains(&format!("{{{at}}}")), "{}", letter.subject);
        }
    }
}
