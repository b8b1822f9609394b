//! Replaces secrets, e-mail addresses and names of users in sessions by
//! pseudonyms: each value has one, in all sessions of an import, so that
//! references still match.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value as Json;

use super::error::Problem;
use super::native::{from_json, to_json};
use recap_core::model::{Expectation, Question, Session};
use recap_core::text::redact::{Redactor, replaced_users, user_names};

/// The pseudonyms so far.
#[derive(Default)]
pub(super) struct Pseudonyms {
    redactor: Redactor,
    /// Number of each user by name, from 1.
    users: BTreeMap<String, usize>,
    places: Cell<u64>,
}

impl Pseudonyms {
    /// A session whose texts are replaced, the names of fields excepted.
    ///
    /// # Errors
    /// A text that must not change, such as a role, taken for a secret.
    pub(super) fn session(&mut self, session: &Session) -> Result<Session, Problem> {
        let mut json = to_json(session);
        let mut texts = Vec::new();
        each_text(&mut json, &mut |text| texts.push(std::mem::take(text)));
        let mut texts = self.texts(texts).into_iter();
        each_text(&mut json, &mut |text| *text = texts.next().unwrap_or_default());
        from_json(json)
    }

    /// Questions and their answers.
    pub(super) fn questions(&mut self, questions: &mut [Question]) {
        for question in questions {
            let values = match &mut question.expect {
                Expectation::AnyOf(values) | Expectation::Rubric(values) => values.as_mut_slice(),
                Expectation::Unanswerable => &mut [],
            };
            let named = [&mut question.id, &mut question.session, &mut question.question];
            let texts = named.into_iter().chain(values).chain(&mut question.evidence);
            let mut texts: Vec<&mut String> = texts.chain(&mut question.stale).collect();
            let own = texts.iter_mut().map(|text| std::mem::take(*text)).collect();
            let replaced = self.texts(own);
            texts.into_iter().zip(replaced).for_each(|(text, new)| *text = new);
        }
    }

    /// Kinds of values, each with the number of distinct values and of places.
    pub(super) fn counts(&self) -> Vec<(&'static str, usize, u64)> {
        let users = ("user name", self.users.len(), self.places.get());
        self.redactor.counts().into_iter().chain([users]).collect()
    }

    fn texts(&mut self, texts: Vec<String>) -> Vec<String> {
        let texts = self.redactor.redact(texts);
        let found: BTreeSet<String> =
            user_names(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for name in found.into_iter().filter(|name| !is_pseudonym(name)) {
            let next = self.users.len() + 1;
            self.users.entry(name).or_insert(next);
        }
        if self.users.is_empty() {
            return texts;
        }
        let names =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(self.users.keys());
        let Ok(names) = names else { return texts };
        let with = |name: &str| {
            self.places.set(self.places.get() + 1);
            format!("user-{}", self.users.get(name).copied().unwrap_or_default())
        };
        texts.iter().map(|text| replaced_users(text, &names, with)).collect()
    }
}

/// Whether a name is one that an earlier import gave.
fn is_pseudonym(name: &str) -> bool {
    let number = name.strip_prefix("user-");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Every string of a value but the names of fields.
fn each_text(json: &mut Json, take: &mut impl FnMut(&mut String)) {
    match json {
        Json::String(text) => take(text),
        Json::Array(items) => items.iter_mut().for_each(|item| each_text(item, take)),
        Json::Object(fields) => fields.values_mut().for_each(|value| each_text(value, take)),
        _ => {}
    }
}
