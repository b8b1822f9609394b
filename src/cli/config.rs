//! Settings from `recap.toml` and the environment.
//!
//! Flags beat environment beats recap.toml beats defaults (`docs/ci.md`).
//! Settings of file and environment are added to the command line where nothing
//! was typed, and then parsed with it. So a new option works in all three
//! places without further code.

use std::borrow::Cow;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use toml::{Table, Value};

use super::{Cli, wire};
use crate::failure::Failure;
use recap_core::model::{alike, suggest};
use recap_core::text::{excerpt, harmless};
use recap_replay::WindowError;

/// The settings file, read from the working directory.
pub(super) const FILE: &str = "recap.toml";

/// Subcommands that the settings apply to.
const CONFIGURED: [&str; 5] = ["bench", "replay", "tune", "report", "merge"];

/// The subcommand whose options are the keys; it has all options of the others.
const KEYS_OF: &str = "bench";

/// Options that are not keys: the path of the file itself, what a file may not allow itself, and
/// those that end the program.
const NO_KEYS: [&str; 4] = ["config", "allow-programs", "help", "version"];

/// Roles that are not needed where no questions are asked, so that one file serves
/// both `bench` and `replay`.
const ASKED_ONLY: [&str; 4] = ["answerer", "judge", "embedder", "questions"];

/// What a search has of its own, so that the same file serves it too.
const SEARCHED: [&str; 5] = ["strategy", "set", "compact-at", "cuts", "depth"];

/// Prefix of the environment variables.
const PREFIX: &str = "RECAP_";

/// Least likeness of a variable that is taken for a misspelt one.
const NEARLY: f64 = 0.87;

/// The file that settings come from.
#[derive(Debug, Args)]
pub struct ConfigFile {
    /// Settings to read [default: recap.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[arg(skip)]
    pub(super) unasked: Unasked,
}

/// Where a settings file that nobody asked for, but which lay in the working folder, names
/// strategies (`recap.toml:3`), and where it changes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Unasked {
    pub strategies: Option<String>,
    pub changes: Option<String>,
}

/// A value that file or environment give to one option.
#[derive(Debug, PartialEq)]
struct Setting {
    key: String,
    /// `true` or `false` for an option without a value.
    values: Vec<String>,
    /// Its position: `recap.toml:3`, or the name of the variable.
    from: String,
}

/// A file and its text.
struct File {
    name: String,
    text: String,
    /// Whether somebody named it.
    asked: bool,
}

/// Parses the command line, completed by environment and file. Help and errors
/// of clap end the program as clap would.
pub(super) fn parse(typed: Vec<OsString>) -> Result<Cli, Failure> {
    // A person at a terminal is told what to run; scripts get the help as an error.
    let root = root().arg_required_else_help(!wire::is_terminal());
    let (mut used, mut unasked) = (None, Unasked::default());
    let line = match TypedOptions::in_line(&root, &typed) {
        None => typed,
        Some(options) => {
            misspelt(&root, &wire::variables())?;
            let file = options.file()?;
            let added = options.added(&wire::variable, file.as_ref())?;
            if let Some(file) = file {
                unasked = file.unasked(&added);
                used = Some(file.name);
            }
            options.with(&added)
        }
    };
    let matches = root.try_get_matches_from(line).map_err(refuse)?;
    if let Some(name) = used {
        wire::say(&format!("settings of {name}"));
    }
    let mut cli = Cli::from_arg_matches(&matches).map_err(refuse)?;
    // A search takes no strategy from a file.
    if let Some(super::Command::Bench(own) | super::Command::Replay(own)) = &mut cli.command {
        own.config.unasked = unasked;
    }
    Ok(cli)
}

impl File {
    /// What of this file became part of the command line without being asked for.
    fn unasked(&self, added: &[(&Arg, Setting)]) -> Unasked {
        let of_file = format!("{}:", self.name);
        let place = |key: &str| {
            let own = added.iter().map(|(_, setting)| setting).filter(|_| !self.asked);
            let mut own = own.filter(|setting| setting.from.starts_with(&of_file));
            own.find(|setting| setting.key == key).map(|setting| setting.from.clone())
        };
        Unasked { strategies: place("strategy"), changes: place("set") }
    }
}

/// Reports an error of clap as clap would, unless it quotes control characters
/// or very long text, such as another person's file name, or is about a window,
/// whose forms are shown by examples.
fn refuse(error: clap::Error) -> Failure {
    if let Some(window) = error.source().and_then(|source| source.downcast_ref::<WindowError>()) {
        return Failure::usage(window.to_string())
            .help("for example --window 25%, --window 16k, or --window native");
    }
    let message = error.to_string();
    let plain = message == harmless(&message) && quotes(&error).next().is_none();
    if plain || !error.use_stderr() {
        error.exit();
    }
    Failure::usage(said_by(&error)).help("`recap COMMAND --help` says what it takes")
}

/// The values in an error of clap that are too long, each with its excerpt.
fn quotes(error: &clap::Error) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    error.context().filter_map(|(_, value)| match value {
        ContextValue::String(value) => {
            Some((value.as_str(), excerpt(value))).filter(|(value, short)| value != short)
        }
        _ => None,
    })
}

/// The command line that a settings file makes of `recap bench`. Nothing is run
/// and no file is opened: for tests of the reader.
///
/// # Errors
/// What is wrong with the file.
#[doc(hidden)]
pub fn bench_with(text: &str) -> Result<Vec<OsString>, Failure> {
    let root = root();
    let typed = ["recap", KEYS_OF].map(OsString::from);
    let options = TypedOptions::in_line(&root, &typed).expect("settings apply to this subcommand");
    let file = File { name: FILE.to_owned(), text: text.to_owned(), asked: false };
    let line = options.with(&options.added(&|_| None, Some(&file))?);
    let read = root.try_get_matches_from(&line).and_then(|found| Cli::from_arg_matches(&found));
    read.map_err(|error| Failure::usage(said_by(&error)))?;
    Ok(line)
}

fn root() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

/// The options typed after a subcommand that settings apply to.
struct TypedOptions<'a> {
    root: &'a Command,
    command: &'a Command,
    typed: &'a [OsString],
    matches: ArgMatches,
}

impl<'a> TypedOptions<'a> {
    /// `None` where settings do not apply: another subcommand, or help.
    fn in_line(root: &'a Command, typed: &'a [OsString]) -> Option<Self> {
        // A missing option may be in the file, so nothing is refused yet.
        let lenient = root.clone().ignore_errors(true);
        let mut all = lenient.try_get_matches_from(typed).ok()?;
        let (name, matches) = all.remove_subcommand()?;
        CONFIGURED.contains(&name.as_str()).then_some(())?;
        Some(Self { root, command: root.find_subcommand(&name)?, typed, matches })
    }

    /// The settings file given by `--config`, or the one in the working directory.
    fn file(&self) -> Result<Option<File>, Failure> {
        let asked = self.matches.get_one::<PathBuf>("config").cloned();
        let asked = asked.or_else(|| wire::variable("RECAP_CONFIG").map(PathBuf::from));
        let (path, asked) = match asked {
            Some(path) => (path, true),
            None if Path::new(FILE).is_file() => (PathBuf::from(FILE), false),
            None => return Ok(None),
        };
        let name = path.display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(File { name, text, asked })),
            Err(error) => Err(Failure::usage(format!("cannot read {name}: {error}"))
                .help("`recap init` writes a recap.toml")),
        }
    }

    /// The settings of environment and file that complete the command line.
    fn added(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
        file: Option<&File>,
    ) -> Result<Vec<(&'a Arg, Setting)>, Failure> {
        let keys = self.root.find_subcommand(KEYS_OF).expect("it is a subcommand");
        let own = self.command.get_arguments();
        let mut known: Vec<&Arg> = own.filter(|arg| self.is_typed(arg)).collect();
        let mut added = Vec::new();
        let sources = [environment(keys, variable)?, read(keys, file)?];
        let typed = self.matches.try_get_many::<String>("fail_on").ok().flatten();
        let mut rules: Vec<String> = typed.into_iter().flatten().cloned().collect();
        for settings in sources {
            let beaten = known.clone();
            // Rules of a stronger source have no use for the baseline of a weaker one.
            let is_idle = !rules.is_empty() && !rules.iter().any(|rule| rule.contains("baseline"));
            for setting in settings {
                self.check(&setting)?;
                if is_idle && setting.key == "baseline" {
                    continue;
                }
                let Some(arg) = self.target_of(&setting) else { continue };
                if beaten.iter().any(|other| self.exclude(arg, other)) {
                    continue;
                }
                if setting.key == "fail-on" {
                    rules.clone_from(&setting.values);
                }
                known.push(arg);
                added.push((arg, setting));
            }
        }
        Ok(added)
    }

    fn is_typed(&self, arg: &Arg) -> bool {
        self.matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// The option of this subcommand that a setting applies to, if any.
    fn target_of(&self, setting: &Setting) -> Option<&'a Arg> {
        let idle = match self.command.get_name() {
            "replay" => ASKED_ONLY.contains(&&*setting.key),
            "tune" => SEARCHED.contains(&&*setting.key),
            _ => false,
        };
        let mut own = self.command.get_arguments();
        own.find(|arg| !idle && key(arg).as_deref() == Some(&setting.key))
    }

    /// Whether two options exclude each other.
    fn exclude(&self, one: &Arg, other: &Arg) -> bool {
        let rivals = |of: &Arg, arg: &Arg| {
            self.command.get_arg_conflicts_with(of).iter().any(|r| r.get_id() == arg.get_id())
        };
        one.get_id() == other.get_id() || rivals(one, other) || rivals(other, one)
    }

    /// Refuses a value that its option would refuse, and names its position.
    fn check(&self, setting: &Setting) -> Result<(), Failure> {
        let keys = self.root.find_subcommand(KEYS_OF).expect("it is a subcommand");
        let arg = keys.get_arguments().find(|arg| key(arg).as_deref() == Some(&setting.key));
        let arg = arg.expect("only known keys become settings");
        let mut line: Vec<OsString> = vec!["recap".into(), KEYS_OF.into()];
        line.extend(words(arg, setting));
        let Err(error) = self.root.clone().try_get_matches_from(line) else { return Ok(()) };
        // Whether options fit together is checked once the command line is complete.
        match error.kind() {
            ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument => Ok(()),
            _ => Err(refused(&setting.from, &said_by(&error))
                .help(format!("`recap {KEYS_OF} --help` says what {} takes", setting.key))),
        }
    }

    /// Adds options before what was typed, and inputs after it.
    fn with(&self, added: &[(&Arg, Setting)]) -> Vec<OsString> {
        let name = self.command.get_name();
        let at = self.typed.iter().position(|word| word == name).map_or(0, |at| at + 1);
        let (head, rest) = self.typed.split_at(at);
        let (inputs, options): (Vec<_>, Vec<_>) =
            added.iter().partition(|(arg, _)| arg.is_positional());
        let words_of = |list: Vec<&(&Arg, Setting)>| -> Vec<OsString> {
            list.into_iter().flat_map(|(arg, setting)| words(arg, setting)).collect()
        };
        let inputs = words_of(inputs);
        let mut line = [head.to_vec(), words_of(options), rest.to_vec()].concat();
        if !inputs.is_empty() && !rest.iter().any(|word| word == "--") {
            line.push("--".into());
        }
        line.extend(inputs);
        line
    }
}

/// The key of an option in a file.
fn key(arg: &Arg) -> Option<String> {
    let name = match arg.get_long() {
        Some(long) => long.to_owned(),
        None => arg.is_positional().then(|| arg.get_id().to_string())?,
    };
    (!NO_KEYS.contains(&name.as_str())).then_some(name)
}

fn takes_no_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn takes_a_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// A setting as words of the command line.
fn words(arg: &Arg, setting: &Setting) -> Vec<OsString> {
    let key = &setting.key;
    let values = setting.values.iter();
    match arg {
        arg if takes_no_value(arg) => {
            values.filter(|value| *value == "true").map(|_| format!("--{key}").into()).collect()
        }
        arg if arg.is_positional() => values.map(OsString::from).collect(),
        _ => values.map(|value| format!("--{key}={value}").into()).collect(),
    }
}

/// The settings of environment variables: a list has one value a line.
fn environment(
    keys: &Command,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for arg in keys.get_arguments() {
        let Some(key) = key(arg) else { continue };
        let from = format!("{PREFIX}{}", key.to_uppercase().replace('-', "_"));
        let Some(text) = variable(&from) else { continue };
        let text = text.trim();
        let values = if takes_a_list(arg) {
            text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect()
        } else if takes_no_value(arg) {
            vec![switch(text).ok_or_else(|| {
                refused(&from, &format!("`{text}` is neither true nor false"))
                    .help("write true or false")
            })?]
        } else {
            vec![text.to_owned()]
        };
        settings.push(Setting { key, values, from });
    }
    Ok(settings)
}

/// Refuses a variable that is nearly a setting's: it would be ignored without a word.
fn misspelt(root: &Command, variables: &[String]) -> Result<(), Failure> {
    let keys = root.find_subcommand(KEYS_OF).expect("it is a subcommand");
    let keys = keys.get_arguments().filter_map(key).chain(["config".to_owned()]);
    let known: Vec<String> = keys.map(|key| key.to_uppercase().replace('-', "_")).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for name in variables {
        let Some(own) = name.strip_prefix(PREFIX).filter(|own| !known.contains(own)) else {
            continue;
        };
        if let [nearest, ..] = alike(own, known.iter().copied(), NEARLY)[..] {
            return Err(
                refused(name, "no such setting").help(format!("did you mean `{PREFIX}{nearest}`?"))
            );
        }
    }
    Ok(())
}

fn switch(text: &str) -> Option<String> {
    let on = match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => true,
        "false" | "no" | "off" | "0" => false,
        _ => return None,
    };
    Some(on.to_string())
}

/// The settings of a file, in its own order.
fn read(keys: &Command, file: Option<&File>) -> Result<Vec<Setting>, Failure> {
    let Some(File { name, text, .. }) = file else { return Ok(Vec::new()) };
    let broken = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        refused(&format!("{name}:{line}"), error.message())
            .help("write `key = value`, `key = [\"one\", \"two\"]` or `key = true`")
    };
    let table: Table = text.parse().map_err(broken)?;
    let spans = toml::de::DeTable::parse(text).map_err(broken)?;
    let mut places: Vec<(usize, &str)> =
        spans.get_ref().keys().map(|key| (key.span().start, key.get_ref().as_ref())).collect();
    places.sort_unstable();
    let mut settings = Vec::new();
    for (start, written) in places {
        let from = format!("{name}:{}", line_at(text, start));
        let arg = keys.get_arguments().find(|arg| key(arg).as_deref() == Some(written));
        let arg = arg.ok_or_else(|| unknown(keys, &from, written))?;
        let values = values(arg, &table[written]).ok_or_else(|| {
            let (takes, such) = takes(arg);
            refused(&from, &format!("`{written}` takes {takes}"))
                .help(format!("for example `{written} = {such}`"))
        })?;
        settings.push(Setting { key: written.to_owned(), values, from });
    }
    Ok(settings)
}

fn line_at(text: &str, start: usize) -> usize {
    let before = text.as_bytes().get(..start).unwrap_or(text.as_bytes());
    1 + memchr::memchr_iter(b'\n', before).count()
}

fn unknown(keys: &Command, from: &str, written: &str) -> Failure {
    let known: Vec<String> = keys.get_arguments().filter_map(key).collect();
    let like = suggest(&written.replace('_', "-"), known.iter().map(String::as_str));
    refused(from, &format!("`{written}` is not known")).help(like)
}

/// The values of an option as text; `None` for a value of the wrong type.
fn values(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Boolean(on) => takes_no_value(arg).then(|| vec![on.to_string()]),
        Value::Array(all) if takes_a_list(arg) => all.iter().map(word).collect(),
        _ if takes_no_value(arg) => None,
        one => word(one).map(|word| vec![word]),
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(n) => Some(n.to_string()),
        Value::Float(x) => Some(x.to_string()),
        _ => None,
    }
}

/// The type of value that an option needs, with an example.
fn takes(arg: &Arg) -> (&'static str, &'static str) {
    match arg {
        arg if takes_no_value(arg) => ("true or false", "true"),
        arg if takes_a_list(arg) => ("text, or a list of texts", "[\"one\", \"two\"]"),
        _ => ("one text or number", "\"text\""),
    }
}

fn refused(from: &str, problem: &str) -> Failure {
    Failure::usage(format!("{from}: {problem}"))
}

/// The message of a clap error on one line, with long values cut short.
fn said_by(error: &clap::Error) -> String {
    let mut text = error.to_string();
    for (value, short) in quotes(error) {
        text = text.replace(value, &short);
    }
    let message = text.split("\n\n").next().unwrap_or(&text);
    let message: Vec<&str> = message.trim_start_matches("error: ").lines().map(str::trim).collect();
    message.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is parsed when this is typed, with this variable and this file.
    fn line(typed: &str, variable: &str, text: &str) -> Result<String, String> {
        let root = root();
        let typed: Vec<OsString> =
            ["recap"].into_iter().chain(typed.split(' ')).map(OsString::from).collect();
        let options =
            TypedOptions::in_line(&root, &typed).expect("a subcommand that settings apply to");
        let variable = |name: &str| {
            let set = variable.split_once('=').filter(|(known, _)| *known == name);
            set.map(|(_, value)| value.to_owned())
        };
        let file = File { name: FILE.to_owned(), text: text.to_owned(), asked: false };
        let added = options.added(&variable, Some(&file)).map_err(|failure| failure.to_string())?;
        let words = options.with(&added).into_iter().skip(1);
        Ok(words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[track_caller]
    fn error(text: &str) -> String {
        line("bench", "", text).unwrap_err()
    }

    #[test]
    fn the_shape_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// What is typed replaces a variable, which replaces the file; lists are never joined.
    #[test]
    fn strongest_source_replaces_the_others_whole() {
        let cases = [
            ("bench", "", "seed = 3", "bench --seed=3"),
            ("bench", "RECAP_SEED=2", "seed = 3", "bench --seed=2"),
            ("bench --seed 1", "RECAP_SEED=2", "seed = 3", "bench --seed 1"),
            ("bench", "", LIST, "bench --strategy=fifo --strategy=prune"),
            ("bench", LINES, LIST, "bench --strategy=zoea --strategy=lis"),
            ("bench --strategy gsv", LINES, LIST, "bench --strategy gsv"),
            ("bench", "", "no-text = true", "bench --no-text"),
            ("bench", "", "no-text = false", "bench"),
            ("bench", "RECAP_NO_TEXT=false", "no-text = true", "bench"),
            ("bench --no-text", "", "no-text = false", "bench --no-text"),
            ("bench -q", "", INPUTS, "bench -q -- --json a b.jsonl"),
            ("bench mine.jsonl", "", INPUTS, "bench mine.jsonl"),
            ("bench", "", RECORD, "bench --cassette=calls.jsonl --record"),
            ("bench --replay", "", RECORD, "bench --cassette=calls.jsonl --replay"),
        ];
        for (typed, variable, file, expected) in cases {
            assert_eq!(line(typed, variable, file).unwrap(), expected, "{typed} {variable} {file}");
        }
    }

    const LIST: &str = "strategy = [\"fifo\", \"prune\"]";
    const LINES: &str = "RECAP_STRATEGY= zoea\n\nlis\n";
    /// Inputs come last and cannot become options.
    const INPUTS: &str = "inputs = [\"--json\", \"a b.jsonl\"]";
    const RECORD: &str = "cassette = \"calls.jsonl\"\nrecord = true";

    #[test]
    fn subcommand_receives_only_settings_it_has_options_for() {
        let file = "window = \"25%\"\nformat = \"csv\"\njudge = \"openai/x\"";
        assert_eq!(line("report run", "", file).unwrap(), "report --format=csv run");
        assert_eq!(line("replay", "", file).unwrap(), "replay --window=25% --format=csv");
        let root = root();
        let typed = ["recap", "models", "list"].map(OsString::from);
        assert!(TypedOptions::in_line(&root, &typed).is_none());
    }

    #[test]
    fn unknown_key_is_refused_with_line_and_nearest() {
        let shown = error("seed = 1\n\nwindws = \"25%\"\n");
        assert_eq!(
            shown,
            "error: recap.toml:3: `windws` is not known\nhelp: did you mean `window`, `wide`?\n"
        );
        assert!(error("no_text = true").contains("did you mean `no-text`?"));
        let listed = error("xyzzyxyzzy = 1");
        assert!(
            listed.contains("help: known are `inputs`, `") && listed.contains(" more"),
            "{listed}"
        );
        assert!(error("config = \"other.toml\"").contains("`config` is not known"));
        assert!(error("[bench]\nseed = 1").contains("recap.toml:1: `bench` is not known"));
    }

    #[test]
    fn value_of_wrong_type_is_refused_with_line() {
        assert_eq!(
            error("\nquiet = \"yes\""),
            "error: recap.toml:2: `quiet` takes true or false\nhelp: for example `quiet = true`\n"
        );
        assert!(error("seed = [1, 2]").contains("recap.toml:1: `seed` takes one text or number"));
        assert!(error("window = true").contains("`window` takes text, or a list of texts"));
        let shown = error("limit = 2\nseed = \"many\"");
        assert!(shown.contains("recap.toml:2: invalid value 'many' for '--seed <N>'"), "{shown}");
        assert!(shown.contains("help: `recap bench --help` says what seed takes"), "{shown}");
        let shown = error("redact = \"maybe\"");
        assert!(shown.contains("[possible values: yes, no]"), "{shown}");
    }

    #[test]
    fn broken_toml_is_refused_with_its_line() {
        let shown = error("seed = 1\nwindow = \n");
        assert!(shown.starts_with("error: recap.toml:2: "), "{shown}");
        let shown = error("seed = 1\nseed = 2\n");
        assert!(shown.starts_with("error: recap.toml:2: "), "{shown}");
    }

    #[test]
    fn misspelt_variable_is_refused_with_nearest() {
        let root = root();
        let refused = |name: &str| misspelt(&root, &[name.to_owned()]).map_err(|e| e.to_string());
        for (name, meant) in [
            ("RECAP_FAILON", "RECAP_FAIL_ON"),
            ("RECAP_FAIL_IN", "RECAP_FAIL_ON"),
            ("RECAP_WINDWO", "RECAP_WINDOW"),
            ("RECAP_BASE_LINE", "RECAP_BASELINE"),
            ("RECAP_STRATEGIES", "RECAP_STRATEGY"),
            ("RECAP_INPUT", "RECAP_INPUTS"),
            ("RECAP_CONFG", "RECAP_CONFIG"),
        ] {
            let error = refused(name).unwrap_err();
            let expected = format!("error: {name}: no such setting\nhelp: did you mean `{meant}`?");
            assert_eq!(error.trim_end(), expected);
        }
        // Settings, those of others, and what nobody calls a setting.
        for name in [
            "RECAP_FAIL_ON",
            "RECAP_CONFIG",
            "RECAPTCHA_WINDWO",
            "RECAP_REPOSITORY",
            "RECAP_PYTHON_TOOLS",
            "RECAP_UPDATE_DOCS",
            "RECAP_RELEASE_TOOLS",
            "RECAP_TOOL",
            "RECAP_COMMAND",
            "RECAP_ARGUMENTS",
            "RECAP_PEERS_HOME",
            "RECAP_ALL_SEQUENCES",
            "RECAP_RAY",
        ] {
            assert_eq!(refused(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_variable_that_is_no_value_is_named() {
        let shown = line("bench", "RECAP_QUIET=perhaps", "").unwrap_err();
        assert!(shown.contains("RECAP_QUIET: `perhaps` is neither true nor false"), "{shown}");
        let shown = line("bench", "RECAP_SEED=x", "").unwrap_err();
        assert!(shown.contains("RECAP_SEED: invalid value 'x' for '--seed <N>'"), "{shown}");
    }
}
