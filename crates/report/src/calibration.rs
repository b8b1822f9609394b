//! What calibrating a judge gives: a table for people, `calibration.csv`,
//! `verdicts.csv` and JSON for scripts.

use serde_json::{Map, Value as Json, json};

use super::document::{Head, Part, Screen, Table, absent, figures, names, terminal, words};
use super::sheet::{self, Field};
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

/// Columns of `calibration.csv`, and keys of the rows in JSON.
const COLUMNS: &str = "file,group,questions,graded,agreement,kappa,kappa_lo,kappa_hi,false_accepts,\
    false_accept_share,false_accept_lo,false_accept_hi,false_rejects,false_reject_share,\
    unscored,score_error,judge";

fn fields(report: &JudgeReport, row: &JudgeRow) -> Vec<Field> {
    vec![
        Field::maybe_text(row.file.as_deref()),
        Field::maybe_text(row.group.as_deref()),
        Field::Count(row.questions),
        Field::Count(row.graded),
        Field::maybe(row.agreement()),
        Field::maybe(row.kappa),
        Field::maybe(row.kappa_bounds.map(|(lo, _)| lo)),
        Field::maybe(row.kappa_bounds.map(|(_, hi)| hi)),
        Field::Count(row.false_accepts),
        Field::maybe(row.false_accept_share()),
        Field::maybe(row.false_accept_bounds.map(|(lo, _)| lo)),
        Field::maybe(row.false_accept_bounds.map(|(_, hi)| hi)),
        Field::Count(row.false_rejects),
        Field::maybe(row.false_reject_share()),
        Field::Count(row.unscored),
        Field::maybe(row.score_error),
        Field::text(&report.judge),
    ]
}

/// `calibration.csv`: one row per file and group; the row without a file is over
/// all of them.
pub fn calibration_csv(report: &JudgeReport) -> Vec<u8> {
    sheet::csv_bytes(COLUMNS, report.rows.iter().map(|row| fields(report, row)))
}

/// The same figures as one JSON document.
pub fn calibration_json(report: &JudgeReport) -> String {
    let row = |row: &JudgeRow| {
        let fields = fields(report, row).into_iter().map(into_json);
        let keys = COLUMNS.split(',').map(str::to_owned);
        // The judge is named once, above the rows.
        Json::Object(keys.zip(fields).filter(|(key, _)| key != "judge").collect::<Map<_, _>>())
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

const VERDICT_COLUMNS: &str = "file,line,id,group,kind,question,expected,stale,answer,label,verdict,score,\
    outcome,rationale";

/// `verdicts.csv`: every answer with its label and what the judge made of it.
pub fn verdicts_csv(cases: &[LabelledCase], judgements: &[Judgement]) -> Vec<u8> {
    let rows = cases.iter().zip(judgements).map(|(case, judgement)| {
        let asked = &case.asked;
        let expected = match &asked.expect {
            Expectation::AnyOf(values) => values.join(" | "),
            Expectation::Rubric(nuggets) => nuggets.join("\n"),
            Expectation::Unanswerable => String::new(),
        };
        let label = match (case.label, case.label.as_str()) {
            (Label::Score(score), _) => Field::maybe_text(number::plain(score).as_deref()),
            (_, word) => Field::maybe_text(word),
        };
        vec![
            Field::text(&asked.file),
            Field::Count(case.line),
            Field::text(&case.id),
            Field::maybe_text(case.group.as_deref()),
            Field::text(asked.kind.as_str()),
            Field::text(&asked.question),
            Field::Text(expected),
            Field::Text(asked.stale.join(" | ")),
            Field::text(&case.answer),
            label,
            Field::text(judgement.verdict.as_str()),
            Field::maybe(judgement.score),
            Field::text(case.outcome(judgement).as_str()),
            Field::text(&judgement.rationale),
        ]
    });
    sheet::csv_bytes(VERDICT_COLUMNS, rows)
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
