//! The models whose prices and cache rules bill a session.

use std::sync::Arc;

use super::list::PriceList;
use super::model::ModelPrices;
use crate::model::RECORDED;

/// Bills a recording that names no model with a price (semantics §39), unless
/// its name shows the family.
pub(super) const DEFAULT_AGENT_MODEL: &str = "claude-sonnet-5-5";

/// The substitute of a model without a price, by a part of its name: the
/// provider's cache rules matter more than the exact model.
const FAMILIES: [(&str, &str); 5] = [
    ("claude", DEFAULT_AGENT_MODEL),
    ("gpt", "gpt-5.4"),
    ("codex", "gpt-5.4"),
    ("gemini", "gemini-3.8-flash"),
    ("deepseek", "deepseek-v4-pro"),
];

/// The model that is billed in place of one without a price.
pub fn billed_instead(model: Option<&str>) -> &'static str {
    let name = model.unwrap_or_default().to_lowercase();
    let family = FAMILIES.iter().find(|(family, _)| name.contains(family));
    family.map_or(DEFAULT_AGENT_MODEL, |(_, model)| model)
}

/// A model that bills a session, with its prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The name as asked for: a model's name, or [`RECORDED`].
    pub billed_as: String,
    /// Name of the model, in the price list if it is listed.
    pub model: String,
    /// Its prices; `None` if they are unknown, as is then the cost of the session.
    pub prices: Option<Arc<ModelPrices>>,
    /// The payers for requests that another model answered, where the session
    /// is billed as recorded; otherwise empty.
    pub others: Vec<Agent>,
}

impl Agent {
    /// The payer for a request, by
    /// [`RequestFacts::model`](crate::model::RequestFacts::model).
    pub fn of_request(&self, model: u32) -> &Agent {
        let other = (model as usize).checked_sub(1).and_then(|at| self.others.get(at));
        other.unwrap_or(self)
    }
}

/// The payers of a run.
#[derive(Clone, Debug)]
pub struct Agents {
    list: Arc<PriceList>,
    asked: Vec<String>,
}

impl Agents {
    /// The models asked for; none: each session is billed as the model that it
    /// names, or where that has no price as one of its family, or as
    /// `DEFAULT_AGENT_MODEL`.
    pub fn new(list: Arc<PriceList>, asked: Vec<String>) -> Self {
        Self { list, asked }
    }

    /// The price list of the run.
    pub fn list(&self) -> &PriceList {
        &self.list
    }

    /// Names of the payers, as asked for.
    pub fn names(&self) -> Vec<String> {
        if self.asked.is_empty() { vec![RECORDED.to_owned()] } else { self.asked.clone() }
    }

    /// The payers of a session whose recording names this model, and `others`
    /// for some of its requests.
    pub fn of(&self, recorded: Option<&str>, others: &[String]) -> Vec<Agent> {
        if self.asked.is_empty() {
            let billed_as = RECORDED.to_owned();
            let others = others.iter().map(|name| self.recorded(Some(name))).collect();
            return vec![Agent { billed_as, others, ..self.recorded(recorded) }];
        }
        self.asked.iter().map(|name| self.named(name)).collect()
    }

    /// The recorded model if it has a price, else its substitute.
    pub fn recorded(&self, recorded: Option<&str>) -> Agent {
        let own = recorded.map(|name| self.named(name)).filter(|agent| agent.prices.is_some());
        own.unwrap_or_else(|| self.named(billed_instead(recorded)))
    }

    /// A model by its name, whether it is listed or not.
    pub fn named(&self, name: &str) -> Agent {
        let found = self.list.priced(name);
        Agent {
            billed_as: name.to_owned(),
            model: found.map_or_else(|| name.to_owned(), |model| model.id.clone()),
            prices: found.map(|model| Arc::new(model.clone())),
            others: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(asked: &[&str]) -> Agents {
        let asked = asked.iter().map(|name| (*name).to_owned()).collect();
        Agents::new(Arc::new(PriceList::bundled()), asked)
    }

    #[test]
    fn a_session_is_billed_as_its_own_model_where_that_is_priced() {
        let of = |recorded| agents(&[]).of(recorded, &[]).remove(0);
        assert_eq!(of(Some("claude-opus-4-6")).model, "claude-opus-4-6");
        for recorded in [None, Some("some-local-model")] {
            assert_eq!(of(recorded).model, DEFAULT_AGENT_MODEL);
            assert_eq!(of(recorded).billed_as, "recorded");
            assert!(of(recorded).prices.is_some());
        }
    }

    #[test]
    fn a_model_without_a_price_is_billed_as_one_of_its_family() {
        let of = |recorded: &str| agents(&[]).of(Some(recorded), &[]).remove(0).model;
        assert_eq!(of("my-gpt-5"), "gpt-5.4");
        assert_eq!(of("Claude-Sonnet-of-old"), "claude-sonnet-5-5");
        assert_eq!(of("gemini-experimental"), "gemini-3.8-flash");
        assert_eq!(of("deepseek-nightly"), "deepseek-v4-pro");
        let list = PriceList::bundled();
        assert!(FAMILIES.iter().all(|(_, model)| list.priced(model).is_some()));
    }

    #[test]
    fn models_asked_for_pay_each_and_an_unknown_one_has_no_price() {
        let payers =
            agents(&["openai/gpt-5.4", "some-local-model"]).of(Some("claude-opus-4-6"), &[]);
        assert_eq!(payers.len(), 2);
        assert_eq!(
            (payers[0].billed_as.as_str(), payers[0].model.as_str()),
            ("openai/gpt-5.4", "gpt-5.4")
        );
        assert_eq!(payers[1].prices, None);
    }
}
