//! What tokens cost: a price list and the rates of one request.
//!
//! The bundled list is litellm's, trimmed to priced text models
//! (`litellm.json`; MIT, `LICENSE.litellm.txt`): package litellm 1.109.1,
//! fetched 2026-11-21. Its field names are kept, so the untrimmed file of a
//! later day drops in. Prices are that package's claims about the providers'
//! list prices; it has no history, no storage prices (`model` has those) and no life of a
//! cache.
//!
//! Recordings name models that it has dropped. `retired.json` has their last
//! prices, from earlier versions of the same package (MIT as well), each with
//! that version and its date: makers' text models of 1.83.0, 1.80.5, 1.72.0 and
//! 1.55.0 that no later version lists. Two corrections: Claude's writes for an
//! hour are twice the input (some entries had another model's figure), and the
//! window of claude-sonnet-4 is 200,000 (1,000,000 was a variant).
//!
//! Invariant: what the list does not say has no price. Nothing here is ever 0
//! because it is unknown.

mod bill;
mod billing_models;
mod list;
mod model;
mod names;
mod service;

pub use billing_models::{BillingModel, BillingModels};
pub use list::{PriceError, PriceList, Unpriced};
pub use model::{EntryError, ModelPrices, Moment, Rate, Rates};
