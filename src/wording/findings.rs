//! Each finding as a clause without a full stop.

use std::fmt::{Display, Formatter, Result};

use super::number::{dollars, error, gain, percent, share};
use super::{kept, listed, window};
use crate::model::{
    Allows, BillErrors, Counts, DearBecause, Finding, Limit, Observation, OtherBill, Place,
    Problem, TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA, Ungraded, VoidReplies,
};
use crate::text::{counted, form_for, grouped};

/// The result of `recap judge calibrate` for the judge without a model;
/// `tests/suite/judge_real.rs` measures it again.
const UNTRUSTED: &str = "the offline judge is not trusted, for it accepts too many of the answers \
                         that people find wrong (`recap judge calibrate`)";

impl Display for Place {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{} at {}", self.strategy, window(&self.window))
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let words = match self {
            Finding::Problem(problem) => self::problem(problem),
            Finding::Observation(observation) => self::observation(observation),
            Finding::Limit(limit) => self::limit(limit),
        };
        out.write_str(&words)
    }
}

fn problem(problem: &Problem) -> String {
    use Problem::*;
    match problem {
        Incomplete(missing) => missing.to_string(),
        Notice(text) => text.clone(),
        VoidReplies { rows, ranked } => void_replies(rows, *ranked),
        FailedCells { failed, cells, strategies } => format!(
            "{failed} of {} failed ({}): their rows rest on other transcripts than the rest and \
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
            "{missing} of {} {} missing or not graded for {}: see probes.csv",
            counted(*answers, "answer"),
            form_for(*missing, "is", "are"),
            counted(*reasons, "other reason")
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
            "with all of the evidence at hand the reader does better or worse than with the whole \
             conversation, so scores owe something to the size of the context alone: {}",
            joined(rows.iter().map(|(row, own, full)| {
                (row, format!(" {} against {}", share(*own), share(*full)))
            }))
        ),
        NarrowScale { window: at, floor, ceiling } => format!(
            "at {} the whole conversation answers {} of the questions right and no history at all \
             {}, which leaves little to tell strategies apart by",
            window(at),
            share(*ceiling),
            share(*floor)
        ),
        NamesSuffice { best, kept, list } => format!(
            "a bare list of names without a word of meaning (id-list) keeps {} where {best} keeps \
             {}: much of this figure can be had by a trick",
            share(*list),
            share(*kept)
        ),
        ExamInDoubt { share } => format!(
            "after its own compactions the recorded agent did without {} of what this exam would \
             have asked for: read needed facts kept with that error in mind",
            percent(*share)
        ),
        ThinExams { thin, transcripts, references, requests } => format!(
            "{thin} of {} {} for fewer than {references} references or at fewer than {requests} \
             requests: reference recall leaves {} out",
            counted(*transcripts, "transcript"),
            form_for(*thin, "asks", "ask"),
            form_for(*thin, "it", "them")
        ),
        NotCut { sessions, of, example, why } => format!(
            "{sessions} of {} {} not cut, for example {example}: {why}",
            counted(*of, "session"),
            form_for(*sessions, "is", "are")
        ),
        BreakpointUnknown { rows, more, least } => breakpoint(rows, *more, *least),
        DefaultModel { sessions, of, models, billed_as } => {
            let named = match models.is_empty() {
                true => String::new(),
                false => format!(" ({})", models.join(", ")),
            };
            format!(
                "{sessions} of {} {} no model with a price{named}: {} billed as {}; --agent-model \
                 takes another",
                counted(*of, "session"),
                form_for(*sessions, "names", "name"),
                form_for(*sessions, "it is", "they are"),
                billed_as.join(", ")
            )
        }
        Unpriced { models } => format!(
            "no price is known for {}: what sessions cost there is unknown; --prices takes a list",
            models.join(", ")
        ),
        UnbilledSummaries { unknown, of } => format!(
            "recordings do not show what {unknown} of {} of the recorded agent cost: {} not in the \
             bill of `recorded`",
            counted(*of, "summary"),
            form_for(*unknown, "this call is", "these calls are")
        ),
        BillOff { off, checked, worst, errors } => format!(
            "the simulated bill is more than {} off the recorded one in {off} of {} with reported \
             usage (worst {worst}: {})",
            percent(BillErrors::FAR_OFF),
            counted(*checked, "session"),
            bill_errors(errors)
        ),
    }
}

fn observation(observation: &Observation) -> String {
    use Observation::*;
    match observation {
        LessSentMoreBilled { row, billed_as, fewer, dearer, hypothetical, why } => {
            let payer = billed_as.as_ref().map(|name| format!(" (billed as {name})"));
            let than = match hypothetical {
                true => "the whole conversation would if its requests over the window were taken",
                false => "the whole conversation",
            };
            format!(
                "{row}{} sends {} fewer tokens and costs {} more than {than}{}",
                payer.unwrap_or_default(),
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

fn limit(limit: &Limit) -> String {
    use Limit::*;
    match limit {
        OpenLoop => {
            "replay is open loop: the recorded agent does not react to what was forgotten, \
                     so this measures memory and size, not task success"
                .to_owned()
        }
        Counts(counts) => token_counts(counts),
        StandIns { strategies, compactor } => format!(
            "stand-ins, not ranked: {}. Their summaries come from the {compactor} compactor, so \
             these rows measure it and not the strategy",
            strategies.join(", ")
        ),
        OfflineSeats { answerer, judge } => offline_seats(answerer.as_deref(), judge.as_deref()),
        Paraphrased { compactor, seats, strategies } => format!(
            "{compactor} writes summaries in its own words, and the offline {} compares words: \
             what is said otherwise counts as lost, so the scores of {} are too low rather than \
             too high",
            seats.join(" and "),
            strategies.join(", ")
        ),
        Uncalibrated { judge, judges } => format!(
            "the judge {judge} is not calibrated by this run, so how often it is wrong is not \
             known: `recap judge calibrate FILE{}` measures it on answers that people graded; it \
             may be trusted from kappa {TRUSTED_KAPPA} on and below {} of wrong answers accepted, \
             by the upper bound",
            judges.iter().map(|judge| format!(" --judge {judge}")).collect::<String>(),
            percent(TRUSTED_FALSE_ACCEPTS)
        ),
        FewClusters { clusters, noun, allows } => {
            format!("{}: {}", counted(*clusters, noun), allowed(*allows, *clusters))
        }
        OneProject { transcripts } => format!(
            "all {transcripts} transcripts that are scored come from one project: intervals speak \
             of more sessions of it, not of other projects"
        ),
        SmallWindows { windows, scaled } => {
            let windows: Vec<String> = windows.iter().map(|label| window(label)).collect();
            format!(
                "results at {} do not predict a native window: {}single tool results do not shrink \
                 with it",
                listed(&windows),
                if *scaled { "thresholds are scaled to the window, but " } else { "" }
            )
        }
        IdentifiersOnly => "cuts ask for identifiers that the agent used next; whether intent, \
                            reasons and rules survive takes questions"
            .to_owned(),
        BillsAssume { prices, date, hash } => {
            let date = date.as_ref().map(|date| format!("{date}, ")).unwrap_or_default();
            let hash: String = hash.chars().take(12).collect();
            format!(
                "bills take every output as recorded, whatever was forgotten before it; prices are \
                 those of {prices} ({date}BLAKE3 {hash}…), at the standard service class"
            )
        }
        ModelledClock { sessions, of, user_ms, tool_ms } => {
            let seconds = |ms: f64| format!("{} s", (ms / 100.0).round() / 10.0);
            format!(
                "some times of {sessions} of {} are modelled ({} before a user's message, {} for a \
                 tool): which caches are still alive there is an assumption",
                counted(*of, "session"),
                seconds(*user_ms),
                seconds(*tool_ms)
            )
        }
        ModelledWaits { first_token_ms, prefill_per_s, decode_per_s } => format!(
            "waits for compactions are modelled, not measured: {first_token_ms:.0} ms to the first \
             token, {prefill_per_s:.0} tokens a second read and {decode_per_s:.0} written"
        ),
        LeftOut { records } => {
            let short = |reason: &str| reason.strip_suffix(" record").unwrap_or(reason).to_owned();
            let each = records.iter().map(|(reason, n)| format!("{n} {}", short(reason)));
            format!("records left out on import: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

fn void_replies(rows: &[(Place, VoidReplies)], ranked: bool) -> String {
    let each = joined(rows.iter().map(|(row, found)| {
        let reasons = found.reasons.iter().map(|(reason, n)| format!("{n} {}", reason.words()));
        let reasons = reasons.collect::<Vec<String>>().join(", ");
        (row, format!(" {} of {} ({reasons})", found.void, found.replies))
    }));
    match ranked {
        true => format!("some replies of the compactor were void: {each}"),
        false => format!(
            "too many replies of the compactor were void, so these rows are not ranked, whatever \
             their fallback kept: {each}"
        ),
    }
}

fn idle(rows: &[(Place, u64)], by_size: bool) -> String {
    let one = rows.len() == 1;
    let why = match by_size {
        true if one => "its threshold lies below what it keeps, or hardly above",
        true => "their thresholds lie below what they keep, or hardly above",
        false => "each time the cache breaks for next to nothing",
    };
    let each = joined(rows.iter().map(|(row, times)| (row, format!(" {times} times in a row"))));
    format!("compactions freed less than 5 % of the context: {each}; {why}")
}

/// For example "no answer came 3 of 8 times, to 2 of 4 probes: the model
/// refused".
fn without_grade(ungraded: &Ungraded) -> String {
    let Ungraded { answered, throughout, missing, answers, probes, of, why } = ungraded;
    let concerned = format!("{probes} of {}", counted(*of, "probe"));
    let are = form_for(*probes, "is", "are");
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
        let payer = bill.billed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
        let (own, other) = (dollars(bill.own), dollars(bill.other));
        (
            &bill.row,
            format!("{payer} {other} instead of {own} ({})", error(bill.other / bill.own - 1.0)),
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

fn token_counts(counts: &Counts) -> String {
    let mut text = format!(
        "tokens of {} of {} are the provider's own count from request to request",
        counts.scaled,
        counted(counts.transcripts, "transcript")
    );
    let exact = [(counts.as_asked, "as asked"), (counts.without_usage, "without usage")];
    let exact = exact.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}"));
    let exact = exact.collect::<Vec<_>>().join(", ");
    if !exact.is_empty() {
        text += &format!("; counted by the vocabulary alone: {exact}");
    }
    if counts.ahead > 0.0 {
        text += &format!(
            "; what strategies write is sized by one factor for the session, whose count was off by \
             up to {} in the median ahead of what it was fitted to",
            percent(counts.ahead)
        );
    }
    if counts.behind > 0.0 {
        text += &format!(", {} behind recorded compactions", percent(counts.behind));
    }
    text
}

/// How far answers and grades of the offline seats can be trusted. The
/// arguments are the names of models in these seats.
fn offline_seats(answerer: Option<&str>, judge: Option<&str>) -> String {
    let ranks =
        "scores rank model-free mechanisms and are no estimate of what a model would answer";
    match (answerer, judge) {
        (None, None) => format!(
            "questions are answered and graded by words and dates, without a model: {ranks}; \
             {UNTRUSTED}"
        ),
        (Some(answerer), None) => format!(
            "what {answerer} answers is graded by words and dates, without a model: what is right \
             in other words may count as wrong; {UNTRUSTED}; `recap judge RUN --judge MODEL` has \
             the same answers graded by a model"
        ),
        (None, Some(judge)) => format!(
            "questions are answered by words and dates, without a model, though {judge} grades the \
             answers: {ranks}"
        ),
        (Some(answerer), Some(judge)) => format!("{answerer} answers and {judge} grades"),
    }
}

fn allowed(allows: Allows, clusters: u64) -> &'static str {
    match (allows, clusters) {
        (Allows::Description, 1) => "intervals speak of this one only, and nothing is decided",
        (Allows::Description, 2) => "intervals speak of these only, and nothing is decided",
        (Allows::Description, _) => "every value is shown, and nothing is decided",
        (Allows::NoNonInferior, _) => "no preset can be called non-inferior",
        (Allows::Provisional, _) => "non-inferior is provisional",
        (Allows::RareLosses, _) => {
            "where non-inferior is provisional, losses that are rare and heavy could still hide"
        }
        (Allows::SmallDifferences, _) => "undecided rows may still differ by less than their mde",
    }
}

/// For example "a 3, b 4, at 25 %" if all rows have one window, else "a at 8k
/// 3, b at 200k 4".
fn joined<'a>(rows: impl Iterator<Item = (&'a Place, String)>) -> String {
    let rows: Vec<(&Place, String)> = rows.collect();
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
