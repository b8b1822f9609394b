//! What the world of a session keeps, read back from its messages.

use std::collections::BTreeMap;

use recap_core::model::{Block, Role, Session};
use serde_json::Value as Json;

use super::*;
use crate::generate;

fn written(seed: u64, tokens: u64) -> Session {
    generate(&KIND, seed, tokens, "g").unwrap_or_else(|e| panic!("{seed}, {tokens}: {e}")).0
}

/// Tool, arguments and result of every call, in order.
fn calls(session: &Session) -> Vec<(String, Json, Json)> {
    let mut results: BTreeMap<String, Json> = BTreeMap::new();
    for block in session.messages.iter().flat_map(|m| &m.blocks) {
        if let Block::ToolResult { call, text, .. } = block {
            let parsed: Json = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
            results.insert(call.clone(), parsed);
        }
    }
    let blocks = session.messages.iter().flat_map(|m| &m.blocks);
    let calls = blocks.filter_map(|block| match block {
        Block::ToolCall { id, name, arguments } => {
            Some((name.clone(), arguments.clone(), results[id].clone()))
        }
        _ => None,
    });
    calls.collect()
}

fn number(json: &Json, key: &str) -> Option<i64> {
    json.get(key).and_then(Json::as_i64)
}

#[test]
fn credits_add_up_between_results() {
    for seed in 0..6 {
        let session = written(seed, 40_000);
        let mut before: Option<i64> = None;
        for (tool, _, result) in calls(&session) {
            let Some(credits) = number(&result, "credits") else { continue };
            let change = match tool.as_str() {
                "buy" => -number(&result, "sum").unwrap(),
                "sell" => number(&result, "sum").unwrap(),
                "repair" | "refuel" => -number(&result, "cost").unwrap(),
                "dock" | "place_order" => -number(&result, "fee").unwrap(),
                "get_account" => 0,
                _ => panic!("{tool} shows a balance"),
            };
            if let Some(before) = before {
                assert_eq!(before + change, credits, "seed {seed}: {tool} {result}");
            }
            before = Some(credits);
        }
        assert!(before.is_some());
    }
}

#[test]
fn quoted_price_is_the_price_paid() {
    let mut deals = 0;
    for seed in 0..6 {
        let session = written(seed, 40_000);
        let mut board: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (tool, call, result) in calls(&session) {
            if tool == "get_market" && result.get("board").is_some() {
                let rows = result["board"].as_array().unwrap();
                let row = |row: &Json| {
                    let item = row["item"].as_str().unwrap().to_owned();
                    (item, (number(row, "ask").unwrap(), number(row, "bid").unwrap()))
                };
                board = rows.iter().map(row).collect();
            }
            if tool == "buy" || tool == "sell" {
                let (ask, bid) = board[call["item"].as_str().unwrap()];
                let price = number(&result, "unit_price").unwrap();
                assert_eq!(price, if tool == "buy" { ask } else { bid }, "seed {seed}: {result}");
                assert_eq!(
                    price * number(&call, "units").unwrap(),
                    number(&result, "sum").unwrap()
                );
                deals += 1;
            }
        }
    }
    assert!(deals > 30, "{deals}");
}

#[test]
fn hold_never_overflows_and_tank_never_empties() {
    for seed in 0..6 {
        let session = written(seed, 60_000);
        let mut capacity = i64::MAX;
        let mut hold: BTreeMap<String, i64> = BTreeMap::new();
        for (tool, _, result) in calls(&session) {
            capacity = number(&result, "hold_capacity").unwrap_or(capacity);
            if let Some(used) = number(&result, "hold_used") {
                assert!((0..=capacity).contains(&used), "seed {seed}: {tool} {result}");
            }
            if let Some(fuel) = number(&result, "fuel") {
                assert!(fuel >= 0, "seed {seed}: {tool} {result}");
            }
            let Some(item) = result.get("item").and_then(Json::as_str) else { continue };
            let Some(after) = number(&result, "in_hold") else { continue };
            let units = number(&result, "units").unwrap();
            let change = if tool == "sell" { -units } else { units };
            if let Some(before) = hold.insert(item.to_owned(), after) {
                assert_eq!(before + change, after, "seed {seed}: {tool} {result}");
            }
        }
        assert!(capacity < i64::MAX);
    }
}

#[test]
fn reserve_stays_untouched_and_red_sectors_need_permission() {
    for seed in 0..8 {
        let session = written(seed, 40_000);
        for (tool, call, _) in calls(&session) {
            if tool == "sell" || tool == "buy" {
                assert_ne!(call["item"], world::RESERVE);
            }
        }
        let said: Vec<(bool, String)> =
            session.messages.iter().map(|m| (m.role == Role::User, m.sent())).collect();
        let lifted = said.iter().position(|(user, text)| {
            *user && ["order is lifted", "I take back", "is over."].iter().any(|w| text.contains(w))
        });
        let red: Vec<String> = calls(&session)
            .iter()
            .filter(|(tool, ..)| tool == "get_system")
            .flat_map(|(_, _, result)| result["lanes"].as_array().unwrap().clone())
            .filter(|lane| lane["sector"] == "red")
            .map(|lane| format!("\"to\":{}", lane["station"]))
            .collect();
        for (_, text) in &said[..lifted.unwrap_or(said.len())] {
            let jumps = text.contains("\"name\":\"jump\"");
            assert!(!jumps || !red.iter().any(|to| text.contains(to)), "seed {seed}: {text}");
        }
    }
}
