//! What calibrating a judge gives: a table for people, `calibration.csv`,
//! `verdicts.csv` and JSON for scripts.

use serde_json::{Map, Value as Json, json};

use super::document::{Part, Screen, TableOf, absent, figures, names, terminal, words};
use super::sheet::{self, Columns, Field};
use super::{number, plain};
use recap_core::model::{
    Expectation, JudgeReport, JudgeRow, Judgement, Label, LabelledCase, TRUSTED_FALSE_ACCEPTS,
    TRUSTED_KAPPA, Trust,
};
use recap_core::text::counted;

/// Characters of a reason that are shown.
const REASON: usize = 120;

/// Renders a calibration for a terminal: agreement with people file by file, what was
/// left out, and whether the judge can be trusted.
pub fn calibration_table(report: &JudgeReport, screen: Screen) -> String {
    terminal(&parts(report), screen)
}

fn parts(report: &JudgeReport) -> Vec<Part> {
    let head = format!("recap · judge {} ({})", report.judge, report.source.as_str());
    let mut parts = vec![Part::Title(head)];
    // All answers of a file stand before its groups.
    for rows in report.rows.chunk_by(|_, row| row.group.is_some()) {
        parts.extend(section(rows));
    }
    parts.push(Part::heading("Whether the judge can be trusted"));
    parts.extend(notes(report).into_iter().map(Part::Text));
    parts.push(Part::Text(verdict(report)));
    parts
}

/// The answers of a file, or of all files, and those of each group.
fn section(rows: &[JudgeRow]) -> [Part; 2] {
    let file = rows[0].file.as_deref().unwrap_or("all files");
    let title = format!("{file} · {}", counted(rows[0].questions, "question"));
    let kappa = |row: &&JudgeRow| match (row.kappa, row.kappa_bounds) {
        (None, _) => absent(),
        (Some(kappa), None) => number::ratio(kappa),
        (Some(kappa), Some((lo, hi))) => {
            format!("{} [{}, {}]", number::ratio(kappa), number::ratio(lo), number::ratio(hi))
        }
    };
    let table = TableOf::new(&title, rows)
        .column(names("answers"), |row| row.group.as_deref().unwrap_or("all"))
        .column(figures("graded"), |row| number::grouped(row.graded))
        .column(figures("agreement"), |row| row.agreement().map_or_else(absent, tenths))
        .column(words("kappa"), kappa)
        .column(figures("false accepts"), |row| {
            part_of(row.false_accepts, row.false_accept_share())
        })
        .column(figures("false rejects"), |row| {
            part_of(row.false_rejects, row.false_reject_share())
        })
        .column(figures("unscored"), |row| number::grouped(row.unscored));
    [Part::Heading(title), table.part()]
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

/// A row with the name of the judge.
type OfJudge<'a> = (&'a JudgeRow, &'a str);

/// Columns of `calibration.csv`, and but for the last one keys of the rows in JSON, where the judge
/// is named once.
const COLUMNS: &Columns<fn(&OfJudge<'_>) -> Field> = &[
    ("file", |(row, _)| row.file.as_deref().into()),
    ("group", |(row, _)| row.group.as_deref().into()),
    ("questions", |(row, _)| row.questions.into()),
    ("graded", |(row, _)| row.graded.into()),
    ("agreement", |(row, _)| row.agreement().into()),
    ("kappa", |(row, _)| row.kappa.into()),
    ("kappa_lo", |(row, _)| row.kappa_bounds.map(|(lo, _)| lo).into()),
    ("kappa_hi", |(row, _)| row.kappa_bounds.map(|(_, hi)| hi).into()),
    ("false_accepts", |(row, _)| row.false_accepts.into()),
    ("false_accept_share", |(row, _)| row.false_accept_share().into()),
    ("false_accept_lo", |(row, _)| row.false_accept_bounds.map(|(lo, _)| lo).into()),
    ("false_accept_hi", |(row, _)| row.false_accept_bounds.map(|(_, hi)| hi).into()),
    ("false_rejects", |(row, _)| row.false_rejects.into()),
    ("false_reject_share", |(row, _)| row.false_reject_share().into()),
    ("unscored", |(row, _)| row.unscored.into()),
    ("score_error", |(row, _)| row.score_error.into()),
    ("judge", |(_, judge)| (*judge).into()),
];

/// `calibration.csv`: one row per file and group; the row without a file is over
/// all of them.
pub fn calibration_csv(report: &JudgeReport) -> Vec<u8> {
    sheet::bytes(COLUMNS, report.rows.iter().map(|row| (row, report.judge.as_str())))
}

/// The same figures as one JSON document.
pub fn calibration_json(report: &JudgeReport) -> String {
    let row = |row: &JudgeRow| {
        let columns = COLUMNS.iter().filter(|(name, _)| *name != "judge");
        let fields =
            columns.map(|(name, field)| ((*name).to_owned(), into_json(field(&(row, "")))));
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
type Judged<'a> = (&'a LabelledCase, &'a Judgement);

const OF_VERDICTS: &Columns<fn(&Judged<'_>) -> Field> = &[
    ("file", |(case, _)| (&*case.asked.file).into()),
    ("line", |(case, _)| case.line.into()),
    ("id", |(case, _)| case.id.as_str().into()),
    ("group", |(case, _)| case.group.as_deref().into()),
    ("kind", |(case, _)| case.asked.kind.as_str().into()),
    ("question", |(case, _)| case.asked.question.as_str().into()),
    ("expected", |(case, _)| match &case.asked.expect {
        Expectation::AnyOf(values) => values.join(" | ").into(),
        Expectation::Rubric(nuggets) => nuggets.join("\n").into(),
        Expectation::Unanswerable => "".into(),
    }),
    ("stale", |(case, _)| case.asked.stale.join(" | ").into()),
    ("answer", |(case, _)| case.answer.as_str().into()),
    ("label", |(case, _)| match case.label {
        Label::Score(score) => number::plain(score).into(),
        label => label.as_str().into(),
    }),
    ("verdict", |(_, judgement)| judgement.verdict.as_str().into()),
    ("score", |(_, judgement)| judgement.score.into()),
    ("outcome", |(case, judgement)| case.outcome(judgement).as_str().into()),
    ("rationale", |(_, judgement)| judgement.rationale.as_str().into()),
];

/// `verdicts.csv`: every answer with its label and what the judge made of it.
pub fn verdicts_csv(cases: &[LabelledCase], judgements: &[Judgement]) -> Vec<u8> {
    sheet::bytes(OF_VERDICTS, cases.iter().zip(judgements))
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
