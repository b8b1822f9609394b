//! What tokens cost: a price list and the rates of one request.
//!
//! The bundled list is litellm's, trimmed to priced text models
//! (`litellm.json`; MIT, `LICENSE.litellm.txt`): package litellm 1.109.1,
//! fetched 2026-11-21. Its field names are kept, so the untrimmed file of a
//! later day drops in. Prices are that package's claims about the providers'
//! list prices; it has no history, no storage prices and no life of a cache.
//!
//! Invariant: what the list does not say has no price. Nothing here is ever 0
//! because it is unknown.

mod agents;
mod bill;
mod list;
mod model;
mod off_peak;
mod rates;
mod run;

pub use agents::{Agent, Agents, billed_instead};
pub use bill::Tariff;
pub use list::{PriceError, PriceList, Unpriced};
pub use model::{EntryError, ModelPrices, Moment};
pub use rates::{Rate, Rates};
