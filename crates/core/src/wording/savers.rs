//! What a token saver comes to, in a sentence.

use super::number;
use crate::model::{Report, SaverRow, SaverSavings, StrategyRow, catalogue};
use crate::text::counted;

/// A sentence for each token saver at the first window, as the first billing model is billed.
pub fn savers(report: &Report) -> Vec<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for saver in &report.savers {
        if !told.contains(&saver.strategy.as_str()) {
            told.push(&saver.strategy);
            sentences.push(sentence(report, saver));
        }
    }
    sentences
}

fn sentence(report: &Report, saver: &SaverRow) -> String {
    let name = &saver.strategy;
    if saver.sessions == 0 {
        return format!("{name} fails in every session.");
    }
    let dollars = saver.claimed_usd.map(|usd| format!(" ({})", number::dollars(usd)));
    let claim = saver.claimed_tokens.map(|tokens| match tokens {
        0 => " says it saves nothing".to_owned(),
        tokens => {
            let tokens = number::tokens(tokens as f64);
            format!(" says it saves {tokens} tokens{}", dollars.unwrap_or_default())
        }
    });
    let billed = match &saver.money {
        Ok(money) => billed(money),
        Err(why) => format!("what it saves is not known ({why})"),
    };
    let claim =
        claim.map_or_else(|| format!("{name}: "), |claim| format!("{name}{claim}; billed, "));
    let keeps = row(report, saver).and_then(kept).map(|kept| format!("; {kept}"));
    let waits = saver
        .added_ms
        .map(|(median, _)| format!("; it adds {} to a request", number::time(median)));
    let failed = (saver.failed > 0)
        .then(|| format!("; it fails in {}", counted(saver.failed as usize, "other session")));
    let parts = [keeps, waits, failed].into_iter().flatten().collect::<String>();
    format!("{claim}{billed}{parts}.")
}

/// The bill of the sessions against that of the whole conversation.
fn billed(money: &SaverSavings) -> String {
    let SaverSavings { usd, full_usd, .. } = *money;
    let share = if full_usd > 0.0 { usd / full_usd - 1.0 } else { 0.0 };
    let percent = number::percent(share.abs());
    let (usd, full) = (number::dollars(usd), number::dollars(full_usd));
    match share {
        share if share <= -0.005 => {
            format!("the sessions cost {usd}, {percent} less than without it ({full})")
        }
        share if share >= 0.005 => {
            format!("the sessions cost {usd}, {percent} more than without it ({full})")
        }
        _ => format!("the sessions cost {usd}, as much as without it"),
    }
}

/// The row of the table over all sessions.
fn row<'a>(report: &'a Report, saver: &SaverRow) -> Option<&'a StrategyRow> {
    let same = |row: &&StrategyRow| {
        (&row.strategy, &row.window, &row.agent_model)
            == (&saver.strategy, &saver.window, &saver.agent_model)
    };
    let mut rows = report.rows.iter().filter(same);
    let first = rows.next()?;
    Some(rows.find(|row| row.dataset == "ALL").unwrap_or(first))
}

fn kept(row: &StrategyRow) -> Option<String> {
    let facts = row.number(catalogue::FACTS_NEEDED).filter(|facts| *facts > 0.0);
    if let (Some(kept), Some(facts)) = (row.number(catalogue::FACTS_KEPT), facts) {
        let facts = counted(facts as usize, "fact");
        return Some(format!("it keeps {} of {facts} needed later", number::percent(kept)));
    }
    let answers = row.number(catalogue::CONTINUITY)?;
    Some(format!("it keeps {} of the right answers", number::percent(answers)))
}
