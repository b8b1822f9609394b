//! What stands below the tables: the answer, the problems of this run, and where
//! its limits stand.

use super::Screen;
use crate::model::{Finding, Recommendation, Report, Standing};
use crate::report::grid::{paragraph, wrapped};
use crate::report::{advice, block, forgets, plain, short_ids};
use crate::wording::{self, Answer};

/// Problems that are shown on a screen that is not wide.
const PROBLEMS: usize = 6;
/// Characters of one of them.
const LONGEST: usize = 320;

pub(super) fn push(out: &mut String, report: &Report, screen: Screen) {
    if let Some(recommendation) = &report.recommendation {
        let words = wording::answer(report).expect("there is a recommendation");
        answer(out, &words, forgets(report, recommendation), wording::apply(report), screen);
        if let Some(advice) = report.advice.as_ref().filter(|_| screen.wide) {
            advice::tables(out, report, advice, screen.width);
        }
    }
    let of = |is: fn(&Finding) -> bool| -> Vec<String> {
        let those = report.findings.iter().filter(|finding| is(finding));
        let text = |finding: &Finding| match screen.wide {
            true => finding.to_string(),
            false => short_ids::shortened(report, &finding.to_string()),
        };
        those.map(|finding| plain::line(&text(finding))).collect()
    };
    if screen.wide {
        list(out, "what the figures show:", &of(|f| matches!(f, Finding::Observation(_))), screen);
    }
    list(out, "problems of this run:", &of(|f| matches!(f, Finding::Problem(_))), screen);
    let limits = of(|f| matches!(f, Finding::Limit(_)));
    if screen.wide {
        return list(out, "limits of every figure here:", &limits, screen);
    }
    if !limits.is_empty() {
        let text = format!(
            "{} of every figure here, such as offline models or modelled waits: --wide and \
             report.md list them.",
            block::counted(limits.len(), "limit")
        );
        paragraph(out, &text, screen.width, " ");
    }
}

/// What the recommended strategy forgets, or the one that comes nearest.
fn forgets(report: &Report, recommendation: &Recommendation) -> Option<String> {
    let chosen = recommendation.choice.place().map(|place| place.strategy.as_str());
    let ranked = || {
        let rows = report.rows.iter().filter(|row| row.standing != Standing::Control);
        let best = rows.filter(|row| row.rank.is_some()).min_by_key(|row| row.rank);
        best.map(|row| row.strategy.as_str())
    };
    let told = chosen.and_then(|strategy| forgets::forgets(report, strategy));
    told.or_else(|| forgets::forgets(report, ranked()?))
}

fn answer(
    out: &mut String,
    answer: &Answer,
    forgets: Option<String>,
    apply: Option<String>,
    screen: Screen,
) {
    let first = (screen.wide).then(|| answer.also.join(" ")).filter(|also| !also.is_empty());
    let first = [Some(answer.answer.clone()), first].into_iter().flatten().collect::<Vec<_>>();
    let doubt = answer.doubt.as_ref().filter(|_| screen.wide);
    let how_sure = [Some(&answer.how_sure), doubt].into_iter().flatten().cloned();
    let how_sure = how_sure.collect::<Vec<_>>().join(" ");
    let parts = [
        ("answer", Some(first.join(" "))),
        ("how sure", Some(how_sure)),
        ("at stake", Some(answer.at_stake.clone())),
        ("models", answer.summaries.clone()),
        ("forgets", forgets),
        ("apply", apply),
        ("next", answer.next.clone()),
    ];
    for (label, text) in parts {
        let Some(text) = text else { continue };
        let label = format!("{label:<9}");
        let lines = wrapped(&plain::line(&text), screen.width.saturating_sub(label.len() + 1));
        for (at, line) in lines.iter().enumerate() {
            let head = if at == 0 { label.as_str() } else { "         " };
            let head = match screen.color && at == 0 {
                true => format!("\u{1b}[1m{head}\u{1b}[0m"),
                false => head.to_owned(),
            };
            out.push_str(&format!(" {head}{line}\n"));
        }
    }
    out.push('\n');
}

/// Findings, a paragraph each; without a wide screen the first ones.
fn list(out: &mut String, head: &str, texts: &[String], screen: Screen) {
    if texts.is_empty() {
        return;
    }
    let (shown, longest) = match screen.wide {
        true => (texts.len(), usize::MAX),
        false => (texts.len().min(PROBLEMS), LONGEST),
    };
    let mut section = String::new();
    paragraph(&mut section, head, screen.width, " ");
    if screen.color {
        section = section.replacen(head, &format!("\u{1b}[33m{head}\u{1b}[0m"), 1);
    }
    for text in &texts[..shown] {
        let mut item = String::new();
        paragraph(&mut item, &plain::shortened(text, longest), screen.width, "   ");
        section.push_str(&item.replacen("   ", " - ", 1));
    }
    if shown < texts.len() {
        let more = format!("and {} more: --wide and report.md list them.", texts.len() - shown);
        paragraph(&mut section, &more, screen.width, "   ");
    }
    out.push_str(&section);
    out.push('\n');
}
