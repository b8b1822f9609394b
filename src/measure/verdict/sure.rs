//! How sure the verdict is, and what cannot be concluded (measures §7).

use super::choice::Best;
use super::{Scene, counted, form_for};
use crate::model::{AgainstFull, Outranks, Tested, catalogue};

impl Scene<'_> {
    /// How the choice stands against the whole conversation.
    pub(super) fn sure(&self, best: &Best<'_>) -> Option<String> {
        let row = best.row();
        let n = row.number(catalogue::N_CLUSTERS)?;
        let with = self.clusters(best.entry(), n);
        let margin = self.distance(self.run.manifest.margin * self.run.primary.most());
        let difference = || {
            let mean = self.distance(row.number(catalogue::DIFFERENCE_TO_FULL)?);
            let bounds = row
                .number(catalogue::DIFFERENCE_TO_FULL_LO)
                .zip(row.number(catalogue::DIFFERENCE_TO_FULL_HI));
            let (lo, hi) = bounds?;
            // Losses are told as losses: the lower bound is the larger one.
            let (least, most) = (self.signed_loss(hi), self.signed_loss(lo));
            Some(format!(" ({mean}; 95 % interval {least} to {most})"))
        };
        let text = match row.verdict? {
            AgainstFull::Descriptive => format!(
                "It rests on {with}: what was seen is described, and nothing is concluded about \
                 others."
            ),
            AgainstFull::Inferior => format!(
                "Over {with} it loses more than the margin of {margin} against the whole \
                 conversation{}.",
                difference().unwrap_or_default()
            ),
            AgainstFull::Undecided => {
                let missed = self.detectable(row.number(catalogue::MDE)).map(|mde| {
                    format!("; a difference below {mde} would be missed more than one time in five")
                });
                format!(
                    "Whether it loses more than the margin of {margin} against the whole \
                     conversation stays open with {with}{}.",
                    missed.unwrap_or_default()
                )
            }
            AgainstFull::ProvisionalNonInferior => format!(
                "Over {with} it stays within the margin of {margin} of the whole conversation, \
                 provisionally: losses that are rare and heavy could still hide."
            ),
            AgainstFull::NonInferior => format!(
                "Over {with} it is not worse than the whole conversation by more than the margin \
                 of {margin}."
            ),
        };
        Some(text)
    }

    /// A loss as a positive number; a gain with its sign.
    fn signed_loss(&self, difference: f64) -> String {
        let digits = if self.by_probes() { 0 } else { 2 };
        let text = format!("{:.digits$}", -difference);
        match text.trim_start_matches(['-', '0', '.']).is_empty() {
            true => text.trim_start_matches('-').to_owned(),
            false => text.replace('-', "−"),
        }
    }

    /// How the strategies stand against the comparator.
    pub(super) fn compared(&self, best: &Best<'_>) -> Option<String> {
        let family = self.run.family?;
        let made = family.tests.iter().filter(|test| test.p.is_some()).count();
        if made == 0 {
            // Few sessions have been spoken of; many comparisons have not.
            let asked = family.tests.iter().filter(|test| test.interval.is_some()).count();
            return (asked > 0).then(|| {
                format!(
                    "No difference from {} can be significant with so few sessions and {}.",
                    family.comparator,
                    counted(asked, "comparison")
                )
            });
        }
        let count = |outcome: Outranks| {
            family.tests.iter().filter(|t| t.p.is_some() && t.outranks == outcome).count()
        };
        let outcomes = [
            (Outranks::Better, "better"),
            (Outranks::Worse, "worse"),
            (Outranks::Tie, "alike"),
            (Outranks::Undecided, "open"),
        ];
        let counts = outcomes.map(|(outcome, word)| (count(outcome), word));
        let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
        let own = family
            .tests
            .iter()
            .find(|test| test.strategy == best.row().strategy && test.window == best.row().window);
        Some(format!(
            "Against {} {} {} out as {}{}.",
            family.comparator,
            counted(made, "test"),
            form_for(made, "comes", "come"),
            counts.collect::<Vec<_>>().join(", "),
            own.map(|test| self.own(test)).unwrap_or_default()
        ))
    }

    /// The chosen strategy's own test.
    fn own(&self, test: &Tested) -> String {
        let by = self.distance(test.difference);
        match test.outranks {
            Outranks::Better => format!("; {} is better by {by}", test.strategy),
            Outranks::Worse => format!("; {} is worse by {by}", test.strategy),
            Outranks::Tie => format!("; {} does exactly as well", test.strategy),
            Outranks::Undecided => {
                let missed = self.detectable(test.mde);
                let missed =
                    missed.map(|mde| format!(", a difference under {mde} not being found"));
                format!("; that of {} is open{}", test.strategy, missed.unwrap_or_default())
            }
            Outranks::Descriptive => String::new(),
        }
    }
}
