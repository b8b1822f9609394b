//! The settings of one strategy that `recap tune` compares: the author's, and every combination
//! of the values that were given, or else a few that the data and the strategy suggest.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::{Table, Value};

use super::Selection;
use super::selection::{Changes, axis, combinations, described, named, strategy_text};
use crate::failure::Failure;
use recap_core::model::{Grid, MOST_TOKENS, RecordedTrigger};
use recap_measure::{SIZES, own_strategy};
use recap_replay::run::NamedSession;
use recap_strategy::{Strategy, StrategyError, StrategyText};

/// Most settings beside the author's, of those that were typed.
const MOST: usize = 100;
/// Most of those that nobody typed.
const SUGGESTED: usize = 16;
/// Most sizes among them.
const SUGGESTED_SIZES: usize = 6;
/// Share of the largest prompt above which a size changes next to nothing (how-it-works §49).
const OF_LARGEST: f64 = 0.9;
/// What a number of tokens or messages is multiplied by, and what a share is.
const FACTORS: [[f64; 2]; 2] = [[0.5, 2.0], [0.75, 1.25]];
/// Keys whose number is no size: the hour of a day, and what a program of the user's own is
/// handed.
const NO_SIZES: [&str; 2] = ["hour", "parameters"];
/// The key of the size at which a strategy compacts.
const COMPACT_AT: &str = "compact_at";

/// The author's strategy and the others, and what they are.
///
/// # Errors
/// If the strategy cannot be loaded, a change is no change, or no setting is left.
pub(super) fn load(
    selection: &Selection,
    sizes: &[u64],
    sessions: &[NamedSession],
    agent: Option<&str>,
) -> Result<(Vec<Arc<Strategy>>, Grid), Failure> {
    let base = selection.names.first().map(String::as_str).or_else(|| own_strategy(agent?));
    let base = base.ok_or_else(|| {
        Failure::usage("which strategy is to be searched is not known")
            .help("name it: `recap tune INPUT --strategy NAME`; `recap strategies list` names all")
    })?;
    let text = strategy_text(base)?;
    let load = |changes: &Changes| -> Result<Strategy, StrategyError> {
        let mut strategy = text.strategy(changes, &BTreeMap::new())?;
        strategy.redacts = selection.redact;
        Ok(strategy)
    };
    let mut strategies = vec![load(&Changes::new())?];
    let author = strategies[0].name.clone();
    let mut grid = Grid { typed: base.to_owned(), author, ..Grid::default() };
    for changes in settings((selection, sizes), (base, &text), &strategies[0], sessions)? {
        let values = described(&changes, "; ");
        match load(&changes) {
            Err(why) => grid.refused.push((values, why.problem)),
            Ok(one) if strategies.iter().any(|other| alike(other, &one)) => {}
            Ok(mut one) => {
                one.name = named(&one.name, &changes);
                grid.changes.push(values);
                strategies.push(one);
            }
        }
    }
    if grid.changes.is_empty() {
        let refused = grid.refused.iter().map(|(what, why)| format!("\n{what}: {why}"));
        let refused: String = refused.collect();
        return Err(Failure::usage(format!("no setting but the author's is left{refused}"))
            .help("give other values: --set, --compact-at"));
    }
    Ok((strategies.into_iter().map(Arc::new).collect(), grid))
}

/// What each setting changes.
fn settings(
    (selection, sizes): (&Selection, &[u64]),
    (base, text): (&str, &StrategyText),
    author: &Strategy,
    sessions: &[NamedSession],
) -> Result<Vec<Changes>, Failure> {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let sizes =
        (!sizes.is_empty()).then(|| (COMPACT_AT, sizes.iter().map(String::as_str).collect()));
    let typed: Result<Vec<(&str, Vec<&str>)>, _> =
        selection.changes.iter().map(|change| own_axis(base, change)).collect();
    let axes: Vec<_> = typed?.into_iter().chain(sizes).collect();
    let most = axes.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul);
    if most > MOST {
        return Err(Failure::usage(format!("these values make more than {MOST} settings"))
            .help("give fewer values"));
    }
    if !axes.is_empty() {
        return Ok(combinations(&axes));
    }
    let sizes = suggested_sizes(sessions);
    if author.awaits_size() && sizes.len() > 1 {
        let one = |size: &u64| vec![(COMPACT_AT.to_owned(), size.to_string())];
        return Ok(sizes.iter().map(one).collect());
    }
    let mut numbers = suggested_numbers(&text.table(&[])?);
    numbers.truncate(SUGGESTED);
    Ok(numbers)
}

/// The key and the values of `KEY=V1,V2`, before which the strategy may stand.
fn own_axis<'a>(base: &str, change: &'a str) -> Result<(&'a str, Vec<&'a str>), Failure> {
    let own = change.strip_prefix(base).and_then(|rest| rest.strip_prefix(['.', ':']));
    axis(own.unwrap_or(change)).ok_or_else(|| {
        Failure::usage(format!("`--set {change}` is not KEY=VALUE,VALUE"))
            .help("for example `recap tune --strategy gencode --set 2.keep_last=5,10,20`")
    })
}

/// Whether two strategies do the same, however their files are written.
fn alike(a: &Strategy, b: &Strategy) -> bool {
    let mut b = b.clone();
    (b.name, b.hash) = (a.name.clone(), a.hash.clone());
    *a == b
}

/// The usual sizes that prompts of these recordings reach, the largest of them.
fn suggested_sizes(sessions: &[NamedSession]) -> Vec<u64> {
    let mut largest = 0;
    for NamedSession { session, .. } in sessions {
        let requests = session.messages.iter().filter_map(|one| one.usage).map(|one| one.prompt());
        let fired = session.compactions.iter().filter(|one| one.trigger == RecordedTrigger::Auto);
        let reported = requests.chain(fired.filter_map(|one| one.tokens_before));
        largest = reported.filter(|n| *n <= MOST_TOKENS).fold(largest, u64::max);
    }
    let reached = |size: &u64| *size as f64 <= OF_LARGEST * largest as f64;
    let sizes: Vec<u64> = SIZES.into_iter().filter(reached).collect();
    sizes[sizes.len().saturating_sub(SUGGESTED_SIZES)..].to_vec()
}

/// Every number of a strategy's stages, one at a time: whole ones at half and twice, shares at
/// three and five quarters and at most 1. Stages that only a user's command starts stay.
fn suggested_numbers(strategy: &Table) -> Vec<Changes> {
    let mut found = Vec::new();
    let stages = strategy.get("stage").and_then(Value::as_array);
    for (at, stage) in stages.into_iter().flatten().filter_map(Value::as_table).enumerate() {
        let when = stage.get("when").and_then(Value::as_table);
        let by_word = when.is_some_and(|when| when.contains_key("command"));
        if !by_word && stage.get("enabled") != Some(&Value::Boolean(false)) {
            numbers(&(at + 1).to_string(), stage, &mut found);
        }
    }
    found
}

fn numbers(path: &str, table: &Table, found: &mut Vec<Changes>) {
    for (key, value) in table.iter().filter(|(key, _)| !NO_SIZES.contains(&key.as_str())) {
        let key = format!("{path}.{key}");
        let values: Vec<String> = match value {
            Value::Integer(n) if *n > 0 => FACTORS[0]
                .iter()
                .map(|by| ((*n as f64 * by).round().max(1.0)).to_string())
                .collect(),
            Value::Float(x) if *x > 0.0 && *x <= 1.0 => {
                let shares = FACTORS[1].iter().map(|by| (x * by * 1e6).round() / 1e6);
                shares.map(|share| format!("{:?}", share.min(1.0))).collect()
            }
            Value::Table(inner) => {
                numbers(&key, inner, found);
                continue;
            }
            _ => continue,
        };
        found.extend(values.into_iter().map(|value| vec![(key.clone(), value)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(name: &str) -> Vec<String> {
        let table = strategy_text(name).unwrap().table(&[]).unwrap();
        suggested_numbers(&table).iter().map(|changes| described(changes, "; ")).collect()
    }

    #[test]
    fn each_number_is_suggested_at_half_and_twice() {
        let known = [
            "1.protect=20000",
            "1.protect=80000",
            "1.when.and_over=10000",
            "1.when.and_over=40000",
            "2.keep_last=5",
            "2.keep_last=20",
            "2.max_tokens=750",
            "2.max_tokens=3000",
        ];
        let mut found = suggested("gencode");
        found.sort();
        let mut known = known.map(str::to_owned).to_vec();
        known.sort();
        assert_eq!(found, known);
        let fifo = suggested("fifo");
        assert_eq!(fifo, ["1.when.share=0.6375", "1.when.share=1.0"]);
    }

    #[test]
    fn stages_of_a_command_and_hours_are_not_varied() {
        assert!(suggested("lis").iter().all(|one| one.starts_with("1.") || one.starts_with("2.")));
        assert!(suggested("gsv-daily").iter().all(|one| !one.contains("hour")));
    }

    #[test]
    fn values_make_every_combination_but_the_authors() {
        let changes = ["gencode.2.keep_last=5,10", "max_tokens=1500,750"].map(str::to_owned);
        let search = Selection { changes: changes.to_vec(), ..Selection::of(["gencode"]) };
        let (strategies, grid) = load(&search, &[], &[], None).unwrap();
        let known = [
            "2.keep_last=5; max_tokens=1500",
            "2.keep_last=5; max_tokens=750",
            "2.keep_last=10; max_tokens=750",
        ];
        assert_eq!(
            (grid.changes, grid.author.as_str()),
            (known.map(str::to_owned).to_vec(), "gencode")
        );
        let names: Vec<&str> = strategies.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names[..2], ["gencode", "gencode[2.keep_last=5 max_tokens=1500]"]);
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn refused_values_are_told_and_alone_are_an_error() {
        let of = |changes: &str| {
            let changes = vec![changes.to_owned()];
            let search = Selection { changes, ..Selection::of(["arachne"]) };
            load(&search, &[], &[], None).map_err(|failure| failure.message)
        };
        // The target is 0.6 of the window.
        let (_, grid) = of("1.when.share=0.5,0.8").unwrap();
        let refused = ("1.when.share=0.5", "the threshold 0.5 is below its target 0.6");
        assert_eq!(grid.refused, [(refused.0.to_owned(), refused.1.to_owned())]);
        let alone = of("1.when.share=0.5").unwrap_err();
        assert!(alone.starts_with("no setting but the author's is left\n1.when"), "{alone}");
        assert_eq!(of("reserve").unwrap_err(), "`--set reserve` is not KEY=VALUE,VALUE");
        let many: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
        let many = of(&format!("reserve={}", many.join(","))).unwrap_err();
        assert_eq!(many, "these values make more than 100 settings");
    }
}
