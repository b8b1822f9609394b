//! The recommended setting as a strategy file.

use std::collections::BTreeMap;

use toml::Value;

use super::settings::Setting;
use super::space::Space;
use crate::bench::SelectionError;

/// A strategy file with its prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyFile {
    /// The name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The prompts that it names: path beside the file, and text.
    pub prompts: BTreeMap<String, String>,
    /// The programs beside the base that it runs, which are not copied.
    pub programs: bool,
}

/// The strategy file of a setting: `tuned-BASE.toml`.
///
/// # Errors
/// If the base cannot be read again.
pub fn strategy_file(
    space: &Space,
    author: &Setting,
    setting: &Setting,
) -> Result<StrategyFile, SelectionError> {
    let base = &author.strategy.name;
    let name = format!("tuned-{base}");
    let mut table = space.text.table(&setting.changes)?;
    let mut put = |key: &str, value: String| table.insert(key.to_owned(), Value::String(value));
    put("name", name.clone());
    put("summary", format!("{base} as `recap tune` recommends it."));
    put("source", format!("{base}, with {}", setting.label(author)));
    let text = toml::to_string_pretty(&table).expect("what was read as TOML can be written");
    let prompts = setting.strategy.prompts();
    Ok(StrategyFile {
        name: format!("{name}.toml"),
        text: format!("{}{text}", comments(author, setting)),
        prompts: prompts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        programs: setting.strategy.commands().next().is_some(),
    })
}

/// What belongs to the setting and is no part of a strategy.
fn comments(author: &Setting, setting: &Setting) -> String {
    let mut text = format!(
        "# Written by recap tune from the strategy {}.\n# Changed: {}.\n",
        author.strategy.name,
        setting.label(author)
    );
    if let Some(window) = &setting.window {
        text.push_str(&format!("# Window: --window {}.\n", window.label()));
    }
    if setting.compactor != author.compactor {
        text.push_str(&format!("# Compactor: --compactor {}.\n", setting.compactor));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::settings::Settings;
    use super::*;
    use recap_core::model::OFFLINE;
    use recap_strategy::Strategy;

    #[test]
    fn file_loads_as_setting_under_its_own_name() {
        let text = "version = 1\nbase = \"lis\"\n[vary]\n\"2.when.share\" = [0.6]\n\
                    \"2.keep_recent\" = [9000]";
        let space = Space::parse("space.toml", text, Path::new("")).unwrap();
        let settings = Settings::draw(&space, 2, OFFLINE, 1).unwrap();
        let file = strategy_file(&space, settings.author(), &settings.all[1]).unwrap();
        assert_eq!((file.name.as_str(), file.programs), ("tuned-lis.toml", false));
        let loaded =
            Strategy::parse(&file.name, &file.text, &[], &|name| file.prompts.get(name).cloned());
        let loaded = loaded.unwrap();
        assert_eq!(loaded.name, "tuned-lis");
        assert_eq!(loaded.stages, settings.all[1].strategy.stages);
        assert_ne!(loaded.stages, settings.author().strategy.stages);
        assert_eq!(loaded.budget, settings.author().strategy.budget);
        assert!(file.text.starts_with("# Written by recap tune from the strategy lis.\n"));
    }
}
