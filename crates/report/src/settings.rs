//! How a run was made: its settings, on the page; and what the calls of real models took, a line
//! for each role and model: the judge's spend is never hidden in the strategy's.

use indexmap::IndexMap;

use super::document::{Part, Screen, TableOf, absent, figures, names, terminal, words};
use super::{block, number};
use recap_core::model::{CallOutcome, CallRow, Manifest, RECORDED, Report, Usage};

/// The section of a report.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    let mut parts = vec![settings(&report.manifest)];
    parts.push(Part::text("Hashes of sessions and strategies are in manifest.json."));
    let calls = model_calls(&report.calls);
    if !calls.is_empty() {
        parts.push(Part::heading("Calls of models"));
        parts.extend(calls);
        parts.push(Part::text("Every call is in calls.csv."));
    }
    parts
}

/// Every setting by its name.
fn settings(manifest: &Manifest) -> Part {
    let windows: Vec<String> = manifest.windows.iter().map(|w| block::window(w)).collect();
    let models = manifest.agent_models.iter().map(|model| match model.as_str() {
        RECORDED => "the model that each recording names",
        model => model,
    });
    let date = manifest.prices.date.iter().map(|date| format!(", {date}"));
    let mut all = vec![
        ("recap", manifest.version.clone()),
        ("instrument", manifest.instrument.to_string()),
        ("tokens", manifest.tokens.clone()),
        ("windows", windows.join(", ")),
        ("thresholds scale with the window", if manifest.scaled { "yes" } else { "no" }.to_owned()),
        ("replicates", manifest.replicates.to_string()),
        ("seed", manifest.seed.to_string()),
        ("compactor", manifest.compactor.clone()),
        ("answerer", manifest.answerer.clone()),
        ("judge", manifest.judge.clone()),
    ];
    all.extend(manifest.embedder.iter().map(|name| ("embedder", name.clone())));
    all.push(("billed as", models.collect::<Vec<&str>>().join(", ")));
    all.push(("prices", manifest.prices.name.clone() + &date.collect::<String>()));
    TableOf::new("Settings", all)
        .column(words("setting"), |(name, _)| *name)
        .column(words("value"), |(_, value)| value.clone())
        .part()
}

/// What calls of models took, as a table on a terminal; nothing without any.
pub fn calls_table(calls: &[CallRow], screen: Screen) -> String {
    terminal(&model_calls(calls), screen)
}

/// The same before any format.
pub(super) fn model_calls(calls: &[CallRow]) -> Vec<Part> {
    if calls.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "{} of models in this run, each request once; latency: the median, without waiting of ours.",
        block::counted(calls.len(), "call")
    );
    let groups = by_model(calls);
    let troubles: Vec<Part> = groups.iter().filter_map(|own| troubles(own)).collect();
    let quantile = |own: &Calls<'_>, share| latency(own, share).map_or_else(absent, number::time);
    let table = TableOf::new("Calls of models", groups)
        .column(words("role"), |own| own[0].role.as_str())
        .column(names("model"), |own| own[0].model.clone())
        .column(figures("calls"), |own| number::grouped(own.len() as u64))
        .column(figures("prompt"), |own| shown_tokens(tokens(own, Usage::prompt)))
        .column(figures("cached"), cached)
        .column(figures("output"), |own| shown_tokens(tokens(own, |usage| usage.output)))
        .column(figures("cost"), |own| {
            paid(own).map_or_else(|| "unknown".to_owned(), number::dollars)
        })
        .column(figures("latency"), |own| quantile(own, 0.5))
        .column(figures("p95"), |own| quantile(own, 0.95));
    [Part::Text(head), table.part()].into_iter().chain(troubles).collect()
}

/// Calls of one role to one model.
type Calls<'a> = Vec<&'a CallRow>;

/// By role and model, in the order of the calls.
fn by_model(calls: &[CallRow]) -> Vec<Calls<'_>> {
    let mut groups: IndexMap<_, Calls<'_>> = IndexMap::new();
    for call in calls {
        groups.entry((call.role, &call.model)).or_default().push(call);
    }
    groups.into_values().collect()
}

/// Tokens of the calls that report them; `None` where none does: unknown, not none.
fn tokens(calls: &Calls<'_>, of: fn(&Usage) -> u64) -> Option<u64> {
    let known = calls.iter().filter_map(|call| call.usage.as_ref()).map(of);
    known.reduce(u64::saturating_add)
}

fn shown_tokens(known: Option<u64>) -> String {
    known.map_or_else(absent, |tokens| number::tokens(tokens as f64))
}

/// The part of the prompts that a cache had.
fn cached(calls: &Calls<'_>) -> String {
    let prompt = tokens(calls, Usage::prompt).filter(|tokens| *tokens > 0);
    let shares = prompt.zip(tokens(calls, |usage| usage.cache_read));
    shares.map_or_else(absent, |(all, read)| number::percent(read as f64 / all as f64))
}

/// Whether a call came to nothing: what is turned down is not billed.
fn is_failed(call: &CallRow) -> bool {
    matches!(call.outcome, CallOutcome::Unavailable | CallOutcome::Rejected)
}

/// `None` where a price or a usage is unknown.
fn paid(calls: &Calls<'_>) -> Option<f64> {
    let mut billed = calls.iter().filter(|call| !is_failed(call));
    billed.try_fold(0.0, |sum, call| Some(sum + call.usd.filter(|usd| usd.is_finite())?))
}

/// The nearest-rank quantile of the milliseconds of the last attempts. The time of a call that
/// ended in a fault is not known.
fn latency(calls: &Calls<'_>, share: f64) -> Option<f64> {
    let known = calls.iter().filter(|call| call.outcome != CallOutcome::Unavailable);
    let mut known: Vec<f64> =
        known.map(|call| call.timing.total_ms).filter(|ms| *ms > 0.0).collect();
    known.sort_by(f64::total_cmp);
    let rank = (share * known.len() as f64).ceil() as usize;
    known.get(rank.max(1) - 1).copied()
}

/// What did not go as it should.
fn troubles(calls: &Calls<'_>) -> Option<Part> {
    let mut failures: IndexMap<&str, usize> = IndexMap::new();
    for call in calls.iter().filter(|call| call.outcome != CallOutcome::Replied) {
        *failures.entry(call.outcome.as_str()).or_default() += 1;
    }
    let failures = failures.iter().map(|(outcome, count)| format!("{count} {outcome}"));
    let resent: u64 =
        calls.iter().map(|call| u64::from(call.timing.attempts.saturating_sub(1))).sum();
    let unmetered = calls.iter().filter(|call| call.usage.is_none() && !is_failed(call)).count();
    let others = [
        (resent > 0).then(|| format!("{resent} sent again")),
        (unmetered > 0).then(|| format!("{unmetered} without a count of tokens")),
    ];
    let troubles: Vec<String> = failures.chain(others.into_iter().flatten()).collect();
    let (role, model, all) = (calls[0].role.as_str(), &calls[0].model, troubles.join(", "));
    (!troubles.is_empty()).then(|| Part::Text(format!("{role} {model}: {all}.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{LatencySource, ModelRole, Timing};

    fn call(role: ModelRole, total_ms: f64, usd: Option<f64>) -> CallRow {
        let usage = Usage { input: 60, cache_read: 40, output: 10, ..Usage::default() };
        CallRow {
            role,
            model: "openai/m".to_owned(),
            key: "k".to_owned(),
            replicate: 0,
            outcome: CallOutcome::Replied,
            usage: Some(usage),
            reasoning: None,
            usd,
            timing: Timing { queue_ms: 7.0, first_byte_ms: 1.0, total_ms, attempts: 1 },
            source: LatencySource::Live,
        }
    }

    fn lines(calls: Vec<CallRow>) -> String {
        calls_table(&calls, Screen { width: 100, color: false, wide: true })
    }

    #[test]
    fn each_role_has_a_line_of_its_own() {
        let judge = |ms| call(ModelRole::Judge, ms, Some(0.25));
        // Prompts of 100 tokens, 40 of them cached; the middle of 10, 20, 90 is 20.
        let text = lines(vec![
            call(ModelRole::Answerer, 5.0, None),
            judge(90.0),
            judge(10.0),
            judge(20.0),
        ]);
        let judge = text.lines().find(|line| line.contains("judge")).unwrap();
        let words: Vec<&str> = judge.split_whitespace().collect();
        let expected =
            ["judge", "openai/m", "3", "300", "40", "%", "30", "$0.750", "20", "ms", "90", "ms"];
        assert_eq!(words, expected, "{text}");
        let answerer = text.lines().find(|line| line.contains("answerer")).unwrap();
        assert!(answerer.contains("unknown"), "no price is not a price of nothing: {text}");
    }

    #[test]
    fn failures_and_repetitions_are_told() {
        let mut failed = call(ModelRole::Judge, 3.0, Some(0.0));
        failed.outcome = CallOutcome::Unavailable;
        failed.timing.attempts = 5;
        let text = lines(vec![call(ModelRole::Judge, 8.0, Some(0.1)), failed]);
        assert!(text.contains("judge openai/m: 1 unavailable, 4 sent again."), "{text}");
        assert!(
            text.contains("$0.10") && text.contains("8 ms"),
            "a failure has no latency: {text}"
        );
    }

    #[test]
    fn unreported_tokens_are_unknown_not_zero() {
        let untold = || CallRow { usage: None, ..call(ModelRole::Judge, 8.0, None) };
        let text = lines(vec![untold(), untold()]);
        let line = text.lines().find(|line| line.contains("openai/m")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[2..7], ["2", "–", "–", "–", "unknown"], "{text}");
        assert!(text.contains("judge openai/m: 2 without a count of tokens."), "{text}");
        // Of two calls one is told: 100 tokens, and that is said to be one of them.
        let text = lines(vec![untold(), call(ModelRole::Judge, 8.0, Some(0.1))]);
        assert!(text.contains(" 100 ") && text.contains("1 without a count of tokens"), "{text}");
    }

    #[test]
    fn refused_request_costs_nothing_and_has_no_time() {
        let mut rejected = CallRow { usage: None, ..call(ModelRole::Judge, 0.0, None) };
        rejected.outcome = CallOutcome::Rejected;
        let text = lines(vec![rejected, call(ModelRole::Judge, 8.0, Some(0.1))]);
        assert!(text.contains("$0.10") && text.contains("8 ms"), "{text}");
        assert!(!text.contains(" 0 ms"), "{text}");
        assert!(text.contains("judge openai/m: 1 rejected."), "{text}");
    }

    #[test]
    fn a_run_without_models_has_no_such_table() {
        assert_eq!(lines(Vec::new()), "");
    }
}
