//! `recap init`: writes initial settings and a CI workflow.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path};

use clap::Args;

use super::{config, inputs, wire};
use crate::failure::{Exit, Failure};
use recap_billing::pricing::PriceList;
use recap_core::model::{Session, Support};
use recap_core::tokens::Sizes;
use recap_exam::facts::mine;
use recap_formats::Dataset;

/// The folder in which GitHub looks for workflows, with the file's name.
const WORKFLOW: &str = ".github/workflows/recap.yml";

/// The line that installs recap, without its source.
const INSTALL_TEXT: &str = "        run: cargo install --locked @SOURCE@";

/// The variable with the address of recap's repository, used where none was typed.
const VARIABLE: &str = "RECAP_REPOSITORY";

/// The template of the workflow, with placeholders in capitals between `@`.
const WORKFLOW_TEXT: &str = include_str!("init/recap.yml");
const COMMENT_TEXT: &str = include_str!("init/comment.yml");

/// Options of `recap init`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A data set's folder, or a session, inside this folder [default: the bundled quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    /// Let the workflow also write the report into a comment on the pull request
    #[arg(long)]
    comment: bool,

    /// Where the workflow installs recap from: a git repository, or a crate's name [default: the
    /// variable RECAP_REPOSITORY of your repository]
    #[arg(long, value_name = "URL|CRATE")]
    source: Option<String>,

    /// Also run `recap bench` at once, which writes the baseline of later runs
    #[arg(long)]
    baseline: bool,

    /// Overwrite files that are there
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    reading: inputs::ReadOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.inputs.iter().any(|input| input == "-") {
        return Err(Failure::usage("standard input cannot be read again in CI")
            .help("give a file or folder of the repository"));
    }
    let datasets = inputs::load(&arguments.inputs, &arguments.reading.options())?;
    let files =
        [(config::FILE, text(&arguments.inputs, &datasets)), (WORKFLOW, workflow(arguments)?)];
    // A file that is there may hold somebody's work.
    let there = files.iter().map(|(path, _)| *path).filter(|path| Path::new(path).exists());
    let there: Vec<&str> = there.filter(|_| !arguments.force).collect();
    if !there.is_empty() {
        return Err(Failure::usage(format!("{} exists already", there.join(" and ")))
            .help("--force overwrites it"));
    }
    let mut summary = String::new();
    for (path, text) in &files {
        wire::write_file(Path::new(path), text.as_bytes())?;
        summary.push_str(&format!("wrote {path}\n"));
    }
    for input in arguments.inputs.iter().filter(|input| !stays_inside(input)) {
        summary.push_str(&format!("note: {input} lies outside this folder, CI will not find it\n"));
    }
    if source(arguments).is_none() {
        summary.push_str(&format!(
            "note: recap is in no registry: give --source URL, the address that you cloned it from, \
             or set the variable {VARIABLE} of your repository to it\n"
        ));
    }
    if arguments.baseline {
        wire::print(&summary)?;
        let bench = ["recap", "bench"].map(OsString::from);
        let mut cli = config::parse(bench.to_vec())?;
        if let Some(super::Command::Bench(arguments)) = &mut cli.command {
            arguments.gating.makes_baseline = true;
        }
        return super::dispatch(cli);
    }
    summary.push_str(&format!(
        "next: recap bench (the first run writes {}, which later ones are compared with: commit it)\n",
        BASELINE
    ));
    wire::print(&summary)?;
    Ok(Exit::Done)
}

/// The source that recap is installed from: as typed, else from its own package.
fn source(arguments: &Arguments) -> Option<&str> {
    let packaged = Some(env!("CARGO_PKG_REPOSITORY")).filter(|url| !url.is_empty());
    arguments.source.as_deref().or(packaged)
}

fn workflow(arguments: &Arguments) -> Result<String, Failure> {
    let (comment, permission) =
        if arguments.comment { (COMMENT_TEXT, "\n  pull-requests: write") } else { ("", "") };
    Ok(WORKFLOW_TEXT
        .replace(INSTALL_TEXT, &install(source(arguments))?)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@PERMISSION@", permission)
        .replace("@HASHED@", &hashed(&arguments.inputs))
        .replace("@COMMENT@", comment))
}

/// The line that installs recap, with what it needs. The typed source ends up
/// in a script, so only a name or an address is accepted.
fn install(typed: Option<&str>) -> Result<String, Failure> {
    let crate_name = env!("CARGO_PKG_NAME");
    let Some(typed) = typed else {
        return Ok(format!(
            "        env:\n          # The address from which recap was cloned; `recap init --source URL` \
             writes it\n          # here.\n          SOURCE: ${{{{ vars.{VARIABLE} }}}}\n        run: \
             cargo install --locked --git \"${{SOURCE:?set the variable {VARIABLE} of this repository \
             to the address of recap}}\" {crate_name}"
        ));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@~+".contains(c);
    if typed.is_empty() || typed.starts_with('-') || !typed.chars().all(plain) {
        return Err(Failure::usage(format!(
            "--source `{typed}` is neither a crate nor an address"
        ))
        .help("for example --source https://github.com/you/recap"));
    }
    let source = if typed.contains(['/', ':']) {
        format!("--git {typed} {crate_name}")
    } else {
        format!("{typed}@{}", env!("CARGO_PKG_VERSION"))
    };
    Ok(format!("        run: cargo install --locked {source}"))
}

/// The files that determine the recorded calls, for `hashFiles`. A name that
/// could break the expression is left out: then calls are found by the rest.
fn hashed(typed: &[String]) -> String {
    let mut globs = vec!["recap.toml".to_owned(), "strategies/**".to_owned()];
    let plain = |c: char| c.is_alphanumeric() || "-_./ ".contains(c);
    let inside = typed.iter().filter(|input| stays_inside(input) && input.chars().all(plain));
    globs.extend(inside.filter(|input| Path::new(input).exists()).map(|input| {
        let input = input.trim_start_matches("./").trim_end_matches('/');
        if Path::new(input).is_dir() { format!("{input}/**") } else { input.to_owned() }
    }));
    globs.iter().map(|glob| format!("'{glob}'")).collect::<Vec<_>>().join(", ")
}

/// Whether a path stays below this folder.
fn stays_inside(input: &str) -> bool {
    Path::new(input).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

// `recap.toml` for the user's sessions: the window that fits them, and rules
// that a run on them can decide.

const TEXT: &str = include_str!("init/recap.toml");

/// The file that the first run leaves for later ones.
const BASELINE: &str = "recap-baseline.json";

/// The text of `recap.toml`.
fn text(typed: &[String], datasets: &[Dataset]) -> String {
    let default = [inputs::DEFAULT.to_owned()];
    let names = if typed.is_empty() { &default[..] } else { typed };
    let quoted = |name: &String| toml::Value::String(name.clone()).to_string();
    let names: Vec<String> = names.iter().map(quoted).collect();
    TEXT.replace("@INPUTS@", &names.join(", "))
        .replace("@WINDOW@", window(datasets))
        .replace("@RULES@", &rules(datasets).join("\n"))
        .replace("@BASELINE@", BASELINE)
}

/// Recordings of agents are replayed at the limit of their model, chats without
/// usage at a share of each; a run of both chooses for each data set.
fn window(datasets: &[Dataset]) -> &'static str {
    let recorded = datasets.iter().filter(|dataset| dataset.has_limits()).count();
    match recorded {
        0 => "window = [\"50%\"]",
        n if n == datasets.len() => "window = [\"native\"]",
        _ => "# window = [\"native\"]",
    }
}

/// The rules for these data sets. All are about the whole replay, where figures
/// move with thresholds and strategies: at a cut a compaction is forced, whatever
/// the threshold. They compare with a baseline, since nobody has measured yet
/// which number is good here. Each is a line with what it forbids; one that could not be decided
/// here is commented out, with why.
fn rules(datasets: &[Dataset]) -> Vec<String> {
    let asked = datasets.iter().any(|dataset| !dataset.questions.is_empty());
    let mut sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
    let named = sessions.clone().flat_map(|t| t.model.iter().chain(t.other_models.values()));
    let list = PriceList::bundled();
    let unpriced = named.collect::<BTreeSet<_>>().iter().any(|name| list.priced(name).is_none());
    let rule = |rule: &str, forbids: &str, off: Option<&str>| match off {
        None => format!("    \"{rule}\", # {forbids}"),
        Some(why) => format!("    # \"{rule}\", # {forbids} ({why})"),
    };
    let kept = if asked {
        rule("continuity < baseline - 5", "fewer right answers than before", None)
    } else {
        let few = !sessions.any(has_references);
        let few = few.then_some("these sessions use too little of what was said long before");
        rule("reference_recall < baseline - 0.05", "fewer needed facts kept than before", few)
    };
    let unknown =
        "unknown here: a session's model has no price; --prices takes a list that has one";
    let bill = |off| rule("cost_usd > baseline * 1.1", "a bill over 10 % higher than before", off);
    let sent = rule("tokens_sent > baseline * 1.1", "over 10 % more tokens than before", None);
    let bill = if unpriced { vec![bill(Some(unknown)), sent] } else { vec![bill(None)] };
    let refused = rule("overflows > baseline", "more requests over the window than before", None);
    [vec![kept], bill, vec![refused]].concat()
}

/// Whether a session has enough references for a figure.
fn has_references(session: &Session) -> bool {
    let sizes = Sizes::of(session, &wire::counter(None));
    let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
    let exam = mine(session, &tokens);
    Support::of(exam.references.iter()).suffices()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crate_or_repository_is_installed_never_script() {
        let version = env!("CARGO_PKG_VERSION");
        let line = |typed: &str| install(Some(typed)).map(|text| text.trim().to_owned());
        let run = "run: cargo install --locked";
        assert_eq!(line("recap-bench").unwrap(), format!("{run} recap-bench@{version}"));
        let url = "https://example.com/you/recap";
        assert_eq!(line(url).unwrap(), format!("{run} --git {url} recap-bench"));
        for bad in ["", "--config x", "a; rm", "a$(b)", "a\nb", "${{ x }}"] {
            assert!(line(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_names_valid_in_expressions_are_hashed() {
        let all = ["tests/it's", "../out.jsonl", "/abs", "}}", "absent.jsonl"].map(str::to_owned);
        assert_eq!(hashed(&all), "'recap.toml', 'strategies/**'");
        assert_eq!(hashed(&["./src/".to_owned()]), "'recap.toml', 'strategies/**', 'src/**'");
    }
}
