//! `recap.toml` for the user's sessions: the window that fits them, and rules
//! that a run on them can decide.

use std::collections::BTreeSet;

use crate::cli::{inputs, wire};
use recap_billing::pricing::PriceList;
use recap_core::model::{Session, Support};
use recap_core::tokens::Sizes;
use recap_exam::facts::{MiningRules, mine};
use recap_formats::Dataset;

const TEXT: &str = include_str!("recap.toml");

/// The file that the first run leaves for later ones.
pub(super) const BASELINE: &str = "recap-baseline.json";

/// A rule of the gate, with an explanation.
#[derive(Clone)]
struct Rule {
    rule: &'static str,
    forbids: &'static str,
    /// Why the rule is commented out; `None` if it is active.
    off: Option<&'static str>,
}

/// The text of `recap.toml`.
pub(super) fn text(typed: &[String], datasets: &[Dataset]) -> String {
    let default = [inputs::DEFAULT.to_owned()];
    let names = if typed.is_empty() { &default[..] } else { typed };
    let quoted = |name: &String| toml::Value::String(name.clone()).to_string();
    let names: Vec<String> = names.iter().map(quoted).collect();
    let rules: Vec<String> = rules(datasets).iter().map(Rule::line).collect();
    TEXT.replace("@INPUTS@", &names.join(", "))
        .replace("@WINDOW@", window(datasets))
        .replace("@RULES@", &rules.join("\n"))
        .replace("@BASELINE@", BASELINE)
}

/// Recordings of agents are replayed at the limit of their model, chats without
/// usage at a share of each; a run of both chooses for each data set.
fn window(datasets: &[Dataset]) -> &'static str {
    let recorded = datasets.iter().filter(|dataset| dataset.has_limits()).count();
    match recorded {
        0 => "window = [\"50%\"]",
        n if n == datasets.len() => "window = [\"native\"]",
        _ => "# window = [\"native\"]",
    }
}

/// The rules for these data sets. All are about the whole replay, where figures
/// move with thresholds and strategies: at a cut a compaction is forced, whatever
/// the threshold. They compare with a baseline, since nobody has measured yet
/// which number is good here.
fn rules(datasets: &[Dataset]) -> Vec<Rule> {
    let asked = datasets.iter().any(|dataset| !dataset.questions.is_empty());
    let mut sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
    let named = sessions.clone().flat_map(|t| t.model.iter().chain(t.other_models.values()));
    let list = PriceList::bundled();
    let unpriced = named.collect::<BTreeSet<_>>().iter().any(|name| list.priced(name).is_none());
    let rule = |rule, forbids, off| Rule { rule, forbids, off };
    let kept = match asked {
        true => rule("continuity < baseline - 5", "fewer right answers than before", None),
        false => {
            let few = !sessions.any(has_references);
            let few = few.then_some("these sessions use too little of what was said long before");
            rule("reference_recall < baseline - 0.05", "fewer needed facts kept than before", few)
        }
    };
    let unknown =
        "unknown here: a session's model has no price; --prices takes a list that has one";
    let bill = |off| rule("cost_usd > baseline * 1.1", "a bill over 10 % higher than before", off);
    let sent = rule("tokens_sent > baseline * 1.1", "over 10 % more tokens than before", None);
    let bill = if unpriced { vec![bill(Some(unknown)), sent] } else { vec![bill(None)] };
    let refused = rule("overflows > baseline", "more requests over the window than before", None);
    [vec![kept], bill, vec![refused]].concat()
}

/// Whether a session has enough references for a figure.
fn has_references(session: &Session) -> bool {
    let sizes = Sizes::of(session, &wire::counter(None));
    let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
    let exam = mine(session, &tokens, &MiningRules::default());
    Support::of(exam.references.iter()).suffices()
}

impl Rule {
    fn line(&self) -> String {
        let Rule { rule, forbids, off } = self;
        match off {
            None => format!("    \"{rule}\", # {forbids}"),
            Some(why) => format!("    # \"{rule}\", # {forbids} ({why})"),
        }
    }
}
