//! What calibrating a judge gives: a table for people, `calibration.csv`,
//! `verdicts.csv` and JSON for scripts.

use serde_json::{Map, Value as Json, json};

use super::document::{Head, Part, Screen, Table, absent, figures, names, terminal, words};
use super::sheet::{self, Columns, Field, Sheet};
use super::{number, plain};
use recap_core::model::{
    Expectation, JudgeReport, JudgeRow, Judgement, Label, LabelledCase, TRUSTED_FALSE_ACCEPTS,
    TRUSTED_KAPPA, Trust,
};
use recap_core::text::counted;

/// Characters of a reason that are shown.
const REASON: usize = 120;

const HEADS: &[Head] = &[
    names("answers"),
    figures("graded"),
    figures("agreement"),
    words("kappa"),
    figures("false accepts"),
    figures("false rejects"),
    figures("unscored"),
];

/// Renders a calibration for a terminal: agreement with people file by file, what was
/// left out, and whether the judge can be trusted.
pub fn calibration_table(report: &JudgeReport, screen: Screen) -> String {
    terminal(&parts(report), screen)
}

fn parts(report: &JudgeReport) -> Vec<Part> {
    let head = format!("recap · judge {} ({})", report.judge, report.source.as_str());
    let mut parts = vec![Part::Title(head)];
    for section in sections(report) {
        let rows = section.rows.iter().map(|row| cells(row)).collect();
        parts.push(Part::Heading(section.title.clone()));
        parts.push(Part::Table(Table::new(&section.title, HEADS, rows)));
    }
    parts.push(Part::Heading("Whether the judge can be trusted".to_owned()));
    parts.extend(notes(report).into_iter().map(Part::Text));
    parts.push(Part::Text(verdict(report)));
    parts
}

struct Section<'a> {
    title: String,
    rows: Vec<&'a JudgeRow>,
}

/// The answers of each file, by group, and of all files.
fn sections(report: &JudgeReport) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for row in &report.rows {
        if row.group.is_none() {
            let file = row.file.as_deref().map_or_else(|| "all files".to_owned(), str::to_owned);
            let title = format!("{file} · {}", counted(row.questions, "question"));
            sections.push(Section { title, rows: Vec::new() });
        }
        let section = sections.last_mut().expect("all answers of a file stand before its groups");
        section.rows.push(row);
    }
    sections
}

fn cells(row: &JudgeRow) -> Vec<String> {
    let name = row.group.as_deref().map_or_else(|| "all".to_owned(), str::to_owned);
    let kappa = match (row.kappa, row.kappa_bounds) {
        (None, _) => absent(),
        (Some(kappa), None) => number::ratio(kappa),
        (Some(kappa), Some((lo, hi))) => {
            format!("{} [{}, {}]", number::ratio(kappa), number::ratio(lo), number::ratio(hi))
        }
    };
    vec![
        name,
        number::grouped(row.graded),
        row.agreement().map_or_else(absent, tenths),
        kappa,
        part_of(row.false_accepts, row.false_accept_share()),
        part_of(row.false_rejects, row.false_reject_share()),
        number::grouped(row.unscored),
    ]
}

/// A share in per cent with one decimal.
fn tenths(x: f64) -> String {
    format!("{:.1} %", x * 100.0)
}

/// How many, and of those that could be.
fn part_of(n: u64, share: Option<f64>) -> String {
    share.map_or_else(absent, |share| format!("{} ({})", number::grouped(n), tenths(share)))
}

fn notes(report: &JudgeReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.rows.iter().any(|row| row.kappa_bounds.is_some()) {
        notes.push("[]: 95 % intervals over questions; kappa is Cohen's.".to_owned());
    }
    notes.extend(report.reasons.iter().map(|(why, n)| {
        let why = plain::shortened(why, REASON);
        format!("unscored: {} × {why}", number::grouped(*n))
    }));
    let error = report.overall().and_then(|row| row.score_error);
    notes.extend(error.map(|error| {
        format!("scores are {} away from the labelled ones in the mean.", number::ratio(error))
    }));
    notes
}

/// The sentence on which people act: what decides, then what stands beside it.
fn verdict(report: &JudgeReport) -> String {
    let word = match report.trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "not trusted",
        Trust::Unknown => "whether it can be trusted is not known",
    };
    let kappa = report.overall().and_then(|row| row.kappa);
    let kappa = kappa.map_or_else(
        || "no kappa against people".to_owned(),
        |kappa| format!("kappa against people is {}", number::ratio(kappa)),
    );
    let accepted = report.overall().and_then(accepted_share).map_or_else(
        || "too few answers that people find wrong".to_owned(),
        |share| format!("of the answers that people find wrong {share} are accepted"),
    );
    let worst =
        report.worst_group().and_then(|row| Some((row.group.as_deref()?, accepted_share(row)?)));
    let worst = worst
        .map_or_else(String::new, |(name, share)| format!(", at worst {share} of those by {name}"));
    let most = format!("{:.0} %", TRUSTED_FALSE_ACCEPTS * 100.0);
    format!(
        "{word}: {kappa}; {accepted}{worst} (trusted from kappa {TRUSTED_KAPPA} on, with the upper \
         bound below {most}, each over six questions or more)."
    )
}

/// The share of wrong answers that are accepted, with its interval.
fn accepted_share(row: &JudgeRow) -> Option<String> {
    let ((lo, hi), share) = row.false_accept_bounds.zip(row.false_accept_share())?;
    Some(format!("{} [{:.1}, {:.1}]", tenths(share), lo * 100.0, hi * 100.0))
}

/// Columns of `calibration.csv`, and keys of the rows in JSON, where the judge is named once.
const COLUMNS: &Columns<fn(&&JudgeRow) -> Field> = &[
    ("file", |row| row.file.as_deref().into()),
    ("group", |row| row.group.as_deref().into()),
    ("questions", |row| row.questions.into()),
    ("graded", |row| row.graded.into()),
    ("agreement", |row| row.agreement().into()),
    ("kappa", |row| row.kappa.into()),
    ("kappa_lo", |row| row.kappa_bounds.map(|(lo, _)| lo).into()),
    ("kappa_hi", |row| row.kappa_bounds.map(|(_, hi)| hi).into()),
    ("false_accepts", |row| row.false_accepts.into()),
    ("false_accept_share", |row| row.false_accept_share().into()),
    ("false_accept_lo", |row| row.false_accept_bounds.map(|(lo, _)| lo).into()),
    ("false_accept_hi", |row| row.false_accept_bounds.map(|(_, hi)| hi).into()),
    ("false_rejects", |row| row.false_rejects.into()),
    ("false_reject_share", |row| row.false_reject_share().into()),
    ("unscored", |row| row.unscored.into()),
    ("score_error", |row| row.score_error.into()),
];

/// `calibration.csv`: one row per file and group; the row without a file is over
/// all of them.
pub fn calibration_csv(report: &JudgeReport) -> Vec<u8> {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).chain(["judge"]).collect();
    let mut bytes = Vec::new();
    let mut sheet = Sheet::named(&names, &mut bytes).expect("memory takes every write");
    for row in &report.rows {
        let fields = COLUMNS.iter().map(|(_, field)| field(&row));
        let fields = fields.chain([report.judge.as_str().into()]);
        sheet.push_fields(fields).expect("memory takes every write");
    }
    sheet.finish().expect("memory takes every write");
    bytes
}

/// The same figures as one JSON document.
pub fn calibration_json(report: &JudgeReport) -> String {
    let row = |row: &JudgeRow| {
        let fields =
            COLUMNS.iter().map(|(name, field)| ((*name).to_owned(), into_json(field(&row))));
        Json::Object(fields.collect::<Map<_, _>>())
    };
    let document = json!({
        "judge": report.judge,
        "source": report.source.as_str(),
        "seed": report.seed,
        "trust": report.trust.as_str(),
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "unscored": report.reasons.iter().map(|(why, n)| json!({"reason": why, "answers": n})).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn into_json(field: Field) -> Json {
    match field {
        Field::Empty => Json::Null,
        Field::Text(text) => Json::String(text),
        Field::Number(x) | Field::Dollars(x) => json!(number::rounded(x)),
        Field::Count(n) => json!(n),
        Field::Flag(flag) => json!(flag),
    }
}

/// An answer with its label and what the judge made of it.
struct Judged<'a> {
    case: &'a LabelledCase,
    judgement: &'a Judgement,
}

const OF_VERDICTS: &Columns<fn(&Judged<'_>) -> Field> = &[
    ("file", |row| (&*row.case.asked.file).into()),
    ("line", |row| row.case.line.into()),
    ("id", |row| row.case.id.as_str().into()),
    ("group", |row| row.case.group.as_deref().into()),
    ("kind", |row| row.case.asked.kind.as_str().into()),
    ("question", |row| row.case.asked.question.as_str().into()),
    ("expected", |row| match &row.case.asked.expect {
        Expectation::AnyOf(values) => values.join(" | ").into(),
        Expectation::Rubric(nuggets) => nuggets.join("\n").into(),
        Expectation::Unanswerable => "".into(),
    }),
    ("stale", |row| row.case.asked.stale.join(" | ").into()),
    ("answer", |row| row.case.answer.as_str().into()),
    ("label", |row| match (row.case.label, row.case.label.as_str()) {
        (Label::Score(score), _) => number::plain(score).into(),
        (_, word) => word.into(),
    }),
    ("verdict", |row| row.judgement.verdict.as_str().into()),
    ("score", |row| row.judgement.score.into()),
    ("outcome", |row| row.case.outcome(row.judgement).as_str().into()),
    ("rationale", |row| row.judgement.rationale.as_str().into()),
];

/// `verdicts.csv`: every answer with its label and what the judge made of it.
pub fn verdicts_csv(cases: &[LabelledCase], judgements: &[Judgement]) -> Vec<u8> {
    let rows = cases.iter().zip(judgements);
    sheet::bytes(OF_VERDICTS, rows.map(|(case, judgement)| Judged { case, judgement }))
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
