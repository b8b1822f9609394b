//! The cells of a report as the page's scripts find them: by session, strategy
//! and window. Of several repetitions the first stands for all.

use std::collections::BTreeMap;

use super::table::class;
use crate::model::{Cell, CellKey, Cut, RECORDED, Report, Standing, TranscriptFacts};
use crate::report::{block, plain};

/// Strategies and windows in the order of the table, and every cell.
pub(super) struct Cells<'a> {
    pub(super) presets: Vec<(&'a str, Standing)>,
    pub(super) windows: Vec<&'a str>,
    /// Who pays for what is told of compactions: the first one asked for.
    pub(super) payer: &'a str,
    by_key: BTreeMap<&'a CellKey, &'a Cell>,
    transcripts: &'a [TranscriptFacts],
    cuts: &'a [Cut],
}

impl<'a> Cells<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let presets = block::presets(report);
        let mut windows = Vec::new();
        for row in &report.rows {
            if !windows.contains(&row.window.as_str()) {
                windows.push(row.window.as_str());
            }
        }
        let by_key = report.cells.iter().map(|cell| (&cell.key, cell)).collect();
        let payer = report.manifest.agent_models.first().map_or(RECORDED, String::as_str);
        let (transcripts, cuts) = (&report.transcripts[..], &report.cuts[..]);
        Cells { presets, windows, payer, by_key, transcripts, cuts }
    }

    pub(super) fn get(
        &self,
        facts: &TranscriptFacts,
        strategy: &str,
        window: &str,
    ) -> Option<&'a Cell> {
        let key = CellKey {
            dataset: facts.dataset.clone(),
            transcript: facts.transcript.clone(),
            strategy: strategy.to_owned(),
            window: window.to_owned(),
            replicate: 0,
        };
        self.by_key.get(&key).copied()
    }

    /// The cells of one session, strategies outermost.
    pub(super) fn of(&self, facts: &TranscriptFacts) -> Vec<Option<&'a Cell>> {
        let pairs = self.presets.iter().flat_map(|p| self.windows.iter().map(move |w| (p.0, *w)));
        pairs.map(|(preset, window)| self.get(facts, preset, window)).collect()
    }

    /// The first request behind each cut of a session.
    pub(super) fn cuts(&self, facts: &TranscriptFacts) -> Vec<u32> {
        let of = |cut: &Cut| {
            let own = (facts.dataset.as_str(), facts.transcript.as_str());
            (cut.dataset.as_str(), cut.transcript.as_str()).cmp(&own)
        };
        let from = self.cuts.partition_point(|cut| of(cut).is_lt());
        let mine = self.cuts[from..].iter().take_while(|cut| of(cut).is_eq());
        mine.map(|cut| cut.request).collect()
    }

    /// The strategy that lists open with: the first that is ranked.
    pub(super) fn first(&self) -> usize {
        let place = |standing| self.presets.iter().position(|p| p.1 == standing);
        place(Standing::Ranked).or_else(|| place(Standing::StandIn)).unwrap_or(0)
    }

    /// Name and class of every strategy.
    pub(super) fn preset_names(&self) -> Vec<(String, &'static str)> {
        self.presets.iter().map(|(name, standing)| (plain::line(name), class(*standing))).collect()
    }

    pub(super) fn window_names(&self) -> Vec<String> {
        self.windows.iter().map(|window| block::window(window)).collect()
    }

    /// Sessions, with their data set where there are several.
    pub(super) fn session_names(&self) -> Vec<String> {
        let several = self.transcripts.iter().any(|t| t.dataset != self.transcripts[0].dataset);
        let name = |t: &TranscriptFacts| match several {
            true => plain::line(&format!("{}: {}", t.dataset, t.transcript)),
            false => plain::line(&t.transcript),
        };
        self.transcripts.iter().map(name).collect()
    }
}
