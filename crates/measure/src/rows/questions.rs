//! The columns of a row that cover all of its questions together.

use std::collections::BTreeMap;

use super::{Builder, bounds};
use crate::spec::mean;
use crate::statistics::Confidence;
use recap_core::model::{Absent, QuestionKind, SPREAD, Source, Value, catalogue};

/// Smallest number of questions of a kind that may be called a row's worst.
const WORST_OF: usize = 10;

impl Builder<'_> {
    /// Adds the columns that cover all questions of the row.
    pub(super) fn of_questions(&self, values: &mut BTreeMap<String, Value>) {
        self.retention(values);
        let source = self.manifest.source.as_str();
        values.insert(catalogue::CONTINUITY_SOURCE.id.into(), Value::Text(source.into()));
        // Answers that a model knows without any history show leaks; a reader
        // without a model cannot guess.
        let reason = match self.manifest.answered_by() {
            Source::Lexical => Absent::LeaksNeedModel,
            Source::Model => Absent::LeaksNeedAnswers,
        };
        values.insert(catalogue::RECALL_FILTERED.id.into(), Value::Absent(reason));
        let worst = self.worst_kind(values);
        values.insert(catalogue::WORST_KIND.id.into(), worst);
    }

    /// (recall − floor) / (ceiling − floor), never clamped (reference §5).
    ///
    /// It is a ratio of means over sessions; its interval is that of its
    /// linearised values (Cochran, "Sampling Techniques", 6.3), in which own
    /// score, floor and ceiling of a session vary together.
    fn retention(&self, values: &mut BTreeMap<String, Value>) {
        let recall = |code: Option<usize>| code.map(|code| self.each(code, catalogue::RECALL.id));
        let controls = recall(self.floor).zip(recall(self.baseline));
        let own = self.each(self.code, catalogue::RECALL.id);
        let score = |(unit, own): (&usize, &f64)| {
            let (floor, ceiling) = controls.as_ref()?;
            let floor = floor.get(unit)?;
            Some((*unit, own - floor, ceiling.get(unit)? - floor))
        };
        let scores: Vec<(usize, f64, f64)> = own.iter().filter_map(score).collect();
        let Some(room) = mean(scores.iter().map(|(_, _, room)| *room)) else {
            let reason = Absent::NoRecallOfControls;
            values.insert(catalogue::RETENTION.id.into(), Value::Absent(reason));
            return;
        };
        if room < SPREAD {
            let reason = Absent::LittleSpread(room);
            values.insert(catalogue::RETENTION.id.into(), Value::Absent(reason));
            return;
        }
        let gained = mean(scores.iter().map(|(_, gained, _)| *gained)).unwrap_or(0.0);
        let retention = gained / room;
        values.insert(catalogue::RETENTION.id.into(), Value::Known(retention));
        let linear = |(unit, gained, own_room): &(usize, f64, f64)| {
            (*unit, retention + (gained - retention * own_room) / room)
        };
        let linear: BTreeMap<usize, f64> = scores.iter().map(linear).collect();
        let interval =
            self.clusters(&linear).confidence(self.manifest.seed).map(Confidence::bounds);
        bounds(catalogue::RETENTION.id, interval.map(|b| (b.lo, b.hi)), values);
    }

    /// The kind with the lowest continuity, among those with enough questions.
    fn worst_kind(&self, values: &BTreeMap<String, Value>) -> Value {
        let questions = self.row.units.iter().flat_map(|unit| &self.facts[*unit].questions);
        let mut counts: BTreeMap<QuestionKind, usize> = BTreeMap::new();
        questions.for_each(|asked| *counts.entry(asked.question.kind).or_default() += 1);
        let enough = counts.into_iter().filter(|(_, n)| *n >= WORST_OF);
        let scored = enough.filter_map(|(kind, _)| {
            let value = values.get(&format!("continuity_{}", kind.as_str()))?;
            Some((kind, value.number()?))
        });
        match scored.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((kind, _)) => Value::Text(kind.as_str().into()),
            None => Value::Absent(Absent::FewOfEachKind(WORST_OF)),
        }
    }
}
