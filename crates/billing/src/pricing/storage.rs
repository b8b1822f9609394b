//! What keeping explicit content in Gemini's cache costs.
//!
//! Google's page "Gemini Developer API pricing" (ai.google.dev/gemini-api/docs/pricing) has it
//! in the row "Context caching price", and litellm's list of our date does not. These are its
//! figures as copies of the page show them that are dated 2026-09-20 to 2026-10-07, and for 3.7
//! Flash the comments of genai-prices 0.2.3. From 2027 on 3.6 to 3.8 Flash cost twice as much;
//! like the list, this table has the prices of its date.

/// litellm's field: USD per token and hour. A list that has it has the last word.
pub(super) const FIELD: &str = "cache_storage_cost_per_token_per_hour";

/// USD per million tokens and hour, by the name of the model.
const STORAGE: &[(&str, f64)] = &[
    ("gemini-2.0-flash", 1.0),
    ("gemini-2.5-flash", 1.0),
    ("gemini-2.5-flash-lite", 1.0),
    ("gemini-2.5-pro", 4.5),
    ("gemini-3-flash", 1.0),
    ("gemini-3.1-flash-lite", 1.0),
    ("gemini-3.1-pro", 4.5),
    ("gemini-3.5-flash", 1.0),
    ("gemini-3.6-flash", 0.5),
    ("gemini-3.7-flash", 0.5),
    ("gemini-3.8-flash", 0.5),
];

/// USD per token and hour of a model, whoever sells it, or of a preview of it.
pub(super) fn listed(id: &str) -> Option<f64> {
    let name = id.rsplit('/').next().unwrap_or(id);
    let is = |model: &str| {
        let rest = name.strip_prefix(model);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("-preview"))
    };
    STORAGE.iter().find(|(model, _)| is(model)).map(|(_, usd)| usd / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_and_its_previews_have_one_price() {
        for (id, usd) in [
            ("gemini-2.5-pro", Some(4.5e-6)),
            ("gemini/gemini-2.5-pro-preview-06-05", Some(4.5e-6)),
            ("vertex_ai/gemini-3.1-pro-preview-customtools", Some(4.5e-6)),
            ("gemini-2.5-flash-lite-preview-09-2025", Some(1e-6)),
            ("gemini-3-flash-preview", Some(1e-6)),
            ("gemini-3.5-flash", Some(1e-6)),
            ("gemini-3.8-flash", Some(5e-7)),
            // Other models, at other prices.
            ("gemini-3.5-flash-lite", None),
            ("gemini-3.8-flash-cyber", None),
            ("gemini-4-argon", None),
            ("gpt-5.4", None),
        ] {
            assert_eq!(listed(id), usd, "{id}");
        }
    }
}
