//! Observations on the figures, weighed by the estimated effect on a reader's choice.

use recap_core::model::{FULL, Finding, Primary, RowKind, StrategyRow, catalogue};
use recap_core::text::{counted, form_for, grouped};
use recap_core::wording::number::{gain, percent};
use recap_core::wording::{listed, window};

use super::{Evidence, row_name};
use crate::figures::rows::Entry;

/// Largest gain over plain recency that counts as no gain.
const NO_GAIN: f64 = 0.02;
/// Share from which everything counts as kept, because it is printed as 1.00.
const ALL_KEPT: f64 = 0.995;
/// Smallest reported difference of bills, as a share.
const LEAST: f64 = 0.005;
/// Smallest saving of tokens at which a smaller bill would be expected.
const FEWER: f64 = 0.05;
/// Smallest share of requests with cache breaks that explains a bill.
const OFTEN: f64 = 0.05;

/// The rows over all sessions at one window for one agent model.
struct AtWindow<'a> {
    /// The agent model, if there are several.
    billed_as: Option<String>,
    rows: Vec<&'a StrategyRow>,
    primary: Primary,
}

/// The functions that find observations at one window.
const AT_A_WINDOW: &[fn(&AtWindow<'_>) -> Option<Finding>] =
    &[less_sent_more_billed, no_better_than_recency, adds_nothing];

/// Each observation at the window at which it weighs most.
pub(super) fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let key = |entry: &Entry| (entry.row.window.clone(), entry.row.agent_model.clone());
    let windows: Vec<AtWindow<'_>> = (run.billed.chunk_by(|a, b| key(a) == key(b)))
        .map(|rows| AtWindow {
            billed_as: run.billing_model(&rows[0].row),
            rows: rows.iter().map(|entry| &entry.row).collect(),
            primary: run.primary,
        })
        .collect();
    let best_of = |observe: &fn(&AtWindow<'_>) -> Option<Finding>| {
        let found = windows.iter().filter_map(observe);
        // The first window is the one that the user asked about most directly.
        found.reduce(|a, b| if b.weight > a.weight { b } else { a })
    };
    AT_A_WINDOW.iter().filter_map(best_of).collect()
}

impl<'a> AtWindow<'a> {
    /// The window as it is written behind "at".
    fn name(&self) -> String {
        window(&self.rows[0].window)
    }

    /// Rows with a rank, best first.
    fn ranked(&self) -> impl Iterator<Item = &'a StrategyRow> {
        self.rows.iter().copied().filter(|row| row.rank.is_some())
    }

    /// The primary measure of a row as a share, `0.0..=1.0`.
    fn share(&self, row: &StrategyRow) -> f64 {
        row.number(self.primary.measure()).unwrap_or(0.0) / self.primary.most()
    }

    /// Whether no provider would have issued the bill of the whole
    /// conversation, because it is larger than the window.
    fn is_hypothetical(&self) -> bool {
        let full = self.rows.iter().find(|row| row.strategy == FULL);
        full.is_some_and(|full| full.number(catalogue::OVERFLOWS) != Some(0.0))
    }
}

/// A strategy that sends less and has a higher bill (reference §2).
fn less_sent_more_billed(at: &AtWindow<'_>) -> Option<Finding> {
    let figures = |row: &StrategyRow| {
        let fewer = row.number(catalogue::TOKEN_SAVINGS)?;
        let saved = row.number(catalogue::COST_SAVINGS)?;
        (fewer >= FEWER && saved <= -LEAST).then_some((fewer, -saved))
    };
    let dear = at.ranked().filter_map(|row| Some((row, figures(row)?)));
    let (row, (fewer, dearer)) = dear.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let billed_as = at.billed_as.as_ref().map(|name| format!(" (billed as {name})"));
    let text = format!(
        "{}{} sends {} fewer tokens and costs {} more than the whole conversation{}{}",
        row_name(row),
        billed_as.unwrap_or_default(),
        percent(fewer),
        percent(dearer),
        if at.is_hypothetical() { " would if its requests over the window were taken" } else { "" },
        why_dear(row).unwrap_or_default()
    );
    let weight = 0.75 + dearer.min(1.0) * 0.25;
    Some(Finding::observation("less_sent_more_billed", weight, text))
}

/// Why the bill of a strategy that sends less is higher.
fn why_dear(row: &StrategyRow) -> Option<String> {
    let breaks = row.number(catalogue::CACHE_BREAKS)?;
    let requests = row.number(catalogue::REQUESTS)?;
    (breaks >= OFTEN * requests).then(|| {
        format!(
            ": it breaks the prompt cache at {} of {}",
            grouped(breaks.round() as u64),
            counted(requests.round() as u64, "request")
        )
    })
}

/// Strategies that are no better than the newest messages of the same size, and
/// the best strategy.
fn no_better_than_recency(at: &AtWindow<'_>) -> Option<Finding> {
    let at_cuts = at.primary == Primary::FactsKept;
    let measure = if at_cuts { catalogue::GAIN_AT_CUT } else { catalogue::RECENCY_GAIN };
    let gains: Vec<(&StrategyRow, f64)> =
        at.ranked().filter_map(|row| Some((row, row.number(measure)?))).collect();
    let best = gains.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // A strategy that keeps everything cannot be better than another one.
    let none: Vec<_> =
        (gains.iter()).filter(|(row, gain)| *gain <= NO_GAIN && at.share(row) < ALL_KEPT).collect();
    let worst = none.iter().map(|(_, gain)| *gain).reduce(f64::min)?;
    let better =
        (best.1 > NO_GAIN).then(|| format!("; {} does ({})", best.0.strategy, gain(best.1)));
    let names: Vec<String> = none.iter().map(|(row, _)| row.strategy.clone()).collect();
    let text = format!(
        "at {} {} {} no better than sending the newest messages of the same size (at worst {}){}",
        at.name(),
        listed(&names),
        form_for(names.len(), "does", "do"),
        gain(worst),
        better.unwrap_or_default()
    );
    let weight = 0.35 + (best.1 - worst).clamp(0.0, 1.0) / 2.0;
    Some(Finding::observation("no_better_than_recency", weight, text))
}

/// Strategies whose summaries keep no more than empty texts would.
fn adds_nothing(at: &AtWindow<'_>) -> Option<Finding> {
    let strategies = at.rows.iter().filter(|row| row.row_kind != RowKind::Control);
    let nothing = strategies.filter_map(|row| {
        let (added, bounds) = row.added()?;
        let most = bounds.map_or(added, |(_, most)| most);
        (most <= NO_GAIN).then(|| format!("{} {}", row.strategy, gain(added)))
    });
    let nothing: Vec<String> = nothing.collect();
    let text = format!(
        "what is written in the place of the history keeps no more at the cuts than an empty text \
         would: {}",
        nothing.join(", ")
    );
    (!nothing.is_empty()).then(|| Finding::observation("adds_nothing", 0.55, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::{check, of_rows};
    use crate::testkit::entry_at;
    use recap_core::model::Finding;

    const PRIMARY: &str = "reference_recall";

    /// A row over all sessions at the window `25%`.
    fn row(strategy: &str, rank: u32, values: &[(&str, f64)]) -> Entry {
        entry_at(("25%", 10_000.0), strategy, Some(rank), values)
    }

    fn found(table: &[Entry]) -> Vec<Finding> {
        of_rows(Primary::ReferenceRecall, table)
    }

    /// A bill with these savings of tokens and dollars, and breaks of the cache at that many of 100
    /// requests.
    fn billed(fewer: f64, saved: f64, breaks: f64) -> Entry {
        let values = [
            ("token_savings", fewer),
            ("cost_savings", saved),
            ("cache_breaks", breaks),
            ("requests", 100.0),
        ];
        row("prune", 1, &values)
    }

    #[test]
    fn less_sent_more_billed() {
        let whole =
            |overflows| entry_at(("25%", 10_000.0), "full", None, &[("overflows", overflows)]);
        let beside = |overflows| found(&[whole(overflows), billed(0.3, -0.4, 0.0)]);
        let models = ["dear", "cheap"].map(|model| {
            let mut entry = billed(0.3, if model == "dear" { -0.4 } else { -0.1 }, 0.0);
            entry.row.agent_model = model.to_owned();
            entry
        });
        let mut single = billed(0.3, -0.4, 0.0);
        single.row.dataset = "d".into();
        check(
            "less_sent_more_billed",
            [
                ("30 % fewer tokens, 40 % dearer", beside(0.0)),
                ("full is over the window", beside(3.0)),
                ("four times as dear", found(&[billed(0.3, -3.0, 0.0)])),
                ("5 % fewer tokens, half a per cent dearer", found(&[billed(0.05, -0.005, 0.0)])),
                ("fewer than 5 % fewer tokens", found(&[billed(0.049, -0.4, 0.0)])),
                ("0.4 % dearer", found(&[billed(0.3, -0.004, 0.0)])),
                ("cheaper", found(&[billed(0.3, 0.4, 0.0)])),
                ("the cache breaks at 5 of 100", found(&[billed(0.3, -0.4, 5.0)])),
                ("at 4 of 100", found(&[billed(0.3, -0.4, 4.0)])),
                ("two billing models", found(&models)),
                ("a row of one data set", found(&[single])),
            ],
        );
    }

    #[test]
    fn no_better_than_recency() {
        let at_cuts = |gains: [f64; 3], kept: f64| {
            let values =
                |gain| [("facts_kept", kept), ("gain_at_cut", gain), ("recency_gain", 0.5)];
            let table = [
                row("a", 1, &values(gains[0])),
                row("b", 2, &values(gains[1])),
                row("c", 3, &values(gains[2])),
            ];
            of_rows(Primary::FactsKept, &table)
        };
        let gains = |strategy, rank, kept, gain| {
            row(strategy, rank, &[(PRIMARY, kept), ("recency_gain", gain)])
        };
        check(
            "no_better_than_recency",
            [
                (
                    "one of two",
                    found(&[gains("prune", 1, 0.8, 0.27), gains("fifo", 2, 0.3, -0.012)]),
                ),
                // 0.35 + (0.3 + 0.1) / 2; a gain of 0.02 is none.
                ("two of three at cuts", at_cuts([0.3, 0.02, -0.1], 0.6)),
                ("nor is the best", at_cuts([0.02, 0.01, 0.0], 0.6)),
                ("99.4 % kept", at_cuts([0.3, 0.0, 0.0], 0.994)),
                ("what is printed as 100 %", at_cuts([0.3, 0.0, 0.0], 0.995)),
                ("a gain that rounds to 0", found(&[gains("fifo", 1, 0.6, 0.001)])),
            ],
        );
    }

    #[test]
    fn adds_nothing() {
        let bounded = |strategy, rank, most| {
            let values =
                [("added_at_cut", 0.01), ("added_at_cut_lo", -0.1), ("added_at_cut_hi", most)];
            row(strategy, rank, &values)
        };
        let table = [
            row("alone", 1, &[("added_at_cut", 0.02)]),
            row("more", 2, &[("added_at_cut", 0.021)]),
            bounded("sure", 3, 0.02),
            bounded("open", 4, 0.2),
            entry_at(("25%", 9.0), "control", None, &[("added_at_cut", 0.0)]),
        ];
        check("adds_nothing", [("two of four", found(&table)), ("0.021", found(&table[1..2]))]);
    }
}
