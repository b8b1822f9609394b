//! `--dry-run`: what a run would do, and what its models would cost.
//!
//! With models in the roles the run is replayed as it would be, with the
//! offline compactor in place of the model, and every request is counted
//! instead of sent. The length of a reply is not known beforehand: both the
//! expected cost and the worst case are reported.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::authoring::{self, CutSession};
use super::model_session::TYPICAL_THINKING;
use super::roles::RoleOptions;
use super::wire;
use super::work::Work;
use crate::bench::{BenchPlan, native_sizes};
use crate::failure::Failure;
use recap_billing::pricing::PriceList;
use recap_core::model::{ModelRole, Usage};
use recap_core::text::{counted, grouped};
use recap_exam::questions::TYPICAL_QUESTIONS_TOKENS;
use recap_exam::roles::answerer::TYPICAL_ANSWER_TOKENS;
use recap_exam::roles::judge::{TYPICAL_VERDICT_TOKENS, typical_tokens};
use recap_llm::{DryRunCall, DryRunCalls, call_usd};
use recap_replay::run::{NamedSession, RunSpec, Windows};
use recap_strategy::Strategy;

/// The plan of a run, in words or as JSON.
pub(super) fn plan(
    plan: BenchPlan,
    role_options: &RoleOptions,
    json: bool,
) -> Result<String, Failure> {
    let work = PlannedWork::of(&plan.spec, &plan.sessions);
    let cells = cells(&work, &plan.spec, &plan.sessions, role_options);
    if !role_options.has_models() {
        role_options.calls.refuse_idle()?;
        let idle = "0 calls to a model: every role is offline, nothing is spent\n";
        return Ok(if json { Estimate::default().json(&work) } else { cells + idle });
    }
    let bill = estimated(plan, role_options)?;
    if json {
        return Ok(bill.json(&work));
    }
    let assumed = match role_options.author() {
        Some(_) => "answered and graded are as many questions as recap makes without a model\n",
        None => "",
    };
    Ok(cells + &bill.describe() + assumed)
}

/// Refuses a run whose calls are expected to cost more than it may: it would end
/// with its money spent and little graded.
pub(super) fn refuse_over_cap(plan: &BenchPlan, role_options: &RoleOptions) -> Result<(), Failure> {
    let Some(cap) = role_options.calls.max_cost.filter(|_| role_options.has_models()) else {
        return Ok(());
    };
    if role_options.calls.replay {
        return Ok(());
    }
    let less = "ask for less: --limit, fewer strategies, windows or --replicates";
    estimated(plan.clone(), role_options)?.within(cap, less)
}

/// Makes a run with its calls counted instead of sent.
fn estimated(mut plan: BenchPlan, role_options: &RoleOptions) -> Result<Estimate, Failure> {
    let calls = Arc::new(DryRunCalls::default());
    let prices = Arc::clone(plan.spec.billing_models.list());
    let (roles, mut model_session) = role_options.dry_run(&plan.counter, &prices, &calls)?;
    if let Some(model) = role_options.author()
        && let Some(llm) = model_session.llm(model)?
    {
        authoring::dry_run(&llm, &unasked(&plan))?;
    }
    plan.roles = roles;
    Work::new(plan.spec.jobs)?.run(plan.dry_run())??;
    Ok(Estimate::of(&calls, &prices, wire::now(), model_session.has_cassette()))
}

/// The sessions without questions of their own, each with its cuts.
pub(super) fn unasked(plan: &BenchPlan) -> Vec<CutSession<'_>> {
    let without = plan.sessions.iter().filter(|named| named.questions.is_empty());
    let sessions = without.map(|named| &named.session);
    authoring::with_cuts(sessions, plan.spec.cuts, plan.spec.depth)
}

/// What a run would replay.
#[derive(Serialize)]
struct PlannedWork {
    /// The number of sessions.
    sessions: usize,
    /// The number of their requests.
    requests: usize,
    /// The names of the strategies.
    strategies: Vec<String>,
    /// The labels of the windows.
    windows: Vec<String>,
    /// The number of cells: session, strategy, window and repetition.
    cells: u64,
    /// The number of questions of the data sets.
    questions: usize,
}

impl PlannedWork {
    fn of(spec: &RunSpec, sessions: &[NamedSession]) -> Self {
        let places: usize = sessions.iter().map(|s| spec.windows.of(&s.dataset).len()).sum();
        let repeated = |p: &Arc<Strategy>| if p.uses_compactor() { spec.replicates } else { 1 };
        let repetitions: u32 = spec.strategies.iter().map(repeated).sum();
        Self {
            sessions: sessions.len(),
            requests: sessions.iter().map(|s| s.session.requests().count()).sum(),
            strategies: spec.strategies.iter().map(|strategy| strategy.name.clone()).collect(),
            windows: spec.windows.labels(),
            cells: u64::from(repetitions) * places as u64,
            questions: sessions.iter().map(|s| s.questions.len()).sum(),
        }
    }
}

/// Sessions, cells and questions, in words.
fn cells(
    work: &PlannedWork,
    spec: &RunSpec,
    sessions: &[NamedSession],
    role_options: &RoleOptions,
) -> String {
    let searches = spec.strategies.iter().any(|strategy| strategy.recovery.is_some());
    let searched = if !searches {
        ""
    } else if role_options.has_embedder() {
        ", once more with a recovery channel, whose searches are not foreseen, nor what is \
         embedded for them"
    } else {
        ", once more with a recovery channel, whose searches are not foreseen"
    };
    let questions = match work.questions {
        0 => String::new(),
        n if !role_options.has_answerer() => {
            format!("{}, each looked for in one context a cell\n", counted(n, "question"))
        }
        n => format!(
            "{}, each put to one context a cell and graded{searched}\n",
            counted(n, "question")
        ),
    };
    let native = native_sizes(&spec.windows, sessions, &spec.billing_models)
        .map_or_else(String::new, |sizes| format!("the native window is {sizes}\n"));
    format!(
        "{} with {}\n{} × {}: {}\n{native}{questions}",
        counted(work.sessions, "session"),
        counted(work.requests, "request"),
        counted(work.strategies.len(), "strategy"),
        windows(&spec.windows),
        counted(work.cells, "cell"),
    )
}

/// The number of windows, and their labels.
fn windows(windows: &Windows) -> String {
    let labels = windows.labels();
    let named = labels.join(", ");
    match (windows, labels.as_slice()) {
        (_, [_]) | (Windows::Same(_), _) => {
            format!("{} ({named})", counted(labels.len(), "window"))
        }
        (Windows::Own(_), _) => format!("the window of each data set ({named})"),
    }
}

/// Tokens of replies, and the total cost of the calls with such replies.
#[derive(Clone, Copy, Serialize)]
struct ReplyTokens {
    tokens: u64,
    /// `None`: the model has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
}

/// The calls that one role would make to one model.
#[derive(Serialize)]
struct RoleEstimate {
    role: ModelRole,
    model: String,
    calls: usize,
    /// Tokens of all prompts.
    prompt_tokens: u64,
    /// With replies of the expected length.
    expected: ReplyTokens,
    /// With replies of the largest possible length.
    worst: ReplyTokens,
}

impl RoleEstimate {
    fn of(calls: &[DryRunCall], summary: Option<u64>, prices: &PriceList, at: Timestamp) -> Self {
        let DryRunCall { role, model, .. } = &calls[0];
        let prices = prices.priced(model);
        let replies = |tokens: &dyn Fn(&DryRunCall) -> u64| {
            let usd = calls.iter().map(|call| {
                let usage = Usage { input: call.prompt, output: tokens(call), ..Usage::default() };
                call_usd(prices?, &usage, at)
            });
            ReplyTokens { usd: usd.sum(), tokens: calls.iter().map(tokens).sum() }
        };
        RoleEstimate {
            role: *role,
            model: model.clone(),
            calls: calls.len(),
            prompt_tokens: calls.iter().map(|call| call.prompt).sum(),
            expected: replies(&|call| expected(call, summary)),
            worst: replies(&|call| call.bound + call.room),
        }
    }
}

/// The calls that all roles would make.
#[derive(Default)]
pub(super) struct Estimate {
    shares: Vec<RoleEstimate>,
    /// Mean tokens of a summary by the offline compactor.
    summary: Option<u64>,
    /// Whether any model reasons before it replies.
    thinks: bool,
    /// Whether the calls of a cassette are left out.
    has_cassette: bool,
}

impl Estimate {
    /// What the calls cost.
    pub(super) fn of(
        planned: &DryRunCalls,
        prices: &PriceList,
        at: Timestamp,
        has_cassette: bool,
    ) -> Self {
        let (summary, calls) = (planned.mean_summary(), planned.calls());
        let own = calls.chunk_by(|a, b| (a.role, &a.model) == (b.role, &b.model));
        let shares = own.map(|own| RoleEstimate::of(own, summary, prices, at)).collect();
        let thinks = calls.iter().any(|call| call.room > 0);
        Self { shares, summary, thinks, has_cassette }
    }

    /// Calls, tokens and dollars, role by role.
    pub(super) fn describe(&self) -> String {
        let recorded = if self.has_cassette { " that are not on the cassette" } else { "" };
        let calls: usize = self.shares.iter().map(|share| share.calls).sum();
        let mut text = format!("{} to models{recorded}:\n", counted(calls, "call"));
        for share in &self.shares {
            text += &format!(
                "  {} {}: {}, {} tokens of prompts; replies of about {} tokens, {}; of at \
                 most {}, {}\n",
                share.role.as_str(),
                share.model,
                counted(share.calls, "call"),
                grouped(share.prompt_tokens),
                grouped(share.expected.tokens),
                dollars(share.expected.usd),
                grouped(share.worst.tokens),
                dollars(share.worst.usd),
            );
        }
        text += &match self.totals() {
            (Some(expected), Some(worst)) => format!(
                "at list prices about ${expected:.2} expected, ${worst:.2} in the worst case\n"
            ),
            _ => "what they cost is not known: a model has no price\n".to_owned(),
        };
        text + &self.assumed()
    }

    /// Dollars as expected, and in the worst case; `None` if a model has no price.
    fn totals(&self) -> (Option<f64>, Option<f64>) {
        let total = |of: fn(&RoleEstimate) -> Option<f64>| {
            self.shares.iter().map(of).try_fold(0.0, |sum, usd| Some(sum + usd?))
        };
        (total(|s| s.expected.usd), total(|s| s.worst.usd))
    }

    /// Refuses calls that are expected to cost more than `cap`, with what to do
    /// instead. What has no price is refused where the roles are filled.
    pub(super) fn within(&self, cap: f64, less: &str) -> Result<(), Failure> {
        match self.totals() {
            (Some(expected), Some(worst)) if expected > cap => Err(Failure::usage(format!(
                "the calls to models are expected to cost ${expected:.2}, and --max-cost allows \
                 ${cap:.2}: nothing was sent"
            ))
            .help(format!(
                "raise --max-cost (${worst:.2} is the most that they can cost), or {less}; \
                 --dry-run shows the calls of each role"
            ))),
            _ => Ok(()),
        }
    }

    /// The work and its calls as one JSON object, which is what `--dry-run --json` prints. What a
    /// model without a price would cost is not named.
    fn json(&self, work: &PlannedWork) -> String {
        let mut plan = json!(work);
        plan["calls"] = json!(self.shares);
        let (expected, worst) = self.totals();
        expected.into_iter().for_each(|usd| plan["expected_usd"] = usd.into());
        worst.into_iter().for_each(|usd| plan["worst_usd"] = usd.into());
        format!("{plan:#}\n")
    }

    /// The assumptions behind the expected replies.
    fn assumed(&self) -> String {
        let has = |wanted| self.shares.iter().any(|share| share.role == wanted);
        let mut lengths = Vec::new();
        if let Some(tokens) = self.summary.filter(|_| has(ModelRole::Compactor)) {
            lengths.push(format!(
                "a summary {} tokens, as the offline compactor wrote on average in this dry run",
                grouped(tokens)
            ));
        }
        if has(ModelRole::Answerer) {
            lengths.push(format!("an answer {TYPICAL_ANSWER_TOKENS} tokens"));
        }
        if has(ModelRole::Judge) {
            lengths.push(format!("a verdict {TYPICAL_VERDICT_TOKENS} tokens"));
        }
        if self.thinks {
            lengths.push(format!("thinking before a reply {TYPICAL_THINKING} tokens"));
        }
        let mut expected = String::new();
        if !lengths.is_empty() {
            expected = format!("expected: {}\n", lengths.join("; "));
        }
        format!(
            "{expected}worst case: every reply as long as it may be, which is what --max-cost \
             goes by\nboth leave out that prompts are partly read from a cache, and that a reply \
             may have to be asked for again\n"
        )
    }
}

/// Expected number of tokens of a reply.
fn expected(call: &DryRunCall, summary: Option<u64>) -> u64 {
    let words = match call.role {
        ModelRole::Compactor => summary.unwrap_or(call.bound),
        ModelRole::Answerer => TYPICAL_ANSWER_TOKENS,
        ModelRole::Judge => typical_tokens(call.bound),
        ModelRole::Embedder => 0,
        ModelRole::Author => TYPICAL_QUESTIONS_TOKENS,
    };
    words.min(call.bound) + call.room.min(TYPICAL_THINKING)
}

fn dollars(usd: Option<f64>) -> String {
    usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("${usd:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $1 a million tokens of prompts, $10 a million of replies.
    fn prices() -> PriceList {
        let list = serde_json::json!({"openai/m": {
            "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5,
            "mode": "chat", "litellm_provider": "openai",
        }});
        PriceList::parse("a list", &list.to_string()).unwrap()
    }

    fn describe(model: &str, calls: &[(ModelRole, u64, u64)], summaries: &[u64]) -> String {
        let planned = DryRunCalls::default();
        for &(role, bound, room) in calls {
            let model = model.to_owned();
            planned.add(DryRunCall { role, model, prompt: 100_000, bound, room });
        }
        summaries.iter().for_each(|tokens| planned.add_summary(*tokens));
        Estimate::of(&planned, &prices(), Timestamp::UNIX_EPOCH, false).describe()
    }

    #[test]
    fn expected_reply_cost_is_shown_beside_worst_case() {
        // A prompt costs $0.10. Of the bound of 120 and the room of 8,192 an
        // answer takes 30 and thinking 300: $0.0033 against $0.08312.
        let text = describe("openai/m", &[(ModelRole::Answerer, 120, 8_192); 10], &[]);
        let line = "  answerer openai/m: 10 calls, 1,000,000 tokens of prompts; replies of about \
                    3,300 tokens, $1.03; of at most 83,120, $1.83\n";
        assert!(text.contains(line), "{text}");
        let total = "at list prices about $1.03 expected, $1.83 in the worst case\n";
        assert!(text.contains(total), "{text}");
        let from = "expected: an answer 30 tokens; thinking before a reply 300 tokens\n";
        assert!(text.contains(from), "{text}");
        assert!(text.contains("worst case: every reply as long as it may be"), "{text}");
    }

    #[test]
    fn summaries_are_expected_as_long_as_offline_ones() {
        let text = describe("openai/m", &[(ModelRole::Compactor, 4_000, 0)], &[500, 700]);
        assert!(text.contains(": 1 call, "), "{text}");
        assert!(text.contains("replies of about 600 tokens, $0.11; of at most 4,000"), "{text}");
        assert!(text.contains("a summary 600 tokens, as the offline compactor wrote"), "{text}");
        // Nothing is known of an offline compactor that wrote nothing.
        let text = describe("openai/m", &[(ModelRole::Compactor, 4_000, 0)], &[]);
        assert!(text.contains("replies of about 4,000 tokens, $0.14; of at most 4,000"), "{text}");
    }

    #[test]
    fn rubric_takes_its_points_within_its_bound() {
        for (bound, tokens) in [(400, 40), (448, 88), (20, 20)] {
            let text = describe("openai/m", &[(ModelRole::Judge, bound, 0)], &[]);
            assert!(text.contains(&format!("replies of about {tokens} tokens")), "{bound}: {text}");
        }
    }

    #[test]
    fn model_without_price_has_unknown_cost() {
        let text = describe("openai/other", &[(ModelRole::Judge, 400, 0)], &[]);
        assert!(text.contains("price unknown; of at most 400, price unknown"), "{text}");
        assert!(text.contains("what they cost is not known: a model has no price"), "{text}");
    }
}
