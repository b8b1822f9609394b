//! Bytes a second that are tokenised, by kind of text.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use recap_core::tokens::Counter;

#[allow(dead_code, reason = "each bench uses a part of the generator")]
mod common;

/// Size of each text.
const BYTES: usize = 256 * 1024;

fn tokens(criterion: &mut Criterion) {
    let mut author = common::Author::new(1);
    let texts =
        [("prose", author.prose(BYTES)), ("code", author.code(BYTES)), ("cjk", author.cjk(BYTES))];
    let mut group = criterion.benchmark_group("tokens");
    let counter = Counter::default();
    for (kind, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("o200k", kind), text, |bencher, text| {
            bencher.iter(|| counter.count(black_box(text)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = tokens
}
criterion_main!(benches);
