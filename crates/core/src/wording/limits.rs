//! Each limit of the method or of the data as a clause without a full stop.

use super::number::percent;
use super::{listed, window};
use crate::model::{Counts, Limit, SampleSizeLimit, TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA};
use crate::text::{counted, grouped};

/// The result of `recap judge calibrate` for the judge without a model;
/// `tests/suite/judge_real.rs` measures it again.
const UNTRUSTED: &str = "the offline judge accepts too many answers that people find wrong (`recap \
                         judge calibrate`)";

pub(super) fn words(limit: &Limit) -> String {
    use Limit::*;
    match limit {
        OpenLoop => {
            "replay is open loop: the recorded agent does not react to what was forgotten, \
                     so this measures memory and size, not task success"
                .to_owned()
        }
        Counts(counts) => token_counts(counts),
        OfflineSummaries { strategies, compactor } => format!(
            "offline summaries, not ranked: {}. Their summaries come from the {compactor} compactor, so \
             these rows measure it and not the strategy",
            strategies.join(", ")
        ),
        NoAnswerer => {
            "no model answers the questions: one counts where one of the three best passages \
                       of the context still states its answer, which ranks strategies and says \
                       nothing of what a model answers"
                .to_owned()
        }
        OfflineJudge { answerer } => format!(
            "what {answerer} answers is graded offline, by words: what is right in other words may \
             count as wrong; {UNTRUSTED}; `recap judge RUN --judge MODEL` has the same answers graded \
             by a model"
        ),
        Paraphrased { compactor, strategies } => format!(
            "{compactor} writes summaries in its own words, and words are compared without a model: \
             what is said otherwise counts as lost, so the scores of {} are too low rather than \
             too high",
            strategies.join(", ")
        ),
        Uncalibrated { judge, judges } => format!(
            "the judge {judge} is not calibrated by this run, so how often it is wrong is not \
             known: `recap judge calibrate FILE{}` measures it on answers that people graded; it \
             may be trusted from kappa {TRUSTED_KAPPA} on and below {} of wrong answers accepted, \
             by the upper bound",
            judges.iter().map(|judge| format!(" --judge {judge}")).collect::<String>(),
            percent(TRUSTED_FALSE_ACCEPTS)
        ),
        FewClusters { clusters, noun, allows } => {
            format!("{}: {}", counted(*clusters, noun), allowed(*allows, *clusters))
        }
        OneProject { sessions } => format!(
            "all {sessions} sessions that are scored come from one project: intervals speak \
             of more sessions of it, not of other projects"
        ),
        SmallWindows { windows, scaled } => {
            let windows: Vec<String> = windows.iter().map(|label| window(label)).collect();
            format!(
                "results at {} do not predict a native window: {}single tool results do not shrink \
                 with it",
                listed(&windows),
                if *scaled { "thresholds are scaled to the window, but " } else { "" }
            )
        }
        IdentifiersOnly => "cuts ask for identifiers that the agent used next; whether intent, \
                            reasons and rules survive takes questions"
            .to_owned(),
        SentencesUnread { compactor, strategies } => format!(
            "{compactor} wrote the summaries of {}: a fact counts as kept where its identifier \
             stands among its own words, so a sentence that denies it or takes another subject may \
             count too (in a trial 0.83 and 0.44 of the facts)",
            strategies.join(", ")
        ),
        BillsAssume { prices, date, hash } => {
            let date = date.as_ref().map(|date| format!("{date}, ")).unwrap_or_default();
            let hash: String = hash.chars().take(12).collect();
            format!(
                "bills take every output as recorded, whatever was forgotten before it; prices are \
                 those of {prices} ({date}BLAKE3 {hash}…), at the standard service class"
            )
        }
        ModelledClock { sessions, of, user_ms, tool_ms } => {
            let seconds = |ms: f64| format!("{} s", (ms / 100.0).round() / 10.0);
            format!(
                "some times of {} of {} are modelled ({} before a user's message, {} for a tool): \
                 which caches are still alive there is an assumption",
                grouped(*sessions),
                counted(*of, "session"),
                seconds(*user_ms),
                seconds(*tool_ms)
            )
        }
        ModelledWaits { first_token_ms, prefill_per_s, decode_per_s } => format!(
            "waits for compactions are modelled, not measured: {first_token_ms:.0} ms to the first \
             token, {prefill_per_s:.0} tokens a second read and {decode_per_s:.0} written"
        ),
        LeftOut { records } => {
            let short = |reason: &str| reason.strip_suffix(" record").unwrap_or(reason).to_owned();
            let each =
                records.iter().map(|(reason, n)| format!("{} {}", grouped(*n), short(reason)));
            format!("records left out on import: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

fn token_counts(counts: &Counts) -> String {
    let mut text = format!(
        "tokens of {} of {} are the provider's own count from request to request",
        grouped(counts.scaled),
        counted(counts.sessions, "session")
    );
    let exact = [(counts.as_asked, "as asked"), (counts.without_usage, "without usage")];
    let exact =
        exact.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{} {why}", grouped(*n)));
    let exact = exact.collect::<Vec<_>>().join(", ");
    if !exact.is_empty() {
        text += &format!("; counted by the vocabulary alone: {exact}");
    }
    if counts.ahead > 0.0 {
        text += &format!(
            "; what strategies write is sized by one factor for the session, whose count was off by \
             up to {} in the median ahead of what it was fitted to",
            percent(counts.ahead)
        );
    }
    if counts.behind > 0.0 {
        text += &format!(", {} behind recorded compactions", percent(counts.behind));
    }
    text
}

fn allowed(allows: SampleSizeLimit, clusters: u64) -> &'static str {
    match (allows, clusters) {
        (SampleSizeLimit::Description, _) => "described, not decided",
        (SampleSizeLimit::NoNonInferior, _) => "no strategy can be called non-inferior",
        (SampleSizeLimit::Provisional, _) => "non-inferior is provisional",
        (SampleSizeLimit::RareLosses, _) => {
            "where non-inferior is provisional, losses that are rare and heavy could still hide"
        }
        (SampleSizeLimit::SmallDifferences, _) => {
            "undecided rows may still differ by less than their mde"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_both_sides_are_grouped_by_thousands() {
        let modelled = Limit::ModelledClock {
            sessions: 16_950,
            of: 17_000,
            user_ms: 61_000.0,
            tool_ms: 4_050.0,
        };
        let counts = Counts {
            scaled: 16_950,
            sessions: 17_000,
            as_asked: 0,
            without_usage: 1_234,
            ahead: 0.0,
            behind: 0.0,
        };
        for (limit, expected) in [
            (
                modelled,
                "some times of 16,950 of 17,000 sessions are modelled (61 s before a user's \
                 message, 4.1 s for a tool): which caches are still alive there is an assumption",
            ),
            (
                Limit::Counts(counts),
                "tokens of 16,950 of 17,000 sessions are the provider's own count from request \
                 to request; counted by the vocabulary alone: 1,234 without usage",
            ),
            (
                Limit::LeftOut { records: vec![("progress record".to_owned(), 2_500)] },
                "records left out on import: 2,500 progress",
            ),
        ] {
            assert_eq!(words(&limit), expected);
        }
    }
}
