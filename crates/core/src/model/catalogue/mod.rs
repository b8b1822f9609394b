//! The catalogue of measures: the one place that says which there are, what each
//! counts in and what it stands for. Columns of `summary.csv`, the gate, `recap
//! compare`, the page and the table in `docs/reference.md` are made from it.

#[macro_use]
mod entry;
mod listed;

use super::QuestionKind;
use super::measure::{Column, Direction, Measure, Nature, Unit};

/// Declares a measure for each kind of question but the last, which cannot be answered,
/// in the order of [`QuestionKind::ALL`].
macro_rules! by_kind {
    ($name:ident $of:literal $unit:ident $meaning:literal: $($kind:literal)*) => {
        #[doc = concat!("`", $of, "_<kind>`: ", $meaning, ".")]
        pub static $name: [Measure; QuestionKind::ALL.len() - 1] = {
            let mut at = 0;
            [$(Measure {
                id: concat!($of, "_", $kind),
                label: "",
                unit: Unit::$unit,
                direction: Direction::Higher,
                column: Column::JsonOnly,
                section: "reference §5",
                meaning: $meaning,
                kind: {
                    at += 1;
                    Some(QuestionKind::ALL[at - 1])
                },
                nature: Nature::Plain,
            }),*]
        };
    };
}

by_kind!(RECALL_BY_KIND "recall" Share "mean score of the questions of this kind":
    "fact" "decision" "artifact" "plan" "update" "temporal" "multi-hop" "constraint"
    "preference" "tone" "shared-concept" "snapshot" "ordering" "summary" "contradiction"
    "open-domain");
by_kind!(CONTINUITY_BY_KIND "continuity" Points
    "continuity over the questions of this kind, all sessions together":
    "fact" "decision" "artifact" "plan" "update" "temporal" "multi-hop" "constraint"
    "preference" "tone" "shared-concept" "snapshot" "ordering" "summary" "contradiction"
    "open-domain");

pub use listed::*;
use listed::{AFTER_KINDS, BEFORE_KINDS};

/// Every measure, in the order of the columns of `summary.csv`.
pub fn all() -> impl Iterator<Item = &'static Measure> {
    let listed = BEFORE_KINDS.iter().copied().chain(&RECALL_BY_KIND);
    listed.chain(AFTER_KINDS.iter().copied()).chain(&CONTINUITY_BY_KIND)
}

/// Recall of the questions of a kind.
pub fn recall_of(kind: QuestionKind) -> &'static Measure {
    let of_kind = RECALL_BY_KIND.iter().find(|measure| measure.kind == Some(kind));
    of_kind.unwrap_or(RECALL_ABSTAIN)
}

/// Continuity of the questions of a kind; `None` of those that cannot be answered.
pub fn continuity_of(kind: QuestionKind) -> Option<&'static Measure> {
    CONTINUITY_BY_KIND.iter().find(|measure| measure.kind == Some(kind))
}

/// The measure of a column.
pub fn find(id: &str) -> Option<&'static Measure> {
    all().find(|measure| measure.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_measure_has_unique_id_and_description() {
        let ids: BTreeSet<&str> = all().map(|measure| measure.id).collect();
        assert_eq!(ids.len(), all().count());
        for Measure { id, meaning, section, .. } in all() {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
            assert!(id.chars().all(plain), "{id} is not snake_case");
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{id}");
            assert!(
                section.starts_with("reference §") || section.starts_with("how-it-works §"),
                "{id}"
            );
        }
    }

    #[test]
    fn every_kind_of_question_has_its_measures() {
        let (last, kinds) = QuestionKind::ALL.split_last().unwrap();
        for (at, kind) in kinds.iter().enumerate() {
            for (of, measure) in
                [("recall", &RECALL_BY_KIND[at]), ("continuity", &CONTINUITY_BY_KIND[at])]
            {
                assert_eq!(measure.id, format!("{of}_{}", kind.as_str()));
                assert_eq!(measure.kind, Some(*kind));
            }
        }
        assert_eq!(
            (*last, RECALL_ABSTAIN.kind),
            (QuestionKind::Abstain, Some(QuestionKind::Abstain))
        );
    }

    #[test]
    fn what_is_named_after_money_counts_in_dollars() {
        for Measure { id, unit, .. } in all() {
            assert_eq!(id.contains("_usd"), *unit == Unit::Dollars, "{id}");
        }
    }
}
