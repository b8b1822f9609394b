//! A list of sessions that make up a data set.

use std::collections::BTreeSet;

use recap::dataset::Dataset;
use serde::Deserialize;
use thiserror::Error;

use super::{GenerateError, generate, kind};

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
    /// Id of the transcript, unique within the data set.
    pub id: String,
    /// Name of a kind.
    pub kind: String,
    /// Seed.
    pub seed: u64,
    /// Tokens of its messages.
    pub tokens: u64,
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
    pub fn dataset(&self) -> Result<Dataset, RecipeError> {
        let mut dataset = Dataset {
            name: self.name.clone(),
            version: self.version.clone(),
            licence: self.licence.clone(),
            origin: self.origin.clone(),
            description: self.description.clone(),
            ..Dataset::default()
        };
        let mut ids = BTreeSet::new();
        for order in &self.sessions {
            if !ids.insert(order.id.as_str()) {
                return Err(RecipeError::RepeatedId(order.id.clone()));
            }
            let (id, named) = (order.id.clone(), order.kind.clone());
            let kind = kind(&named).ok_or(RecipeError::UnknownKind { id, kind: named })?;
            let written = generate(kind, order.seed, order.tokens, &order.id);
            let (transcript, probes) =
                written.map_err(|error| RecipeError::Session { id: order.id.clone(), error })?;
            dataset.transcripts.push(transcript);
            dataset.probes.extend(probes);
        }
        if dataset.transcripts.is_empty() {
            return Err(RecipeError::Empty);
        }
        Ok(dataset)
    }
}
