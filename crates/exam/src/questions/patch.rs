//! Patches in the form that Codex and OpenCode give to `apply_patch`.

use std::borrow::Cow;

use super::acts::{Change, ChangeKind};

const BEGIN: &str = "*** Begin Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END: &str = "*** End";

/// The changes that a text with such a patch describes; empty where there is
/// none.
pub(super) fn changes(text: &str) -> Vec<Change<'static>> {
    let Some(begin) = text.find(BEGIN) else { return Vec::new() };
    let mut changes: Vec<Change<'static>> = Vec::new();
    for line in text[begin + BEGIN.len()..].lines() {
        let opened = [
            (ADD, ChangeKind::Written),
            (UPDATE, ChangeKind::Edited),
            (DELETE, ChangeKind::Deleted),
        ];
        let opened = opened
            .into_iter()
            .find_map(|(mark, kind)| Some((line.strip_prefix(mark)?.trim().to_owned(), kind)));
        if let Some((path, kind)) = opened {
            let (removed, added) = (Cow::Borrowed(""), Cow::Borrowed(""));
            changes.push(Change { path: Cow::Owned(path), kind, removed, added });
            continue;
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(to) = line.strip_prefix(MOVE) {
            change.kind = ChangeKind::Moved(to.trim().to_owned());
        } else if line.starts_with(END) {
            break;
        } else if let Some(line) = line.strip_prefix('+') {
            push(&mut change.added, line);
        } else if let Some(line) = line.strip_prefix('-') {
            push(&mut change.removed, line);
        }
    }
    changes.retain(|change| !change.path.is_empty());
    changes
}

fn push(text: &mut Cow<'static, str>, line: &str) {
    let text = text.to_mut();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_one_change_for_each_file() {
        let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.rs\n+fn a() {}\n+\n\
                    *** Update File: old.rs\n*** Move to: moved.rs\n@@ fn b\n-let x = 1;\n+let x = 2;\n \
                    kept\n*** Delete File: gone.rs\n*** End Patch\nEOF";
        let found = changes(text);
        let actual: Vec<_> = found
            .iter()
            .map(|c| (c.path.as_ref(), c.kind.clone(), c.removed.as_ref(), c.added.as_ref()))
            .collect();
        assert_eq!(
            actual,
            [
                ("new.rs", ChangeKind::Written, "", "fn a() {}\n"),
                ("old.rs", ChangeKind::Moved("moved.rs".into()), "let x = 1;", "let x = 2;"),
                ("gone.rs", ChangeKind::Deleted, "", ""),
            ]
        );
    }

    #[test]
    fn broken_patches_are_read_as_far_as_possible() {
        for text in
            ["", "*** Update File: a", "*** Begin Patch", "*** Begin Patch\n+a\n*** Move to: b"]
        {
            assert!(changes(text).is_empty(), "{text}");
        }
        assert!(changes("*** Begin Patch\n*** Add File: \n+x").is_empty());
        assert_eq!(changes("*** Begin Patch\n*** Add File: a").len(), 1);
    }
}
