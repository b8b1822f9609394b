//! What is said and shown, before any format: headings, sentences, lists and tables in
//! order. Reports build documents; each format is one renderer of any document.
//!
//! Texts stand here as they were recorded. A renderer makes them harmless for what reads
//! its output: control characters and commands to a terminal, Markdown, HTML.

pub(super) mod markdown;
mod terminal;

use askama::Template;

use super::{number, plain};
use recap_core::model::RowKind;

pub(super) use terminal::{NARROWEST, shows_spread};
pub use terminal::{STYLES, Screen, terminal};

/// One piece of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Title(String),
    Heading(String),
    Text(String),
    /// A sentence with the word that says what it is about.
    Labelled(&'static str, String),
    List(Vec<String>),
    Table(Table),
    /// A recorded text as it stands, below a line that says where it is from. Markdown shows
    /// its beginning; a terminal that takes colours gets it without control characters.
    Quoted(String, String),
    /// Parts that a reader opens where the format allows it, below a heading elsewhere.
    Folded(String, Vec<Part>),
}

/// A table, whose cells stand in the order of its heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, for those who cannot see it.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
}

/// Rows below a line that says what they are; the line is empty where all are alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub(super) cells: Vec<Cell>,
    /// Whether it is set in a weaker tone than the others.
    pub(super) dim: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub(super) text: String,
    /// What is known of the spread of the figure, which a narrow table goes without.
    pub(super) spread: Option<String>,
    /// The figure, by which a column of a page is sorted.
    pub(super) figure: Option<f64>,
    /// The figure as a share of its largest value with the ends of its spread, which a page draws.
    pub(super) drawn: Option<[f64; 3]>,
}

/// The head of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// In one line, or in two where that saves room; a word that is divided ends in `-`.
    pub(super) words: [&'static str; 2],
    /// Whether its cells are figures, which stand against their right edge.
    pub(super) right: bool,
    pub(super) narrow: Narrow,
}

/// What becomes of a column where the table is wider than its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Narrow {
    Whole,
    /// It is left out; the highest number first.
    LeftOut(u8),
    /// Its cells are cut, when nothing can be left out any more.
    Cut,
    /// Its cells run over several lines; one column at most.
    Wrapped,
}

/// A column of words.
pub const fn words(head: &'static str) -> Head {
    Head { words: [head, ""], right: false, narrow: Narrow::Whole }
}

/// A column of figures.
pub const fn figures(head: &'static str) -> Head {
    Head { right: true, ..words(head) }
}

/// A column of names, which are cut where there is no room.
pub const fn names(head: &'static str) -> Head {
    Head { narrow: Narrow::Cut, ..words(head) }
}

/// A column of a table, whose head may be made from what is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) words: [String; 2],
    pub(super) right: bool,
    pub(super) narrow: Narrow,
}

impl From<Head> for Column {
    fn from(head: Head) -> Self {
        Column { words: head.words.map(str::to_owned), right: head.right, narrow: head.narrow }
    }
}

impl Head {
    /// The same column under another name.
    pub(super) fn named(self, name: String) -> Column {
        Column { words: [plain::line(&name), String::new()], ..Column::from(self) }
    }
}

impl Column {
    /// Its words in one line; one that is divided is whole.
    pub(super) fn label(&self) -> String {
        let [first, second] = [self.words[0].as_str(), self.words[1].as_str()];
        match (first.strip_suffix('-'), second) {
            (Some(begun), rest) => format!("{begun}{rest}"),
            (None, "") => first.to_owned(),
            (None, rest) => format!("{first} {rest}").trim_start().to_owned(),
        }
    }
}

impl Table {
    /// A table whose rows are all alike.
    pub fn new(name: &str, heads: &[Head], rows: Vec<Vec<String>>) -> Self {
        Self::with(name, heads.iter().copied().map(Column::from).collect(), rows)
    }

    /// A table whose columns are made from what is shown.
    pub(super) fn with(name: &str, columns: Vec<Column>, rows: Vec<Vec<String>>) -> Self {
        let row = |cells: Vec<String>| Row {
            cells: cells.into_iter().map(Cell::from).collect(),
            dim: false,
        };
        Self::of(name, columns, rows.into_iter().map(row).collect())
    }

    /// A table whose rows have more than words.
    pub(super) fn of(name: &str, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self { name: name.to_owned(), columns, groups: vec![Group { title: "", rows }] }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Whether a page can sort its rows.
    fn is_sortable(&self) -> bool {
        self.rows().flat_map(|row| &row.cells).any(|cell| cell.figure.is_some())
    }
}

impl Row {
    /// A row of a strategy: one that is not ranked is set in a weaker tone.
    pub(super) fn of(row_kind: RowKind, cells: Vec<Cell>) -> Self {
        Row { cells, dim: row_kind != RowKind::Ranked }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl Cell {
    /// A figure in words.
    pub(super) fn figure(figure: f64, text: String) -> Self {
        Self { figure: Some(figure), ..Self::from(text) }
    }

    /// The same, or the sign that there is none.
    pub(super) fn known(figure: Option<f64>, show: impl Fn(f64) -> String) -> Self {
        figure.map_or_else(|| absent().into(), |figure| Self::figure(figure, show(figure)))
    }

    /// By what a column is sorted: its figures, else its words; what is absent stands last.
    fn key(&self) -> String {
        match self.figure {
            Some(figure) => number::plain(figure).unwrap_or_default(),
            None if self.text == absent() => String::new(),
            None => plain::line(&self.text),
        }
    }

    /// Where the figure and the ends of its spread are drawn, in per cent.
    fn marks(&self) -> Option<[String; 3]> {
        let [figure, lo, hi] = self.drawn?.map(|share| 100.0 * share.clamp(0.0, 1.0));
        Some([figure, lo, hi - lo].map(|at| format!("{at:.1}")))
    }

    /// The figure with its spread.
    fn whole(&self) -> String {
        match &self.spread {
            Some(spread) => format!("{}  {spread}", self.text),
            None => self.text.clone(),
        }
    }
}

/// A list below its heading; nothing where there is nothing to list.
pub(super) fn listed(head: &str, items: Vec<String>) -> Vec<Part> {
    if items.is_empty() {
        return Vec::new();
    }
    vec![Part::Heading(head.to_owned()), Part::List(items)]
}

#[derive(Template)]
#[template(path = "document.html")]
struct Fragment<'a> {
    parts: &'a [Part],
}

/// The parts in order as part of a page. The template escapes every text.
pub(super) fn html(parts: &[Part]) -> String {
    Fragment { parts }.render().expect("writing to memory cannot fail")
}

/// What stands where there is no figure.
pub(super) fn absent() -> String {
    "–".to_owned()
}
