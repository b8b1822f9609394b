//! The options of a gate, and what a run ends with.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::{report, wire};
use crate::gate::{self, MAX_UNSCORED, Parsed, RuleError, Scope, Terms};
use crate::model::{
    Check, Finding, Gate, Manifest, Report, Sentence, TranscriptFacts, UndecidedPolicy,
};
use crate::run::Sample;

/// What may not be found in a run.
#[derive(Debug, Args)]
pub(super) struct Gating {
    /// Exit with 1 where MEASURE[KIND]@PRESET on DATASET at WINDOW is below (<, <=) or above
    /// (>, >=) a number or `baseline`: `continuity@lis < 80`; repeat for several
    #[arg(long, value_name = "RULE")]
    fail_on: Vec<String>,

    /// What becomes of a gate that the data leave open [default: no verdict, exit 3]
    #[arg(long, value_enum, value_name = "pass|fail")]
    undecided: Option<Undecided>,

    /// Share of probes without an answer or a grade above which there is no verdict
    #[arg(long, value_name = "SHARE", default_value_t = MAX_UNSCORED, value_parser = share)]
    max_unscored: f64,

    /// The preset that every other one is tested against, never `full` [default: the best plain
    /// recency preset of the run]
    #[arg(long, value_name = "PRESET")]
    comparator: Option<String>,

    /// How much worse still counts as no worse, as a share of the measure's range [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = margin)]
    margin: Option<f64>,
}

/// [`UndecidedPolicy`] as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Undecided {
    /// It counts as passed
    Pass,
    /// It counts as failed
    Fail,
}

fn share(typed: &str) -> Result<f64, String> {
    let share = typed.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share from 0 to 1 is expected, such as 0.05".to_owned())
}

fn margin(typed: &str) -> Result<f64, String> {
    let margin = typed.parse().ok().filter(|margin| *margin > 0.0 && *margin < 0.5);
    margin.ok_or_else(|| "a share above 0 and below 0.5 is expected, such as 0.05".to_owned())
}

/// The rules of a run, read and found to fit it.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<Parsed>,
    named: Vec<String>,
    max_unscored: f64,
    undecided: UndecidedPolicy,
}

impl From<RuleError> for Failure {
    fn from(error: RuleError) -> Self {
        Failure::usage(error.to_string()).help(error.help)
    }
}

impl Gating {
    /// The rules of a run that has not begun.
    pub(super) fn before(
        &self,
        manifest: &mut Manifest,
        samples: &[Sample],
    ) -> Result<Rules, Failure> {
        self.rules(manifest, samples.iter().map(|sample| sample.dataset.clone()).collect())
    }

    /// The rules of a run that is finished.
    pub(super) fn of_run(
        &self,
        manifest: &mut Manifest,
        transcripts: &[TranscriptFacts],
    ) -> Result<Rules, Failure> {
        self.rules(manifest, transcripts.iter().map(|facts| facts.dataset.clone()).collect())
    }

    fn rules(&self, manifest: &mut Manifest, mut datasets: Vec<String>) -> Result<Rules, Failure> {
        datasets.dedup();
        let presets: Vec<String> =
            manifest.presets.iter().map(|preset| preset.name.clone()).collect();
        self.settle(manifest, &presets)?;
        let scope = Scope {
            presets: &presets,
            named: &manifest.named,
            windows: &manifest.windows,
            datasets: &datasets,
            baseline: false,
        };
        let mut rules = Vec::new();
        for text in &self.fail_on {
            let rule = gate::parse(text)?;
            gate::fits(&rule, &scope)?;
            rules.push(rule);
        }
        Ok(Rules {
            rules,
            named: manifest.named.clone(),
            max_unscored: self.max_unscored,
            undecided: match self.undecided {
                None => UndecidedPolicy::Incomplete,
                Some(Undecided::Pass) => UndecidedPolicy::Pass,
                Some(Undecided::Fail) => UndecidedPolicy::Fail,
            },
        })
    }

    /// Takes the comparator and the margin over.
    fn settle(&self, manifest: &mut Manifest, presets: &[String]) -> Result<(), Failure> {
        if let Some(comparator) = &self.comparator {
            if comparator == "full" {
                return Err(Failure::usage("`full` is the ceiling: no test is made against it")
                    .help("every row stands against `full` anyway; name another preset"));
            }
            if !presets.contains(comparator) {
                return Err(Failure::usage(format!("the comparator `{comparator}` does not run"))
                    .help(format!("the presets of the run are {}", presets.join(", "))));
            }
            manifest.comparator = Some(comparator.clone());
        }
        manifest.margin = self.margin.unwrap_or(manifest.margin);
        Ok(())
    }
}

impl Rules {
    /// Whether there is no gate.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Gates a measured run; what was found before is replaced.
    pub(super) fn apply(&self, report: &mut Report) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let terms = Terms {
            named: &self.named,
            max_unscored: self.max_unscored,
            undecided: self.undecided,
        };
        let gate = gate::check(report, &self.rules, &terms);
        adopt(report, gate);
        Ok(())
    }

    /// Whether every cell ran through and enough of the probes are graded.
    pub(super) fn is_complete(&self, measured: &Report) -> bool {
        let graded = report::mostly_graded(measured, self.max_unscored);
        graded && measured.cells.iter().all(|cell| cell.rows().is_some())
    }
}

/// Gives a report its gate; where it failed, the verdict begins with that.
pub(super) fn adopt(report: &mut Report, gate: Gate) {
    if gate.finding() == Finding::Failed {
        let verdict = report.verdict.take().map(|sentence| format!(" {}", sentence.0));
        report.verdict = Some(Sentence(headline(&gate) + &verdict.unwrap_or_default()));
    }
    report.gate = Some(gate);
}

/// What a run ends with. A failure is measured on a row that is complete, so
/// it stands whatever became of other rows: 1. Else a run with gaps, and a gate
/// with findings that are missing or undecided, has no verdict: 3.
pub(super) fn ending(gate: Option<&Gate>, complete: bool) -> Exit {
    match gate.map_or(Finding::Passed, Gate::finding) {
        Finding::Failed => Exit::Failed,
        Finding::Passed if complete => Exit::Done,
        Finding::Passed | Finding::Missing | Finding::Undecided => Exit::Incomplete,
    }
}

/// That the gate failed, in a sentence.
fn headline(gate: &Gate) -> String {
    let counts = |check: &&Check| {
        let as_failed = gate.undecided == UndecidedPolicy::Fail;
        check.finding == Finding::Failed || (as_failed && check.finding == Finding::Undecided)
    };
    let failed: Vec<&Check> = gate.checks().filter(counts).collect();
    let first = failed.first().map_or_else(String::new, |check| {
        format!(": {} of {} at {}, {}", check.measure, check.strategy, check.window, check.reason)
    });
    let more = match failed.len() {
        0 | 1 => String::new(),
        n => format!("; {} more", n - 1),
    };
    format!("The gate failed{first}{more}.")
}

/// What a gate found: a line for every check that did not pass, and how many did.
pub(super) fn told(gate: &Gate) -> String {
    let mut text = String::new();
    let all = gate.checks().count();
    let passed = gate.checks().filter(|check| check.finding == Finding::Passed).count();
    let against = gate.baseline.as_ref().map(|name| format!(" against {name}"));
    let _ = write!(
        text,
        "\n gate{}: {}; {passed} of {all} checks passed\n",
        against.unwrap_or_default(),
        gate.finding().as_str(),
    );
    for rule in &gate.rules {
        for check in rule.checks.iter().filter(|check| check.finding != Finding::Passed) {
            let place = format!("{} · {} · {}", check.strategy, check.window, check.dataset);
            let finding = check.finding.as_str();
            let _ = writeln!(text, "  {finding:9} {} · {place}: {}", rule.rule, check.reason);
        }
    }
    wire::harmless(&text)
}
