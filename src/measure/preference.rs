//! Which row to use (`cuts` §5): never one that costs more than what the
//! recorded agent does today, or without a recording of that more than the
//! cheapest, and keeps no more; among rows that cannot be told apart the
//! cheapest. Everything that recommends a row goes through here.

use super::cluster::{paired, weighed};
use super::rows::{Entry, RECORDED, most};
use crate::model::{Manifest, TranscriptFacts};

/// Room for rounding in what is kept.
const ROUNDING: f64 = 1e-9;
/// Bills this close are the same.
const SAME_BILL: f64 = 1.005;

/// What preferring one row to another rests on.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The transcripts.
    pub facts: &'a [TranscriptFacts],
    /// What was asked for.
    pub manifest: &'a Manifest,
    /// The measure that ranks.
    pub primary: &'a str,
}

/// The row to use at a window.
pub struct Preferred<'a> {
    /// It.
    pub row: &'a Entry,
    /// The one that keeps most, where that is another.
    pub best: Option<&'a Entry>,
}

/// Why no row is preferred.
pub enum NotPreferred<'a> {
    /// None is ranked.
    NoneRanked,
    /// Each costs more than what the recorded agent does today, and is not known
    /// to keep more; this one keeps most.
    DearerThanToday(&'a Entry),
}

impl<'a> Judge<'a> {
    /// The row to use among those of one window, in printing order. Those of
    /// which a provider would have refused requests are left out while others
    /// are there.
    pub fn prefer(self, rows: &[&'a Entry]) -> Result<Preferred<'a>, NotPreferred<'a>> {
        let ranked: Vec<&'a Entry> =
            rows.iter().filter(|e| e.row.rank.is_some()).copied().collect();
        let fits: Vec<&'a Entry> = ranked.iter().filter(|e| !is_over(e)).copied().collect();
        let all = if fits.is_empty() { ranked } else { fits };
        let Some(&best) = all.first() else { return Err(NotPreferred::NoneRanked) };
        let today = rows.iter().find(|e| e.row.strategy == RECORDED).copied();
        let against = today.or_else(|| cheapest(all.iter().copied()));
        let worth = |e: &&&'a Entry| {
            against.is_none_or(|other| !is_dearer(e, other) || self.keeps_more(e, other))
        };
        let worth: Vec<&'a Entry> = all.iter().filter(worth).copied().collect();
        let Some(&first) = worth.first() else {
            return Err(NotPreferred::DearerThanToday(best));
        };
        let alike = worth.iter().filter(|e| !self.keeps_more(first, e));
        let row = cheapest(alike.copied()).unwrap_or(first);
        Ok(Preferred { row, best: (!std::ptr::eq(best, row)).then_some(best) })
    }

    /// Whether one row keeps more than another: beyond the interval of their
    /// paired difference, or with too few clusters for one by more than the
    /// margin. What is not known to be more is not.
    fn keeps_more(self, one: &Entry, other: &Entry) -> bool {
        let pairs = weighed(self.facts, &paired(&one.scores, &other.scores), &one.facts);
        if pairs.n() == 0 {
            return false;
        }
        match pairs.confidence(self.manifest.seed) {
            Some(confidence) => confidence.bounds().lo > 0.0,
            None => pairs.mean() > self.manifest.margin * most(self.primary) + ROUNDING,
        }
    }
}

/// Whether a provider would have refused some of its requests.
fn is_over(entry: &Entry) -> bool {
    entry.row.number("overflows").is_some_and(|n| n > 0.0)
}

fn is_dearer(one: &Entry, other: &Entry) -> bool {
    let usd = |entry: &Entry| entry.row.number("cost_usd");
    usd(one).zip(usd(other)).is_some_and(|(one, other)| one > other * SAME_BILL)
}

/// The one with the smallest bill, the first of equals; `None` where no bill is
/// known.
fn cheapest<'a>(rows: impl Iterator<Item = &'a Entry>) -> Option<&'a Entry> {
    let billed = rows.filter_map(|entry| Some((entry, entry.row.number("cost_usd")?)));
    billed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(entry, _)| entry)
}

#[cfg(test)]
mod tests {
    use crate::measure::testkit::{CellBuilder, cell, run, twenty_references};
    use crate::model::{RECORDED, Report};

    /// Keeps so many of 20 references at so many tokens a request.
    fn row(id: &str, strategy: &str, kept: usize, tokens: u64) -> CellBuilder {
        let states = "k".repeat(kept) + &"l".repeat(20 - kept);
        let cell = cell(id, strategy).sent(&[100; 10]).states(&states).compaction(90, 50);
        cell.bill(RECORDED, "dear", &[(tokens, 0, 0); 10])
    }

    fn verdict(report: &Report) -> &str {
        &report.verdict.as_ref().unwrap().0
    }

    #[test]
    fn what_costs_more_than_the_recorded_agent_and_keeps_no_more_is_not_recommended() {
        let cells = |tokens| {
            let today = row("s", "recorded", 20, 200).control().build();
            vec![today, row("s", "prune", 18, tokens).build()]
        };
        let dear = run(vec![twenty_references("s")], cells(400));
        assert!(!verdict(&dear).contains("the one to use"), "{}", verdict(&dear));
        assert!(verdict(&dear).contains("costs more than what the recorded agent"));
        let cheap = run(vec![twenty_references("s")], cells(150));
        assert!(verdict(&cheap).contains("prune is the one to use"), "{}", verdict(&cheap));
    }

    #[test]
    fn of_rows_that_cannot_be_told_apart_the_cheaper_is_recommended() {
        // The margin is 0.05: 19 of 20 keep no less than 20 of 20, 18 do.
        for (kept, chosen) in [(19, "b is the one to use"), (18, "a is the one to use")] {
            let cells = vec![row("s", "a", 20, 400).build(), row("s", "b", kept, 200).build()];
            let report = run(vec![twenty_references("s")], cells);
            assert!(verdict(&report).contains(chosen), "{}", verdict(&report));
        }
    }

    #[test]
    fn over_six_sessions_the_interval_decides_and_not_the_margin() {
        // Nine of ten sessions lose 1 of 20 and one gains 4: -0.025, and the
        // interval of the difference holds 0; where all lose 2 it does not.
        let ids: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
        let sat = || ids.iter().map(|id| twenty_references(id)).collect::<Vec<_>>();
        let cells = |b: &dyn Fn(usize) -> usize| {
            let each = ids.iter().enumerate();
            each.flat_map(|(n, id)| {
                [row(id, "a", 15, 400).build(), row(id, "b", b(n), 200).build()]
            })
            .collect::<Vec<_>>()
        };
        let open = run(sat(), cells(&|n| if n == 0 { 19 } else { 14 }));
        assert!(verdict(&open).contains("b "), "{}", verdict(&open));
        assert!(verdict(&open).contains("At 25 % b "), "{}", verdict(&open));
        let worse = run(sat(), cells(&|_| 14));
        assert!(verdict(&worse).contains("At 25 % a "), "{}", verdict(&worse));
    }
}
