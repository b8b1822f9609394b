//! The tables of the documents that are made from the library and from the
//! tests; `tests/common/generated.rs` says how they are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use recap_core::model::{Column, Direction, QuestionKind, Unit, catalogue};
use recap_formats::{self as dataset, FORMATS, Tried};
use recap_measure::agent_settings;
use recap_report as report;
use recap_strategy::{MECHANISMS, MechanismSpec, Strategy, builtin, builtin_names};

use crate::docs::{root, rust_files};
use crate::generated_parts::hold;

/// The numbers by which tests name the published designs: Arachne, GenCode, Lis,
/// Zoea Nova and GSV.
const DESIGNS: [&str; 5] = ["000", "001", "002", "003", "004"];

/// A list of entries, each a name and what is said of it.
pub fn list(entries: impl IntoIterator<Item = (String, String)>) -> String {
    entries.into_iter().map(|(name, says)| format!("- {name}: {says}\n")).collect()
}

/// Names as code.
pub fn code<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The sections of the reference whose measures are listed in them.
const OWN_SECTIONS: [&str; 7] = ["1", "2", "3", "4", "5", "6", "7"];
/// The document of the other measures, those at cuts.
const OF_CUTS: &str = "how-it-works";

/// Of a measure that is a bound of another one's interval, that one.
fn bounded(id: &str) -> Option<&'static str> {
    let base = id.strip_suffix("_lo").or(id.strip_suffix("_hi"))?;
    catalogue::find(base).map(|measure| measure.id)
}

/// The name of a measure, with a mark where it has no column.
fn marked(id: &str, column: Column) -> String {
    match column {
        Column::Csv => code([id]),
        Column::JsonOnly => format!("{}¹", code([id])),
    }
}

/// An entry for each measure of a section; one stands for those of all kinds of questions, and
/// bounds of intervals are named in one.
fn measures(belongs: impl Fn(&str) -> bool) -> String {
    let mut list = String::new();
    let mut bounds: BTreeMap<bool, Vec<&str>> = BTreeMap::new();
    for measure in catalogue::all().filter(|measure| belongs(measure.section)) {
        if let Some(base) = bounded(measure.id) {
            let of = bounds.entry(measure.column == Column::JsonOnly).or_default();
            if !of.contains(&base) {
                of.push(base);
            }
            continue;
        }
        let id = match measure.kind {
            None => measure.id.to_owned(),
            Some(QuestionKind::Fact) => measure.id.replace("fact", "<kind>"),
            Some(_) => continue,
        };
        let better = match measure.direction {
            Direction::Higher => " ↑",
            Direction::Lower => " ↓",
            Direction::Neutral => "",
        };
        let (id, unit) = (marked(&id, measure.column), measure.unit.as_str());
        // The unit says it.
        let meaning = match measure.unit {
            Unit::Share => measure.meaning.strip_prefix("share of ").unwrap_or(measure.meaning),
            _ => measure.meaning,
        };
        writeln!(list, "- {id} ({unit}{better}): {meaning}").unwrap();
    }
    for (json_only, of) in bounds {
        let mark = if json_only { "¹" } else { "" };
        let names = code(of);
        writeln!(list, "- `…_lo`{mark}, `…_hi`{mark}: bounds of the 95 % interval of {names}")
            .unwrap();
    }
    list
}

#[test]
fn the_lists_of_measures_are_the_catalogue() {
    let mut listed = BTreeSet::new();
    for number in OWN_SECTIONS {
        let section = format!("reference §{number}");
        let belongs = |of: &str| of == section;
        listed.extend(catalogue::all().filter(|of| belongs(of.section)).map(|of| of.id));
        hold("docs/reference.md", &format!("measures-{number}"), &measures(belongs));
    }
    let belongs = |of: &str| of.split(" §").next() == Some(OF_CUTS);
    listed.extend(catalogue::all().filter(|of| belongs(of.section)).map(|of| of.id));
    hold("docs/reference.md", "measures-cuts", &measures(belongs));
    assert!(catalogue::all().all(|measure| listed.contains(measure.id)));
}

/// The built-in strategies of a group.
fn strategies(belongs: impl Fn(&Strategy) -> bool) -> String {
    let all = builtin_names().map(|name| builtin(name, &[]).unwrap().unwrap());
    let mut group: Vec<Strategy> = all.filter(belongs).collect();
    // The sources of the published designs begin with their number.
    group.sort_by_key(|strategy| {
        (strategy.source.get(..8).unwrap_or("").to_owned(), strategy.name.clone())
    });
    list(group.iter().map(|strategy| {
        let mark = if strategy.uses_compactor() { "†" } else { "" };
        let name = code([strategy.name.as_str()]) + mark;
        match source(strategy) {
            None => (name, strategy.summary.clone()),
            Some(source) if source.len() == 3 => {
                (format!("{name} ({source})"), strategy.summary.clone())
            }
            Some(source) => (name, format!("{} Source: {source}", strategy.summary)),
        }
    }))
}

/// Where the numbers of a strategy are from: of the published designs the design.
fn source(strategy: &Strategy) -> Option<String> {
    match strategy.source.strip_prefix("seed ") {
        _ if strategy.control => None,
        Some(rest) => {
            let number = rest.get(..3).unwrap();
            assert!(DESIGNS.contains(&number), "{}", strategy.name);
            Some(number.to_owned())
        }
        None => Some(strategy.source.clone()),
    }
}

#[test]
fn strategy_tables_equal_the_built_in_files() {
    let is_seed = |strategy: &Strategy| strategy.source.starts_with("seed ");
    hold("docs/strategies.md", "controls", &strategies(|p| p.control));
    hold("docs/strategies.md", "designs", &strategies(|p| !p.control && is_seed(p)));
    hold("docs/strategies.md", "agents", &strategies(|p| !p.control && !is_seed(p)));
}

#[test]
fn settings_table_equals_the_built_in_file() {
    // Those that no strategy replays are never offered.
    let offered = agent_settings().iter().filter(|one| !one.strategies.is_empty());
    let settings = offered.map(|one| {
        let (own, names) = (&one.setting, code(one.strategies.iter().map(String::as_str)));
        let line = format!("{} in {}", code([own.line.as_str()]), own.file);
        let note = own.note.iter().map(|note| format!(". {}", note.trim_end_matches('.')));
        let note: String = note.collect();
        (names, format!("{line}{note} ([{}]({})).", own.version, own.source))
    });
    hold("docs/result.md", "settings", &list(settings));
}

#[test]
fn every_setting_names_existing_format_and_strategies() {
    let strategies: BTreeSet<&str> = builtin_names().collect();
    for one in agent_settings() {
        assert!(
            FORMATS.iter().any(|format| format.name == one.setting.agent),
            "{}",
            one.setting.agent
        );
        assert!(
            one.strategies.iter().all(|name| strategies.contains(name.as_str())),
            "{}",
            one.setting.name
        );
        let line = one.setting.line.replace("{tokens}", "1").replace("{fraction}", "0.5");
        let line = line.replace("{reserve}", "1");
        // Lines of JSON are members of an object.
        if line.starts_with('"') {
            serde_json::from_str::<serde_json::Value>(&format!("{{{line}}}")).unwrap();
        }
        if one.setting.file.contains(".toml") {
            toml::from_str::<toml::Table>(&line).unwrap();
        }
    }
}

/// What a mechanism says that it takes, asked with a parameter that there is not.
fn parameters(mechanism: &MechanismSpec, more: &str) -> Vec<String> {
    let name = mechanism.name;
    let text = format!(
        "version = 1\nname = \"a\"\nsummary = \"b\"\nsource = \"c\"\n[[stage]]\n\
         mechanism = \"{name}\"\nat = \"request\"\nwhen = \"always\"\n{more}\nnot_there = 1\n"
    );
    let error = Strategy::parse(None, "a.toml", &text, &[], &|_| None).unwrap_err().to_string();
    let (_, says) =
        error.split_once("unknown field `not_there`, ").unwrap_or_else(|| panic!("{error}"));
    says.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All parameters of a mechanism; what one of them chooses may take others.
fn all_parameters(mechanism: &MechanismSpec) -> Vec<String> {
    if mechanism.name != "rolling-sessions" {
        return parameters(mechanism, "");
    }
    let mut all = vec!["action".to_owned()];
    for action in ["compact", "new", "summarise", "resume"] {
        for parameter in parameters(mechanism, &format!("action = \"{action}\"")) {
            if !all.contains(&parameter) {
                all.push(parameter);
            }
        }
    }
    all
}

#[test]
fn the_table_of_mechanisms_is_the_registry() {
    let mechanisms = MECHANISMS.iter().map(|mechanism| {
        let mark = if mechanism.uses_compactor { "†" } else { "" };
        let scales = match mechanism.scales {
            [] => String::new(),
            names => format!(" [{}]", code(names.iter().copied())),
        };
        (code([mechanism.name]) + mark, mechanism.summary.to_owned() + &scales)
    });
    hold("docs/strategies.md", "mechanisms", &list(mechanisms));
}

#[test]
fn every_mechanism_parameter_is_documented_in_detail() {
    let page = fs::read_to_string(root().join("docs/strategies.md")).unwrap();
    let (_, section) = page.split_once("\n### Parameters\n").unwrap();
    for mechanism in MECHANISMS {
        let row = format!("- `{}`: ", mechanism.name);
        let row = section.lines().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("no row for {}", mechanism.name));
        for parameter in all_parameters(mechanism) {
            assert!(row.contains(&code([parameter.as_str()])), "{}: {parameter}", mechanism.name);
        }
    }
}

#[test]
fn table_of_read_formats_equals_the_registry() {
    let formats = dataset::FORMATS.iter().map(|format| {
        let tried = match format.tried {
            Tried::Own => "recap's own".to_owned(),
            Tried::Documentation => "0 real files".to_owned(),
            Tried::On { files: 1, .. } => "1 real file".to_owned(),
            Tried::On { files, .. } => format!("{files} real files"),
        };
        (format!("{} ({tried})", code([format.name])), format.describe.to_owned())
    });
    hold("docs/files.md", "formats", &list(formats));
}

#[test]
fn the_list_of_rendered_files_is_the_registry() {
    let page = fs::read_to_string(root().join("docs/files.md")).unwrap();
    let (_, section) = page.split_once("<!-- rendered: begin -->\n").unwrap();
    let (section, _) = section.split_once("<!-- rendered: end -->").unwrap();
    let listed: Vec<&str> = section.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    // Parquet is there in some builds only.
    let rendered = report::FORMATS.iter().filter(|format| format.name != "parquet");
    let files =
        rendered.map(|format| format!("- {} ({})", code([format.file]), code([format.name])));
    assert_eq!(listed, files.collect::<Vec<_>>());
}

/// Every Rust file of the package's sources and tests, by path.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    ["crates", "tests"].iter().for_each(|folder| rust_files(&root().join(folder), &mut files));
    files.sort();
    files
}

#[test]
fn every_test_of_a_design_names_its_sentence() {
    let suites = ["session_state", "continuation", "chunked_summary"];
    let of_a_design = |stem: &str| stem.starts_with("seed_") || suites.contains(&stem);
    let mut seen = 0;
    for file in files() {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let tests = text.lines().filter(|line| line.trim() == "#[test]").count();
        if of_a_design(stem) && tests > 0 {
            let sentences =
                DESIGNS.map(|number| text.matches(&format!("/// Seed {number}: ")).count());
            assert_eq!(sentences.iter().sum::<usize>(), tests, "{}", file.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 11, "files with tests of designs");
}
