//! What is said and shown, before any format: headings, sentences, lists and tables in
//! order. Reports build documents; each format is one renderer of any document.
//!
//! Texts stand here as they were recorded. A renderer makes them harmless for what reads
//! its output: control characters and commands to a terminal, Markdown, HTML.

pub(super) mod markdown;
mod terminal;

use askama::Template;

use super::{number, plain};

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
    /// Finished markup of a drawing, for a page alone: what it shows stands in words or in a table
    /// beside it. Made by `html` only.
    Drawn(String),
}

impl Part {
    /// A heading.
    pub fn heading(text: impl Into<String>) -> Self {
        Part::Heading(text.into())
    }

    /// A sentence or several.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text(text.into())
    }
}

/// A table, whose cells stand in the order of its columns.
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

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// In one line, or in two where that saves room; a word that is divided ends in `-`.
    head: String,
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
pub fn words(head: impl Into<String>) -> Column {
    Column { head: head.into(), right: false, narrow: Narrow::Whole }
}

/// A column of figures.
pub fn figures(head: impl Into<String>) -> Column {
    Column { right: true, ..words(head) }
}

/// A column of names, which are cut where there is no room.
pub fn names(head: impl Into<String>) -> Column {
    Column { narrow: Narrow::Cut, ..words(head) }
}

impl Column {
    /// The same column, which is left out in such an order.
    pub(super) fn left_out(self, order: u8) -> Self {
        Column { narrow: Narrow::LeftOut(order), ..self }
    }

    /// The same column, whose cells run over several lines.
    pub(super) fn wrapped(self) -> Self {
        Column { narrow: Narrow::Wrapped, ..self }
    }

    /// A line of its head, the first or the second.
    fn line(&self, at: usize) -> String {
        plain::line(self.head.split('\n').nth(at).unwrap_or(""))
    }

    /// Its head in one line; a word that is divided is whole.
    pub(super) fn label(&self) -> String {
        let [first, second] = [0, 1].map(|at| self.line(at));
        match first.strip_suffix('-') {
            Some(begun) => format!("{begun}{second}"),
            None => format!("{first} {second}").trim().to_owned(),
        }
    }
}

impl Table {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Whether a page can sort its rows.
    fn is_sortable(&self) -> bool {
        self.rows().flat_map(|row| &row.cells).any(|cell| cell.figure.is_some())
    }
}

/// A table that is made column by column, from rows of one kind.
pub struct TableOf<R> {
    rows: Vec<R>,
    table: Table,
}

impl<R> TableOf<R> {
    /// A table of these rows, without a column so far.
    pub fn new(name: impl Into<String>, rows: impl IntoIterator<Item = R>) -> Self {
        let rows: Vec<R> = rows.into_iter().collect();
        let empty = rows.iter().map(|_| Row::default()).collect();
        let groups = vec![Group { title: "", rows: empty }];
        Self { rows, table: Table { name: name.into(), columns: Vec::new(), groups } }
    }

    /// Adds a column: its head, and what it shows of a row.
    #[must_use]
    pub fn column<C: Into<Cell>>(mut self, head: Column, cell: impl Fn(&R) -> C) -> Self {
        self.table.columns.push(head);
        for (made, row) in self.table.groups[0].rows.iter_mut().zip(&self.rows) {
            made.cells.push(cell(row).into());
        }
        self
    }

    /// The same, where the column says something.
    pub(super) fn column_if<C: Into<Cell>>(
        self,
        is_shown: bool,
        head: Column,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        if is_shown { self.column(head, cell) } else { self }
    }

    /// Sets rows in a weaker tone.
    pub(super) fn dim(mut self, is_dim: impl Fn(&R) -> bool) -> Self {
        for (made, row) in self.table.groups[0].rows.iter_mut().zip(&self.rows) {
            made.dim = is_dim(row);
        }
        self
    }

    /// The table as a part of a document.
    pub fn part(self) -> Part {
        Part::Table(self.table)
    }

    /// The same below a line that names it, which a reader opens; nothing without a row.
    pub(super) fn folded(self) -> Option<Part> {
        let title = self.table.name.clone();
        (!self.rows.is_empty()).then(|| Part::Folded(title, vec![self.part()]))
    }
}

impl<const N: usize> TableOf<[String; N]> {
    /// Adds the columns of rows whose cells are written out.
    #[must_use]
    pub fn columns(self, heads: [Column; N]) -> Self {
        let heads = heads.into_iter().enumerate();
        heads.fold(self, |table, (at, head)| table.column(head, |row| row[at].clone()))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
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

    /// By what a column is sorted, where it is not the text that is shown: the figure, which is
    /// exact, or the words without a spread.
    fn key(&self) -> Option<String> {
        let shown = plain::line(&self.text);
        let figure = self.figure.map(|figure| number::plain(figure).unwrap_or_default());
        let is_shown = |key: &String| *key == shown && self.spread.is_none();
        let is_absent = figure.is_none() && self.text == absent();
        Some(figure.unwrap_or_else(|| shown.clone())).filter(|key| !is_absent && !is_shown(key))
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
    vec![Part::heading(head), Part::List(items)]
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
