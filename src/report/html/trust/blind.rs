//! What the instrument cannot see, in plain words (measures §6): what holds
//! for every run, and what holds for the seats of this one. What a run found out
//! about itself stands among its limits instead.

use crate::model::{Report, Source, Standing, catalogue};

/// A thing, and why it is out of sight.
pub(super) type Line = (&'static str, &'static str);

const ALWAYS: [Line; 3] = [
    (
        "Whether the task succeeds.",
        "What is kept may still be used badly, and what is lost may never be missed.",
    ),
    (
        "What nobody needed again.",
        "The exam asks for what this recording’s agent went on to use. Another agent, or the same \
         one with another memory, might have needed other things.",
    ),
    (
        "Other people’s work.",
        "The sessions are those you gave. Intervals speak of sessions like them, and of no others.",
    ),
];

const REFERENCES: Line = (
    "Meaning without a name.",
    "Needed facts are paths, names and numbers, found by their spelling. A decision retold in other \
     words is not among them, which favours strategies that copy over strategies that retell.",
);
const PROBES: Line = (
    "What no question asks.",
    "Continuity counts only what the whole conversation itself gets right. Where a reader fails with \
     everything in sight, a strategy is neither blamed nor praised.",
);
const LEXICAL: Line = (
    "A right answer in other words.",
    "Answers are graded by words and dates. A paraphrase may be rejected and a lucky word accepted; \
     false rejects fall on strategies that rewrite.",
);
const STAND_INS: Line = (
    "How good a model’s summary is.",
    "Rows marked as stand-ins hold our own extract in place of the summary that the strategy’s model \
     would write. They tell what a change of ours does from run to run, and nothing about the rank \
     of the product they are named after.",
);
const BILLS: Line = (
    "The bill you will get.",
    "Caches are modelled by the providers’ published rules: a real one may drop a prompt early or \
     be shared. Discounts and taxes are left out.",
);
const WAITS: Line = (
    "How long it takes on your line.",
    "Where a wait is modelled it follows one profile of speeds for everybody. It ranks; it does not \
     predict.",
);

/// The lines of a run.
pub(super) fn lines(report: &Report) -> Vec<Line> {
    let probed = report.transcripts.iter().any(|t| !t.probes.is_empty());
    let examined = report.transcripts.iter().any(|t| !t.exam.references.is_empty())
        || (report.sessions.iter())
            .any(|session| session.cuts().iter().any(|cut| !cut.facts.is_empty()));
    let stand_ins = report.rows.iter().any(|row| row.standing == Standing::StandIn);
    let billed = report.rows.iter().any(|row| row.number(catalogue::COST_USD).is_some());
    let waited = report.rows.iter().any(|row| row.number(catalogue::BLOCKING_MS_P95).is_some());
    let lexical = probed && report.manifest.graded_by() == Source::Lexical;
    let some = [
        (examined, REFERENCES),
        (probed, PROBES),
        (lexical, LEXICAL),
        (stand_ins, STAND_INS),
        (billed, BILLS),
        (waited, WAITS),
    ];
    let some = some.into_iter().filter(|(holds, _)| *holds).map(|(_, line)| line);
    ALWAYS.into_iter().chain(some).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    #[test]
    fn a_blind_spot_of_a_seat_is_named_only_where_that_seat_was_taken() {
        let mut report = Kit::default().report();
        assert!(lines(&report).contains(&LEXICAL));
        assert!(lines(&report).contains(&STAND_INS));
        report.manifest.judge = "openai/a".to_owned();
        report.rows.retain(|row| row.standing != Standing::StandIn);
        assert!(!lines(&report).contains(&LEXICAL));
        assert!(!lines(&report).contains(&STAND_INS));
    }
}
