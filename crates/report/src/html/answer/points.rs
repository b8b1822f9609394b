//! What the picture of one table shows: a mark for each strategy that is a choice,
//! and the row that they are held against.

use crate::{block, number, plain};
use recap_core::model::{FULL, Interval, RECORDED, RowKind, StrategyRow, catalogue};

/// A strategy, or several that stand in one point.
pub(super) struct Mark {
    names: Vec<String>,
    /// How the style sheet calls its standing.
    pub(super) class: &'static str,
    /// What the pointer reads.
    pub(super) title: String,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) spread: Option<Spread>,
    /// Whether the sentence above the picture names it.
    pub(super) is_chosen: bool,
}

/// What is known of the spread of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) kind: Kind,
}

/// What the ends of a spread are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Bounds of an interval over sessions.
    Interval,
    /// Bounds of an interval over the requests of one session or two.
    ThisSessionOnly,
    /// The lowest and the highest session or project: there are few.
    Sessions,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Interval => "95 % interval",
            Kind::ThisSessionOnly => "95 % interval, which speaks of this session only",
            Kind::Sessions => "from the lowest to the highest session or project",
        }
    }
}

/// Everything that a drawing needs.
pub(in crate::html) struct Picture {
    pub(super) marks: Vec<Mark>,
    /// Cost and quality of the reference row.
    pub(super) cross: (f64, f64),
    /// What stands across and up.
    pub(super) axes: [&'static str; 2],
    pub(super) show_x: fn(f64) -> String,
    /// The drawing in a sentence.
    pub(super) label: String,
    /// What the cross-hair stands for.
    pub(in crate::html) reference: String,
}

/// What quality is held against.
struct Across {
    axis: &'static str,
    read: fn(&StrategyRow) -> Option<f64>,
    show: fn(f64) -> String,
}

const DOLLARS: Across = Across {
    axis: "cost of the sessions",
    read: |row| row.number(catalogue::COST_USD),
    show: number::dollars,
};
/// In a run without prices.
const TOKENS: Across = Across {
    axis: "tokens sent (no price is known)",
    read: |row| row.number(catalogue::TOKENS_SENT),
    show: number::tokens,
};

impl Mark {
    /// How the drawing calls it, in so many characters at most.
    pub(super) fn named(&self, most: usize) -> String {
        let name = plain::shortened(&self.names[0], most);
        match self.names.len() {
            1 => name,
            n => format!("{name} +{}", n - 1),
        }
    }

    /// Whether others stand in the same point.
    pub(super) fn is_joined(&self) -> bool {
        self.names.len() > 1
    }

    /// Everything that stands in this point.
    pub(super) fn all_names(&self) -> String {
        self.names.join(", ")
    }

    fn is_at(&self, other: &Mark) -> bool {
        (self.x, self.y, self.class) == (other.x, other.y, other.class)
    }

    /// Another strategy in the same point.
    fn take(&mut self, other: Mark) {
        self.names.extend(other.names);
        self.title += "\n";
        self.title += &other.title;
        self.is_chosen |= other.is_chosen;
    }

    /// Quality as drawn: the figure and its spread.
    pub(super) fn heights(&self) -> impl Iterator<Item = f64> {
        let ends = self.spread.iter().flat_map(|spread| [spread.lo, spread.hi]);
        ends.chain([self.y]).map(|y| y.clamp(0.0, 1.0))
    }
}

/// The row that others are held against: what the recorded agent did, else the
/// whole conversation.
pub(in crate::html) fn reference<'a>(rows: &[&'a StrategyRow]) -> Option<&'a StrategyRow> {
    let of = |name: &str| rows.iter().copied().find(|row| row.strategy == name);
    of(RECORDED).or_else(|| of(FULL))
}

/// What is kept of the answers of the whole conversation.
pub(super) fn quality(row: &StrategyRow) -> Option<f64> {
    row.number(catalogue::CONTINUITY).map(|points| points / 100.0)
}

/// The picture of one table; nothing where it has no choice to show.
pub(super) fn picture(rows: &[&StrategyRow], chosen: Option<&str>) -> Option<Picture> {
    let reference = reference(rows)?;
    let across = if (DOLLARS.read)(reference).is_some() { DOLLARS } else { TOKENS };
    // At cuts nobody knows what the recorded agent would have kept.
    let full = rows.iter().find(|row| row.strategy == FULL);
    let level = quality(reference).or_else(|| full.and_then(|row| quality(row)))?;
    let cross = ((across.read)(reference)?, level);
    let mut marks: Vec<Mark> = Vec::new();
    for row in rows.iter().filter(|row| is_choice(row, reference)) {
        let (Some(x), Some(y)) = ((across.read)(row), quality(row)) else { continue };
        let spread = row.intervals.get(catalogue::CONTINUITY.id).and_then(spread);
        let mark = Mark {
            title: title(row, y, spread, (across.show)(x)),
            names: vec![name(row)],
            class: class(row.row_kind),
            x,
            y,
            spread,
            is_chosen: chosen == Some(row.strategy.as_str()),
        };
        match marks.iter_mut().find(|other| other.is_at(&mark)) {
            Some(other) => other.take(mark),
            None => marks.push(mark),
        }
    }
    // Where names are short of room, the one to look at chooses first.
    marks.sort_by_key(|mark| (!mark.is_chosen, mark.class != "ranked"));
    (!marks.is_empty()).then(|| Picture {
        label: label(&marks, across.axis),
        marks,
        cross,
        axes: [across.axis, "questions still answered right"],
        show_x: across.show,
        reference: describe(reference, quality(reference).is_some(), cross, across.show),
    })
}

/// Controls are yardsticks and no choice; the whole conversation is one beside
/// what the recorded agent did.
fn is_choice(row: &StrategyRow, reference: &StrategyRow) -> bool {
    row.row_kind != RowKind::Control || (row.strategy == FULL && reference.strategy != row.strategy)
}

fn class(row_kind: RowKind) -> &'static str {
    match row_kind {
        RowKind::Ranked => "ranked",
        RowKind::OfflineSummary | RowKind::Unusable => "hollow",
        RowKind::Control => "control",
    }
}

/// A name, with the star of what a provider would refuse.
fn name(row: &StrategyRow) -> String {
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    format!("{}{star}", plain::line(&row.strategy))
}

fn spread(interval: &Interval) -> Option<Spread> {
    let (lo, hi, kind) = match interval {
        Interval::Dots { values } => (*values.first()?, *values.last()?, Kind::Sessions),
        Interval::ThisSessionOnly { lo, hi } => (*lo, *hi, Kind::ThisSessionOnly),
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => (*lo, *hi, Kind::Interval),
    };
    Some(Spread { lo: lo / 100.0, hi: hi / 100.0, kind })
}

fn title(row: &StrategyRow, kept: f64, spread: Option<Spread>, cost: String) -> String {
    let spread = spread.map_or_else(String::new, |Spread { lo, hi, .. }| {
        format!(" ({} to {})", number::percent(lo), number::percent(hi))
    });
    let over = block::overflows(row).map_or_else(String::new, |n| {
        format!("; over the window at {}", block::counted(n.round() as usize, "request"))
    });
    format!("{}: {} kept{spread}, {cost}{over}", block::label(row), number::percent(kept))
}

fn label(marks: &[Mark], axis: &str) -> String {
    let each: Vec<&str> = marks.iter().map(|mark| mark.title.as_str()).collect();
    format!("What each strategy keeps against the {axis}. {}", each.join(". "))
}

/// What the cross-hair stands for.
fn describe(
    row: &StrategyRow,
    is_known: bool,
    cross: (f64, f64),
    show: fn(f64) -> String,
) -> String {
    let (cost, kept) = (show(cross.0), number::percent(cross.1));
    let star = if block::overflows(row).is_some() { " *" } else { "" };
    match (row.strategy.as_str(), is_known) {
        (FULL, _) => format!("the whole conversation sent every time (full): {kept}, {cost}{star}"),
        (_, true) => {
            format!("what the recorded agent itself sent (recorded): {kept}, {cost}{star}")
        }
        (_, false) => format!(
            "{cost}{star}, the cost of what the recorded agent itself sent (recorded), and {kept}, \
             what the whole conversation keeps (full)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::{Report, Value};

    /// Ranked and other rows at one window, with figures of their own.
    fn priced() -> Report {
        let mut report = Kit { windows: vec!["200k"], ..Kit::default() }.report();
        let mut set = |name: &str, usd: f64, kept: f64, over: f64| {
            let row = report.rows.iter_mut().find(|r| r.strategy == name).unwrap();
            for (id, x) in [("cost_usd", usd), ("continuity", 100.0 * kept), ("overflows", over)] {
                row.values.insert(id.to_owned(), Value::Known(x));
            }
        };
        set("full", 8.0, 1.0, 0.0);
        set("prune", 4.0, 0.8, 0.0);
        set("sliding-window", 2.0, 0.3, 0.0);
        set("fifo", 5.0, 0.7, 3.0);
        set("continuation", 1.0, 0.9, 0.0);
        report
    }

    fn pictured(report: &Report) -> Option<Picture> {
        let rows: Vec<&StrategyRow> = report.rows.iter().collect();
        picture(&rows, Some("fifo"))
    }

    #[test]
    fn choices_have_marks_and_full_is_cross_hair() {
        let picture = pictured(&priced()).unwrap();
        let actual: Vec<(String, &str)> =
            picture.marks.iter().map(|mark| (mark.named(40), mark.class)).collect();
        let pair = |name: &str, class| (name.to_owned(), class);
        let expected = [
            pair("fifo *", "ranked"),
            pair("prune", "ranked"),
            pair("sliding-window", "ranked"),
            pair("continuation", "hollow"),
        ];
        assert_eq!(actual, expected, "the one to look at first, and no control");
        assert_eq!(picture.cross, (8.0, 1.0));
        let whole = "the whole conversation sent every time (full): 100 %, $8.00";
        assert_eq!(picture.reference, whole);
    }

    #[test]
    fn recorded_agent_is_cross_hair_if_known() {
        let mut report = priced();
        let mut row = report.rows[0].clone();
        row.strategy = "recorded".to_owned();
        row.values.insert("cost_usd".to_owned(), Value::Known(6.0));
        row.values.insert("continuity".to_owned(), Value::Known(85.0));
        report.rows.push(row);
        let picture = pictured(&report).unwrap();
        assert_eq!(picture.cross, (6.0, 0.85));
        assert!(picture.marks.iter().any(|mark| mark.names == ["full"]), "a choice beside it");
        report.rows.last_mut().unwrap().values.remove("continuity");
        let picture = pictured(&report).unwrap();
        assert_eq!(picture.cross, (6.0, 1.0), "kept as by the whole conversation");
        assert!(picture.reference.contains("what the whole conversation keeps"));
    }

    #[test]
    fn strategies_at_the_same_point_share_mark() {
        let mut report = priced();
        let mut twin = report.rows.iter().find(|r| r.strategy == "prune").unwrap().clone();
        twin.strategy = "prune-too".to_owned();
        report.rows.push(twin);
        let picture = pictured(&report).unwrap();
        let mark = picture.marks.iter().find(|mark| mark.is_joined()).unwrap();
        assert_eq!(
            (mark.named(40), mark.all_names()),
            ("prune +1".into(), "prune, prune-too".into())
        );
        assert!(mark.title.contains("prune-too: 80 % kept"), "{}", mark.title);
    }

    #[test]
    fn few_sessions_show_span_and_more_an_interval() {
        let dots = Interval::Dots { values: vec![20.0, 40.0, 80.0] };
        let span = Spread { lo: 0.2, hi: 0.8, kind: Kind::Sessions };
        assert_eq!(spread(&dots), Some(span));
        let student = Interval::Student { lo: 10.0, hi: 30.0 };
        let interval = Spread { lo: 0.1, hi: 0.3, kind: Kind::Interval };
        assert_eq!(spread(&student), Some(interval));
    }

    #[test]
    fn without_a_price_the_picture_stands_against_tokens() {
        let mut report = priced();
        for row in &mut report.rows {
            row.values
                .insert("cost_usd".to_owned(), Value::Absent(recap_core::model::Absent::SomePrice));
        }
        let picture = pictured(&report).unwrap();
        assert_eq!(picture.axes[0], "tokens sent (no price is known)");
    }
}
