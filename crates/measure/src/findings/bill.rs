//! Findings on bills and times: their assumptions and unknowns.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Evidence, owned, place};
use crate::rows::Entry;
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Absent, Bill, BillErrors, Limit, OtherBill, Problem, RECORDED, RowKind, SessionFacts, Value,
    catalogue,
};

/// Smallest share of a bill at which the place of the first breakpoint is
/// reported.
const BREAKPOINT_MATTERS: f64 = 0.05;
/// Largest number of such bills that are named.
const NAMED: usize = 3;

/// The assumptions of every bill.
pub(super) fn what_bills_assume(run: &Evidence<'_>) -> Option<Limit> {
    let prices = &run.manifest.prices;
    (!run.bill_models.is_empty()).then(|| Limit::BillsAssume {
        prices: prices.name.clone(),
        date: prices.date.clone(),
        hash: prices.hash.clone(),
    })
}

/// Summaries of the recorded agent whose calls are not on record: the bill of
/// the strategy that repeats them has an estimate of their cost.
pub(super) fn unbilled_summaries(run: &Evidence<'_>) -> Option<Problem> {
    let (mut unknown, mut of) = (0, 0);
    for facts in run.facts {
        let Some(session) = run.results.get(&facts.dataset, &facts.session) else { continue };
        let made = facts.receipt.iter().flat_map(|receipt| &receipt.compactions);
        let on_record: BTreeSet<u32> =
            made.filter(|made| made.call.is_some()).map(|made| made.after).collect();
        let cells = session.cells().iter().filter(|cell| cell.key.strategy == RECORDED);
        let rows = cells.filter_map(|cell| cell.rows()).flat_map(|rows| &rows.compactions);
        for row in rows.filter(|row| row.messages_folded > 0) {
            of += 1;
            unknown += usize::from(!on_record.contains(&row.messages_seen));
        }
    }
    (unknown > 0).then_some(Problem::UnbilledSummaries { unknown, of })
}

/// Bills that depend on where the agent sets its first cache breakpoint, which
/// recordings do not show.
pub(super) fn first_breakpoint(run: &Evidence<'_>) -> Option<Problem> {
    let other = |entry: &Entry| {
        let own = entry.row.number(catalogue::COST_USD)?;
        let other = entry.row.number(catalogue::COST_HEAD_BREAKPOINT_USD)?;
        let change = (other / own - 1.0).abs();
        let (row, billed_as) = (place(entry), run.billing_model(&entry.row));
        (change >= BREAKPOINT_MATTERS).then_some((change, OtherBill { row, billed_as, own, other }))
    };
    let strategies = run.billed.iter().filter(|e| e.row.row_kind != RowKind::Control);
    let mut apart: Vec<(f64, OtherBill)> = strategies.filter_map(|e| other(e)).collect();
    apart.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = apart.len().saturating_sub(NAMED);
    let rows: Vec<OtherBill> = apart.into_iter().take(NAMED).map(|(_, bill)| bill).collect();
    let least = BREAKPOINT_MATTERS;
    (!rows.is_empty()).then_some(Problem::BreakpointUnknown { rows, more, least })
}

/// Models without a price, whose part of the bill is unknown.
pub fn unpriced(run: &Evidence<'_>) -> Option<Problem> {
    let list = PriceList::from(&run.manifest.prices);
    let models = run.bill_models.iter().filter(|model| list.find(model).is_err());
    let models: Vec<String> = models.cloned().collect();
    let leads = |bill: &Arc<Bill>| models.contains(&bill.model);
    let led = run.results.iter().filter(|session| {
        let rows = session.cells().iter().filter_map(|cell| cell.rows());
        rows.flat_map(|rows| &rows.bills).any(leads)
    });
    let (sessions, of) = (led.count(), run.results.iter().count());
    (!models.is_empty()).then_some(Problem::Unpriced { models, sessions, of })
}

/// Rows whose bill lacks the storage of explicit caches.
pub(super) fn storage_unpriced(run: &Evidence<'_>) -> Option<Problem> {
    let (mut rows, mut models) = (Vec::new(), BTreeSet::new());
    for entry in &run.billed {
        let cost = entry.row.values.get(catalogue::COST_USD.id);
        if let Some(Value::Absent(Absent::Storage(model))) = cost {
            rows.push(place(entry));
            models.insert(model.clone());
        }
    }
    rows.dedup();
    let models: Vec<String> = models.into_iter().collect();
    (!rows.is_empty()).then_some(Problem::StorageUnpriced { rows, models })
}

/// Sessions that name no model, and what they are billed as.
pub(super) fn default_model(run: &Evidence<'_>) -> Option<Problem> {
    let mut sessions = 0;
    let mut billed_as: BTreeSet<String> = BTreeSet::new();
    for facts in run.facts.iter().filter(|facts| facts.model.is_none()) {
        let Some(session) = run.results.get(&facts.dataset, &facts.session) else { continue };
        let rows = session.cells().iter().filter_map(|cell| cell.rows());
        let bills = rows.flat_map(|rows| &rows.bills).filter(|bill| bill.billed_as == RECORDED);
        let models: BTreeSet<&str> = bills.map(|bill| bill.model.as_str()).collect();
        sessions += usize::from(!models.is_empty());
        billed_as.extend(owned(models));
    }
    (sessions > 0).then(|| Problem::DefaultModel {
        sessions,
        of: run.facts.len(),
        billed_as: billed_as.into_iter().collect(),
    })
}

/// Sessions without recorded times.
pub(super) fn modelled_clock(run: &Evidence<'_>) -> Option<Limit> {
    let sessions = run.facts.iter().filter(|facts| facts.clock_modelled).count();
    let profile = &run.manifest.profile;
    (sessions > 0 && !run.bill_models.is_empty()).then_some(Limit::ModelledClock {
        sessions,
        of: run.facts.len(),
        user_ms: profile.user_ms,
        tool_ms: profile.tool_ms,
    })
}

/// Waits that are modelled and not measured.
pub(super) fn modelled_waits(run: &Evidence<'_>) -> Option<Limit> {
    let modelled = |entry: &&Entry| {
        let source = entry.row.values.get(catalogue::LATENCY_SOURCE.id);
        matches!(source, Some(Value::Text(word)) if word == "modelled" || word == "mixed")
    };
    let profile = &run.manifest.profile;
    run.rows.iter().any(modelled).then_some(Limit::ModelledWaits {
        first_token_ms: profile.first_token_ms,
        prefill_per_s: profile.prefill_per_s,
        decode_per_s: profile.decode_per_s,
    })
}

/// Sessions whose simulated bill differs much from the recorded one.
pub(super) fn simulation_off(run: &Evidence<'_>) -> Option<Problem> {
    let errors = |facts: &SessionFacts| Some(facts.validation.as_ref()?.errors());
    let checked: Vec<(&SessionFacts, BillErrors)> =
        run.facts.iter().filter_map(|facts| Some((facts, errors(facts)?))).collect();
    let off = checked.iter().filter(|(_, errors)| errors.are_far_off());
    let (n, worst) = (off.clone().count(), off.max_by(|a, b| a.1.size().total_cmp(&b.1.size())));
    let (facts, errors) = worst?;
    Some(Problem::BillOff {
        off: n,
        checked: checked.len(),
        worst: facts.session.clone(),
        errors: *errors,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of_rows};
    use crate::testkit::{cell, entry_at, facts, run};
    use recap_core::model::{
        Absent, Buckets, Cell, CompactionFacts, Finding, LatencySource, Primary, RECORDED,
        ReceiptFacts, RecordedCall, SessionFacts, Usage, Validation, Value,
    };

    fn billed(id: &str, billing_model: &str, model: &str) -> Cell {
        cell(id, "x").sent(&[100]).bill(billing_model, model, &[(100, 0, 0)]).build()
    }

    fn named(id: &str, model: Option<&str>) -> SessionFacts {
        facts(id).requests(&[100]).with(|f| f.model = model.map(str::to_owned)).build()
    }

    fn found(facts: SessionFacts, cell: Cell) -> Vec<Finding> {
        run(vec![facts], vec![cell]).findings
    }

    #[test]
    fn bills_assume() {
        let session = || named("s", None);
        let idle = || cell("s", "x").sent(&[100]);
        let clock = || SessionFacts { clock_modelled: true, ..session() };
        let waits = |source| idle().compaction(9, 1).called(5.0, source).build();
        check(
            "bills_assume",
            [
                ("a bill", found(session(), billed("s", RECORDED, "dear"))),
                ("no bill", found(session(), idle().build())),
                ("modelled times, a bill", found(clock(), billed("s", RECORDED, "dear"))),
                ("modelled times, no bill", found(clock(), idle().build())),
                ("modelled waits", found(session(), waits(LatencySource::Modelled))),
                ("measured waits", found(session(), waits(LatencySource::Live))),
            ],
        );
    }

    #[test]
    fn default_model() {
        let found = |billing_model| {
            let sessions = vec![named("s", Some("local")), named("t", None), named("u", None)];
            let cells = ["s", "t", "u"].map(|id| billed(id, billing_model, "dear"));
            run(sessions, cells.to_vec()).findings
        };
        check(
            "default_model",
            [("two of three name none", found(RECORDED)), ("the user named one", found("dear"))],
        );
    }

    #[test]
    fn unpriced() {
        let known = || named("t", Some("dear"));
        let both = || vec![billed("s", "local", "local"), billed("t", "local", "dear")];
        let mut lacks = entry_at(("25%", 9.0), "explicit", Some(1), &[]);
        let storage = Value::Absent(Absent::Storage("gemini".to_owned()));
        lacks.row.values.insert("cost_usd".to_owned(), storage);
        check(
            "unpriced",
            [
                ("the only model", found(named("s", None), billed("s", "local", "local"))),
                ("of one of two sessions", run(vec![named("s", None), known()], both()).findings),
                ("every model has a price", found(known(), billed("t", RECORDED, "dear"))),
                ("storage without a price", of_rows(Primary::FactsKept, &[lacks])),
            ],
        );
    }

    /// A session whose compaction after so many messages has its call on record.
    fn on_record(after: u32) -> SessionFacts {
        let usage = Usage { input: 9, ..Usage::default() };
        let call = Some(RecordedCall { model: None, usage, latency_ms: None });
        let compactions = vec![CompactionFacts { after, call, ..CompactionFacts::default() }];
        let receipt = Some(ReceiptFacts { compactions, ..ReceiptFacts::default() });
        SessionFacts { receipt, ..named("s", None) }
    }

    #[test]
    fn unbilled_summaries() {
        let of = |strategy: &str| {
            let first = cell("s", strategy).sent(&[100]).compaction(9, 1);
            let first = first.with_compaction(|row| row.messages_seen = 77).compaction(9, 1);
            // What replaces no message is no summary.
            let edit = first.compaction(9, 1).with_compaction(|row| row.messages_folded = 0);
            edit.build()
        };
        check(
            "unbilled_summaries",
            [
                ("no call on record", found(named("s", None), of("recorded"))),
                ("one call on record", found(on_record(77), of("recorded"))),
                ("of another strategy", found(named("s", None), of("x"))),
            ],
        );
    }

    #[test]
    fn bill_off() {
        let simulated = |id: &str, read, usd| {
            let buckets = |read| Buckets { read, ..Buckets::default() };
            let validation = Validation {
                model: "dear".into(),
                requests: 1,
                recorded: buckets(1_000),
                simulated: buckets(read),
                recorded_usd: Some(1.0),
                simulated_usd: Some(usd),
                cold_starts: 0,
                expired: 0,
                renewed: 0,
            };
            facts(id).requests(&[100]).with(|f| f.validation = Some(validation)).build()
        };
        let found = |sessions: Vec<SessionFacts>| run(sessions, Vec::new()).findings;
        let [ten, four, six] =
            [simulated("s", 1_040, 0.9), simulated("t", 1_000, 1.04), simulated("u", 940, 1.0)];
        check(
            "bill_off",
            [
                ("by 10, 4 and 6 %", found(vec![ten, four.clone(), six])),
                ("by 4 %", found(vec![four])),
            ],
        );
    }

    #[test]
    fn breakpoint_unknown() {
        let row = |strategy: &str, rank, other| {
            let values = [("cost_usd", 2.0), ("cost_head_breakpoint_usd", other)];
            entry_at(("25%", 9.0), strategy, rank, &values)
        };
        // By 350, 5, 50, 4, 75, 20 and 30 %, the first one a control.
        let table = [
            row("full", None, 9.0),
            row("a", Some(1), 2.1),
            row("b", Some(2), 1.0),
            row("c", Some(3), 2.08),
            row("d", Some(4), 3.5),
            row("e", Some(5), 1.6),
            row("f", Some(6), 2.6),
        ];
        check(
            "breakpoint_unknown",
            [
                ("five of six", of_rows(Primary::FactsKept, &table)),
                ("by 4 %", of_rows(Primary::FactsKept, &table[3..4])),
            ],
        );
    }
}
