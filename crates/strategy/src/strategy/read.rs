//! Reads a strategy and the prompts that it names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::text::{StrategyText, set};
use super::{AskedFrom, Budget, Scaling, Stage, Strategy, StrategyError};
use crate::mechanism::keyed;
use crate::mechanisms::{MECHANISMS, named_files};
use crate::recovery::{RECOVERIES, RecoverySpec};
use crate::trigger::{Of, When};
use recap_core::model::suggest;
use recap_core::text::{excerpt, json_error, read_json};

/// The output limit of a strategy that names none.
const OUTPUT_LIMIT: u64 = 8_192;

/// The name that stands for every model without a limit of its own.
const OTHER_MODELS: &str = "default";

/// The line of a TOML error, if the parser knows it.
fn line_of(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
    before.map_or_else(String::new, |before| {
        format!("line {}", 1 + memchr::memchr_iter(b'\n', before).count())
    })
}

/// The table of a strategy with changed values.
pub(super) fn changed(
    file: &str,
    text: &str,
    overrides: &[(String, String)],
) -> Result<Table, StrategyError> {
    let mut table: Table = text
        .parse()
        .map_err(|e: toml::de::Error| refused(file, &line_of(text, &e), json_error(e.message())))?;
    for (key, value) in overrides {
        set(&mut table, key, value).map_err(|problem| refused(file, key, problem))?;
    }
    Ok(table)
}

impl Strategy {
    /// Reads a strategy and the prompts that it names. `prompt` fetches a file by its path
    /// relative to the strategy. Its programs run in a folder; `None`: it may have none.
    pub fn parse(
        folder: Option<&Path>,
        file: &str,
        text: &str,
        overrides: &[(String, String)],
        prompt: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, StrategyError> {
        let at = |key: &str, problem: String| refused(file, key, problem);
        let mut table = changed(file, text, overrides)?;
        let canonical = table.to_string();
        let tables = table.remove("stage").map_or(Ok(Vec::new()), Value::try_into::<Vec<Table>>);
        let tables = tables.map_err(|error| at("stage", json_error(error.message())))?;
        for (key, value) in &table {
            check_number(key, value).map_err(|problem| at(key, problem))?;
        }
        let json = serde_json::to_string(&table).map_err(|error| at("", error.to_string()))?;
        // A missing key has no position.
        let mut strategy: Self = read_json(&json)
            .map_err(|(path, problem)| at(if path == "." { "" } else { &path }, problem))?;
        for (number, table) in (1..).zip(tables) {
            let in_stage = |problem| at(&format!("stage {number}"), problem);
            let mut keys = table.iter();
            keys.try_for_each(|(key, value)| check_number(key, value)).map_err(in_stage)?;
            strategy.stages.push(Stage::try_from(table).map_err(in_stage)?);
        }
        strategy.check().map_err(|(key, problem)| at(key, problem))?;
        strategy.output_limit = strategy.output_limits.remove(OTHER_MODELS).unwrap_or(OUTPUT_LIMIT);
        strategy.folder = folder.map(Path::to_owned);
        strategy.prompts = prompts(file, &strategy.stages, prompt)?;
        let programs = programs(file, folder, &strategy.stages)?;
        strategy.hash = hash(&canonical, &strategy.prompts, &programs);
        // Building once finds bad parameters before anything runs.
        strategy
            .build(strategy.native_window.unwrap_or(200_000), Scaling::All)
            .map_err(|e| at(&e.place, e.problem))?;
        Ok(strategy)
    }

    /// What does not go together; the key, and the problem.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let refused = |key, problem: &str| Err((key, problem.to_owned()));
        if self.version != 1 {
            return Err(("version", format!("version {} is not known; write 1", self.version)));
        }
        if self.native_window == Some(0) {
            let problem = "a window has at least 1 token; leave it out if nothing scales";
            return refused("native_window", problem);
        }
        if self.asked_from == AskedFrom::Evidence && !(self.control && self.stages.is_empty()) {
            let problem = "only a control without stages is asked from the evidence";
            return refused("asked_from", problem);
        }
        if self.stages.len() > 1 && self.is_saver() {
            let problem = "a token saver gets what the agent sends, so it is the only stage";
            return refused("stage", problem);
        }
        self.check_scales().map_err(|problem| ("scales", problem))?;
        if self.compact_at == Some(0) || (self.compact_at.is_some() && !self.awaits_size()) {
            let problem = "it is a number of tokens above 0, for a strategy of which a stage waits \
                           for a size of the prompt";
            return refused("compact_at", problem);
        }
        Ok(())
    }

    /// Refuses a key of `scales` that names no number of tokens or characters.
    fn check_scales(&self) -> Result<(), String> {
        let Some(named) = &self.scales else { return Ok(()) };
        if self.native_window.is_none() {
            return Err("without a `native_window` nothing scales".to_owned());
        }
        let known = self.scalable();
        match named.difference(&known).next() {
            None => Ok(()),
            Some(key) => {
                let like = suggest(key, known.iter().map(String::as_str));
                Err(format!("`{key}` is no number that can scale: {like}"))
            }
        }
    }

    /// Reads a strategy file of the user's own.
    pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Self, StrategyError> {
        StrategyText::read(path)?.strategy(overrides, &BTreeMap::new())
    }
}

/// Longest prompt that is read, in bytes: far more than any model accepts.
const LONGEST_PROMPT: u64 = 16 << 20;

/// Opens a file that a strategy names. Devices and pipes, which may never end, are refused.
fn plain_file(path: &Path) -> std::io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(std::io::Error::other("it is no plain file"))
    }
}

/// The text of a prompt file in the folder of a strategy. Its text is sent to a model,
/// so that a stranger's strategy must not name a file of the user elsewhere.
pub(super) fn prompt_text(folder: &Path, name: &str) -> std::io::Result<String> {
    let path = folder.join(name).canonicalize()?;
    if !path.starts_with(folder.canonicalize()?) {
        return Err(std::io::Error::other("it is outside of the folder"));
    }
    let mut text = String::new();
    let read = plain_file(&path)?.take(LONGEST_PROMPT + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST_PROMPT {
        return Err(std::io::Error::other("it is too long"));
    }
    Ok(text)
}

/// An error with the key of a file, or with the file alone.
pub(super) fn refused(file: &str, key: &str, problem: String) -> StrategyError {
    let key = excerpt(key);
    let place = if key.is_empty() { file.to_owned() } else { format!("{file}, {key}") };
    StrategyError { place, problem }
}

/// Text of each prompt file by its name.
type Prompts = BTreeMap<String, String>;

/// Fetches the prompts that stages name.
fn prompts(
    file: &str,
    stages: &[Stage],
    prompt: &dyn Fn(&str) -> Option<String>,
) -> Result<Prompts, StrategyError> {
    let mut prompts = Prompts::new();
    for (number, stage) in (1..).zip(stages) {
        for name in prompt_names(&stage.parameters) {
            let text = prompt(&name).ok_or_else(|| {
                let problem = "cannot be read: it has to be a text file in the folder of the \
                               strategy";
                refused(file, &format!("stage {number}"), format!("prompt `{name}` {problem}"))
            })?;
            prompts.insert(name, text);
        }
    }
    Ok(prompts)
}

/// Hash of each file of a program by its name.
type Programs = BTreeMap<String, blake3::Hash>;

/// Reads the files beside the strategy that commands name. A word of a command
/// that is not such a file is an ordinary argument.
fn programs(
    file: &str,
    folder: Option<&Path>,
    stages: &[Stage],
) -> Result<Programs, StrategyError> {
    let mut programs = Programs::new();
    let Some(folder) = folder else { return Ok(programs) };
    for (number, stage) in (1..).zip(stages).filter(|(_, stage)| stage.runs_program()) {
        for (name, must_be) in named_files(&stage.parameters) {
            let path = folder.join(name);
            if !must_be && (Path::new(name).is_absolute() || !path.is_file()) {
                continue;
            }
            let mut hasher = blake3::Hasher::new();
            let read = plain_file(&path).and_then(|file| hasher.update_reader(file).map(drop));
            read.map_err(|e| {
                let problem = format!("file `{name}` cannot be read: {e}");
                refused(file, &format!("stage {number}"), problem)
            })?;
            programs.insert(name.to_owned(), hasher.finalize());
        }
    }
    Ok(programs)
}

/// Hash of the file with its overrides, of its prompts, and of its programs.
fn hash(canonical: &str, prompts: &Prompts, programs: &Programs) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(canonical.as_bytes());
    for (name, text) in prompts {
        hasher.update(name.as_bytes()).update(text.as_bytes());
    }
    for (name, content) in programs {
        hasher.update(name.as_bytes()).update(content.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The output limit of every model, or by the beginnings of the models' names.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "write a number of tokens, such as 8_192, or { default = 8_192, \"gpt-4o\" = 4_096 }"
)]
enum OutputLimit {
    Every(u64),
    ByModel(BTreeMap<String, u64>),
}

/// The output limits by the beginnings of the models' names.
pub(super) fn output_limits<'de, D: Deserializer<'de>>(
    limits: D,
) -> Result<BTreeMap<String, u64>, D::Error> {
    Ok(match OutputLimit::deserialize(limits)? {
        OutputLimit::Every(limit) => BTreeMap::from([(OTHER_MODELS.to_owned(), limit)]),
        OutputLimit::ByModel(models) => {
            models.into_iter().map(|(model, limit)| (model.to_lowercase(), limit)).collect()
        }
    })
}

/// A channel by its name.
pub(super) fn channel<'de, D: Deserializer<'de>>(
    name: D,
) -> Result<Option<&'static RecoverySpec>, D::Error> {
    let name = String::deserialize(name)?;
    let found = RECOVERIES.iter().copied().find(|spec| spec.name == name);
    found.map(Some).ok_or_else(|| {
        let like = suggest(&name, RECOVERIES.iter().map(|spec| spec.name));
        D::Error::custom(format!("`{name}` is no recovery channel: {like}"))
    })
}

impl TryFrom<Value> for Budget {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(word) if word == "window" => Ok(Budget::Window),
            Value::String(word) if word == "usable" => Ok(Budget::Usable),
            Value::Float(share) if share > 0.0 && share <= 1.0 => Ok(Budget::Share(share)),
            other => Err(format!(
                "`{other}` is no budget; write \"window\", \"usable\" or a share such as 0.85"
            )),
        }
    }
}

// Checks the numbers in a strategy.

/// Largest number in a strategy: no window has as many tokens, and none of a
/// session's counts or silences is as large.
const LARGEST: i64 = 1_000_000_000;

/// The parameters of a user's own program, which are passed on unchanged.
const HANDED_ON: &str = "parameters";

/// Refuses numbers that are invalid for every key; the sentence begins with the
/// key. The range of a particular key is checked where it is read.
fn check_number(key: &str, value: &Value) -> Result<(), String> {
    let is_number = match value {
        _ if key == HANDED_ON => true,
        Value::Integer(number) => (0..=LARGEST).contains(number),
        Value::Float(number) => (0.0..=LARGEST as f64).contains(number),
        Value::Table(table) => {
            let inner =
                |(own, value): (&String, &Value)| check_number(&format!("{key}.{own}"), value);
            return table.iter().try_for_each(inner);
        }
        _ => true,
    };
    if is_number { Ok(()) } else { Err(format!("{key}: {value} is not between 0 and {LARGEST}")) }
}

// Reads the table of a stage.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWhen {
    above: Option<Of>,
    share: Option<f64>,
    and_over: Option<u64>,
    at_most: Option<u64>,
    reserve: Option<u64>,
    tool_tokens: Option<u64>,
    messages: Option<u32>,
    idle_minutes: Option<u64>,
    hour: Option<i8>,
    command: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    of: Of,
    share: f64,
}

/// Takes the common keys of stages out of the table; the rest belong to the mechanism.
impl TryFrom<Table> for Stage {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let name: String = take(&mut table, "mechanism")?.ok_or("`mechanism` is missing")?;
        let mechanism = MECHANISMS.iter().find(|m| m.name == name).ok_or_else(|| {
            let like = suggest(&name, MECHANISMS.iter().map(|m| m.name));
            format!("mechanism `{name}` is not known: {like}")
        })?;
        let at = take(&mut table, "at")?
            .ok_or("`at` is missing (open, append, user-turn, request, response)")?;
        let when = take(&mut table, "when")?.ok_or("`when` is missing, such as \"always\"")?;
        let target = take::<Target>(&mut table, "target")?.map(|target| (target.of, target.share));
        if let Some((_, share)) = target.filter(|(_, share)| !(*share > 0.0 && *share <= 1.0)) {
            return Err(format!("target: share {share} is not above 0 and at most 1"));
        }
        if let (Some((of, share)), When::Above { of: trigger, share: above, .. }) = (target, &when)
            && of == *trigger
            && share > *above
        {
            return Err(format!("the threshold {above} is below its target {share}"));
        }
        let breaks_pairs = take(&mut table, "breaks_pairs")?.unwrap_or_default();
        let background = take(&mut table, "background")?.unwrap_or_default();
        if background && mechanism.is_view {
            return Err(format!(
                "`{name}` hides messages for one request: no work for the background"
            ));
        }
        Ok(Self { mechanism, at, when, target, breaks_pairs, background, parameters: table })
    }
}

/// Takes a key of a stage out of its table.
fn take<T: DeserializeOwned>(table: &mut Table, key: &str) -> Result<Option<T>, String> {
    let value = table.remove(key).map(|value| keyed(&value));
    value.transpose().map_err(|problem| format!("{key}: {problem}"))
}

impl TryFrom<Value> for When {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.as_str() {
            Some("always") => return Ok(When::Always),
            Some("recorded") => return Ok(When::Recorded),
            Some(other) => {
                return Err(format!("`{other}` is not known (always, recorded, or a table)"));
            }
            None => {}
        }
        let wire: WireWhen = keyed(&value)?;
        let conditions = [
            above(&wire)?,
            wire.reserve.map(|reserve| When::AboveReserve { reserve }),
            wire.tool_tokens.map(When::ToolTokens),
            wire.messages.map(When::Messages),
            wire.idle_minutes.map(|minutes| When::Idle { minutes }),
            wire.hour.map(hour).transpose()?,
            wire.command.map(command).transpose()?,
        ];
        let mut given = conditions.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(when), None) => Ok(when),
            _ => Err("give one of above, reserve, tool_tokens, messages, idle_minutes, hour, \
                      command"
                .to_owned()),
        }
    }
}

fn above(wire: &WireWhen) -> Result<Option<When>, String> {
    let share = wire.share.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("share {share} is not between 0 and 1"));
    }
    let and_over = wire.and_over.unwrap_or(0);
    let refined = wire.share.is_some() || wire.and_over.is_some() || wire.at_most.is_some();
    if wire.above.is_none() && refined {
        return Err("`share`, `and_over` and `at_most` belong to `above`".to_owned());
    }
    Ok(wire.above.map(|of| When::Above { of, share, and_over, at_most: wire.at_most }))
}

fn hour(hour: i8) -> Result<When, String> {
    match hour {
        0..24 => Ok(When::Hour(hour)),
        other => Err(format!("hour {other} is not between 0 and 23")),
    }
}

fn command(words: Vec<String>) -> Result<When, String> {
    let one_word = |word: &String| word.split_whitespace().eq([word.as_str()]);
    if words.is_empty() || !words.iter().all(one_word) {
        return Err("`command` lists words, such as [\"/new\", \"/clear\"]".to_owned());
    }
    Ok(When::Command(words))
}

/// Parameters that name prompt files: those whose key is `prompt` or ends in `_prompt`.
fn prompt_names(parameters: &Table) -> Vec<String> {
    let is_prompt = |key: &str| key == "prompt" || key.ends_with("_prompt");
    let named = parameters.iter().filter(|(key, _)| is_prompt(key));
    named.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stage: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        let head = "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n\n[[stage]]\n\
                    at = \"request\"\nwhen = \"always\"\n";
        std::fs::write(&file, format!("{head}{stage}")).unwrap();
        let long = File::create(folder.path().join("long.md")).unwrap();
        // Takes no room on most file systems.
        long.set_len(LONGEST_PROMPT + 1).unwrap();
        Strategy::load(&file, &[]).unwrap_err().to_string()
    }

    #[test]
    #[cfg(unix)]
    fn a_file_without_an_end_is_not_read() {
        let command = "mechanism = \"command\"\ncommand = [\"true\"]\nfiles = [\"/dev/zero\"]\n";
        let shown = refused(command);
        assert!(shown.ends_with("`/dev/zero` cannot be read: it is no plain file"), "{shown}");
        for name in ["/dev/zero", "long.md"] {
            let shown = refused(&format!("mechanism = \"summary\"\nprompt = \"{name}\"\n"));
            assert!(shown.contains(&format!("prompt `{name}` cannot be read: ")), "{shown}");
        }
    }

    #[test]
    fn format_error_is_reported_with_its_line() {
        let wrong =
            |text| Strategy::parse(None, "mine.toml", text, &[], &|_| None).unwrap_err().place;
        assert_eq!(wrong("= 1\n"), "mine.toml, line 1");
        assert_eq!(wrong("version = 1\nname = \"x\"\n\n= 3\n"), "mine.toml, line 4");
    }

    #[test]
    fn prompt_length_may_reach_but_not_exceed_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.md");
        let file = File::create(&path).unwrap();
        file.set_len(LONGEST_PROMPT).unwrap();
        assert_eq!(prompt_text(folder.path(), "long.md").unwrap().len() as u64, 16 * 1_024 * 1_024);
        file.set_len(LONGEST_PROMPT + 1).unwrap();
        assert_eq!(
            prompt_text(folder.path(), "long.md").unwrap_err().to_string(),
            "it is too long"
        );
    }

    #[test]
    fn prompt_outside_of_the_folder_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("strategies");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(place.path().join("diary.md"), "dear diary").unwrap();
        std::fs::write(folder.join("own.md"), "fold this").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../diary.md", folder.join("link.md")).unwrap();
        assert_eq!(prompt_text(&folder, "../strategies/own.md").unwrap(), "fold this");
        let absolute = place.path().join("diary.md");
        for name in ["../diary.md", "link.md", absolute.to_str().unwrap()] {
            assert!(prompt_text(&folder, name).is_err(), "{name}");
        }
    }

    #[test]
    fn budget_is_word_or_positive_share_within_1() {
        let word = |word: &str| Budget::try_from(Value::from(word));
        assert_eq!([word("window"), word("usable")], [Ok(Budget::Window), Ok(Budget::Usable)]);
        assert!(word("all").is_err() && Budget::try_from(Value::Integer(1)).is_err());
        for (share, known) in [(0.0, false), (0.1, true), (1.0, true), (1.1, false), (-1.0, false)]
        {
            let read = Budget::try_from(Value::Float(share));
            assert_eq!(read.ok(), known.then_some(Budget::Share(share)), "{share}");
        }
    }
}

#[cfg(test)]
mod stage_tests {
    use super::*;
    use crate::trigger::At;

    fn stage(mechanism: &str, when: &str, rest: &str) -> Result<Stage, String> {
        let head = format!("mechanism = \"{mechanism}\"\nat = \"request\"\nwhen = {when}\n");
        Stage::try_from(format!("{head}{rest}").parse::<Table>().unwrap())
    }

    #[test]
    fn target_share_is_positive_and_not_above_threshold() {
        let above = "{ above = \"window\", share = 0.8 }";
        let target =
            |of: &str, share: &str| format!("target = {{ of = \"{of}\", share = {share} }}");
        for (of, share, read) in
            [("window", "0.8", (Of::Window, 0.8)), ("budget", "1.0", (Of::Budget, 1.0))]
        {
            let stage = stage("reset", above, &target(of, share)).unwrap();
            assert_eq!(stage.target, Some(read));
        }
        assert_eq!(stage("reset", above, "").unwrap().target, None);
    }

    #[test]
    fn each_condition_is_read() {
        let when = |text: &str| stage("reset", text, "").map(|stage| stage.when);
        let said = |words: &[&str]| When::Command(words.iter().map(|w| (*w).to_owned()).collect());
        for (text, read) in [
            ("\"always\"", When::Always),
            (
                "{ above = \"usable\" }",
                When::Above { of: Of::Usable, share: 1.0, and_over: 0, at_most: None },
            ),
            ("\"recorded\"", When::Recorded),
            ("{ reserve = 5 }", When::AboveReserve { reserve: 5 }),
            ("{ tool_tokens = 5 }", When::ToolTokens(5)),
            ("{ messages = 5 }", When::Messages(5)),
            ("{ idle_minutes = 5 }", When::Idle { minutes: 5 }),
            ("{ hour = 0 }", When::Hour(0)),
            ("{ hour = 23 }", When::Hour(23)),
            ("{ command = [\"/a\", \"/b\"] }", said(&["/a", "/b"])),
        ] {
            assert_eq!(when(text), Ok(read));
        }
    }

    #[test]
    fn remaining_stage_keys_belong_to_its_mechanism() {
        let rest = "breaks_pairs = true\nbackground = true\nprompt = \"a\"\nother = 5\n";
        let read = stage("reset", "\"always\"", rest).unwrap();
        assert!(read.breaks_pairs && read.background && read.at == At::Request);
        assert!(read.parameters.len() == 2 && read.parameters.contains_key("other"));
        let plain = stage("reset", "\"always\"", "").unwrap();
        assert!(!plain.breaks_pairs && !plain.background);
        let prompts = "prompt = \"a\"\ncheck_prompt = \"b\"\nprompts = \"c\"\nx_prompt = 5";
        let mut names = prompt_names(&prompts.parse().unwrap());
        names.sort();
        assert_eq!(names, ["a", "b"]);
    }
}
