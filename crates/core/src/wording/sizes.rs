//! The size at which an agent compacts, in sentences. Every dollar and share in them is a cell of
//! the table of sizes below.

use super::number::{dollars, percent, time, tokens};
use super::{capital, listed};
use crate::model::{Absent, Kept, NoCurve, Quantities, Quantity, SizeCurve, SizeRow};
use crate::text::{counted, form_for};

/// What to do about the size, and what that changes; a sentence or two each.
pub fn size_answer(curve: &SizeCurve) -> String {
    match &curve.advised {
        Ok(_) => curve.chosen().map(|row| advised(curve, row)).unwrap_or_default(),
        Err(kept) => left(curve, *kept),
    }
}

/// What the figures of the sizes rest on.
pub fn size_basis(curve: &SizeCurve) -> String {
    let Quantities { added, read_again, .. } = &curve.quantities;
    let whose = |of: &Quantity| {
        if of.own { format!("{} here", of.n) } else { format!("{} public ones", of.n) }
    };
    let mut parts = vec![format!(
        "a compaction leaves {} above the first prompt ({}), {} are read again ({} to {}, {})",
        thousands(added.value),
        whose(added),
        thousands(read_again.value),
        thousands(read_again.lo),
        thousands(read_again.hi),
        whose(read_again),
    )];
    if curve.estimated.0 > 0 {
        parts.push(format!(
            "{} of today is estimated ({} not on record)",
            dollars(curve.estimated.1),
            counted(curve.estimated.0, "call")
        ));
    }
    if let Some((session, why)) = curve.left_out.first() {
        let all = counted(curve.left_out.len(), "session");
        parts.push(format!("{all} left out, the first one ({session}): {why}"));
    }
    capital(&format!("{}.", parts.join("; ")))
}

/// Tokens in thousands, with their sign: `8.7k`, `−7k`.
fn thousands(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", tokens(value.abs()))
}

/// Why there are no sizes, and what to do about it.
pub fn no_sizes(why: &NoCurve) -> String {
    match why {
        NoCurve::Agents => "At what size to compact is not said for several agents at once, or an \
                            unknown one: give the sessions of one agent alone."
            .to_owned(),
        NoCurve::NoUsage => "At what size to compact is not known: no request reports its tokens, \
                             so nothing tells how large its prompts were."
            .to_owned(),
        NoCurve::Few { families } => format!(
            "At what size to compact takes three sessions that are no forks of each other; here \
             {} {}: give a folder with more of them.",
            form_for(*families, "is", "are"),
            if *families == 1 { "one".to_owned() } else { families.to_string() },
        ),
        NoCurve::NoSetting { agent } => format!(
            "{agent} has no dependable setting for the size at which it compacts: for a harness of \
             your own, `--compact-at SIZE` tells what a size would have cost."
        ),
        NoCurve::Unmeasured { agent, compactions } => format!(
            "What a compaction of {agent} leaves and what is read again behind it has not been \
             measured, and these sessions have {}, not three: give sessions that were compacted.",
            counted(*compactions, "compaction")
        ),
        NoCurve::Short { largest, least } => format!(
            "These sessions stay small: the largest prompt has {}, and a size with room begins at \
             {}. Leave the size as it is.",
            size(*largest as f64),
            size(*least as f64)
        ),
        // A price list has prices of named models only.
        NoCurve::NoPrice { why } if *why == Absent::NoModelNamed.to_string() => {
            format!("At what size to compact is not known, because no session has a price: {why}.")
        }
        NoCurve::NoPrice { why } => format!(
            "At what size to compact is not known, because no session has a price ({why}): \
             `--prices FILE` gives one."
        ),
        NoCurve::NoRoom { least } => format!(
            "Leave the size as it is: what a compaction leaves takes so much that a size with room \
             begins at {}.",
            size(*least as f64)
        ),
    }
}

/// A size of a prompt, or a number of tokens: `130k tokens`.
fn size(size: f64) -> String {
    format!("{} tokens", tokens(size))
}

/// The short name of a size: `130k`.
pub fn size_name(size: u64) -> String {
    tokens(size as f64)
}

fn advised(curve: &SizeCurve, row: &SizeRow) -> String {
    let added = row.compactions.saturating_sub(curve.compactions);
    let wait = if row.wait_ms > 0.0 {
        format!(" ({} of waiting)", time(row.wait_ms))
    } else {
        String::new()
    };
    format!(
        "Compacting at {} would have cost {} instead of {}, {} to {} less. It takes {} \
         more{wait}.",
        size(row.size as f64),
        dollars(row.usd),
        dollars(curve.today_usd),
        percent(row.lo.max(0.0)).trim_end_matches(" %"),
        percent(row.hi),
        counted(added, "compaction"),
    )
}

fn left(curve: &SizeCurve, kept: Kept) -> String {
    let best = curve.sizes.iter().reduce(|a, b| if b.saving > a.saving { b } else { a });
    let Some(best) = best else { return String::new() };
    let at = size_name(best.size);
    let usd = dollars(best.usd);
    let because = match kept {
        Kept::NoSaving => {
            let names: Vec<String> = curve.sizes.iter().map(|row| size_name(row.size)).collect();
            format!(
                "no size of {} would have cost less than {}",
                listed(&names),
                dollars(curve.today_usd)
            )
        }
        Kept::Small => format!(
            "the best one, {at}, would have cost {usd} instead of {}, which is within a twentieth",
            dollars(curve.today_usd)
        ),
        Kept::ManyDearer => format!(
            "{at} would have cost {usd}, but more than a fifth of the sessions would be dearer ({})",
            best.dearer
        ),
        Kept::ReadAgain => {
            format!("{at} would have cost {usd}, but not if as much is read again as may be")
        }
        Kept::Unsure => format!("{at} would have cost {usd}, but chance may have made that"),
    };
    format!("Leave the size at which {} compacts: {because}.", curve.agent)
}
