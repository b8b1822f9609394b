//! The rows that are compared with each other: one data set at one window, as
//! one agent model is billed. The terminal and the page show them alike.

use indexmap::{IndexMap, IndexSet};

use super::{number, plain};
use recap_core::model::{
    Absent, Cell, Manifest, Measure, NATIVE, NO_SUMMARY, OFFLINE, RECORDED, Report, RowKind,
    SessionFacts, Severity, StrategyRow, UNRANKED, Value, catalogue,
};

/// Data set name of the rows over all data sets.
pub(super) const ALL: &str = "ALL";

/// One table.
pub(super) struct Block<'a> {
    pub(super) dataset: &'a str,
    pub(super) window: &'a str,
    pub(super) agent_model: &'a str,
    pub(super) rows: Vec<&'a StrategyRow>,
}

/// The tables of a report in the order of its rows. With one data set the rows
/// over all of them say the same again, so they are left out.
pub(super) fn blocks(report: &Report) -> Vec<Block<'_>> {
    let mut datasets: Vec<&str> =
        report.rows.iter().map(|r| r.dataset.as_str()).filter(|d| *d != ALL).collect();
    datasets.sort_unstable();
    datasets.dedup();
    let mut blocks: IndexMap<_, Vec<&StrategyRow>> = IndexMap::new();
    let shown = report.rows.iter().filter(|row| !is_without_summary(&row.strategy));
    for row in shown.filter(|row| row.dataset != ALL || datasets.len() != 1) {
        let key = (&*row.dataset, &*row.window, &*row.agent_model);
        blocks.entry(key).or_default().push(row);
    }
    let blocks = blocks.into_iter();
    blocks
        .map(|((dataset, window, agent_model), rows)| Block { dataset, window, agent_model, rows })
        .collect()
}

/// Whether a strategy is one without its summaries. What it keeps is part of a figure
/// of that strategy, and it is shown nowhere of its own.
pub(super) fn is_without_summary(strategy: &str) -> bool {
    strategy.starts_with(NO_SUMMARY)
}

/// Every strategy that is shown, in the order of the rows.
pub(super) fn strategies(report: &Report) -> IndexSet<(&str, RowKind)> {
    let shown = report.rows.iter().filter(|row| !is_without_summary(&row.strategy));
    shown.map(|row| (row.strategy.as_str(), row.row_kind)).collect()
}

/// The findings of a sort, in words.
pub(super) fn findings(report: &Report, severity: Severity) -> Vec<String> {
    let those = report.findings.iter().filter(|finding| finding.severity == severity);
    those.map(|finding| finding.text.clone()).collect()
}

/// What a table is about: data set, sizes, windows, roles.
pub(super) fn headline(report: &Report, dataset: &str, windows: &[&str]) -> String {
    let of_dataset = report.sessions.iter().filter(|facts| match dataset {
        ALL => is_at(report, &facts.dataset, windows),
        one => facts.dataset == one,
    });
    let facts: Vec<&SessionFacts> = of_dataset.collect();
    let requests: usize = facts.iter().map(|t| t.requests.len()).sum();
    let questions: usize = facts.iter().map(|t| t.questions.len()).sum();
    let graded = graded(report, dataset, questions).map(|graded| format!(" ({graded} graded)"));
    let questions = match questions {
        0 => String::new(),
        n => format!(", {}{}", counted(n, "question"), graded.unwrap_or_default()),
    };
    let name = if dataset == ALL { "all data sets" } else { dataset };
    let windows = match windows {
        [NATIVE] => String::new(),
        [only] => format!(" · {}", titled(only)),
        several => {
            let labels: Vec<String> = several.iter().map(|w| window(w)).collect();
            format!(" · windows {}", labels.join(", "))
        }
    };
    format!(
        "{}: {}, {}{questions}{windows}{}",
        plain::line(name),
        counted(facts.len(), "session"),
        counted(requests, "request"),
        roles(&report.manifest, questions.is_empty())
            .map(|who| format!(" · {who}"))
            .unwrap_or_default(),
    )
}

/// Whether a data set was replayed at one of the windows: each may have its own.
fn is_at(report: &Report, dataset: &str, windows: &[&str]) -> bool {
    let mut own = report.rows.iter().filter(|row| row.dataset == dataset).peekable();
    own.peek().is_none() || own.any(|row| windows.contains(&row.window.as_str()))
}

/// The share of the questions at cuts that a strategy still answers; a share of few says nothing.
pub(super) fn answered_at_cuts(row: &StrategyRow) -> Option<f64> {
    let enough = row.number(catalogue::QUESTIONS_AT_CUT) >= Some(FEWEST_QUESTIONS);
    row.number(catalogue::CONTINUITY_AT_CUT).filter(|_| enough).map(|points| points / 100.0)
}

/// Whether any cell has a bill.
pub(super) fn is_billed(report: &Report) -> bool {
    let has_bill = |cell: &Cell| cell.rows().is_some_and(|rows| !rows.bills.is_empty());
    report.results.iter().any(|session| session.cells().iter().any(has_bill))
}

/// Who is billed in a block; `None` in a run without bills.
pub(super) fn billing_model(report: &Report, block: &Block<'_>) -> Option<String> {
    is_billed(report).then(|| match block.agent_model {
        RECORDED => "each session billed as its own model".to_owned(),
        model => format!("billed as {}", plain::line(model)),
    })
}

/// How many questions of a data set are graded, where it is not all of them: the
/// rows are asked the same, but a model may fail under one and not another.
fn graded(report: &Report, dataset: &str, questions: usize) -> Option<String> {
    // A strategy without its summaries is asked nothing.
    let asked = |row: &&StrategyRow| row.dataset == dataset && !is_without_summary(&row.strategy);
    let rows = report.rows.iter().filter(asked);
    let missing: Vec<f64> = rows.filter_map(|row| row.number(catalogue::UNSCORED)).collect();
    let (least, most) =
        (missing.iter().copied().reduce(f64::min)?, missing.iter().copied().reduce(f64::max)?);
    // Replicates are averaged.
    let graded = |missing: f64| number::grouped((questions as f64 - missing).round() as u64);
    let (from, to) = (graded(most), graded(least));
    (most > 0.0).then(|| if from == to { from } else { format!("{from} to {to}") })
}

pub(super) use recap_core::text::counted;

/// A window as people write it: `25 %`, `200k`, `native`.
pub(super) fn window(label: &str) -> String {
    match label.strip_suffix('%') {
        Some(share) => format!("{} %", plain::line(share.trim_end())),
        None => plain::line(label),
    }
}

/// The same after "at": `25 %`, `the native window`.
pub(super) fn at(label: &str) -> String {
    if label == NATIVE { "the native window".to_owned() } else { window(label) }
}

/// The same with the noun: `window 25 %`, `native window`.
pub(super) fn titled(label: &str) -> String {
    if label == NATIVE { "native window".to_owned() } else { format!("window {}", window(label)) }
}

/// The same with the noun after "at": `window 25 %`, `the native window`.
pub(super) fn place(label: &str) -> String {
    if label == NATIVE { at(label) } else { titled(label) }
}

/// The models of the run, if there are some; where nothing was asked, who compacts.
fn roles(manifest: &Manifest, unasked: bool) -> Option<String> {
    if manifest.is_offline() {
        return None;
    }
    let role = |name: &str, who: &str| format!("{name} {}", plain::line(who));
    let compactor = role("compactor", &manifest.compactor);
    if unasked {
        return Some(compactor);
    }
    let mut others = vec![role("answerer", &manifest.answerer), role("judge", &manifest.judge)];
    let embedder = manifest.embedder.as_deref().filter(|name| *name != OFFLINE);
    others.extend(embedder.map(|name| role("embedder", name)));
    Some(format!("{compactor}, {}", others.join(", ")))
}

/// A strategy's name as people see it.
pub(super) fn label(row: &StrategyRow) -> String {
    let name = plain::line(&row.strategy);
    if row.row_kind == RowKind::OfflineSummary { format!("{name} (offline)") } else { name }
}

/// Requests that the provider would have refused.
pub(super) fn overflows(row: &StrategyRow) -> Option<f64> {
    row.number(catalogue::OVERFLOWS).filter(|&n| n > 0.0)
}

/// Marks a bill that no provider would have made out: [`over_window`] says so in words.
pub(super) const STAR: &str = " *";

/// That mark, where the row has refused requests.
pub(super) fn star(row: &StrategyRow) -> &'static str {
    if overflows(row).is_some() { STAR } else { "" }
}

/// The last column: standing or verdict, and how much of it failed.
pub(super) fn verdict(row: &StrategyRow) -> String {
    let mut parts = Vec::new();
    match row.row_kind {
        RowKind::Control => parts.push("control".to_owned()),
        RowKind::OfflineSummary => parts.push("not ranked: offline summary".to_owned()),
        RowKind::Ranked => match row.values.get(UNRANKED) {
            Some(Value::Text(why)) => parts.push(format!("not ranked: {why}")),
            _ => parts.extend(row.verdict.map(|v| v.as_str().to_owned())),
        },
        RowKind::Unusable => parts.push(unusable(row)),
    }
    if !row.failed.is_empty() {
        parts.push(format!("{} failed", counted(row.failed.len(), "cell")));
    }
    if parts.is_empty() { "–".to_owned() } else { parts.join("; ") }
}

/// Fewest questions, right with the whole conversation, whose share is shown.
pub(super) const FEWEST_QUESTIONS: f64 = 10.0;

/// Why a row with unusable replies of its compactor is not ranked.
fn unusable(row: &StrategyRow) -> String {
    let replies = row.number(catalogue::UNUSABLE_REPLIES).map(|n| format!("{} ", number::any(n)));
    format!("not ranked: {}unusable replies", replies.unwrap_or_default())
}

/// What the star of a bill stands for, where there is one.
pub(super) fn over_window(rows: &[&StrategyRow]) -> Option<String> {
    rows.iter().any(|row| overflows(row).is_some()).then(|| {
        "*: some requests are too large for the window: they count as lost (except for controls), \
         and nobody would get this bill."
            .to_owned()
    })
}

/// What a recovery channel brings and takes, where a strategy has one, and who
/// ranked the sessions that it found.
pub(super) fn recovered(rows: &[&StrategyRow], manifest: &Manifest) -> Option<String> {
    let each = rows.iter().filter_map(|row| {
        let figure = |measure| row.number(measure);
        let (without, with) = (figure(catalogue::RECALL)?, figure(catalogue::RECALL_RECOVERY)?);
        Some(format!(
            "{} {} → {} for {:.1} calls and {} tokens a question",
            label(row),
            number::percent(without),
            number::percent(with),
            figure(catalogue::RECOVERY_CALLS)?,
            number::tokens(figure(catalogue::RECOVERY_TOKENS)?),
        ))
    });
    let each: Vec<String> = each.collect();
    let ranked = match manifest.embedder.as_deref() {
        None => String::new(),
        Some(OFFLINE) => " Closed sessions are ranked by words (BM25).".to_owned(),
        Some(model) => format!(
            " Closed sessions are ranked by the embeddings of {}, messages inside them by words.",
            plain::line(model)
        ),
    };
    let each = each.join("; ");
    (!each.is_empty())
        .then(|| format!("recall without and with the recovery channel: {each}.{ranked}"))
}

/// Why a column of the table is empty throughout.
pub(super) fn gaps(rows: &[&StrategyRow]) -> Vec<String> {
    const LEADING: [&Measure; 6] = [
        catalogue::CONTINUITY,
        catalogue::FACTS_KEPT,
        catalogue::RECALL,
        catalogue::REFERENCE_RECALL,
        catalogue::RECENCY_GAIN,
        catalogue::COST_USD,
    ];
    let of_questions =
        |measure: &Measure| measure == catalogue::CONTINUITY || measure == catalogue::RECALL;
    LEADING
        .iter()
        .filter(|measure| !of_questions(measure) || asked(rows))
        .filter_map(|measure| {
            let reason = absent_throughout(rows, measure.id)?;
            Some(format!("{}: {}.", measure.label(), plain::line(&reason.to_string())))
        })
        .collect()
}

/// Whether the rows rest on questions at all.
fn asked(rows: &[&StrategyRow]) -> bool {
    rows.iter().any(|row| row.number(catalogue::QUESTIONS).is_some())
}

/// Why a measure is absent, where it is absent in every row for one reason.
pub(super) fn absent_throughout<'a>(rows: &[&'a StrategyRow], id: &str) -> Option<&'a Absent> {
    let mut reasons = rows.iter().map(|row| match row.values.get(id) {
        Some(Value::Absent(reason)) => Some(reason),
        _ => None,
    });
    let first = reasons.next()??;
    reasons.all(|reason| reason == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn sessions_are_counted_at_windows_of_their_replay() {
        let mut report = Kit { sessions: 3, windows: vec!["25%"], ..Kit::default() }.report();
        report.sessions[2].dataset = "others".to_owned();
        let mut row = report.rows[0].clone();
        (row.dataset, row.window) = ("others".to_owned(), "native".to_owned());
        report.rows.push(row);
        let named = |windows: &[&str]| headline(&report, ALL, windows);
        assert!(
            named(&["native"]).starts_with("all data sets: 1 session, "),
            "{}",
            named(&["native"])
        );
        assert!(!named(&["native"]).contains("window"), "{}", named(&["native"]));
        assert!(named(&["25%"]).starts_with("all data sets: 2 sessions, "), "{}", named(&["25%"]));
        let both = named(&["native", "25%"]);
        assert!(both.starts_with("all data sets: 3 sessions, "), "{both}");
        assert!(both.contains(" · windows native, 25 %"), "{both}");
    }

    #[test]
    fn windows_are_named_as_people_write_them() {
        let named = |label: &str| [window(label), at(label), titled(label), place(label)];
        assert_eq!(named("25%"), ["25 %", "25 %", "window 25 %", "window 25 %"]);
        assert_eq!(named("200k"), ["200k", "200k", "window 200k", "window 200k"]);
        let native = ["native", "the native window", "native window", "the native window"];
        assert_eq!(named("native"), native);
    }
}
