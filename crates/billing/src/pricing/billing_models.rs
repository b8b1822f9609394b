//! The models whose prices and cache rules bill a session.

use std::sync::Arc;

use super::list::PriceList;
use super::model::ModelPrices;
use recap_core::model::RECORDED;

/// Bills a recording that names no model (how-it-works §39).
pub(super) const DEFAULT_AGENT_MODEL: &str = "claude-sonnet-5-5";

/// A model that bills a session, with its prices.
#[derive(Clone, Debug, PartialEq)]
pub struct BillingModel {
    /// The name as asked for: a model's name, or [`RECORDED`].
    pub billed_as: String,
    /// Name of the model, in the price list if it is listed.
    pub model: String,
    /// Its prices; `None` if they are unknown, as is then the cost of the session.
    pub prices: Option<Arc<ModelPrices>>,
    /// The billing models for requests that another model answered, where the session
    /// is billed as recorded; otherwise empty.
    pub others: Vec<BillingModel>,
}

impl BillingModel {
    /// The billing model for a request, by
    /// [`RequestFacts::model`](recap_core::model::RequestFacts::model).
    pub fn of_request(&self, model: u32) -> &BillingModel {
        let other = (model as usize).checked_sub(1).and_then(|at| self.others.get(at));
        other.unwrap_or(self)
    }
}

/// The billing models of a run.
#[derive(Clone, Debug)]
pub struct BillingModels {
    list: Arc<PriceList>,
    asked: Vec<String>,
}

impl BillingModels {
    /// The models asked for; none: each session is billed as the model that it
    /// names, and one that names none as `DEFAULT_AGENT_MODEL`.
    pub fn new(list: Arc<PriceList>, asked: Vec<String>) -> Self {
        Self { list, asked }
    }

    /// The price list of the run.
    pub fn list(&self) -> &Arc<PriceList> {
        &self.list
    }

    /// Names of the billing models, as asked for.
    pub fn names(&self) -> Vec<String> {
        if self.asked.is_empty() { vec![RECORDED.to_owned()] } else { self.asked.clone() }
    }

    /// The billing models of a session whose recording names this model, and `others`
    /// for some of its requests.
    pub fn of(&self, recorded: Option<&str>, others: &[String]) -> Vec<BillingModel> {
        if self.asked.is_empty() {
            return vec![self.today(recorded, others)];
        }
        self.asked.iter().map(|name| self.named(name)).collect()
    }

    /// The same for what the agent itself sent: whatever was asked for, it cost what its own
    /// models charged, which stand first.
    pub fn of_recording(&self, recorded: Option<&str>, others: &[String]) -> Vec<BillingModel> {
        let asked = self.asked.iter().map(|name| self.named(name));
        std::iter::once(self.today(recorded, others)).chain(asked).collect()
    }

    fn today(&self, recorded: Option<&str>, others: &[String]) -> BillingModel {
        let others = others.iter().map(|name| self.recorded(Some(name))).collect();
        BillingModel { billed_as: RECORDED.to_owned(), others, ..self.recorded(recorded) }
    }

    /// The recorded model, whether it has a price or not: another's would be a
    /// wrong bill. A recording that names no model is billed as the default.
    pub fn recorded(&self, recorded: Option<&str>) -> BillingModel {
        self.named(recorded.unwrap_or(DEFAULT_AGENT_MODEL))
    }

    /// A model by its name, whether it is listed or not.
    pub fn named(&self, name: &str) -> BillingModel {
        let found = self.list.priced(name);
        BillingModel {
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

    fn billing_models(asked: &[&str]) -> BillingModels {
        let asked = asked.iter().map(|name| (*name).to_owned()).collect();
        BillingModels::new(Arc::new(PriceList::bundled()), asked)
    }

    #[test]
    fn session_is_billed_only_as_its_own_model() {
        let of = |recorded| billing_models(&[]).of(recorded, &[]).remove(0);
        assert_eq!(of(Some("claude-opus-4-6")).model, "claude-opus-4-6");
        assert_eq!(of(None).model, DEFAULT_AGENT_MODEL);
        assert_eq!(of(None).billed_as, "recorded");
        assert!(of(None).prices.is_some());
        for recorded in ["some-local-model", "my-gpt-5", "Claude-Sonnet-of-old", "default", ""] {
            let billing_model = of(Some(recorded));
            assert_eq!((billing_model.model.as_str(), billing_model.prices), (recorded, None));
        }
    }

    #[test]
    fn recording_is_billed_as_its_own_models_first() {
        let others = ["claude-haiku-4-5".to_owned()];
        let of =
            |asked: &[&str]| billing_models(asked).of_recording(Some("claude-opus-4-6"), &others);
        let billed = |all: Vec<BillingModel>| all.into_iter().map(|one| (one.billed_as, one.model));
        let own = (RECORDED.to_owned(), "claude-opus-4-6".to_owned());
        assert!(billed(of(&[])).eq([own.clone()]));
        let asked = ("gpt-5.4".to_owned(), "gpt-5.4".to_owned());
        assert_eq!(billed(of(&["gpt-5.4"])).collect::<Vec<_>>(), [own, asked]);
        assert_eq!(of(&["gpt-5.4"])[0].others[0].model, "claude-haiku-4-5");
    }

    #[test]
    fn requested_models_are_billed_separately_unknown_ones_unpriced() {
        let billing_models = billing_models(&["openai/gpt-5.4", "some-local-model"])
            .of(Some("claude-opus-4-6"), &[]);
        assert_eq!(billing_models.len(), 2);
        assert_eq!(
            (billing_models[0].billed_as.as_str(), billing_models[0].model.as_str()),
            ("openai/gpt-5.4", "gpt-5.4")
        );
        assert_eq!(billing_models[1].prices, None);
    }
}
