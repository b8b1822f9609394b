//! Recommends a strategy: what it keeps and costs, how sure that is and what
//! questions it most (how-it-works §47, reference §2 and §7). Every sentence is made of
//! measures of this run, and left out if they are absent.

use crate::advice::agent_settings::own_strategy;
use crate::advice::preference::{Preferred, prefer};
use crate::advice::ranking::unranked;
use crate::figures::rows::Entry;
use crate::findings::{Evidence, only_described};
use crate::statistics::pooling::noun;
use recap_core::model::{
    AgainstFull, CutRow, FULL, Finding, Interval, NATIVE, NoCurve, Primary, RECORDED,
    Recommendation, RowKind, RowName, Severity, SizeCurve, Source, StrategyRow, Value, catalogue,
};
use recap_core::text::{counted, form_for, grouped};
use recap_core::wording::number::{distance, dollars, percent};
use recap_core::wording::{self, capital, kept, uncapital, window};

/// Differences below this share of a bill are not mentioned.
const LEAST: f64 = 0.005;

/// The recommendation; `None` for a run without rows. Beside its rows it rests on what other sizes
/// of compactions would have cost, where that is asked, and on what the token savers come to, in
/// sentences; empty without one.
pub fn recommendation(
    run: &Evidence<'_>,
    findings: &[Finding],
    curve: Option<&Result<SizeCurve, NoCurve>>,
    savers: &str,
) -> Option<Recommendation> {
    run.rows.first()?;
    // Where nobody has to choose a strategy, its range says nothing of the answer.
    let mut all = at_windows(run, findings, !run.has_only_savers());
    if !savers.is_empty() && run.has_only_savers() {
        // Nothing was asked for but what the savers come to.
        let answer = savers.to_owned();
        return Some(Recommendation { answer, also: Vec::new(), next: None, ..all });
    }
    match curve {
        None => {}
        Some(Ok(curve)) => {
            let today = all.row.as_ref().and_then(|_| today(run, curve.today_usd));
            let harness = [Some(std::mem::take(&mut all.answer)), today];
            let harness: Vec<String> = harness.into_iter().flatten().collect();
            all.harness = Some(harness.join(" ")).filter(|_| run.primary == Primary::FactsKept);
            all.answer = wording::size_answer(curve);
            (all.how_sure, all.doubt) = (wording::size_basis(curve), None);
        }
        Some(Err(why)) => {
            all.harness = Some(std::mem::replace(&mut all.answer, wording::no_sizes(why)));
        }
    }
    if !savers.is_empty() {
        all.answer = format!("{} {savers}", all.answer);
    }
    Some(all)
}

/// What the sessions cost, where no row of what was sent has a bill to compare with: the
/// summaries of some agents cannot be read.
fn today(run: &Evidence<'_>, usd: f64) -> Option<String> {
    let has_bill = |entry: &&Entry| entry.row.number(catalogue::COST_USD).is_some();
    let mut sent = run.rows.iter().filter(|entry| entry.row.strategy == RECORDED);
    let billed_otherwise = run.manifest.agent_models.iter().any(|model| model != RECORDED);
    let is_compared = sent.any(has_bill) || billed_otherwise;
    (!is_compared).then(|| format!("Today these sessions cost {}.", dollars(usd)))
}

/// What a replay at the windows of the run comes to.
fn at_windows(run: &Evidence<'_>, findings: &[Finding], has_range: bool) -> Recommendation {
    let doubt = doubt(findings);
    let largest = format!("The largest doubt: {doubt}.");
    let next = next_run(run, findings);
    let (row, answer, also, how_sure, doubt) = match choose(run) {
        Ok(preferred) => {
            let row = &preferred.row.row;
            let named = RowName { strategy: row.strategy.clone(), window: row.window.clone() };
            let range = range_kept(run, row).filter(|_| has_range);
            let (how_sure, doubt) = match (compared_with_full(run, preferred.row), range) {
                (None, _) => (largest, None),
                (Some(compared), None) => (compared, Some(largest)),
                (Some(compared), Some(range)) => {
                    (format!("{range}; {}", uncapital(&compared)), Some(largest))
                }
            };
            (Some(named), use_it(run, row), also(run, &preferred), how_sure, doubt)
        }
        Err(why) => {
            let few = only_described(run).filter(|_| run.missing.is_none());
            let doubt = few.unwrap_or_else(|| doubt.to_owned());
            (None, why, Vec::new(), capital(&format!("{doubt}.")), None)
        }
    };
    Recommendation { row, answer, how_sure, doubt, also, next, harness: None }
}

/// The problem or limit that questions the answer most, the first of equals.
fn doubt(findings: &[Finding]) -> &str {
    let doubts = findings.iter().filter(|found| found.severity != Severity::Observation);
    let heaviest = doubts.reduce(|a, b| if b.weight > a.weight { b } else { a });
    heaviest.map(|found| found.text.as_str()).expect("each replay is open loop, which is a finding")
}

/// The row to use, at the window whose row keeps most; of equals the smaller
/// bill and then the first window decide. The error says why there is none at
/// any window.
fn choose<'a>(run: &Evidence<'a>) -> Result<Preferred<'a>, String> {
    if run.missing.is_some() {
        return Err("Nothing is recommended while a part of the run is missing.".to_owned());
    }
    let better = |a: Preferred<'a>, b: Preferred<'a>| {
        if leads(run, &b.row.row, &a.row.row) { b } else { a }
    };
    let why_none = || none_preferred(run).unwrap_or_else(|| none_ranked(run));
    let leaders = run.at_windows().filter_map(|rows| prefer(run, rows).ok());
    leaders.reduce(better).ok_or_else(why_none)
}

/// Whether the row of one window comes before that of another: first by fitting
/// its window, then by what it keeps, then by its cost.
fn leads(run: &Evidence<'_>, one: &StrategyRow, other: &StrategyRow) -> bool {
    // An unknown bill is no smaller than any.
    let usd = |row: &StrategyRow| row.number(catalogue::COST_USD).unwrap_or(f64::INFINITY);
    let apart = figure(run, one) - figure(run, other);
    let over = |row: &StrategyRow| row.refused_often().is_some();
    if over(one) != over(other) {
        return over(other);
    }
    // Figures that are printed alike count as equal.
    if apart.abs() < 0.005 * run.primary.most() { usd(one) < usd(other) } else { apart > 0.0 }
}

/// The figure of the measure that ranks, in its unit.
fn figure(run: &Evidence<'_>, row: &StrategyRow) -> f64 {
    row.number(run.primary.measure()).unwrap_or(0.0)
}

/// The same as text: `53 %`.
pub(crate) fn keeps(run: &Evidence<'_>, row: &StrategyRow) -> String {
    wording::kept(run.primary, figure(run, row))
}

/// What to use, what it keeps and what it costs.
fn use_it(run: &Evidence<'_>, row: &StrategyRow) -> String {
    let heavy = -2.0 * run.manifest.margin * run.primary.most();
    let difference = row.number(catalogue::DIFFERENCE_TO_FULL);
    let (at, strategy) = (limit(&row.window), &row.strategy);
    let head = if difference.is_some_and(|difference| difference < heavy) {
        format!("At {at} {strategy} loses least")
    } else {
        format!("At {at} use {strategy}")
    };
    let of_what = match run.primary {
        Primary::Continuity => "of the answers",
        Primary::FactsKept => "of the facts needed afterwards",
        Primary::ReferenceRecall => "of the facts needed next",
    };
    let costs = costs(run, row).unwrap_or_default();
    let refused = refused(row).map(|refused| format!(" {refused}.")).unwrap_or_default();
    format!("{head}: it keeps {} {of_what}{costs}.{refused}", keeps(run, row))
}

/// A window behind "at" in an answer: `the limit`, `a window of 25 %`.
pub(crate) fn limit(label: &str) -> String {
    if label == NATIVE { "the limit".to_owned() } else { format!("a window of {}", window(label)) }
}

/// The bill, for example " and costs $2.00, 40 % less than today".
fn costs(run: &Evidence<'_>, row: &StrategyRow) -> Option<String> {
    let usd = dollars(row.number(catalogue::COST_USD)?);
    let billed_as = run.billing_model(row).map(|name| format!(" (billed as {name})"));
    let than = savings(run, row).map(|(share, other)| match share {
        share if share.abs() < LEAST => format!(", as much as {other}"),
        share if share > 0.0 => format!(", {} less than {other}", percent(share)),
        share => format!(", {} more than {other}", percent(-share)),
    });
    Some(format!(" and costs {usd}{}{}", billed_as.unwrap_or_default(), than.unwrap_or_default()))
}

/// The share that is saved of the bill of the recorded agent if that is known, else of that of the
/// whole conversation, and what that is called. If the whole conversation is larger than the
/// window, nobody could have sent it, so nothing is called cheaper than it.
fn savings(run: &Evidence<'_>, row: &StrategyRow) -> Option<(f64, &'static str)> {
    if row.refused_often().is_some() {
        return None;
    }
    let recorded = run.beside(row, RECORDED);
    if let Some(share) = recorded.and_then(|_| row.number(catalogue::COST_SAVINGS_VS_RECORDED)) {
        return Some((share, "today"));
    }
    let fits = |whole: &&StrategyRow| whole.number(catalogue::OVERFLOWS).unwrap_or(0.0) <= 0.0;
    run.beside(row, FULL).filter(fits)?;
    Some((row.number(catalogue::COST_SAVINGS)?, "the whole conversation"))
}

/// For example "3 of its 10 requests are over the window and would be refused"; `None` where a
/// provider would have taken all.
fn refused(row: &StrategyRow) -> Option<String> {
    let over = row.number(catalogue::OVERFLOWS).filter(|over| *over > 0.0)?.round() as u64;
    let requests = row.number(catalogue::REQUESTS)?.round() as u64;
    Some(format!(
        "{} of its {} {} over the window and would be refused",
        grouped(over),
        counted(requests, "request"),
        form_for(over, "is", "are")
    ))
}

/// Sentences about savings that vanish, and about rivals.
fn also(run: &Evidence<'_>, preferred: &Preferred<'_>) -> Vec<String> {
    let row = &preferred.row.row;
    let more = preferred.best.map(|most| {
        let usd = most.row.number(catalogue::COST_USD);
        format!(
            "{} keeps {}{}, which is not known to be worth it.",
            most.row.strategy,
            keeps(run, &most.row),
            usd.map(|usd| format!(" for {}", dollars(usd))).unwrap_or_default()
        )
    });
    let over = ahead_but_over(run, row).and_then(|ahead| {
        Some(format!("{} keeps {}, but {}.", ahead.strategy, keeps(run, ahead), refused(ahead)?))
    });
    refetched(run, row).into_iter().chain(more).chain(over).collect()
}

/// That nothing of the savings remains where everything lost is fetched again.
fn refetched(run: &Evidence<'_>, row: &StrategyRow) -> Option<String> {
    let dearer = row.number(catalogue::COST_USD_REFETCH)? / row.number(catalogue::COST_USD)?;
    let (share, _) = savings(run, row).filter(|(share, _)| *share >= LEAST)?;
    let is_lost = 1.0 - (1.0 - share) * dearer < LEAST;
    is_lost.then(|| "If everything lost is fetched again, nothing is saved.".to_owned())
}

/// The row that keeps more than the best one of a window, but has requests over
/// the window.
pub(crate) fn ahead_but_over<'a>(
    run: &Evidence<'a>,
    best: &StrategyRow,
) -> Option<&'a StrategyRow> {
    let ahead = |e: &&&Entry| e.row.window == best.window && e.row.rank < best.rank;
    let first = run.rows.iter().filter(|e| e.row.rank.is_some()).find(ahead)?;
    first.row.refused_often().map(|_| &first.row)
}

/// Number of strategies for which the next run is to have summaries of a model.
const TRIED: usize = 2;

const SMALLER_WINDOW: &str =
    "what a smaller limit would lose: add `--window 25%`, a quarter of each session";
const MODEL_ANSWERER: &str = "the same run with `--answerer MODEL --judge MODEL --max-cost USD`: \
                              models answer the questions and grade the answers";
const MODEL_JUDGE: &str = "`recap judge RUN --judge MODEL --max-cost USD`: a model grades the same \
                           answers, and nothing is replayed again";

/// The further run that would answer most of the open questions: its command, and what it would
/// show.
fn next_run(run: &Evidence<'_>, findings: &[Finding]) -> Option<String> {
    if run.missing.is_some() {
        return None;
    }
    if findings.iter().any(|found| found.kind == "nothing_compacts") {
        return Some(SMALLER_WINDOW.to_owned());
    }
    let offline = match (run.manifest.answered_by(), run.manifest.graded_by()) {
        (Source::Lexical, _) => Some(MODEL_ANSWERER),
        (Source::Model, Source::Lexical) => Some(MODEL_JUDGE),
        (Source::Model, Source::Model) => None,
    };
    let offline = offline.filter(|_| run.asks());
    real_summaries(run).or_else(|| offline.map(str::to_owned))
}

/// A run with summaries of a model for the offline summaries that keep most at the first
/// window, beside the recorded agent and the best strategy.
fn real_summaries(run: &Evidence<'_>) -> Option<String> {
    let rows = run.at_windows().next()?;
    let mut offline_summaries: Vec<&StrategyRow> =
        rows.iter().map(|e| &e.row).filter(|row| row.row_kind == RowKind::OfflineSummary).collect();
    offline_summaries.sort_by(|a, b| figure(run, b).total_cmp(&figure(run, a)));
    // What the recorded agent itself does comes first: it is what its owner can change.
    let own = run.manifest.agent.as_deref().and_then(own_strategy);
    let is_own = |row: &&StrategyRow| own.is_some_and(|own| own == row.strategy);
    match offline_summaries.iter().copied().find(is_own) {
        Some(own) => offline_summaries = vec![own],
        None => offline_summaries.truncate(TRIED),
    }
    if offline_summaries.is_empty() {
        return None;
    }
    let usd: Option<f64> =
        offline_summaries.iter().map(|row| summaries_usd(run, &row.strategy)).sum();
    let price = match usd {
        Some(usd) => format!("about {}", dollars(usd)),
        None => "`--dry-run` tells the price".to_owned(),
    };
    let recorded = rows.iter().find(|e| e.row.strategy == RECORDED);
    let best = rows.iter().find(|e| e.row.rank.is_some());
    let beside = recorded.into_iter().chain(best).map(|e| &e.row);
    let names: Vec<&str> = beside.chain(offline_summaries).map(|row| &*row.strategy).collect();
    Some(format!(
        "what a model's summaries keep ({price}): add `--compactor MODEL --replicates 1 --strategy \
         {}`",
        names.join(",")
    ))
}

/// The bill of all calls that a strategy's compactions made in USD: in the sessions, and
/// for the contexts at cuts. `None` where a price is unknown.
fn summaries_usd(run: &Evidence<'_>, strategy: &str) -> Option<f64> {
    let of_strategy = run.rows.iter().filter(|e| e.row.strategy == strategy);
    let sessions: Option<f64> =
        of_strategy.map(|e| e.row.number(catalogue::COMPACTION_COST_USD)).sum();
    let mut cuts = 0.0;
    for session in run.results.iter() {
        let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
        let exams = rows.filter(|row| row.strategy == strategy).filter_map(CutRow::exam);
        cuts += exams.map(|exam| exam.compactor_usd).sum::<Option<f64>>()?;
    }
    Some(sessions? + cuts)
}

/// Why no row is preferred at the window at which the best one keeps most. Where nothing at all
/// compacted that is the reason.
fn none_preferred(run: &Evidence<'_>) -> Option<String> {
    if run.primary != Primary::FactsKept && run.strategies().all(|e| !e.acted) {
        return None;
    }
    let whys = run.at_windows().filter_map(|rows| prefer(run, rows).err().flatten());
    let best = whys.reduce(|a, b| if leads(run, &b.0.row, &a.0.row) { b } else { a })?;
    Some(best.1)
}

/// Why no row has a rank.
fn none_ranked(run: &Evidence<'_>) -> String {
    let by = run.primary;
    let all = |is: fn(&Entry) -> bool| run.strategies().all(is);
    if run.strategies().next().is_none() {
        return "Only controls ran: there is no strategy to choose from.".to_owned();
    }
    if by != Primary::FactsKept && all(|e| !e.acted && e.row.failed.is_empty()) {
        let contexts = run.facts.iter().flat_map(|f| &f.requests).map(|r| r.tokens_full);
        return format!(
            "Nothing compacted: the largest context seen has {}. Only a smaller window can tell \
             strategies apart.",
            counted(contexts.max().unwrap_or(0), "token")
        );
    }
    if all(|e| e.row.row_kind == RowKind::OfflineSummary) {
        return "No strategy is ranked: all of them need a model for their summaries (`--compactor \
                MODEL`)."
            .to_owned();
    }
    let ranked: Vec<&Entry> =
        run.strategies().filter(|e| e.row.row_kind == RowKind::Ranked).collect();
    if ranked.is_empty() {
        return "No strategy is ranked: of each more than 5 % of the compactor's replies were \
                unusable."
            .to_owned();
    }
    if ranked.iter().all(|e| !e.row.failed.is_empty()) {
        return "Each of those that could be ranked failed on some session, so none is.".to_owned();
    }
    let why = |e: &&Entry| match (unranked(e, by), e.row.values.get(by.id())) {
        (Some(why), _) => Some(format!("None is ranked ({}: {why}).", e.row.strategy)),
        (None, Some(Value::Absent(why))) => Some(format!("None is ranked: {why}.")),
        _ => None,
    };
    ranked
        .iter()
        .find_map(why)
        .unwrap_or_else(|| "None is ranked: nothing was measured.".to_owned())
}

/// The range that is shown with the figure: "prune keeps 74 to 92 % from project to project".
fn range_kept(run: &Evidence<'_>, row: &StrategyRow) -> Option<String> {
    let interval = row.intervals.get(run.primary.id())?;
    let (lo, hi) = interval.ends()?;
    // There is one value per cluster: sessions of one project count once.
    let sessions = row.number(catalogue::SESSIONS);
    let over = match interval {
        Interval::Dots { values } if sessions == Some(values.len() as f64) => {
            "from session to session"
        }
        Interval::Dots { .. } => "from project to project",
        Interval::Bounds { .. } => "(95 % interval)",
    };
    let lo = kept(run.primary, lo);
    let hi = kept(run.primary, hi);
    Some(format!("{} keeps {} to {hi} {over}", row.strategy, lo.trim_end_matches(" %")))
}

/// The statistical comparison of a row with the whole conversation
/// (reference §7).
fn compared_with_full(run: &Evidence<'_>, entry: &Entry) -> Option<String> {
    let (row, by) = (&entry.row, run.primary);
    let verdict = row.verdict?;
    let clusters = row.number(catalogue::N_CLUSTERS)? as u64;
    let with = counted(clusters, noun(entry.scores.keys().map(|unit| &run.facts[*unit])));
    let margin = distance(by, run.manifest.margin * by.most());
    Some(match verdict {
        AgainstFull::Descriptive => format!("{}: described, not decided.", capital(&with)),
        AgainstFull::Inferior => format!(
            "Over {with} it loses more than the margin of {margin} against the whole conversation."
        ),
        AgainstFull::Undecided => format!(
            "Whether it loses more than the margin of {margin} against the whole conversation stays \
             open with {with}."
        ),
        AgainstFull::ProvisionalNonInferior => format!(
            "Over {with} it stays within the margin of {margin} of the whole conversation, \
             provisionally: losses that are rare and heavy could still hide."
        ),
        AgainstFull::NonInferior => format!(
            "Over {with} it is not worse than the whole conversation by more than the margin of \
             {margin}."
        ),
    })
}

#[cfg(test)]
#[path = "recommendation_tests.rs"]
mod tests;
