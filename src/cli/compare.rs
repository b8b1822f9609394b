//! `recap compare A B`: what changed between two runs on the same data, or between two
//! strategies of one run.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{gating, report, wire};
use crate::bench::{Results, measure_run};
use crate::failure::{Exit, Failure};
use recap_core::model::{Manifest, Report, Unit, suggest};
use recap_measure::gate::{self, Baseline, Head};
use recap_measure::{self as measure, MEASURES, Run, is_at_cuts};
use recap_replay::run::RunRecord;
use recap_report::{comparison_html, comparison_json, comparison_md, comparison_table};

/// Options of `recap compare`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of the run that is compared with
    #[arg(value_name = "RUN_A")]
    a: PathBuf,

    /// Folder of the run that is looked at; differences are B less A [default: RUN_A, two
    /// strategies of which --strategy names]
    #[arg(value_name = "RUN_B")]
    b: Option<PathBuf>,

    /// Compare a strategy of A with another one of B; repeat for several [default: each strategy
    /// with its namesake]
    #[arg(long, value_name = "STRATEGY_A=STRATEGY_B")]
    strategy: Vec<String>,

    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For a terminal
    Table,
    /// Markdown, for a pull request
    Md,
    /// JSON, for scripts
    Json,
    /// A page; no script, no network
    Html,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.b.is_none() && arguments.strategy.is_empty() {
        return Err(Failure::usage("there is nothing to compare this run with")
            .help("name another run, or two strategies of this one: --strategy A=B"));
    }
    let a = read(&arguments.a)?;
    let other = arguments.b.as_deref().map(read).transpose()?;
    let b = other.as_ref().unwrap_or(&a);
    let pairs = pairs(&arguments.strategy, &a.0.manifest, &b.0.manifest)?;
    let differ = gate::unlike(&a.1, &b.1);
    if !differ.is_empty() {
        let what =
            format!("{} and {} cannot be compared: {}", a.1.name, b.1.name, differ.join("; "));
        return Err(Failure::usage(what).help("compare two runs on the same data and settings"));
    }
    let (notes, left_out) = unlike_settings(&a.0.manifest, &b.0.manifest);
    // Two rows of one run bear the names of their strategies.
    let (name_a, name_b) = match (&other, &pairs[..]) {
        (None, [(row_a, row_b)]) => (row_a, row_b),
        _ => (&a.1.name, &b.1.name),
    };
    let run_a = Run { name: name_a, report: &a.0, by_session: &a.1.run };
    let run_b = Run { name: name_b, report: &b.0, by_session: &b.1.run };
    let mut comparison = measure::compare(run_a, run_b, &pairs, &left_out);
    let half = |(run, baseline): &(Report, Baseline)| {
        Some(format!("{}: {}", baseline.name, run.missing.as_ref()?))
    };
    let half: Vec<String> =
        [Some(&a), other.as_ref()].into_iter().flatten().filter_map(half).collect();
    let is_whole = half.is_empty();
    comparison.notes.splice(0..0, half.into_iter().chain(notes));
    if comparison.rows.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "the runs have no row in common").help(
            "run both with the same strategies and windows, or pair strategies with --strategy A=B",
        ));
    }
    match arguments.format {
        Format::Table => wire::print_table(&comparison_table(&comparison, wire::screen(true)))?,
        Format::Md => wire::print(&comparison_md(&comparison))?,
        Format::Json => wire::print_json(&comparison_json(&comparison))?,
        Format::Html => wire::print_exact(&comparison_html(&comparison))?,
    }
    Ok(if is_whole { Exit::Done } else { Exit::Incomplete })
}

/// A run with its measures, in total and by session.
fn read(path: &Path) -> Result<(Report, Baseline), Failure> {
    let run = RunRecord::read(path)?;
    report::refuse_unfinished(&run, path)?;
    let Results { report, .. } = measure_run(run);
    let baseline = Baseline::of(gating::name(path), &report);
    Ok((report, baseline))
}

/// The pairs of strategies given by `--strategy`.
fn pairs(typed: &[String], a: &Manifest, b: &Manifest) -> Result<Vec<(String, String)>, Failure> {
    let has = |manifest: &Manifest, name: &str| manifest.strategies.iter().any(|p| p.name == name);
    let mut pairs = Vec::new();
    for typed in typed {
        // A name may contain `=` itself: `prune[protect=20000]`.
        let halves = typed.match_indices('=').map(|(at, _)| (&typed[..at], &typed[at + 1..]));
        let mut known = halves.filter(|(x, y)| has(a, x) && has(b, y));
        let (x, y) = known.next().ok_or_else(|| {
            Failure::usage(format!("`--strategy {typed}` is not a strategy of A, `=` and one of B"))
                .help(paired_help(typed, a, b))
        })?;
        pairs.push((x.to_owned(), y.to_owned()));
    }
    Ok(pairs)
}

/// Which half of a pair is not a strategy of its run, with similar names.
fn paired_help(typed: &str, a: &Manifest, b: &Manifest) -> String {
    let Some((first, second)) = typed.split_once('=') else {
        return "for example `--strategy fifo=prune`".to_owned();
    };
    let names = |run: &Manifest| run.strategies.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    let halves = [("A", first, names(a)), ("B", second, names(b))];
    let wrong = halves.iter().filter(|(_, name, known)| !known.iter().any(|own| own == name));
    let missing = wrong.map(|(run, name, known)| {
        format!("{run} has no `{name}`: {}", suggest(name, known.iter().map(String::as_str)))
    });
    missing.collect::<Vec<_>>().join("; ")
}

/// Settings that differ, and the measures that cannot be compared because of it.
fn unlike_settings(a: &Manifest, b: &Manifest) -> (Vec<String>, Vec<&'static str>) {
    let roles = [
        ("compactor", &a.compactor, &b.compactor),
        ("answerer", &a.answerer, &b.answerer),
        ("judge", &a.judge, &b.judge),
    ];
    let differ = roles.into_iter().filter(|(_, a, b)| a != b);
    let mut notes: Vec<String> =
        differ.map(|(role, a, b)| format!("The {role} is {a} in A and {b} in B")).collect();
    let (head_a, head_b) = (Head::of(a), Head::of(b));
    let mut left_out = Vec::new();
    if !head_a.same_prices(&head_b) {
        notes.push("Prices, or who is billed, differ: money is left out".to_owned());
        let money = MEASURES.iter().filter(|spec| spec.measure.unit == Unit::Dollars);
        left_out.extend(money.map(|spec| spec.id()));
    }
    let at_other_cuts = |id: &&str| is_at_cuts(id) && !head_a.same_cuts(&head_b);
    let at_cuts: Vec<&str> = MEASURES.iter().map(|spec| spec.id()).filter(at_other_cuts).collect();
    if !at_cuts.is_empty() {
        notes.push(format!(
            "The cuts differ, `{}` in A and `{}` in B: what is measured at them is left out",
            head_a.cut_by(),
            head_b.cut_by()
        ));
        left_out.extend(at_cuts);
    }
    (notes, left_out)
}
