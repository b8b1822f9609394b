//! The largest doubt about the figures, from what the instrument finds out
//! about itself (measures §6).

use super::Scene;
use crate::measure::names::{BASELINE, FLOOR};
use crate::measure::sentences::{label, percent};
use crate::model::{
    NATIVE, PresetRow, Primary, SMALLEST_NATIVE, SPREAD, Source, VALID_WITHIN, catalogue,
    is_exam_doubtful,
};

/// Share of ungraded answers that puts a figure in doubt (semantics §41).
const UNSCORED: f64 = 0.05;
/// Share of the best score that a bare list of names may reach.
const GAMED: f64 = 0.8;

/// Looks for a reason to doubt: how much it weighs, and what to say.
type Doubt = fn(&Scene<'_>, &PresetRow) -> Option<(f64, String)>;

/// What can be doubted of the chosen row.
const DOUBTS: &[Doubt] =
    &[at_odds, ungraded, no_room, done_without, gamed, easier, offline, uncalibrated, names_only];

impl Scene<'_> {
    /// The one that weighs most. There is always one: a replay is open loop.
    pub(super) fn doubt(&self, best: Option<&PresetRow>) -> String {
        let found = best
            .into_iter()
            .flat_map(|row| DOUBTS.iter().filter_map(move |doubt| doubt(self, row)));
        let heaviest = found.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let said = heaviest.map(|(_, text)| text).or_else(|| self.small(best?));
        let said = said.unwrap_or_else(|| {
            "a replay is open loop, so the recorded agent does not react to what was forgotten"
                .to_owned()
        });
        format!("The largest doubt: {said}.")
    }

    fn small(&self, row: &PresetRow) -> Option<String> {
        let entry = self.rows.iter().find(|e| std::ptr::eq(&e.row, row))?;
        let small = entry.window_tokens > 0.0 && entry.window_tokens < SMALLEST_NATIVE as f64;
        (small && row.window != NATIVE).then(|| {
            format!(
                "a window of {} does not predict the native one, for single tool results do not \
                 shrink with it",
                label(&row.window)
            )
        })
    }
}

fn at_odds(scene: &Scene<'_>, _: &PresetRow) -> Option<(f64, String)> {
    let panel = scene.run.panel.filter(|panel| panel.is_doubtful())?;
    let kappa = panel.kappa?;
    Some((0.95, format!("the judges contradict each other (kappa {kappa:.2})")))
}

fn ungraded(_: &Scene<'_>, row: &PresetRow) -> Option<(f64, String)> {
    let share =
        row.number(catalogue::UNSCORED)? / row.number(catalogue::PROBES).filter(|n| *n > 0.0)?;
    (share > UNSCORED).then(|| (0.8, format!("{} of its answers have no grade", percent(share))))
}

/// The ends of the scale are too close.
fn no_room(scene: &Scene<'_>, row: &PresetRow) -> Option<(f64, String)> {
    let recall = |name| scene.beside(row, name).and_then(|r| r.number(catalogue::RECALL));
    let (floor, ceiling) = (recall(FLOOR)?, recall(BASELINE)?);
    (scene.by_probes() && ceiling - floor < SPREAD).then(|| {
        let text = format!(
            "the whole conversation answers {ceiling:.2} of the questions right and no history at \
             all {floor:.2}, which leaves little to tell strategies apart by"
        );
        (0.9, text)
    })
}

fn done_without(scene: &Scene<'_>, row: &PresetRow) -> Option<(f64, String)> {
    let share = row.number(catalogue::DID_WITHOUT).filter(|share| is_exam_doubtful(*share))?;
    (scene.run.primary == Primary::ReferenceRecall).then(|| {
        let text = format!(
            "after its own compactions the recorded agent did without {} of what this exam would \
             have asked for",
            percent(share)
        );
        (0.9, text)
    })
}

/// A bare list of identifiers does nearly as well.
fn gamed(scene: &Scene<'_>, row: &PresetRow) -> Option<(f64, String)> {
    let list = scene.beside(row, "id-list").filter(|_| !scene.by_probes())?;
    let (list, own) =
        (list.number(scene.run.primary.measure())?, row.number(scene.run.primary.measure())?);
    (list >= GAMED * own).then(|| {
        let text = format!(
            "a bare list of names without a word of meaning (id-list) keeps {list:.2}, so much of \
             this figure can be had by a trick"
        );
        (0.85, text)
    })
}

fn easier(scene: &Scene<'_>, row: &PresetRow) -> Option<(f64, String)> {
    let (own, full) =
        (row.number(catalogue::RECALL_VERBATIM)?, row.number(catalogue::RECALL_VERBATIM_FULL)?);
    (scene.by_probes() && (own - full).abs() > VALID_WITHIN).then(|| {
        let text = format!(
            "where all of the evidence is there it answers {own:.2} right against {full:.2} with \
             the whole conversation, so its score owes something to the size of its context alone"
        );
        (0.7, text)
    })
}

fn offline(scene: &Scene<'_>, _: &PresetRow) -> Option<(f64, String)> {
    let manifest = scene.run.manifest;
    let lexical = |source| source == Source::Lexical;
    let text = match (lexical(manifest.answered_by()), lexical(manifest.graded_by())) {
        (true, true) => {
            "questions are answered and graded by words alone, which ranks strategies \
                         that need no model and says little of what a model would answer"
        }
        (false, true) => {
            "answers of a model are graded by words alone, so what is right in other \
                          words may count as wrong"
        }
        (true, false) => {
            "questions are answered by words alone, which says little of what a model \
                          would answer"
        }
        (false, false) => return None,
    };
    scene.by_probes().then(|| (0.6, text.to_owned()))
}

/// An exam of identifiers says nothing of intent.
fn names_only(scene: &Scene<'_>, _: &PresetRow) -> Option<(f64, String)> {
    (scene.run.primary == Primary::KeptAtCut).then(|| {
        let text = "cuts ask for identifiers that the agent used next; whether intent, reasons and \
                    rules survive takes questions";
        (0.4, text.to_owned())
    })
}

/// Nothing in the run tells how often the judge is wrong.
fn uncalibrated(scene: &Scene<'_>, _: &PresetRow) -> Option<(f64, String)> {
    let manifest = scene.run.manifest;
    (scene.by_probes() && manifest.graded_by() == Source::Model).then(|| {
        let text = format!(
            "how often {} grades wrongly is not measured in this run (`recap judge calibrate`)",
            manifest.judge
        );
        (0.5, text)
    })
}
