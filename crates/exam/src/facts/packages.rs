//! Packages that others publish, and the names that are imported from them: who
//! knows a library knows these without having read them here.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashSet;

use super::occurrences::texts;
use recap_core::model::{IdentifierClass, Session};
use recap_core::text::is_framework;

/// A dependency with its version, as package.json, requirements.txt, go.mod and
/// Cargo.toml write it. Packages of the project itself have none.
static VERSIONED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?mx) "@?(?<json>[\w./-]+)" \s* : \s* "[\^~>=]*\d+\.\d
        | ^ (?: \s*\d+[→\t] )? \s* (?: require\ )? (?: (?<pip>[A-Za-z][\w.-]+) (?: \[[\w,]+\] )? \s* [=>~]= \s* \d
            | (?<go>[\w-]+\.[a-z]{2,}/[\w./-]+) \s v\d+\.\d
            | (?<cargo>[a-z][\w-]+) \s = \s (?: \{\ version\ =\ )? "\d )"#,
    )
    .expect("the pattern is constant and valid")
});

/// A command that installs packages.
static INSTALLED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)\b (?: (?:npm|pnpm|yarn|bun)\ (?:i|install|add) | (?:pip3?|uv|uv\ pip)\ (?:install|add)
            | cargo\ add | go\ get ) \ ([^\n;&|>'`\x22]+)",
    )
    .expect("the pattern is constant and valid")
});

/// An import of names from a package.
static IMPORTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) \b import \s+ (?: type \s+ )? (?<js>(?-u:[\w\s,{}*$]){1,300}?) \s from \s ["']@?(?<module>[\w./-]+)["']
        | \b from \s (?<python>\w+) [\w.]* \s import \s (?<names>[\w,\ ]+)"#,
    )
    .expect("the pattern is constant and valid")
});

/// The packages of others in a session, and what is imported from them.
pub(super) struct Packages<'a> {
    names: FxHashSet<&'a str>,
    /// Packages and parts of them that are imported.
    modules: FxHashSet<&'a str>,
    members: FxHashSet<&'a str>,
}

impl<'a> Packages<'a> {
    pub(super) fn new(session: &'a Session) -> Packages<'a> {
        let mut all = Packages {
            names: FxHashSet::default(),
            modules: FxHashSet::default(),
            members: FxHashSet::default(),
        };
        each(session, |text| all.read_names(text));
        each(session, |text| all.read_members(text));
        all
    }

    fn read_names(&mut self, text: &'a str) {
        let versioned = VERSIONED.captures_iter(text);
        self.names.extend(
            versioned.filter_map(|found| found.iter().flatten().nth(1)).map(|n| n.as_str()),
        );
        for found in INSTALLED.captures_iter(text) {
            let listed = found.get(1).map_or("", |names| names.as_str()).split_whitespace();
            let named =
                listed.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '@'));
            self.names.extend(named.map(|word| without_version(word.trim_start_matches('@'))));
        }
    }

    fn read_members(&mut self, text: &'a str) {
        for found in IMPORTED.captures_iter(text) {
            let part = |one, other| found.name(one).or(found.name(other)).map(|part| part.as_str());
            let Some(module) = part("module", "python").filter(|name| self.publishes(name)) else {
                continue;
            };
            self.modules.insert(module);
            let listed = part("js", "names").unwrap_or_default();
            let names = listed.split(|c: char| !c.is_alphanumeric() && c != '_');
            self.members.extend(names.filter(|name| !name.is_empty()));
        }
    }

    /// Whether a module is a package or a part of one: `next/navigation`.
    fn publishes(&self, module: &str) -> bool {
        let ends = module.match_indices('/').map(|(at, _)| at).chain([module.len()]);
        let mut parents = ends.map(|end| &module[..end]);
        parents.any(|name| is_framework(name) || self.names.contains(name))
    }

    /// Whether an identifier is that of a package or of something in it.
    pub(super) fn knows(&self, text: &str, class: IdentifierClass) -> bool {
        match class {
            IdentifierClass::Path => self.names.contains(text) || self.modules.contains(text),
            IdentifierClass::Kebab => self.publishes(text),
            IdentifierClass::Identifier => self.members.contains(text),
            IdentifierClass::Dotted => {
                text.split('.').next().is_some_and(|first| self.members.contains(first))
            }
            _ => false,
        }
    }
}

fn each<'a>(session: &'a Session, mut read: impl FnMut(&'a str)) {
    for message in &session.messages {
        texts(message, &mut |_, text| read(text));
    }
}

fn without_version(package: &str) -> &str {
    package.split(['@', '=', '>', '<', '[']).next().unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{talk, user};
    use super::*;

    #[test]
    fn versioned_package_and_its_imports_are_known() {
        let session = talk(vec![
            user("\"@tanstack/react-query\": \"^5.2.0\",\n\"@own/shared-types\": \"workspace:*\""),
            user("12→import { useQuery, type QueryKey } from '@tanstack/react-query'"),
            user("import { LedgerEntry } from '@own/shared-types'"),
            user("pip install langchain-core==0.3\nfrom langchain_core import RunnableMap"),
            user("npm install drizzle-orm@1 -D"),
            user("\"langchain_core\": \"1.2.3\""),
            user("import { useRouter } from 'next/navigation'; // next/own.ts"),
        ]);
        let packages = Packages::new(&session);
        for (text, class) in [
            ("tanstack/react-query", IdentifierClass::Path),
            ("next/navigation", IdentifierClass::Path),
            ("useRouter", IdentifierClass::Identifier),
            ("drizzle-orm", IdentifierClass::Kebab),
            ("langchain-core", IdentifierClass::Kebab),
            ("useQuery", IdentifierClass::Identifier),
            ("QueryKey", IdentifierClass::Identifier),
            ("RunnableMap", IdentifierClass::Identifier),
            ("QueryKey.parse", IdentifierClass::Dotted),
        ] {
            assert!(packages.knows(text, class), "{text}");
        }
        for (text, class) in [
            ("own/shared-types", IdentifierClass::Path),
            ("LedgerEntry", IdentifierClass::Identifier),
            ("next/own.ts", IdentifierClass::Path),
        ] {
            assert!(!packages.knows(text, class), "{text}");
        }
    }
}
