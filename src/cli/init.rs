//! `recap init`: settings and a workflow to begin with.

use std::path::{Component, Path};

use clap::Args;

use super::exit::{Exit, Failure};
use super::report::print;
use super::{config, inputs};
use crate::dataset::Dataset;

/// Where GitHub looks for workflows.
const WORKFLOW: &str = ".github/workflows/recap.yml";

/// What is written, but for the words in capitals between `@`.
const SETTINGS_TEXT: &str = include_str!("init/recap.toml");
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

    /// Where the workflow installs recap from: a crate's name, or the address of a git repository
    #[arg(long, value_name = "CRATE|URL", default_value = env!("CARGO_PKG_NAME"))]
    source: String,

    /// Overwrite files that are there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.inputs.iter().any(|input| input == "-") {
        return Err(Failure::usage("standard input cannot be read again in CI")
            .help("give a file or folder of the repository"));
    }
    let datasets = inputs::load(&arguments.inputs, false)?;
    let files =
        [(config::FILE, settings(&arguments.inputs, &datasets)), (WORKFLOW, workflow(arguments)?)];
    if !arguments.force {
        refuse_what_is_there(&files.each_ref().map(|(path, _)| *path))?;
    }
    let mut told = String::new();
    for (path, text) in &files {
        write(Path::new(path), text)?;
        told.push_str(&format!("wrote {path}\n"));
    }
    for input in arguments.inputs.iter().filter(|input| !stays_inside(input)) {
        told.push_str(&format!("note: {input} lies outside this folder, CI will not find it\n"));
    }
    told.push_str("next: recap bench\n");
    print(&super::wire::for_reader(told))?;
    Ok(Exit::Done)
}

/// All or nothing: what is there is somebody's work.
fn refuse_what_is_there(paths: &[&str]) -> Result<(), Failure> {
    let there: Vec<&str> = paths.iter().copied().filter(|path| Path::new(path).exists()).collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!("{} exists already", there.join(" and ")))
        .help("--force overwrites it"))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| {
            Failure::usage(format!("cannot write {}: {error}", path.display()))
                .help("run it in the folder of your repository")
        })
}

/// The settings: rules speak of probes only where there are some.
fn settings(typed: &[String], datasets: &[Dataset]) -> String {
    let default = [inputs::DEFAULT.to_owned()];
    let names = if typed.is_empty() { &default[..] } else { typed };
    let quoted = |name: &String| toml::Value::String(name.clone()).to_string();
    let names: Vec<String> = names.iter().map(quoted).collect();
    let probed = datasets.iter().any(|dataset| !dataset.probes.is_empty());
    let (measure, least, drop) =
        if probed { ("continuity", "80", "5") } else { ("kept_at_cut", "0.3", "0.05") };
    SETTINGS_TEXT
        .replace("@INPUTS@", &names.join(", "))
        .replace("@MEASURE@", measure)
        .replace("@LEAST@", least)
        .replace("@DROP@", drop)
}

fn workflow(arguments: &Arguments) -> Result<String, Failure> {
    let (comment, permission) =
        if arguments.comment { (COMMENT_TEXT, "\n  pull-requests: write") } else { ("", "") };
    Ok(WORKFLOW_TEXT
        .replace("@SOURCE@", &source(&arguments.source)?)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@PERMISSION@", permission)
        .replace("@HASHED@", &hashed(&arguments.inputs))
        .replace("@COMMENT@", comment))
}

/// What `cargo install` takes. It stands in a script, so it is no more than a
/// name or an address.
fn source(typed: &str) -> Result<String, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@~+".contains(c);
    if typed.is_empty() || typed.starts_with('-') || !typed.chars().all(plain) {
        return Err(Failure::usage(format!(
            "--source `{typed}` is neither a crate nor an address"
        ))
        .help("for example --source https://github.com/you/recap"));
    }
    let crate_name = env!("CARGO_PKG_NAME");
    Ok(if typed.contains(['/', ':']) {
        format!("--git {typed} {crate_name}")
    } else {
        format!("{typed}@{}", env!("CARGO_PKG_VERSION"))
    })
}

/// The files on which recorded calls hang, for `hashFiles`. A name that an
/// expression could trip over is left out: then calls are found by the rest.
fn hashed(typed: &[String]) -> String {
    let mut globs = vec!["recap.toml".to_owned(), "presets/**".to_owned()];
    let plain = |c: char| c.is_alphanumeric() || "-_./ ".contains(c);
    let inside = typed.iter().filter(|input| stays_inside(input) && input.chars().all(plain));
    globs.extend(inside.filter(|input| Path::new(input).exists()).map(|input| {
        let input = input.trim_start_matches("./").trim_end_matches('/');
        if Path::new(input).is_dir() { format!("{input}/**") } else { input.to_owned() }
    }));
    globs.iter().map(|glob| format!("'{glob}'")).collect::<Vec<_>>().join(", ")
}

/// Whether a path leads nowhere but below this folder.
fn stays_inside(input: &str) -> bool {
    Path::new(input).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_a_crate_or_a_repository_and_no_script() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(source("recap-bench").unwrap(), format!("recap-bench@{version}"));
        let url = "https://example.com/you/recap";
        assert_eq!(source(url).unwrap(), format!("--git {url} recap-bench"));
        for bad in ["", "--config x", "a; rm", "a$(b)", "a\nb", "${{ x }}"] {
            assert!(source(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_names_that_an_expression_can_hold_are_hashed() {
        let all = ["tests/it's", "../out.jsonl", "/abs", "}}", "absent.jsonl"].map(str::to_owned);
        assert_eq!(hashed(&all), "'recap.toml', 'presets/**'");
        assert_eq!(hashed(&["./src/".to_owned()]), "'recap.toml', 'presets/**', 'src/**'");
    }
}
