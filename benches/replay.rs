//! Requests a second that are replayed, by strategy and length of the
//! session: a strategy whose work per request grows with the history shows
//! as a falling rate. `bill/` shows what billing adds.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recap_billing::pricing::{BillingModel, BillingModels, PriceList};
use recap_core::tokens::Counter;
use recap_exam::roles::compactor::Offline;
use recap_replay::{Plan, PreparedSession, WindowSpec, replay};
use recap_strategy::{Strategy, builtin, builtin_names};
use tokio::runtime::{Builder, Runtime};

#[allow(dead_code, reason = "each bench uses a part of the generator")]
mod common;

/// Messages of the sessions.
const LENGTHS: [usize; 4] = [250, 500, 1000, 2000];
/// Small enough that every strategy has to act, and often.
const WINDOW: &str = "25%";

/// A session, and the same one as compacted by its agent.
struct Prepared {
    whole: PreparedSession,
    compacted: PreparedSession,
}

fn plan(
    prepared: &PreparedSession,
    strategy: &Arc<Strategy>,
    billing_models: Arc<[BillingModel]>,
) -> Plan {
    let window: WindowSpec = WINDOW.parse().expect("the constant is a window");
    let tokens = window.tokens(&prepared.recording.sizes, 0).expect("a share always fits");
    let session = ("bench", &*prepared.facts.session);
    Plan { billing_models, ..Plan::new(session, Arc::clone(strategy), (WINDOW, tokens)) }
}

/// One billing model, under Anthropic's rules.
fn billing_model() -> Arc<[BillingModel]> {
    let billing_models =
        BillingModels::new(Arc::new(PriceList::bundled()), vec!["claude-sonnet-5-5".to_owned()]);
    billing_models.of(None, &[]).into()
}

fn sessions(counter: &Arc<Counter>) -> Vec<Prepared> {
    let ready = |session| PreparedSession::new("bench", session, Arc::clone(counter));
    let sessions = LENGTHS.map(common::session::generated).map(|replay| Prepared {
        whole: ready(replay.clone()),
        compacted: ready(common::session::compacted(replay)),
    });
    sessions.into()
}

fn replays(criterion: &mut Criterion) {
    let runtime: Runtime = Builder::new_current_thread().build().expect("a runtime needs nothing");
    let counter = Arc::new(Counter::default());
    let offline = Offline::new(Arc::clone(&counter));
    let sessions = sessions(&counter);
    for name in builtin_names() {
        let strategy =
            builtin(name, &[]).expect("it is listed").expect("built-in strategies are valid");
        let strategy = Arc::new(strategy);
        let mut group = criterion.benchmark_group(format!("replay/{name}"));
        for Prepared { whole, compacted } in &sessions {
            let prepared = if strategy.replays_recording() { compacted } else { whole };
            let plan = plan(prepared, &strategy, billing_model());
            group.throughput(Throughput::Elements(prepared.facts.requests.len() as u64));
            let id = BenchmarkId::from_parameter(prepared.facts.messages.len());
            group.bench_with_input(id, prepared, |bencher, prepared| {
                bencher.iter(|| runtime.block_on(replay(prepared, &plan, &offline)));
            });
        }
        group.finish();
    }
}

/// The same replay with one billing model and with none.
fn bills(criterion: &mut Criterion) {
    let runtime: Runtime = Builder::new_current_thread().build().expect("a runtime needs nothing");
    let counter = Arc::new(Counter::default());
    let offline = Offline::new(Arc::clone(&counter));
    let session = common::session::generated(1_000);
    let prepared = PreparedSession::new("bench", session, Arc::clone(&counter));
    for name in ["full", "fifo", "sliding-window", "prune", "snapshot-dedup", "continuation"] {
        let strategy =
            builtin(name, &[]).expect("it is listed").expect("built-in strategies are valid");
        let strategy = Arc::new(strategy);
        let mut group = criterion.benchmark_group(format!("bill/{name}"));
        for (who, billing_models) in
            [("nobody", Arc::new([]) as Arc<[BillingModel]>), ("one", billing_model())]
        {
            let plan = plan(&prepared, &strategy, billing_models);
            group.bench_function(who, |bencher| {
                bencher.iter(|| runtime.block_on(replay(&prepared, &plan, &offline)));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = replays, bills
}
criterion_main!(benches);
