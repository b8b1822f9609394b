//! Advice on when to compact, in sentences. Each is derived from figures, and
//! left out where they are absent.

use super::number::{dollars, percent, share, time, tokens};
use super::{capital, listed};
use crate::model::{
    Advice, Because, Estimate, Finding, Limit, OFFLINE, PresetAdvice, SizeFigures, Standing,
};
use crate::text::{counted, form_for, grouped};

/// Most stand-ins, and most classes of facts, that a sentence names.
const NAMED: usize = 3;
/// Requests behind a cut that are replayed.
const REPLAYED: u64 = 40;

/// The answer: whether compacting pays, from which size on, and with what.
pub fn advised(advice: &Advice) -> String {
    match (advice.because, advice.chosen()) {
        (Because::Saves, Some((preset, at))) => saves(advice, preset, at),
        (Because::FewClusters, chosen) => few(advice, chosen),
        (because, _) => {
            let closest = closest(advice).map(|(preset, at)| near(advice, preset, at));
            let answer = without_choice(advice, because);
            [answer].into_iter().chain(closest.flatten()).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Reasons for the answer, a sentence each.
pub fn reasons(advice: &Advice) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some((_, at)) = advice.chosen().or_else(|| closest(advice)) {
        reasons.extend(break_even(at));
    }
    if let Some((_, at)) = advice.chosen() {
        reasons.extend(keeps(advice, at));
        reasons.extend(at.wait_ms.map(|ms| format!("The user waits {} for it.", time(ms))));
    }
    reasons.extend(limit(advice));
    reasons.extend(stand_ins(advice));
    reasons.push(basis(advice));
    reasons
}

/// The whole advice as one paragraph.
pub fn advice_paragraph(advice: &Advice) -> String {
    [advised(advice)].into_iter().chain(reasons(advice)).collect::<Vec<_>>().join(" ")
}

/// What a reader must know before acting on the advice, a sentence each.
pub fn caveats(advice: &Advice) -> Vec<String> {
    let mut caveats = Vec::new();
    let stand_ins: Vec<String> = advice.stand_ins().map(|one| one.strategy.clone()).collect();
    if !stand_ins.is_empty() {
        caveats.push(format!(
            "A stand-in wrote the summaries of {}: their dollars are those of its calls at the \
             price of the model that is billed, and what they keep says nothing about the preset.",
            listed(&stand_ins)
        ));
    }
    if let Some((_, at)) = advice.chosen().or_else(|| closest(advice))
        && at.extrapolated > 0
    {
        caveats.push(format!(
            "At {} of {} at this size more than {REPLAYED} requests were still to come: behind the \
             first {REPLAYED} it is taken to go on saving at its mean rate.",
            grouped(at.extrapolated),
            counted(at.cuts, "cut")
        ));
    }
    caveats.push(
        "Behind the cut the preset goes on compacting at the same threshold, so what is saved is \
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
            "Preset and size were chosen on the same sessions that they are measured on, so the \
             saving is rather too high than too low."
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
    let (lo, hi) = (words(of.lo), words(of.hi));
    match of.tested {
        true => format!(" (95 % interval {lo} to {hi})"),
        false => format!(" ({lo} to {hi} from {unit} to {unit})"),
    }
}

fn saves(advice: &Advice, preset: &PresetAdvice, at: &SizeFigures) -> String {
    let name = &preset.strategy;
    let from = preset.from_tokens.unwrap_or(at.from);
    let start = match from {
        0 => "at every size of context".to_owned(),
        from => format!("once the context has {} tokens", edge(from)),
    };
    format!(
        "Compacting pays in sessions like these {start}. Let {name} compact at about {} tokens{}: \
         of the sizes tried, most is saved at {}, where {}",
        tokens(at.tokens as f64),
        share_of_limit(advice, at.tokens),
        size_words(at),
        worth(advice, at)
    )
}

/// For example "compacting saves $0.42 (…) by the end of the session, in the mean
/// over 12 sessions.".
fn worth(advice: &Advice, at: &SizeFigures) -> String {
    let sessions = counted(at.sessions, "session");
    let Some(saving) = at.saving_usd else {
        return format!("what compacting is worth is not known, over {sessions}.");
    };
    let range = range(advice, &saving, dollars);
    let (verb, range) = match saving.value < 0.0 {
        true => ("loses", range.replacen("interval", "interval of the saving", 1)),
        false => ("saves", range),
    };
    let amount = dollars(saving.value.abs());
    format!(
        "compacting {verb} {amount}{range} by the end of the session, in the mean over {sessions}."
    )
}

fn few(advice: &Advice, chosen: Option<(&PresetAdvice, &SizeFigures)>) -> String {
    let open = "Too few sessions or projects reach any one size to say whether compacting pays: an \
                interval takes six";
    match chosen {
        Some((preset, at)) => format!(
            "{open}. In what was seen it did: with {} at {}, about {} tokens{}, {}",
            preset.strategy,
            size_words(at),
            tokens(at.tokens as f64),
            share_of_limit(advice, at.tokens),
            worth(advice, at)
        ),
        None => {
            let closest = closest(advice).and_then(|(preset, at)| near(advice, preset, at));
            let seen = "In what was seen no preset that keeps enough saved from some size on in \
                        every session.";
            [format!("{open}. {seen}")].into_iter().chain(closest).collect::<Vec<_>>().join(" ")
        }
    }
}

fn without_choice(advice: &Advice, because: Because) -> String {
    let largest = tokens(advice.basis.largest_tokens as f64);
    match because {
        Because::NoPlace => format!(
            "Nothing here calls for compacting: none of {} has a place for it. The largest context \
             has {largest} tokens{}.",
            counted(advice.basis.sessions, "session"),
            share_of_limit(advice, advice.basis.largest_tokens)
        ),
        Because::NoPreset => {
            "There is no preset to advise on: only controls ran, or each had void replies.".to_owned()
        }
        Because::NoPrice => "Whether compacting pays is not known, because a price is missing: \
                             name a model that has one with `--agent-model`."
            .to_owned(),
        Because::OnlyStandIns => "Whether compacting pays with these presets is not known: a model \
                                  writes their summaries, and an offline stand-in wrote them."
            .to_owned(),
        Because::LosesTooMuch => "Compacting is not worth it in sessions like these: where a preset \
                                  saves, it keeps less than half of what was needed afterwards."
            .to_owned(),
        Because::NoSaving => format!(
            "Do not compact sessions like these to save money: no preset saves at any size up to \
             {largest} tokens."
        ),
        Because::Open | Because::FewClusters | Because::Saves => {
            "Whether compacting pays in sessions like these stays open: there is no size from which \
             on the interval of a preset's saving lies above zero."
                .to_owned()
        }
    }
}

/// The preset and the size that come closest to saving, where none is advised.
fn closest(advice: &Advice) -> Option<(&PresetAdvice, &SizeFigures)> {
    let preset = advice.shown().filter(|preset| preset.standing == Standing::Ranked)?;
    Some((preset, preset.best()?))
}

fn near(advice: &Advice, preset: &PresetAdvice, at: &SizeFigures) -> Option<String> {
    at.saving_usd?;
    let (name, size) = (&preset.strategy, size_words(at));
    Some(format!("Closest comes {name} at {size}, where {}", worth(advice, at)))
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
        share(kept.value),
        counted(at.facts, "fact"),
        range(advice, &kept, share)
    ))
}

/// What the context limit means for the advice.
fn limit(advice: &Advice) -> Option<String> {
    let limits = advice.basis.limits?;
    let (least, most) = (tokens(limits.least as f64), tokens(limits.most as f64));
    let limits_words = match limits.least == limits.most {
        true => format!("{least} tokens"),
        false => format!("{least} to {most} tokens, by model"),
    };
    let largest = advice.basis.largest_tokens;
    Some(match largest > limits.least {
        true => format!(
            "Whatever it costs, a context has to shrink at the context limit ({limits_words}); the \
             largest one here has {}.",
            tokens(largest as f64)
        ),
        false => format!(
            "No session comes to the context limit ({limits_words}), at which a context has to \
             shrink whatever it costs: the largest one has {}.",
            tokens(largest as f64)
        ),
    })
}

/// The size as a share of the smallest limit.
fn share_of_limit(advice: &Advice, size: u64) -> String {
    let Some(limits) = advice.basis.limits else { return String::new() };
    let of = if limits.least == limits.most { "the" } else { "the smallest" };
    let share = percent(size as f64 / limits.least as f64);
    format!(", {share} of {of} window of {}", tokens(limits.least as f64))
}

/// Presets that would pay by their dollars, but whose summaries a stand-in
/// wrote.
fn stand_ins(advice: &Advice) -> Option<String> {
    let mut paying: Vec<(&str, u64)> = advice
        .stand_ins()
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
            "By dollars alone compacting would pay with {}{more} tokens on; what {} summaries keep \
             is not known before a model writes them (`--compactor MODEL`).",
            listed(&named),
            form_for(all as u64, "its", "their")
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
