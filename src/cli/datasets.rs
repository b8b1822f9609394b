//! `recap datasets`.

use clap::{Args, Subcommand};

use super::wire;
use crate::failure::{Exit, Failure};
use recap_core::model::suggest;
use recap_core::text::counted;
use recap_formats::{Dataset, FORMATS, Format, Tried, bundled, bundled_names};

/// Options of `recap datasets`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the bundled data sets (the default)
    List,
    /// Describe a bundled data set
    Show {
        /// Its name
        name: String,
    },
    /// List the formats of recordings that are read, with the name that `recap import` takes
    ///
    /// Formats marked "from documentation" were written without recordings at hand.
    Formats,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = match &arguments.action {
        None | Some(Action::List) => {
            let lines: Result<Vec<String>, Failure> = bundled_names().map(line).collect();
            lines?.concat()
        }
        Some(Action::Show { name }) => describe(&find(name)?),
        Some(Action::Formats) => {
            let line = |format: &&Format| {
                let from = match format.tried {
                    Tried::Documentation => " (from documentation)",
                    Tried::Own | Tried::On { .. } => "",
                };
                format!("{:16} {}{from}\n", format.name, format.describe)
            };
            FORMATS.iter().map(line).collect()
        }
    };
    wire::print(&text)?;
    Ok(Exit::Done)
}

fn find(name: &str) -> Result<Dataset, Failure> {
    match bundled(name) {
        Some(dataset) => Ok(dataset?),
        None => Err(Failure::usage(format!("data set `{name}` is not bundled"))
            .help(suggest(name, bundled_names()))),
    }
}

fn line(name: &str) -> Result<String, Failure> {
    let dataset = find(name)?;
    let description = dataset.description.as_deref().unwrap_or("");
    let sessions = counted(dataset.sessions.len(), "session");
    Ok(format!("{name:16} {sessions}  {description}\n"))
}

fn describe(dataset: &Dataset) -> String {
    let mut text = format!("{}\n", dataset.name);
    let facts = [
        ("version", &dataset.version),
        ("licence", &dataset.licence),
        ("origin", &dataset.origin),
        ("about", &dataset.description),
    ];
    for (label, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("{label}: {value}\n"));
        }
    }
    for session in &dataset.sessions {
        let requests = counted(session.requests().count(), "request");
        let messages = counted(session.messages.len(), "message");
        text.push_str(&format!("  {}: {messages}, {requests}\n", session.id));
    }
    text
}
