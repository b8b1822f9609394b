//! The settings of one strategy that `recap tune` compares: the author's, and every combination
//! of the values that were given, or else a few that the data and the strategy suggest.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::{Table, Value};

use super::SelectionError;
use super::selection::{Changes, axis, combinations, named, strategy_text};
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

/// A strategy, and the values of its keys that a search compares.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The strategy by name, or a TOML file; `None`: that which replays the recorded agent.
    pub strategy: Option<String>,
    /// `KEY=V1,V2`, a text for each key.
    pub changes: Vec<String>,
    /// Sizes of the prompt at which it is to compact.
    pub compact_at: Vec<u64>,
    /// Whether secrets and e-mail addresses are replaced in what token savers are sent.
    pub redact: bool,
}

impl Search {
    /// The author's strategy and the others, and what they are.
    ///
    /// # Errors
    /// If the strategy cannot be loaded, a change is no change, or no setting is left.
    pub(super) fn load(
        &self,
        sessions: &[NamedSession],
        agent: Option<&str>,
    ) -> Result<(Vec<Arc<Strategy>>, Grid), SelectionError> {
        let base = self.strategy.as_deref().or_else(|| own_strategy(agent?));
        let base = base.ok_or(SelectionError::NoStrategy)?;
        let text = strategy_text(base)?;
        let load = |changes: &Changes| -> Result<Strategy, StrategyError> {
            let mut strategy = text.strategy(changes, &BTreeMap::new())?;
            strategy.redacts = self.redact;
            Ok(strategy)
        };
        let author = load(&Changes::new())?;
        let mut strategies = vec![author];
        let mut grid =
            Grid { typed: base.to_owned(), author: strategies[0].name.clone(), ..Grid::default() };
        for changes in self.combinations(base, &text, &strategies[0], sessions)? {
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
            let refused = grid.refused.into_iter().map(|(what, why)| format!("{what}: {why}"));
            return Err(SelectionError::NoSetting(refused.collect()));
        }
        Ok((strategies.into_iter().map(Arc::new).collect(), grid))
    }

    /// What each setting changes.
    fn combinations(
        &self,
        base: &str,
        text: &StrategyText,
        author: &Strategy,
        sessions: &[NamedSession],
    ) -> Result<Vec<Changes>, SelectionError> {
        let sizes: Vec<String> = self.compact_at.iter().map(u64::to_string).collect();
        let sizes =
            (!sizes.is_empty()).then(|| (COMPACT_AT, sizes.iter().map(String::as_str).collect()));
        let typed: Result<Vec<(&str, Vec<&str>)>, _> =
            self.changes.iter().map(|change| own_axis(base, change)).collect();
        let axes: Vec<_> = typed?.into_iter().chain(sizes).collect();
        let most = axes.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul);
        if most > MOST {
            return Err(SelectionError::ManySettings { most: MOST });
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
}

/// The key and the values of `KEY=V1,V2`, before which the strategy may stand.
fn own_axis<'a>(base: &str, change: &'a str) -> Result<(&'a str, Vec<&'a str>), SelectionError> {
    let own = change.strip_prefix(base).and_then(|rest| rest.strip_prefix(['.', ':']));
    axis(own.unwrap_or(change)).ok_or_else(|| SelectionError::Values(change.to_owned()))
}

fn described(changes: &Changes, between: &str) -> String {
    let each: Vec<String> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    each.join(between)
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
        let search = Search {
            strategy: Some("gencode".to_owned()),
            changes: vec!["gencode.2.keep_last=5,10".to_owned(), "max_tokens=1500,750".to_owned()],
            ..Search::default()
        };
        let (strategies, grid) = search.load(&[], None).unwrap();
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
            let strategy = Some("arachne".to_owned());
            Search { strategy, changes, ..Search::default() }.load(&[], None)
        };
        // The target is 0.6 of the window.
        let (_, grid) = of("1.when.share=0.5,0.8").unwrap();
        let refused = ("1.when.share=0.5", "the threshold 0.5 is below its target 0.6");
        assert_eq!(grid.refused, [(refused.0.to_owned(), refused.1.to_owned())]);
        assert!(matches!(of("1.when.share=0.5"), Err(SelectionError::NoSetting(_))));
        assert!(matches!(of("reserve"), Err(SelectionError::Values(_))));
        let many: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
        let many = of(&format!("reserve={}", many.join(",")));
        assert!(matches!(many, Err(SelectionError::ManySettings { .. })));
    }
}
