//! Prints a report: a table on a terminal, files for programs, a page for people.
//!
//! In: a [`Report`]. Out: bytes. [`FORMATS`] lists every file;
//! [`document`] has what is printed for people, built once and rendered for a terminal, Markdown
//! and HTML; `html` is the page around it.
//!
//! Invariant: a report is a function of the measured rows. Nothing here opens a file, prints,
//! or reads a clock, so the same rows give the same bytes; writing them is the program's work.

// Where an invariant holds, `expect` says it. `clippy.toml` names what reads the environment and the
// clock, opens a socket or starts a program: a module that may says so at its head.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::dbg_macro,
        clippy::disallowed_methods,
        clippy::disallowed_types
    )
)]

use std::borrow::Cow;
use std::io::{Result, Write};

use indexmap::IndexSet;

use recap_core::model::Report;
use recap_core::wording::number;

use sheet::{cells, cuts as at_cuts, questions as asked, rows};

mod bill;
mod block;
mod calibration;
mod certainty;
mod comparison;
mod cuts;
pub mod document;
mod gate;
mod html;
mod junit;
mod markdown;
mod plain;
mod questions;
mod receipt;
mod savers;
mod sessions;
mod settings;
mod sheet;
mod sizes;
mod summary_json;
mod table;
mod tuned;

#[cfg(test)]
mod testkit;

pub use calibration::{calibration_csv, calibration_json, calibration_table, verdicts_csv};
pub use comparison::{comparison_json, comparison_md, comparison_table};
pub use document::{STYLES, Screen};
pub use html::comparison_html;
pub use settings::calls_table;
pub use sheet::rows::calls_csv;
pub use table::table;

/// Where the page finds the words of a hash. Not given (`--no-text`), the
/// page shows sizes and states only.
pub trait Texts: Sync {
    /// The text stored under this hash, if it is there.
    fn get(&self, hash: &str) -> Option<Cow<'_, str>>;
}

/// What a format renders.
#[derive(Clone, Copy)]
pub struct RenderInput<'a> {
    /// The comparison.
    pub report: &'a Report,
    /// Texts of messages and summaries; `None` keeps them out of the page, and
    /// with them what was asked, expected and answered.
    pub texts: Option<&'a dyn Texts>,
}

/// One file of a run folder and how it is made.
pub struct Format {
    /// What `--format` calls it; several files may share one name.
    pub name: &'static str,
    /// File name in the run folder.
    pub file: &'static str,
    /// What it holds, in a line.
    pub about: &'static str,
    /// Renders it, piece by piece where it is large.
    pub render: Render,
}

/// Writes a file of a run.
pub type Render = fn(&RenderInput<'_>, &mut dyn Write) -> Result<()>;

impl Format {
    /// The file in memory.
    pub fn bytes(&self, source: &RenderInput<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        (self.render)(source, &mut bytes).expect("memory takes every write");
        bytes
    }
}

const fn csv(file: &'static str, about: &'static str, render: Render) -> Format {
    Format { name: "csv", file, about, render }
}

/// Every file that a run leaves for its readers, in the order of writing.
pub static FORMATS: &[Format] = &[
    csv(
        "frontier.csv",
        "one row per setting that `recap tune` compared: bill and facts kept on both halves",
        tuned::csv,
    ),
    csv(
        "summary.csv",
        "one row per data set, strategy, window and billing model: the measures that tables need",
        rows::summary,
    ),
    csv(
        "sessions.csv",
        "one row per session, strategy, window and billing model, the dearest session first",
        sessions::csv,
    ),
    csv(
        "savers.csv",
        "one row per token saver, window and billing model: what it says it saves, and the bill",
        savers::csv,
    ),
    csv(
        "compactions.csv",
        "one row per compaction and billing model: trigger, sizes, model calls, cost",
        cells::compactions,
    ),
    csv(
        "requests.csv",
        "one row per request and billing model: what was sent, billed and needed",
        cells::requests,
    ),
    csv(
        "references.csv",
        "one row per reference and strategy: kept, partial, bare, lost or refused",
        cells::references,
    ),
    csv(
        "cuts.csv",
        "one row per cut, strategy and repetition: facts kept, sizes, waits",
        at_cuts::cuts,
    ),
    csv(
        "facts.csv",
        "one row per fact and strategy: verbatim, carried, bare, partial, recovered or lost",
        at_cuts::facts,
    ),
    csv(
        "cut_questions.csv",
        "one row per question asked at a cut and strategy: expected, answered before and after, graded",
        asked::at_cuts,
    ),
    csv(
        "questions.csv",
        "one row per question of a data set and strategy: asked, expected, answered before and after, graded",
        asked::questions,
    ),
    #[cfg(feature = "parquet")]
    Format {
        name: "parquet",
        file: "results.parquet",
        about: "the rows of questions.csv in typed columns, for data tools",
        render: sheet::parquet::render,
    },
    csv(
        "validation.csv",
        "one row per session with reported usage: the simulated bill against the recorded one",
        rows::validation,
    ),
    csv(
        "receipt.csv",
        "what sessions cost as recorded, by kind of token; rebuilt caches; what fills contexts",
        sheet::receipt::render,
    ),
    csv(
        "sizes.csv",
        "one row per session and size at which its agent's compaction would have fired",
        rows::sizes,
    ),
    csv(
        "recorded_compactions.csv",
        "one row per compaction on record, with the prompts around it",
        rows::recorded,
    ),
    csv(
        "calls.csv",
        "one row per call of a real model: tokens by bucket, price, latency, waiting, attempts",
        rows::calls,
    ),
    Format {
        name: "json",
        file: "summary.json",
        about: "the comparison with intervals, reasons of absence and the manifest",
        render: summary_json::render,
    },
    Format {
        name: "md",
        file: "report.md",
        about: "the gate, the verdict and the ranking in a page, for pull requests and job summaries",
        render: markdown::render,
    },
    junit::FORMAT,
    Format {
        name: "html",
        file: "report.html",
        about: "the comparison for people: one page, no network, no script needed for the answer",
        render: html::render,
    },
];

/// What `--format` takes, each name once, in the order of writing.
pub fn format_names() -> IndexSet<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// The named formats ([`format_names`]); all of them where none is named. A
/// name that is unknown names nothing: the command line checks names against
/// [`FORMATS`] first.
pub fn formats(names: &[&str]) -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| names.is_empty() || names.contains(&format.name))
}

#[cfg(test)]
mod tests;
