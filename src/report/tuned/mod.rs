//! The result of a search over a preset's parameters: a table for a terminal,
//! `frontier.csv`, `frontier.svg` and `tune.json`.

mod csv;
mod picture;

pub use csv::tuned_csv;
pub use picture::tuned_svg;

use unicode_width::UnicodeWidthStr;

use super::grid::{GAP, NARROWEST, paragraph, push_line};
use super::{Screen, number, plain};
use crate::model::{Ranged, Tuned, TunedSetting, TunedStatus};
use crate::text::counted;

/// Heads of the table.
const HEADS: [&str; 6] = ["setting", "kept", "dollars a session", "wait p95", "sessions", ""];
/// Characters of a setting that are shown at least.
const LABEL: usize = 24;

/// The result as JSON.
pub fn tuned_json(tuned: &Tuned) -> String {
    let json = serde_json::to_string_pretty(tuned).expect("plain data serialises");
    format!("{json}\n")
}

/// The result for a terminal: the settings, what was dropped when and why, the
/// recommended one, and how it does on held-back sessions.
pub fn tuned_table(tuned: &Tuned, screen: Screen) -> String {
    let width = screen.width.max(NARROWEST);
    let mut out = String::new();
    let head = format!(
        "recap tune · {} · {} · {} of {}",
        plain::line(&tuned.base),
        plain::line(&tuned.title),
        counted(tuned.settings.len(), "setting"),
        counted(tuned.combinations, "combination")
    );
    paragraph(&mut out, &head, width, "");
    paragraph(&mut out, &sides(tuned), width, "");
    out.push('\n');
    rows(&mut out, tuned, width, screen.color);
    out.push('\n');
    for line in sentences(tuned) {
        paragraph(&mut out, &plain::line(&line), width, " ");
    }
    out
}

/// How many sessions are on which side.
fn sides(tuned: &Tuned) -> String {
    let split = &tuned.split;
    let side = |sessions: usize, clusters: usize| {
        let sessions = counted(sessions, "session");
        match split.by_project {
            true => format!("{sessions} of {}", counted(clusters, "project or single session")),
            false => sessions,
        }
    };
    format!(
        "search on {}; held back {}",
        side(split.search_sessions, split.search_clusters),
        side(split.held_back_sessions, split.held_back_clusters)
    )
}

/// The settings as they are listed: the frontier by dollars, then the others.
pub(super) fn listed(tuned: &Tuned) -> Vec<&TunedSetting> {
    let place = |setting: &TunedSetting| match setting.status {
        TunedStatus::Frontier => 0,
        TunedStatus::Behind => 1,
        TunedStatus::TooSlow => 2,
        TunedStatus::Dropped => 3,
        TunedStatus::Failed => 4,
        TunedStatus::Unseen => 5,
    };
    let usd = |setting: &TunedSetting| setting.usd.map_or(f64::INFINITY, |usd| usd.mean);
    let mut settings: Vec<&TunedSetting> = tuned.settings.iter().collect();
    settings.sort_by(|a, b| {
        (place(a), usd(a), a.number)
            .partial_cmp(&(place(b), usd(b), b.number))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    settings
}

fn rows(out: &mut String, tuned: &Tuned, width: usize, color: bool) {
    let settings = listed(tuned);
    let lines: Vec<Vec<String>> = settings.iter().map(|setting| cells(tuned, setting)).collect();
    let heads: Vec<String> = HEADS.iter().map(|head| (*head).to_owned()).collect();
    let mut widths: Vec<usize> = (0..HEADS.len())
        .map(|at| lines.iter().map(|line| line[at].width()).fold(heads[at].width(), usize::max))
        .collect();
    let others: usize = widths[1..].iter().map(|width| width + GAP.len()).sum();
    widths[0] = widths[0].min(width.saturating_sub(others + 1).max(LABEL));
    let right = [false, false, false, true, true, false];
    push_line(out, &right, &widths, &heads, color.then_some("1m"));
    for (line, setting) in lines.iter().zip(&settings) {
        let dim = setting.status != TunedStatus::Frontier;
        push_line(out, &right, &widths, line, (color && dim).then_some("2m"));
    }
}

fn cells(tuned: &Tuned, setting: &TunedSetting) -> Vec<String> {
    let mark = if tuned.recommended == Some(setting.number) { "→" } else { " " };
    let range = |range: Option<Ranged>, show: fn(f64) -> String| match range {
        None => "–".to_owned(),
        Some(Ranged { mean, lo: Some(lo), hi: Some(hi) }) => {
            format!("{} [{}–{}]", show(mean), show(lo), show(hi))
        }
        Some(range) => show(range.mean),
    };
    vec![
        format!("{mark}{:>2} {}", setting.number, plain::line(&setting.label)),
        range(setting.kept, number::share),
        range(setting.usd, number::dollars),
        setting.wait_p95_s.map_or_else(|| "–".to_owned(), |s| number::time(s * 1_000.0)),
        setting.sessions.to_string(),
        fate(setting),
    ]
}

/// What became of a setting, in a few words.
pub(super) fn fate(setting: &TunedSetting) -> String {
    let round = setting.until_round.unwrap_or(0);
    match (setting.status, setting.dominated_by) {
        (TunedStatus::Frontier, _) => "frontier".to_owned(),
        (TunedStatus::Behind, _) => "behind, not shown".to_owned(),
        (TunedStatus::TooSlow, _) => "waits too long".to_owned(),
        (TunedStatus::Dropped, Some(by)) => format!("dropped after round {round}: {by} is better"),
        (TunedStatus::Dropped, None) => format!("dropped after round {round}"),
        (TunedStatus::Failed, _) => format!("failed in round {round}"),
        (TunedStatus::Unseen, _) => "not replayed".to_owned(),
    }
}

/// What is said below the table.
fn sentences(tuned: &Tuned) -> Vec<String> {
    let mut lines = Vec::new();
    for setting in &tuned.settings {
        if let Some(why) = &setting.why {
            lines.push(format!("setting {} failed: {why}", setting.number));
        }
    }
    for (changes, why) in &tuned.refused {
        lines.push(format!("refused by the preset: {changes}: {why}"));
    }
    lines.push(format!(
        "{} in {}, of {} that all settings on all sessions would be: {} saved. {}.",
        counted(tuned.cells, "cell"),
        counted(tuned.rounds.len(), "round"),
        tuned.all_cells,
        number::percent(tuned.saved()),
        tuned.ended
    ));
    lines.push(match tuned.recommended {
        None => format!("Nothing is recommended: {}.", tuned.because),
        Some(at) => {
            format!("Recommended: {} ({}), for {}.", at, tuned.settings[at].label, tuned.because)
        }
    });
    match &tuned.held_back {
        Some(held) => lines.push(format!(
            "On {} that the search never saw, against the author's setting: {}",
            counted(held.sessions, "session"),
            held.words
        )),
        None if tuned.recommended == Some(0) => lines.push(
            "The author's setting is kept, so there is nothing to compare on held-back sessions."
                .to_owned(),
        ),
        None => {}
    }
    lines.extend(tuned.notes.iter().map(|note| format!("note: {note}")));
    lines
}

#[cfg(test)]
mod tests;
