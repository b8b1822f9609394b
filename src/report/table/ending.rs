//! What a wide screen says beside the tables: the answer with its reasons, and
//! every finding.

use super::Screen;
use crate::model::{Finding, Recommendation, Report, Standing};
use crate::report::grid::{paragraph, wrapped};
use crate::report::{advice, forgets, plain, receipt};
use crate::wording::{self, Answer};

/// The answer with its reasons.
pub(super) fn answer(out: &mut String, report: &Report, screen: Screen) {
    let Some(recommendation) = &report.recommendation else { return };
    let words = wording::answer(report).expect("there is a recommendation");
    let forgets = forgets(report, recommendation);
    let today = receipt::sentence(report);
    parts(out, &words, [today, forgets, wording::apply(report)], screen);
    if let Some(advice) = &report.advice {
        advice::tables(out, report, advice, screen.width);
    }
}

/// Every finding, in full.
pub(super) fn findings(out: &mut String, report: &Report, screen: Screen) {
    let of = |is: fn(&Finding) -> bool| -> Vec<String> {
        let those = report.findings.iter().filter(|finding| is(finding));
        those.map(|finding| plain::line(&finding.to_string())).collect()
    };
    list(out, "what the figures show:", &of(|f| matches!(f, Finding::Observation(_))), screen);
    list(out, "problems of this run:", &of(|f| matches!(f, Finding::Problem(_))), screen);
    list(out, "limits of every figure here:", &of(|f| matches!(f, Finding::Limit(_))), screen);
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

fn parts(
    out: &mut String,
    answer: &Answer,
    [today, forgets, apply]: [Option<String>; 3],
    screen: Screen,
) {
    let first = [Some(answer.answer.clone()), Some(answer.also.join(" "))];
    let first = first.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>();
    let how_sure = [Some(&answer.how_sure), answer.doubt.as_ref()].into_iter().flatten().cloned();
    let how_sure = how_sure.collect::<Vec<_>>().join(" ");
    let parts = [
        ("answer", Some(first.join(" "))),
        ("sure", Some(how_sure)),
        ("today", today),
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

/// Findings, a paragraph each.
fn list(out: &mut String, head: &str, texts: &[String], screen: Screen) {
    if texts.is_empty() {
        return;
    }
    let mut section = String::new();
    paragraph(&mut section, head, screen.width, " ");
    if screen.color {
        section = section.replacen(head, &format!("\u{1b}[33m{head}\u{1b}[0m"), 1);
    }
    for text in texts {
        let mut item = String::new();
        paragraph(&mut item, text, screen.width, "   ");
        section.push_str(&item.replacen("   ", " - ", 1));
    }
    out.push_str(&section);
    out.push('\n');
}
