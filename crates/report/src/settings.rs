//! How a run was made: its settings and every measure, on the page; and what the calls of real
//! models took, a line for each role and model: the judge's spend is never hidden in the strategy's.

use std::collections::BTreeSet;

use super::document::{
    Column, Head, Narrow, Part, Screen, Table, absent, figures, names, terminal, words,
};
use super::{block, number, plain};
use recap_core::model::{
    CallOutcome, CallRow, ModelRole, Prices, Provenance, RECORDED, Report, StrategyRow, Value,
};

/// Names that are listed of each kind.
const LISTED: usize = 200;

/// The section of a report, with every measure of the table that it opens with.
pub(super) fn parts(report: &Report, open: Option<&block::Block<'_>>) -> Vec<Part> {
    let manifest = &report.manifest;
    let of = |what: &str, all: &[Provenance]| {
        let listed = all.iter().take(LISTED);
        let listed = listed.map(|one| vec![what.to_owned(), one.name.clone(), one.hash.clone()]);
        let more = all.len().saturating_sub(LISTED);
        let more = (more > 0)
            .then(|| vec![what.to_owned(), format!("and {more} more"), "manifest.json".to_owned()]);
        listed.chain(more).collect::<Vec<Vec<String>>>()
    };
    let hashes = [of("session", &manifest.sessions), of("strategy", &manifest.strategies)].concat();
    let heads = [words("what"), names("name"), words("BLAKE3")];
    let title = "Hashes of sessions and strategies";
    let mut parts = vec![
        Part::Table(Table::new("Settings", &[words("setting"), words("value")], settings(report))),
        Part::Folded(title.to_owned(), vec![Part::Table(Table::new(title, &heads, hashes))]),
    ];
    let calls = model_calls(&report.calls);
    if !calls.is_empty() {
        parts.push(Part::Heading("Calls of models".to_owned()));
        parts.extend(calls);
        parts.push(Part::Text("Every call is in calls.csv.".to_owned()));
    }
    parts.extend(open.map(every_measure));
    parts
}

/// Every setting by its name.
fn settings(report: &Report) -> Vec<Vec<String>> {
    let manifest = &report.manifest;
    let windows: Vec<String> = manifest.windows.iter().map(|w| block::window(w)).collect();
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
    let model = |model: &String| match model.as_str() {
        RECORDED => "the model that each recording names".to_owned(),
        model => model.to_owned(),
    };
    let models: Vec<String> = manifest.agent_models.iter().map(model).collect();
    all.extend([("billed as", models.join(", ")), ("prices", price_list(&manifest.prices))]);
    all.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn price_list(prices: &Prices) -> String {
    let date = prices.date.as_ref().map_or_else(String::new, |date| format!(", {date}"));
    format!("{}{date}", prices.name)
}

/// Every measure of a table: a row each, with a column for each strategy, and those that nobody
/// has with the reason.
fn every_measure(block: &block::Block<'_>) -> Part {
    let rows = &block.rows;
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let is_known =
        |row: &&StrategyRow, id: &str| !matches!(row.values.get(id), None | Some(Value::Absent(_)));
    let shown = |row: &&StrategyRow, id: &str| match row.values.get(id) {
        Some(Value::Known(x)) => number::any(*x),
        Some(Value::Text(word)) => word.clone(),
        Some(Value::Absent(_)) | None => absent(),
    };
    let (known, missing): (Vec<&str>, Vec<&str>) =
        ids.into_iter().partition(|id| rows.iter().any(|row| is_known(row, id)));
    let table = known.into_iter().map(|id| {
        let cells = rows.iter().map(|row| shown(row, id));
        [id.to_owned()].into_iter().chain(cells).collect::<Vec<String>>()
    });
    let strategy = |row: &&StrategyRow| figures("").named(plain::line(&row.strategy));
    let columns: Vec<Column> =
        [Column::from(words("measure"))].into_iter().chain(rows.iter().map(strategy)).collect();
    let reasons = missing
        .into_iter()
        .filter_map(|id| Some(format!("{id}: {}", block::absent_throughout(rows, id)?)));
    Part::Folded(
        format!("Every measure: {}, {}", plain::line(block.dataset), block::titled(block.window)),
        vec![
            Part::Table(Table::with("Every measure", columns, table.collect())),
            Part::List(reasons.collect()),
        ],
    )
}

const CALLS: &[Head] = &[
    words("role"),
    Head { narrow: Narrow::Cut, ..words("model") },
    figures("calls"),
    figures("prompt"),
    figures("cached"),
    figures("output"),
    figures("cost"),
    figures("latency"),
    figures("p95"),
];

/// The calls of one role to one model.
struct RoleSpending {
    role: ModelRole,
    model: String,
    calls: usize,
    /// Those without a whole reply, by outcome.
    failures: Vec<(CallOutcome, usize)>,
    prompt: u64,
    cached: u64,
    output: u64,
    /// `None`: a price or a usage is unknown.
    usd: Option<f64>,
    /// Milliseconds of the last attempts, ascending.
    latencies: Vec<f64>,
    /// Requests that were sent again.
    resent: u64,
    /// Whether any usage is known.
    metered: bool,
    /// Calls that were answered without a word of their tokens.
    unmetered: usize,
}

/// By role and model, in the order of the calls.
fn spent(calls: &[CallRow]) -> Vec<RoleSpending> {
    let mut all: Vec<RoleSpending> = Vec::new();
    for call in calls {
        let known = all.iter_mut().find(|s| s.role == call.role && s.model == call.model);
        match known {
            Some(spent) => spent.add(call),
            None => {
                let mut spent = RoleSpending::new(call);
                spent.add(call);
                all.push(spent);
            }
        }
    }
    all.iter_mut().for_each(|spent| spent.latencies.sort_by(f64::total_cmp));
    all
}

impl RoleSpending {
    fn new(call: &CallRow) -> Self {
        Self {
            role: call.role,
            model: call.model.clone(),
            calls: 0,
            failures: Vec::new(),
            prompt: 0,
            cached: 0,
            output: 0,
            usd: Some(0.0),
            latencies: Vec::new(),
            resent: 0,
            metered: false,
            unmetered: 0,
        }
    }

    fn add(&mut self, call: &CallRow) {
        self.calls += 1;
        let failed = matches!(call.outcome, CallOutcome::Unavailable | CallOutcome::Rejected);
        self.unmetered += usize::from(call.usage.is_none() && !failed);
        if let Some(usage) = &call.usage {
            self.metered = true;
            self.prompt = self.prompt.saturating_add(usage.prompt());
            self.cached = self.cached.saturating_add(usage.cache_read);
            self.output = self.output.saturating_add(usage.output);
        }
        self.resent += u64::from(call.timing.attempts.saturating_sub(1));
        let outcome = call.outcome;
        // The time of a call that ended in a fault is not known.
        if call.timing.total_ms > 0.0 && outcome != CallOutcome::Unavailable {
            self.latencies.push(call.timing.total_ms);
        }
        // What is turned down is not billed.
        if !failed {
            let usd = call.usd.filter(|usd| usd.is_finite());
            self.usd = self.usd.zip(usd).map(|(sum, usd)| sum + usd);
        }
        if outcome != CallOutcome::Replied {
            match self.failures.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => self.failures.push((outcome, 1)),
            }
        }
    }

    /// The nearest-rank quantile of the latencies.
    fn latency(&self, share: f64) -> Option<f64> {
        let rank = (share * self.latencies.len() as f64).ceil() as usize;
        self.latencies.get(rank.max(1) - 1).copied()
    }

    /// Under [`CALLS`].
    fn cells(&self) -> Vec<String> {
        let cached = match self.prompt {
            0 => absent(),
            prompt => number::percent(self.cached as f64 / prompt as f64),
        };
        // Tokens of which nobody told are unknown, not none.
        let tokens = |n: u64| if self.metered { number::tokens(n as f64) } else { absent() };
        vec![
            self.role.as_str().to_owned(),
            self.model.clone(),
            number::grouped(self.calls as u64),
            tokens(self.prompt),
            cached,
            tokens(self.output),
            self.usd.map_or_else(|| "unknown".to_owned(), number::dollars),
            self.latency(0.5).map_or_else(absent, number::time),
            self.latency(0.95).map_or_else(absent, number::time),
        ]
    }

    /// What did not go as it should.
    fn troubles(&self) -> Option<String> {
        let mut troubles: Vec<String> = (self.failures.iter())
            .map(|(outcome, count)| format!("{count} {}", outcome.as_str()))
            .collect();
        if self.resent > 0 {
            troubles.push(format!("{} sent again", self.resent));
        }
        if self.unmetered > 0 {
            troubles.push(format!("{} without a count of tokens", self.unmetered));
        }
        let all = troubles.join(", ");
        (!troubles.is_empty()).then(|| format!("{} {}: {all}", self.role.as_str(), self.model))
    }
}

/// What calls of models took, as a table on a terminal; nothing without any.
pub fn calls_table(calls: &[CallRow], screen: Screen) -> String {
    terminal(&model_calls(calls), screen)
}

/// The same before any format.
pub(super) fn model_calls(calls: &[CallRow]) -> Vec<Part> {
    let all = spent(calls);
    if all.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "{} of models in this run, each request once; latency: the median, without waiting of ours.",
        block::counted(calls.len(), "call")
    );
    let rows = all.iter().map(RoleSpending::cells).collect();
    let troubles = all.iter().filter_map(RoleSpending::troubles);
    [Part::Text(head), Part::Table(Table::new("Calls of models", CALLS, rows))]
        .into_iter()
        .chain(troubles.map(|trouble| Part::Text(format!("{trouble}."))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::{LatencySource, Timing, Usage};

    #[test]
    fn every_measure_has_its_figures_or_the_reason() {
        let report = Kit::default().report();
        let Part::Folded(_, inside) = every_measure(&block::blocks(&report)[0]) else { panic!() };
        let [Part::Table(table), Part::List(reasons)] = &inside[..] else { panic!("{inside:?}") };
        let row = table.groups[0].rows.iter().find(|row| row.cells[0].text == "reference_recall");
        let figures: Vec<&str> = row.unwrap().cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(figures[1..4], ["1", "0", "0.860"]);
        assert_eq!(reasons, &["cost_usd_refetch: a price is unknown"]);
    }

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
