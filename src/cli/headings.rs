//! The headings of options in `--help`. A heading applies to all options after
//! it, so those of a flattened struct are given with the flattened field, and
//! single options name theirs.

/// Options that select the presets to compare.
pub(super) const STRATEGIES: &str = "Strategies";
/// Options of a search.
pub(super) const SEARCH: &str = "Search";
/// Options of the replay.
pub(super) const REPLAY: &str = "Replay";
/// Options that select the models in the seats.
pub(super) const SEATS: &str = "Models in the seats";
/// Options of model calls.
pub(super) const CALLS: &str = "Calls of models";
/// Options that select the prices of the sessions.
pub(super) const BILL: &str = "Bill";
/// Options of the output files.
pub(super) const REPORT: &str = "Report";
/// Options of the gate.
pub(super) const GATE: &str = "Gate";
/// Options of statistical tests.
pub(super) const COMPARISON: &str = "Comparison";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::Cli;

    /// Where options stand that name no heading.
    const PLAIN: &str = "Options";

    /// The options of a subcommand by the heading under which they stand.
    fn options(command: &Command) -> BTreeMap<&str, Vec<&str>> {
        let mut by_heading: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for option in command.get_arguments() {
            let heading = option.get_help_heading().unwrap_or(PLAIN);
            by_heading.entry(heading).or_default().push(option.get_id().as_str());
        }
        by_heading
    }

    const CALLED: &[&str] = &[
        "cassette",
        "record",
        "replay",
        "max_cost",
        "concurrency",
        "per_minute",
        "attempts",
        "timeout",
        "redact",
    ];
    const RUN: &[(&str, &[&str])] = &[
        (
            PLAIN,
            &["inputs", "latest", "config", "dry_run", "json", "wide", "quiet", "verbose", "help"],
        ),
        (STRATEGIES, &["strategy", "set"]),
        (SEATS, &["compactor", "answerer", "judge", "embedder", "questions"]),
        (CALLS, CALLED),
        (
            REPLAY,
            &[
                "window",
                "no_scale",
                "cuts",
                "depth",
                "replicates",
                "seed",
                "jobs",
                "tokens",
                "limit",
                "shard",
                "sidechains",
                "max_unpacked",
            ],
        ),
        (BILL, &["agent_model", "prices"]),
        (REPORT, &["out", "resume", "format", "open", "no_text"]),
        (GATE, &["fail_on", "baseline", "undecided", "max_unscored"]),
        (COMPARISON, &["comparator", "margin"]),
    ];
    const RENDER: &[(&str, &[&str])] = &[
        (PLAIN, &["run", "config", "help"]),
        (REPORT, &["format", "no_text", "open", "wide"]),
        (GATE, &["fail_on", "baseline", "undecided", "max_unscored"]),
        (COMPARISON, &["comparator", "margin"]),
    ];
    const MERGE: &[(&str, &[&str])] = &[
        (PLAIN, &["shards", "config", "help"]),
        (CALLS, &["cassettes"]),
        (REPORT, &["out", "format", "no_text", "open", "wide"]),
        (GATE, &["fail_on", "baseline", "undecided", "max_unscored"]),
        (COMPARISON, &["comparator", "margin"]),
    ];
    const JUDGE: &[(&str, &[&str])] = &[
        (PLAIN, &["run", "out", "json", "help"]),
        (SEATS, &["judge"]),
        (CALLS, CALLED),
        (BILL, &["prices"]),
    ];
    const CALIBRATE: &[(&str, &[&str])] = &[
        (PLAIN, &["files", "sample", "seed", "out", "json", "help"]),
        (SEATS, &["judge"]),
        (CALLS, CALLED),
        (BILL, &["prices"]),
    ];

    const GENERATE: &[(&str, &[&str])] = &[
        (PLAIN, &["input", "cuts", "out", "max_unpacked", "dry_run", "help"]),
        (SEATS, &["model"]),
        (CALLS, CALLED),
        (BILL, &["prices"]),
    ];

    const ADVISE: &[(&str, &[&str])] = &[
        (PLAIN, &["inputs", "latest", "json", "quiet", "help"]),
        (STRATEGIES, &["strategy", "set"]),
        (SEATS, &["compactor", "answerer", "judge", "embedder", "questions"]),
        (CALLS, CALLED),
        (
            REPLAY,
            &[
                "window",
                "cuts",
                "replicates",
                "seed",
                "jobs",
                "limit",
                "sidechains",
                "max_unpacked",
            ],
        ),
        (BILL, &["agent_model", "prices"]),
        (REPORT, &["out", "open", "no_text"]),
    ];

    const TUNE: &[(&str, &[&str])] = &[
        (PLAIN, &["inputs", "json", "quiet", "help"]),
        (SEARCH, &["space", "settings", "objective", "hold_back", "max_wait"]),
        (SEATS, &["compactor", "answerer", "judge", "embedder", "questions"]),
        (CALLS, CALLED),
        (
            REPLAY,
            &[
                "window",
                "no_scale",
                "cuts",
                "depth",
                "replicates",
                "seed",
                "jobs",
                "tokens",
                "max_unpacked",
            ],
        ),
        (BILL, &["agent_model", "prices"]),
        (REPORT, &["out", "resume"]),
    ];

    #[track_caller]
    fn check(path: &str, command: &Command) {
        let expected: &[(&str, &[&str])] = match path {
            "recap bench" | "recap replay" => RUN,
            "recap advise" => ADVISE,
            "recap report" => RENDER,
            "recap merge" => MERGE,
            "recap judge" => JUDGE,
            "recap judge calibrate" => CALIBRATE,
            "recap probes generate" => GENERATE,
            "recap tune" => TUNE,
            _ => {
                let found = options(command);
                let others: Vec<&&str> = found.keys().filter(|head| **head != PLAIN).collect();
                assert!(others.is_empty(), "{path}: {found:?}");
                return;
            }
        };
        let sorted = |names: &[&'static str]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names
        };
        let mut found = options(command);
        found.values_mut().for_each(|names| names.sort_unstable());
        let expected = expected.iter().map(|(head, names)| (*head, sorted(names))).collect();
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn each_option_stands_under_its_heading_in_every_command() {
        let mut root = Cli::command();
        root.build();
        let mut open = vec![("recap".to_owned(), &root)];
        let mut commands = 0;
        while let Some((path, command)) = open.pop() {
            check(&path, command);
            commands += 1;
            let below = command.get_subcommands().filter(|c| c.get_name() != "help");
            open.extend(below.map(|below| (format!("{path} {}", below.get_name()), below)));
        }
        assert!(commands > 15, "{commands}");
    }
}
