//! The settings of a strategy that a search compared: a table, what is recommended, and
//! `frontier.csv`.

use std::io::{Result, Write};

use super::document::{Cell, Part, TableOf, absent, figures, words};
use super::sheet::{Columns, Field, Sheet};
use super::{RenderInput, block, number, plain};
use recap_core::model::{
    Admission, Ranged, Report, RowKind, Tuned, TunedHalf, TunedSessions, TunedSetting,
};

/// Share of the requests below which the half held back judges little.
const WEAK: f64 = 0.25;

/// The result: what is recommended, and every setting.
pub(super) fn parts(report: &Report, tuned: &Tuned) -> Vec<Part> {
    let head = format!(
        "recap tune · {} · {} · {}",
        plain::line(&tuned.strategy),
        plain::line(&report.title),
        block::counted(tuned.settings.len(), "setting")
    );
    let mut parts = vec![Part::Title(head), Part::Title(sentence(tuned))];
    parts.extend(below(report, tuned));
    parts
}

/// What stands below that sentence.
pub(super) fn below(report: &Report, tuned: &Tuned) -> Vec<Part> {
    let mut parts = vec![Part::Text(sides(tuned)), table(tuned)];
    parts.extend(apply(tuned).map(|set| Part::Labelled("apply", set)));
    parts.extend(notes(report, tuned).into_iter().map(|note| Part::Labelled("note", note)));
    parts
}

/// What is recommended, and why.
pub(super) fn sentence(tuned: &Tuned) -> String {
    match &tuned.settings[tuned.recommended] {
        _ if tuned.recommended == 0 => format!("Keep the author's settings: {}.", tuned.because),
        found => format!("Use {}: {}.", plain::line(&found.changes), tuned.because),
    }
}

/// Which sessions choose and which judge.
fn sides(tuned: &Tuned) -> String {
    let side = |of: &TunedSessions| {
        let sessions = block::counted(of.sessions, "session");
        match tuned.unit {
            "project" => format!("{sessions} of {}", block::counted(of.units, tuned.unit)),
            _ => sessions,
        }
    };
    let why = match tuned.unit {
        "project" => "",
        _ => ", of one project or none that is known",
    };
    format!(
        "Settings are chosen by {} and judged by {} held back{why}. Bills have what is lost \
         fetched again; facts are kept at the requests that use them.",
        side(&tuned.choosing),
        side(&tuned.held_back)
    )
}

/// Every setting with its figures on both halves.
pub(super) fn table(tuned: &Tuned) -> Part {
    type Half = fn(&TunedSetting) -> &TunedHalf;
    let choosing: Half = |one| &one.choosing;
    let held_back: Half = |one| &one.held_back;
    // A column that no setting fills says nothing.
    let filled = |of: fn(&TunedHalf) -> bool| {
        tuned.settings.iter().any(|one| of(&one.choosing) || of(&one.held_back))
    };
    let kept = filled(|half| half.kept.is_some());
    let answers = filled(|half| half.answers.is_some());
    let refused = filled(|half| half.refused > 0.0);
    let mut table = TableOf::new("Settings", listed(tuned))
        .column(words("setting").wrapped(), |(at, _)| name(tuned, *at));
    for (head, half) in [("", choosing), ("held back:", held_back)] {
        let figures = |what: &str| figures(format!("{head}\n{what}"));
        let bill = |half: &TunedHalf| half.usd.map_or_else(absent, number::dollars);
        table = table
            .column(figures("bill"), |(_, one)| bill(half(one)))
            .column_if(kept, figures("facts kept"), |(_, one)| share(half(one).kept))
            .column_if(answers, figures("answers"), |(_, one)| share(half(one).answers))
            .column_if(refused, figures("refused"), |(_, one)| number::any(half(one).refused));
    }
    let table = table.column(words("status"), |(_, one)| status(one));
    table.dim(|(at, one)| !one.frontier && *at != tuned.recommended).part()
}

fn share(range: Option<Ranged>) -> Cell {
    let Some(Ranged { value, lo, hi }) = range else { return absent().into() };
    let spread = lo.zip(hi).map(|(lo, hi)| {
        let [lo, hi] = [lo, hi].map(|end| number::percent(end).replace(" %", ""));
        format!("[{lo}–{hi}]")
    });
    Cell { spread, ..Cell::figure(value, number::percent(value)) }
}

fn name(tuned: &Tuned, at: usize) -> String {
    let mark = if tuned.recommended == at { "→ " } else { "" };
    match tuned.settings[at].changes.as_str() {
        "" => format!("{mark}the author's"),
        changes => format!("{mark}{changes}"),
    }
}

/// The author's setting, then the others from the smallest bill on.
fn listed(tuned: &Tuned) -> Vec<(usize, &TunedSetting)> {
    let mut all: Vec<(usize, &TunedSetting)> = tuned.settings.iter().enumerate().collect();
    let usd = |one: &TunedSetting| one.choosing.usd.unwrap_or(f64::INFINITY);
    all[1..].sort_by(|a, b| usd(a.1).total_cmp(&usd(b.1)).then(a.0.cmp(&b.0)));
    all
}

/// What became of a setting, in a few words: where it was chosen, then on the half held back.
fn status(setting: &TunedSetting) -> &'static str {
    match (setting.choosing.admission, setting.held_back.admission) {
        _ if setting.changes.is_empty() => "",
        (Admission::Admissible, Admission::Admissible) if setting.frontier => "frontier",
        (Admission::Admissible, Admission::Admissible) => "behind",
        (Admission::Admissible, held) | (held, _) => match held {
            Admission::Admissible => "behind",
            Admission::Failed => "failed",
            Admission::Refused => "refused",
            Admission::Unpriced => "no price",
            Admission::Dearer => "dearer",
            Admission::KeepsLess => "keeps less",
        },
    }
}

/// How the recommended setting is tried.
fn apply(tuned: &Tuned) -> Option<String> {
    let found = &tuned.settings[tuned.recommended];
    (!found.changes.is_empty()).then(|| {
        let strategy = plain::line(&tuned.typed);
        format!("recap bench --strategy {strategy} --set '{strategy}: {}'", found.changes)
    })
}

fn notes(report: &Report, tuned: &Tuned) -> Vec<String> {
    let offline =
        report.rows.iter().any(|row| row.row_kind == RowKind::OfflineSummary).then(|| {
            "summaries are the offline compactor's: a model (--compactor) keeps more or less"
                .to_owned()
        });
    let refused = tuned.refused.iter().map(|(changes, why)| format!("refused: {changes}: {why}"));
    let (held, all) =
        (tuned.held_back.requests, tuned.choosing.requests + tuned.held_back.requests);
    let weak = ((held as f64) < WEAK * all as f64).then(|| {
        let requests = block::counted(all, "request");
        format!("the half held back has {held} of {requests}: the others are of one {}", tuned.unit)
    });
    weak.into_iter().chain(offline).chain(refused).map(|note| plain::line(&note)).collect()
}

/// Columns for each half.
const OF_HALF: &Columns<fn(&TunedHalf) -> Field> = &[
    ("admission", |half| half.admission.as_str().into()),
    ("usd", |half| Field::dollars(half.usd)),
    ("saving", |half| value(half.saving)),
    ("saving_lo", |half| lo(half.saving)),
    ("saving_hi", |half| hi(half.saving)),
    ("refused", |half| half.refused.into()),
    ("facts", |half| half.facts.into()),
    ("kept", |half| value(half.kept)),
    ("kept_lo", |half| lo(half.kept)),
    ("kept_hi", |half| hi(half.kept)),
    ("kept_difference", |half| value(half.kept_difference)),
    ("kept_difference_lo", |half| lo(half.kept_difference)),
    ("kept_difference_hi", |half| hi(half.kept_difference)),
    ("answers", |half| value(half.answers)),
    ("answers_lo", |half| lo(half.answers)),
    ("answers_hi", |half| hi(half.answers)),
    ("answers_difference", |half| value(half.answers_difference)),
    ("answers_difference_lo", |half| lo(half.answers_difference)),
    ("answers_difference_hi", |half| hi(half.answers_difference)),
];

fn value(range: Option<Ranged>) -> Field {
    range.map(|range| range.value).into()
}

fn lo(range: Option<Ranged>) -> Field {
    range.and_then(|range| range.lo).into()
}

fn hi(range: Option<Ranged>) -> Field {
    range.and_then(|range| range.hi).into()
}

/// `frontier.csv`.
pub(super) fn csv(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let held: Vec<String> = OF_HALF.iter().map(|(name, _)| format!("held_{name}")).collect();
    let mut names = vec!["setting", "strategy", "recommended", "frontier"];
    names.extend(OF_HALF.iter().map(|(name, _)| *name));
    names.extend(held.iter().map(String::as_str));
    let mut sheet = Sheet::named(&names, out)?;
    for tuned in source.report.tuned.iter() {
        for (at, one) in listed(tuned) {
            let mut fields: Vec<Field> = vec![
                one.changes.as_str().into(),
                one.strategy.as_str().into(),
                (at == tuned.recommended).into(),
                one.frontier.into(),
            ];
            for half in [&one.choosing, &one.held_back] {
                fields.extend(OF_HALF.iter().map(|(_, field)| field(half)));
            }
            sheet.push_fields(fields)?;
        }
    }
    sheet.finish()
}
