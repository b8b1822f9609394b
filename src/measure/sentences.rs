//! One to three sentences that a careful colleague would say about the table.
//!
//! Every observation looks at the rows over all transcripts at one window, as
//! one agent model is billed, and says how much it matters, `0.0..=1.0`; the most telling ones are kept.

mod money;
mod observations;

use crate::model::{NATIVE, PresetRow, Primary, Sentence, Standing, catalogue};

use super::names::{ALL, BASELINE};
use super::rows::Entry;

/// Most sentences under a table.
const MOST: usize = 3;
/// Below this an observation is not worth the reader's time.
const LEAST_RELEVANCE: f64 = 0.1;

/// How much more an observation at a later window must matter.
const FIRST_WINDOW: f64 = 0.15;

/// What there is to talk about.
pub struct Scene<'a> {
    /// Every row, in printing order.
    pub table: &'a [Entry],
    /// The measure that ranks.
    pub primary: Primary,
}

/// Something that could be said.
pub struct Candidate {
    /// How much it matters, `0.0..=1.0`.
    relevance: f64,
    text: String,
}

/// The rows over all transcripts at one window for one agent model.
pub struct Window<'a> {
    label: &'a str,
    agent_model: &'a str,
    /// Whether there are others.
    among_payers: bool,
    rows: Vec<&'a Entry>,
    primary: Primary,
}

/// Looks at one window.
type Observation = fn(&Window<'_>) -> Option<Candidate>;

/// The sentences, the most telling first.
pub fn choose(scene: &Scene<'_>) -> Vec<Sentence> {
    let windows = windows(scene);
    let best_of = |observe: &Observation| {
        let found = windows.iter().filter_map(observe);
        // The window typed first is the one that was asked about.
        found.reduce(|a, b| if b.relevance > a.relevance + FIRST_WINDOW { b } else { a })
    };
    let mut candidates: Vec<Candidate> =
        observations::AT_A_WINDOW.iter().filter_map(best_of).collect();
    // What windows do to memory is the same for every payer.
    let payer = windows.first().map(|window| window.agent_model);
    let of_one: Vec<&Window<'_>> =
        windows.iter().filter(|window| Some(window.agent_model) == payer).collect();
    candidates.extend(observations::across_windows(&of_one));
    candidates.retain(|c| c.relevance >= LEAST_RELEVANCE);
    candidates.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    candidates.truncate(MOST);
    candidates.into_iter().map(|c| Sentence(c.text)).collect()
}

fn windows<'a>(scene: &Scene<'a>) -> Vec<Window<'a>> {
    let all: Vec<&Entry> = scene.table.iter().filter(|e| e.row.dataset == ALL).collect();
    let payer = |entry: &Entry| entry.row.agent_model.clone();
    let among_payers = all.windows(2).any(|pair| payer(pair[0]) != payer(pair[1]));
    all.chunk_by(|a, b| a.row.window == b.row.window && payer(a) == payer(b))
        .map(|rows| Window {
            label: &rows[0].row.window,
            agent_model: &rows[0].row.agent_model,
            among_payers,
            rows: rows.to_vec(),
            primary: scene.primary,
        })
        .collect()
}

impl<'a> Window<'a> {
    /// Ranked rows that have a rank, best first.
    fn ranked(&self) -> Vec<&'a PresetRow> {
        self.entries().into_iter().map(|e| &e.row).collect()
    }

    fn entries(&self) -> Vec<&'a Entry> {
        self.rows.iter().filter(|e| e.row.rank.is_some()).copied().collect()
    }

    fn named(&self, strategy: &str) -> Option<&'a PresetRow> {
        self.rows.iter().map(|e| &e.row).find(|r| r.strategy == strategy)
    }

    /// Whether rows are ranked by what can be answered.
    fn by_probes(&self) -> bool {
        self.primary == Primary::Continuity
    }

    /// Whether rows are ranked by what is kept at cuts.
    fn by_cuts(&self) -> bool {
        self.primary == Primary::KeptAtCut
    }

    /// The primary measure of a row as a share, `0.0..=1.0`.
    fn score(&self, row: &PresetRow) -> f64 {
        let score = row.number(self.primary.measure()).unwrap_or(0.0);
        if self.by_probes() { score / 100.0 } else { score }
    }

    /// The primary measure as it is printed.
    fn printed(&self, row: &PresetRow) -> String {
        let score = self.score(row);
        if self.by_probes() { format!("{:.0} %", score * 100.0) } else { format!("{score:.2}") }
    }

    /// What the primary measure is a share of.
    fn of_what(&self) -> &'static str {
        match self.primary {
            Primary::Continuity => "of what the whole conversation answers right",
            Primary::KeptAtCut => "of what the agent used behind the cuts",
            Primary::ReferenceRecall => "of what the agent used next",
        }
    }

    /// Mean window in tokens over its cells.
    fn tokens(&self) -> f64 {
        self.rows.iter().map(|e| e.window_tokens).fold(0.0, f64::max)
    }

    fn at(&self) -> String {
        format!("At {}", label(self.label))
    }

    /// The same, with whose bill is talked of where there are several.
    fn at_price(&self) -> String {
        let payer = self.among_payers.then(|| format!(", billed as {},", self.agent_model));
        self.at() + &payer.unwrap_or_default()
    }

    /// Whether the bill of the whole conversation is one that no provider would
    /// have made out, because it is over the window.
    fn is_hypothetical(&self) -> bool {
        self.named(BASELINE).is_some_and(|full| full.number(catalogue::OVERFLOWS) != Some(0.0))
    }
}

/// A window's label as a person writes it: `25 %`, `200k`, `the native window`.
pub fn label(typed: &str) -> String {
    if typed == NATIVE {
        return "the native window".to_owned();
    }
    typed.strip_suffix('%').map_or_else(|| typed.to_owned(), |share| format!("{share} %"))
}

/// A share in whole per cent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A count that may be a mean, with its thousands apart.
pub fn grouped(count: f64) -> String {
    crate::text::grouped(count.round() as u64)
}

/// A difference with its sign.
fn signed(difference: f64) -> String {
    let rounded = format!("{difference:+.2}").replace('-', "−");
    if rounded.trim_start_matches(['+', '−']) == "0.00" { "0.00".to_owned() } else { rounded }
}

/// "sends 54 % fewer tokens", "sends 3 % more tokens".
fn sends(savings: f64) -> String {
    match (savings * 100.0).round() {
        0.0 => "sends as many tokens as the whole conversation".to_owned(),
        more if more < 0.0 => format!("sends {:.0} % more tokens", -more),
        fewer => format!("sends {fewer:.0} % fewer tokens"),
    }
}

#[cfg(test)]
mod tests;
