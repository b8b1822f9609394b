//! The settings that take part: the author's, and a sample of the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::space::{Space, SpaceError};
use crate::bench::SelectionError;
use recap_core::model::OFFLINE;
use recap_replay::WindowSpec;
use recap_strategy::Strategy;

/// Largest number of combinations that are all listed before some are drawn.
const LISTED: u64 = 20_000;
/// Combinations that are tried for each setting that is wanted, where most are
/// refused.
const TRIES: usize = 20;

/// One choice of values.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The changed strategy. Its name tells the changes.
    pub strategy: Arc<Strategy>,
    /// The window; `None`: that of the run.
    pub window: Option<WindowSpec>,
    /// The compactor, as typed.
    pub compactor: String,
    /// The changed keys with their values as TOML; empty for the author's.
    pub changes: Vec<(String, String)>,
}

impl Setting {
    /// Whether it does the same as another one.
    fn is_same(&self, other: &Setting) -> bool {
        let window = |setting: &Setting| setting.window.as_ref().map(|w| w.label().to_owned());
        window(self) == window(other)
            && self.compactor == other.compactor
            && alike(&self.strategy, &other.strategy)
    }

    /// What distinguishes it from the author's setting, in a few words.
    pub fn label(&self, author: &Setting) -> String {
        let changes = self.changes.iter().map(|(key, value)| format!("{key}={value}"));
        let window = self
            .window
            .as_ref()
            .filter(|own| author.window.as_ref().is_none_or(|other| other.label() != own.label()));
        let window = window.map(|window| format!("window={}", window.label()));
        let other = self.compactor != author.compactor;
        let compactor = other.then(|| format!("compactor={}", self.compactor));
        let all: Vec<String> = changes.chain(window).chain(compactor).collect();
        if all.is_empty() { "as its author has it".to_owned() } else { all.join(" ") }
    }
}

/// The settings that take part, and those that the strategy refuses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The author's first, then others in the order of their values.
    pub all: Vec<Setting>,
    /// The changes that were drawn and refused, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Number of combinations of the space, saturating.
    pub combinations: u64,
}

impl Settings {
    /// Draws at most `most` settings, the author's among them. `compactor` is
    /// that of the run, used where the space names none.
    ///
    /// # Errors
    /// If the base itself is wrong.
    pub fn draw(
        space: &Space,
        most: usize,
        compactor: &str,
        seed: u64,
    ) -> Result<Self, SpaceError> {
        let author = space.setting(&vec![None; space.axes.len()], 0, 0, compactor);
        let author = author.map_err(SelectionError::Strategy)?;
        let mut found: BTreeMap<Vec<usize>, Setting> = BTreeMap::new();
        let mut refused = Vec::new();
        for place in draws(space, most.saturating_mul(TRIES), seed) {
            if found.len() + 1 >= most {
                break;
            }
            let [axes @ .., window, other] = place.as_slice() else { continue };
            let chosen: Vec<Option<usize>> = axes.iter().map(|at| Some(*at)).collect();
            match space.setting(&chosen, *window, *other, compactor) {
                Ok(setting) => {
                    let known = found.values().chain([&author]);
                    let is_new = known.into_iter().all(|other| !other.is_same(&setting));
                    if is_new {
                        found.insert(place, setting);
                    }
                }
                Err(why) => {
                    let changes = space.changes(&chosen);
                    let told = changes.iter().map(|(key, value)| format!("{key}={value}"));
                    let told: Vec<String> = told.collect();
                    let refusal = (told.join(" "), why.problem);
                    if !refused.contains(&refusal) {
                        refused.push(refusal);
                    }
                }
            }
        }
        let all = std::iter::once(author).chain(found.into_values()).collect();
        Ok(Self { all, refused, combinations: space.size() })
    }

    /// The author's setting.
    pub fn author(&self) -> &Setting {
        &self.all[0]
    }
}

/// Whether two strategies do the same, whatever they are called and however their
/// files are written.
fn alike(a: &Strategy, b: &Strategy) -> bool {
    let nameless = |strategy: &Strategy| {
        let mut strategy = strategy.clone();
        strategy.name.clear();
        strategy.hash.clear();
        strategy
    };
    nameless(a) == nameless(b)
}

impl Space {
    /// The changed keys for these positions of values.
    fn changes(&self, chosen: &[Option<usize>]) -> Vec<(String, String)> {
        let changed = self.axes.iter().zip(chosen).filter_map(|(axis, at)| {
            Some((axis.key.clone(), axis.values.get((*at)?)?.to_string()))
        });
        changed.collect()
    }

    /// The setting of these positions.
    fn setting(
        &self,
        chosen: &[Option<usize>],
        window: usize,
        other: usize,
        compactor: &str,
    ) -> Result<Setting, recap_strategy::StrategyError> {
        let author = self.text.strategy(&[], &self.prompts)?;
        let mut changes = self.changes(chosen);
        // A value that the author wrote, or left to its default, is no change.
        changes.retain(|change| {
            let alone = self.text.strategy(std::slice::from_ref(change), &self.prompts);
            !alone.is_ok_and(|strategy| alike(&strategy, &author))
        });
        let mut strategy = self.text.strategy(&changes, &self.prompts)?;
        if !changes.is_empty() {
            let told: Vec<String> = changes.iter().map(|(k, v)| format!("{k}={v}")).collect();
            strategy.name = format!("{}[{}]", strategy.name, told.join(" "));
        }
        Ok(Setting {
            strategy: Arc::new(strategy),
            window: self.windows.get(window).cloned(),
            compactor: self.compactors.get(other).map_or(compactor, String::as_str).to_owned(),
            changes,
        })
    }

    /// Whether a setting is billed and written by the offline summary.
    pub fn is_offline(setting: &Setting) -> bool {
        setting.compactor == OFFLINE && setting.strategy.uses_compactor()
    }
}

/// Combinations in the order of a seeded shuffle: all where they are few, else
/// `tries` draws.
fn draws(space: &Space, tries: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut sizes: Vec<usize> = space.axes.iter().map(|axis| axis.values.len()).collect();
    sizes.extend([space.windows.len().max(1), space.compactors.len().max(1)]);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if space.size() <= LISTED {
        let mut all: Vec<Vec<usize>> = (0..space.size()).map(|n| place(n, &sizes)).collect();
        all.shuffle(&mut rng);
        return all;
    }
    let mut draw = |_| sizes.iter().map(|size| rng.random_range(0..*size)).collect();
    (0..tries).map(&mut draw).collect()
}

/// The position of each value in the nth combination.
fn place(mut n: u64, sizes: &[usize]) -> Vec<usize> {
    let digit = |size: &usize| {
        let at = n % *size as u64;
        n /= *size as u64;
        at as usize
    };
    sizes.iter().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn space(vary: &str) -> Space {
        let text = format!("version = 1\nbase = \"arachne\"\n{vary}");
        Space::parse("space.toml", &text, Path::new("")).unwrap()
    }

    fn labels(settings: &Settings) -> Vec<String> {
        settings.all.iter().map(|one| one.label(settings.author())).collect()
    }

    #[test]
    fn authors_setting_is_first_and_duplicates_are_merged() {
        let space = space("[vary]\nreserve = [800, 1200, 1600]");
        let settings = Settings::draw(&space, 10, OFFLINE, 1).unwrap();
        assert_eq!(labels(&settings), ["as its author has it", "reserve=1200", "reserve=1600"]);
        assert_eq!(settings.all[1].strategy.name, "arachne[reserve=1200]");
        assert_eq!((settings.combinations, settings.refused.len()), (3, 0));
    }

    #[test]
    fn no_two_settings_have_the_same_label() {
        let text = "version = 1\nbase = \"gencode\"\nwindows = [\"native\", \"100k\"]\n[vary]\n\
                    \"2.when.share\" = [0.7, 0.75, 1.0]\nkeep_last = { from = 5, to = 20, steps = 4 }\n";
        let space = Space::parse("space.toml", text, Path::new("")).unwrap();
        let settings = Settings::draw(&space, 100, OFFLINE, 1).unwrap();
        let mut labels = labels(&settings);
        assert_eq!(labels.len(), 24);
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), 24, "{labels:?}");
    }

    #[test]
    fn explicit_default_is_no_change() {
        let text = "version = 1\nbase = \"gencode\"\n[vary]\n\"2.when.share\" = [0.75, 1.0]\n\
                    keep_last = [10]\n";
        let space = Space::parse("space.toml", text, Path::new("")).unwrap();
        let settings = Settings::draw(&space, 10, OFFLINE, 1).unwrap();
        assert_eq!(labels(&settings), ["as its author has it", "2.when.share=0.75"]);
    }

    #[test]
    fn refused_combination_is_reported_with_reason() {
        // The target is 0.6 of the window.
        let space = space("[vary]\n\"1.when.share\" = [0.5, 0.8]");
        let settings = Settings::draw(&space, 10, OFFLINE, 1).unwrap();
        assert_eq!(labels(&settings), ["as its author has it", "1.when.share=0.8"]);
        let (changes, why) = &settings.refused[0];
        assert_eq!(changes, "1.when.share=0.5");
        assert_eq!(why, "the threshold 0.5 is below its target 0.6");
    }

    #[test]
    fn of_many_combinations_a_seeded_sample_is_drawn() {
        let many = "[vary]\nreserve = { from = 800, to = 1700, steps = 10 }\n\
                    max_tokens = { from = 100, to = 550, steps = 10 }\n\
                    ";
        let space = space(many);
        let drawn = |seed| labels(&Settings::draw(&space, 8, OFFLINE, seed).unwrap());
        assert_eq!(drawn(1).len(), 8);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(drawn(2)[0], "as its author has it");
    }

    #[test]
    fn a_place_is_a_number_in_mixed_radix() {
        assert_eq!(place(0, &[2, 3]), [0, 0]);
        assert_eq!(place(1, &[2, 3]), [1, 0]);
        assert_eq!(place(5, &[2, 3]), [1, 2]);
    }

    #[test]
    fn windows_and_compactors_multiply_the_settings() {
        let text = "version = 1\nbase = \"arachne\"\nwindows = [\"native\", \"100k\"]\n\
                    compactors = [\"offline\", \"openai/m\"]\n";
        let space = Space::parse("space.toml", text, Path::new("")).unwrap();
        let settings = Settings::draw(&space, 10, OFFLINE, 1).unwrap();
        assert_eq!(
            labels(&settings),
            [
                "as its author has it",
                "compactor=openai/m",
                "window=100k",
                "window=100k compactor=openai/m"
            ]
        );
    }
}
