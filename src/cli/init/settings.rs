//! `recap.toml` for the user's sessions: the window that fits them, and rules
//! that a run on them can decide.

use std::collections::BTreeSet;

use crate::cli::{inputs, wire};
use crate::dataset::Dataset;
use crate::model::Transcript;
use crate::pricing::PriceList;
use crate::probes::{Cuts, places};
use crate::tokens::{Counter, Sizes};

const TEXT: &str = include_str!("recap.toml");

/// The default cuts and their depth.
const CUTS: (Cuts, u32) = (Cuts::Spread(5), 1);

/// A rule of the gate, with an explanation.
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
}

/// Recordings of agents are replayed at the limit of their model, chats without
/// usage at a share of each; a run of both chooses for each data set.
fn window(datasets: &[Dataset]) -> &'static str {
    let recorded = datasets.iter().filter(|dataset| dataset.reports_usage()).count();
    match recorded {
        0 => "window = [\"50%\"]",
        n if n == datasets.len() => "window = [\"native\"]",
        _ => "# window = [\"native\"]",
    }
}

/// The rules for these data sets: what is kept is measured by the probes where
/// there are some, else by what the agent itself used next. Dollars are
/// compared at the model's own window, and only with agents that never had to
/// compact.
fn rules(datasets: &[Dataset]) -> Vec<Rule> {
    let probed = datasets.iter().any(|dataset| !dataset.probes.is_empty());
    let mut transcripts = datasets.iter().flat_map(|dataset| &dataset.transcripts);
    let named = transcripts.clone().flat_map(|t| t.model.iter().chain(t.other_models.values()));
    let list = PriceList::bundled();
    let unpriced = named.collect::<BTreeSet<_>>().iter().any(|name| list.priced(name).is_none());
    let short = !probed && !transcripts.clone().any(has_cut);
    let short = short.then_some("these sessions are too short for a cut");
    let reported = datasets.iter().all(Dataset::reports_usage);
    let hypothetical = if !reported {
        Some("hypothetical at a share of the session: nobody would be billed for it")
    } else if unpriced {
        Some("unknown here: a session's model has no price; --prices takes a list that has one")
    } else if transcripts.any(|transcript| !transcript.compactions.is_empty()) {
        Some("hypothetical here: the agent compacted, so the whole was never billed")
    } else {
        None
    };
    let (least, drop) = match probed {
        true => ("continuity < 30", "continuity < baseline - 5"),
        false => ("kept_at_cut < 0.3", "kept_at_cut < baseline - 0.05"),
    };
    let rule = |rule, forbids, off| Rule { rule, forbids, off };
    vec![
        rule(least, "too little of what is needed is left", short),
        rule("cost_savings < 0", "dearer than sending everything", hypothetical),
        rule(drop, "clearly less than in the baseline", Some("set the baseline below")),
    ]
}

/// Whether a compaction can be forced anywhere in a session.
fn has_cut(transcript: &Transcript) -> bool {
    let counter: std::sync::Arc<Counter> = wire::counter(None);
    let sizes = Sizes::of(transcript, &counter);
    let messages: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
    places(transcript, &messages, CUTS.0, CUTS.1).is_ok_and(|places| !places.is_empty())
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
