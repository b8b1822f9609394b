//! The cells of a report as the page's scripts find them: by session, strategy
//! and window. Of several repetitions the first stands for all.

use super::table::class;
use crate::{block, plain};
use recap_core::model::{Cell, Report, RowKind, RunResults, SessionFacts, SessionResults};

/// Strategies and windows in the order of the table, and every cell.
pub(super) struct Cells<'a> {
    pub(super) strategies: Vec<(&'a str, RowKind)>,
    pub(super) windows: Vec<&'a str>,
    results: &'a RunResults,
    sessions: &'a [SessionFacts],
}

impl<'a> Cells<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let strategies = block::strategies(report);
        let mut windows = Vec::new();
        for row in &report.rows {
            if !windows.contains(&row.window.as_str()) {
                windows.push(row.window.as_str());
            }
        }
        let (sessions, results) = (&report.sessions[..], &report.results);
        Cells { strategies, windows, results, sessions }
    }

    /// The results of a session, if there are any.
    pub(super) fn session(&self, facts: &SessionFacts) -> Option<SessionResults<'a>> {
        self.results.get(&facts.dataset, &facts.session)
    }

    /// The cells of one session, strategies outermost.
    pub(super) fn of<'s>(&self, session: Option<&'s SessionResults<'_>>) -> Vec<Option<&'s Cell>> {
        let pairs =
            self.strategies.iter().flat_map(|p| self.windows.iter().map(move |w| (p.0, *w)));
        pairs.map(|(strategy, window)| cell(session?, strategy, window)).collect()
    }

    /// The strategy that lists open with: the first that is ranked.
    pub(super) fn first(&self) -> usize {
        let place = |row_kind| self.strategies.iter().position(|p| p.1 == row_kind);
        place(RowKind::Ranked).or_else(|| place(RowKind::OfflineSummary)).unwrap_or(0)
    }

    /// Name and class of every strategy.
    pub(super) fn strategy_names(&self) -> Vec<(String, &'static str)> {
        self.strategies
            .iter()
            .map(|(name, row_kind)| (plain::line(name), class(*row_kind)))
            .collect()
    }

    pub(super) fn window_names(&self) -> Vec<String> {
        self.windows.iter().map(|window| block::window(window)).collect()
    }

    /// Sessions, with their data set where there are several.
    pub(super) fn session_names(&self) -> Vec<String> {
        let several = self.sessions.iter().any(|t| t.dataset != self.sessions[0].dataset);
        let name = |t: &SessionFacts| match several {
            true => plain::line(&format!("{}: {}", t.dataset, t.session)),
            false => plain::line(&t.session),
        };
        self.sessions.iter().map(name).collect()
    }
}

/// The first repetition of a strategy at a window.
pub(super) fn cell<'s>(
    session: &'s SessionResults<'_>,
    strategy: &str,
    window: &str,
) -> Option<&'s Cell> {
    let own = |cell: &&Cell| {
        let key = &cell.key;
        (&*key.strategy, &*key.window, key.replicate) == (strategy, window, 0)
    };
    session.cells().iter().find(own)
}
