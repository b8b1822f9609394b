//! Advice on when to compact, in sentences. Each is derived from figures, and
//! left out where they are absent.

use super::number::{cents, dollars, percent, time, tokens};
use super::{capital, listed, uncapital};
use crate::model::{
    Advice, Basis, Estimate, Finding, Limit, Limits, OFFLINE, Reason, RowKind, SizeFigures,
    StrategyAdvice, Through,
};
use crate::text::{counted, form_for, grouped};

/// Most offline summaries, and most classes of facts, that a sentence names.
const NAMED: usize = 3;
/// Savings below this many dollars are not told.
const LEAST: f64 = 0.005;
/// Requests after a cut that are replayed.
const REPLAYED: u64 = 40;

/// Whether compacting pays before the context limit makes it necessary, from which
/// size on, and with what.
pub fn before_the_limit(advice: &Advice) -> String {
    match (advice.because, advice.chosen(), &advice.through) {
        (Reason::DearerInTheWhole, Some((strategy, at)), Some(through)) => {
            dearer(advice, strategy, at, through)
        }
        (Reason::Saves, Some((strategy, at)), _) => {
            format!("Compact early: {}", saves(advice, strategy, at))
        }
        (Reason::FewClusters, Some((strategy, at)), _) => {
            format!("In these few sessions compacting early paid: {}", saves(advice, strategy, at))
        }
        (because, ..) => without_choice(advice, because),
    }
}

/// What is to be done at the context limit, where `told` is what the replay at the
/// window tells: nothing in sessions that never come there.
pub fn at_the_limit(advice: &Advice, answer: &str) -> String {
    let Basis { sessions, fit, limits, .. } = advice.basis;
    if fit == sessions {
        let limits = limits.map(|limits| format!(" ({})", limit_words(limits)));
        return format!(
            "No session comes to the limit{}: the largest context has {} tokens, so nothing has to \
             be compacted.",
            limits.unwrap_or_default(),
            tokens(advice.basis.largest_tokens as f64)
        );
    }
    // Compacting early changes sessions that fit, too.
    let early = matches!(advice.because, Reason::Saves | Reason::FewClusters);
    let rest = match fit {
        0 => String::new(),
        _ if early && advice.choice.is_some() => String::new(),
        fit => format!(
            "{} of {} {} below the limit: change nothing there. ",
            grouped(fit),
            counted(sessions, "session"),
            form_for(fit, "stays", "stay")
        ),
    };
    match answer.starts_with("At ") {
        true => format!("{rest}{answer}"),
        false => format!("{rest}At the limit: {}", uncapital(answer)),
    }
}

/// Reasons for the answer, a sentence each.
pub fn reasons(advice: &Advice) -> Vec<String> {
    let mut reasons = Vec::new();
    if let (None, Some((strategy, at))) = (advice.chosen(), closest(advice)) {
        reasons.extend(near(advice, strategy, at));
    }
    if let Some((_, at)) = advice.chosen().or_else(|| closest(advice)) {
        reasons.extend(break_even(at));
    }
    if let Some((_, at)) = advice.chosen() {
        reasons.extend(keeps(advice, at));
        reasons.extend(at.wait_ms.map(|ms| format!("The user waits {} for it.", time(ms))));
    }
    reasons.push(basis(advice));
    reasons
}

/// What a reader must know before acting on the advice, a sentence each.
pub fn caveats(advice: &Advice) -> Vec<String> {
    let mut caveats = Vec::new();
    let offline_summaries: Vec<String> =
        advice.offline_summaries().map(|one| one.strategy.clone()).collect();
    if !offline_summaries.is_empty() {
        caveats.push(format!(
            "An offline summary wrote the summaries of {}: their dollars are those of its calls at the \
             price of the model that is billed, and what they keep says nothing about the strategy.",
            listed(&offline_summaries)
        ));
    }
    if let Some((_, at)) = advice.chosen().or_else(|| closest(advice))
        && at.extrapolated > 0
    {
        caveats.push(format!(
            "At {} of {} at this size more than {REPLAYED} requests were still to come: after the \
             first {REPLAYED} its savings are extrapolated at their mean rate.",
            grouped(at.extrapolated),
            counted(at.cuts, "cut")
        ));
    }
    caveats.push(
        "After the cut the strategy goes on compacting at the same threshold, so what is saved is \
         that of a threshold and not of one compaction alone."
            .to_owned(),
    );
    if let Some((_, at)) = advice.chosen().or_else(|| closest(advice))
        && at.saving_usd.is_some_and(|saving| saving.clusters > advice.basis.clusters)
    {
        caveats.push(
            "All sessions of this size come from one project: the interval speaks of more sessions \
             of it, not of other projects."
                .to_owned(),
        );
    }
    if advice.choice.is_some() {
        caveats.push(
            "Strategy and size were chosen on the same sessions that they are measured on, so expect \
             less in practice."
                .to_owned(),
        );
    }
    caveats.push(
        "Sizes are those of contexts with at least five requests still to come: a compaction in \
         the last four of a session is a loss that is not counted."
            .to_owned(),
    );
    let limits = [Limit::OpenLoop, Limit::IdentifiersOnly].map(Finding::from);
    caveats.extend(limits.map(|limit| capital(&format!("{limit}."))));
    caveats
}

/// A size of contexts: `64k to 128k tokens`, `under 4k tokens`.
pub fn size_words(at: &SizeFigures) -> String {
    match at.from {
        0 => format!("under {} tokens", edge(at.to)),
        from => format!("{} to {} tokens", edge(from), edge(at.to)),
    }
}

/// The edge of a size, in whole thousands: `64k`.
pub fn edge(size: u64) -> String {
    if size < 1_000_000 { format!("{}k", size / 1_000) } else { tokens(size as f64) }
}

/// A range behind its figure: ` (95 % interval 0.85 to 0.97)`.
fn range(advice: &Advice, of: &Estimate, words: fn(f64) -> String) -> String {
    let unit = match advice.basis.noun {
        "session" | "session of one project" => "session",
        _ => "project",
    };
    if !of.tested && of.clusters == 1 {
        return String::new();
    }
    // The unit of a share stands behind the range.
    let (lo, hi) = (words(of.lo).replace(" %", ""), words(of.hi));
    match of.tested {
        true => format!(" (95 % interval {lo} to {hi})"),
        false => format!(" ({lo} to {hi} from {unit} to {unit})"),
    }
}

/// For example "prune at about 96k tokens costs $65.10 through all 12 sessions, …".
fn saves(advice: &Advice, strategy: &StrategyAdvice, at: &SizeFigures) -> String {
    let whole = match &advice.through {
        Some(through) => format!(
            "costs {} through {}, {}",
            dollars(through.usd),
            all_sessions(through),
            against_today(through)
        ),
        None => format!("would {} by single compactions", worth(advice, at)),
    };
    let kept = match (&at.kept, at.freed) {
        (Some(kept), Some(freed)) => format!(
            ", frees {} and keeps {} of the facts needed afterwards",
            percent(freed),
            percent(kept.value)
        ),
        _ => String::new(),
    };
    format!("{} at about {} tokens {whole}{kept}.", strategy.strategy, tokens(at.tokens as f64))
}

fn dearer(
    advice: &Advice,
    strategy: &StrategyAdvice,
    at: &SizeFigures,
    through: &Through,
) -> String {
    let most = through.most.as_ref().map(|most| {
        format!(
            "; {} of that in one session ({}), compacted {}",
            dollars(most.difference_usd.abs()),
            most.session,
            counted(most.compactions, "time")
        )
    });
    format!(
        "Do not compact before the limit: single compactions by {} at about {} tokens {}, but \
         through {} it costs {}, {}{}.",
        strategy.strategy,
        tokens(at.tokens as f64),
        worth(advice, at),
        all_sessions(through),
        dollars(through.usd),
        against_today(through),
        most.unwrap_or_default()
    )
}

fn all_sessions(through: &Through) -> String {
    match through.sessions {
        1 => "the session".to_owned(),
        n => format!("all {}", counted(n, "session")),
    }
}

/// For example "7 % less than today ($75.16)".
fn against_today(through: &Through) -> String {
    let today = match through.as_recorded {
        true => "today",
        false => "the whole conversation",
    };
    let than = format!("{today} ({})", dollars(through.today_usd));
    let share = 1.0 - through.usd / through.today_usd;
    if share.abs() < 0.005 || !share.is_finite() {
        return format!("as much as {than}");
    }
    let side = if share > 0.0 { "less" } else { "more" };
    format!("{} {side} than {than}", percent(share.abs()))
}

/// For example "save $0.42 a session (…)".
fn worth(advice: &Advice, at: &SizeFigures) -> String {
    let Some(saving) = at.saving_usd else {
        return "have no known price".to_owned();
    };
    let range = range(advice, &saving, cents);
    let (verb, range) = match saving.value < 0.0 {
        true => ("lose", range.replacen("interval", "interval of the saving", 1)),
        false => ("save", range),
    };
    format!("{verb} {} a session{range}", cents(saving.value.abs()))
}

fn without_choice(advice: &Advice, because: Reason) -> String {
    let largest = tokens(advice.basis.largest_tokens as f64);
    match because {
        Reason::NoPlace => format!(
            "No session is long enough to be compacted before the limit: the largest context has \
             {largest} tokens{}.",
            share_of_limit(advice, advice.basis.largest_tokens)
        ),
        Reason::NoStrategy => {
            "There is no strategy to advise on: only controls ran, or each had unusable replies."
                .to_owned()
        }
        Reason::NoPrice => "Whether compacting pays is not known, because a price is missing: \
                             name a model that has one with `--agent-model`."
            .to_owned(),
        Reason::OnlyOfflineSummaries => {
            "Whether compacting before the limit pays is not known: every \
                                  strategy here needs a model for its summaries."
                .to_owned()
        }
        Reason::LosesTooMuch => "Do not compact before the limit: where a strategy saves, it \
                                  keeps less than half of what was needed afterwards."
            .to_owned(),
        Reason::NoSaving => format!(
            "Do not compact before the limit: no strategy that needs no model saves at any size up \
             to {largest} tokens."
        ),
        Reason::FewClusters => "Do not compact before the limit: in these few sessions no \
                                 strategy that keeps half of the facts saved in each."
            .to_owned(),
        Reason::Open | Reason::Saves | Reason::DearerInTheWhole => {
            "Compacting before the limit is not known to pay.".to_owned()
        }
    }
}

/// The strategy and the size that come closest to saving, where none is advised.
fn closest(advice: &Advice) -> Option<(&StrategyAdvice, &SizeFigures)> {
    let strategy = advice.shown().filter(|strategy| strategy.row_kind == RowKind::Ranked)?;
    Some((strategy, strategy.best()?))
}

fn near(advice: &Advice, strategy: &StrategyAdvice, at: &SizeFigures) -> Option<String> {
    // What saves nothing comes close to nothing.
    at.saving_usd.filter(|saving| saving.value.abs() >= LEAST)?;
    let (name, size) = (&strategy.strategy, size_words(at));
    Some(format!("Closest is {name} at {size}: single compactions {}.", worth(advice, at)))
}

fn break_even(at: &SizeFigures) -> Option<String> {
    let back = at.paid_back?;
    let left = form(at.requests_left);
    let even = at.break_even_requests.map_or_else(
        || "At more than half of these cuts it never saves what it cost".to_owned(),
        |even| {
            let requests = counted(even as u64, "request");
            format!("It has saved what it cost after {requests}")
        },
    );
    Some(format!(
        "{even}, and {left} were still to come (medians); at {} of the cuts it had paid back when \
         the session ended.",
        percent(back)
    ))
}

fn form(requests: f64) -> String {
    format!("{requests:.0}")
}

fn keeps(advice: &Advice, at: &SizeFigures) -> Option<String> {
    let kept = at.kept?;
    let mut missing: Vec<(&str, (u64, u64))> =
        at.missing.iter().map(|(class, counts)| (*class, *counts)).collect();
    missing.retain(|(_, (missing, _))| *missing > 0);
    missing.sort_by_key(|(_, (missing, _))| std::cmp::Reverse(*missing));
    let classes = missing.iter().take(NAMED);
    let classes: Vec<String> = classes
        .map(|(class, (missing, all))| format!("{class} ({missing} of {all} missing)"))
        .collect();
    let lost = match classes.is_empty() {
        true => "; nothing of it was missing".to_owned(),
        false => format!("; by class: {}", listed(&classes)),
    };
    Some(format!(
        "Behind it the context still holds {} of the {} that were needed afterwards{}{lost}.",
        percent(kept.value),
        counted(at.facts, "fact"),
        range(advice, &kept, percent)
    ))
}

fn limit_words(limits: Limits) -> String {
    let (least, most) = (tokens(limits.least as f64), tokens(limits.most as f64));
    match limits.least == limits.most {
        true => format!("{least} tokens"),
        false => format!("{least} to {most} tokens"),
    }
}

/// The size as a share of the smallest limit.
fn share_of_limit(advice: &Advice, size: u64) -> String {
    let Some(limits) = advice.basis.limits else { return String::new() };
    let of = if limits.least == limits.most { "the" } else { "the smallest" };
    format!(" ({} of {of} window)", percent(size as f64 / limits.least as f64))
}

/// Strategies that would pay by their dollars, but whose summaries an offline summary wrote;
/// `None` where there are none.
pub fn summaries(advice: &Advice) -> Option<String> {
    let mut paying: Vec<(&str, u64)> = advice
        .offline_summaries()
        .filter_map(|one| Some((one.strategy.as_str(), one.from_tokens?)))
        .collect();
    paying.sort_by_key(|(_, from)| *from);
    let all = paying.len();
    let named: Vec<String> = paying
        .iter()
        .take(NAMED)
        .map(|(name, from)| format!("{name} from {}", edge(*from)))
        .collect();
    let more = match all.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    (all > 0).then(|| {
        format!(
            "Also cheaper, quality unknown without a model: compacting with {}{more} tokens on.",
            listed(&named)
        )
    })
}

fn basis(advice: &Advice) -> String {
    let basis = &advice.basis;
    let by = match basis.compactor.as_str() {
        OFFLINE => String::new(),
        model => format!(", summaries by {model}"),
    };
    let uncut: u64 = basis.not_cut.iter().map(|(_, sessions)| sessions).sum();
    let not_cut = basis.not_cut.first().map(|(why, _)| {
        let (sessions, have) = (counted(uncut, "session"), form_for(uncut, "has", "have"));
        let first = if uncut > 1 { ", the first one because" } else { ":" };
        format!(" {sessions} {have} no place for a cut{first} {why}.")
    });
    format!(
        "This rests on {} in {} of {} ({}){by}.{}",
        counted(basis.cuts, "cut"),
        grouped(basis.cut_sessions),
        counted(basis.sessions, "session"),
        counted(basis.clusters, basis.noun),
        not_cut.unwrap_or_default()
    )
}
