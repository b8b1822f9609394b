//! Each observation as a clause without a full stop.

use super::number::{gain, percent};
use super::{kept, listed, window};
use crate::model::{DearBecause, Observation};
use crate::text::{counted, form_for, grouped};

pub(super) fn words(observation: &Observation) -> String {
    use Observation::*;
    match observation {
        LessSentMoreBilled { row, billed_as, fewer, dearer, hypothetical, why } => {
            let billing_model = billed_as.as_ref().map(|name| format!(" (billed as {name})"));
            let than = match hypothetical {
                true => "the whole conversation would if its requests over the window were taken",
                false => "the whole conversation",
            };
            format!(
                "{row}{} sends {} fewer tokens and costs {} more than {than}{}",
                billing_model.unwrap_or_default(),
                percent(*fewer),
                percent(*dearer),
                why.map(because).unwrap_or_default()
            )
        }
        Refused { window: at, rows } => {
            let each = rows.iter().map(|(name, share)| format!("{name} {}", at_least(*share)));
            format!(
                "at {} some requests are over the window ({}); a provider would have refused them, \
                 so nothing counts as kept there",
                window(at),
                each.collect::<Vec<_>>().join(", ")
            )
        }
        NoBetterThanRecency { window: at, rows, worst, best } => {
            let by = match (gain(*worst), rows.len()) {
                (figure, _) if figure == "+0.00" => String::new(),
                (figure, 1) => format!(" ({figure})"),
                (figure, _) => format!(" (down to {figure})"),
            };
            let best = best.as_ref().map(|(name, by)| format!("; {name} does ({})", gain(*by)));
            format!(
                "at {} {} {} no better than sending the newest messages of the same size{by}{}",
                window(at),
                listed(rows),
                form_for(rows.len(), "does", "do"),
                best.unwrap_or_default()
            )
        }
        CannotBeFetched { row, share } => format!(
            "{} of what {row} loses was said by the user or worked out: no tool result ever held \
             it, so it cannot be fetched again",
            percent(*share)
        ),
        WrongAnswers { row, share, gone: true } => {
            format!("{} of what {row} gets wrong is no longer in its context", percent(*share))
        }
        WrongAnswers { row, share, gone: false } => format!(
            "{} of what {row} gets wrong is still in its context: finding it is the problem, not \
             keeping it",
            percent(*share)
        ),
        WeakestKind { row, kind, kept, over_all } => format!(
            "{row} is weakest on {kind} questions: it keeps {kept:.0} % of them, against \
             {over_all:.0} % over all kinds"
        ),
        AddsNothing { rows } => {
            let each = rows.iter().map(|(name, by)| format!("{name} {}", gain(*by)));
            format!(
                "what is written in the place of the history keeps no more at the cuts than an \
                 empty text would: {}",
                each.collect::<Vec<_>>().join(", ")
            )
        }
        Order { window: at, first, second, wins, losses, of } => {
            let differs = match 4 * losses >= *of {
                true => format!(" and less in {losses}: which is better depends on the session"),
                false => String::new(),
            };
            format!(
                "at {} {first} keeps more than {second} in {wins} of {}{differs}",
                window(at),
                counted(*of, "session")
            )
        }
        EstimateOff { row, error } => format!(
            "the estimate of {row} is {} {} what it really sends (median), so it compacts {} than \
             configured",
            percent(error.abs()),
            if *error < 0.0 { "below" } else { "above" },
            if *error < 0.0 { "later" } else { "earlier" }
        ),
        ContextGrew { row, inflated, compactions } => format!(
            "{inflated:.0} of {} of {row} made the context longer",
            counted(compactions.round() as u64, "compaction")
        ),
        MoreRoom { row, to, kept: (small, large), leader, by } => {
            let leader = leader
                .as_ref()
                .map(|(name, own)| format!(", and {name} leads there ({})", kept(*by, *own)));
            format!(
                "from {} to {} {} goes from {} to {}{}",
                window(&row.window),
                window(to),
                row.strategy,
                kept(*by, *small),
                kept(*by, *large),
                leader.unwrap_or_default()
            )
        }
    }
}

fn because(why: DearBecause) -> String {
    match why {
        DearBecause::CacheBreaks { breaks, requests } => format!(
            ": it breaks the prompt cache at {} of {}",
            grouped(breaks.round() as u64),
            counted(requests.round() as u64, "request")
        ),
        DearBecause::Compactions(share) => {
            format!(": the calls of its compactions are {} of its bill", percent(share))
        }
    }
}

/// A share in per cent that is never rounded to zero.
fn at_least(share: f64) -> String {
    if share < 0.005 { "under 1 %".to_owned() } else { percent(share) }
}
