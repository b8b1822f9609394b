//! `summary.json`: the same rows with their reasons, for scripts; with `--json`
//! it is all that stdout carries.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::block::counted;
use super::{RenderInput, number};
use recap_core::model::{
    Absent, AnsweredAtCuts, Finding, RECORDED, Recommendation, Report, StrategyRow, Value,
    catalogue,
};
use recap_core::wording;

/// Version of this file's layout; fields are only ever added under one version.
const VERSION: u32 = 7;

/// `summary.json`.
pub(super) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let each = |of: &[AnsweredAtCuts]| of.iter().map(questions).collect::<Vec<Json>>();
    let asked = Some(&report.answered_at_cuts).filter(|asked| !asked.is_empty());
    let mut summary = json!({
        "version": VERSION,
        "title": report.title,
        // What to use, how sure that is and what else to know.
        "answer": report.recommendation.as_ref().map(|of| answered(report, of)),
        // What other sizes of the agent's own compaction would have cost, or why that is not said.
        "sizes": report.curve.as_ref().map(|curve| match curve {
            Ok(curve) => shown(curve),
            Err(why) => json!({"none": why, "text": wording::no_sizes(why)}),
        }),
        "primary": report.primary,
        "rows": report.rows.iter().map(row).collect::<Vec<Json>>(),
        // For each strategy, the questions at cuts by kind.
        "questions": asked.map(|asked| each(asked)),
        "family": report.family.as_ref().map(shown),
        // What a search over settings came to.
        "tuned": report.tuned.as_ref().map(shown),
        "gate": report.gate,
        // What an interrupted run lacks.
        "missing": report.missing,
        // Problems, observations and limits, by kind and in words.
        "findings": report.findings.iter().map(found).collect::<Vec<Json>>(),
        "panel": report.panel,
        "manifest": report.manifest,
    });
    // What a run does not have is not named.
    summary.as_object_mut().expect("it is one").retain(|_, part| !part.is_null());
    writeln!(out, "{summary:#}")
}

/// A strategy with how many questions of each kind `full` answers right after the
/// cuts, and how many of these the strategy still does.
fn questions(strategy: &AnsweredAtCuts) -> Json {
    let kinds = strategy.kinds.iter().map(|(kind, of)| {
        let kept = (of.after * 1_000.0).round() / 1_000.0;
        let counts = json!({"full": of.before, "kept": kept});
        (kind.as_str().to_owned(), counts)
    });
    let kinds: Map<String, Json> = kinds.collect();
    json!({"strategy": strategy.strategy, "kinds": kinds})
}

fn answered(report: &Report, of: &Recommendation) -> Json {
    json!({
        "strategy": of.row.as_ref().map(|row| &row.strategy),
        "window": of.row.as_ref().map(|row| &row.window),
        "answer": of.answer,
        "how_sure": of.how_sure,
        "doubt": of.doubt,
        "also": of.also,
        "next": of.next,
        "harness": of.harness,
        "lost": lost(report),
    })
}

/// What the agent's own compactions kept: as recorded, else as an offline summary in their place.
fn lost(report: &Report) -> Option<String> {
    let agent = report.manifest.agent.as_deref()?;
    let recorded = report.rows.iter().find(|row| row.strategy == RECORDED);
    let of = |row: &StrategyRow| {
        let cuts = row.number(catalogue::CUTS).filter(|cuts| *cuts > 0.0)?;
        let kept = number::percent(row.number(catalogue::FACTS_KEPT)?);
        Some((kept, counted(cuts as usize, "recorded compaction")))
    };
    let own = recorded.and_then(of).map(|(kept, places)| {
        format!("Behind {places} {agent} still had {kept} of the facts that it used next.")
    });
    own.or_else(|| {
        let (kept, places) = report.twin.as_ref().and_then(of)?;
        Some(format!(
            "What {agent} kept is not on record: an offline summary in its place keeps {kept} of \
             the facts used next ({places})."
        ))
    })
}

fn found(finding: &Finding) -> Json {
    let severity: &str = finding.severity.into();
    json!({"kind": finding.kind, "severity": severity, "text": finding.text})
}

/// Part of the report as it is, its figures rounded like those of rows.
fn shown(part: &impl Serialize) -> Json {
    let mut json = serde_json::to_value(part).expect("every key is a string");
    round(&mut json);
    json
}

fn round(json: &mut Json) {
    match json {
        Json::Number(figure) if figure.is_f64() => {
            let rounded = figure.as_f64().and_then(number::rounded);
            *json = rounded.map_or(Json::Null, Json::from);
        }
        Json::Array(items) => items.iter_mut().for_each(round),
        Json::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

/// A row with its figures and words, without the tag that the model's own form has for each.
fn row(row: &StrategyRow) -> Json {
    let (mut values, mut absent) = (Map::new(), Map::new());
    for (id, value) in &row.values {
        match value {
            Value::Known(x) => match rounded(id, *x) {
                Some(x) => values.insert(id.clone(), figure(x)),
                None => absent.insert(id.clone(), json!(Absent::NotFinite)),
            },
            Value::Text(word) => values.insert(id.clone(), json!(word)),
            Value::Absent(reason) => absent.insert(id.clone(), json!(reason)),
        };
    }
    json!({
        "dataset": row.dataset,
        "strategy": row.strategy,
        "window": row.window,
        "agent_model": row.agent_model,
        "row_kind": row.row_kind,
        "rank": row.rank,
        "verdict": row.verdict.map(|verdict| verdict.as_str()),
        "intervals": row.intervals,
        "values": values,
        "absent": absent,
        "failed": row.failed,
    })
}

/// Counts read as counts: `12`, not `12.0`.
fn figure(x: f64) -> Json {
    if x.fract() == 0.0 && x.abs() < 9e15 { json!(x as i64) } else { json!(x) }
}

/// As many decimals as in `summary.csv`.
fn rounded(id: &str, x: f64) -> Option<f64> {
    if number::is_in_dollars(id) {
        number::exact_dollars(x)?.parse().ok()
    } else {
        number::rounded(x)
    }
}
