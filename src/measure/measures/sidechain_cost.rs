//! `sidechain_cost_usd`: what the requests of subagents were billed
//! (measures §2). Each runs on a prefix of its own that no preset touches, so
//! it is a constant, outside `cost_usd` and the savings.
//!
//! Priced as recorded: by the usage that was reported, at the model that it
//! names, or at the one billed instead where that has no price, else at the
//! agent model.

use crate::measure::money::known;
use crate::measure::spec::{Basis, Pool, Sample, Spec};
use crate::model::{Absent, Buckets, catalogue};
use crate::pricing::billed_instead;

/// See the module.
pub const SPEC: Spec =
    Spec::of_cell(catalogue::SIDECHAIN_COST_USD, Pool::Sum, Basis::Bill, |sample| {
        known(cost(sample))
    });

fn cost(sample: &Sample<'_>) -> Result<f64, Absent> {
    let requests = sample.facts.sidechains.iter().map(|(at, named, usage)| {
        let model = match named {
            Some(model) => model,
            None => &sample.bill()?.model,
        };
        let list = &sample.terms.prices;
        let prices = list.priced(model).or_else(|| list.priced(billed_instead(Some(model))));
        let prices = prices.ok_or_else(|| Absent::Price(model.clone()))?;
        let usd = prices.standard().request_usd(&Buckets::from(usage), usage.output, *at);
        usd.ok_or_else(|| Absent::Price(model.clone()))
    });
    requests.sum()
}
