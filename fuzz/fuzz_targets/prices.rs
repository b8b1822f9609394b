//! Price lists (`--prices`).

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_billing::pricing::{Moment, PriceList};
use recap_fuzz::{text, told_text};

fuzz_target!(|input: &[u8]| {
    let Some(input) = text(input) else { return };
    let list = match PriceList::parse("prices.json", input) {
        Ok(list) => list,
        Err(error) => return told_text(&error.to_string()),
    };
    for model in list.models() {
        let tiers = model.tiers();
        for prompt_tokens in [0, 100_000, u64::MAX].into_iter().chain(tiers) {
            for at in ["2026-11-20T02:00:00Z", "2026-11-21T23:59:59Z"] {
                let at = at.parse().expect("it is a time");
                let rates = model.rates(&Moment { prompt_tokens, at });
                assert!(rates.input.is_none_or(|price| price >= 0.0));
            }
        }
        if let Err(unknown) = list.find(&model.id) {
            told_text(&format!("{unknown}; did you mean {}?", unknown.similar.join(", ")));
        }
        assert!(list.search(&model.id).any(|found| found.id == model.id));
    }
    // It may be listed in another spelling, such as with a date behind it.
    if let Ok(model) = list.find("no-such-model") {
        let letters: String = model.id.chars().filter(|c| c.is_alphabetic()).collect();
        assert!(letters.to_lowercase().contains("nosuchmodel"), "{}", model.id);
    }
});
