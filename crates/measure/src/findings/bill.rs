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
    use crate::testkit::{cell, facts, run, warnings};
    use recap_core::model::{
        Buckets, Cell, CellOutcome, CompactionFacts, LatencySource, RECORDED, ReceiptFacts,
        RecordedCall, SessionFacts, Usage, Validation,
    };

    fn billed(id: &str, billing_model: &str, model: &str) -> Cell {
        cell(id, "x").sent(&[100]).bill(billing_model, model, &[(100, 0, 0)]).build()
    }

    fn named(id: &str, model: Option<&str>) -> SessionFacts {
        facts(id).requests(&[100]).with(|f| f.model = model.map(str::to_owned)).build()
    }

    #[track_caller]
    fn said(facts: Vec<SessionFacts>, cells: Vec<Cell>, start: &str) -> Option<String> {
        let mut found = warnings(&run(facts, cells)).into_iter().filter(|w| w.contains(start));
        let first = found.next();
        assert_eq!(found.next(), None, "said once");
        first
    }

    #[test]
    fn price_list_and_recorded_outputs_are_named() {
        let said = |cells| said(vec![named("s", Some("dear"))], cells, "bills take every output");
        assert_eq!(
            said(vec![billed("s", RECORDED, "dear")]).unwrap(),
            "bills take every output as recorded, whatever was forgotten before it; prices are \
             those of a list (2026-11-21, BLAKE3 0123456789ab…), at the standard service class"
        );
        assert_eq!(said(vec![cell("s", "x").sent(&[100]).build()]), None);
    }

    #[test]
    fn sessions_that_name_no_model_are_counted() {
        let sessions =
            || vec![named("s", Some("local")), named("t", None), named("u", Some("cheap"))];
        let cells =
            |billing_model| ["s", "t", "u"].map(|id| billed(id, billing_model, "dear")).to_vec();
        assert_eq!(
            said(sessions(), cells(RECORDED), "no model").unwrap(),
            "1 of 3 sessions names no model: it is billed as dear; --agent-model takes another"
        );
        // If the user named the model, the billed model is known.
        assert_eq!(said(sessions(), cells("dear"), "no model"), None);
    }

    #[test]
    fn vendor_summaries_without_recorded_calls_are_counted() {
        let of =
            |strategy| cell("s", strategy).sent(&[100]).compaction(9, 1).compaction(9, 1).build();
        let said = |cell| said(vec![named("s", None)], vec![cell], "not on record");
        assert_eq!(
            said(of("recorded")).unwrap(),
            "the calls for 2 of 2 summaries of the recorded agent are not on record: today's bill \
             has an estimate of them, as of those of every other row"
        );
        assert_eq!(said(of("x")), None);
    }

    /// The facts of a session of whose compaction behind so many messages the call is on record.
    fn on_record(after: u32) -> SessionFacts {
        let usage = Usage { input: 9, ..Usage::default() };
        let call = Some(RecordedCall { model: None, usage, latency_ms: None });
        let compactions = vec![CompactionFacts { after, call, ..CompactionFacts::default() }];
        let receipt = Some(ReceiptFacts { compactions, ..ReceiptFacts::default() });
        SessionFacts { receipt, ..named("s", None) }
    }

    #[test]
    fn a_model_without_a_price_is_named() {
        let cells = vec![billed("s", "local", "local")];
        let warning = said(vec![named("s", None)], cells, "no price is known").unwrap();
        assert!(warning.starts_with("no price is known for local,"), "{warning}");
    }

    #[test]
    fn modelled_times_are_reported_if_they_matter() {
        let modelled =
            || vec![facts("s").requests(&[100]).with(|f| f.clock_modelled = true).build()];
        let cells = vec![billed("s", RECORDED, "dear")];
        let warning = said(modelled(), cells, "are modelled").unwrap();
        assert!(warning.contains("1 of 1 session are modelled (60 s before"), "{warning}");
        let timed = |source| {
            let cell = cell("s", "x").sent(&[100]).compaction(9, 1).called(5.0, source);
            said(vec![named("s", None)], vec![cell.build()], "modelled, not measured")
        };
        assert!(timed(LatencySource::Modelled).is_some());
        assert_eq!(timed(LatencySource::Live), None);
    }

    #[test]
    fn simulated_bill_far_from_recorded_names_worst_session() {
        let off = |id: &str, read, usd| {
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
        let sessions = vec![off("s", 1_040, 0.9), off("t", 1_000, 1.04), off("u", 940, 1.0)];
        assert_eq!(
            said(sessions, Vec::new(), "the simulated bill").unwrap(),
            "the simulated bill is more than 5 % off the recorded one in 2 of 3 sessions with \
             reported usage (worst s: reads +4.0 %, dollars −10.0 %)"
        );
        assert_eq!(said(vec![off("s", 1_010, 1.04)], Vec::new(), "the simulated bill"), None);
    }

    #[test]
    fn only_replacing_summaries_and_recorded_calls_count() {
        let mut cell =
            (0..4).fold(cell("s", "recorded").sent(&[100]), |cell, _| cell.compaction(9, 1));
        cell = cell.with_compaction(|row| row.messages_folded = 0);
        let mut cell = cell.build();
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            rows.compactions[0].messages_seen = 77;
        }
        let actual = said(vec![on_record(77)], vec![cell], "not on record").unwrap();
        assert!(actual.contains("for 2 of 3 summaries"), "{actual}");
    }

    #[test]
    fn first_breakpoint_changes_of_five_percent_are_named() {
        use super::*;
        use crate::testkit::{entry_at, manifest};
        use recap_core::model::{Primary, RunResults};
        let row = |strategy: &str, rank, other| {
            let values = [("cost_usd", 2.0), ("cost_head_breakpoint_usd", other)];
            entry_at(("25%", 9.0), strategy, rank, &values)
        };
        let table = [
            row("full", None, 9.0),
            row("a", Some(1), 2.1),
            row("b", Some(2), 1.0),
            row("c", Some(3), 2.08),
            row("d", Some(4), 3.5),
            row("e", Some(5), 1.6),
            row("f", Some(6), 2.6),
        ];
        let actual = |table: &[Entry]| {
            let (manifest, none) = (manifest(&["25%"]), RunResults::default());
            let primary = Primary::ReferenceRecall;
            first_breakpoint(&Evidence::of(&manifest, primary, table, &[], &none, None, None))
        };
        let Some(Problem::BreakpointUnknown { rows, more, least }) = actual(&table) else {
            panic!("some bills change")
        };
        let names: Vec<&str> = rows.iter().map(|bill| bill.row.strategy.as_str()).collect();
        assert_eq!(names, ["d", "b", "f"], "by 75 %, 50 % and 30 %");
        assert_eq!((more, least, rows[0].own, rows[0].other), (2, 0.05, 2.0, 3.5));
        assert_eq!(rows[0].billed_as, None);
        assert_eq!(actual(&table[3..4]), None, "4 % do not matter");
    }

    #[test]
    fn a_modelled_clock_matters_only_with_bills() {
        let modelled = facts("s").requests(&[100]).with(|f| f.clock_modelled = true).build();
        let idle = vec![cell("s", "x").sent(&[100]).build()];
        assert_eq!(said(vec![modelled], idle, "are modelled"), None);
        let cells = vec![billed("s", RECORDED, "dear")];
        assert_eq!(said(vec![named("s", None)], cells, "are modelled"), None);
    }
}
