//! `--dry-run`: what a run would do, and what models would take for it.
//!
//! With models in the seats the run is rehearsed: replayed as it would be, with
//! the offline stand-in for the compactor, and every request is counted and
//! none sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::exit::Failure;
use super::seating::Seating;
use super::{windows, wire};
use crate::model::{CallRow, Seat};
use crate::pricing::PriceList;
use crate::run::{Folder, RunSpec, Sample, Windows, prepare, run};
use crate::tokens::Counter;

/// The plan of a run, in words.
pub(super) fn plan(
    spec: &RunSpec,
    samples: Vec<Sample>,
    (seating, prices): (&Seating, &Arc<PriceList>),
    counter: Arc<Counter>,
) -> Result<String, Failure> {
    let cells = cells(spec, &samples, seating);
    if !seating.has_models() {
        seating.line.refuse_idle()?;
        return Ok(format!("{cells}0 calls to a model: every seat is offline, nothing is spent\n"));
    }
    let (seats, exchange) = seating.rehearse(&counter, prices)?;
    let runtime = wire::runtime(spec.jobs.min(wire::cores()))?;
    let finished = runtime.block_on(async {
        let prepared = prepare(spec, samples, &seats, counter).await?;
        run(spec, prepared, &seats, &mut Folder::nowhere(), &()).await
    })?;
    let recorded = if exchange.has_cassette() { " that are not on the cassette" } else { "" };
    Ok(cells + &calls(&finished.calls, recorded))
}

/// Transcripts, cells and probes.
fn cells(spec: &RunSpec, samples: &[Sample], seating: &Seating) -> String {
    let requests: usize = samples.iter().map(|s| s.transcript.requests().count()).sum();
    let places: usize = samples.iter().map(|s| spec.windows.of(&s.dataset).len()).sum();
    let cells: u32 = spec
        .presets
        .iter()
        .map(|p| if p.uses_compactor() { spec.replicates } else { 1 })
        .sum::<u32>()
        * places as u32;
    let asked: usize = samples.iter().map(|s| s.probes.len()).sum();
    let searches = spec.presets.iter().any(|preset| preset.recovery.is_some());
    let searched = match (seating.has_answerer(), seating.has_embedder()) {
        _ if !searches => "",
        // The offline reader searches for the same in a rehearsal.
        (false, true) => ", once more with a recovery channel",
        (true, true) => {
            ", once more with a recovery channel, whose searches are not foreseen, nor what is \
             embedded for them"
        }
        (_, false) => ", once more with a recovery channel, whose searches are not foreseen",
    };
    let probes = match asked {
        0 => String::new(),
        n => format!("{n} probes, each put to one context a cell and graded{searched}\n"),
    };
    let native = windows::sizes(&spec.windows, samples, &spec.agents)
        .map_or_else(String::new, |sizes| format!("the native window is {sizes}\n"));
    format!(
        "{} transcripts with {requests} requests\n{} presets × {}: {cells} cells\n{native}{probes}",
        samples.len(),
        spec.presets.len(),
        windows(&spec.windows),
    )
}

/// How many windows, and which.
fn windows(windows: &Windows) -> String {
    let labels = windows.labels();
    let named = labels.join(", ");
    match (windows, labels.as_slice()) {
        (_, [_]) => format!("1 window ({named})"),
        (Windows::Same(_), _) => format!("{} windows ({named})", labels.len()),
        (Windows::Own(_), _) => format!("the window of each data set ({named})"),
    }
}

/// What one seat would ask of one model.
#[derive(Default)]
struct Share {
    calls: u64,
    prompt: u64,
    output: u64,
    usd: Option<f64>,
}

/// Calls, tokens and dollars, seat by seat.
fn calls(rows: &[CallRow], recorded: &str) -> String {
    let mut shares: BTreeMap<(Seat, &str), Share> = BTreeMap::new();
    for row in rows {
        let first = Share { usd: Some(0.0), ..Share::default() };
        let share = shares.entry((row.seat, &row.model)).or_insert(first);
        share.calls += 1;
        share.prompt += row.usage.map_or(0, |usage| usage.input);
        share.output += row.usage.map_or(0, |usage| usage.output);
        share.usd = share.usd.zip(row.usd).map(|(sum, usd)| sum + usd);
    }
    let mut text = format!("{} calls to models{recorded}, about:\n", rows.len());
    for ((seat, model), share) in &shares {
        let usd = share.usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("${usd:.2}"));
        text += &format!(
            "  {} {model}: {} calls, {} tokens of prompts, at most {} of replies, {usd}\n",
            seat.as_str(),
            share.calls,
            share.prompt,
            share.output,
        );
    }
    let total = shares.values().map(|share| share.usd).sum::<Option<f64>>();
    text += &match total {
        Some(usd) => format!("at list prices ${usd:.2}, less what prompts read from a cache\n"),
        None => "what they cost is not known: a model has no price\n".to_owned(),
    };
    text += "counted on a rehearsal with the offline compactor; a reply that has to be asked for \
             again adds to it\n";
    text
}
