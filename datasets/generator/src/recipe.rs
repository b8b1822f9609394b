//! A list of sessions that make up a data set.

use std::collections::BTreeSet;

use recap_core::model::{Question, Session};
use recap_formats::Dataset;
use serde::Deserialize;
use thiserror::Error;

use super::texture::{Texture, bounds};
use super::{GenerateError, Kind, generate, kind};

/// Seeds that are tried for a session without one.
const MOST_SEEDS: u64 = 200;

/// What a data set of synthetic sessions is made from: its card, and the
/// orders for its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name of the data set.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Licence of the content.
    pub licence: Option<String>,
    /// Where the content comes from.
    pub origin: Option<String>,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// Its sessions in order.
    #[serde(rename = "session")]
    pub sessions: Vec<RecipeSession>,
}

/// The order for one session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeSession {
    /// Id of the session, unique within the data set.
    pub id: String,
    /// Name of a kind.
    pub kind: String,
    /// Seed. Without one it is the first of 1, 2, 3 and so on that no session of
    /// the kind has before it, and whose session has the texture of real ones.
    pub seed: Option<u64>,
    /// Tokens of its messages.
    pub tokens: u64,
    /// Words that the system prompt of the session has to have.
    pub about: Option<String>,
}

/// A session that was written for an order.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSession {
    /// Its seed.
    pub seed: u64,
    /// Seeds that were passed over for it, each with the reason.
    pub passed: Vec<(u64, String)>,
    /// The session.
    pub session: Session,
    /// Its questions.
    pub questions: Vec<Question>,
}

/// Why a recipe gives no data set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecipeError {
    /// The file is no recipe.
    #[error("not a recipe: {0}")]
    Shape(String),
    /// There is no such kind.
    #[error("session `{id}` is of kind `{kind}`, which there is not")]
    UnknownKind {
        /// The session.
        id: String,
        /// What it names.
        kind: String,
    },
    /// Two sessions of one id.
    #[error("two sessions have the id `{0}`")]
    RepeatedId(String),
    /// There is nothing to write.
    #[error("there is no session")]
    Empty,
    /// No seed gives such a session.
    #[error("no seed for session `{id}`: {why}")]
    NoSeed {
        /// The session.
        id: String,
        /// Why the last one that was tried does not fit.
        why: String,
    },
    /// A session that was not written.
    #[error("session `{id}`: {error}")]
    Session {
        /// The session.
        id: String,
        /// Why.
        error: GenerateError,
    },
}

impl Recipe {
    /// Reads a recipe file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(text: &str) -> Result<Recipe, RecipeError> {
        toml::from_str(text).map_err(|error| RecipeError::Shape(error.to_string()))
    }

    /// Writes every session.
    ///
    /// # Errors
    /// The first order that cannot be carried out.
    pub fn sessions(&self) -> Result<Vec<WrittenSession>, RecipeError> {
        let mut ids = BTreeSet::new();
        let mut taken = BTreeSet::new();
        let mut written = Vec::new();
        for order in &self.sessions {
            if !ids.insert(order.id.as_str()) {
                return Err(RecipeError::RepeatedId(order.id.clone()));
            }
            let (id, named) = (order.id.clone(), order.kind.clone());
            let kind = kind(&named).ok_or(RecipeError::UnknownKind { id, kind: named })?;
            let session = order.written(kind, &taken)?;
            taken.insert((kind.name, session.seed));
            written.push(session);
        }
        if written.is_empty() {
            return Err(RecipeError::Empty);
        }
        Ok(written)
    }

    /// The data set of the written sessions.
    pub fn dataset_of(&self, sessions: Vec<WrittenSession>) -> Dataset {
        let mut dataset = Dataset {
            name: self.name.clone(),
            version: self.version.clone(),
            licence: self.licence.clone(),
            origin: self.origin.clone(),
            description: self.description.clone(),
            ..Dataset::default()
        };
        for session in sessions {
            dataset.sessions.push(session.session);
            dataset.questions.extend(session.questions);
        }
        dataset
    }

    /// Writes every session into one data set.
    ///
    /// # Errors
    /// The first order that cannot be carried out.
    pub fn dataset(&self) -> Result<Dataset, RecipeError> {
        Ok(self.dataset_of(self.sessions()?))
    }
}

impl RecipeSession {
    fn written(
        &self,
        kind: &'static Kind,
        taken: &BTreeSet<(&str, u64)>,
    ) -> Result<WrittenSession, RecipeError> {
        let seeds = self.seed.map_or(1..=MOST_SEEDS, |seed| seed..=seed);
        let mut passed = Vec::new();
        for seed in seeds {
            if self.seed.is_none() && taken.contains(&(kind.name, seed)) {
                continue;
            }
            let (session, questions) = generate(kind, seed, self.tokens, &self.id)
                .map_err(|error| RecipeError::Session { id: self.id.clone(), error })?;
            match self.misfit(kind, &session) {
                None => return Ok(WrittenSession { seed, passed, session, questions }),
                Some(why) => passed.push((seed, why)),
            }
        }
        let why = passed.pop().map_or_else(|| "all are taken".to_owned(), |(_, why)| why);
        Err(RecipeError::NoSeed { id: self.id.clone(), why })
    }

    /// Why a session is not what was ordered: another matter, or another
    /// texture where the seed is free.
    fn misfit(&self, kind: &Kind, session: &Session) -> Option<String> {
        let says = |about: &&String| session.preamble.system.iter().any(|s| s.contains(*about));
        if let Some(about) = self.about.as_ref().filter(|about| !says(about)) {
            return Some(format!("not about {about}"));
        }
        if self.seed.is_some() {
            return None;
        }
        let misses = Texture::of(session).misses(&bounds(kind.name));
        let shown: Vec<String> =
            misses.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}
