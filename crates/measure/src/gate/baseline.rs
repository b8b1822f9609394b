//! The file `baseline.json`: an earlier run to compare with, small enough to be
//! committed.
//!
//! It holds what each session contributes to each row, how the run was
//! measured, and hashes that show whether two runs used the same data.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::rule::Rule;
use crate::ALL;
use crate::figures::by_session::{
    BySession, SessionFingerprint, UnitRow, by_session, fingerprint_of, table_of, unit_rows,
};
use crate::figures::paired::Side;
use recap_core::model::{INSTRUMENT, Manifest, Report, StrategyRow};
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

    /// The windows of a run at which a rule needs a row of this baseline. A data set may have
    /// windows of its own: not those that the baseline uses only for other data sets.
    fn windows_of<'a>(&self, rule: &'a Rule, all: &'a [String]) -> Vec<&'a str> {
        if let Some(window) = &rule.window {
            return vec![window];
        }
        let is_there = |window: &str, dataset: Option<&str>| {
            let of_set = |row: &UnitRow| dataset.is_none_or(|name| row.dataset == name);
            self.run.rows.iter().any(|row| row.window == window && of_set(row))
        };
        let fits = |at: &&str| !is_there(at, None) || is_there(at, rule.dataset.as_deref());
        all.iter().map(String::as_str).filter(fits).collect()
    }

    /// Parses the text of a `baseline.json`.
    ///
    /// # Errors
    /// The text is not a baseline, or another version wrote it.
    pub fn parse(name: String, text: &str) -> Result<Self, String> {
        let syntax = |e: serde_json::Error| {
            format!("it is no baseline.json: {}", json_error(&e.to_string()))
        };
        let versions: Versions = serde_json::from_str(text).map_err(syntax)?;
        let VersionsOnly { version, instrument } = versions.baseline;
        if (version, instrument) != (VERSION, INSTRUMENT) {
            return Err(format!(
                "it was made by version {instrument} of the instrument, layout {version}; this \
                 program is version {INSTRUMENT}, layout {VERSION}: their figures cannot be compared"
            ));
        }
        let File { baseline: head, sessions, rows } = serde_json::from_str(text).map_err(syntax)?;
        let mut sessions_of: BTreeMap<&str, usize> = BTreeMap::new();
        for session in &sessions {
            *sessions_of.entry(&session.dataset).or_default() += 1;
        }
        let fits = |row: &UnitRow| {
            let n = sessions_of.get(row.dataset.as_str()).copied().unwrap_or(0);
            row.figures.values().all(|figures| figures.len() == n)
        };
        match rows.iter().find(|row| !fits(row)) {
            Some(UnitRow { strategy, window, .. }) => Err(format!(
                "its row of {strategy} at {window} has not one figure for each session"
            )),
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
    for row in unit_rows(report, &table_of(report)) {
        line(out, &mut between, &row)?;
    }
    out.write_all(b"\n]\n}\n")
}

/// Writes one element of a JSON list on a line of its own.
fn line(out: &mut dyn Write, between: &mut &str, value: &impl Serialize) -> io::Result<()> {
    out.write_all(between.as_bytes())?;
    *between = ",\n";
    Ok(serde_json::to_writer(out, value)?)
}

/// Every difference between a baseline and a run that makes the rules meaningless, as far as it
/// is known before the run: `sessions` has their data sets and ids.
pub fn comparable(
    baseline: &Baseline,
    manifest: &Manifest,
    sessions: &[(&str, &str)],
    rules: &[Rule],
) -> Vec<String> {
    let (theirs, own) = (&baseline.head, Head::of(manifest));
    let rules: Vec<&Rule> = rules.iter().filter(|rule| rule.needs_baseline()).collect();
    let mut found: Vec<String> = counted(theirs, &own).into_iter().collect();
    if rules.iter().any(|rule| rule.is_billed()) && !theirs.same_prices(&own) {
        found.push("the prices, or who is billed, differ".to_owned());
    }
    let at_cuts = rules.iter().find(|rule| rule.is_at_cuts() && !theirs.same_cuts(&own));
    found.extend(at_cuts.map(|rule| {
        format!(
            "it was made with `{}`, this run with `{}`: the cuts differ, so that `{}` has no \
             counterpart",
            theirs.cut_by(),
            own.cut_by(),
            rule.measure.id
        )
    }));
    let own: BTreeSet<(&str, &str)> = sessions.iter().copied().collect();
    found.extend(lacking(&ids(&baseline.run), &own, "the baseline", "this run"));
    let mut named = BTreeSet::new();
    for rule in rules {
        let dataset = rule.dataset.as_deref().unwrap_or(ALL);
        let on = if dataset == ALL { String::new() } else { format!(" on `{dataset}`") };
        for strategy in rule.strategy.as_ref().map_or(&*manifest.named, std::slice::from_ref) {
            for window in baseline.windows_of(rule, &manifest.windows) {
                let there = Side::find(&baseline.run, dataset, strategy, window, None).is_some();
                if !there && named.insert((dataset, strategy, window)) {
                    found.push(format!("it has no row of `{strategy}` at `{window}`{on}"));
                }
            }
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

/// The further differences that are known only after the run was measured; `asked` has the rules
/// against the baseline with their rows.
pub(super) fn differences(
    baseline: &Baseline,
    manifest: &Manifest,
    own: &BySession,
    asked: &[(&Rule, Vec<&StrategyRow>)],
) -> Vec<String> {
    let mut found = sessions(&baseline.run, own);
    let (theirs, head) = (&baseline.head, Head::of(manifest));
    if asked.iter().any(|(rule, _)| rule.rests_on_questions()) {
        let roles =
            [("answerer", &theirs.answerer, &head.answerer), ("judge", &theirs.judge, &head.judge)];
        let differ = roles.into_iter().filter(|(_, theirs, own)| theirs != own);
        found.extend(
            differ.map(|(role, theirs, own)| format!("its {role} is {theirs}, here {own}")),
        );
    }
    let mut named = BTreeSet::new();
    for row in asked.iter().flat_map(|(_, rows)| rows) {
        let side = |run| Side::find(run, &row.dataset, &row.strategy, &row.window, None);
        let (Some(a), Some(b)) = (side(&baseline.run), side(own)) else { continue };
        let other = a.rows().iter().zip(b.rows()).any(|(a, b)| a.row_kind != b.row_kind);
        if other && named.insert(&row.strategy) {
            found.push(format!(
                "`{}` was measured with the compactor {}, here with {}: one of them is the offline \
                 summary",
                row.strategy, theirs.compactor, head.compactor
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
    fn words(a: &SessionFingerprint, b: &SessionFingerprint) -> bool {
        a.words.as_ref().zip(b.words.as_ref()).is_some_and(|(a, b)| a != b)
    }
    type Differ = fn(&SessionFingerprint, &SessionFingerprint) -> bool;
    let differences: [(&str, Differ); 3] = [
        ("the messages", |a, b| a.content != b.content),
        ("the questions", |a, b| a.questions != b.questions || words(a, b)),
        ("the token counts", |a, b| a.tokens != b.tokens),
    ];
    let differ = differences.into_iter().filter_map(|(what, differ)| {
        let those = pairs.iter().filter(|(a, b)| differ(a, b));
        let ids: Vec<&str> = those.map(|(_, session)| session.session.as_str()).collect();
        match ids.as_slice() {
            [] => None,
            [only] => Some(format!("{what} of `{only}` differ")),
            [first, rest @ ..] => {
                Some(format!("{what} of `{first}` and {} more differ", rest.len()))
            }
        }
    });
    differ.collect()
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
