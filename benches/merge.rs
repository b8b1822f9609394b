//! Merges the shards of a large run, and says how long that takes and how much
//! memory: `cargo bench --bench merge -- 1000000 1000` for a million cells in a
//! thousand shards. The shards are copies of one run on the beginnings of the
//! bundled sessions, so that the figures of the whole are known; it fails where
//! they differ, or where more than 2 GB are needed.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use recap::bench::{Bench, Results, merge};
use recap::dataset::bundled;
use recap::model::{Report, Sessions, Shard};
use recap::run::{Folder, Loaded, RunTexts};

/// Messages of a session: some twenty requests.
const MESSAGES: usize = 40;
/// Most memory that a merge may take, in kB.
const MOST: u64 = 2_000_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let given = |at| std::env::args().filter_map(|typed| typed.parse::<usize>().ok()).nth(at);
    let (cells, shards) = (given(0).unwrap_or(20_000), given(1).unwrap_or(100));
    let desk = tempfile::tempdir()?;
    let one = tokio::runtime::Runtime::new()?.block_on(run(&desk.path().join("one")))?;
    let base = Loaded::read(&desk.path().join("one"))?;
    let own = base.sessions.cells().count();
    let copies = cells.div_ceil(own);
    let began = Instant::now();
    let parts = make(&base, copies, shards, desk.path())?;
    drop(base);
    let bytes: u64 = parts.iter().flat_map(fs::read_dir).flatten().flatten().map(size).sum();
    println!(
        "{} cells of {own} in {} shards, {} MB, made in {:.1} s",
        own * copies,
        parts.len(),
        bytes / 1_000_000,
        began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    let out = desk.path().join("whole");
    merge(&parts, &out)?;
    println!("merged in {:.1} s, peak {} MB", began.elapsed().as_secs_f64(), peak()? / 1_000);
    let mut results = Results::from(Loaded::without_texts(&out)?);
    results.texts = Some(RunTexts::of_run(&out)?);
    println!("measured after {:.1} s, peak {} MB", began.elapsed().as_secs_f64(), peak()? / 1_000);
    results.write(&Folder::open(&out)?, &[])?;
    println!("rendered after {:.1} s, peak {} MB", began.elapsed().as_secs_f64(), peak()? / 1_000);
    same(&one.report, &results.report, copies as f64)?;
    match peak()? {
        most if most > MOST => Err(format!("{most} kB are more than {MOST} kB").into()),
        _ => Ok(()),
    }
}

/// Every preset on the beginnings of the bundled sessions.
async fn run(out: &Path) -> Outcome<Results> {
    let mut dataset = bundled("quickstart")?.ok_or("there is no such data set")?;
    dataset.transcripts.iter_mut().for_each(|one| one.messages.truncate(MESSAGES));
    dataset.probes.clear();
    let run = Bench::new([dataset]).presets(["all"]).windows(["25%".parse()?]).plan()?;
    let run = run.prepare().await?;
    let mut folder = run.create(out)?;
    Ok(run.run(&mut folder, &()).await?.measure())
}

/// Writes copies of a run as shards of one.
fn make(base: &Loaded, copies: usize, shards: usize, desk: &Path) -> Outcome<Vec<PathBuf>> {
    let shards = shards.min(copies);
    let mut parts = Vec::new();
    for index in 0..shards {
        let own = || (index * copies / shards..(index + 1) * copies / shards);
        let name = |id: &str, copy: usize| format!("{id}-{copy:06}");
        let mut manifest = base.manifest.clone();
        manifest.shard = Some(Shard { index: index as u32 + 1, of: shards as u32 });
        let planned = std::mem::take(&mut manifest.planned.transcripts);
        let (mut facts, mut sessions) = (Vec::new(), Sessions::default());
        for copy in own() {
            manifest.planned.transcripts.extend(planned.iter().cloned().map(|mut one| {
                one.transcript = name(&one.transcript, copy);
                one
            }));
            facts.extend(base.transcripts.iter().cloned().map(|mut one| {
                one.transcript = name(&one.transcript, copy);
                one
            }));
            for mut cell in base.sessions.cells() {
                cell.key.transcript = name(&cell.key.transcript, copy);
                sessions.add_cell(cell);
            }
            for mut cut in base.sessions.cuts() {
                cut.transcript = name(&cut.transcript, copy);
                sessions.add_cut(cut);
            }
        }
        sessions.close();
        facts.sort_by(|a, b| a.transcript.cmp(&b.transcript));
        manifest.planned.transcripts.sort_by(|a, b| a.transcript.cmp(&b.transcript));
        let path = desk.join(format!("part-{index}"));
        let mut folder = Folder::create(&path, &manifest)?;
        folder.sort_journal(&facts, &sessions, &[])?;
        folder.write_texts(&base.texts)?;
        parts.push(path);
    }
    Ok(parts)
}

fn size(entry: fs::DirEntry) -> u64 {
    entry.metadata().map_or(0, |file| file.len())
}

/// Whether every row of the copies has the shares of the one run, and its sums as
/// often as there are copies.
fn same(one: &Report, all: &Report, copies: f64) -> Outcome<()> {
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
        (a, b) => a == b,
    };
    for row in &one.rows {
        let key = |other: &&recap::model::PresetRow| {
            (&other.dataset, &other.strategy, &other.agent_model)
                == (&row.dataset, &row.strategy, &row.agent_model)
        };
        let other = all.rows.iter().find(key).ok_or("a row is missing")?;
        let figure = |id: &str| (row.number_of(id), other.number_of(id));
        for id in ["token_savings", "reference_recall", "peak_tokens"] {
            let (a, b) = figure(id);
            if !near(a, b) {
                return Err(format!("{id} of {}: {a:?} and {b:?}", row.strategy).into());
            }
        }
        for id in ["requests", "cost_usd", "facts_at_stake"] {
            let (a, b) = figure(id);
            if !near(a.map(|a| a * copies), b) {
                return Err(format!("{id} of {}: {a:?} and {b:?}", row.strategy).into());
            }
        }
    }
    println!("{} rows have the figures of the one run", one.rows.len());
    Ok(())
}

/// The most memory that this process ever had, in kB.
fn peak() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the system tells no peak of memory")?.parse()?)
}
