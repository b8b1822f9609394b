//! What a token saver comes to, in a sentence.

use super::number;
use crate::model::{FULL, SaverRow, SaverSavings, StrategyRow, catalogue};
use crate::text::counted;

/// A sentence for each token saver at the first window, as the first billing model is billed.
/// `rows` is the table of the run.
pub fn savers(savers: &[SaverRow], rows: &[&StrategyRow]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for saver in savers {
        if !names.contains(&saver.strategy.as_str()) {
            names.push(&saver.strategy);
            let row = beside(rows, saver, &saver.strategy);
            let failure = row.and_then(|row| row.failed.first()).map(String::as_str);
            let full = beside(rows, saver, FULL);
            let over = full.and_then(StrategyRow::refused_often).unwrap_or(0.0);
            sentences.push(told(saver, row.and_then(kept), failure, over));
        }
    }
    sentences
}

/// Characters of the reason why it fails.
const LONGEST: usize = 300;

/// The sentence, with what it keeps in words, why it failed first, and how many requests of the
/// whole conversation a provider would have refused.
fn told(saver: &SaverRow, kept: Option<String>, failure: Option<&str>, over: f64) -> String {
    let name = &saver.strategy;
    if saver.sessions == 0 {
        let why = failure.map(|why| format!(": {}", why.chars().take(LONGEST).collect::<String>()));
        return format!("{name} fails in every session{}.", why.unwrap_or_default());
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
        Ok(money) => billed(money, over),
        Err(why) => format!("what it saves is not known ({why})"),
    };
    let claim =
        claim.map_or_else(|| format!("{name}: "), |claim| format!("{name}{claim}; billed, "));
    let keeps = kept.map(|kept| format!("; {kept}"));
    let waits = saver
        .added_ms
        .map(|(median, _)| format!("; it adds {} to a request", number::time(median)));
    let failed = (saver.failed > 0)
        .then(|| format!("; it fails in {}", counted(saver.failed as usize, "other session")));
    let parts = [keeps, waits, failed].into_iter().flatten().collect::<String>();
    format!("{claim}{billed}{parts}.")
}

/// The bill of the sessions against that of the whole conversation.
fn billed(money: &SaverSavings, over: f64) -> String {
    let SaverSavings { usd, full_usd } = *money;
    let share = if full_usd > 0.0 { usd / full_usd - 1.0 } else { 0.0 };
    let percent = number::percent(share.abs());
    let over = (over > 0.0).then(|| format!(", {over:.0} requests over the limit"));
    let full = number::dollars(full_usd) + &over.unwrap_or_default();
    let usd = number::dollars(usd);
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

/// The row of a strategy beside that of a saver, in the table over all sessions.
fn beside<'a>(
    rows: &[&'a StrategyRow],
    saver: &SaverRow,
    strategy: &str,
) -> Option<&'a StrategyRow> {
    let same = |row: &&StrategyRow| {
        row.strategy == strategy
            && (&row.window, &row.agent_model) == (&saver.window, &saver.agent_model)
    };
    let mut rows = rows.iter().copied().filter(same);
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
    Some(format!("it keeps {} of the answers", number::percent(answers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Absent;

    fn saver() -> SaverRow {
        SaverRow {
            strategy: "x".to_owned(),
            window: "native".to_owned(),
            agent_model: "m".to_owned(),
            sessions: 2,
            failed: 0,
            requests: 9,
            claimed_tokens: Some(12_000),
            claimed_usd: None,
            removed_tokens: 9_000,
            cache_breaks: 0,
            money: Ok(SaverSavings { full_usd: 2.0, usd: 2.5 }),
            added_ms: Some((40.0, 90.0)),
            tools: Vec::new(),
            recovery: None,
        }
    }

    #[test]
    fn bill_is_set_against_the_claim() {
        let money = |usd| Ok(SaverSavings { full_usd: 2.0, usd });
        for (row, expected) in [
            (
                saver(),
                "x says it saves 12k tokens; billed, the sessions cost $2.50, 25 % more than without \
                 it ($2.00); it adds 40 ms to a request.",
            ),
            (
                SaverRow { claimed_usd: Some(5.0), money: money(1.0), added_ms: None, ..saver() },
                "x says it saves 12k tokens ($5.00); billed, the sessions cost $1.00, 50 % less than \
                 without it ($2.00).",
            ),
            (
                SaverRow { claimed_tokens: Some(0), money: money(2.0), failed: 1, ..saver() },
                "x says it saves nothing; billed, the sessions cost $2.00, as much as without it; it \
                 adds 40 ms to a request; it fails in 1 other session.",
            ),
            (
                SaverRow { claimed_tokens: None, money: Err(Absent::SomePrice), ..saver() },
                "x: what it saves is not known (a price is unknown); it adds 40 ms to a request.",
            ),
            (SaverRow { sessions: 0, ..saver() }, "x fails in every session."),
        ] {
            assert_eq!(told(&row, None, None, 0.0), expected);
        }
        let failed = SaverRow { sessions: 0, ..saver() };
        assert_eq!(
            told(&failed, None, Some("it hangs"), 0.0),
            "x fails in every session: it hangs."
        );
        let kept = told(&saver(), Some("it keeps all".to_owned()), None, 3.0);
        assert!(
            kept.contains("($2.00, 3 requests over the limit); it keeps all; it adds"),
            "{kept}"
        );
    }
}
