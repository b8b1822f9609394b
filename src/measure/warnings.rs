//! Limits and doubts that a reader must know before the numbers.

mod clusters;
mod compactor;
mod money;
mod seats;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Cell, EXAM_REFERENCES, EXAM_REQUESTS, Manifest, NATIVE, PanelAgreement, SMALLEST_NATIVE,
    Standing, Support, TokensSource, TranscriptFacts, VALID_WITHIN, catalogue, is_exam_doubtful,
};
use crate::text::{counted, form_for};

use super::names::{ALL, BASELINE};
use super::rows::Entry;
use super::sentences::label;

/// What every part of the report may rest a warning on.
struct Run<'a> {
    manifest: &'a Manifest,
    /// Rows over all transcripts, as the first agent model is billed: what is
    /// true of every payer is said once.
    rows: Vec<&'a Entry>,
    /// The same, as every agent model is billed.
    billed: Vec<&'a Entry>,
    facts: &'a [TranscriptFacts],
    cells: &'a [Cell],
    panel: Option<&'a PanelAgreement>,
}

/// Every warning that applies: whether the compactor did its work, whether the
/// judge may be believed, then the limits of the method.
pub fn collect(
    manifest: &Manifest,
    table: &[Entry],
    facts: &[TranscriptFacts],
    cells: &[Cell],
    panel: Option<&PanelAgreement>,
) -> Vec<String> {
    let billed: Vec<&Entry> = table.iter().filter(|e| e.row.dataset == ALL).collect();
    let payer = billed.first().map(|e| &e.row.agent_model);
    let rows = billed.iter().copied().filter(|e| Some(&e.row.agent_model) == payer).collect();
    let run = Run { manifest, rows, billed, facts, cells, panel };
    let checks: [fn(&Run<'_>) -> Vec<String>; 30] = [
        compactor::unranked_by_void_replies,
        compactor::void_replies,
        seats::uncalibrated,
        seats::at_odds,
        open_loop,
        counts,
        failed_cells,
        nothing_compacts,
        compactor::idle,
        stand_ins,
        seats::lexical,
        seats::paraphrased,
        seats::ungraded,
        seats::unrecovered,
        easier_retrieval,
        thin_exams,
        uncut,
        clusters::few,
        clusters::one_project,
        small_windows,
        exam_in_doubt,
        money::what_bills_assume,
        money::first_breakpoint,
        money::default_model,
        money::unpriced,
        money::unbilled_summaries,
        money::modelled_clock,
        money::modelled_waits,
        money::simulation_off,
        left_out,
    ];
    checks.iter().flat_map(|check| check(&run)).collect()
}

fn open_loop(_: &Run<'_>) -> Vec<String> {
    vec![
        "replay is open loop: the recorded agent does not react to what was forgotten, so this \
         measures memory and size, not task success"
            .to_owned(),
    ]
}

/// Whose tokens are the provider's and whose the vocabulary's, and why
/// (measures §0). Silent where no recording has usage.
fn counts(run: &Run<'_>) -> Vec<String> {
    if run.facts.iter().all(|f| f.calibration.is_none()) {
        return Vec::new();
    }
    let scaled: Vec<_> =
        run.facts.iter().filter(|f| f.tokens_source == TokensSource::Calibrated).collect();
    let exact = run.facts.iter().filter(|f| f.tokens_source == TokensSource::Exact);
    let (asked, silent): (Vec<_>, Vec<_>) = exact.partition(|f| f.calibration.is_some());
    let mut text = format!(
        "tokens of {} of {} are the provider's own count from request to request",
        scaled.len(),
        counted(run.facts.len(), "transcript")
    );
    let exact = [(asked.len(), "as asked"), (silent.len(), "without usage")];
    let exact = exact.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}"));
    let exact = exact.collect::<Vec<_>>().join(", ");
    if !exact.is_empty() {
        text += &format!("; counted by the vocabulary alone: {exact}");
    }
    let known = || scaled.iter().filter_map(|f| f.calibration.as_ref());
    let ahead = known().filter_map(|c| c.forward).fold(0.0, f64::max);
    let behind = known().filter_map(|c| c.after_boundary).fold(0.0, f64::max);
    if ahead > 0.0 {
        text += &format!(
            "; what strategies write is sized by one factor for the session, whose count was off by \
             up to {:.0} % in the median ahead of what it was fitted to",
            ahead * 100.0
        );
    }
    if behind > 0.0 {
        text += &format!(", {:.0} % behind recorded compactions", behind * 100.0);
    }
    vec![text]
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
        "{failed} of {} failed ({}): their rows rest on other transcripts than the rest and are \
         not ranked",
        counted(run.cells.len(), "cell"),
        listed(presets)
    )]
}

/// Windows at which no preset had anything to do (semantics §40).
fn nothing_compacts(run: &Run<'_>) -> Vec<String> {
    let largest = |window: &str| {
        // Data sets may be replayed at windows of their own.
        let here = run.cells.iter().filter(|c| c.key.window == window);
        let here: BTreeSet<&str> = here.map(|c| c.key.dataset.as_str()).collect();
        let facts = run.facts.iter().filter(|f| here.contains(f.dataset.as_str()));
        facts.flat_map(|f| &f.requests).map(|r| r.tokens_full).max().unwrap_or(0)
    };
    let idle = |rows: &[&Entry]| {
        let mut presets = rows.iter().filter(|e| e.row.standing != Standing::Control).peekable();
        presets.peek().is_some() && presets.all(|e| !e.acted && e.row.failed.is_empty())
    };
    by_window(&run.rows)
        .into_iter()
        .filter(|rows| idle(rows))
        .map(|rows| {
            let window = &rows[0].row.window;
            format!(
                "nothing compacts at {}: the largest context seen is {}; choose a smaller --window",
                label(window),
                counted(largest(window), "token")
            )
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

/// Built-in validity (1): a smaller context may make the reader's work easier
/// or harder, and the preset would get the credit (measures §6).
fn easier_retrieval(run: &Run<'_>) -> Vec<String> {
    let judged = run.rows.iter().filter(|e| e.row.standing != Standing::Control);
    let apart = judged.filter_map(|entry| {
        let own = entry.row.number(catalogue::RECALL_VERBATIM)?;
        let full = entry.row.number(catalogue::RECALL_VERBATIM_FULL)?;
        let named = || {
            let window = label(&entry.row.window);
            format!("{} at {window} ({own:.2} against {full:.2})", entry.row.strategy)
        };
        ((own - full).abs() > VALID_WITHIN).then(named)
    });
    let named: Vec<String> = apart.collect();
    if named.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "with all of the evidence at hand the reader does not do as well, or as badly, as under \
         `full`: {}; their scores owe something to the size of the context alone",
        named.join(", ")
    )]
}

/// Transcripts that the measures of the exam leave out (measures §4).
fn thin_exams(run: &Run<'_>) -> Vec<String> {
    if run.manifest.cuts != "none" {
        return Vec::new();
    }
    let thin = run.facts.iter().filter(|f| !Support::whole(f).suffices()).count();
    if thin == 0 {
        return Vec::new();
    }
    vec![format!(
        "{thin} of {} {} for fewer than {} references or at fewer than {} requests: reference \
         recall leaves {} out",
        counted(run.facts.len(), "transcript"),
        form_for(thin, "asks", "ask"),
        EXAM_REFERENCES,
        EXAM_REQUESTS,
        form_for(thin, "it", "them")
    )]
}

/// Sessions without a place for a cut (cuts §1).
fn uncut(run: &Run<'_>) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for facts in run.facts {
        if let Some(why) = &facts.no_cut {
            reasons.entry(why.to_string()).or_default().push(&facts.transcript);
        }
    }
    let sessions: usize = reasons.values().map(Vec::len).sum();
    let Some((why, named)) = reasons.iter().next() else { return Vec::new() };
    vec![format!(
        "{sessions} of {} {} not cut, for example {}: {why}",
        counted(run.facts.len(), "session"),
        form_for(sessions, "is", "are"),
        named[0]
    )]
}

/// Windows that no recorded agent had (semantics §10).
fn small_windows(run: &Run<'_>) -> Vec<String> {
    let small: BTreeSet<String> = run
        .cells
        .iter()
        .filter(|c| c.key.window != NATIVE)
        .filter(|c| {
            c.key.window.ends_with('%') || c.rows().is_some_and(|r| r.window < SMALLEST_NATIVE)
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

/// The instrument's own error, where a recording shows it (measures §4).
fn exam_in_doubt(run: &Run<'_>) -> Vec<String> {
    let full = run.rows.iter().find(|e| e.row.strategy == BASELINE).or(run.rows.first());
    let share =
        full.and_then(|e| e.row.number(catalogue::DID_WITHOUT)).filter(|s| is_exam_doubtful(*s));
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
    let mut parts: Vec<(&str, u64)> = reasons.into_iter().collect();
    parts.sort_by_key(|&(reason, n)| (std::cmp::Reverse(n), reason));
    let short = |reason: &str| reason.strip_suffix(" record").unwrap_or(reason).to_owned();
    let parts: Vec<String> = parts.iter().map(|(r, n)| format!("{n} {}", short(r))).collect();
    vec![format!("records left out on import: {}", parts.join(", "))]
}

fn by_window<'a>(rows: &[&'a Entry]) -> Vec<Vec<&'a Entry>> {
    rows.chunk_by(|a, b| a.row.window == b.row.window).map(<[_]>::to_vec).collect()
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::measure::measure;
    use crate::measure::testkit::{cell, facts, manifest};
    use crate::model::{Cell, TranscriptFacts};

    pub(super) fn warned(facts: Vec<TranscriptFacts>, cells: Vec<Cell>) -> Vec<String> {
        measure(manifest(&["25%", "200k"]), "d".into(), facts, cells, Vec::new()).warnings
    }

    #[track_caller]
    pub(super) fn says(warnings: &[String], words: &str) {
        assert!(warnings.iter().any(|w| w.contains(words)), "{words}: {warnings:#?}");
    }

    #[track_caller]
    pub(super) fn silent(warnings: &[String], words: &str) {
        assert!(!warnings.iter().any(|w| w.contains(words)), "{words}: {warnings:#?}");
    }

    #[test]
    fn the_limits_of_an_open_loop_stand_at_the_top() {
        let one = facts("s").requests(&[100]).build();
        let warnings = warned(vec![one], vec![cell("s", "x").sent(&[100]).build()]);
        assert!(warnings[0].starts_with("replay is open loop"), "{warnings:#?}");
    }

    #[test]
    fn calibrated_and_exact_counts_are_told_apart_with_the_reasons() {
        let of = |id: &str| facts(id).requests(&[100]);
        let mut behind = of("b").calibrated(1.2, Some(0.2)).build();
        behind.calibration.as_mut().unwrap().after_boundary = Some(0.153);
        let all = vec![
            of("a").calibrated(1.2, Some(0.01)).build(),
            behind,
            of("c").reported(Some(0.01)).build(),
            of("f").build(),
            of("g").build(),
        ];
        says(
            &warned(all, Vec::new()),
            "tokens of 2 of 5 transcripts are the provider's own count from request to request; \
             counted by the vocabulary alone: 1 as asked, 2 without usage; what strategies write is \
             sized by one factor for the session, whose count was off by up to 20 % in the median \
             ahead of what it was fitted to, 15 % behind recorded compactions",
        );
        silent(&warned(vec![of("f").build()], Vec::new()), "provider's own count");
    }

    #[test]
    fn nothing_compacting_is_said_with_the_largest_context_seen() {
        let one = || vec![facts("s").requests(&[100, 700, 300]).build()];
        let idle = || cell("s", "x").window("200k", 200_000).sent(&[100, 700, 300]);
        let warnings = warned(one(), vec![idle().build()]);
        says(&warnings, "nothing compacts at 200k: the largest context seen is 700 tokens");
        let warnings = warned(one(), vec![idle().compaction(700, 300).build()]);
        silent(&warnings, "nothing compacts");
        let control = vec![idle().control().build()];
        silent(&warned(one(), control), "nothing compacts");
    }

    #[test]
    fn transcripts_with_thin_exams_are_counted() {
        let thin = facts("s").requests(&[100]).reference(0, 5_000, None).build();
        let cells = vec![cell("s", "x").sent(&[100]).states("k").build()];
        says(&warned(vec![thin], cells), "1 of 1 transcript asks for fewer than 20 references");
    }

    #[test]
    fn stand_ins_are_named_with_who_stood_in() {
        let one = facts("s").requests(&[100]).build();
        let cells = vec![cell("s", "continuation").stand_in().sent(&[100]).build()];
        let warnings = warned(vec![one], cells);
        says(
            &warnings,
            "stand-ins, not ranked: continuation. Their summaries come from the offline",
        );
    }

    #[test]
    fn left_out_records_are_summed_by_reason() {
        let one = facts("s").requests(&[100]).left_out("sidechain", 2).build();
        let two = facts("t").requests(&[100]).left_out("sidechain", 3).left_out("hook", 1).build();
        let cells = vec![cell("s", "x").sent(&[100]).build()];
        says(&warned(vec![one, two], cells), "records left out on import: 5 sidechain, 1 hook");
    }

    #[test]
    fn small_windows_are_said_not_to_predict_native_ones() {
        let one = || vec![facts("s").requests(&[100]).build()];
        let at =
            |label: &str, tokens| vec![cell("s", "x").window(label, tokens).sent(&[1]).build()];
        says(&warned(one(), at("25%", 4_000)), "results at 25 % do not predict a native window");
        says(&warned(one(), at("16k", 16_000)), "results at 16k do not predict");
        silent(&warned(one(), at("200k", 200_000)), "do not predict");
        silent(&warned(one(), at("native", 32_000)), "do not predict");
    }

    #[test]
    fn an_exam_that_the_agent_did_without_is_doubted() {
        let of = |did_without: u32| {
            let mut builder = facts("s").requests(&[100; 10]).boundary(did_without);
            for request in 0..10 {
                builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
            }
            let full = cell("s", "full").control().sent(&[100; 10]).states(&"k".repeat(20));
            warned(vec![builder.build()], vec![full.build()])
        };
        says(&of(5), "did without 20 %");
        silent(&of(1), "did without");
    }
}
