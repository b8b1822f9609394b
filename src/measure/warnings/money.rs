//! What bills and times rest on.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::names::RECORDED as REPEATED;
use super::super::verdict::dollars;
use super::{Entry, Run, label, listed};
use crate::model::{Bill, BillErrors, Cell, RECORDED, Standing, TranscriptFacts, Value, catalogue};
use crate::pricing::PriceList;
use crate::text::{counted, form_for};

/// Share of a bill from which on the place of the first breakpoint is told.
const BREAKPOINT_MATTERS: f64 = 0.05;

fn bills<'a>(run: &Run<'a>) -> impl Iterator<Item = &'a Bill> + use<'a> {
    run.cells.iter().filter_map(|cell| cell.rows()).flat_map(|rows| &rows.bills).map(Arc::as_ref)
}

/// What every bill takes for granted.
pub fn what_bills_assume(run: &Run<'_>) -> Vec<String> {
    if bills(run).next().is_none() {
        return Vec::new();
    }
    let prices = &run.manifest.prices;
    let of = prices.date.as_ref().map(|date| format!("{date}, ")).unwrap_or_default();
    let hash: String = prices.hash.chars().take(12).collect();
    vec![format!(
        "bills take every output as recorded, whatever was forgotten before it; prices are those \
         of {} ({of}BLAKE3 {hash}…), at the standard service class",
        prices.name
    )]
}

/// Summaries of the vendor's agent whose calls are not on record: the bill of
/// the preset that repeats them lacks what they cost.
pub fn unbilled_summaries(run: &Run<'_>) -> Vec<String> {
    let cells = run.cells.iter().filter(|cell| cell.key.strategy == REPEATED);
    let rows = cells.filter_map(|cell| cell.rows()).flat_map(|rows| &rows.compactions);
    let folds: Vec<_> = rows.filter(|row| row.messages_folded > 0).collect();
    let unknown = folds.iter().filter(|row| row.model_calls == 0).count();
    if unknown == 0 {
        return Vec::new();
    }
    vec![format!(
        "recordings do not show what {unknown} of {} of the recorded agent cost: {} not in the \
         bill of {REPEATED}",
        counted(folds.len(), "summary"),
        form_for(unknown, "this call is", "these calls are")
    )]
}

/// Bills that depend on where the agent sets its first cache breakpoint, which
/// recordings do not show.
pub fn first_breakpoint(run: &Run<'_>) -> Vec<String> {
    let range = |entry: &&&Entry| {
        let (own, head) = (
            entry.row.number(catalogue::COST_USD)?,
            entry.row.number(catalogue::COST_HEAD_BREAKPOINT_USD)?,
        );
        let change = head / own - 1.0;
        (change.abs() >= BREAKPOINT_MATTERS).then_some((change, own, head))
    };
    let rows = run.billed.iter().filter(|e| e.row.standing != Standing::Control);
    let mut apart: Vec<_> = rows.filter_map(|e| Some((e, range(&e)?))).collect();
    if apart.is_empty() {
        return Vec::new();
    }
    apart.sort_by(|a, b| b.1.0.abs().total_cmp(&a.1.0.abs()));
    let payers: BTreeSet<&str> = run.billed.iter().map(|e| e.row.agent_model.as_str()).collect();
    let named = apart.iter().take(3).map(|(entry, (change, own, head))| {
        let row = &entry.row;
        let payer = match payers.len() {
            1 => String::new(),
            _ => format!(" as {}", row.agent_model),
        };
        let (window, change) = (label(&row.window), signed_percent(*change));
        let (head, own) = (dollars(*head), dollars(*own));
        format!("{} at {window}{payer} {head} instead of {own} ({change})", row.strategy)
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match apart.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(", and {more} more by at least {:.0} %", BREAKPOINT_MATTERS * 100.0),
    };
    vec![format!(
        "recordings do not show where the agent sets its first cache breakpoint: bills take it \
         behind tools and system prompt; behind everything in front of the conversation they \
         would be: {named}{more} (cost_head_breakpoint_usd)"
    )]
}

/// Models without a price: what they bill is unknown.
pub fn unpriced(run: &Run<'_>) -> Vec<String> {
    let list = PriceList::from(&run.manifest.prices);
    let models: BTreeSet<&str> = bills(run).map(|bill| bill.model.as_str()).collect();
    let unknown: Vec<&str> = models.into_iter().filter(|model| list.find(model).is_err()).collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "no price is known for {}: what sessions cost there is unknown; --prices takes a list",
        unknown.join(", ")
    )]
}

/// Sessions that are billed as a model that they do not name.
pub fn default_model(run: &Run<'_>) -> Vec<String> {
    let list = PriceList::from(&run.manifest.prices);
    let stranger = |facts: &TranscriptFacts| {
        facts.model.as_deref().is_none_or(|model| list.find(model).is_err())
    };
    let strangers: Vec<&TranscriptFacts> = run.facts.iter().filter(|f| stranger(f)).collect();
    let of = |bill: &&Arc<Bill>| bill.billed_as == RECORDED;
    let is_own = |c: &&Cell| c.rows().is_some_and(|rows| rows.bills.iter().any(|bill| of(&bill)));
    let place = |c: &Cell| (c.key.dataset.clone(), c.key.transcript.clone());
    let own: BTreeSet<(String, String)> = run.cells.iter().filter(is_own).map(place).collect();
    let billed: Vec<&&TranscriptFacts> = (strangers.iter())
        .filter(|facts| own.contains(&(facts.dataset.clone(), facts.transcript.clone())))
        .collect();
    if billed.is_empty() {
        return Vec::new();
    }
    let transcripts: BTreeSet<(&str, &str)> =
        billed.iter().map(|f| (f.dataset.as_str(), f.transcript.as_str())).collect();
    let as_whom: BTreeSet<&str> = (run.cells.iter())
        .filter(|c| transcripts.contains(&(c.key.dataset.as_str(), c.key.transcript.as_str())))
        .filter_map(|c| c.rows())
        .flat_map(|rows| rows.bills.iter().filter(of).map(|bill| bill.model.as_str()))
        .collect();
    let named: BTreeSet<&str> = billed.iter().filter_map(|f| f.model.as_deref()).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", listed(named)) };
    vec![format!(
        "{} of {} {} no model with a price{named}: {} billed as {}; --agent-model takes another",
        billed.len(),
        counted(run.facts.len(), "session"),
        form_for(billed.len(), "names", "name"),
        form_for(billed.len(), "it is", "they are"),
        listed(as_whom)
    )]
}

/// Sessions whose times nobody recorded.
pub fn modelled_clock(run: &Run<'_>) -> Vec<String> {
    let modelled = run.facts.iter().filter(|facts| facts.clock_modelled).count();
    if modelled == 0 || bills(run).next().is_none() {
        return Vec::new();
    }
    let profile = &run.manifest.profile;
    let seconds = |ms: f64| format!("{} s", (ms / 100.0).round() / 10.0);
    vec![format!(
        "some times of {modelled} of {} are modelled ({} before a user's message, {} for a tool): \
         which caches are still alive there is an assumption",
        counted(run.facts.len(), "session"),
        seconds(profile.user_ms),
        seconds(profile.tool_ms)
    )]
}

/// Waits that nobody measured.
pub fn modelled_waits(run: &Run<'_>) -> Vec<String> {
    let modelled = |entry: &&super::Entry| {
        let source = entry.row.values.get(catalogue::LATENCY_SOURCE.id);
        matches!(source, Some(Value::Text(word)) if word == "modelled" || word == "mixed")
    };
    if !run.rows.iter().any(modelled) {
        return Vec::new();
    }
    let profile = &run.manifest.profile;
    vec![format!(
        "waits for compactions are modelled, not measured: {:.0} ms to the first token, {:.0} \
         tokens a second read and {:.0} written",
        profile.first_token_ms, profile.prefill_per_s, profile.decode_per_s
    )]
}

/// Sessions whose simulated bill is far from the recorded one.
pub fn simulation_off(run: &Run<'_>) -> Vec<String> {
    let errors = |facts: &TranscriptFacts| Some(facts.validation.as_ref()?.errors());
    let checked: Vec<(&TranscriptFacts, BillErrors)> =
        run.facts.iter().filter_map(|facts| Some((facts, errors(facts)?))).collect();
    let off = checked.iter().filter(|(_, errors)| errors.are_far_off());
    let (n, worst) = (off.clone().count(), off.max_by(|a, b| a.1.size().total_cmp(&b.1.size())));
    let Some((facts, errors)) = worst else { return Vec::new() };
    let each = [("reads", errors.reads), ("writes", errors.writes), ("dollars", errors.usd)];
    let shown: Vec<String> = (each.iter())
        .filter_map(|(name, error)| Some(format!("{name} {}", signed_percent((*error)?))))
        .collect();
    vec![format!(
        "the simulated bill is more than {:.0} % off the recorded one in {n} of {} with \
         reported usage (worst {}: {})",
        BillErrors::FAR_OFF * 100.0,
        counted(checked.len(), "session"),
        facts.transcript,
        shown.join(", ")
    )]
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use crate::measure::testkit::{cell, facts, run};
    use crate::model::{
        Buckets, Cell, CellOutcome, LatencySource, RECORDED, TranscriptFacts, Validation,
    };

    fn billed(id: &str, payer: &str, model: &str) -> Cell {
        cell(id, "x").sent(&[100]).bill(payer, model, &[(100, 0, 0)]).build()
    }

    fn named(id: &str, model: Option<&str>) -> TranscriptFacts {
        facts(id).requests(&[100]).with(|f| f.model = model.map(str::to_owned)).build()
    }

    #[track_caller]
    fn said(facts: Vec<TranscriptFacts>, cells: Vec<Cell>, start: &str) -> Option<String> {
        let warnings = run(facts, cells).warnings;
        let mut found = warnings.into_iter().filter(|w| w.contains(start));
        let first = found.next();
        assert_eq!(found.next(), None, "said once");
        first
    }

    #[test]
    fn the_price_list_and_the_recorded_outputs_are_named() {
        let said = |cells| said(vec![named("s", Some("dear"))], cells, "bills take every output");
        assert_eq!(
            said(vec![billed("s", RECORDED, "dear")]).unwrap(),
            "bills take every output as recorded, whatever was forgotten before it; prices are \
             those of a list (2026-11-21, BLAKE3 0123456789ab…), at the standard service class"
        );
        assert_eq!(said(vec![cell("s", "x").sent(&[100]).build()]), None);
    }

    #[test]
    fn sessions_billed_as_a_model_that_they_do_not_name_are_counted() {
        let sessions =
            || vec![named("s", Some("local")), named("t", None), named("u", Some("cheap"))];
        let cells = |payer| ["s", "t", "u"].map(|id| billed(id, payer, "dear")).to_vec();
        assert_eq!(
            said(sessions(), cells(RECORDED), "name no model with a price").unwrap(),
            "2 of 3 sessions name no model with a price (local): they are billed as dear; \
             --agent-model takes another"
        );
        // Whoever asks for a model knows as whom the sessions are billed.
        assert_eq!(said(sessions(), cells("dear"), "name no model with a price"), None);
    }

    #[test]
    fn summaries_of_the_vendor_without_a_recorded_call_are_counted() {
        let of = |preset| cell("s", preset).sent(&[100]).compaction(9, 1).compaction(9, 1).build();
        let said = |cell| said(vec![named("s", None)], vec![cell], "do not show what");
        assert_eq!(
            said(of("recorded")).unwrap(),
            "recordings do not show what 2 of 2 summaries of the recorded agent cost: these calls \
             are not in the bill of recorded"
        );
        assert_eq!(said(of("x")), None);
        let mut known = of("recorded");
        if let CellOutcome::Done(rows) = &mut known.outcome {
            rows.compactions.iter_mut().for_each(|row| row.model_calls = 1);
        }
        assert_eq!(said(known), None);
    }

    #[test]
    fn a_model_without_a_price_is_named() {
        let cells = vec![billed("s", "local", "local")];
        let warning = said(vec![named("s", None)], cells, "no price is known").unwrap();
        assert!(warning.starts_with("no price is known for local:"), "{warning}");
    }

    #[test]
    fn modelled_times_are_named_where_they_matter() {
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
    fn a_simulation_far_from_the_recording_is_said_with_the_worst_session() {
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
}
