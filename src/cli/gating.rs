//! The options of a gate, and the exit code of a run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{headings, wire};
use crate::bench::{Results, measure_run};
use crate::failure::{Exit, Failure};
use recap_core::model::{
    Check, CheckOutcome, FULL, Gate, Manifest, Report, SessionResults, UndecidedPolicy, suggest,
};
use recap_core::text::{counted, harmless};
use recap_measure::gate::{
    self, Baseline, GateSettings, MAX_UNSCORED, Rule, RuleError, write_baseline,
};
use recap_replay::run::RunRecord;

/// Whether enough questions were answered and graded; prints a message if not.
pub(super) fn mostly_graded(measured: &Report, max_unscored: f64) -> bool {
    let share = gate::unscored(measured);
    if share > max_unscored {
        wire::say(&format!(
            "error: {:.0} % of the questions were not answered or not graded; questions.csv and \
             cut_questions.csv say why",
            share * 100.0
        ));
    }
    share <= max_unscored
}

/// What may not be found in a run.
#[derive(Debug, Args)]
pub(super) struct GateOptions {
    /// Exit with 1 where MEASURE@STRATEGY on DATASET at WINDOW is below (<, <=) or above (>,
    /// >=) a number or `baseline` (`facts_kept@prune < 0.5`); repeat for several
    #[arg(long, value_name = "RULE")]
    fail_on: Vec<String>,

    /// What rules with `baseline` compare with (`recall < baseline - 0.02`): a run folder, or the
    /// baseline.json in it. A file NAME.json that is not there is made by this run, or is an
    /// error in CI (variable CI)
    #[arg(long, value_name = "RUN|FILE")]
    baseline: Option<PathBuf>,

    /// Whether the baseline's file may be made in CI: `recap init --baseline` asks for it.
    #[arg(skip)]
    pub(super) makes_baseline: bool,

    /// Whether an undecided gate counts as passed or failed [default: no verdict, exit 3]
    #[arg(long, value_name = "pass|fail", value_parser = ["pass", "fail"])]
    undecided: Option<String>,

    /// Share of questions without answer or grade above which there is no verdict
    #[arg(long, value_name = "SHARE", default_value_t = MAX_UNSCORED, value_parser = share)]
    max_unscored: f64,

    /// The strategy that every other one is tested against, never `full` [default: fifo, else
    /// recorded]
    #[arg(long, value_name = "STRATEGY", help_heading = headings::COMPARISON)]
    comparator: Option<String>,

    /// How much worse still counts as no worse, as a share of the measure's range [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = margin, help_heading = headings::COMPARISON)]
    margin: Option<f64>,
}

fn share(typed: &str) -> Result<f64, String> {
    let share = typed.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share from 0 to 1 is expected, such as 0.05".to_owned())
}

fn margin(typed: &str) -> Result<f64, String> {
    let margin = typed.parse().ok().filter(|margin| *margin > 0.0 && *margin < 0.5);
    margin.ok_or_else(|| "a share above 0 and below 0.5 is expected, such as 0.05".to_owned())
}

/// The rules of a run, parsed and checked against the run.
#[derive(Debug)]
pub(super) struct GateRules {
    rules: Vec<Rule>,
    max_unscored: f64,
    undecided: UndecidedPolicy,
    baseline: Option<Baseline>,
    /// The baseline's file, where this run has to make it.
    first: Option<PathBuf>,
}

impl From<RuleError> for Failure {
    fn from(error: RuleError) -> Self {
        Failure::usage(error.to_string()).help(error.help)
    }
}

impl GateOptions {
    /// The rules of a run with these sessions, named with their data sets.
    pub(super) fn rules<'a>(
        &self,
        manifest: &mut Manifest,
        sessions: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<GateRules, Failure> {
        self.settle(manifest)?;
        let ids: Vec<(&str, &str)> = sessions.collect();
        let mut datasets: Vec<String> = ids.iter().map(|(set, _)| (*set).to_owned()).collect();
        datasets.dedup();
        let mut rules = Vec::new();
        for text in &self.fail_on {
            let rule = gate::parse(text)?;
            gate::fits(&rule, manifest, &datasets, self.baseline.is_some())?;
            rules.push(rule);
        }
        if self.baseline.is_some() && !rules.iter().any(Rule::needs_baseline) {
            return Err(Failure::usage("no rule refers to the baseline")
                .help("add one, such as `--fail-on 'recall < baseline - 0.02'`"));
        }
        let (first, there) = match &self.baseline {
            Some(path) if is_to_be_made(path) => (Some(path.clone()), None),
            path => (None, path.as_deref()),
        };
        let baseline = there.map(read).transpose()?;
        if let Some(path) = first.as_ref().filter(|_| !self.makes_baseline && wire::is_ci()) {
            return Err(uncommitted(path));
        }
        if let Some(baseline) = &baseline {
            let found = gate::comparable(baseline, manifest, &ids, &rules);
            if !found.is_empty() {
                return Err(refused(baseline, &found));
            }
        }
        Ok(GateRules {
            rules,
            baseline,
            first,
            max_unscored: self.max_unscored,
            undecided: match self.undecided.as_deref() {
                None => UndecidedPolicy::Incomplete,
                Some("pass") => UndecidedPolicy::Pass,
                Some(_) => UndecidedPolicy::Fail,
            },
        })
    }

    /// Puts the comparator and the margin into the manifest.
    fn settle(&self, manifest: &mut Manifest) -> Result<(), Failure> {
        if let Some(comparator) = &self.comparator {
            if comparator == FULL {
                return Err(Failure::usage("`full` is the ceiling: no test is made against it")
                    .help("every row is compared with `full` anyway; name another strategy"));
            }
            let names = manifest.strategies.iter().map(|strategy| strategy.name.as_str());
            if !names.clone().any(|name| name == comparator) {
                return Err(Failure::usage(format!(
                    "`{comparator}` is not among the strategies of this run"
                ))
                .help(suggest(comparator, names)));
            }
            manifest.comparator = Some(comparator.clone());
        }
        manifest.margin = self.margin.unwrap_or(manifest.margin);
        Ok(())
    }
}

impl GateRules {
    /// Whether there is no gate.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Applies the gate to a measured run; earlier findings are replaced.
    pub(super) fn apply(&self, report: &mut Report) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        // The first run is compared with itself: a rule without a figure is found at once.
        let first = self.first.as_deref();
        let first =
            first.map(|path| Baseline::of(format!("{}, made by this run", name(path)), report));
        let baseline = self.baseline.as_ref().or(first.as_ref());
        let settings =
            GateSettings { max_unscored: self.max_unscored, undecided: self.undecided, baseline };
        let mut gate = gate::check(report, &self.rules, &settings)
            .map_err(|found| refused(baseline.expect("only a baseline is refused"), &found))?;
        if first.is_some() {
            self.uncheck(&mut gate);
        }
        report.gate = Some(gate);
        Ok(())
    }

    /// Marks what was compared with this run itself.
    fn uncheck(&self, gate: &mut Gate) {
        let own = self.rules.iter().zip(&mut gate.rules).filter(|(rule, _)| rule.needs_baseline());
        for check in own.flat_map(|(_, findings)| &mut findings.checks) {
            if check.finding == CheckOutcome::Passed {
                check.finding = CheckOutcome::Unchecked;
                check.reason = "nothing was compared: this run makes the baseline".to_owned();
            }
        }
    }

    /// Leaves the baseline for the runs that follow, where there was none.
    pub(super) fn leave_baseline(&self, report: &Report, complete: bool) -> Result<(), Failure> {
        let Some(path) = &self.first else { return Ok(()) };
        let shown = path.display();
        if !complete {
            wire::say(&format!("warning: {shown} was not made, since this run is not complete"));
            return Ok(());
        }
        let mut bytes = Vec::new();
        write_baseline(report, &mut bytes).expect("memory takes every write");
        wire::write_file(path, &bytes)?;
        wire::say(&format!("wrote {shown}, which later runs are compared with: commit it"));
        Ok(())
    }

    /// Whether every cell reached its end and enough of the questions are graded.
    pub(super) fn is_complete(&self, measured: &Report) -> bool {
        let graded = mostly_graded(measured, self.max_unscored);
        let whole =
            |session: SessionResults<'_>| session.cells().iter().all(|c| c.rows().is_some());
        graded && measured.missing.is_none() && measured.results.iter().all(whole)
    }
}

/// Whether a path names a baseline's file that is not there, in a folder that is.
fn is_to_be_made(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_file = path.extension().is_some_and(|extension| extension == "json");
    is_file && !path.exists() && folder.is_none_or(Path::is_dir)
}

/// A gate that would compare nothing in CI.
fn uncommitted(path: &Path) -> Failure {
    let shown = path.display();
    Failure::usage(format!(
        "the baseline {shown} is not there, so that in CI the gate would compare nothing"
    ))
    .help(format!("make it with the same command outside of CI (CI= recap …), and commit {shown}"))
}

/// The name of a file or folder, also of `.` and the like.
pub(super) fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
}

/// A baseline from a run folder or a file.
fn read(path: &Path) -> Result<Baseline, Failure> {
    let name = name(path);
    if path.is_dir() {
        let Results { report, .. } = measure_run(RunRecord::read(path)?);
        if let Some(missing) = &report.missing {
            let what = format!("{}: {missing}", path.display());
            return Err(Failure::usage(what).help("only a complete run can be a baseline"));
        }
        return Ok(Baseline::of(name, &report));
    }
    let wrong = |problem: String| {
        Failure::usage(format!("{}: {problem}", path.display()))
            .help("give a run folder, the baseline.json that `recap bench` leaves in one, or a NAME.json in a folder that is there, which the run then makes")
    };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    Baseline::parse(name, &text).map_err(wrong)
}

fn refused(baseline: &Baseline, found: &[String]) -> Failure {
    let what = format!("the baseline {} cannot be compared: {}", baseline.name, found.join("; "));
    Failure::usage(what)
        .help("measure the same data with the same settings, or remove the baseline for a new one")
}

/// The exit code of a run. A failure is measured on a complete row, so it
/// counts whatever happened to other rows: 1. Otherwise an incomplete run, or a
/// gate with missing or undecided findings, has no verdict: 3.
pub(super) fn ending(gate: Option<&Gate>, complete: bool) -> Exit {
    match gate.map_or(CheckOutcome::Passed, Gate::finding) {
        CheckOutcome::Failed => Exit::Failed,
        CheckOutcome::Passed | CheckOutcome::Unchecked if complete => Exit::Done,
        _ => Exit::Incomplete,
    }
}

/// The findings of a gate: a line for every check that did not pass or whose figure is not the
/// baseline's, and the number of those that passed.
pub(super) fn describe(gate: &Gate) -> String {
    let mut text = String::new();
    let all = gate.checks().count();
    let passed = gate.checks().filter(|check| check.finding == CheckOutcome::Passed).count();
    let against = gate.baseline.as_ref().map(|name| format!(" against {name}"));
    let _ = write!(
        text,
        "\n gate{}: {}; {passed} of {} passed\n",
        against.unwrap_or_default(),
        gate.finding().as_str(),
        counted(all, "check"),
    );
    let is_changed = |check: &Check| check.baseline.is_some() && check.baseline != check.value;
    for (check, said) in in_words(gate) {
        if is_open(check) || is_changed(check) {
            let _ = writeln!(text, "  {:9} {said}", check.finding.as_str());
        }
    }
    harmless(&text).into_owned()
}

/// Every check, with its rule, row and reason in words.
fn in_words(gate: &Gate) -> impl Iterator<Item = (&Check, String)> {
    let all = gate.rules.iter().flat_map(|rule| rule.checks.iter().map(move |check| (rule, check)));
    all.map(|(rule, check)| {
        let place = format!("{} · {} · {}", check.strategy, check.window, check.dataset);
        (check, format!("{} · {place}: {}", rule.rule, check.reason))
    })
}

fn is_open(check: &Check) -> bool {
    check.finding != CheckOutcome::Passed
}

/// Says on standard error which checks did not pass, where programs read the rest.
pub(super) fn say_open(gate: &Gate) {
    for (check, said) in in_words(gate).filter(|(check, _)| is_open(check)) {
        let kind = match (check.finding, gate.undecided) {
            (CheckOutcome::Failed, _) | (CheckOutcome::Undecided, UndecidedPolicy::Fail) => "error",
            _ => "warning",
        };
        wire::say(&format!("{kind}: gate {}: {said}", check.finding.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::RuleFindings;

    fn gate(findings: &[CheckOutcome], undecided: UndecidedPolicy) -> Gate {
        let check = |finding: &CheckOutcome| Check {
            dataset: "d".into(),
            strategy: "fifo".into(),
            window: "25%".into(),
            agent_model: "m".into(),
            measure: "recall".into(),
            value: None,
            baseline: None,
            interval: None,
            sessions: 1,
            finding: *finding,
            reason: "0.51 is below 0.8".into(),
        };
        let checks = findings.iter().map(check).collect();
        let rules = vec![RuleFindings { rule: "recall < 0.8".into(), checks }];
        Gate { baseline: None, undecided, rules }
    }

    /// The exit code as the contract words it, over what was found.
    fn contracted(findings: &[CheckOutcome], policy: UndecidedPolicy, complete: bool) -> u8 {
        let any = |finding| findings.contains(&finding);
        let undecided = any(CheckOutcome::Undecided);
        if any(CheckOutcome::Failed) || (undecided && policy == UndecidedPolicy::Fail) {
            return 1;
        }
        let open = undecided && policy == UndecidedPolicy::Incomplete;
        if !complete || any(CheckOutcome::Missing) || open { 3 } else { 0 }
    }

    #[test]
    fn every_findings_policy_gap_combination_ends_as_contracted() {
        use CheckOutcome::{Failed, Missing, Passed, Unchecked, Undecided};
        let policies = [UndecidedPolicy::Incomplete, UndecidedPolicy::Pass, UndecidedPolicy::Fail];
        for subset in 0..32_u8 {
            let all = [Passed, Unchecked, Undecided, Missing, Failed].into_iter().enumerate();
            let those = all.filter(|(at, _)| subset >> at & 1 == 1).map(|(_, finding)| finding);
            let those: Vec<CheckOutcome> = those.collect();
            for policy in policies {
                for complete in [true, false] {
                    let ended = ending(Some(&gate(&those, policy)), complete).number();
                    let due = contracted(&those, policy, complete);
                    assert_eq!(ended, due, "{those:?} {policy:?} {complete}");
                }
            }
        }
        assert_eq!((ending(None, true), ending(None, false)), (Exit::Done, Exit::Incomplete));
    }

    #[test]
    fn no_name_drives_the_terminal() {
        let mut failed = gate(&[CheckOutcome::Failed, CheckOutcome::Failed], UndecidedPolicy::Pass);
        failed.rules[0].checks[0].strategy = "a\u{1b}[31mb".into();
        assert!(describe(&failed).contains("0.51 is below 0.8"));
        assert!(!describe(&failed).contains('\u{1b}'));
    }
}
