//! Each finding as a clause without a full stop.

use std::fmt::{Display, Formatter, Result};

use super::number::{dollars, error, percent};
use super::{limits, observations, window};
use crate::model::{
    BillErrors, Fallbacks, Finding, OtherBill, Problem, RowName, TRUSTED_KAPPA, Ungraded,
    UnusableReplies,
};
use crate::text::{counted, form_for, grouped};

impl Display for RowName {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{} at {}", self.strategy, window(&self.window))
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let words = match self {
            Finding::Problem(problem) => words(problem),
            Finding::Observation(observation) => observations::words(observation),
            Finding::Limit(limit) => limits::words(limit),
        };
        out.write_str(&words)
    }
}

fn words(problem: &Problem) -> String {
    use Problem::*;
    match problem {
        Incomplete(missing) => missing.to_string(),
        Notice(text) => text.clone(),
        UnusableReplies { rows, ranked } => unusable_replies(rows, *ranked),
        FailedCells { failed, cells, strategies } => format!(
            "{failed} of {} failed ({}): their rows rest on other sessions than the rest and \
             are not ranked",
            counted(*cells, "cell"),
            strategies.join(", ")
        ),
        NothingCompacts { window: at, largest } => format!(
            "nothing compacts at {}: the largest context seen is {}; choose a smaller --window",
            window(at),
            counted(*largest, "token")
        ),
        IdleCompactions { rows, by_size } => idle(rows, *by_size),
        JudgesDisagree { judges, kappa, answers } => format!(
            "the judges disagree: kappa {kappa:.2} between {} on {}, below {TRUSTED_KAPPA}; scores \
             depend on who grades",
            judges.join(" and "),
            counted(*answers, "answer")
        ),
        Ungraded(ungraded) => without_grade(ungraded),
        UngradedOtherwise { missing, answers, reasons } => format!(
            "{missing} of {} {} missing or not graded for {}: see questions.csv",
            counted(*answers, "answer"),
            form_for(*missing, "is", "are"),
            counted(*reasons, "other reason")
        ),
        Unchecked { facts, cuts } => format!(
            "the judge gave no usable reply on what was written at {}: {} there {} by the rule of \
             words; --resume asks again",
            counted(*cuts, "cut"),
            counted(*facts, "fact"),
            form_for(*facts, "counts as carried", "count as carried")
        ),
        UnevenQuestions => "what is not answered or not graded counts neither as right nor as \
                            wrong: scores of different strategies rest on somewhat different \
                            questions"
            .to_owned(),
        Unrecovered { missing, answers, reason } => format!(
            "no answer came {missing} of {} with a recovery channel: {reason}",
            counted(*answers, "time")
        ),
        SizeMatters { rows } => format!(
            "the size of the context alone changes the scores (share answered right from the evidence \
             alone against the whole conversation): {}",
            joined(rows.iter().map(|(row, own, full)| {
                (row, format!(" {} against {}", percent(*own), percent(*full)))
            }))
        ),
        NarrowScale { window: at, floor, ceiling } => format!(
            "at {} the whole conversation answers {} of the questions right and no history at all \
             {}, which leaves little to tell strategies apart by",
            window(at),
            percent(*ceiling),
            percent(*floor)
        ),
        NamesSuffice { best, kept, list } => format!(
            "a list of bare names (control id-list) keeps {} of the facts where {best} keeps {}: \
             names that survive are no proof that their meaning does, so look at the answers too",
            percent(*list),
            percent(*kept)
        ),
        ExamInDoubt { share } => format!(
            "after its own compactions the recorded agent did without {} of what this exam would \
             have asked for: read needed facts kept with that error in mind",
            percent(*share)
        ),
        ThinExams { thin, sessions, references, requests } => format!(
            "{thin} of {} {} for fewer than {references} references or at fewer than {requests} \
             requests: reference recall leaves {} out",
            counted(*sessions, "session"),
            form_for(*thin, "asks", "ask"),
            form_for(*thin, "it", "them")
        ),
        NotCut { sessions, of, example, why } => format!(
            "{sessions} of {} {} not cut, for example {example}: {why}",
            counted(*of, "session"),
            form_for(*sessions, "is", "are")
        ),
        BreakpointUnknown { rows, more, least } => breakpoint(rows, *more, *least),
        DefaultModel { sessions, of, billed_as } => format!(
            "{sessions} of {} {} no model: {} billed as {}; --agent-model takes another",
            counted(*of, "session"),
            form_for(*sessions, "names", "name"),
            form_for(*sessions, "it is", "they are"),
            billed_as.join(", ")
        ),
        Unpriced { models, sessions, of } => format!(
            "no price is known for {}{}: --prices takes a list that has one, --agent-model bills \
             sessions as another model",
            models.join(", "),
            match sessions == of {
                true => ", so nor is the bill".to_owned(),
                false => format!(
                    ", so no bill has what it answered, nor {sessions} of {} that it leads",
                    counted(*of, "session")
                ),
            }
        ),
        StorageUnpriced { rows, models } => format!(
            "what keeping a cache of {} costs is unknown, so these bills are without it and count \
             as no saving: {}; a list for --prices may have \
             cache_storage_cost_per_token_per_hour",
            models.join(", "),
            joined(rows.iter().map(|row| (row, String::new())))
        ),
        UnbilledSummaries { unknown, of } => format!(
            "the calls for {} of {} of the recorded agent are not on record: today's bill has an \
             estimate of them, as of those of every other row",
            grouped(*unknown),
            counted(*of, "summary")
        ),
        BillOff { off, checked, worst, errors } => format!(
            "the simulated bill is more than {} off the recorded one in {} of {} with reported \
             usage (worst {worst}: {})",
            percent(BillErrors::FAR_OFF),
            grouped(*off),
            counted(*checked, "session"),
            bill_errors(errors)
        ),
    }
}

fn unusable_replies(rows: &[(RowName, UnusableReplies)], ranked: bool) -> String {
    let each = joined(rows.iter().map(|(row, found)| {
        let reasons =
            found.reasons.iter().map(|(reason, n)| format!("{} {}", grouped(*n), reason.words()));
        let reasons = reasons.collect::<Vec<String>>().join(", ");
        let Fallbacks { asked, fell_back } = found.fallbacks;
        let fell_back = match fell_back {
            0 => String::new(),
            times => format!(", falling back {} of {} times", grouped(times), grouped(asked)),
        };
        let (unusable, replies) = (grouped(found.unusable), grouped(found.replies));
        (row, format!(" {unusable} of {replies} ({reasons}){fell_back}"))
    }));
    match ranked {
        true => format!("some replies of the compactor were unusable: {each}"),
        false => format!(
            "too many replies of the compactor were unusable, so these rows are not ranked, whatever \
             their fallback kept: {each}"
        ),
    }
}

fn idle(rows: &[(RowName, u64)], by_size: bool) -> String {
    let one = rows.len() == 1;
    let why = match by_size {
        true if one => "it triggers again at once and frees almost nothing",
        true => "they trigger again at once and free almost nothing",
        false => "each time the cache breaks for next to nothing",
    };
    let each = joined(rows.iter().map(|(row, times)| (row, format!(" {times} times in a row"))));
    format!("compactions freed less than 5 % of the context: {each}; {why}")
}

/// For example "no answer came 3 of 8 times, to 2 of 4 questions: the model
/// refused".
fn without_grade(ungraded: &Ungraded) -> String {
    let Ungraded { answered, throughout, missing, answers, questions, of, why } = ungraded;
    let concerned = format!("{questions} of {}", counted(*of, "question"));
    let are = form_for(*questions, "is", "are");
    match (answered, throughout) {
        (false, true) => format!("{concerned} {are} not answered: {why}"),
        (false, false) => {
            let times = counted(*answers, "time");
            format!("no answer came {missing} of {times}, to {concerned}: {why}")
        }
        (true, true) => format!("{concerned} {are} not graded: {why}"),
        (true, false) => format!(
            "{missing} of {}, to {concerned}, {} not graded: {why}",
            counted(*answers, "answer"),
            form_for(*missing, "is", "are")
        ),
    }
}

fn breakpoint(rows: &[OtherBill], more: usize, least: f64) -> String {
    let each = joined(rows.iter().map(|bill| {
        let billing_model =
            bill.billed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
        let (own, other) = (dollars(bill.own), dollars(bill.other));
        (
            &bill.row,
            format!(
                "{billing_model} {other} instead of {own} ({})",
                error(bill.other / bill.own - 1.0)
            ),
        )
    }));
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more by at least {}", percent(least)),
    };
    format!(
        "recordings do not show where the agent sets its first cache breakpoint: bills take it \
         behind tools and system prompt; behind everything in front of the conversation they would \
         be: {each}{more} (cost_head_breakpoint_usd)"
    )
}

/// For example "reads +4.0 %, dollars −10.0 %".
fn bill_errors(errors: &BillErrors) -> String {
    let each = [("reads", errors.reads), ("writes", errors.writes), ("dollars", errors.usd)];
    let known = each.iter().filter_map(|(name, off)| Some(format!("{name} {}", error((*off)?))));
    known.collect::<Vec<_>>().join(", ")
}

/// For example "a 3, b 4, at 25 %" if all rows have one window, else "a at 8k
/// 3, b at 200k 4".
fn joined<'a>(rows: impl Iterator<Item = (&'a RowName, String)>) -> String {
    let rows: Vec<(&RowName, String)> = rows.collect();
    let one = rows.windows(2).all(|pair| pair[0].0.window == pair[1].0.window);
    let named = rows.iter().map(|(row, more)| match one {
        true => format!("{}{more}", row.strategy),
        false => format!("{row}{more}"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match rows.first() {
        Some((row, _)) if one => format!("{named}, at {}", window(&row.window)),
        _ => named,
    }
}
