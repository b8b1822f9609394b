//! One state in two places: in the history, and in the system prompt. The seed
//! (000, Arachne) argues for the history, because a system prompt that changes
//! with every compression throws away what the cache holds of system prompt and
//! tools. Where both were run, their bills stand side by side.

use super::bills::{AS_BILLED, Account, payer};
use crate::model::{Buckets, Cell, Report, TranscriptFacts};
use crate::pricing::PriceList;
use crate::report::{block, number};

/// The two placements.
const HISTORY: &str = "session-state";
const SYSTEM: &str = "session-state-system";
/// Compactions that are listed one by one.
const LISTED: usize = 12;

/// Both bills at one window.
pub(super) struct Placements {
    pub(super) window: String,
    /// What, in the history, in the system prompt, the difference.
    pub(super) rows: Vec<[String; 4]>,
    pub(super) verdict: String,
}

/// Sums over the sessions that both ran through.
#[derive(Default)]
struct Sum {
    billed: Buckets,
    breaks: u64,
    rewritten: u64,
    usd: f64,
    paid: Vec<Option<u32>>,
}

impl Sum {
    fn add(&mut self, account: &Account<'_>) -> Option<()> {
        for request in account.bill.requests.iter().flatten() {
            self.billed += request.prompt.billed;
            self.rewritten += request.rewritten;
        }
        self.breaks += account.rows.requests.iter().filter(|r| r.cache_break).count() as u64;
        self.usd += account.steps(AS_BILLED)?.iter().sum::<f64>();
        self.paid.extend(account.bill.break_even.iter().map(|even| even.requests));
        Some(())
    }

    /// When each compaction had paid for itself.
    fn paid(&self) -> String {
        if self.paid.is_empty() {
            return "no compaction".to_owned();
        }
        let each = self.paid.iter().take(LISTED).map(|requests| match requests {
            Some(n) => n.to_string(),
            None => "never".to_owned(),
        });
        let mut words = each.collect::<Vec<String>>().join(", ");
        if self.paid.len() > LISTED {
            let paid = self.paid.iter().flatten().count();
            words.push_str(&format!(", …: {paid} of {} did", self.paid.len()));
        }
        words
    }
}

/// Every window at which both placements were billed.
pub(super) fn placements(report: &Report, prices: &PriceList) -> Vec<Placements> {
    let windows = report.manifest.windows.iter();
    windows.filter_map(|window| at_window(report, prices, window)).collect()
}

fn at_window(report: &Report, prices: &PriceList, window: &str) -> Option<Placements> {
    let account = |facts: &TranscriptFacts, strategy: &str| {
        let mut cells = report.cells_of(&facts.dataset, &facts.transcript).iter();
        cells.find(|Cell { key, .. }| {
            (&*key.strategy, &*key.window, key.replicate) == (strategy, window, 0)
        })
    };
    let (mut history, mut system) = (Sum::default(), Sum::default());
    let mut sessions = 0;
    for facts in &report.transcripts {
        let of = |strategy| Account::new(account(facts, strategy)?, facts, prices, payer(report));
        let (Some(a), Some(b)) = (of(HISTORY), of(SYSTEM)) else { continue };
        history.add(&a)?;
        system.add(&b)?;
        sessions += 1;
    }
    (sessions > 0).then(|| Placements {
        window: block::window(window),
        rows: rows(&history, &system),
        verdict: verdict(&history, &system, sessions),
    })
}

fn rows(a: &Sum, b: &Sum) -> Vec<[String; 4]> {
    let count = |what: &str, a: u64, b: u64| {
        let sign = if b < a { "−" } else { "+" };
        let apart = format!("{sign}{}", number::grouped(a.abs_diff(b)));
        [what.to_owned(), number::grouped(a), number::grouped(b), apart]
    };
    let apart = b.usd - a.usd;
    let sign = if apart < 0.0 { "" } else { "+" };
    vec![
        count("tokens read from the cache", a.billed.read, b.billed.read),
        count("tokens written to it", a.billed.written(), b.billed.written()),
        count("tokens billed in full", a.billed.uncached, b.billed.uncached),
        count("tokens sent again after an edit", a.rewritten, b.rewritten),
        count("requests with a broken prefix", a.breaks, b.breaks),
        [
            "session cost".to_owned(),
            number::dollars(a.usd),
            number::dollars(b.usd),
            format!("{sign}{}", number::dollars(apart)),
        ],
        [
            "requests until a compaction had paid for itself".to_owned(),
            a.paid(),
            b.paid(),
            "–".to_owned(),
        ],
    ]
}

fn verdict(a: &Sum, b: &Sum, sessions: usize) -> String {
    let sessions = block::counted(sessions, "session");
    if a.usd <= 0.0 {
        return format!("Over {sessions} nothing was billed.");
    }
    let share = b.usd / a.usd - 1.0;
    if share.abs() < 0.005 {
        return format!("Over {sessions} the place makes no difference of note.");
    }
    let more = if share > 0.0 { "more" } else { "less" };
    let bears = if share > 0.0 { "bears the argument out" } else { "speaks against the argument" };
    let percent = number::error(share.abs()).replace('+', "");
    format!(
        "Over {sessions} the system prompt costs {percent} {more} than the history: that {bears}."
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{CellOutcome, Standing};
    use crate::report::testkit::Kit;

    fn both() -> Report {
        let presets = vec![(HISTORY, Standing::StandIn), (SYSTEM, Standing::StandIn)];
        Kit { sessions: 1, windows: vec!["25%"], presets, ..Kit::default() }.report()
    }

    fn of(report: &Report) -> Vec<Placements> {
        placements(report, &PriceList::from(&report.manifest.prices))
    }

    #[test]
    fn equal_bills_differ_by_nothing_and_a_dearer_one_bears_the_argument_out() {
        let mut report = both();
        let equal = of(&report).remove(0);
        assert_eq!(equal.rows[0][3], "+0");
        assert!(equal.verdict.contains("no difference of note"), "{}", equal.verdict);
        for cell in report.cells.iter_mut().filter(|c| c.key.strategy == SYSTEM) {
            let CellOutcome::Done(rows) = &mut cell.outcome else { continue };
            for request in Arc::make_mut(&mut rows.bills[0]).requests.iter_mut().flatten() {
                let billed = &mut request.prompt.billed;
                (billed.write, billed.read) = (billed.write + billed.read, 0);
            }
        }
        let dearer = of(&report).remove(0);
        assert!(dearer.rows[0][3].starts_with('−'), "{:?}", dearer.rows[0]);
        assert!(dearer.verdict.ends_with("bears the argument out."), "{}", dearer.verdict);
    }

    #[test]
    fn one_placement_alone_is_compared_with_nothing() {
        let mut report = both();
        report.cells.retain(|cell| cell.key.strategy == HISTORY);
        assert!(of(&report).is_empty());
    }
}
