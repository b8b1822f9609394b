//! What can be observed. Relevance is a judgement: the size of the effect on
//! what a reader would choose, and 0 where there is none.

use super::money::{less_sent_more_billed, saves_money};
use super::{Candidate, Observation, PresetRow, Standing, Window, label, percent, sends, signed};
use crate::model::catalogue;
use crate::text::{counted, form_for};

/// Gains this small are no better than plain recency.
const NO_GAIN: f64 = 0.02;
/// What keeps as much as this prints as all.
const ALL_KEPT: f64 = 0.995;
/// Estimators this far off move a trigger to where nobody put it.
const FAR_OFF: f64 = 0.15;

/// Observations at one window.
pub const AT_A_WINDOW: &[Observation] = &[
    kept_and_saved,
    less_sent_more_billed,
    saves_money,
    refused_requests,
    beyond_recency,
    cannot_be_fetched,
    why_wrong,
    worst_kind,
    gameable_part,
    adds_nothing,
    holds_across_transcripts,
    estimator_off,
    grew_instead,
];

/// The best preset against the one that saves most.
fn kept_and_saved(window: &Window<'_>) -> Option<Candidate> {
    let ranked = window.ranked();
    let best = *ranked.first()?;
    let savings = |row: &PresetRow| row.number(catalogue::TOKEN_SAVINGS);
    let own = savings(best)?;
    let mut text = format!(
        "{} {} keeps {} {} and {}",
        window.at(),
        best.strategy,
        window.printed(best),
        window.of_what(),
        sends(own)
    );
    let frugal = ranked[1..]
        .iter()
        .filter(|row| savings(row).is_some_and(|s| s > own))
        .max_by(|a, b| savings(a).unwrap_or(0.0).total_cmp(&savings(b).unwrap_or(0.0)));
    let relevance = match frugal {
        Some(frugal) => {
            let most = savings(frugal)?;
            text += &format!(
                "; {} {} and keeps {}.",
                frugal.strategy,
                sends(most),
                window.printed(frugal)
            );
            0.7 + (window.score(best) - window.score(frugal)).min(1.0) * 0.3
        }
        None => {
            text += if ranked.len() > 1 { "; no ranked preset sends less." } else { "." };
            0.7
        }
    };
    Some(Candidate { relevance, text })
}

/// Presets that a provider would have turned down.
fn refused_requests(window: &Window<'_>) -> Option<Candidate> {
    let refused = |row: &PresetRow| {
        Some(row.number(catalogue::OVERFLOWS)? / row.number(catalogue::REQUESTS)?)
    };
    let ranked = window.ranked();
    let mut over: Vec<(&str, f64)> = ranked
        .iter()
        .filter_map(|row| Some((row.strategy.as_str(), refused(row)?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    over.sort_by(|a, b| b.1.total_cmp(&a.1));
    let worst = over.first()?.1;
    let each = |(name, share): &(&str, f64)| format!("{name} at {}", at_least(*share));
    let listed: Vec<String> = over.iter().map(each).collect();
    Some(Candidate {
        relevance: 0.45 + worst.min(1.0) * 0.4,
        text: format!(
            "{} some requests are over the window ({}); a provider would have refused them, so \
             nothing counts as kept there.",
            window.at(),
            listed.join(", "),
        ),
    })
}

/// A share in per cent that never rounds to nothing.
fn at_least(share: f64) -> String {
    if share < 0.005 { "under 1 %".to_owned() } else { percent(share) }
}

/// Who does better than the newest messages at the same size, and who does not.
fn beyond_recency(window: &Window<'_>) -> Option<Candidate> {
    let id = if window.by_cuts() { "gain_at_cut" } else { "recency_gain" };
    let gain = |row: &PresetRow| row.number_of(id);
    let ranked = window.ranked();
    let gains: Vec<(&PresetRow, f64)> =
        ranked.iter().filter_map(|row| Some((*row, gain(row)?))).collect();
    let best = gains.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // What keeps all cannot do better than anything.
    let none = |(row, gain): &&(&PresetRow, f64)| *gain <= NO_GAIN && window.score(row) < ALL_KEPT;
    let none: Vec<&(&PresetRow, f64)> = gains.iter().filter(none).collect();
    let worst = none.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let idle: Vec<&str> = none.iter().map(|(row, _)| row.strategy.as_str()).collect();
    let by = match (signed(worst.1), idle.len()) {
        (figure, _) if figure == "0.00" => String::new(),
        (figure, 1) => format!(" ({figure})"),
        (figure, _) => format!(" (down to {figure})"),
    };
    let mut text = format!(
        "{} {} {} no better than sending the newest messages of the same size{by}",
        window.at(),
        idle.join(", "),
        form_for(idle.len(), "does", "do"),
    );
    if best.1 > NO_GAIN {
        text += &format!("; {} does ({})", best.0.strategy, signed(best.1));
    }
    text.push('.');
    Some(Candidate { relevance: 0.35 + (best.1 - worst.1).clamp(0.0, 1.0) / 2.0, text })
}

/// Losses that no tool can bring back.
fn cannot_be_fetched(window: &Window<'_>) -> Option<Candidate> {
    let weight = |row: &PresetRow| {
        Some(row.number(catalogue::IRRECOVERABLE)? * row.number(catalogue::REFERENCE_LOST)?)
    };
    let ranked = window.ranked();
    let worst = ranked
        .iter()
        .filter(|row| weight(row).is_some_and(|w| w > 0.0))
        .max_by(|a, b| weight(a).unwrap_or(0.0).total_cmp(&weight(b).unwrap_or(0.0)))?;
    let share = worst.number(catalogue::IRRECOVERABLE)?;
    Some(Candidate {
        relevance: 0.2 + weight(worst)? * 1.5,
        text: format!(
            "{} {} of what {} loses was said by the user or worked out: no tool result ever held \
             it, so it cannot be fetched again.",
            window.at(),
            percent(share),
            worst.strategy
        ),
    })
}

/// Whether the best preset drops what is asked, or keeps it where it is not found.
fn why_wrong(window: &Window<'_>) -> Option<Candidate> {
    let best = *window.ranked().first()?;
    let share = |measure| best.number(measure);
    let (lost, garbled, unused) =
        (share(catalogue::LOST)?, share(catalogue::GARBLED)?, share(catalogue::UNUSED)?);
    let wrong = lost + garbled + unused;
    if wrong <= 0.0 {
        return None;
    }
    let text = if lost >= garbled + unused {
        format!(
            "{} {} of what {} gets wrong is no longer in its context.",
            window.at(),
            percent(lost / wrong),
            best.strategy
        )
    } else {
        format!(
            "{} {} of what {} gets wrong still stands in its context: finding it is the problem, \
             not keeping it.",
            window.at(),
            percent((garbled + unused) / wrong),
            best.strategy
        )
    };
    Some(Candidate { relevance: 0.2 + wrong.min(1.0) * 0.3, text })
}

/// Where the best preset's mean hides a weak spot.
fn worst_kind(window: &Window<'_>) -> Option<Candidate> {
    let best = *window.ranked().first()?;
    let crate::model::Value::Text(kind) = best.values.get("worst_kind")? else { return None };
    let own = best.number_of(&format!("continuity_{kind}"))?;
    let gap = window.score(best) * 100.0 - own;
    if gap <= 0.0 {
        return None;
    }
    Some(Candidate {
        relevance: 0.25 + gap.min(100.0) / 200.0,
        text: format!(
            "{} {} is weakest on {kind} probes: it keeps {own:.0} % of them, against {} over all \
             kinds.",
            window.at(),
            best.strategy,
            window.printed(best)
        ),
    })
}

/// Whose summaries keep no more than empty texts in their place.
fn adds_nothing(window: &Window<'_>) -> Option<Candidate> {
    let added = |row: &PresetRow| {
        let (added, bounds) = row.added()?;
        (bounds.map_or(added, |(_, most)| most) <= NO_GAIN).then_some(added)
    };
    let rows = window.rows.iter().map(|e| &e.row).filter(|r| r.standing != Standing::Control);
    let told: Vec<String> =
        rows.filter_map(|row| Some(format!("{} {}", row.strategy, signed(added(row)?)))).collect();
    (!told.is_empty()).then(|| Candidate {
        relevance: 0.55,
        text: format!(
            "What is written in the place of the history keeps no more at the cuts than an empty \
             text would: {}.",
            told.join(", ")
        ),
    })
}

/// What a bare list of identifiers scores.
fn gameable_part(window: &Window<'_>) -> Option<Candidate> {
    let list = window.named("id-list").filter(|_| !window.by_probes())?;
    let gamed = list.number(window.primary.measure())?;
    let recall = |row: &PresetRow| window.score(row);
    let ranked = window.ranked();
    let best = *ranked.first()?;
    // A control is not punished for overflows, so only presets without any
    // stand on equal terms with it.
    let fitting: Vec<&&PresetRow> =
        ranked.iter().filter(|row| row.number(catalogue::OVERFLOWS) == Some(0.0)).collect();
    let below = fitting.iter().filter(|row| recall(row) <= gamed).count();
    let share = if recall(best) > 0.0 { (gamed / recall(best)).min(1.0) } else { 1.0 };
    let mut text = format!(
        "{} id-list (the last 20 messages and a bare list of identifiers) scores {gamed:.2}: \
         that much of the measure can be gamed",
        window.at()
    );
    if below > 0 {
        text += &format!(
            ", and {below} of {} within the window {} no more",
            counted(fitting.len(), "preset"),
            form_for(below, "scores", "score")
        );
    }
    text.push('.');
    Some(Candidate { relevance: 0.1 + 0.5 * share, text })
}

/// Whether the first two keep their order in most transcripts.
fn holds_across_transcripts(window: &Window<'_>) -> Option<Candidate> {
    let entries = window.entries();
    let (first, second) = (*entries.first()?, *entries.get(1)?);
    let pairs: Vec<f64> = first
        .scores
        .iter()
        .filter_map(|(unit, value)| Some(value - second.scores.get(unit)?))
        .collect();
    if pairs.len() < 3 {
        return None;
    }
    let wins = pairs.iter().filter(|d| **d > 0.0).count();
    let losses = pairs.iter().filter(|d| **d < 0.0).count();
    if wins == 0 {
        return None;
    }
    let shaky = losses as f64 / pairs.len() as f64;
    let verdict = if shaky >= 0.25 {
        format!(" and less in {losses}: which is better depends on the session")
    } else {
        String::new()
    };
    Some(Candidate {
        relevance: 0.3 + shaky.min(0.5) * 0.6,
        text: format!(
            "{} {} keeps more than {} in {wins} of {} transcripts{verdict}.",
            window.at(),
            first.row.strategy,
            second.row.strategy,
            pairs.len()
        ),
    })
}

/// A preset whose own count is wrong.
fn estimator_off(window: &Window<'_>) -> Option<Candidate> {
    let error = |row: &PresetRow| row.number(catalogue::ESTIMATOR_ERROR).unwrap_or(0.0);
    let rows = window.rows.iter().map(|e| &e.row).filter(|r| r.standing != Standing::Control);
    let worst = rows.max_by(|a, b| error(a).abs().total_cmp(&error(b).abs()))?;
    let off = error(worst);
    if off.abs() < FAR_OFF {
        return None;
    }
    let side = if off < 0.0 { "below" } else { "above" };
    Some(Candidate {
        relevance: 0.2 + off.abs().min(1.0) / 2.0,
        text: format!(
            "{} the estimate of {} is {} {side} what it really sends (median), so its trigger \
             fires {} than configured.",
            window.at(),
            worst.strategy,
            percent(off.abs()),
            if off < 0.0 { "later" } else { "earlier" }
        ),
    })
}

/// Compactions that made things worse.
fn grew_instead(window: &Window<'_>) -> Option<Candidate> {
    let share = |row: &PresetRow| {
        let all = row.number(catalogue::COMPACTIONS).filter(|n| *n > 0.0)?;
        Some(row.number(catalogue::INFLATED)? / all)
    };
    let rows = window.rows.iter().map(|e| &e.row).filter(|r| r.standing != Standing::Control);
    let worst = rows
        .filter(|row| share(row).is_some_and(|s| s > 0.0))
        .max_by(|a, b| share(a).unwrap_or(0.0).total_cmp(&share(b).unwrap_or(0.0)))?;
    // A stand-in's summaries are ours: that they are too long says little.
    let weight = if worst.standing == Standing::StandIn { 0.3 } else { 1.0 };
    Some(Candidate {
        relevance: weight * (0.25 + share(worst)?.min(1.0) / 2.0),
        text: format!(
            "{} {:.0} of {} of {} made the context longer.",
            window.at(),
            worst.number(catalogue::INFLATED)?,
            counted(worst.number(catalogue::COMPACTIONS)?.round() as u64, "compaction"),
            worst.strategy
        ),
    })
}

/// What more room buys the best preset of the smallest window.
pub fn across_windows(windows: &[&Window<'_>]) -> Option<Candidate> {
    let mut sized = windows.to_vec();
    sized.sort_by(|a, b| a.tokens().total_cmp(&b.tokens()));
    let (small, large) = (*sized.first()?, *sized.last()?);
    let best = *small.ranked().first()?;
    let later = large.named(&best.strategy).filter(|row| row.rank.is_some())?;
    if small.label == large.label {
        return None;
    }
    let change = small.score(later) - small.score(best);
    let leader = *large.ranked().first()?;
    // More room that changes nothing is no finding.
    if small.printed(best) == small.printed(later) && leader.strategy == best.strategy {
        return None;
    }
    let mut text = format!(
        "From {} to {} {} goes from {} to {}",
        label(small.label),
        label(large.label),
        best.strategy,
        small.printed(best),
        small.printed(later)
    );
    if leader.strategy != best.strategy {
        text += &format!(", and {} leads there ({})", leader.strategy, small.printed(leader));
    }
    text.push('.');
    Some(Candidate { relevance: 0.3 + change.abs().min(1.0) / 2.0, text })
}
