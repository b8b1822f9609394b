//! `sidechain_cost_usd`: the bill of the requests of subagents (measures §2).
//! Each subagent has a prefix of its own that no preset changes, so this cost
//! is constant, and not part of `cost_usd` and the savings.
//!
//! It is priced as recorded: by the reported usage, at the model that the
//! request names; if that has no price, at the model that was billed instead,
//! or else at the agent model.

use crate::measure::money::known;
use crate::measure::spec::{Basis, Pool, Sample, Spec};
use crate::model::{Absent, Buckets, catalogue};
use crate::pricing::billed_instead;

/// `sidechain_cost_usd`, summed over transcripts.
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
