//! The windows at which each data set is replayed.

use std::collections::BTreeMap;

use crate::WindowSpec;
use recap_formats::Dataset;

/// Window of data sets that are not recordings of agents, as a percentage of
/// each session's messages: short chats are compressed, and strategies that need
/// no model still differ in what they keep.
const SHARE: u8 = 50;

/// The windows of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Windows {
    /// Every data set has the same windows.
    Same(Vec<WindowSpec>),
    /// Each data set, by its name, has a window of its own.
    Own(BTreeMap<String, WindowSpec>),
}

impl Windows {
    /// The windows that the user asked for, or else those of each data set.
    pub fn or_default(asked: Vec<WindowSpec>, datasets: &[Dataset]) -> Self {
        if asked.is_empty() { Windows::by_default(datasets) } else { Windows::Same(asked) }
    }

    /// The default windows: recordings of agents are replayed at the native
    /// window of their model. All other data sets (the bundled and generated
    /// ones, and chats with questions) have no model whose window could be
    /// known; they are replayed at 50 % of each session's messages.
    ///
    /// A data set is a recording of agents if one of its sessions has a limit that is known
    /// ([`Dataset::has_limits`]).
    fn by_default(datasets: &[Dataset]) -> Self {
        let own = |dataset: &Dataset| match dataset.has_limits() {
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
    /// if data sets differ.
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
    use recap_core::model::{Message, Role, Session, Usage};

    /// A data set of two sessions, of which one has a response with this
    /// usage.
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
        let session = Session { messages: vec![message], ..Session::default() };
        // The other session reports no usage.
        let sessions = vec![Session::default(), session];
        Dataset { name: name.to_owned(), sessions, ..Dataset::default() }
    }

    fn reported(input: u64) -> Option<Usage> {
        Some(Usage { input, ..Usage::default() })
    }

    fn labels(windows: &Windows, dataset: &str) -> Vec<String> {
        windows.of(dataset).iter().map(|window| window.label().to_owned()).collect()
    }

    #[test]
    fn agent_recordings_have_native_window_and_others_half() {
        let datasets = [
            dataset("chats", None),
            dataset("sessions", reported(9_000)),
            // A usage of zeros is a placeholder and not a report.
            dataset("zeros", reported(0)),
            dataset("more chats", None),
        ];
        let windows = Windows::by_default(&datasets);
        assert_eq!(labels(&windows, "sessions"), ["native"]);
        for chats in ["chats", "zeros", "more chats"] {
            assert_eq!(labels(&windows, chats), ["50%"]);
        }
        assert_eq!(windows.labels(), ["native", "50%"]);
        assert_eq!(Windows::by_default(&datasets[..1]).labels(), ["50%"]);
        assert_eq!(labels(&windows, "unknown"), Vec::<String>::new());
    }

    #[test]
    fn every_data_set_has_requested_windows_in_order() {
        let asked = ["200k", "native", "10%"].map(|typed| typed.parse().unwrap());
        let windows = Windows::Same(asked.to_vec());
        assert_eq!(labels(&windows, "anything"), ["200k", "native", "10%"]);
        assert_eq!(windows.labels(), ["200k", "native", "10%"]);
    }

    #[test]
    fn the_bundled_sessions_are_replayed_at_a_half() {
        for name in recap_formats::bundled_names() {
            let bundled = recap_formats::bundled(name).unwrap().unwrap();
            assert_eq!(Windows::by_default(&[bundled]).labels(), ["50%"], "{name}");
        }
    }
}
