//! Limits and doubts that a reader must know before the numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Cell, Manifest, Standing, TranscriptFacts, Verdict};

use super::rows::{ALL, BASELINE, Entry};
use super::sentences::label;

/// Smallest context limit that agents of the field run with. Below it, single
/// tool results loom larger than they ever did for the recorded agent.
const NATIVE_WINDOW: u64 = 128_000;
/// Share of references that the agent did without from which the exam itself
/// is in doubt.
const DOUBTFUL_EXAM: f64 = 0.1;

/// What every part of the report may rest a warning on.
struct Run<'a> {
    manifest: &'a Manifest,
    /// Rows over all transcripts.
    rows: Vec<&'a Entry>,
    facts: &'a [TranscriptFacts],
    cells: &'a [Cell],
}

/// Every warning that applies, the limits of the method first.
pub fn collect(
    manifest: &Manifest,
    table: &[Entry],
    facts: &[TranscriptFacts],
    cells: &[Cell],
) -> Vec<String> {
    let rows = table.iter().filter(|e| e.row.dataset == ALL).collect();
    let run = Run { manifest, rows, facts, cells };
    let checks: [fn(&Run<'_>) -> Vec<String>; 10] = [
        open_loop,
        failed_cells,
        nothing_compacts,
        overflows,
        stand_ins,
        few_transcripts,
        one_project,
        small_windows,
        exam_in_doubt,
        left_out,
    ];
    checks.iter().flat_map(|check| check(&run)).collect()
}

fn open_loop(_: &Run<'_>) -> Vec<String> {
    vec![
        "replay is open loop: the recorded agent does not react to what was forgotten. This \
         measures memory and size, not task success; reference recall narrows the gap by asking \
         for what the agent really used next"
            .to_owned(),
    ]
}

fn failed_cells(run: &Run<'_>) -> Vec<String> {
    let failed: usize = run.rows.iter().map(|e| e.row.failed.len()).sum();
    let presets: BTreeSet<&str> = run
        .rows
        .iter()
        .filter(|e| !e.row.failed.is_empty())
        .map(|e| e.row.strategy.as_str())
        .collect();
    if failed == 0 {
        return Vec::new();
    }
    vec![format!(
        "{failed} of {} cells failed ({}): their rows rest on other transcripts than the rest and \
         are not ranked",
        run.cells.len(),
        listed(presets)
    )]
}

/// Windows at which no preset had anything to do (`semantics` 40).
fn nothing_compacts(run: &Run<'_>) -> Vec<String> {
    let largest = run.facts.iter().flat_map(|f| &f.requests).map(|r| r.tokens_full).max();
    let largest = largest.unwrap_or(0);
    let idle = |rows: &[&Entry]| {
        let mut presets = rows.iter().filter(|e| e.row.standing != Standing::Control).peekable();
        presets.peek().is_some() && presets.all(|e| !e.acted && e.row.failed.is_empty())
    };
    by_window(&run.rows)
        .into_iter()
        .filter(|rows| idle(rows))
        .map(|rows| {
            format!(
                "nothing compacts at {}: the largest context seen is {largest} tokens; choose a \
                 smaller --window",
                label(&rows[0].row.window)
            )
        })
        .collect()
}

/// Presets whose contexts a provider would have refused (`measures` §1).
fn overflows(run: &Run<'_>) -> Vec<String> {
    let over = |e: &&&Entry| {
        e.row.standing != Standing::Control && e.row.number("overflows").is_some_and(|n| n > 0.0)
    };
    by_window(&run.rows)
        .into_iter()
        .filter_map(|rows| {
            let names: BTreeSet<&str> =
                rows.iter().filter(over).map(|e| e.row.strategy.as_str()).collect();
            (!names.is_empty()).then(|| {
                format!(
                    "over the window at {}: {}; they score 0 at the requests concerned",
                    label(&rows[0].row.window),
                    listed(names)
                )
            })
        })
        .collect()
}

fn stand_ins(run: &Run<'_>) -> Vec<String> {
    let names: BTreeSet<&str> = run
        .rows
        .iter()
        .filter(|e| e.row.standing == Standing::StandIn)
        .map(|e| e.row.strategy.as_str())
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "stand-ins, not ranked: {}. Their summaries come from the {} compactor, so these rows \
         measure it and not the strategy",
        listed(names),
        run.manifest.compactor
    )]
}

/// What so few transcripts allow (`measures` §7).
fn few_transcripts(run: &Run<'_>) -> Vec<String> {
    let n = run.rows.iter().filter_map(|e| e.row.number("n_clusters")).fold(0.0, f64::max);
    let undecided = run.rows.iter().any(|e| e.row.verdict == Some(Verdict::Undecided));
    let allows = match n as u64 {
        0 => return Vec::new(),
        1..=2 => "intervals speak of these sessions only, and nothing is decided",
        3..=5 => "every value is shown, and nothing is decided",
        6..=9 => "no preset can be called non-inferior",
        10..=19 => "non-inferior is provisional",
        _ if undecided => "undecided rows may still differ by less than their mde",
        _ => return Vec::new(),
    };
    let noun = if n == 1.0 { "session or project" } else { "sessions or projects" };
    vec![format!("{n:.0} independent {noun}: {allows}")]
}

fn one_project(run: &Run<'_>) -> Vec<String> {
    let projects: BTreeSet<Option<&str>> = run.facts.iter().map(|f| f.cluster.as_deref()).collect();
    let only = projects.len() == 1 && run.facts.len() > 1;
    match projects.first() {
        Some(Some(_)) if only => vec![format!(
            "all {} transcripts come from one project: intervals speak of more sessions of it, \
             not of other projects",
            run.facts.len()
        )],
        _ => Vec::new(),
    }
}

/// Windows that no recorded agent had (`semantics` 10).
fn small_windows(run: &Run<'_>) -> Vec<String> {
    let small: BTreeSet<String> = run
        .cells
        .iter()
        .filter(|c| {
            c.key.window.ends_with('%') || c.rows().is_some_and(|r| r.window < NATIVE_WINDOW)
        })
        .map(|c| label(&c.key.window))
        .collect();
    if small.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "results at {} do not predict a native window: {}single tool results do not shrink with it",
        listed(small.iter().map(String::as_str)),
        if run.manifest.scaled { "thresholds are scaled to the window, but " } else { "" }
    )]
}

/// The instrument's own error, where a recording shows it (`measures` §4).
fn exam_in_doubt(run: &Run<'_>) -> Vec<String> {
    let full = run.rows.iter().find(|e| e.row.strategy == BASELINE).or(run.rows.first());
    let share = full.and_then(|e| e.row.number("did_without")).filter(|s| *s >= DOUBTFUL_EXAM);
    share
        .map(|share| {
            format!(
                "after recorded boundaries the agent did without {:.0} % of what the exam would \
                 ask for: read reference recall with that error in mind",
                share * 100.0
            )
        })
        .into_iter()
        .collect()
}

fn left_out(run: &Run<'_>) -> Vec<String> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, n) in run.facts.iter().flat_map(|f| &f.left_out) {
        *reasons.entry(reason).or_default() += n;
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    let parts: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    vec![format!("records left out on import: {}", parts.join(", "))]
}

fn by_window<'a>(rows: &[&'a Entry]) -> Vec<Vec<&'a Entry>> {
    rows.chunk_by(|a, b| a.row.window == b.row.window).map(<[_]>::to_vec).collect()
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
