//! What the harness adds to the latency of a model: 1,000 calls, 64 at a time,
//! of a server that answers after 50 ms. Reported latencies should be those 50
//! ms, also while other threads keep the machine busy.
//!
//! `MOCK_OPENAI=http://127.0.0.1:PORT` names another server that answers after
//! 50 ms, so that client and server do not share a process.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use recap_core::model::{ModelRole, Timing};
use recap_llm::providers::OpenAiChat;
use recap_llm::{Call, Client, Endpoint, Limits, Llm, Model, Options, Request, Settings};

#[path = "../tests/common/server.rs"]
mod server;

const CALLS: usize = 1_000;
const CONCURRENCY: u32 = 64;
const LATENCY: Duration = Duration::from_millis(50);

fn main() {
    let own = server::Server::start(|_| {
        thread::sleep(LATENCY);
        server::Act::chat("OK")
    });
    let base = std::env::var("MOCK_OPENAI").unwrap_or_else(|_| own.base());
    for burners in [0, 2] {
        let stop = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..burners).map(|_| burn(&stop)).collect();
        let (wall, timings) = measure(&base);
        stop.store(true, Ordering::SeqCst);
        busy.into_iter().for_each(|thread| thread.join().expect("it only counts"));
        show(burners, wall, &timings);
    }
    if own.requests() > 0 {
        println!("{} requests over {} connections", own.requests(), own.connections());
    }
}

fn burn(stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        let mut count = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            count = black_box(count.wrapping_mul(31).wrapping_add(7));
        }
    })
}

fn measure(base: &str) -> (Duration, Vec<Timing>) {
    let runtime = tokio::runtime::Runtime::new().expect("threads are to be had");
    let client = Client::new(Options::new(0, Timestamp::now)).expect("a thread is to be had");
    let model = Model {
        provider: "openai".to_owned(),
        name: "mock".to_owned(),
        settings: Settings::default(),
    };
    let endpoint = Endpoint::new(&OpenAiChat::OPENAI, base, None, None).expect("an address");
    let limits = Limits { concurrency: CONCURRENCY, per_minute: None };
    let live = Arc::new(client.live(model, endpoint, limits).expect("no cap, no HTTPS"));
    runtime.block_on(async {
        let start = Instant::now();
        let calls: Vec<_> = (0..CALLS)
            .map(|number| {
                let live = Arc::clone(&live);
                let question = Request::of("", number.to_string(), 16);
                let request = live.model().request(question);
                tokio::spawn(async move {
                    live.call(Call { role: ModelRole::Judge, replicate: 0, request }).await
                })
            })
            .collect();
        let mut timings = Vec::with_capacity(CALLS);
        for call in calls {
            let answered = call.await.expect("no call panics").expect("the mock answers");
            timings.push(answered.timing);
        }
        (start.elapsed(), timings)
    })
}

fn show(burners: usize, wall: Duration, timings: &[Timing]) {
    let mut total: Vec<f64> = timings.iter().map(|timing| timing.total_ms).collect();
    total.sort_by(f64::total_cmp);
    let at = |share: f64| total[((total.len() - 1) as f64 * share).round() as usize];
    println!(
        "{CALLS} calls, {CONCURRENCY} at a time, {burners} other busy threads: wall {:.3} s; \
         latency min {:.1}, median {:.1}, p95 {:.1}, max {:.1} ms",
        wall.as_secs_f64(),
        at(0.0),
        at(0.5),
        at(0.95),
        at(1.0),
    );
}
