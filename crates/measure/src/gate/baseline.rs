//! The file `baseline.json`: an earlier run to compare with, small enough to be
//! committed.
//!
//! It holds what each session contributes to each row, how the run was
//! measured, and hashes that show whether two runs used the same data.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::rule::{GateMeasure, Rule, find_measure};
use crate::ALL;
use crate::by_session::{
    BySession, SessionFingerprint, UnitRow, by_session, each_unit_row, fingerprint_of,
};
use crate::paired::Side;
use recap_core::model::{INSTRUMENT, Manifest, Report};
use recap_core::text::json_error;

/// Version of the file's layout.
const VERSION: u32 = 2;

/// The figures of an earlier run, session by session.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Name of the file or folder, as messages show it.
    pub name: String,
    /// The versions, models, prices and cuts of the run.
    pub head: Head,
    /// The figures of each session.
    pub run: BySession,
}

/// The settings of a run that its figures depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file's layout.
    version: u32,
    /// Version of the instrument.
    instrument: u32,
    /// Tokeniser that counted the tokens.
    tokens: String,
    /// Compactor that wrote the summaries.
    compactor: String,
    /// Answerer of the questions.
    answerer: String,
    /// Judge of the answers.
    judge: String,
    /// Hash of the prices that the bills use.
    prices: String,
    /// Cuts of the run: [`Manifest::cuts`].
    cuts: String,
    /// Depth of the cuts: [`Manifest::depth`].
    depth: u32,
}

/// Why a baseline cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file is not JSON of this layout.
    #[error("it is no baseline.json: {0}")]
    Syntax(String),
    /// Another version of the program wrote the file.
    #[error(
        "it was made by version {0} of the instrument, layout {1}; this program is version \
         {INSTRUMENT}, layout {VERSION}: their figures cannot be compared"
    )]
    Version(u32, u32),
    /// The row of this strategy and window does not fit the sessions.
    #[error("its row of {0} at {1} has not one figure for each session")]
    Row(String, String),
}

#[derive(Deserialize)]
struct File {
    baseline: Head,
    sessions: Vec<SessionFingerprint>,
    rows: Vec<UnitRow>,
}

#[derive(Deserialize)]
struct Versions {
    baseline: VersionsOnly,
}

#[derive(Deserialize)]
struct VersionsOnly {
    version: u32,
    instrument: u32,
}

impl Head {
    /// The settings in a run's manifest.
    pub fn of(manifest: &Manifest) -> Self {
        let prices = serde_json::to_vec(&manifest.prices.models).expect("plain data serialises");
        Head {
            version: VERSION,
            instrument: manifest.instrument,
            tokens: manifest.tokens.clone(),
            compactor: manifest.compactor.clone(),
            answerer: manifest.answerer.clone(),
            judge: manifest.judge.clone(),
            prices: blake3::hash(&prices).to_hex()[..16].to_owned(),
            cuts: manifest.cuts.clone(),
            depth: manifest.depth,
        }
    }

    /// Whether both runs examine the same cuts.
    pub fn same_cuts(&self, other: &Head) -> bool {
        (&self.cuts, self.depth) == (&other.cuts, other.depth)
    }

    /// The options of the run that set the places and the depth of the cuts.
    pub fn cut_by(&self) -> String {
        match self.cuts.as_str() {
            "none" => "--cuts none".to_owned(),
            cuts => format!("--cuts {cuts} --depth {}", self.depth),
        }
    }

    /// Whether both runs bill the same models with the same prices.
    pub fn same_prices(&self, other: &Head) -> bool {
        self.prices == other.prices
    }
}

impl Baseline {
    /// The baseline that a measured run would leave.
    pub fn of(name: String, report: &Report) -> Self {
        Baseline { name, head: Head::of(&report.manifest), run: by_session(report) }
    }

    /// The windows of a run at which this baseline may have rows of a data set:
    /// all windows but those that the baseline uses only for other data sets.
    pub(super) fn windows_of(&self, dataset: &str, all: &[String]) -> Vec<String> {
        let is_there = |window: &str, of: &dyn Fn(&str) -> bool| {
            self.run.rows.iter().any(|row| row.window == window && of(&row.dataset))
        };
        let fits = |window: &&String| {
            is_there(window, &|name| name == dataset) || !is_there(window, &|_| true)
        };
        all.iter().filter(fits).cloned().collect()
    }

    /// Parses the text of a `baseline.json`.
    ///
    /// # Errors
    /// The text is not a baseline, or another version wrote it.
    pub fn parse(name: String, text: &str) -> Result<Self, BaselineError> {
        let syntax = |e: serde_json::Error| BaselineError::Syntax(json_error(&e.to_string()));
        let versions: Versions = serde_json::from_str(text).map_err(syntax)?;
        let VersionsOnly { version, instrument } = versions.baseline;
        if (version, instrument) != (VERSION, INSTRUMENT) {
            return Err(BaselineError::Version(instrument, version));
        }
        let File { baseline: head, sessions, rows } = serde_json::from_str(text).map_err(syntax)?;
        let mut sessions_of: BTreeMap<&str, usize> = BTreeMap::new();
        for session in &sessions {
            *sessions_of.entry(&session.dataset).or_default() += 1;
        }
        let fits = |row: &UnitRow| {
            let n = sessions_of.get(row.dataset.as_str()).copied().unwrap_or(0);
            row.figures.values().all(|f| f.len() == n) && row.series.values().all(|s| s.len() == n)
        };
        match rows.iter().find(|row| !fits(row)) {
            Some(UnitRow { strategy, window, .. }) => {
                Err(BaselineError::Row(strategy.clone(), window.clone()))
            }
            None => Ok(Baseline { name, head, run: BySession { sessions, rows } }),
        }
    }
}

/// Writes the baseline of a run: a line for each session and each row, so
/// that a diff is readable.
///
/// # Errors
/// The file cannot be written.
pub fn write_baseline(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\n\"baseline\": ")?;
    serde_json::to_writer(&mut *out, &Head::of(&report.manifest))?;
    out.write_all(b",\n\"sessions\": [")?;
    let mut between = "\n";
    for facts in &report.sessions {
        line(out, &mut between, &fingerprint_of(facts))?;
    }
    out.write_all(b"\n],\n\"rows\": [")?;
    let mut between = "\n";
    each_unit_row(report, |row| line(out, &mut between, &row))?;
    out.write_all(b"\n]\n}\n")
}

/// Writes one element of a JSON list on a line of its own.
fn line(out: &mut dyn Write, between: &mut &str, value: &impl Serialize) -> io::Result<()> {
    out.write_all(between.as_bytes())?;
    *between = ",\n";
    Ok(serde_json::to_writer(out, value)?)
}

/// A rule and the rows on which it compares with the baseline.
#[derive(Clone, Debug)]
pub struct BaselineRule<'a> {
    /// The rule that compares with the baseline.
    pub rule: &'a Rule,
    /// Data set, strategy and window of each row that the rule applies to.
    pub rows: Vec<(&'a str, &'a str, &'a str)>,
}

/// Every difference between a baseline and a run that makes the rules
/// meaningless. Before a run, `sessions` contains ids only.
pub fn differences(
    baseline: &Baseline,
    manifest: &Manifest,
    sessions: &[(&str, &str)],
    asked: &[BaselineRule<'_>],
) -> Vec<String> {
    let (theirs, own) = (&baseline.head, Head::of(manifest));
    let mut found: Vec<String> = counted(theirs, &own).into_iter().collect();
    let is_billed = |asked: &BaselineRule<'_>| known(asked).is_some_and(GateMeasure::is_billed);
    if asked.iter().any(is_billed) && !theirs.same_prices(&own) {
        found.push("the prices, or who is billed, differ".to_owned());
    }
    let at_other_cuts = |asked: &&BaselineRule<'_>| {
        known(asked).is_some_and(GateMeasure::is_at_cuts) && !theirs.same_cuts(&own)
    };
    if let Some(asked) = asked.iter().find(at_other_cuts) {
        found.push(format!(
            "it was made with `{}`, this run with `{}`: the cuts differ, so that `{}` has no \
             counterpart",
            theirs.cut_by(),
            own.cut_by(),
            asked.rule.measure
        ));
    }
    let own: BTreeSet<(&str, &str)> = sessions.iter().copied().collect();
    found.extend(lacking(&ids(&baseline.run), &own, "the baseline", "this run"));
    let mut lacking = BTreeSet::new();
    for (dataset, strategy, window) in asked.iter().flat_map(|asked| &asked.rows) {
        let side = Side::find(&baseline.run, dataset, strategy, window, None);
        if side.is_none() && lacking.insert((*dataset, *strategy, *window)) {
            let on = if *dataset == ALL { String::new() } else { format!(" on `{dataset}`") };
            found.push(format!("it has no row of `{strategy}` at `{window}`{on}"));
        }
    }
    found
}

/// The differences between two runs that make all of their figures
/// incomparable.
pub fn unlike(a: &Baseline, b: &Baseline) -> Vec<String> {
    let mut found: Vec<String> = counted(&a.head, &b.head).into_iter().collect();
    found.extend(lacking(&ids(&a.run), &ids(&b.run), &a.name, &b.name));
    found.extend(sessions(&a.run, &b.run));
    found
}

fn counted(a: &Head, b: &Head) -> Option<String> {
    let differ = a.tokens != b.tokens;
    differ
        .then(|| format!("tokens are counted by {} in one, by {} in the other", a.tokens, b.tokens))
}

/// Data set and id of each session.
type Ids<'a> = BTreeSet<(&'a str, &'a str)>;

fn ids(run: &BySession) -> Ids<'_> {
    run.sessions.iter().map(|one| (&*one.dataset, &*one.session)).collect()
}

/// The sessions that only one of two runs has, as messages.
fn lacking(a: &Ids<'_>, b: &Ids<'_>, name_a: &str, name_b: &str) -> Vec<String> {
    let message = |only: Vec<&(&str, &str)>, name: &str| {
        let first = only.first().map(|(set, id)| format!("`{id}` of `{set}`"));
        first.map(|first| match only.len() {
            1 => format!("only {name} has the session {first}"),
            n => format!("only {name} has the session {first} and {} more", n - 1),
        })
    };
    let only_a = message(a.difference(b).collect(), name_a);
    only_a.into_iter().chain(message(b.difference(a).collect(), name_b)).collect()
}

fn known(asked: &BaselineRule<'_>) -> Option<GateMeasure> {
    find_measure(&asked.rule.measure).ok()
}

/// The further differences that are known only after the run was measured.
pub(super) fn differences_measured(
    baseline: &Baseline,
    manifest: &Manifest,
    own: &BySession,
    asked: &[BaselineRule<'_>],
) -> Vec<String> {
    let mut found = sessions(&baseline.run, own);
    let (theirs, head) = (&baseline.head, Head::of(manifest));
    if asked.iter().any(|asked| known(asked).is_some_and(GateMeasure::rests_on_questions)) {
        for (role, theirs, own) in
            [("answerer", &theirs.answerer, &head.answerer), ("judge", &theirs.judge, &head.judge)]
        {
            if theirs != own {
                found.push(format!("its {role} is {theirs}, here {own}"));
            }
        }
    }
    let mut named = BTreeSet::new();
    for (dataset, strategy, window) in asked.iter().flat_map(|asked| &asked.rows) {
        let side = |run| Side::find(run, dataset, strategy, window, None);
        let (Some(a), Some(b)) = (side(&baseline.run), side(own)) else { continue };
        let other = a.rows().iter().zip(b.rows()).any(|(a, b)| a.row_kind != b.row_kind);
        if other && named.insert(*strategy) {
            found.push(format!(
                "`{strategy}` was measured with the compactor {}, here with {}: one of them is \
                 the offline summary",
                theirs.compactor, head.compactor
            ));
        }
    }
    found
}

/// The differences between the sessions of two runs.
fn sessions(a: &BySession, b: &BySession) -> Vec<String> {
    let theirs: BTreeMap<(&str, &str), &SessionFingerprint> =
        a.sessions.iter().map(|s| ((&*s.dataset, &*s.session), s)).collect();
    let pairs: Vec<(&SessionFingerprint, &SessionFingerprint)> = (b.sessions.iter())
        .filter_map(|s| Some((*theirs.get(&(&*s.dataset, &*s.session))?, s)))
        .collect();
    let words = |a: &SessionFingerprint, b: &SessionFingerprint| {
        a.words.as_ref().zip(b.words.as_ref()).is_some_and(|(a, b)| a != b)
    };
    let mut found = Vec::new();
    let mut report =
        |what: &str, differ: &dyn Fn(&SessionFingerprint, &SessionFingerprint) -> bool| {
            let those = pairs.iter().filter(|(a, b)| differ(a, b));
            let ids: Vec<&str> = those.map(|(_, session)| session.session.as_str()).collect();
            match ids.as_slice() {
                [] => {}
                [only] => found.push(format!("{what} of `{only}` differ")),
                [first, rest @ ..] => {
                    found.push(format!("{what} of `{first}` and {} more differ", rest.len()));
                }
            }
        };
    report("the messages", &|a, b| a.content != b.content);
    report("the questions", &|a, b| a.questions != b.questions || words(a, b));
    report("the token counts", &|a, b| a.tokens != b.tokens);
    found
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
