//! The recommendation of a run in sentences: what to use, how sure that is,
//! what was tested, and what else matters for the choice.

use super::headroom::at_the_limit;
use super::number::{distance, dollars, gain, loss, percent};
use super::sizes::{no_sizes, size_answer, size_basis};
use super::{capital, kept, listed, uncapital, window};
use crate::model::{
    Against, AgainstFull, Alternative, Choice, Chosen, ComparisonWithFull, Finding, Limit,
    Measured, NATIVE, NextStep, NoChoice, Priced, Primary, Range, RangeOf, Recommendation,
    Replayed, Report, RowName, RunnerUp, Savings,
};
use crate::text::{counted, form_for, grouped};

/// Differences below this share of a bill are not mentioned.
const LEAST: f64 = 0.005;
/// Largest number of other windows that are named.
const OTHERS: usize = 3;

/// The recommendation as text; each part is one or more sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The strategy to use, what it keeps and what it costs; or why there is no
    /// choice.
    pub answer: String,
    /// The conclusion that chance allows; without one, the largest doubt.
    pub how_sure: String,
    /// The finding that questions the answer most, unless `how_sure` is that.
    pub doubt: Option<String>,
    /// What was replayed, and by which questions or facts it was measured.
    pub basis: String,
    /// What else a reader should know before choosing: ties, rivals, other
    /// windows.
    pub also: Vec<String>,
    /// The command of a further run, and what that run would show.
    pub next: Option<String>,
    /// What a replay at the windows of the run tells those who build a harness of their own,
    /// where the answer is the size at which the recorded agent compacts.
    pub harness: Option<String>,
}

/// The recommendation of a run as text, part by part; `None` for a run without rows.
pub fn answer(report: &Report) -> Option<Answer> {
    let mut of = report.recommendation.clone()?;
    let free = report.has_only_savers() || report.headroom.is_some_and(|of| of.is_whole());
    if let (Choice::Use(chosen), true) = (&mut of.choice, free) {
        // Nobody has to choose a strategy, so its range says nothing of the answer.
        chosen.spread = None;
    }
    let mut answer = recommended(&of);
    let told = super::savers::savers(report).join(" ");
    if !told.is_empty() && report.has_only_savers() {
        // Nothing was asked for but what the savers come to.
        return Some(Answer { answer: told, also: Vec::new(), next: None, ..answer });
    }
    if let Some((row, figure)) = &of.hint {
        answer.answer += &format!(
            " As a hint: {} keeps {} with offline summaries, a model's may keep more or less.",
            row.strategy,
            kept(Primary::Continuity, *figure)
        );
    }
    if let Some(headroom) = &report.headroom {
        answer.answer = at_the_limit(headroom, &answer.answer);
    }
    if let Some(curve) = &report.curve {
        let harness = std::mem::take(&mut answer.answer);
        answer.answer = match curve {
            Ok(curve) => size_answer(curve),
            Err(why) => no_sizes(why),
        };
        if let Ok(curve) = curve {
            (answer.how_sure, answer.doubt) = (size_basis(curve), None);
        }
        let has_facts = report.primary == Primary::FactsKept;
        answer.harness = Some(harness).filter(|_| has_facts || curve.is_err());
    }
    if !told.is_empty() {
        answer.answer = format!("{} {told}", answer.answer);
    }
    Some(answer)
}

/// What a replay at the windows of the run comes to.
pub(crate) fn recommended(of: &Recommendation) -> Answer {
    let (answer, also) = match &of.choice {
        Choice::Use(chosen) => (used(chosen), also(chosen)),
        Choice::None { why, nor_at } => (none(why, nor_at), Vec::new()),
    };
    let doubt = of.doubt.as_ref().map_or_else(|| Finding::from(Limit::OpenLoop), Finding::clone);
    let (how_sure, doubt) = match &of.sure {
        Some(sure) => {
            let spread = match &of.choice {
                Choice::Use(chosen) => spread(chosen).unwrap_or_default(),
                Choice::None { .. } => String::new(),
            };
            let sure = match spread.is_empty() {
                true => how_sure(sure),
                false => spread + &uncapital(&how_sure(sure)),
            };
            (sure, Some(format!("The largest doubt: {doubt}.")))
        }
        None if of.choice.place().is_some() => (format!("The largest doubt: {doubt}."), None),
        None => (capital(&format!("{doubt}.")), None),
    };
    Answer {
        answer,
        how_sure,
        doubt,
        basis: basis(&of.replayed),
        also,
        next: of.next.as_ref().map(next),
        harness: None,
    }
}

/// What a replay at the windows of the run comes to, as one paragraph.
pub fn paragraph(of: &Recommendation) -> String {
    let Answer { answer, how_sure, doubt, basis, also, .. } = recommended(of);
    let parts = [answer].into_iter().chain(also).chain([how_sure]).chain(doubt).chain([basis]);
    parts.collect::<Vec<_>>().join(" ")
}

fn next(step: &NextStep) -> String {
    match step {
        NextStep::SmallerWindow => {
            "what a smaller limit would lose: add `--window 25%`, a quarter \
                                    of each session"
                .to_owned()
        }
        NextStep::RealSummaries { strategies, beside, usd } => {
            let run: Vec<&str> = beside.iter().chain(strategies).map(String::as_str).collect();
            let price = match usd {
                Some(usd) => format!("about {}", dollars(*usd)),
                None => "`--dry-run` tells the price".to_owned(),
            };
            format!(
                "what a model's summaries keep ({price}): add `--compactor MODEL --replicates 1 \
                 --strategy {}`",
                run.join(",")
            )
        }
        NextStep::ModelAnswerer => {
            "the same run with `--answerer MODEL --judge MODEL --max-cost USD`: \
                                    models answer the questions and grade the answers"
                .to_owned()
        }
        NextStep::ModelJudge => {
            "`recap judge RUN --judge MODEL --max-cost USD`: a model grades the \
                                 same answers, and nothing is replayed again"
                .to_owned()
        }
    }
}

fn basis(replayed: &Replayed) -> String {
    let asked = match replayed.asked {
        Measured::Questions(n) => format!("{} in ", counted(n, "question")),
        Measured::FactsAtCuts { facts, cuts, sessions } => {
            let of = match sessions < replayed.sessions {
                true => format!("{} of ", grouped(sessions as u64)),
                false => String::new(),
            };
            format!("{} at {} in {of}", counted(facts, "fact"), counted(cuts, "cut"))
        }
        Measured::NeededFacts(n) => format!("{} in ", counted(n, "needed fact")),
        Measured::Nothing => String::new(),
    };
    let through = match replayed.strategies {
        0 => "the controls alone".to_owned(),
        n => counted(n, "strategy"),
    };
    let windows: Vec<String> = replayed.windows.iter().map(|label| window(label)).collect();
    format!(
        "{asked}{} with {}, through {through} at {}.",
        counted(replayed.sessions, "session"),
        counted(replayed.requests, "request"),
        listed(&windows)
    )
}

fn used(chosen: &Chosen) -> String {
    let RowName { strategy, window: at } = &chosen.row;
    let at = limit(at);
    let head = match chosen.loses_much {
        true => format!("At {at} {strategy} loses least"),
        false => format!("At {at} use {strategy}"),
    };
    let of_what = match chosen.by {
        Primary::Continuity => "of the answers",
        Primary::FactsKept => "of the facts needed afterwards",
        Primary::ReferenceRecall => "of the facts needed next",
    };
    format!(
        "{head}: it keeps {} {of_what}{}.",
        kept(chosen.by, chosen.kept),
        chosen.bill.as_ref().map(bill).unwrap_or_default(),
    ) + &chosen.over.map(|over| format!(" {}.", refused(over))).unwrap_or_default()
}

/// For example "prune keeps 74 to 92 % from project to project. ".
fn spread(chosen: &Chosen) -> Option<String> {
    let Range { lo, hi, of } = chosen.spread?;
    let lo = kept(chosen.by, lo);
    let range = format!("{} to {}", lo.trim_end_matches(" %"), kept(chosen.by, hi));
    let over = match of {
        RangeOf::Sessions => "from session to session",
        RangeOf::Projects => "from project to project",
        RangeOf::WithinSession => "within this session",
        RangeOf::Interval => "(95 % interval)",
    };
    Some(format!("{} keeps {range} {over}; ", chosen.row.strategy))
}

fn bill(Priced { usd, billed_as, against }: &Priced) -> String {
    let billing_model =
        billed_as.as_ref().map(|name| format!(" (billed as {name})")).unwrap_or_default();
    let than = match against {
        Against::Nothing => String::new(),
        Against::Whole(savings) => describe(*savings, "the whole conversation"),
        Against::Recorded(savings) => describe(*savings, "today"),
    };
    format!(" and costs {}{billing_model}{than}", dollars(*usd))
}

fn describe(savings: Savings, whose: &str) -> String {
    let share = savings.share;
    if share.abs() < LEAST {
        return format!(", as much as {whose}");
    }
    let side = if share > 0.0 { "less" } else { "more" };
    format!(", {} {side} than {whose}", percent(share.abs()))
}

/// What remains of the savings if everything lost is fetched again.
fn refetched(Priced { against, .. }: &Priced) -> Option<String> {
    let (Against::Whole(savings) | Against::Recorded(savings)) = against else { return None };
    let left = savings.refetched.filter(|_| savings.share >= LEAST)?;
    Some(match left >= LEAST {
        true => "If everything lost is fetched again, less is saved.".to_owned(),
        false => "If everything lost is fetched again, nothing is saved.".to_owned(),
    })
}

/// Sentences about ties, rivals, requests over the window and other windows.
fn also(chosen: &Chosen) -> Vec<String> {
    let mut also: Vec<String> = chosen.bill.as_ref().and_then(refetched).into_iter().collect();
    match chosen.alike.as_slice() {
        [] => {}
        [one] => also.push(format!("{one} does exactly as well.")),
        many => also.push(format!("{} do exactly as well.", counted(many.len(), "other"))),
    }
    if let Some(RunnerUp { strategy, kept: more, usd, .. }) = &chosen.keeps_more {
        also.push(format!(
            "{strategy} keeps {}{}, which is not known to be worth it.",
            kept(chosen.by, *more),
            usd.map(|usd| format!(" for {}", dollars(usd))).unwrap_or_default()
        ));
    }
    if let Some(RunnerUp { strategy, kept: more, over: Some(over), .. }) = &chosen.refused {
        also.push(format!("{strategy} keeps {}, but {}.", kept(chosen.by, *more), refused(*over)));
    }
    if let Some(added) = chosen.adds {
        also.push(format!(
            "What its model writes is not known to keep more than an empty text in its place ({}).",
            gain(added)
        ));
    }
    also.extend(elsewhere(chosen));
    also
}

/// For example "3 of its 10 requests are over the window and would have been
/// refused".
fn refused((over, requests): (f64, f64)) -> String {
    format!(
        "{} of its {} {} over the window and would be refused",
        grouped(over.round() as u64),
        counted(requests.round() as u64, "request"),
        form_for(over.round() as u64, "is", "are")
    )
}

fn elsewhere(chosen: &Chosen) -> Option<String> {
    let none: Vec<String> = chosen.none_at.iter().map(|label| window(label)).collect();
    let none = (!none.is_empty()).then(|| format!("none is to be preferred at {}", listed(&none)));
    let others = &chosen.elsewhere;
    let figure = |at: &(RowName, f64)| kept(chosen.by, at.1);
    let best = match others.is_empty() || others.len() > OTHERS {
        true => None,
        false if others.iter().all(|at| at.0.strategy == chosen.row.strategy) => {
            let each =
                others.iter().map(|at| format!("{} at {}", figure(at), window(&at.0.window)));
            Some(format!("it also leads at other windows ({})", listed(&each.collect::<Vec<_>>())))
        }
        false => {
            let each = others.iter().map(|at| format!("{} ({})", at.0, figure(at)));
            Some(format!("best at other windows: {}", listed(&each.collect::<Vec<_>>())))
        }
    };
    let parts: Vec<String> = best.into_iter().chain(none).collect();
    (!parts.is_empty()).then(|| capital(&format!("{}.", parts.join("; "))))
}

/// A window behind "at" in an answer: `the limit`, `a window of 25 %`.
fn limit(label: &str) -> String {
    match label == NATIVE {
        true => "the limit".to_owned(),
        false => format!("a window of {}", window(label)),
    }
}

fn none(why: &NoChoice, nor_at: &[String]) -> String {
    let most = |best: &RowName, figure: f64, within: bool, by| {
        let within = if within { " within the window" } else { "" };
        format!("{} keeps most{within} ({})", best.strategy, kept(by, figure))
    };
    let text = match why {
        NoChoice::TooLittle { best, kept: figure, within, least, by } => format!(
            "At {} {}, which is less than {}: leave the context more room, or have a model write \
             summaries.",
            limit(&best.window),
            most(best, *figure, *within, *by),
            kept(*by, *least)
        ),
        NoChoice::NoGain { best, kept: figure, within, usd, over, by } => {
            let at = limit(&best.window);
            let instead = match over {
                Alternative::Recorded(bill) => format!(
                    "At {at} keep what the agent does ({} today): nothing that keeps half of the \
                     facts costs less",
                    dollars(*bill)
                ),
                Alternative::Whole(bill) => format!(
                    "Send the whole conversation ({}): it fits {at}, and nothing that keeps half of \
                     the facts costs less",
                    dollars(*bill)
                ),
            };
            let usd =
                usd.map_or_else(|| "a bill whose storage has no known price".to_owned(), dollars);
            format!("{instead}; {} for {usd}.", most(best, *figure, *within, *by))
        }
        NoChoice::NoneActed { window: at, most } => {
            let most = most.as_ref().map(|(name, figure)| {
                let figure = kept(Primary::FactsKept, *figure);
                format!("; where a compaction was made to happen, {name} keeps most ({figure})")
            });
            format!(
                "At {} no strategy that needs no model had anything to compact{}.",
                limit(at),
                most.unwrap_or_default()
            )
        }
        NoChoice::OnlyControls => {
            "Only controls ran: there is no strategy to choose from.".to_owned()
        }
        NoChoice::NoFactsNeeded => "No fact was needed: all that the agent used next was still \
                                     sent as it was recorded, so nothing tells strategies apart."
            .to_owned(),
        NoChoice::NothingCompacted { largest } => format!(
            "Nothing compacted: the largest context seen has {}. Only a smaller window can tell \
             strategies apart.",
            counted(*largest, "token")
        ),
        NoChoice::OnlyOfflineSummaries => {
            "No strategy is ranked: all of them need a model for their \
                                   summaries (`--compactor MODEL`)."
                .to_owned()
        }
        NoChoice::OnlyUnusable => {
            "No strategy is ranked: of each more than 5 % of the compactor's \
                               replies were unusable."
                .to_owned()
        }
        NoChoice::FewAsked { strategy, asked, least, by } => {
            let what = if *by == Primary::Continuity { "question" } else { "fact" };
            format!(
                "None is ranked: {strategy} was measured by {} only, and a rank takes at \
                 least {least}.",
                counted(*asked, what)
            )
        }
        NoChoice::AllFailed => {
            "Each of those that could be ranked failed on some session, so none is.".to_owned()
        }
        NoChoice::NoFigure { by, why } => {
            let measure = match by {
                Primary::Continuity => "continuity",
                Primary::FactsKept => "share of facts kept",
                Primary::ReferenceRecall => "share of needed facts kept",
            };
            let why = why.as_deref().unwrap_or("nothing to measure");
            format!("None is ranked, since there is no {measure}: {why}.")
        }
        NoChoice::Incomplete => {
            "Nothing is recommended while a part of the run is missing.".to_owned()
        }
    };
    let others: Vec<String> = nor_at.iter().map(|label| window(label)).collect();
    match others.is_empty() {
        true => text,
        false => format!("{text} Nor is one recommended at {}.", listed(&others)),
    }
}

/// A sentence on how the choice compares with the whole conversation.
fn how_sure(sure: &ComparisonWithFull) -> String {
    let with = counted(sure.clusters, sure.noun);
    let margin = distance(sure.by, sure.margin);
    match sure.verdict {
        AgainstFull::Descriptive => format!("{}: described, not decided.", capital(&with)),
        AgainstFull::Inferior => {
            let by = sure.difference.map(|(mean, lo, hi)| {
                // Losses are shown as positive numbers: the lower bound of the
                // difference is the largest loss.
                let (least, most) = (loss(sure.by, hi), loss(sure.by, lo));
                format!(" ({}; 95 % interval {least} to {most})", distance(sure.by, mean))
            });
            format!(
                "Over {with} it loses more than the margin of {margin} against the whole \
                 conversation{}.",
                by.unwrap_or_default()
            )
        }
        AgainstFull::Undecided => {
            let missed = sure.detectable.map(|least| {
                let least = distance(sure.by, least);
                format!("; a difference below {least} would be missed more than one time in five")
            });
            format!(
                "Whether it loses more than the margin of {margin} against the whole conversation \
                 stays open with {with}{}.",
                missed.unwrap_or_default()
            )
        }
        AgainstFull::ProvisionalNonInferior => format!(
            "Over {with} it stays within the margin of {margin} of the whole conversation, \
             provisionally: losses that are rare and heavy could still hide."
        ),
        AgainstFull::NonInferior => format!(
            "Over {with} it is not worse than the whole conversation by more than the margin of \
             {margin}."
        ),
    }
}
