//! The parts of the documents that are made from the program's output, and the
//! columns of its files; `tests/common/generated.rs` says how they are written
//! anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use recap_core::model::catalogue;

use crate::desk::Desk;
use crate::generated_parts::hold;

#[test]
fn bare_bench_prints_readme_table_and_page_path() {
    let desk = Desk::new();
    let ran = desk.good(&["bench"]);
    let page = ran.last().strip_prefix(" page     ").expect("the last line is the path");
    assert!(desk.path(page).is_file(), "{page}");
    assert!(page.starts_with("reports/") && page.ends_with("-quickstart/report.html"), "{page}");
    for name in ["quickstart", "full", "fifo", "prune", "sliding-window", " requests"] {
        assert!(ran.out.contains(name), "{name} is missing in\n{}", ran.out);
    }
    assert!(ran.err.contains(" cells"), "{}", ran.err);
    let (table, _) = ran.out.trim_end().rsplit_once('\n').unwrap();
    hold("README.md", "table", &format!("```text\n{table}\n```\n"));
}

/// An entry of a part of the help: an argument, an option or a command, and what it says.
type Entry = (String, String);

/// The short help of a command: its usage, and its parts with their entries, a line each.
struct Help {
    about: String,
    usage: String,
    parts: Vec<(String, Vec<Entry>)>,
}

impl Help {
    /// The help as wide as it takes for an entry a line.
    fn of(desk: &Desk, path: &[&str]) -> Help {
        let ran = desk.recap_with(&[("COLUMNS", "5000")], &[path, &["-h"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let (about, rest) = ran.out.split_once("\n\nUsage: ").unwrap();
        let (usage, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let mut parts: Vec<(String, Vec<Entry>)> = Vec::new();
        for line in rest.lines().filter(|line| !line.is_empty()) {
            match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
                Some(head) => parts.push((head.to_owned(), Vec::new())),
                None => {
                    let (name, says) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
                    let entry = (name.to_owned(), says.trim().to_owned());
                    parts.last_mut().unwrap_or_else(|| panic!("{line}")).1.push(entry);
                }
            }
        }
        for (_, entries) in &mut parts {
            entries.retain(|(name, _)| !name.ends_with("--help") && !name.ends_with("--version"));
            entries.retain(|(name, _)| name != "help");
        }
        parts.retain(|(_, entries)| !entries.is_empty());
        let usage = usage.replace(" [OPTIONS]", "");
        let usage = usage.lines().map(str::trim).collect::<Vec<_>>().join("`, `");
        Help { about: about.trim().to_owned(), usage, parts }
    }

    /// The commands under it.
    fn commands(&self) -> Vec<&str> {
        let listed = self.parts.iter().filter(|(head, _)| head == "Commands");
        listed.flat_map(|(_, entries)| entries.iter().map(|(name, _)| name.as_str())).collect()
    }

    /// Everything but the commands.
    fn own(&self) -> impl Iterator<Item = &(String, Vec<Entry>)> {
        self.parts.iter().filter(|(head, _)| head != "Commands")
    }
}

/// Writes the help of a command and of those under it; what `bench` says in the same words is
/// named alone.
fn describe(desk: &Desk, path: &[&str], bench: &Help, page: &mut String) {
    let help = Help::of(desk, path);
    let is_bench = path == ["bench"];
    let known: BTreeSet<&Entry> = bench.parts.iter().flat_map(|(_, entries)| entries).collect();
    if help.own().next().is_some() || help.commands().is_empty() {
        let name = [&["recap"], path].concat().join(" ");
        if help.usage == name {
            writeln!(page, "### {name}\n\n{}.\n", help.about).unwrap()
        } else {
            writeln!(page, "### {name}\n\n{}: `{}`\n", help.about, help.usage).unwrap()
        }
        let mut shared = Vec::new();
        for (head, entries) in help.own() {
            let is_shared = |entry: &&Entry| !is_bench && known.contains(entry);
            let own: Vec<&Entry> = entries.iter().filter(|entry| !is_shared(entry)).collect();
            shared.extend(entries.iter().filter(is_shared).map(|(name, _)| name));
            if is_bench && !own.is_empty() {
                writeln!(page, "{head}:\n").unwrap();
            }
            for (name, says) in &own {
                writeln!(page, "- `{name}`: {says}").unwrap();
            }
            if is_bench {
                page.push('\n');
            }
        }
        let of = help.own().flat_map(|(_, entries)| entries).count();
        if path == ["replay"] {
            assert_eq!((shared.len(), of), (known.len(), known.len()), "as bench");
            writeln!(page, "Arguments and options are those of `recap bench`.").unwrap();
        } else if shared.len() + 1 == of && of == known.len() {
            writeln!(page, "All others are those of `recap bench`.").unwrap();
        } else if !shared.is_empty() {
            let short = shared.into_iter().map(|name| {
                let option = name.split(' ').find(|word| word.starts_with("--")).unwrap_or(name);
                format!("`{}`", option.trim_end_matches(','))
            });
            let short = short.collect::<Vec<_>>().join(", ");
            writeln!(page, "- As in `recap bench`: {short}").unwrap();
        }
        page.push('\n');
    }
    for command in help.commands() {
        describe(desk, &[path, &[command]].concat(), bench, page);
    }
}

// With Parquet the formats' default is another.
#[cfg(not(feature = "parquet"))]
#[test]
fn reference_commands_match_help_output() {
    let (desk, mut page) = (Desk::new(), String::new());
    let bench = Help::of(&desk, &["bench"]);
    for command in Help::of(&desk, &[]).commands() {
        describe(&desk, &[command], &bench, &mut page);
    }
    let lines: Vec<&str> = page.trim_end().lines().map(str::trim_end).collect();
    let page = lines.join("\n").replace("\n\n\n", "\n\n");
    hold("docs/reference.md", "help", &format!("{page}\n"));
}

/// Columns that the lists under a heading of the page name before what they say.
fn described(page: &str, heading: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| *line != format!("### {heading}")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('#'));
    let cells = lines.filter_map(|line| line.strip_prefix("- `")?.split(": ").next());
    let names = cells.flat_map(|cell| {
        cell.split(", ").flat_map(|names| names.split("`/`")).map(|name| name.trim_matches('`'))
    });
    names.map(str::to_owned).collect()
}

#[test]
fn exactly_the_columns_of_every_file_are_described() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/files.md");
    let page = fs::read_to_string(page).unwrap();
    let keys = described(&page, "Columns that name a row");
    let desk = Desk::with_run(&[]);
    let files: Vec<String> =
        desk.list("run").into_iter().filter(|name| name.ends_with(".csv")).collect();
    assert_eq!(files.len(), 16, "{files:?}");
    for file in files {
        let mut known = described(&page, &file);
        let header = desk.read(&format!("run/{file}"));
        let header = header.lines().next().unwrap().split(',');
        let columns: BTreeSet<String> = header
            .filter(|name| !keys.contains(*name) || known.contains(*name))
            .map(str::to_owned)
            .collect();
        if file == "summary.csv" {
            assert!(known.is_subset(&columns), "{known:?}");
            known.extend(catalogue::all().map(|measure| measure.id.to_owned()));
            assert!(columns.is_subset(&known), "{:?}", columns.difference(&known));
        } else {
            assert_eq!(known, columns, "{file}");
        }
    }
}
