//! Which strategy to use, and what it keeps.

use super::{Scene, counted, grouped, label, listed};
use crate::measure::rows::{Entry, most};
use crate::model::{Interval, PresetRow, Standing, Value};

/// Other windows that are named beside the first.
const OTHERS: usize = 3;

/// Whether a provider would have refused some of its requests.
pub(super) fn is_over(row: &PresetRow) -> bool {
    row.number("overflows").is_some_and(|n| n > 0.0)
}

/// What a provider would have refused of it, if anything.
fn over(row: &PresetRow) -> Option<String> {
    let over = row.number("overflows").filter(|_| is_over(row))?;
    let of = row.number("requests").map(|n| format!(" {}", grouped(n)));
    let are = if over == 1.0 { "is" } else { "are" };
    Some(format!(
        "{} of its{} requests {are} over the window and would have been refused",
        grouped(over),
        of.unwrap_or_default()
    ))
}

/// The best of the window that was asked about first.
pub(super) struct Best<'a> {
    entry: &'a Entry,
    /// Others of its rank.
    alike: Vec<&'a str>,
}

impl<'a> Best<'a> {
    pub(super) fn row(&self) -> &'a PresetRow {
        &self.entry.row
    }
}

impl<'a> Scene<'a> {
    /// The first of the first window at which something is ranked, preferably
    /// one that had anything to do; or why there is none.
    pub(super) fn choice(&self) -> Result<Best<'a>, String> {
        let leaders = self.leaders();
        let first = leaders.iter().find(|e| e.acted).or(leaders.first());
        let Some(entry) = first.copied() else { return Err(self.why_none()) };
        let same = |e: &&&Entry| {
            e.row.window == entry.row.window
                && e.row.rank == entry.row.rank
                && e.row.strategy != entry.row.strategy
        };
        let alike = self.rows.iter().filter(same).map(|e| e.row.strategy.as_str()).collect();
        Ok(Best { entry, alike })
    }

    /// The first of each window, windows as typed: of those whose every request a
    /// provider would take, where there are such.
    fn leaders(&self) -> Vec<&'a Entry> {
        let windows = self.rows.chunk_by(|a, b| a.row.window == b.row.window);
        let first = |rows: &[&'a Entry]| {
            let mut ranked = rows.iter().filter(|e| e.row.rank.is_some());
            let fits = ranked.clone().find(|e| !is_over(&e.row));
            fits.or(ranked.next()).copied()
        };
        windows.filter_map(first).collect()
    }

    /// Who keeps more than the chosen one, but not within the window.
    fn refused(&self, best: &PresetRow) -> Option<String> {
        let ahead = |e: &&&Entry| e.row.window == best.window && e.row.rank < best.rank;
        let row = &self.rows.iter().filter(|e| e.row.rank.is_some()).find(ahead)?.row;
        let kept = self.printed(row.number(self.run.primary)?);
        Some(format!("; {} keeps {kept}, but {}", row.strategy, over(row)?))
    }

    /// Why nothing is ranked.
    fn why_none(&self) -> String {
        let judged: Vec<&&Entry> =
            self.rows.iter().filter(|e| e.row.standing != Standing::Control).collect();
        if judged.is_empty() {
            return "Controls are a scale: there is no strategy to choose from.".to_owned();
        }
        if judged.iter().all(|e| !e.acted && e.row.failed.is_empty()) {
            let contexts = self.run.facts.iter().flat_map(|f| &f.requests).map(|r| r.tokens_full);
            return format!(
                "Nothing compacted: the largest context seen has {}. Only a smaller window can \
                 tell strategies apart.",
                counted(contexts.max().unwrap_or(0) as usize, "token")
            );
        }
        if judged.iter().all(|e| e.row.standing == Standing::StandIn) {
            return "All of them have a model write summaries, and an offline stand-in wrote them: \
                    none is ranked, and nothing here speaks for or against one."
                .to_owned();
        }
        let ranked = || judged.iter().filter(|e| e.row.standing == Standing::Ranked);
        if ranked().next().is_none() {
            return "None is ranked: of those that could be, each had more than 5 % void replies \
                    of its compactor."
                .to_owned();
        }
        if ranked().all(|e| !e.row.failed.is_empty()) {
            return "Each of those that could be ranked failed on some session, so none is."
                .to_owned();
        }
        let reason = ranked().find_map(|e| match e.row.values.get(self.run.primary) {
            Some(Value::Absent(reason)) => Some(reason.as_str()),
            _ => None,
        });
        let measure = if self.by_probes() { "continuity" } else { "share of needed facts kept" };
        format!(
            "None is ranked, for none has a {measure}: {}.",
            reason.unwrap_or("nothing to measure")
        )
    }

    /// What to use, what it keeps, and who leads at the other windows.
    pub(super) fn chosen(&self, best: &Best<'_>) -> String {
        let row = best.row();
        let figure = row.number(self.run.primary).unwrap_or(0.0);
        let margin = self.run.manifest.margin * most(self.run.primary);
        let heavy = row.number("difference_to_full").is_some_and(|d| d < -2.0 * margin);
        let what = if self.by_probes() {
            "of what the whole conversation answers right"
        } else {
            "of what the agent went on to use"
        };
        let says = if heavy { "loses least: it keeps" } else { "is the one to use: it keeps" };
        let mut text = format!(
            "At {} {} {says} {}{} {what}",
            label(&row.window),
            row.strategy,
            self.printed(figure),
            self.spread(row)
        );
        if !best.entry.acted {
            text += ", and never had anything to compress";
        }
        match best.alike.as_slice() {
            [] => {}
            [one] => text += &format!("; {one} does exactly as well"),
            many => text += &format!("; {} others do exactly as well", many.len()),
        }
        text += &self.refused(row).unwrap_or_default();
        if let Some(over) = over(row) {
            text += &format!("; {over}");
        }
        text + &self.elsewhere(row) + "."
    }

    /// What its interval allows to be said beside the figure.
    fn spread(&self, row: &PresetRow) -> String {
        let range = |lo: f64, hi: f64| {
            let (lo, hi) = (self.printed(lo), self.printed(hi));
            format!("{} to {hi}", lo.trim_end_matches(" %"))
        };
        match row.intervals.get(self.run.primary) {
            None => String::new(),
            Some(Interval::Dots { values }) => match (values.first(), values.last()) {
                (Some(lo), Some(hi)) => {
                    // One value per cluster: sessions of one project count once.
                    let alone = row.number("transcripts") == Some(values.len() as f64);
                    let one = if alone { "session" } else { "project" };
                    format!(" ({} from {one} to {one})", range(*lo, *hi))
                }
                _ => String::new(),
            },
            Some(Interval::ThisSessionOnly { lo, hi }) => {
                format!(" ({} within what was recorded)", range(*lo, *hi))
            }
            Some(Interval::Student { lo, hi } | Interval::Wider { lo, hi }) => {
                format!(" (95 % interval {})", range(*lo, *hi))
            }
        }
    }

    fn elsewhere(&self, row: &PresetRow) -> String {
        let leaders = self.leaders();
        let others: Vec<&&Entry> = leaders.iter().filter(|e| e.row.window != row.window).collect();
        if others.is_empty() || others.len() > OTHERS {
            return String::new();
        }
        let figure = |e: &&&Entry| self.printed(e.row.number(self.run.primary).unwrap_or(0.0));
        if others.iter().all(|e| e.row.strategy == row.strategy) {
            let each = others.iter().map(|e| format!("{} at {}", figure(e), label(&e.row.window)));
            return format!("; it also leads elsewhere ({})", listed(&each.collect::<Vec<_>>()));
        }
        let each = others
            .iter()
            .map(|e| format!("{} at {} ({})", e.row.strategy, label(&e.row.window), figure(e)));
        format!("; best elsewhere: {}", listed(&each.collect::<Vec<_>>()))
    }
}
