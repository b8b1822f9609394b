//! The table on a terminal of less than 80 columns.

use unicode_width::UnicodeWidthStr;

use super::document::absent;
use super::table::all_columns;
use super::testkit::{Kit, wide};

#[test]
fn below_80_columns_strategies_become_blocks() {
    let report = Kit { sessions: 3, windows: vec!["25%"], ..Kit::default() }.report();
    let text = wide(&report, 60);
    let block: Vec<&str> = text.lines().skip_while(|line| *line != " prune").take(8).collect();
    assert_eq!(
        block,
        [
            " prune",
            "  facts kept            86 % 77…95",
            "  gain over recency     +0.27",
            "  bill of all sessions  $23.07 −44 %",
            "  tokens                0.46×",
            "  wait p95              0 ms",
            "  peak                  8.4k",
            "  compactions           12",
        ],
        "{text}"
    );
}

#[test]
fn narrow_terminal_cuts_and_loses_nothing() {
    let mut report = Kit::default().report();
    report.rows[2].strategy = "圧縮・要約・圧縮・要約".to_owned();
    for width in [40, 60, 79] {
        let text = wide(&report, width);
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line:?} has {}", line.width());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        for row in &report.rows {
            for column in all_columns(report.primary, &[]) {
                let cell = column.cell(row).text;
                let figure: Vec<&str> = cell.split_whitespace().collect();
                let is_there = words.windows(figure.len().max(1)).any(|part| part == figure);
                assert!(is_there || cell == absent(), "{width}: {} {cell:?}\n{text}", row.strategy);
            }
        }
    }
    // A line wider than its place is folded between words, and stays whole.
    let text = wide(&report, 30);
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("offline summary"));
}
