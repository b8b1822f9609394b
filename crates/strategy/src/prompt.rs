//! Prompt templates: Markdown with `{{placeholders}}`, kept as data beside the
//! strategies so that their text is part of what a row measures.

use std::collections::BTreeMap;

/// A template whose placeholders have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    text: String,
}

impl Prompt {
    /// Checks that every placeholder is known.
    ///
    /// # Errors
    /// Which one is not.
    pub fn new(text: &str, allowed: &[&str]) -> Result<Self, String> {
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let Some(close) = rest[open..].find("}}") else {
                let after = text.len() - rest.len();
                return Err(format!("`{{{{` without `}}}}` after {after} bytes"));
            };
            let name = rest[open + 2..open + close].trim();
            if !allowed.contains(&name) {
                let list = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
                return Err(format!("unknown placeholder `{name}` (allowed: {list})"));
            }
            rest = &rest[open + close + 2..];
        }
        Ok(Self { text: text.to_owned() })
    }

    /// The template as written.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// Fills in the placeholders, in one pass: what a value contains is never
    /// taken for a placeholder. Those without a value become empty.
    pub fn render(&self, values: &BTreeMap<&str, String>) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(open) = rest.find("{{") {
            let close = open + rest[open..].find("}}").expect("checked when it was made");
            out.push_str(&rest[..open]);
            if let Some(value) = values.get(rest[open + 2..close].trim()) {
                out.push_str(value);
            }
            rest = &rest[close + 2..];
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_placeholder_is_named_with_those_allowed() {
        let error = Prompt::new("a {{b}} {{ c }}", &["b"]).unwrap_err();
        assert_eq!(error, "unknown placeholder `c` (allowed: b)");
        let error = Prompt::new("a {{b", &["b"]).unwrap_err();
        assert_eq!(error, "`{{` without `}}` after 0 bytes");
    }

    #[test]
    fn a_value_is_never_read_as_a_placeholder() {
        let prompt = Prompt::new("<{{a}}|{{b}}>", &["a", "b"]).unwrap();
        let values = BTreeMap::from([("a", "{{b}}".to_owned()), ("b", "x".to_owned())]);
        assert_eq!(prompt.render(&values), "<{{b}}|x>");
    }

    #[test]
    fn problem_is_found_after_known_placeholders() {
        let error = Prompt::new("a {{b}} c {{b", &["b"]).unwrap_err();
        assert_eq!(error, "`{{` without `}}` after 7 bytes");
        let error = Prompt::new("{{b}}{{ d }}", &["b", "c"]).unwrap_err();
        assert_eq!(error, "unknown placeholder `d` (allowed: b, c)");
        let error = Prompt::new("{{b}}", &[]).unwrap_err();
        assert_eq!(error, "unknown placeholder `b` (allowed: none)");
    }

    #[test]
    fn template_source_is_kept_and_every_placeholder_filled() {
        let prompt = Prompt::new("a {{ b }}, {{c}}{{b}}!", &["b", "c"]).unwrap();
        assert_eq!(prompt.source(), "a {{ b }}, {{c}}{{b}}!");
        assert_eq!(prompt.render(&BTreeMap::from([("b", "x".to_owned())])), "a x, x!");
    }
}
