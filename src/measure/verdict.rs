//! The verdict in one paragraph, as a person would write it: what was replayed,
//! what to use, what it keeps and costs, how sure that is, and the largest
//! doubt. Every clause rests on measures of this run and is left out where they
//! are absent.

mod choice;
mod doubt;
mod money;
mod sure;

pub(in crate::measure) use money::dollars;

use std::collections::BTreeSet;

use super::cluster::noun;
use super::names::ALL;
use super::rows::Entry;
use super::sentences::{grouped, label};
use crate::model::{
    Family, Manifest, PanelAgreement, PresetRow, Primary, Sentence, Standing, TranscriptFacts,
    catalogue,
};
use crate::text::{counted, form_for};

/// Shares below this are not told as a figure of their own.
const LEAST_TOLD: f64 = 0.001;

/// What a verdict may rest on.
pub struct Run<'a> {
    /// Every row, in printing order.
    pub table: &'a [Entry],
    /// The transcripts.
    pub facts: &'a [TranscriptFacts],
    /// What was asked for.
    pub manifest: &'a Manifest,
    /// The measure that ranks.
    pub primary: Primary,
    /// The confirmatory family.
    pub family: Option<&'a Family>,
    /// How far the judges of a panel agree.
    pub panel: Option<&'a PanelAgreement>,
}

/// Three to seven sentences; `None` of a run without rows.
pub fn verdict(run: &Run<'_>) -> Option<Sentence> {
    let scene = Scene::of(run)?;
    let mut said = vec![scene.replayed()];
    match scene.choice() {
        Ok(best) => {
            said.push(scene.chosen(&best));
            said.extend(scene.costs(&best));
            said.extend(scene.sure(&best));
            said.extend(scene.empty_words(&best));
            said.extend(scene.compared(&best));
            said.push(scene.doubt(Some(best.row())));
        }
        Err(why) => {
            said.push(why);
            said.push(scene.doubt(None));
        }
    }
    Some(Sentence(said.join(" ")))
}

/// The rows over all transcripts as one payer is billed, with the run.
struct Scene<'a> {
    run: &'a Run<'a>,
    rows: Vec<&'a Entry>,
    /// Whether there are other payers.
    among_payers: bool,
}

impl<'a> Scene<'a> {
    fn of(run: &'a Run<'a>) -> Option<Self> {
        let all: Vec<&Entry> = run.table.iter().filter(|e| e.row.dataset == ALL).collect();
        let payer = &all.first()?.row.agent_model;
        let of_payer = |e: &&&Entry| e.row.agent_model == *payer;
        let rows: Vec<&Entry> = all.iter().filter(of_payer).copied().collect();
        let among_payers = rows.len() < all.len();
        Some(Scene { run, rows, among_payers })
    }

    /// "6 sessions with 1,709 requests and 866 questions were replayed …".
    fn replayed(&self) -> String {
        let facts = self.run.facts;
        let requests: usize = facts.iter().map(|f| f.requests.len()).sum();
        let probes: usize = facts.iter().map(|f| f.probes.len()).sum();
        let references: usize = facts.iter().map(|f| f.exam.references.len()).sum();
        let at_stake = self.at_stake();
        let asked = match (probes, references) {
            (0, _) if self.run.primary == Primary::KeptAtCut => at_stake.unwrap_or_default(),
            (0, 0) => String::new(),
            (0, n) => format!(" and {}", counted(n, "needed fact")),
            (n, _) => format!(" and {}", counted(n, "question")),
        };
        let presets = self.strategies(|row| row.standing != Standing::Control);
        let through = match presets {
            0 => "the controls alone".to_owned(),
            n => counted(n, "strategy"),
        };
        let verb = form_for(facts.len(), "was", "were");
        let offline = self.strategies(|row| row.standing == Standing::StandIn);
        let stand_ins = match offline {
            n if n == 0 || n == presets => String::new(),
            n => format!(
                "; {n} of these have a model write summaries, which an offline stand-in wrote, and \
                 are not ranked"
            ),
        };
        format!(
            "{} with {}{asked} {verb} replayed through {through} at {}{stand_ins}.",
            counted(facts.len(), "session"),
            counted(requests, "request"),
            listed(&self.windows())
        )
    }

    /// " and 838 facts at stake at 60 cuts".
    fn at_stake(&self) -> Option<String> {
        let row = self
            .rows
            .iter()
            .map(|e| &e.row)
            .find(|r| r.number(catalogue::FACTS_AT_STAKE).is_some())?;
        let facts = counted(row.number(catalogue::FACTS_AT_STAKE)? as usize, "fact");
        let cuts = counted(row.number(catalogue::CUTS)? as usize, "cut");
        Some(format!(" and {facts} at stake at {cuts}"))
    }

    /// What the primary measure is a share of.
    fn of_what(&self, row: &PresetRow) -> String {
        match (self.run.primary, row.number(catalogue::DEPTH)) {
            (Primary::Continuity, _) => "of what the whole conversation answers right".to_owned(),
            (Primary::KeptAtCut, Some(depth)) if depth > 1.0 => format!(
                "of what the agent used behind the cuts, in sessions {depth:.0} times as large as \
                 the window"
            ),
            (Primary::KeptAtCut, _) => {
                "of what the agent used behind the cuts, after one compaction".to_owned()
            }
            (Primary::ReferenceRecall, _) => "of what the agent went on to use".to_owned(),
        }
    }

    /// A choice whose model writes texts that add nothing over empty ones.
    fn empty_words(&self, best: &choice::Best<'_>) -> Option<String> {
        let row = best.row();
        let (added, bounds) = row.added()?;
        let least = bounds.map_or(added, |(least, _)| least);
        (least <= 0.0).then(|| {
            format!(
                "What its model writes is not known to keep more than an empty text in its place \
                 ({added:+.2})."
            )
        })
    }

    /// How many strategies have such a row.
    fn strategies(&self, of: impl Fn(&PresetRow) -> bool) -> usize {
        let rows = self.rows.iter().filter(|entry| of(&entry.row));
        rows.map(|entry| entry.row.strategy.as_str()).collect::<BTreeSet<&str>>().len()
    }

    /// Labels of the windows, in printing order.
    fn windows(&self) -> Vec<String> {
        let windows = self.rows.chunk_by(|a, b| a.row.window == b.row.window);
        windows.map(|rows| label(&rows[0].row.window)).collect()
    }

    /// Another row at the same window.
    fn beside(&self, row: &PresetRow, strategy: &str) -> Option<&'a PresetRow> {
        let rows = self.rows.iter().map(|e| &e.row);
        rows.into_iter().find(|r| r.window == row.window && r.strategy == strategy)
    }

    fn by_probes(&self) -> bool {
        self.run.primary == Primary::Continuity
    }

    /// The primary measure as it is printed.
    fn printed(&self, figure: f64) -> String {
        if self.by_probes() { format!("{figure:.0} %") } else { format!("{figure:.2}") }
    }

    /// A difference in the primary measure, without its sign, in so many digits
    /// that one that is not 0 does not read as 0.
    fn distance(&self, difference: f64) -> String {
        let difference = difference.abs();
        match self.by_probes() {
            false if difference >= 0.005 || difference == 0.0 => format!("{difference:.2}"),
            false if difference >= LEAST_TOLD => format!("{difference:.3}"),
            false => format!("less than {LEAST_TOLD}"),
            true if difference >= 0.95 => format!("{difference:.0} points"),
            true if difference >= 0.05 || difference == 0.0 => format!("{difference:.1} points"),
            true => "less than 0.1 points".to_owned(),
        }
    }

    /// The smallest difference that would have been found, where it says
    /// something: without any spread every difference would.
    fn detectable(&self, mde: Option<f64>) -> Option<String> {
        let least = LEAST_TOLD * self.run.primary.most();
        mde.filter(|mde| *mde >= least).map(|mde| self.distance(mde))
    }

    /// The clusters that a row's figure rests on, in words.
    fn clusters(&self, entry: &Entry, n: f64) -> String {
        let facts = entry.scores.keys().map(|unit| &self.run.facts[*unit]);
        counted(n as u64, noun(facts))
    }
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
