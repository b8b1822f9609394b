//! Lists of names.

use std::collections::BTreeMap;

use crate::Stream;

/// Names by list.
#[derive(Clone, Debug)]
pub struct Names {
    lists: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Names {
    /// Reads a file of lists: a heading `[name]`, then a name a line.
    ///
    /// # Panics
    /// A name before the first heading.
    pub fn new(file: &'static str) -> Names {
        let mut lists: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        let mut open = "";
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => {
                    open = name;
                    lists.insert(name, Vec::new());
                }
                None => lists.get_mut(open).expect("a heading stands first").push(line),
            }
        }
        Names { lists }
    }

    /// Every name of a list, in any order.
    ///
    /// # Panics
    /// A list that there is not.
    pub fn all(&self, random: &mut Stream, list: &str) -> Vec<&'static str> {
        let names = self.lists.get(list).unwrap_or_else(|| panic!("no list [{list}]"));
        random.sample(names, names.len())
    }
}
