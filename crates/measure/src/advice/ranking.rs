//! The printing order of rows, and their ranks (how-it-works §40).

use std::cmp::Ordering;

use recap_core::model::{Manifest, Primary, RowKind, StrategyRow, UNRANKED, Value, catalogue};

use crate::ALL;
use crate::figures::rows::Entry;
use recap_core::model::FULL;
use recap_core::text::counted;

/// Order of the controls below the ranked rows; other controls follow by name.
const SCALE: &[&str] = &["evidence", "empty", "id-list", "recorded"];

/// Smallest number of questions or facts for a rank: the same as for a session
/// to be a separate cluster at cuts (how-it-works §46).
const FEWEST_ASKED: usize = 5;

/// Sorts rows for printing and ranks them: data sets by name and `ALL` last,
/// windows and agent models as typed, then `full`, the ranked rows, the
/// offline summaries, other controls.
///
/// The primary measure ranks. Rows with equal figures share a rank, and the next
/// rank counts all of them (1, 2, 2, 4); among them the smaller bill comes first,
/// then fewer tokens sent. A row without a score, or
/// with failed cells, has no rank, because its exam is another one. A row also
/// has no rank if no fact was needed (how-it-works §46), if it has too few questions,
/// or if too many replies of its compactor are unusable, because they lead to its
/// fallback.
pub fn arrange(table: &mut [Entry], manifest: &Manifest, primary: Primary) {
    for entry in table.iter_mut().filter(|entry| entry.row.row_kind == RowKind::Ranked) {
        if let Some(why) = unranked(entry, primary) {
            entry.row.verdict = None;
            entry.row.values.insert(UNRANKED.to_owned(), Value::Text(why));
        }
    }
    table.sort_by(|a, b| {
        place(&a.row, manifest)
            .cmp(&place(&b.row, manifest))
            .then_with(|| by_merit(&a.row, &b.row, primary))
    });
    let key =
        |row: &StrategyRow| (row.dataset.clone(), row.window.clone(), row.agent_model.clone());
    for group in table.chunk_by_mut(|a, b| key(&a.row) == key(&b.row)) {
        rank(group, primary);
    }
}

/// Why a row with a score has no rank.
pub(crate) fn unranked(entry: &Entry, primary: Primary) -> Option<String> {
    if entry.row.risked_nothing(primary) {
        return Some("no fact was needed".to_owned());
    }
    let what = match primary {
        Primary::Continuity => "question",
        Primary::FactsKept => "fact",
        // Reference recall is absent if there are too few references.
        Primary::ReferenceRecall => return None,
    };
    let few = entry.row.number(primary.measure()).is_some() && entry.asked < FEWEST_ASKED;
    few.then(|| format!("rests on {}", counted(entry.asked, what)))
}

/// Ranks the rows of one table.
fn rank(group: &mut [Entry], primary: Primary) {
    let (mut rank, mut before) = (0, None);
    let is_ranked = |row: &&mut StrategyRow| {
        row.row_kind == RowKind::Ranked
            && row.failed.is_empty()
            && !row.values.contains_key(UNRANKED)
            && row.number(primary.measure()).is_some()
    };
    let rows = group.iter_mut().map(|entry| &mut entry.row).filter(is_ranked);
    for (place, row) in (1..).zip(rows) {
        let figure = row.number(primary.measure());
        if figure != before {
            (rank, before) = (place, figure);
        }
        row.rank = Some(rank);
    }
}

/// The parts of the order that come before the rank.
type SortKey<'a> = (bool, &'a str, (usize, &'a str), (usize, &'a str), u8, usize);

fn place<'a>(row: &'a StrategyRow, manifest: &Manifest) -> SortKey<'a> {
    let typed =
        |names: &[String], name: &str| names.iter().position(|n| n == name).unwrap_or(names.len());
    let window = (typed(&manifest.windows, &row.window), row.window.as_str());
    let billing_model = (typed(&manifest.agent_models, &row.agent_model), row.agent_model.as_str());
    let block = match row.row_kind {
        RowKind::Control if row.strategy == FULL => 0,
        RowKind::Ranked if row.failed.is_empty() => 1,
        RowKind::Ranked | RowKind::Unusable => 2,
        RowKind::OfflineSummary => 3,
        RowKind::Control => 4,
    };
    let control = match row.row_kind {
        RowKind::Control => {
            SCALE.iter().position(|name| *name == row.strategy).unwrap_or(SCALE.len())
        }
        RowKind::Ranked | RowKind::OfflineSummary | RowKind::Unusable => 0,
    };
    (row.dataset == ALL, &row.dataset, window, billing_model, block, control)
}

fn by_merit(a: &StrategyRow, b: &StrategyRow, primary: Primary) -> Ordering {
    let recall = |row: &StrategyRow| row.number(primary.measure()).unwrap_or(f64::NEG_INFINITY);
    let least = |row: &StrategyRow, id| row.number_of(id).unwrap_or(f64::INFINITY);
    let by = |id| least(a, id).total_cmp(&least(b, id));
    recall(b)
        .total_cmp(&recall(a))
        .then_with(|| by(catalogue::COST_USD.id))
        .then_with(|| by(catalogue::TOKENS_SENT.id))
        .then_with(|| a.strategy.cmp(&b.strategy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, close, entry_at, keeps, reply, run, twenty_references, unusable};
    use recap_core::model::Unusable;

    #[test]
    fn rows_of_equal_figures_share_rank() {
        let kept = |id: &str, name: &str, kept: usize, tokens: u64| {
            let states = "k".repeat(kept) + &"l".repeat(20 - kept);
            cell(id, name).sent(&[tokens; 10]).states(&states).build()
        };
        // `other` has the same mean of other scores.
        let strategies = [
            ("best", [20, 20], 100),
            ("dear", [10, 14], 90),
            ("frugal", [10, 14], 50),
            ("other", [14, 10], 70),
            ("worst", [1, 1], 10),
        ];
        let cells = strategies.iter().flat_map(|(name, [first, second], tokens)| {
            [kept("s", name, *first, *tokens), kept("t", name, *second, *tokens)]
        });
        let report = run(vec![twenty_references("s"), twenty_references("t")], cells.collect());
        let all = report.rows.iter().filter(|row| row.dataset == "ALL");
        let ranks: Vec<(&str, Option<u32>)> =
            all.map(|row| (row.strategy.as_str(), row.rank)).collect();
        let expected = [("best", 1), ("frugal", 2), ("other", 2), ("dear", 2), ("worst", 5)];
        assert_eq!(ranks, expected.map(|(name, rank)| (name, Some(rank))));
    }

    #[test]
    fn fewer_than_five_questions_or_facts_prevent_rank() {
        let why = |primary: Primary, asked, values: &[(&str, f64)]| {
            let mut entry = entry_at(("25%", 9.0), "x", Some(1), values);
            entry.asked = asked;
            unranked(&entry, primary)
        };
        let of = |primary: Primary, asked| why(primary, asked, &[(primary.id(), 0.9)]);
        assert_eq!(of(Primary::Continuity, 4).unwrap(), "rests on 4 questions");
        assert_eq!(of(Primary::FactsKept, 1).unwrap(), "rests on 1 fact");
        assert_eq!(of(Primary::FactsKept, 5), None);
        assert_eq!(of(Primary::ReferenceRecall, 1), None, "it has a rule of its own");
        assert_eq!(why(Primary::Continuity, 4, &[]), None, "without a figure");
        let safe = [("facts_kept", 1.0), ("exposed_share", 0.0)];
        assert_eq!(why(Primary::FactsKept, 9, &safe).unwrap(), "no fact was needed");
    }

    /// Rows over all data sets of strategies that keep everything, with these
    /// numbers of compactor replies and of empty ones.
    fn replied(strategies: &[(&str, u64, u64)]) -> Vec<StrategyRow> {
        let cells = strategies.iter().map(|&(name, all, empty)| {
            let replies = (0..all)
                .map(|at| if at < empty { unusable(at, Unusable::Empty) } else { reply(at, at) });
            let replies: Vec<_> = replies.collect();
            keeps("s", name, 20).compaction(1_000, 100).replies(&replies).build()
        });
        let rows = run(vec![twenty_references("s")], cells.collect()).rows;
        rows.into_iter().filter(|row| row.dataset == "ALL").collect()
    }

    #[test]
    fn more_than_5_percent_unusable_replies_prevents_rank() {
        let rows = replied(&[("bad", 40, 3), ("good", 40, 2), ("silent", 0, 0)]);
        let actual: Vec<(&str, Option<u32>, RowKind)> =
            rows.iter().map(|row| (row.strategy.as_str(), row.rank, row.row_kind)).collect();
        let (ranked, unusable) = (RowKind::Ranked, RowKind::Unusable);
        assert_eq!(
            actual,
            [("good", Some(1), ranked), ("silent", Some(1), ranked), ("bad", None, unusable)]
        );
        close(&rows[0], "unusable_replies", 2.0);
        close(&rows[1], "unusable_replies", 0.0);
        assert_eq!(rows[2].verdict, None);
    }

    #[test]
    fn more_than_5_percent_of_compactions_that_fell_back_prevent_rank() {
        // Ten calls each; at the first the first two get no reply. Of all replies that is 1 %.
        let fell_back = |name: &str, compactions: u64| {
            let cell = keeps("s", name, 20);
            let each = |cell: crate::testkit::CellBuilder, at: u64| {
                let replies = (10 * at..10 * at + 10).map(|input| match input {
                    0 | 1 => unusable(input, Unusable::NoReply),
                    _ => reply(input, input),
                });
                let cell = cell.compaction(1_000, 100).replies(&replies.collect::<Vec<_>>());
                let to = (at == 0).then(|| "tier 3: no reply".to_owned());
                cell.with_compaction(|row| row.fallback = to)
            };
            (0..compactions).fold(cell, each).build()
        };
        let cells = vec![fell_back("often", 19), fell_back("seldom", 20)];
        let rows = run(vec![twenty_references("s")], cells).rows;
        let rows: Vec<_> = rows.into_iter().filter(|row| row.dataset == "ALL").collect();
        let [seldom, often] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((seldom.rank, seldom.row_kind), (Some(1), RowKind::Ranked));
        assert_eq!((often.rank, often.row_kind), (None, RowKind::Unusable));
    }

    #[test]
    fn text_repetition_is_counted_across_sessions_per_row() {
        let cell = |id: &str, input| {
            keeps(id, "x", 20).compaction(1_000, 100).replies(&[reply(input, 9)]).build()
        };
        let report = |ids: &[&str]| {
            let cells = ids.iter().zip(1..).map(|(id, input)| cell(id, input)).collect();
            run(ids.iter().map(|id| twenty_references(id)).collect(), cells)
        };
        let three = report(&["s", "t", "u"]);
        assert!(three.rows.iter().all(|row| row.row_kind == RowKind::Unusable));
        close(&three.rows[0], "unusable_replies", 3.0);
        let two = report(&["s", "t"]);
        assert!(two.rows.iter().all(|row| row.row_kind == RowKind::Ranked));
        close(&two.rows[0], "unusable_replies", 0.0);
    }
}
