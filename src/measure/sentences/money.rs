//! What can be observed of the bill (measures §2).
//!
//! "Saves money" is said only where both ends of the bill save: as billed, and
//! with everything lost fetched again. Where the whole conversation is over the
//! window nobody could have sent it, so nothing is called cheaper than it: the
//! recorded agent is what savings are told against.

use super::{Candidate, PresetRow, Window, grouped, percent};
use crate::measure::preference::keeps_enough;
use crate::model::catalogue;
use crate::text::counted;

/// Differences below this are not worth a sentence, nor a per cent.
const LEAST: f64 = 0.005;
/// Fewer tokens than this are no reason to expect a smaller bill.
const FEWER: f64 = 0.05;
/// Cache breaks at a smaller share of the requests explain no bill.
const OFTEN: f64 = 0.05;

/// A preset that sends less and is billed more.
pub fn less_sent_more_billed(window: &Window<'_>) -> Option<Candidate> {
    let figures = |row: &PresetRow| {
        let (tokens, cost) =
            (row.number(catalogue::TOKEN_SAVINGS)?, row.number(catalogue::COST_SAVINGS)?);
        (tokens >= FEWER && cost <= -LEAST).then_some((tokens, -cost))
    };
    let ranked = window.ranked();
    let dear = ranked.iter().filter_map(|row| Some((*row, figures(row)?)));
    let (row, (tokens, more)) = dear.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let than = if window.is_hypothetical() {
        " than the whole conversation would if its requests over the window were taken"
    } else {
        ""
    };
    let mut text = format!(
        "{} {} sends {} fewer tokens and costs {} more{than}",
        window.at_price(),
        row.strategy,
        percent(tokens),
        percent(more)
    );
    if let Some(why) = why_dear(row) {
        text += &format!(": {why}");
    }
    text.push('.');
    Some(Candidate { relevance: 0.75 + more.min(1.0) * 0.25, text })
}

fn why_dear(row: &PresetRow) -> Option<String> {
    let (breaks, requests) =
        (row.number(catalogue::CACHE_BREAKS)?, row.number(catalogue::REQUESTS)?);
    if breaks >= OFTEN * requests {
        let of = counted(requests.round() as u64, "request");
        return Some(format!("it breaks the prompt cache at {} of {of}", grouped(breaks)));
    }
    let share = row.number(catalogue::COMPACTION_COST_USD)? / row.number(catalogue::COST_USD)?;
    (share >= OFTEN)
        .then(|| format!("the calls of its compactions are {} of its bill", percent(share)))
}

/// The bill of a row, as shares saved.
struct Ends {
    as_billed: f64,
    refetched: f64,
}

impl Ends {
    /// Against the whole conversation, or where that is over the window
    /// against the recorded agent. Nothing where the row's own bill is
    /// hypothetical.
    fn of(row: &PresetRow, window: &Window<'_>) -> Option<Self> {
        let id = if window.is_hypothetical() { "cost_savings_vs_recorded" } else { "cost_savings" };
        let as_billed =
            row.number_of(id).filter(|_| row.number(catalogue::OVERFLOWS) == Some(0.0))?;
        let dearer = row.number(catalogue::COST_USD_REFETCH)? / row.number(catalogue::COST_USD)?;
        Some(Ends { as_billed, refetched: 1.0 - (1.0 - as_billed) * dearer })
    }
}

/// The best preset that saves money at both ends, or that none does.
pub fn saves_money(window: &Window<'_>) -> Option<Candidate> {
    let ranked = window.ranked();
    let ends = ranked.iter().filter_map(|row| Some((*row, Ends::of(row, window)?)));
    // A small bill is no merit of what keeps next to nothing.
    let cheaper = ends.filter(|(row, _)| keeps_enough(row, window.primary));
    let cheaper: Vec<(&PresetRow, Ends)> =
        cheaper.filter(|(_, ends)| ends.as_billed >= LEAST).collect();
    let whom = if window.is_hypothetical() {
        "what the recorded agent really sent"
    } else {
        "the whole conversation"
    };
    if let Some((row, ends)) = cheaper.iter().find(|(_, ends)| ends.refetched >= LEAST) {
        return Some(Candidate {
            relevance: 0.65 + ends.refetched * 0.3,
            text: format!(
                "{} {} saves money: its bill is {} below that of {whom}, and {} below it if \
                 everything lost is fetched again.",
                window.at_price(),
                row.strategy,
                percent(ends.as_billed),
                percent(ends.refetched)
            ),
        });
    }
    let (row, ends) = cheaper.first()?;
    Some(Candidate {
        relevance: 0.65,
        text: format!(
            "{} the bill of {} is {} below that of {whom} only while nothing it lost is needed: \
             with everything lost fetched again it is {}.",
            window.at_price(),
            row.strategy,
            percent(ends.as_billed),
            if ends.refetched <= -LEAST {
                format!("{} above it", percent(-ends.refetched))
            } else {
                "as high".to_owned()
            }
        ),
    })
}
