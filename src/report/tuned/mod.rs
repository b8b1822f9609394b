//! The result of a search over a preset's parameters: a table for a terminal,
//! `frontier.csv`, `frontier.svg` and `tune.json`.

mod picture;

pub use picture::tuned_svg;

use unicode_width::UnicodeWidthStr;

use super::grid::{GAP, NARROWEST, paragraph, push_line, wrapped};
use super::sheet::{self, Field};
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

/// The result for a terminal: the settings, the recommended one, and how it does
/// on held-back sessions.
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
fn listed(tuned: &Tuned) -> Vec<&TunedSetting> {
    let place = |setting: &TunedSetting| match setting.status {
        TunedStatus::Frontier => 0,
        TunedStatus::Behind => 1,
        TunedStatus::TooSlow => 2,
        TunedStatus::Failed => 3,
        TunedStatus::Unseen => 4,
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
    push_line(out, &right, &widths, &heads, color.then_some("1"));
    for (line, setting) in lines.iter().zip(&settings) {
        let dim = setting.status != TunedStatus::Frontier;
        let style = (color && dim).then_some("2");
        // Settings with the same beginning would look the same if they were cut.
        let label = plain::line(&setting.label);
        let lead = &line[0][..line[0].len() - label.len()];
        let parts = wrapped(&label, widths[0].saturating_sub(lead.width()));
        for (at, part) in parts.iter().enumerate() {
            let mut shown = if at == 0 { line.clone() } else { vec![String::new(); line.len()] };
            let lead = if at == 0 { lead.to_owned() } else { " ".repeat(lead.width()) };
            shown[0] = lead + part;
            push_line(out, &right, &widths, &shown, style);
        }
    }
}

fn cells(tuned: &Tuned, setting: &TunedSetting) -> Vec<String> {
    let mark = if tuned.recommended == Some(setting.number) { "→" } else { " " };
    let range = |range: Option<Ranged>, show: fn(f64) -> String| match range {
        None => "–".to_owned(),
        Some(Ranged { mean, lo: Some(lo), hi: Some(hi) }) => {
            format!(
                "{} [{}–{}]",
                show(mean),
                show(lo).replace(" %", ""),
                show(hi).replace(" %", "")
            )
        }
        Some(range) => show(range.mean),
    };
    vec![
        format!("{mark}{:>2} {}", setting.number, plain::line(&setting.label)),
        range(setting.kept, number::percent),
        range(setting.usd, number::dollars),
        setting.wait_p95_s.map_or_else(|| "–".to_owned(), |s| number::time(s * 1_000.0)),
        setting.sessions.to_string(),
        words(setting.status).to_owned(),
    ]
}

/// What became of a setting, in a few words.
fn words(status: TunedStatus) -> &'static str {
    match status {
        TunedStatus::Frontier => "frontier",
        TunedStatus::Behind => "behind",
        TunedStatus::TooSlow => "waits too long",
        TunedStatus::Failed => "failed",
        TunedStatus::Unseen => "no session fits its window",
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
    lines.push(match tuned.recommended {
        None => format!("Nothing is recommended: {}.", tuned.because),
        Some(at) => {
            format!("Recommended: {} ({}), for {}.", at, tuned.settings[at].label, tuned.because)
        }
    });
    match &tuned.held_back {
        Some(held) => lines.push(format!(
            "On {} that the search never saw, setting {} against the author's: {}",
            counted(held.sessions, "session"),
            held.setting,
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

/// Columns of `frontier.csv`.
const COLUMNS: &str = "setting,changes,preset,window,compactor,status,recommended,sessions,clusters,\
    kept,kept_lo,kept_hi,usd_per_session,usd_lo,usd_hi,wait_p95_s";

/// `frontier.csv`: a row for each setting, in the order of the table.
///
/// # Errors
/// What the writer says.
pub fn tuned_csv(tuned: &Tuned, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    sheet::csv(COLUMNS, listed(tuned).into_iter().map(|setting| row(tuned, setting)), out)
}

fn row(tuned: &Tuned, setting: &TunedSetting) -> Vec<Field> {
    let part = |range: Option<Ranged>, of: fn(Ranged) -> Option<f64>| range.and_then(of);
    let mean = |range: Ranged| Some(range.mean);
    let (lo, hi) = (|range: Ranged| range.lo, |range: Ranged| range.hi);
    vec![
        Field::Count(setting.number as u64),
        Field::text(&setting.label),
        Field::text(&setting.preset),
        Field::maybe_text(setting.window.as_deref()),
        Field::text(&setting.compactor),
        Field::text(setting.status.as_str()),
        Field::Flag(tuned.recommended == Some(setting.number)),
        Field::Count(setting.sessions as u64),
        Field::Count(setting.clusters as u64),
        Field::maybe(part(setting.kept, mean)),
        Field::maybe(part(setting.kept, lo)),
        Field::maybe(part(setting.kept, hi)),
        Field::maybe_dollars(part(setting.usd, mean)),
        Field::maybe_dollars(part(setting.usd, lo)),
        Field::maybe_dollars(part(setting.usd, hi)),
        Field::maybe(setting.wait_p95_s),
    ]
}

#[cfg(test)]
mod tests;
