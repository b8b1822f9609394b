//! What `recap bench DIR --out RUN` does, as a program of its own, with three
//! strategies at a quarter of each session:
//!
//! ```sh
//! cargo run --example bench -- tests/fixtures/invoice-export reports/mine
//! ```

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::error::Error;
use std::path::Path;

use recap::bench::{Inputs, Results, Selection, Settings, measure_run, plan};
use recap_formats::{LoadOptions, load};
use recap_report::Screen;

/// Compares three strategies on the sessions of `input`, and writes the run folder.
pub async fn compare(input: &Path, out: &Path) -> Result<Results, Box<dyn Error>> {
    let inputs = Inputs {
        datasets: vec![load(input, &LoadOptions::default())?],
        strategies: Selection::of(["fifo", "prune", "continuation"]),
        ..Inputs::default()
    };
    let settings = Settings { windows: vec!["25%".parse()?], ..Settings::default() };
    let run = plan(inputs, &settings)?.prepare().await?;
    let mut folder = run.create(out)?;
    let results = measure_run(run.run(&mut folder, &()).await?);
    results.write(&folder, &[])?;
    Ok(results)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [input, out] = [1, 2].map(|at| std::env::args_os().nth(at));
    let (input, out) = input.zip(out).ok_or("give a data set and a folder for the run")?;
    let screen = Screen { width: 100, color: false, wide: false };
    print!("{}", compare(input.as_ref(), out.as_ref()).await?.table(screen));
    Ok(())
}
