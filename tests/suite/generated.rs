//! The tables of the documents that are made from the library and from the
//! tests; `tests/common/generated.rs` says how they are written anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use recap::dataset::{self, FORMATS, Tried};
use recap::measure::{Purpose, agent_settings};
use recap::model::{Column, ProbeKind, catalogue};
use recap::report;
use recap::strategy::{MECHANISMS, MechanismSpec, Preset, builtin, builtin_names};

use crate::docs::{anchor, root, rust_files};
use crate::generated_parts::hold;

/// The numbers by which tests name the published designs: Arachne, GenCode, Lis,
/// Zoea Nova and GSV.
const DESIGNS: [&str; 5] = ["000", "001", "002", "003", "004"];

/// A table with these column heads.
pub fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        writeln!(table, "| {} |", cells.join(" | ")).unwrap();
    }
    table
}

/// Names as code.
pub fn code<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Every measure of the catalogue; one row stands for those of all kinds of probes.
fn measures() -> String {
    let rows = catalogue::all().filter_map(|measure| {
        let id = match measure.kind {
            None | Some(ProbeKind::Abstain) => measure.id.to_owned(),
            Some(ProbeKind::Fact) => measure.id.replace("fact", "<kind>"),
            Some(_) => return None,
        };
        let (document, number) = measure.section.split_once(" §").unwrap();
        let text = fs::read_to_string(root().join(format!("docs/{document}.md"))).unwrap();
        let heads = text.lines().filter_map(|line| line.strip_prefix("## "));
        let mut heads = heads.filter(|head| head.starts_with(&format!("{number}. ")));
        let head = heads.next().unwrap_or_else(|| panic!("no section {}", measure.section));
        Some(vec![
            match measure.column {
                Column::Csv => code([id.as_str()]),
                Column::JsonOnly => format!("{} ¹", code([id.as_str()])),
            },
            measure.unit.as_str().to_owned(),
            measure.direction.as_str().to_owned(),
            measure.meaning.to_owned(),
            format!("[{}]({document}.md#{})", measure.section, anchor(head)),
        ])
    });
    table(&["measure", "counts in", "better", "stands for", "defined in"], rows)
}

#[test]
fn the_table_of_measures_is_the_catalogue() {
    hold("docs/measures.md", "measures", &measures());
}

/// The built-in presets of a group.
fn presets(belongs: impl Fn(&Preset) -> bool) -> String {
    let all = builtin_names().map(|name| builtin(name, &[]).unwrap().unwrap());
    let mut group: Vec<Preset> = all.filter(belongs).collect();
    // The sources of the published designs begin with their number.
    group.sort_by_key(|preset| {
        (preset.source.get(..8).unwrap_or("").to_owned(), preset.name.clone())
    });
    let rows = group.iter().map(|preset| {
        let writes = if preset.uses_compactor() { "yes" } else { "no" };
        vec![
            code([preset.name.as_str()]),
            preset.summary.clone(),
            writes.to_owned(),
            preset.source.clone(),
        ]
    });
    table(&["preset", "what it does", "calls a model", "source of its numbers"], rows)
}

#[test]
fn the_tables_of_presets_are_the_built_in_files() {
    let is_seed = |preset: &Preset| preset.source.starts_with("seed ");
    hold("docs/presets.md", "controls", &presets(|p| p.control));
    hold("docs/presets.md", "designs", &presets(|p| !p.control && is_seed(p)));
    hold("docs/presets.md", "agents", &presets(|p| !p.control && !is_seed(p)));
}

#[test]
fn the_table_of_settings_is_the_built_in_file() {
    let rows = agent_settings().iter().map(|one| {
        let when = match one.purpose {
            Purpose::Threshold => "when",
            Purpose::Strategy => "how",
        };
        let offered = match one.strategies.as_slice() {
            [] => "–".to_owned(),
            names => code(names.iter().map(String::as_str)),
        };
        let read = format!("[{}]({}), {}", one.version, one.source, one.checked);
        let note = one.note.clone().unwrap_or_default();
        let line = code([one.line.as_str()]);
        vec![
            code([one.agent.as_str()]),
            when.to_owned(),
            line,
            one.file.clone(),
            offered,
            note,
            read,
        ]
    });
    let heads = ["agent", "sets", "line", "where", "offered for", "to be known", "read in"];
    hold("docs/compacting.md", "settings", &table(&heads, rows));
}

#[test]
fn every_setting_is_of_a_format_and_of_presets_that_there_are() {
    let presets: BTreeSet<&str> = builtin_names().collect();
    for one in agent_settings() {
        assert!(FORMATS.iter().any(|format| format.name == one.agent), "{}", one.agent);
        assert!(one.strategies.iter().all(|name| presets.contains(name.as_str())), "{}", one.name);
        let line = one.line.replace("{tokens}", "1").replace("{fraction}", "0.5");
        let line = line.replace("{reserve}", "1");
        // Lines of JSON are members of an object.
        if line.starts_with('"') {
            serde_json::from_str::<serde_json::Value>(&format!("{{{line}}}")).unwrap();
        }
        if one.file.contains(".toml") {
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
    let error = Preset::parse("a.toml", &text, &[], &|_| None).unwrap_err().to_string();
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
    let rows = MECHANISMS.iter().map(|mechanism| {
        let writes = if mechanism.uses_compactor { "yes" } else { "no" };
        let parameters = all_parameters(mechanism);
        vec![
            code([mechanism.name]),
            mechanism.summary.to_owned(),
            writes.to_owned(),
            code(parameters.iter().map(String::as_str)),
            code(mechanism.scales.iter().copied()),
        ]
    });
    let heads = ["mechanism", "what it does", "calls a model", "parameters", "of these scale"];
    hold("docs/preset-files.md", "mechanisms", &table(&heads, rows));
}

#[test]
fn every_parameter_of_a_mechanism_is_told_in_detail() {
    let page = fs::read_to_string(root().join("docs/preset-files.md")).unwrap();
    let (_, section) = page.split_once("\n## Parameters\n").unwrap();
    for mechanism in MECHANISMS {
        let row = format!("| `{}` |", mechanism.name);
        let row = section.lines().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("no row for {}", mechanism.name));
        for parameter in all_parameters(mechanism) {
            assert!(row.contains(&code([parameter.as_str()])), "{}: {parameter}", mechanism.name);
        }
    }
}

#[test]
fn the_table_of_formats_that_are_read_is_the_registry() {
    let rows = dataset::FORMATS.iter().map(|format| {
        let (files, compared) = match format.tried {
            Tried::Own => ("its own".to_owned(), "what is written is read back"),
            Tried::Documentation => ("0".to_owned(), "nothing: from documentation"),
            Tried::On { files, compared } => (files.to_string(), compared),
        };
        vec![code([format.name]), format.describe.to_owned(), files, compared.to_owned()]
    });
    let head = ["name", "what it is", "real files read", "equal to an independent count"];
    hold("docs/formats.md", "formats", &table(&head, rows));
}

#[test]
fn the_table_of_rendered_files_is_the_registry() {
    // Parquet is there in some builds only.
    let rendered = report::FORMATS.iter().filter(|format| format.name != "parquet");
    let rows = rendered
        .map(|format| vec![code([format.file]), code([format.name]), format.about.to_owned()]);
    hold("docs/files.md", "rendered", &table(&["file", "`--format`", "holds"], rows));
}

/// Every Rust file of the package's sources and tests, by path.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    ["src", "tests"].iter().for_each(|folder| rust_files(&root().join(folder), &mut files));
    files.sort();
    files
}

#[test]
fn every_test_of_a_design_names_its_sentence() {
    let suites = ["session_state", "continuation", "chunked_summary", "memories"];
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
    assert_eq!(seen, 12, "files with tests of designs");
}
