//! How a request was served, where that changes its price: a mark behind the
//! model's name, such as `claude-opus-5[fast,us]`. The list says by how much.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::rates::{Rate, read_field};

/// The marks that can change a price, in the order in which a name has them, each
/// with the ending of prices that it has of its own.
pub(super) const MARKS: [(&str, Option<&str>); 6] = [
    ("batch", Some("_batches")),
    ("eu", None),
    ("fast", None),
    ("flex", Some("_flex")),
    ("priority", Some("_priority")),
    ("us", None),
];
/// The list's field of factors on every price of a request, by mark.
const FACTORS: &str = "provider_specific_entry";
/// Without a listed factor this one has no known price. A place of inference, or a
/// tier, that the list does not mention costs what any other does.
const FAST: &str = "fast";

/// USD per token, by rate and prompt length above which it holds.
pub(super) type ByTier = BTreeMap<(Rate, u64), f64>;

/// A set of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// Number of sets.
    pub(super) const SETS: usize = 1 << MARKS.len();

    /// Those in a name. Others may stand there too: `[1m]`.
    pub(super) fn of(name: &str) -> Self {
        let inside = name.split_once('[').and_then(|(_, rest)| rest.trim_end().strip_suffix(']'));
        let named = inside.into_iter().flat_map(|all| all.split(','));
        let known = |mark: &str| MARKS.iter().position(|(known, _)| mark.trim() == *known);
        Self(named.filter_map(known).fold(0, |set, at| set | 1 << at))
    }

    /// Its number; 0 is the empty set.
    pub(super) fn number(self) -> usize {
        usize::from(self.0)
    }

    fn all(self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        (0..MARKS.len()).filter(move |at| self.0 >> at & 1 == 1).map(|at| MARKS[at])
    }

    /// The name of a model that was asked so.
    pub(super) fn behind(self, id: &str) -> String {
        let names: Vec<&str> = self.all().map(|(name, _)| name).collect();
        format!("{id}[{}]", names.join(","))
    }
}

/// The prices of a request that was served so. `None` where they are not known.
///
/// A rate that has no price of its own in a tier changes as the input's does.
pub(super) fn served(entry: &Json, mut prices: ByTier, marks: Marks) -> Option<ByTier> {
    for (mark, end) in marks.all() {
        if let Some(end) = end {
            prices = tier(entry, prices, end);
        }
        match entry.get(FACTORS).and_then(|factors| factors.get(mark)).and_then(Json::as_f64) {
            Some(factor) if factor > 0.0 => prices.values_mut().for_each(|usd| *usd *= factor),
            _ if mark == FAST => return None,
            _ => {}
        }
    }
    Some(prices)
}

fn tier(entry: &Json, prices: ByTier, end: &str) -> ByTier {
    let fields = entry.as_object().into_iter().flatten();
    let own = fields.filter_map(|(field, value)| {
        Some((read_field(field.strip_suffix(end)?)?, value.as_f64().filter(|usd| *usd >= 0.0)?))
    });
    let own: ByTier = own.collect();
    let input = |prices: &ByTier| prices.get(&(Rate::Input, 0)).copied();
    let share = match (input(&own), input(&prices)) {
        (Some(own), Some(usual)) if usual > 0.0 => own / usual,
        _ => 1.0,
    };
    let served = |(key, usd)| (key, own.get(&key).copied().unwrap_or(usd * share));
    prices.into_iter().map(served).collect()
}

#[cfg(test)]
mod tests {
    use crate::pricing::{Moment, PriceList, Rates};

    fn rates(name: &str) -> Option<Rates> {
        let moment = Moment { prompt_tokens: 1_000, at: jiff::Timestamp::UNIX_EPOCH };
        Some(PriceList::bundled().priced(name)?.rates(&moment))
    }

    /// claude-opus-5: $5, $0.50, $6.25, $10 and $25; fast × 2, us × 1.1, batches at half.
    #[test]
    fn marks_change_every_rate_as_listed() {
        let per_million = |name: &str| {
            let rates = rates(name).unwrap();
            let all = [rates.input, rates.cache_read, rates.cache_write];
            let all = all.into_iter().chain([rates.cache_write_1h, rates.output]);
            all.map(|usd| (usd.unwrap() * 1e9).round() / 1e3).collect::<Vec<_>>()
        };
        assert_eq!(per_million("claude-opus-5"), [5.0, 0.5, 6.25, 10.0, 25.0]);
        assert_eq!(per_million("claude-opus-5[1m]"), [5.0, 0.5, 6.25, 10.0, 25.0]);
        assert_eq!(per_million("claude-opus-5[fast]"), [10.0, 1.0, 12.5, 20.0, 50.0]);
        assert_eq!(per_million("anthropic/claude-opus-5[us]"), [5.5, 0.55, 6.875, 11.0, 27.5]);
        assert_eq!(per_million("claude-opus-5[us,fast]"), [11.0, 1.1, 13.75, 22.0, 55.0]);
        assert_eq!(per_million("claude-opus-5[batch]"), [2.5, 0.25, 3.125, 5.0, 12.5]);
        // The list has no such prices: the provider asks its usual ones.
        assert_eq!(per_million("claude-opus-5[priority]"), per_million("claude-opus-5"));
        assert_eq!(per_million("claude-opus-5[mars]"), per_million("claude-opus-5"));
    }

    #[test]
    fn fast_without_a_listed_factor_has_no_price() {
        assert!(rates("claude-haiku-4-5").is_some());
        assert_eq!(rates("claude-haiku-4-5[fast]"), None);
    }

    /// A run's manifest has the entries under the names that were used.
    #[test]
    fn marked_name_leads_to_its_entry_and_to_itself() {
        let list = PriceList::bundled();
        let id = &list.find("anthropic/claude-opus-5[fast,1m]").unwrap().id;
        assert_eq!(id, "claude-opus-5[fast]");
        assert_eq!(list.entry(id), list.entry("claude-opus-5"));
        assert_eq!(list.find(id).unwrap().id, *id);
    }
}
