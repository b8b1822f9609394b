//! Prints a report: a table on a terminal, files for programs, a page for people.
//!
//! In: a [`Report`]. Out: bytes. [`FORMATS`] lists every file;
//! [`document`] has what is printed for people, built once and rendered for a terminal, Markdown
//! and HTML; `html` is the page around it.
//!
//! Invariant: a report is a function of the measured rows. Nothing here opens a file, prints,
//! or reads a clock, so the same rows give the same bytes; writing them is the program's work.
//!
//! Next: the program (`src/lib.rs`).

use std::borrow::Cow;
use std::io::{Result, Write};

use indexmap::IndexSet;

use recap_core::model::Report;
use recap_core::wording::number;

use sheet::{cells, cuts as at_cuts, questions as asked, rows};

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

const fn csv(file: &'static str, render: Render) -> Format {
    Format { name: "csv", file, render }
}

/// Every file that a run leaves for its readers, in the order of writing. `docs/files.md` says what
/// each holds.
pub static FORMATS: &[Format] = &[
    csv("frontier.csv", tuned::csv),
    csv("summary.csv", rows::summary),
    csv("sessions.csv", sessions::csv),
    csv("savers.csv", savers::csv),
    csv("compactions.csv", cells::compactions),
    csv("requests.csv", cells::requests),
    csv("references.csv", cells::references),
    csv("cuts.csv", at_cuts::cuts),
    csv("facts.csv", at_cuts::facts),
    csv("cut_questions.csv", asked::at_cuts),
    csv("questions.csv", asked::questions),
    #[cfg(feature = "parquet")]
    Format { name: "parquet", file: "results.parquet", render: sheet::parquet::render },
    csv("validation.csv", rows::validation),
    csv("receipt.csv", sheet::receipt::render),
    csv("sizes.csv", rows::sizes),
    csv("recorded_compactions.csv", rows::recorded),
    csv("calls.csv", rows::calls),
    Format { name: "json", file: "summary.json", render: summary_json::render },
    Format { name: "md", file: "report.md", render: markdown::render },
    Format { name: "junit", file: "junit.xml", render: junit::render },
    Format { name: "html", file: "report.html", render: html::render },
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
