//! Which strategy to use, and what it keeps.

use super::money::dollars;
use super::{Run, Scene, counted, form_for, grouped, label, listed};
use crate::measure::names::RECORDED;
use crate::measure::preference::{ENOUGH, Judge, NotPreferred, Preferred};
use crate::measure::ranking::FEWEST_ASKED;
use crate::measure::rows::Entry;
use crate::model::{Absent, Interval, PresetRow, Primary, Standing, Value, catalogue};

/// Other windows that are named beside the first.
const OTHERS: usize = 3;

/// Why no row is chosen where none had to give anything up.
const NOTHING_AT_STAKE: &str = "Nothing was at stake: all that the agent used next was still sent \
                                as it was recorded, so nothing tells strategies apart.";

/// Whether a provider would have refused some of its requests.
pub(super) fn is_over(row: &PresetRow) -> bool {
    row.number(catalogue::OVERFLOWS).is_some_and(|n| n > 0.0)
}

/// What a provider would have refused of it, if anything.
fn over(row: &PresetRow) -> Option<String> {
    let over = row.number(catalogue::OVERFLOWS).filter(|_| is_over(row))?;
    let of = row.number(catalogue::REQUESTS).map(|n| counted(n.round() as u64, "request"));
    Some(format!(
        "{} of its {} {} over the window and would have been refused",
        grouped(over),
        of.unwrap_or_else(|| "requests".to_owned()),
        form_for(over.round() as u64, "is", "are")
    ))
}

/// The row to use, at the window at which most is kept.
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

    pub(super) fn entry(&self) -> &'a Entry {
        self.entry
    }
}

impl<'a> Scene<'a> {
    /// The row to use at the window at which most is kept by one, the smaller
    /// bill and the window typed first deciding between equals; or why there is
    /// none at any.
    pub(super) fn choice(&self) -> Result<Best<'a>, String> {
        let leaders = self.leaders().into_iter();
        let better = |a: Preferred<'a>, b: Preferred<'a>| {
            if self.leads(&b.row.row, &a.row.row) { b } else { a }
        };
        let Some(preferred) = leaders.reduce(better) else { return Err(self.why_none()) };
        let entry = preferred.row;
        let same = |e: &&&Entry| {
            e.row.window == entry.row.window
                && e.row.rank == entry.row.rank
                && e.row.strategy != entry.row.strategy
        };
        let alike = self.rows.iter().filter(same).map(|e| e.row.strategy.as_str()).collect();
        Ok(Best { entry, most: preferred.best, alike })
    }

    /// Whether the row of one window comes before that of another: what fits
    /// its window, then what keeps more, then what costs less.
    fn leads(&self, one: &PresetRow, other: &PresetRow) -> bool {
        let kept = |row: &PresetRow| row.number(self.run.primary.measure()).unwrap_or(0.0);
        let usd = |row: &PresetRow| row.number(catalogue::COST_USD).unwrap_or(0.0);
        let apart = kept(one) - kept(other);
        match is_over(one) == is_over(other) {
            false => is_over(other),
            true if self.printed(kept(one)) == self.printed(kept(other)) => usd(one) < usd(other),
            true => apart > 0.0,
        }
    }

    /// The rows of each window, windows as typed.
    fn at_windows(&self) -> impl Iterator<Item = &[&'a Entry]> {
        self.rows.chunk_by(|a, b| a.row.window == b.row.window)
    }

    /// The row to use at each window that has one, windows as typed.
    fn leaders(&self) -> Vec<Preferred<'a>> {
        self.at_windows().filter_map(|rows| self.judge().prefer(rows).ok()).collect()
    }

    fn judge(&self) -> Judge<'a> {
        let Run { facts, manifest, primary, .. } = *self.run;
        Judge { facts, manifest, primary }
    }

    /// Why no row is preferred at the window at which the best one keeps most.
    fn not_preferred(&self) -> Option<String> {
        let all = self.at_windows().filter_map(|rows| self.judge().prefer(rows).err());
        let whys: Vec<(NotPreferred<'a>, &PresetRow)> =
            all.filter_map(|why| Some((why, &why.best()?.row))).collect();
        let first = whys.iter().reduce(|a, b| if self.leads(b.1, a.1) { b } else { a });
        let (why, row) = first?;
        let text = match why {
            NotPreferred::NoneRanked => None,
            NotPreferred::NoGain { best, other } => self.no_gain(&best.row, &other.row),
            NotPreferred::TooLittle(_) => Some(format!(
                "At {} nothing here keeps enough to be recommended: {}, and less than {} is too \
                 little.",
                label(&row.window),
                self.most_kept(row)?,
                self.printed(ENOUGH * self.run.primary.most())
            )),
            NotPreferred::NoneActed(_) => self.none_acted(row),
        };
        let others = whys.iter().map(|(_, other)| &other.window).filter(|at| **at != row.window);
        let others: Vec<String> = others.map(|window| label(window)).collect();
        text.map(|text| match others.is_empty() {
            true => text,
            false => format!("{text} Nor is one recommended at {}.", listed(&others)),
        })
    }

    /// Strategies of which none had anything to compress: their bills are that of
    /// the whole conversation. `None` where `why_none` says more.
    fn none_acted(&self, best: &PresetRow) -> Option<String> {
        let at_cuts = self.run.primary == Primary::KeptAtCut;
        let judged = |e: &&&Entry| e.row.standing != Standing::Control;
        if !at_cuts && self.rows.iter().filter(judged).all(|e| !e.acted) {
            return None;
        }
        let mut text = format!(
            "At {} no strategy that is ranked had anything to compress, so none is recommended",
            label(&best.window)
        );
        if at_cuts {
            text += &format!("; where a compaction was made to happen, {}", self.most_kept(best)?);
        }
        Some(text + ".")
    }

    /// Strategies that bring nothing over what needs none of them: what the
    /// recorded agent does today, or the whole conversation.
    fn no_gain(&self, best: &PresetRow, other: &PresetRow) -> Option<String> {
        let bill = dollars(other.number(catalogue::COST_USD)?);
        let than = match other.strategy == RECORDED {
            true => format!(
                "what the recorded agent does today: each that keeps enough costs more than what \
                 the recorded agent sent ({bill}), and none is known to keep more"
            ),
            false => format!(
                "sending the whole conversation, which fits the window and costs {bill}: none that \
                 keeps enough costs less"
            ),
        };
        Some(format!(
            "At {} no strategy is to be preferred to {than}. {} and costs {}.",
            label(&best.window),
            self.most_kept(best)?,
            dollars(best.number(catalogue::COST_USD)?)
        ))
    }

    /// That this row keeps most, of those within the window where another keeps
    /// more beyond it.
    fn most_kept(&self, row: &PresetRow) -> Option<String> {
        let kept = self.printed(row.number(self.run.primary.measure())?);
        let within = if self.refused(row).is_some() { " within the window" } else { "" };
        Some(format!("{} keeps most{within} ({kept})", row.strategy))
    }

    /// Who keeps more in these sessions than the one to use, and at which price.
    fn keeps_most(&self, best: &Best<'_>) -> Option<String> {
        let row = &best.most?.row;
        let kept = self.printed(row.number(self.run.primary.measure())?);
        let usd = row.number(catalogue::COST_USD).map(|usd| format!(" for {}", dollars(usd)));
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
        let kept = self.printed(row.number(self.run.primary.measure())?);
        Some(format!("; {} keeps {kept}, but {}", row.strategy, over(row)?))
    }

    /// Why nothing is ranked.
    fn why_none(&self) -> String {
        if let Some(why) = self.not_preferred() {
            return why;
        }
        let judged: Vec<&&Entry> =
            self.rows.iter().filter(|e| e.row.standing != Standing::Control).collect();
        if judged.is_empty() {
            return "Controls are a scale: there is no strategy to choose from.".to_owned();
        }
        let at_cuts = self.run.primary == Primary::KeptAtCut;
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
        if let Some(few) = ranked().find(|e| e.asked > 0 && e.asked < FEWEST_ASKED) {
            let what = if self.by_probes() { "question" } else { "fact" };
            return format!(
                "None is ranked: what {} keeps has no weight, for it rests on {}, and a rank takes \
                 {FEWEST_ASKED}.",
                few.row.strategy,
                counted(few.asked, what)
            );
        }
        if ranked().all(|e| !e.row.failed.is_empty()) {
            return "Each of those that could be ranked failed on some session, so none is."
                .to_owned();
        }
        if ranked().all(|e| e.row.risked_nothing(self.run.primary)) {
            return NOTHING_AT_STAKE.to_owned();
        }
        let reason = ranked().find_map(|e| match e.row.values.get(self.run.primary.id()) {
            Some(Value::Absent(reason)) => Some(reason),
            _ => None,
        });
        let measure = match self.run.primary {
            Primary::Continuity => "continuity",
            Primary::KeptAtCut => "share of facts kept at cuts",
            Primary::ReferenceRecall => "share of needed facts kept",
        };
        format!(
            "None is ranked, for none has a {measure}: {}.",
            reason.unwrap_or(&Absent::NothingMeasured)
        )
    }

    /// What to use, what it keeps, and who leads at the other windows.
    pub(super) fn chosen(&self, best: &Best<'_>) -> String {
        let row = best.row();
        let figure = row.number(self.run.primary.measure()).unwrap_or(0.0);
        let margin = self.run.manifest.margin * self.run.primary.most();
        let heavy = row.number(catalogue::DIFFERENCE_TO_FULL).is_some_and(|d| d < -2.0 * margin);
        let what = self.of_what(row);
        let says = if heavy { "loses least: it keeps" } else { "is the one to use: it keeps" };
        let mut text = format!(
            "At {} {} {says} {}{} {what}",
            label(&row.window),
            row.strategy,
            self.printed(figure),
            self.spread(row)
        );
        match best.alike.as_slice() {
            [] => {}
            [one] => text += &format!("; {one} does exactly as well"),
            many => text += &format!("; {} do exactly as well", counted(many.len(), "other")),
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
        match row.intervals.get(self.run.primary.id()) {
            None => String::new(),
            Some(Interval::Dots { values }) => match (values.first(), values.last()) {
                (Some(lo), Some(hi)) => {
                    // One value per cluster: sessions of one project count once.
                    let alone = row.number(catalogue::TRANSCRIPTS) == Some(values.len() as f64);
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

    /// Who leads at the other windows, and where nobody does.
    fn elsewhere(&self, row: &PresetRow) -> String {
        let leaders = self.leaders();
        let none = self.at_windows().filter(|rows| self.judge().prefer(rows).is_err());
        let none: Vec<String> = none.map(|rows| label(&rows[0].row.window)).collect();
        let none = match none.is_empty() {
            true => String::new(),
            false => format!("; none is to be preferred at {}", listed(&none)),
        };
        let others = leaders.iter().map(|preferred| preferred.row);
        let others: Vec<&Entry> = others.filter(|e| e.row.window != row.window).collect();
        if others.is_empty() || others.len() > OTHERS {
            return none;
        }
        let figure =
            |e: &&Entry| self.printed(e.row.number(self.run.primary.measure()).unwrap_or(0.0));
        if others.iter().all(|e| e.row.strategy == row.strategy) {
            let each = others.iter().map(|e| format!("{} at {}", figure(e), label(&e.row.window)));
            return format!(
                "; it also leads elsewhere ({}){none}",
                listed(&each.collect::<Vec<_>>())
            );
        }
        let each = others
            .iter()
            .map(|e| format!("{} at {} ({})", e.row.strategy, label(&e.row.window), figure(e)));
        format!("; best elsewhere: {}{none}", listed(&each.collect::<Vec<_>>()))
    }
}
