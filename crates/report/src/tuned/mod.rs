//! The result of a search over a strategy's parameters: a table for a terminal,
//! `frontier.csv`, `frontier.svg` and `tune.json`.

mod picture;

pub use picture::tuned_svg;

use super::document::{
    Cell, Column, Group, Head, Narrow, Part, Row, Screen, Table, absent, figures, terminal, words,
};
use super::number;
use super::sheet::{self, Field};
use recap_core::model::{Ranged, Tuned, TunedSetting, TunedStatus};
use recap_core::text::counted;

const HEADS: &[Head] = &[
    figures("setting"),
    // Settings with the same beginning would look the same if they were cut.
    Head { narrow: Narrow::Wrapped, ..words("changes") },
    words("kept"),
    words("dollars a session"),
    Head { narrow: Narrow::LeftOut(1), ..figures("wait p95") },
    Head { narrow: Narrow::LeftOut(2), ..figures("sessions") },
    words("status"),
];

/// The result as JSON.
pub fn tuned_json(tuned: &Tuned) -> String {
    let json = serde_json::to_string_pretty(tuned).expect("plain data serialises");
    format!("{json}\n")
}

/// The result for a terminal: the settings, the recommended one, and how it does
/// on held-back sessions.
pub fn tuned_table(tuned: &Tuned, screen: Screen) -> String {
    terminal(&parts(tuned), screen)
}

fn parts(tuned: &Tuned) -> Vec<Part> {
    let head = format!(
        "recap tune · {} · {} · {} of {}",
        tuned.base,
        tuned.title,
        counted(tuned.settings.len(), "setting"),
        counted(tuned.combinations, "combination")
    );
    let mut parts = vec![Part::Title(head), Part::Title(sides(tuned))];
    parts.extend(sentences(tuned).into_iter().map(Part::Text));
    parts.push(Part::Table(settings(tuned)));
    parts.extend(notes(tuned).into_iter().map(Part::Text));
    parts
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

fn settings(tuned: &Tuned) -> Table {
    let row = |setting: &TunedSetting| Row {
        cells: cells(tuned, setting),
        dim: setting.status != TunedStatus::Frontier,
    };
    let rows = listed(tuned).into_iter().map(row).collect();
    Table {
        name: "Settings".to_owned(),
        columns: HEADS.iter().copied().map(Column::from).collect(),
        groups: vec![Group { title: "", rows }],
    }
}

fn cells(tuned: &Tuned, setting: &TunedSetting) -> Vec<Cell> {
    let mark = if tuned.recommended == Some(setting.number) { "→" } else { "" };
    let range = |range: Option<Ranged>, show: fn(f64) -> String| match range {
        None => absent().into(),
        Some(Ranged { mean, lo, hi }) => Cell {
            text: show(mean),
            spread: lo.zip(hi).map(|(lo, hi)| {
                format!("[{}–{}]", show(lo).replace(" %", ""), show(hi).replace(" %", ""))
            }),
        },
    };
    vec![
        format!("{mark} {}", setting.number).into(),
        setting.label.clone().into(),
        range(setting.kept, number::percent),
        range(setting.usd, number::dollars),
        setting.wait_p95_s.map_or_else(absent, |s| number::time(s * 1_000.0)).into(),
        setting.sessions.to_string().into(),
        words_for(setting.status).to_owned().into(),
    ]
}

/// What became of a setting, in a few words.
fn words_for(status: TunedStatus) -> &'static str {
    match status {
        TunedStatus::Frontier => "frontier",
        TunedStatus::Behind => "behind",
        TunedStatus::TooSlow => "waits too long",
        TunedStatus::Failed => "failed",
        TunedStatus::Unseen => "no session fits its window",
    }
}

/// What is recommended, and how it does on the held-back sessions.
fn sentences(tuned: &Tuned) -> Vec<String> {
    let recommended = match tuned.recommended {
        None => format!("Nothing is recommended: {}.", tuned.because),
        Some(at) => {
            format!("Recommended: {} ({}), for {}.", at, tuned.settings[at].label, tuned.because)
        }
    };
    let held_back = match &tuned.held_back {
        Some(held) => Some(format!(
            "On {} that the search never saw, setting {} against the author's: {}",
            counted(held.sessions, "session"),
            held.setting,
            held.words
        )),
        None => (tuned.recommended == Some(0)).then(|| {
            "The author's setting is kept, so there is nothing to compare on held-back sessions."
                .to_owned()
        }),
    };
    [recommended].into_iter().chain(held_back).collect()
}

/// What failed or was refused, and what else there is to know.
fn notes(tuned: &Tuned) -> Vec<String> {
    let failed = tuned.settings.iter().filter_map(|setting| {
        Some(format!("setting {} failed: {}", setting.number, setting.why.as_ref()?))
    });
    let refused = tuned.refused.iter();
    let refused =
        refused.map(|(changes, why)| format!("refused by the strategy: {changes}: {why}"));
    failed.chain(refused).chain(tuned.notes.iter().map(|note| format!("note: {note}"))).collect()
}

/// Columns of `frontier.csv`.
const COLUMNS: &str = "setting,changes,strategy,window,compactor,status,recommended,sessions,clusters,\
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
        Field::text(&setting.strategy),
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
