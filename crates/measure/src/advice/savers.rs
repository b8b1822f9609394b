//! What token savers come to: what they say they save against what is billed, over the sessions
//! that the saver and `full` both finished.

use std::collections::BTreeMap;

use recap_billing::pricing::PriceList;
use recap_core::model::{
    Absent, Cell, CellRows, FULL, Manifest, RunResults, SaverRow, SaverSavings, SessionFacts,
    ToolCut,
};

use crate::figures::money::{Account, BillingModels};
use crate::figures::table::position_of;
use crate::statistics::quantiles;

/// The row of every token saver, in the order of their names, for each window and billing model.
pub fn savers(manifest: &Manifest, facts: &[SessionFacts], results: &RunResults) -> Vec<SaverRow> {
    let prices = PriceList::from(&manifest.prices);
    let mut rows: BTreeMap<(String, String, String), Sum> = BTreeMap::new();
    for session in results.iter() {
        let Some(at) = position_of(facts, session.dataset, session.id) else { continue };
        let cells = session.cells().iter().filter(|cell| cell.key.replicate == 0);
        for cell in cells.filter(|cell| manifest.savers.contains(&cell.key.strategy)) {
            let full = session.cells().iter().find(|other| {
                (other.key.strategy.as_str(), &other.key.window) == (FULL, &cell.key.window)
            });
            let full = full.and_then(Cell::rows);
            // A cell that failed has the billing models of `full`.
            let bills = cell.rows().or(full).map_or(&[][..], |rows| &rows.bills);
            for name in bills.iter().map(|bill| &bill.billed_as) {
                let key = (cell.key.strategy.clone(), cell.key.window.clone(), name.clone());
                let sum = rows.entry(key).or_insert_with(Sum::empty);
                match cell.rows().zip(full) {
                    Some((own, full)) => sum.add(own, full, &facts[at], name, &prices),
                    None => sum.row.failed += 1,
                }
            }
        }
    }
    let shown = BillingModels::of(manifest, results);
    let rows = rows.into_iter().map(|((strategy, window, billed), sum)| {
        let agent_model = shown.shown(crate::ALL, &billed).to_owned();
        SaverRow { strategy, window, agent_model, ..sum.whole() }
    });
    rows.collect()
}

/// The sessions of one row.
struct Sum {
    row: SaverRow,
    added_ms: Vec<f64>,
    tools: BTreeMap<String, ToolCut>,
}

impl Sum {
    fn empty() -> Self {
        let row = SaverRow {
            strategy: String::new(),
            window: String::new(),
            agent_model: String::new(),
            sessions: 0,
            failed: 0,
            requests: 0,
            claimed_tokens: None,
            claimed_usd: None,
            removed_tokens: 0,
            cache_breaks: 0,
            money: Ok(SaverSavings::default()),
            added_ms: None,
            tools: Vec::new(),
            recovery: None,
        };
        Sum { row, added_ms: Vec::new(), tools: BTreeMap::new() }
    }

    fn add(
        &mut self,
        own: &CellRows,
        full: &CellRows,
        facts: &SessionFacts,
        billed_as: &str,
        prices: &PriceList,
    ) {
        let row = &mut self.row;
        row.sessions += 1;
        row.requests += own.requests.len() as u64;
        for (own, full) in own.requests.iter().zip(full.requests.iter()) {
            row.removed_tokens += full.tokens_sent as i64 - own.tokens_sent as i64;
            row.cache_breaks += u64::from(own.cache_break && !full.cache_break);
        }
        if let Ok(sum) = &mut row.money {
            match money(own, full, facts, billed_as, prices) {
                Ok(money) => *sum += money,
                Err(why) => row.money = Err(why),
            }
        }
        let Some(saver) = own.saver.as_deref() else { return };
        if let Some(claimed) = saver.claimed_tokens {
            *row.claimed_tokens.get_or_insert_default() += claimed;
        }
        if let Some(claimed) = saver.claimed_usd {
            *row.claimed_usd.get_or_insert_default() += claimed;
        }
        if let Some(recovery) = saver.recovery {
            *row.recovery.get_or_insert_default() += recovery;
        }
        self.added_ms.extend(&saver.added_ms);
        for (tool, cut) in &saver.tools {
            *self.tools.entry(tool.clone()).or_default() += *cut;
        }
    }

    /// The row of all sessions, the tools that were cut most first.
    fn whole(self) -> SaverRow {
        let Sum { row, added_ms, tools } = self;
        let mut tools: Vec<(String, ToolCut)> = tools.into_iter().collect();
        let freed = |cut: &ToolCut| cut.tokens_before as i64 - cut.tokens_after as i64;
        tools.sort_by_key(|(_, cut)| std::cmp::Reverse(freed(cut)));
        SaverRow {
            money: if row.sessions == 0 { Err(Absent::CellsFailed) } else { row.money },
            added_ms: (!added_ms.is_empty()).then(|| quantiles(added_ms, [0.5, 0.95]).into()),
            tools,
            ..row
        }
    }
}

/// Both bills of one session.
fn money(
    rows: &CellRows,
    full: &CellRows,
    facts: &SessionFacts,
    billed_as: &str,
    prices: &PriceList,
) -> Result<SaverSavings, Absent> {
    let usd = |rows| Account::of(rows, facts, billed_as, prices)?.session();
    Ok(SaverSavings { full_usd: usd(full)?, usd: usd(rows)? })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testkit::{breaking, facts, full, manifest, rows_of};
    use recap_core::model::{CellOutcome, SaverFacts, SaverRecovery};

    /// What arrives behind the saver: 300 and 400 tokens, all written anew at the second request.
    fn saved(id: &str, facts: SaverFacts) -> Cell {
        let mut cell = breaking(id).build();
        rows_of(&mut cell).saver = Some(Arc::new(facts));
        cell
    }

    fn rows(cells: Vec<Cell>, ids: &[&str]) -> Vec<SaverRow> {
        let facts: Vec<_> = ids.iter().map(|id| facts(id).requests(&[300, 600]).build()).collect();
        let manifest = Manifest { savers: vec!["x".to_owned()], ..manifest(&["25%"]) };
        savers(&manifest, &facts, &RunResults::new(cells, []))
    }

    #[test]
    fn claims_and_bills_of_sessions_are_summed() {
        let cut = |cut, tokens_before, tokens_after| ToolCut {
            results: 2,
            cut,
            tokens_before,
            tokens_after,
        };
        // The tool of which most was freed comes first, though the other is larger.
        let tools = [("Bash".to_owned(), cut(0, 600, 590)), ("Read".to_owned(), cut(1, 500, 300))];
        let saver = SaverFacts {
            claimed_tokens: Some(900),
            claimed_usd: Some(0.5),
            added_ms: vec![10.0, 30.0],
            tools: tools.into(),
            recovery: Some(SaverRecovery { tried: 2, found: 1, tokens: 40 }),
            ..SaverFacts::default()
        };
        let cells = ["a", "b"].map(|id| [full(id).build(), saved(id, saver.clone())]);
        let rows = rows(cells.concat(), &["a", "b"]);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.sessions, row.failed, row.requests), (2, 0, 4));
        assert_eq!((row.removed_tokens, row.cache_breaks), (400, 2));
        assert_eq!((row.claimed_tokens, row.claimed_usd), (Some(1_800), Some(1.0)));
        assert_eq!(row.added_ms, Some((20.0, 30.0)));
        let read = ToolCut { results: 4, cut: 2, tokens_before: 1_000, tokens_after: 600 };
        assert_eq!(row.tools[0], ("Read".to_owned(), read));
        assert_eq!(row.recovery, Some(SaverRecovery { tried: 4, found: 2, tokens: 80 }));
        let money = row.money.as_ref().unwrap();
        // In thousandths of a dollar, twice: 3.52 less 3.9.
        let saved = money.saved_usd();
        assert!((saved + 2.0 * 0.000_38).abs() < 1e-12, "{saved}");
    }

    #[test]
    fn failed_session_is_counted_and_left_out() {
        let mut broken = saved("b", SaverFacts::default());
        broken.outcome = CellOutcome::Failed { error: "it hangs".to_owned() };
        let cells = vec![
            full("a").build(),
            saved("a", SaverFacts::default()),
            full("b").build(),
            broken.clone(),
        ];
        let [row] = &rows(cells, &["a", "b"])[..] else { panic!("one row") };
        assert_eq!((row.sessions, row.failed, row.requests), (1, 1, 2));
        assert_eq!((row.claimed_tokens, row.added_ms, row.recovery), (None, None, None));
        let [row] = &rows(vec![full("b").build(), broken], &["b"])[..] else { panic!("one row") };
        assert_eq!(row.money, Err(Absent::CellsFailed));
    }
}
