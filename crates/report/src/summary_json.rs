//! `summary.json`: the same rows with their reasons, for scripts; with `--json`
//! it is all that stdout carries.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use super::block::counted;
use super::{Format, RenderInput, number};
use recap_core::model::{
    Absent, AnsweredAtCuts, Finding, Gate, Interval, Manifest, Missing, PanelAgreement, Primary,
    RECORDED, Recommendation, Report, RowKind, StrategyRow, Value, catalogue,
};
use recap_core::wording;

pub(super) const FORMAT: Format = Format {
    name: "json",
    file: "summary.json",
    about: "the comparison with intervals, reasons of absence and the manifest",
    render: |source, out| out.write_all(&render(source)),
};

/// Version of this file's layout; fields are only ever added under one version.
const VERSION: u32 = 6;

#[derive(Serialize)]
struct Summary<'a> {
    version: u32,
    title: &'a str,
    /// What to use, how sure that is, what it rests on and what else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Json>,
    /// What other sizes of the agent's own compaction would have cost, or why that is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<Json>,
    primary: Primary,
    rows: Vec<Row<'a>>,
    /// For each strategy, the questions at cuts by kind; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Json>,
    /// What a search over settings came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuned: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a Gate>,
    /// What an interrupted run lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a Missing>,
    /// Problems, observations and limits, by kind and in words.
    findings: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    panel: Option<&'a PanelAgreement>,
    manifest: &'a Manifest,
}

#[derive(Serialize)]
struct Row<'a> {
    dataset: &'a str,
    strategy: &'a str,
    window: &'a str,
    agent_model: &'a str,
    row_kind: RowKind,
    rank: Option<u32>,
    verdict: Option<&'static str>,
    intervals: &'a BTreeMap<String, Interval>,
    values: BTreeMap<&'a str, JsonValue<'a>>,
    absent: BTreeMap<&'a str, &'a Absent>,
    failed: &'a [String],
}

/// A number or a word. The model's own form carries a tag per value, which a
/// script would have to strip.
enum JsonValue<'a> {
    Number(f64),
    Word(&'a str),
}

impl Serialize for JsonValue<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Counts read as counts: `12`, not `12.0`.
            JsonValue::Number(x) if x.fract() == 0.0 && x.abs() < 9e15 => {
                serializer.serialize_i64(*x as i64)
            }
            JsonValue::Number(x) => serializer.serialize_f64(*x),
            JsonValue::Word(word) => serializer.serialize_str(word),
        }
    }
}

fn render(source: &RenderInput<'_>) -> Vec<u8> {
    let report = source.report;
    let summary = Summary {
        version: VERSION,
        title: &report.title,
        primary: report.primary,
        rows: report.rows.iter().map(row).collect(),
        questions: report.answered_at_cuts.iter().map(questions).collect(),
        family: report.family.as_ref().map(shown),
        answer: report.recommendation.as_ref().map(|of| answered(report, of)),
        sizes: report.curve.as_ref().map(|curve| match curve {
            Ok(curve) => shown(curve),
            Err(why) => serde_json::json!({"none": why, "text": wording::no_sizes(why)}),
        }),
        tuned: report.tuned.as_ref().map(shown),
        gate: report.gate.as_ref(),
        missing: report.missing.as_ref(),
        findings: report.findings.iter().map(found).collect(),
        panel: report.panel.as_ref(),
        manifest: &report.manifest,
    };
    let mut bytes = serde_json::to_vec_pretty(&summary).expect("every key is a string");
    bytes.push(b'\n');
    bytes
}

/// A strategy with how many questions of each kind `full` answers right after the
/// cuts, and how many of these the strategy still does.
fn questions(strategy: &AnsweredAtCuts) -> Json {
    let kinds = strategy.kinds.iter().map(|(kind, of)| {
        let kept = (of.after * 1_000.0).round() / 1_000.0;
        let counts = serde_json::json!({"full": of.before, "kept": kept});
        (kind.as_str().to_owned(), counts)
    });
    let kinds: serde_json::Map<String, Json> = kinds.collect();
    serde_json::json!({"strategy": strategy.strategy, "kinds": kinds})
}

fn answered(report: &Report, of: &Recommendation) -> Json {
    serde_json::json!({
        "strategy": of.row.as_ref().map(|row| &row.strategy),
        "window": of.row.as_ref().map(|row| &row.window),
        "answer": of.answer,
        "how_sure": of.how_sure,
        "doubt": of.doubt,
        "basis": of.basis,
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
    serde_json::json!({"kind": finding.kind, "severity": severity, "text": finding.text})
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

fn row(row: &StrategyRow) -> Row<'_> {
    let mut values = BTreeMap::new();
    let mut absent = BTreeMap::new();
    for (id, value) in &row.values {
        match value {
            Value::Known(x) => match rounded(id, *x) {
                Some(x) => drop(values.insert(id.as_str(), JsonValue::Number(x))),
                None => drop(absent.insert(id.as_str(), &Absent::NotFinite)),
            },
            Value::Text(word) => drop(values.insert(id, JsonValue::Word(word))),
            Value::Absent(reason) => drop(absent.insert(id, reason)),
        }
    }
    Row {
        dataset: &row.dataset,
        strategy: &row.strategy,
        window: &row.window,
        agent_model: &row.agent_model,
        row_kind: row.row_kind,
        rank: row.rank,
        verdict: row.verdict.map(|v| v.as_str()),
        intervals: &row.intervals,
        values,
        absent,
        failed: &row.failed,
    }
}

/// As many decimals as in `summary.csv`.
fn rounded(id: &str, x: f64) -> Option<f64> {
    if number::is_in_dollars(id) {
        number::exact_dollars(x)?.parse().ok()
    } else {
        number::rounded(x)
    }
}
