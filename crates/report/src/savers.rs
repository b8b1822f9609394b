//! What token savers say they save, and what is billed: `savers.csv`, and tables beside the answer.

use super::document::{Head, Narrow, Part, Table, absent, figures, names, words};
use super::sheet::{self, Columns, Field};
use super::{Format, number};
use recap_core::model::{Report, SaverRecovery, SaverRow, SaverSavings, ToolCut};
use recap_core::text::counted;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "savers.csv",
    about: "one row per token saver, window and billing model: what it says it saves, and the bill",
    render: |source, out| sheet::table(COLUMNS, &source.report.savers, out),
};

const COLUMNS: &Columns<fn(&&SaverRow) -> Field> = &[
    ("strategy", |row| row.strategy.as_str().into()),
    ("window", |row| row.window.as_str().into()),
    ("agent_model", |row| row.agent_model.as_str().into()),
    ("sessions", |row| row.sessions.into()),
    ("failed", |row| row.failed.into()),
    ("requests", |row| row.requests.into()),
    ("claimed_tokens", |row| row.claimed_tokens.map(|tokens| tokens as f64).into()),
    ("claimed_usd", |row| Field::dollars(row.claimed_usd)),
    ("removed_tokens", |row| (row.removed_tokens as f64).into()),
    ("rewritten_tokens", |row| row.rewritten_tokens.into()),
    ("cache_breaks", |row| row.cache_breaks.into()),
    ("full_usd", |row| dollars(row, |money| money.full_usd)),
    ("cost_usd", |row| dollars(row, |money| money.usd)),
    ("at_input_usd", |row| dollars(row, |money| money.at_input_usd)),
    ("at_cached_usd", |row| dollars(row, |money| money.at_cached_usd)),
    ("rewritten_usd", |row| dollars(row, |money| money.rewritten_usd)),
    ("net_usd", |row| dollars(row, SaverSavings::net_usd)),
    ("saved_usd", |row| dollars(row, SaverSavings::saved_usd)),
    ("added_ms_median", |row| row.added_ms.map(|(median, _)| median).into()),
    ("added_ms_p95", |row| row.added_ms.map(|(_, high)| high).into()),
    ("recovery_tried", |row| recovered(row, |found| found.tried)),
    ("recovery_found", |row| recovered(row, |found| found.found)),
    ("recovery_tokens", |row| recovered(row, |found| found.tokens)),
];

fn dollars(row: &SaverRow, of: fn(&SaverSavings) -> f64) -> Field {
    Field::dollars(row.money.as_ref().ok().map(of))
}

fn recovered(row: &SaverRow, of: fn(&SaverRecovery) -> u64) -> Field {
    row.recovery.as_ref().map(of).into()
}

/// Tools of one saver that have a row.
const TOOLS: usize = 5;

/// The four accountings of each saver, what it cut, and what its own tool brings back; nothing in a
/// run without savers.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    if report.savers.is_empty() {
        return Vec::new();
    }
    let text = |text: &str| Part::Text(text.to_owned());
    let mut parts = vec![
        Part::Heading("What token savers save".to_owned()),
        text(
            "The same removed tokens by four ways of counting, against the whole conversation. Input \
             price: as if none of it were cached. In the cache: at what the whole conversation pays \
             for a token of that request, most of which it reads from the cache. Net: the same, less \
             what is paid for writing anew what stands after an edit. Bill: what the sessions cost \
             less, which alone is saved; a minus sign says that they cost more.",
        ),
        Part::Table(accountings(&report.savers)),
    ];
    let tools = tools(&report.savers);
    if !tools.is_empty() {
        let heads = [
            names("saver"),
            names("tool"),
            figures("results"),
            figures("cut"),
            figures("tokens"),
            figures("left"),
        ];
        parts.push(text("What arrives of the results of tools at the end of the sessions:"));
        parts.push(Part::Table(Table::new("Tool results by saver", &heads, tools)));
    }
    parts.extend(report.savers.iter().filter_map(recovery).map(Part::Text));
    parts
}

fn accountings(savers: &[SaverRow]) -> Table {
    let mut heads = vec![names("saver")];
    let several = |of: fn(&SaverRow) -> &String| savers.iter().any(|row| of(row) != of(&savers[0]));
    let windows = several(|row| &row.window);
    let models = several(|row| &row.agent_model);
    heads.extend(windows.then(|| words("window")));
    heads.extend(models.then(|| names("billed as")));
    heads.extend([
        figures("says"),
        figures("removed"),
        figures("input price"),
        figures("in the cache"),
        figures("net"),
        figures("bill"),
        Head { narrow: Narrow::LeftOut(2), ..figures("cache breaks") },
        Head { narrow: Narrow::LeftOut(1), ..figures("wait") },
    ]);
    let tokens = |tokens: f64| {
        let shown = number::tokens(tokens.abs());
        if tokens < 0.0 { format!("−{shown}") } else { shown }
    };
    let row = |row: &SaverRow| {
        let money = row.money.as_ref().ok();
        let dollars = |of: fn(&SaverSavings) -> f64| {
            money.map_or_else(absent, |money| number::cents(of(money)))
        };
        let mut cells = vec![row.strategy.clone()];
        cells.extend(windows.then(|| row.window.clone()));
        cells.extend(models.then(|| row.agent_model.clone()));
        cells.extend([
            row.claimed_usd.map(number::cents).unwrap_or_else(|| {
                row.claimed_tokens.map_or_else(absent, |claimed| tokens(claimed as f64))
            }),
            tokens(row.removed_tokens as f64),
            dollars(|money| money.at_input_usd),
            dollars(|money| money.at_cached_usd),
            dollars(SaverSavings::net_usd),
            dollars(SaverSavings::saved_usd),
            format!("{} of {}", row.cache_breaks, row.requests),
            row.added_ms.map_or_else(absent, |(median, _)| number::time(median)),
        ]);
        cells
    };
    Table::new("What token savers save", &heads, savers.iter().map(row).collect())
}

/// The largest cuts of each saver, at the first window and billing model.
fn tools(savers: &[SaverRow]) -> Vec<Vec<String>> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for saver in savers {
        if seen.contains(&saver.strategy.as_str()) {
            continue;
        }
        seen.push(&saver.strategy);
        let cut = saver.tools.iter().filter(|(_, tool)| tool.cut > 0);
        rows.extend(cut.take(TOOLS).map(|(name, tool)| cut_row(&saver.strategy, name, tool)));
    }
    rows
}

fn cut_row(saver: &str, name: &str, tool: &ToolCut) -> Vec<String> {
    vec![
        saver.to_owned(),
        name.to_owned(),
        number::grouped(tool.results),
        number::grouped(tool.cut),
        number::tokens(tool.tokens_before as f64),
        number::tokens(tool.tokens_after as f64),
    ]
}

/// What a saver's own tool brings back.
fn recovery(saver: &SaverRow) -> Option<String> {
    let recovery = saver.recovery.filter(|recovery| recovery.tried > 0)?;
    let each = recovery
        .tokens
        .checked_div(recovery.found)
        .map(|tokens| format!(", {} tokens each on average", number::tokens(tokens as f64)));
    Some(format!(
        "{}: its own tool was asked for all {} that it had left in the place of text, and brings back \
         {}{}. Facts in these count as recovered; an agent pays for the call and for these tokens.",
        saver.strategy,
        counted(recovery.tried as usize, "handle"),
        recovery.found,
        each.unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RenderInput;
    use crate::document::{Screen, terminal};
    use crate::testkit::{Kit, saver_row};
    use recap_core::model::Absent;

    fn shown(savers: Vec<SaverRow>) -> String {
        let report = Report { savers, ..Kit::default().report() };
        terminal(&parts(&report), Screen { width: 120, color: false, wide: true })
    }

    #[test]
    fn four_accountings_and_cut_tools_are_shown() {
        let text = shown(vec![saver_row("foveance")]);
        let line = "foveance  $5.19     2.3M       $11.45         $1.71  −$2.95  −$7.44      54 of 57  19 ms";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("foveance  Read       15   14     54k   11k"), "{text}");
        assert!(!text.contains("Edit"), "nothing of it was cut: {text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("asked for all 4 handles"), "{text}");
        assert!(text.contains("brings back 2, 400 tokens each on average."), "{text}");
        assert!(shown(Vec::new()).is_empty());
    }

    #[test]
    fn windows_models_and_unknown_prices_are_told_apart() {
        let other = SaverRow {
            window: "200k".to_owned(),
            agent_model: "n".to_owned(),
            money: Err(Absent::SomePrice),
            claimed_tokens: None,
            claimed_usd: None,
            removed_tokens: -7_200,
            added_ms: None,
            ..saver_row("foveance")
        };
        let text = shown(vec![saver_row("foveance"), other]);
        assert!(text.contains("billed as"), "{text}");
        let words: Vec<&str> =
            text.lines().find(|line| line.contains("200k")).unwrap().split_whitespace().collect();
        assert_eq!(
            words,
            ["foveance", "200k", "n", "–", "−7.2k", "–", "–", "–", "–", "54", "of", "57", "–"]
        );
    }

    #[test]
    fn csv_has_every_figure_of_a_saver() {
        let report = Report { savers: vec![saver_row("x")], ..Kit::default().report() };
        let source = RenderInput { report: &report, texts: None };
        let text = String::from_utf8(FORMAT.bytes(&source)).unwrap();
        let row = "x,native,m,1,0,57,1731514,5.1945,2290207,811173,54,5.05,12.49,11.45,1.71,4.66,-2.95,\
                   -7.44,19,48,4,2,800";
        assert_eq!(text.lines().nth(1), Some(row), "{text}");
    }
}
