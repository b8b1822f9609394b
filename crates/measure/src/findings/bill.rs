//! Findings on bills and times: their assumptions and unknowns.

use std::collections::BTreeSet;
use std::sync::Arc;

use recap_billing::pricing::PriceList;
use recap_core::model::{
    Absent, Bill, BillErrors, Cell, Finding, RECORDED, SessionFacts, StrategyRow, Value, catalogue,
};
use recap_core::text::{counted, form_for, grouped};
use recap_core::wording::number::{error, percent};

use super::{Evidence, joined};
use crate::figures::rows::Entry;

pub(super) fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(bill_off(run));
    found.extend(unpriced(run));
    found.extend(storage_unpriced(run));
    found.extend(default_model(run));
    found.extend(outputs_and_prices(run));
    found.extend(clocks(run));
    found.extend(waits(run));
    found
}

/// Sessions whose simulated bill differs much from the recorded one.
fn bill_off(run: &Evidence<'_>) -> Option<Finding> {
    let errors = |facts: &SessionFacts| Some(facts.validation.as_ref()?.errors());
    let checked: Vec<(&SessionFacts, BillErrors)> =
        run.facts.iter().filter_map(|facts| Some((facts, errors(facts)?))).collect();
    let off: Vec<_> = checked.iter().filter(|(_, errors)| errors.are_far_off()).collect();
    let worst = off.iter().max_by(|a, b| a.1.size().total_cmp(&b.1.size()));
    let (facts, errors) = worst?;
    let each = [("reads", errors.reads), ("writes", errors.writes), ("dollars", errors.usd)];
    let known = each.iter().filter_map(|(name, off)| Some(format!("{name} {}", error((*off)?))));
    let text = format!(
        "the simulated bill is more than {} off the recorded one in {} of {} with reported usage \
         (worst {}: {})",
        percent(BillErrors::FAR_OFF),
        grouped(off.len()),
        counted(checked.len(), "session"),
        facts.session,
        known.collect::<Vec<_>>().join(", ")
    );
    Some(Finding::problem("bill_off", text).changing_figures(true))
}

/// Models without a price, whose part of the bill is unknown.
fn unpriced(run: &Evidence<'_>) -> Option<Finding> {
    let list = PriceList::from(&run.manifest.prices);
    let models = run.bill_models.iter().filter(|model| list.find(model).is_err());
    let models: Vec<String> = models.cloned().collect();
    models.first()?;
    let leads = |bill: &Arc<Bill>| models.contains(&bill.model);
    let led = run.results.iter().filter(|session| bills(session.cells()).any(leads));
    let (led, sessions) = (led.count(), run.results.iter().count());
    let unknown = if led == sessions {
        ", so nor is the bill".to_owned()
    } else {
        let sessions = counted(sessions, "session");
        format!(", so no bill has what it answered, nor {led} of {sessions} that it leads")
    };
    let text = format!(
        "no price is known for {}{unknown}: --prices takes a list that has one, --agent-model bills \
         sessions as another model",
        models.join(", ")
    );
    Some(Finding::problem("unpriced", text).changing_figures(true))
}

/// The bills of these cells.
fn bills(cells: &[Cell]) -> impl Iterator<Item = &Arc<Bill>> {
    cells.iter().filter_map(Cell::rows).flat_map(|rows| &rows.bills)
}

/// Rows whose bill lacks the storage of explicit caches.
fn storage_unpriced(run: &Evidence<'_>) -> Option<Finding> {
    let (mut rows, mut models) = (Vec::<(&StrategyRow, String)>::new(), BTreeSet::new());
    for row in run.billed.iter().map(|entry| &entry.row) {
        let cost = row.values.get(catalogue::COST_USD.id);
        if let Some(Value::Absent(Absent::Storage(model))) = cost {
            rows.push((row, String::new()));
            models.insert(model.as_str());
        }
    }
    // Each billing model has a row of its own.
    rows.dedup_by_key(|(row, _)| (&row.strategy, &row.window));
    let text = format!(
        "what keeping a cache of {} costs is unknown, and with it these bills: {}; a list for --prices may have cache_storage_cost_per_token_per_hour",
        Vec::from_iter(models).join(", "),
        joined(&rows)?
    );
    Some(Finding::problem("unpriced", text).changing_figures(true))
}

/// Sessions that name no model, and what they are billed as.
fn default_model(run: &Evidence<'_>) -> Option<Finding> {
    let mut sessions = 0;
    let mut billed_as = BTreeSet::new();
    for facts in run.facts.iter().filter(|facts| facts.model.is_none()) {
        let Some(session) = run.results.get(&facts.dataset, &facts.session) else { continue };
        let bills = bills(session.cells()).filter(|bill| bill.billed_as == RECORDED);
        let models: BTreeSet<String> = bills.map(|bill| bill.model.clone()).collect();
        sessions += usize::from(!models.is_empty());
        billed_as.extend(models);
    }
    let text = format!(
        "{sessions} of {} {} no model: {} billed as {}; --agent-model takes another",
        counted(run.facts.len(), "session"),
        form_for(sessions, "names", "name"),
        form_for(sessions, "it is", "they are"),
        Vec::from_iter(billed_as).join(", ")
    );
    (sessions > 0).then(|| Finding::problem("default_model", text))
}

/// The assumptions of every bill.
fn outputs_and_prices(run: &Evidence<'_>) -> Option<Finding> {
    let prices = &run.manifest.prices;
    let date = prices.date.as_ref().map(|date| format!("{date}, ")).unwrap_or_default();
    let hash: String = prices.hash.chars().take(12).collect();
    let text = format!(
        "bills take every output as recorded, whatever was forgotten before it; prices are those of \
         {} ({date}BLAKE3 {hash}…), at the standard service class",
        prices.name
    );
    (!run.bill_models.is_empty()).then(|| Finding::limit("bills_assume", text))
}

/// Times that are not recorded, on which caches depend.
fn clocks(run: &Evidence<'_>) -> Option<Finding> {
    let profile = &run.manifest.profile;
    let sessions = run.facts.iter().filter(|facts| facts.clock_modelled).count();
    let seconds = |ms: f64| format!("{} s", (ms / 100.0).round() / 10.0);
    let text = format!(
        "some times of {} of {} are modelled ({} before a user's message, {} for a tool): which \
         caches are still alive there is an assumption",
        grouped(sessions),
        counted(run.facts.len(), "session"),
        seconds(profile.user_ms),
        seconds(profile.tool_ms)
    );
    let has_bills = !run.bill_models.is_empty();
    (has_bills && sessions > 0).then(|| Finding::limit("bills_assume", text))
}

/// Waits that no model was timed for.
fn waits(run: &Evidence<'_>) -> Option<Finding> {
    let profile = &run.manifest.profile;
    let is_modelled = |entry: &&Entry| {
        let source = entry.row.values.get(catalogue::LATENCY_SOURCE.id);
        matches!(source, Some(Value::Text(word)) if word == "modelled" || word == "mixed")
    };
    let text = format!(
        "waits for compactions are modelled, not measured: {:.0} ms to the first token, {:.0} \
         tokens a second read and {:.0} written",
        profile.first_token_ms, profile.prefill_per_s, profile.decode_per_s
    );
    run.rows.iter().any(is_modelled).then(|| Finding::limit("bills_assume", text))
}

#[cfg(test)]
mod tests {
    use crate::findings::tests::{check, of_rows};
    use crate::testkit::{cell, entry_at, facts, run};
    use recap_core::model::{
        Absent, Buckets, Cell, Finding, LatencySource, Primary, RECORDED, SessionFacts, Validation,
        Value,
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
}
