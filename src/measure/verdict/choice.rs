//! Which strategy to use, and what it keeps.

use super::money::dollars;
use super::{Run, Scene, counted, grouped, label, listed};
use crate::measure::preference::{Judge, NotPreferred, Preferred};
use crate::measure::rows::{Entry, RECORDED, most};
use crate::model::{Interval, PresetRow, Standing, Value};

/// Other windows that are named beside the first.
const OTHERS: usize = 3;

/// Why no row is chosen where none had to give anything up.
const NOTHING_AT_STAKE: &str = "Nothing was at stake: all that the agent used next was still sent \
                                as it was recorded, so nothing tells strategies apart.";

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

/// The row to use at the window that was asked about first.
pub(super) struct Best<'a> {
    entry: &'a Entry,
    /// The one that keeps most, where that is another.
    most: Option<&'a Entry>,
    /// Others of its rank.
    alike: Vec<&'a str>,
}

impl<'a> Best<'a> {
    pub(super) fn row(&self) -> &'a PresetRow {
        &self.entry.row
    }
}

impl<'a> Scene<'a> {
    /// The row to use at the first window at which there is one, preferably one
    /// that had anything to do; or why there is none.
    pub(super) fn choice(&self) -> Result<Best<'a>, String> {
        let leaders = self.leaders();
        let first = leaders.iter().find(|p| p.row.acted).or(leaders.first());
        let Some(preferred) = first else { return Err(self.why_none()) };
        let entry = preferred.row;
        let same = |e: &&&Entry| {
            e.row.window == entry.row.window
                && e.row.rank == entry.row.rank
                && e.row.strategy != entry.row.strategy
        };
        let alike = self.rows.iter().filter(same).map(|e| e.row.strategy.as_str()).collect();
        Ok(Best { entry, most: preferred.best, alike })
    }

    /// The row to use at each window, windows as typed.
    fn leaders(&self) -> Vec<Preferred<'a>> {
        let windows = self.rows.chunk_by(|a, b| a.row.window == b.row.window);
        windows.filter_map(|rows| self.judge().prefer(rows).ok()).collect()
    }

    fn judge(&self) -> Judge<'a> {
        let Run { facts, manifest, primary, .. } = *self.run;
        Judge { facts, manifest, primary }
    }

    /// A strategy that keeps most and costs more than what the recorded agent
    /// does today without being known to keep more, where every one does.
    fn dearer_than_today(&self) -> Option<String> {
        let mut windows = self.rows.chunk_by(|a, b| a.row.window == b.row.window);
        let best = windows.find_map(|rows| match self.judge().prefer(rows) {
            Err(NotPreferred::DearerThanToday(best)) => Some(&best.row),
            _ => None,
        })?;
        let today = self.beside(best, RECORDED)?;
        Some(format!(
            "No strategy is to be preferred to what the recorded agent does today: each that could \
             be ranked costs more than what the recorded agent sent ({}), and none is known to keep \
             more. {} keeps most ({}) and costs {}.",
            dollars(today.number("cost_usd")?),
            best.strategy,
            self.printed(best.number(self.run.primary)?),
            dollars(best.number("cost_usd")?)
        ))
    }

    /// Who keeps more in these sessions than the one to use, and at which price.
    fn keeps_most(&self, best: &Best<'_>) -> Option<String> {
        let row = &best.most?.row;
        let kept = self.printed(row.number(self.run.primary)?);
        let usd = row.number("cost_usd").map(|usd| format!(" for {}", dollars(usd)));
        Some(format!(
            "; {} keeps {kept}{}, which is not known to be worth it",
            row.strategy,
            usd.unwrap_or_default()
        ))
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
        if let Some(why) = self.dearer_than_today() {
            return why;
        }
        let judged: Vec<&&Entry> =
            self.rows.iter().filter(|e| e.row.standing != Standing::Control).collect();
        if judged.is_empty() {
            return "Controls are a scale: there is no strategy to choose from.".to_owned();
        }
        let at_cuts = self.run.primary == "kept_at_cut";
        if at_cuts && judged.iter().all(|e| e.row.risked_nothing(self.run.primary)) {
            return NOTHING_AT_STAKE.to_owned();
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
        if ranked().all(|e| e.row.risked_nothing(self.run.primary)) {
            return NOTHING_AT_STAKE.to_owned();
        }
        let reason = ranked().find_map(|e| match e.row.values.get(self.run.primary) {
            Some(Value::Absent(reason)) => Some(reason.as_str()),
            _ => None,
        });
        let measure = match self.run.primary {
            "continuity" => "continuity",
            "kept_at_cut" => "share of facts kept at cuts",
            _ => "share of needed facts kept",
        };
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
        let what = self.of_what(row);
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
        text += &self.keeps_most(best).unwrap_or_default();
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
        let others = leaders.iter().map(|preferred| preferred.row);
        let others: Vec<&Entry> = others.filter(|e| e.row.window != row.window).collect();
        if others.is_empty() || others.len() > OTHERS {
            return String::new();
        }
        let figure = |e: &&Entry| self.printed(e.row.number(self.run.primary).unwrap_or(0.0));
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
