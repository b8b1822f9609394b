//! What stands in the columns of the comparison: the figure that leads it, and
//! those beside it.

use crate::{block, number};
use recap_core::model::{FULL, Interval, Measure, Primary, StrategyRow, catalogue};

/// The figure that leads the table.
pub(super) struct Lead {
    pub(super) primary: Primary,
    pub(super) label: &'static str,
    pub(super) about: &'static str,
    pub(super) show: fn(f64) -> String,
    pub(super) readings: &'static [&'static Reading],
}

/// A column between the leading figure and the verdict.
pub(super) struct Reading {
    pub(super) label: &'static str,
    pub(super) about: &'static str,
    /// The measure that is read, or whose absence says why there is nothing to
    /// read.
    pub(super) measure: &'static Measure,
    show: fn(f64) -> String,
    /// What is read where it is not the measure alone.
    #[allow(clippy::type_complexity)]
    other: Option<fn(&StrategyRow) -> Option<(f64, String)>>,
    pub(super) below: fn(&StrategyRow) -> Option<String>,
}

impl Reading {
    /// The figure of a row, as a number and in words.
    pub(super) fn read(&self, row: &StrategyRow) -> Option<(f64, String)> {
        match self.other {
            Some(read) => read(row),
            None => row.number(self.measure).map(|x| (x, (self.show)(x))),
        }
    }
}

/// A column of a measure, with nothing below its figures.
const fn reading(
    label: &'static str,
    measure: &'static Measure,
    show: fn(f64) -> String,
    about: &'static str,
) -> Reading {
    Reading { label, about, measure, show, other: None, below: |_| None }
}

const RECALL: Reading =
    reading("recall", catalogue::RECALL, number::percent, "mean score of all questions (0 to 1)");
const GONE: Reading = reading(
    "evidence gone",
    catalogue::EVIDENCE_GONE,
    number::percent,
    "share of the questions whose evidence is no longer sent in any form",
);
const FACTS: Reading = reading(
    "needed facts kept",
    catalogue::REFERENCE_RECALL,
    number::percent,
    "share of the identifiers (paths, names, numbers) that the agent went on to use that are still in the context (0 to 1)",
);
const GAIN: Reading = reading(
    "gain over recency",
    catalogue::RECENCY_GAIN,
    number::gain,
    "share kept beyond what the newest messages of the same mean size keep",
);
const FOR_GOOD: Reading = reading(
    "lost for good",
    catalogue::IRRECOVERABLE,
    number::percent,
    "share of the lost facts that no tool can fetch again, because they never stood in a tool result",
);
const SENT: Reading = Reading {
    other: Some(|r| {
        let share = block::token_share(r)?;
        Some((share, number::multiple(share)))
    }),
    ..reading(
        "tokens sent",
        catalogue::TOKEN_SAVINGS,
        number::multiple,
        "all tokens sent, as a multiple of those of the whole conversation",
    )
};
const COST: Reading = Reading {
    other: Some(|row| {
        let usd = row.number(catalogue::COST_USD)?;
        let star = if block::overflows(row).is_some() { " *" } else { "" };
        Some((usd, format!("{}{star}", number::dollars(usd))))
    }),
    below: |row| {
        let savings = row.number(catalogue::COST_SAVINGS).filter(|_| row.strategy != FULL)?;
        Some(number::change(-savings))
    },
    ..reading(
        "session cost",
        catalogue::COST_USD,
        number::dollars,
        "bill of the sessions, prompt cache and compactions included; below it the difference to the whole conversation. *: the provider would refuse some of the requests",
    )
};
const WAIT: Reading = reading(
    "wait p95",
    catalogue::BLOCKING_MS_P95,
    number::time,
    "95th percentile of the wait for a compaction: the model’s time, modelled unless it was measured",
);
const PEAK: Reading =
    reading("peak", catalogue::PEAK_TOKENS, number::tokens, "tokens of the largest request");
const COMPACTIONS: Reading = reading(
    "compac\u{AD}tions",
    catalogue::COMPACTIONS,
    number::any,
    "how often the context was compacted",
);
const OVER: Reading = Reading {
    other: Some(|r| {
        let n = r.number(catalogue::OVERFLOWS)?;
        Some((n, if n > 0.0 { format!("{}×", number::any(n)) } else { "–".to_owned() }))
    }),
    ..reading(
        "over the window",
        catalogue::OVERFLOWS,
        number::any,
        "requests that the provider would have refused as too large; there nothing counts as kept, except for controls",
    )
};

const FACTS_KEPT: Reading = reading(
    "facts kept",
    catalogue::FACTS_KEPT,
    number::percent,
    "share of the identifiers that the agent used after a forced compaction that are still in the context (0 to 1)",
);
const CARRIED: Reading = reading(
    "carried",
    catalogue::CARRIED_SHARE,
    number::percent,
    "share of the facts no longer sent as recorded that stand in what the strategy wrote or edited (0 to 1)",
);
const ADDED: Reading = Reading {
    below: |row| row.intervals.get(catalogue::ADDED_AT_CUT.id).and_then(bounds),
    ..reading(
        "added by the summary",
        catalogue::ADDED_AT_CUT,
        number::gain,
        "facts kept minus what the same strategy keeps with empty summaries; around 0 the summaries add nothing. Below it the 95 % interval (“to”; † for this session only), or the lowest and highest session where there are few (“…”)",
    )
};
const TOKENS_AFTER: Reading = reading(
    "tokens after the cut",
    catalogue::TOKENS_AT_CUT,
    number::multiple,
    "tokens of the first request after the cut, as a multiple of those without any compaction. Sending more keeps more, so read it beside facts kept",
);
const GAIN_AT_CUTS: Reading = reading(
    "gain over recency",
    catalogue::GAIN_AT_CUT,
    number::gain,
    "facts kept minus what the newest messages of the same size keep; below 0, dropping the oldest messages would keep more",
);
const BILL: Reading = Reading {
    label: "bill at the window",
    about: "bill of the whole sessions at the window in the heading, prompt cache and compactions included; below it the difference to the whole conversation. *: the provider would refuse some of the requests",
    ..COST
};

/// The bounds of a difference, as far as its interval allows.
fn bounds(interval: &Interval) -> Option<String> {
    match interval {
        Interval::Dots { values } => {
            let (lo, hi) = (values.first()?, values.last()?);
            Some(format!("{}…{}", number::gain(*lo), number::gain(*hi)))
        }
        Interval::ThisSessionOnly { lo, hi } => {
            Some(format!("{} to {} †", number::gain(*lo), number::gain(*hi)))
        }
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => {
            Some(format!("{} to {}", number::gain(*lo), number::gain(*hi)))
        }
    }
}

/// Where rows are ranked by facts kept.
pub(super) static BY_CUTS: Lead = Lead {
    primary: Primary::FactsKept,
    label: "facts kept",
    about: "share of the identifiers (paths, names, numbers) that the agent used after a forced compaction, and had seen only before it, that are still in the context (0 to 1, more is better), with its interval. full keeps all of them, empty none. It is the same at every window: each compaction is forced at a window of its own",
    show: number::percent,
    readings: &[&CARRIED, &ADDED, &TOKENS_AFTER, &GAIN_AT_CUTS, &BILL, &WAIT, &COMPACTIONS, &OVER],
};

/// Where rows are ranked by what can be answered.
pub(super) static BY_QUESTIONS: Lead = Lead {
    primary: Primary::Continuity,
    label: "continuity",
    about: "share of the questions right from the whole conversation (where no model answers: findable in it) that still are after a compaction (0 to 100, more is better). full is 100 by definition; empty, which remembers nothing, is the lower end",
    show: |points| format!("{points:.0}"),
    readings: &[
        &RECALL,
        &FACTS_KEPT,
        &GONE,
        &FACTS,
        &COST,
        &SENT,
        &WAIT,
        &PEAK,
        &COMPACTIONS,
        &OVER,
    ],
};

/// Where there are no questions.
pub(super) static BY_REFERENCES: Lead = Lead {
    primary: Primary::ReferenceRecall,
    label: "needed facts kept",
    about: "share of the identifiers that the agent went on to use that are still in the context (0 to 1, more is better), with its interval. full keeps all of them, empty none",
    show: number::percent,
    readings: &[&GAIN, &FOR_GOOD, &COST, &SENT, &WAIT, &PEAK, &COMPACTIONS, &OVER],
};
