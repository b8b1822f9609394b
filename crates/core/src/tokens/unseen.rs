//! Text that harnesses add to a message and recordings do not show: a reminder,
//! a memory file. It is visible in the prompts only, as a jump that stays.
//!
//! A straight line through such a jump is wrong on both sides of it.

use super::calibration::{FACTORS, FitLine, Reading, median};
use crate::model::{Message, MessageIndex, Role};

/// Fewest tokens, and share of the prompt, by which growth must exceed the
/// messages' own to be considered. Reasoning and the framing of messages stay
/// below it on nearly all requests of the known sessions.
pub(super) const LEAST: (f64, f64) = (1_000.0, 0.02);

/// Share of a jump that the later prompts must keep on average: a smaller one
/// was not text that stays.
const KEPT: f64 = 0.5;

/// Readings to one jump. With more of them, prompts follow something else than
/// the messages, and jumps would only trace it.
const READINGS: usize = 10;

/// Share of the straight line's errors (absolute ones: a single spike is not to
/// decide) that may be left. On the recorded sessions of three agents, jumps
/// left either at most 58 % or at least 95 %: the latter are thinking and
/// framing, which a line spreads over all messages, and does better.
const ERRORS_LEFT: f64 = 0.75;

/// Finds the hidden text of a stretch, notes it at the readings that have it,
/// and says which messages carry it.
///
/// A jump must exceed the messages' own growth, stay, be rare, and explain at
/// least a quarter of what a straight line does not; else the line is kept.
pub(super) fn mark(stretch: &mut [Reading], messages: &[Message]) -> Vec<(MessageIndex, u64)> {
    let jumps = jumps(stretch);
    if jumps.is_empty() || jumps.len() * READINGS > stretch.len() {
        return Vec::new();
    }
    let mut carried = Vec::new();
    let mut unseen = vec![0; stretch.len()];
    for (reading, tokens) in jumps {
        let arrived = stretch[reading - 1].message..stretch[reading].message;
        // The model's own text is not hidden text of the harness.
        let carries = |at: &MessageIndex| messages[*at as usize].role != Role::Assistant;
        if let Some(message) = arrived.rev().find(carries) {
            unseen[reading] = tokens;
            carried.push((message, tokens));
        }
    }
    let mut marked = stretch.to_vec();
    let mut there = 0;
    for (reading, unseen) in marked.iter_mut().zip(unseen) {
        there += unseen;
        reading.unseen += there;
    }
    let errors = |readings: &[Reading]| FitLine::through(readings).errors_on(readings);
    if errors(&marked) > ERRORS_LEFT * errors(stretch) {
        return Vec::new();
    }
    stretch.copy_from_slice(&marked);
    carried
}

/// Readings whose prompt grew permanently beyond the messages' own growth, with
/// the tokens.
fn jumps(stretch: &[Reading]) -> Vec<(usize, u64)> {
    let grown = |of: fn(&Reading) -> u64| {
        stretch.windows(2).map(move |pair| of(&pair[1]) as f64 - of(&pair[0]) as f64)
    };
    let steps: Vec<(f64, f64)> = grown(|r| r.counted).zip(grown(|r| r.prompt)).collect();
    let Some(slope) = steady_slope(&steps).filter(|slope| FACTORS.contains(slope)) else {
        return Vec::new();
    };
    let beyond: Vec<f64> = steps.iter().map(|(own, prompt)| prompt - slope * own).collect();
    // The part that every request adds: the framing of its messages.
    let frame = median(beyond.clone()).unwrap_or(0.0);
    let mut level = 0.0;
    let levels: Vec<f64> = beyond
        .iter()
        .map(|beyond| {
            level += beyond - frame;
            level
        })
        .collect();
    let (mut sum, mut later) = (0.0, 0.0);
    let mut found = Vec::new();
    for step in (0..steps.len()).rev() {
        let before = step.checked_sub(1).map_or(0.0, |at| levels[at]);
        let jump = levels[step] - before;
        let prompt = stretch[step + 1].prompt as f64;
        let stays = later > 0.0 && sum / later - before >= KEPT * jump;
        if jump > LEAST.0.max(LEAST.1 * prompt) && stays {
            found.push((step + 1, jump.round() as u64));
        }
        sum += levels[step];
        later += 1.0;
    }
    found.reverse();
    found
}

/// The provider's tokens for one of ours, from the growth between requests: the
/// median of the ratios, weighted by size, which is the slope of least absolute
/// errors. Jumps do not affect it.
fn steady_slope(steps: &[(f64, f64)]) -> Option<f64> {
    let ratios =
        steps.iter().filter(|(own, _)| *own > 0.0).map(|(own, prompt)| (prompt / own, *own));
    let mut ratios: Vec<(f64, f64)> = ratios.collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = ratios.iter().map(|(_, own)| own).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let reaches = |(_, own): &&(f64, f64)| {
        below += own;
        below >= half
    };
    ratios.iter().find(reaches).map(|(ratio, _)| *ratio)
}

#[cfg(test)]
#[path = "unseen_tests.rs"]
mod tests;
