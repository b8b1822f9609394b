//! Findings: what a run shows or leaves open, each a sentence made where it is found
//! (`recap-measure`). The terminal, the page, `report.md` and `summary.json` show the same ones.

/// What a finding is about, in the order of a list; its name in files is in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// A property of this run that may mislead, and that can often be corrected.
    Problem,
    /// A result that the figures show.
    Observation,
    /// A limit of the method or of the data, whatever the figures are.
    Limit,
}

/// A fact that a run shows or leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Name in files; several findings may share one.
    pub kind: &'static str,
    /// What it is about.
    pub severity: Severity,
    /// Whether figures may be off by more than their intervals say.
    pub changes_figures: bool,
    /// How far it questions what is recommended, `0.0..=1.0`: the heaviest problem or limit is
    /// named as the largest doubt. Of an observation: how far it may change a reader's choice.
    pub weight: f64,
    /// A clause without a full stop.
    pub text: String,
}

impl Finding {
    /// A problem that changes no figure and questions nothing.
    pub fn problem(kind: &'static str, text: impl Into<String>) -> Self {
        Self::new(kind, Severity::Problem, text.into())
    }

    /// An observation of this weight.
    pub fn observation(kind: &'static str, weight: f64, text: impl Into<String>) -> Self {
        Finding { weight, ..Self::new(kind, Severity::Observation, text.into()) }
    }

    /// A limit that questions nothing in particular.
    pub fn limit(kind: &'static str, text: impl Into<String>) -> Self {
        Self::new(kind, Severity::Limit, text.into())
    }

    /// The same, with whether figures may be off by more than their intervals say.
    pub fn changing_figures(self, changes_figures: bool) -> Self {
        Finding { changes_figures, ..self }
    }

    /// The same with this weight.
    pub fn weighing(self, weight: f64) -> Self {
        Finding { weight, ..self }
    }

    fn new(kind: &'static str, severity: Severity, text: String) -> Self {
        Finding { kind, severity, changes_figures: false, weight: 0.0, text }
    }
}
