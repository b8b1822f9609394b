//! Unified diffs.

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// The hunks of a change.
pub struct Diff {
    /// Hunks with their heads.
    pub text: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
}

/// What leads from `before` to `after`, by a longest common subsequence of
/// the lines between their common head and tail.
pub fn diff(before: &str, after: &str) -> Diff {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut lines: Vec<(char, &str)> = old[..head].iter().map(|line| (' ', *line)).collect();
    lines.extend(middle(&old[head..old.len() - tail], &new[head..new.len() - tail]));
    lines.extend(old[old.len() - tail..].iter().map(|line| (' ', *line)));
    let count = |mark| lines.iter().filter(|(m, _)| *m == mark).count();
    Diff { added: count('+'), removed: count('-'), text: hunks(&lines) }
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    // common[i][j]: length of the longest common subsequence of old[i..] and new[j..].
    let mut common = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
}

fn hunks(lines: &[(char, &str)]) -> String {
    let changed = |at: usize| lines[at].0 != ' ';
    let near = |at: usize| {
        let last = (at + CONTEXT).min(lines.len() - 1);
        (at.saturating_sub(CONTEXT)..=last).any(changed)
    };
    let (mut old, mut new, mut at, mut text) = (1, 1, 0, String::new());
    while at < lines.len() {
        let from = at;
        while at < lines.len() && near(at) {
            at += 1;
        }
        let hunk = &lines[from..at];
        let without = |mark| hunk.iter().filter(|(m, _)| *m != mark).count();
        let (in_old, in_new) = (without('+'), without('-'));
        if !hunk.is_empty() {
            let start = |first: usize, n: usize| if n == 0 { first - 1 } else { first };
            let (a, b) = (start(old, in_old), start(new, in_new));
            text.push_str(&format!("@@ -{a},{in_old} +{b},{in_new} @@\n"));
            hunk.iter().for_each(|(mark, line)| text.push_str(&format!("{mark}{line}\n")));
        }
        (old, new) = (old + in_old, new + in_new);
        if at < lines.len() {
            (old, new, at) = (old + 1, new + 1, at + 1);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let after = before.replace("2\n3\n", "two\n3\n").replace("\n19\n", "\n19\nand\n");
        let change = diff(&before, &after);
        assert_eq!((change.added, change.removed), (2, 1));
        let expected = "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n\
                        @@ -17,4 +17,5 @@\n 17\n 18\n 19\n+and\n 20\n";
        assert_eq!(change.text, expected);
    }

    #[test]
    fn a_new_file_is_all_added() {
        assert_eq!(diff("", "a\nb\n").text, "@@ -0,0 +1,2 @@\n+a\n+b\n");
    }
}
