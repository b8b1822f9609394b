//! Recipes of synthetic data sets (`recap-generator RECIPE.toml`).

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_fuzz::{text, told_text, written_and_read_again};
use recap_generator::Recipe;

/// Tokens of a session that is written out; more takes long and shows no more.
const MOST: u64 = 4_000;

fuzz_target!(|input: &[u8]| {
    let Some(input) = text(input) else { return };
    let recipe = match Recipe::read(input) {
        Ok(recipe) => recipe,
        Err(error) => return told_text(&error.to_string()),
    };
    if recipe.sessions.len() > 2 || recipe.sessions.iter().any(|order| order.tokens > MOST) {
        return;
    }
    match recipe.dataset() {
        Ok(dataset) => written_and_read_again(&dataset),
        Err(error) => told_text(&error.to_string()),
    }
});
