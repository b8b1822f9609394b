//! References mined, by length of the session: it should be linear.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recap_core::tokens::Counter;
use recap_exam::facts::mine;

#[allow(dead_code, reason = "each bench uses a part of the generator")]
mod common;

/// Messages of the sessions.
const LENGTHS: [usize; 4] = [250, 500, 1000, 2000];

fn mining(criterion: &mut Criterion) {
    let counter = Counter::default();
    let mut group = criterion.benchmark_group("mining");
    for length in LENGTHS {
        let session = common::session::generated(length);
        let sizes: Vec<u64> =
            session.messages.iter().map(|message| counter.count(&message.sent())).collect();
        let requests = session.requests().count() as u64;
        group.throughput(Throughput::Elements(requests));
        group.bench_with_input(BenchmarkId::from_parameter(length), &session, |bencher, t| {
            bencher.iter(|| mine(black_box(t), &sizes));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3));
    targets = mining
}
criterion_main!(benches);
