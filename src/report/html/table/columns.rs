//! What stands in the columns of the comparison: the figure that leads it, and
//! those beside it.

use crate::model::{Interval, Measure, PresetRow, Primary, catalogue};
use crate::report::{block, number};

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
    /// The measure whose absence says why there is nothing to read.
    pub(super) measure: &'static Measure,
    pub(super) read: fn(&PresetRow) -> Option<(f64, String)>,
    pub(super) below: fn(&PresetRow) -> Option<String>,
}

/// Nothing stands below the figure.
const ALONE: fn(&PresetRow) -> Option<String> = |_| None;

fn read(row: &PresetRow, measure: &Measure, show: fn(f64) -> String) -> Option<(f64, String)> {
    row.number(measure).map(|x| (x, show(x)))
}

const RECALL: Reading = Reading {
    label: "recall",
    about: "mean score of the questions, 0 to 1, whatever the whole conversation makes of them",
    measure: catalogue::RECALL,
    read: |r| read(r, catalogue::RECALL, number::share),
    below: ALONE,
};
const GONE: Reading = Reading {
    label: "evidence gone",
    about: "share of the questions whose answer stood in messages that are no longer sent in any form",
    measure: catalogue::EVIDENCE_GONE,
    read: |r| read(r, catalogue::EVIDENCE_GONE, number::percent),
    below: ALONE,
};
const FACTS: Reading = Reading {
    label: "needed facts kept",
    about: "of the specific things (paths, names, numbers) that the recorded agent went on to use, the share that is still there, 0 to 1",
    measure: catalogue::REFERENCE_RECALL,
    read: |r| read(r, catalogue::REFERENCE_RECALL, number::share),
    below: ALONE,
};
const GAIN: Reading = Reading {
    label: "gain over recency",
    about: "share kept beyond what the newest messages of the same mean size keep",
    measure: catalogue::RECENCY_GAIN,
    read: |r| read(r, catalogue::RECENCY_GAIN, number::gain),
    below: ALONE,
};
const PARTLY: Reading = Reading {
    label: "partly kept",
    about: "only the last part of the identifier is left (a file name without its path), or the bare word without what gave it meaning",
    measure: catalogue::REFERENCE_PARTIAL,
    read: |r| {
        let partial = r.number(catalogue::REFERENCE_PARTIAL)?;
        let sum = partial + r.number(catalogue::REFERENCE_BARE)?;
        Some((sum, number::share(sum)))
    },
    below: ALONE,
};
const FOR_GOOD: Reading = Reading {
    label: "lost for good",
    about: "share of the lost facts that never stood in a tool result, so that no tool can fetch them again",
    measure: catalogue::IRRECOVERABLE,
    read: |r| read(r, catalogue::IRRECOVERABLE, number::share),
    below: ALONE,
};
const REFETCH: Reading = Reading {
    label: "tokens to refetch",
    about: "tokens of the tool results that would have to be read again for the other lost facts",
    measure: catalogue::REFETCH_TOKENS,
    read: |r| read(r, catalogue::REFETCH_TOKENS, number::tokens),
    below: ALONE,
};
const SENT: Reading = Reading {
    label: "tokens sent",
    about: "all tokens sent, as a multiple of what the whole conversation takes",
    measure: catalogue::TOKEN_SAVINGS,
    read: |r| {
        let share = block::token_share(r)?;
        Some((share, number::multiple(share)))
    },
    below: ALONE,
};
const COST: Reading = Reading {
    label: "session cost",
    about: "what the sessions cost with the provider’s prompt cache as it was, compactions included; below it more or less than with the whole conversation. A star: the provider would refuse some of the requests, so nobody would get this bill",
    measure: catalogue::COST_USD,
    read: |row| {
        let usd = row.number(catalogue::COST_USD)?;
        let star = if block::overflows(row).is_some() { " *" } else { "" };
        Some((usd, format!("{}{star}", number::dollars(usd))))
    },
    below: |row| {
        let savings = row.number(catalogue::COST_SAVINGS).filter(|_| row.strategy != "full")?;
        Some(number::change(-savings))
    },
};
const WAIT: Reading = Reading {
    label: "wait p95",
    about: "how long the user waits for a compaction, the longest but one of twenty; the model’s time only, modelled unless it was measured",
    measure: catalogue::BLOCKING_MS_P95,
    read: |r| read(r, catalogue::BLOCKING_MS_P95, number::time),
    below: ALONE,
};
const PEAK: Reading = Reading {
    label: "peak",
    about: "tokens of the largest request",
    measure: catalogue::PEAK_TOKENS,
    read: |r| read(r, catalogue::PEAK_TOKENS, number::tokens),
    below: ALONE,
};
const COMPACTIONS: Reading = Reading {
    label: "compac\u{AD}tions",
    about: "how often the context was compacted",
    measure: catalogue::COMPACTIONS,
    read: |r| read(r, catalogue::COMPACTIONS, number::any),
    below: ALONE,
};
const OVER: Reading = Reading {
    label: "over the window",
    about: "requests that the provider would have refused because they do not fit; nothing counts as kept there, controls apart",
    measure: catalogue::OVERFLOWS,
    read: |r| {
        let n = r.number(catalogue::OVERFLOWS)?;
        Some((n, if n > 0.0 { format!("{}×", number::any(n)) } else { "–".to_owned() }))
    },
    below: ALONE,
};

const KEPT_AT_CUTS: Reading = Reading {
    label: "kept at cuts",
    about: "of the specific things (paths, names, numbers) that the recorded agent used right after a place where we made a compaction happen, the share that the context still tells, 0 to 1; in sessions several times as large as the window where the run has them",
    measure: catalogue::KEPT_AT_CUT,
    read: |r| read(r, catalogue::KEPT_AT_CUT, number::share),
    below: ALONE,
};
const KEPT_FIRST: Reading = Reading {
    label: "after the first compac\u{AD}tion",
    about: "the same share right after the strategy’s first compaction of that text. A strategy that removes only what no longer fits loses little there, and stays almost as large: see tokens after the cut",
    measure: catalogue::KEPT_AT_CUT_FIRST,
    // At depth 1 the figure that leads is this one.
    read: |r| {
        r.number(catalogue::DEPTH).filter(|depth| *depth > 1.0)?;
        read(r, catalogue::KEPT_AT_CUT_FIRST, number::share)
    },
    below: ALONE,
};
const CARRIED: Reading = Reading {
    label: "carried",
    about: "of the facts whose recorded text was no longer sent, the share that stands in what the strategy wrote or edited, 0 to 1",
    measure: catalogue::CARRIED_SHARE,
    read: |r| read(r, catalogue::CARRIED_SHARE, number::share),
    below: ALONE,
};
const ADDED: Reading = Reading {
    label: "added over the null",
    about: "kept at cuts less what the same strategy keeps with an empty text in the place of its summaries (its null): what the words of the summaries are worth. Around 0 they add nothing. Below it the 95 % interval (“to”; with † it speaks of this session only), or the lowest and highest session where there are few (“…”)",
    measure: catalogue::ADDED_AT_CUT,
    read: |r| read(r, catalogue::ADDED_AT_CUT, number::gain),
    below: |row| row.intervals.get(catalogue::ADDED_AT_CUT.id).and_then(bounds),
};
const TOKENS_AFTER: Reading = Reading {
    label: "tokens after the cut",
    about: "tokens of the first prompt after the cut, as a multiple of what it would be without any compaction. Who sends more keeps more, so read it beside what is kept",
    measure: catalogue::TOKENS_AT_CUT,
    read: |r| read(r, catalogue::TOKENS_AT_CUT, number::multiple),
    below: ALONE,
};
const GAIN_AT_CUTS: Reading = Reading {
    label: "gain over recency",
    about: "kept at cuts less what the newest messages of the same size keep: below 0, simply cutting off the oldest messages would keep more",
    measure: catalogue::GAIN_AT_CUT,
    read: |r| read(r, catalogue::GAIN_AT_CUT, number::gain),
    below: ALONE,
};
const BILL: Reading = Reading {
    label: "bill at the window",
    about: "what the whole sessions cost at the window in the table’s heading, with the provider’s prompt cache as it was, compactions included; below it more or less than with the whole conversation. A star: the provider would refuse some of the requests, so nobody would get this bill",
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

/// Where rows are ranked by what is kept at cuts.
pub(super) static BY_CUTS: Lead = Lead {
    primary: Primary::KeptAtCut,
    label: "kept at cuts",
    about: "0 to 1, more is better: of the specific things (paths, names, numbers) that the recorded agent used right after a place where we made a compaction happen, and could know only from before it, the share that the context still tells; behind it what is known of its spread. full keeps everything by definition, empty nothing. It is the same at every window: a cut has a window of its own",
    show: number::share,
    readings: &[
        &KEPT_FIRST,
        &CARRIED,
        &ADDED,
        &TOKENS_AFTER,
        &GAIN_AT_CUTS,
        &BILL,
        &WAIT,
        &COMPACTIONS,
        &OVER,
    ],
};

/// Where rows are ranked by what can be answered.
pub(super) static BY_PROBES: Lead = Lead {
    primary: Primary::Continuity,
    label: "continuity",
    about: "0 to 100, more is better: of what the whole conversation answers right, the part that the strategy still answers right, among the questions asked after it had compacted (“exposed”). full stands against itself and is 100: the upper end of the scale. empty, which remembers nothing, is the lower end",
    show: |points| format!("{points:.0}"),
    readings: &[
        &RECALL,
        &KEPT_AT_CUTS,
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

/// Where there are no probes.
pub(super) static BY_REFERENCES: Lead = Lead {
    primary: Primary::ReferenceRecall,
    label: "needed facts kept",
    about: "0 to 1, more is better; behind it what is known of its spread. full keeps everything by definition, empty nothing: they are the ends of the scale",
    show: number::share,
    readings: &[
        &GAIN,
        &PARTLY,
        &FOR_GOOD,
        &REFETCH,
        &COST,
        &SENT,
        &WAIT,
        &PEAK,
        &COMPACTIONS,
        &OVER,
    ],
};
