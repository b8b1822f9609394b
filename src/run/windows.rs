//! The windows that each data set is replayed at.

use std::collections::BTreeMap;

use crate::dataset::Dataset;
use crate::replay::WindowSpec;

/// Share of the messages, in per cent, at which data sets are replayed that are
/// no recordings of agents: small enough for short chats to be compressed.
const SHARE: u8 = 25;

/// The windows of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Windows {
    /// The same ones for every data set.
    Same(Vec<WindowSpec>),
    /// Each data set, by its name, has its own.
    Own(BTreeMap<String, WindowSpec>),
}

impl Windows {
    /// Those asked for, else [`Windows::by_default`].
    pub fn or_default(asked: Vec<WindowSpec>, datasets: &[Dataset]) -> Self {
        if asked.is_empty() { Windows::by_default(datasets) } else { Windows::Same(asked) }
    }

    /// The windows of data sets for which none was asked for: recordings of
    /// agents are replayed at the native window of their model. All others, the
    /// bundled and generated ones and chats with questions among them, have no
    /// model whose window could be known, and are replayed at 25 % of each
    /// transcript's messages.
    ///
    /// A data set is a recording of agents where some request of it reports the
    /// tokens that its provider counted ([`Dataset::reports_usage`]).
    pub fn by_default(datasets: &[Dataset]) -> Self {
        let own = |dataset: &Dataset| match dataset.reports_usage() {
            true => WindowSpec::native(),
            false => WindowSpec::share(SHARE),
        };
        Windows::Own(datasets.iter().map(|d| (d.name.clone(), own(d))).collect())
    }

    /// The windows of a data set, in the order of tables.
    pub fn of(&self, dataset: &str) -> &[WindowSpec] {
        match self {
            Windows::Same(windows) => windows,
            Windows::Own(by_name) => by_name.get(dataset).map_or(&[], std::slice::from_ref),
        }
    }

    /// Label of every window, each once, in the order of tables: native first
    /// where data sets differ.
    pub fn labels(&self) -> Vec<String> {
        let mut windows: Vec<&WindowSpec> = match self {
            Windows::Same(windows) => windows.iter().collect(),
            Windows::Own(by_name) => by_name.values().collect(),
        };
        if let Windows::Own(_) = self {
            windows.sort_by_key(|window| !window.is_native());
            windows.dedup();
        }
        windows.into_iter().map(|window| window.label().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, Role, Transcript, Usage};

    /// A data set of one transcript with a response, and its usage.
    fn dataset(name: &str, usage: Option<Usage>) -> Dataset {
        let message = Message {
            id: "a".to_owned(),
            role: Role::Assistant,
            at: None,
            blocks: Vec::new(),
            usage,
            synthetic: false,
            broadcast: false,
        };
        let transcript = Transcript { messages: vec![message], ..Transcript::default() };
        // Another one says nothing.
        let transcripts = vec![Transcript::default(), transcript];
        Dataset { name: name.to_owned(), transcripts, ..Dataset::default() }
    }

    fn reported(input: u64) -> Option<Usage> {
        Some(Usage { input, ..Usage::default() })
    }

    fn labels(windows: &Windows, dataset: &str) -> Vec<String> {
        windows.of(dataset).iter().map(|window| window.label().to_owned()).collect()
    }

    #[test]
    fn recordings_of_agents_are_native_and_others_a_quarter_of_themselves() {
        let datasets = [
            dataset("chats", None),
            dataset("sessions", reported(9_000)),
            // A placeholder is no report.
            dataset("zeros", reported(0)),
            dataset("more chats", None),
        ];
        let windows = Windows::by_default(&datasets);
        assert_eq!(labels(&windows, "sessions"), ["native"]);
        for chats in ["chats", "zeros", "more chats"] {
            assert_eq!(labels(&windows, chats), ["25%"]);
        }
        assert_eq!(windows.labels(), ["native", "25%"]);
        assert_eq!(Windows::by_default(&datasets[..1]).labels(), ["25%"]);
        assert_eq!(labels(&windows, "unknown"), Vec::<String>::new());
    }

    #[test]
    fn what_is_asked_for_holds_for_every_data_set_in_its_order() {
        let asked = ["200k", "native", "10%"].map(|typed| typed.parse().unwrap());
        let windows = Windows::Same(asked.to_vec());
        assert_eq!(labels(&windows, "anything"), ["200k", "native", "10%"]);
        assert_eq!(windows.labels(), ["200k", "native", "10%"]);
    }

    #[test]
    fn the_bundled_sessions_are_replayed_at_a_quarter() {
        for name in crate::dataset::bundled_names() {
            let bundled = crate::dataset::bundled(name).unwrap().unwrap();
            assert_eq!(Windows::by_default(&[bundled]).labels(), ["25%"], "{name}");
        }
    }
}
