//! The catalogue of measures: the one place that says which there are, what each
//! counts in and what it stands for. Columns of `summary.csv`, the gate, `recap
//! compare`, the page and the table in `docs/reference.md` are made from it.

use super::QuestionKind;
use super::measure::{Column, Direction, Measure, Nature, Unit};

/// Declares measures, a constant each, and lists them in their order: that of the
/// columns. An entry is: constant, id, (name for people,) {nature,} unit, direction,
/// column, section, meaning.
macro_rules! measures {
    ($(
        $name:ident $id:literal $(($label:literal))? $({$nature:ident})?
        $unit:ident $direction:ident $column:ident $section:literal: $meaning:literal;
    )*) => {
        $(
            #[doc = concat!("`", $id, "`: ", $meaning, ".")]
            pub const $name: &Measure = &Measure {
                id: $id,
                label: concat!($($label)?),
                unit: Unit::$unit,
                direction: Direction::$direction,
                column: Column::$column,
                section: $section,
                meaning: $meaning,
                kind: None,
                nature: [$(Nature::$nature,)? Nature::Plain][0],
            };
        )*

        const LISTED: &[&Measure] = &[$($name),*];
    };
}

measures! {
    SESSIONS "sessions" Count Neutral Csv "reference §7":
        "sessions in the row";
    REQUESTS "requests" Count Neutral Csv "reference §1":
        "requests that the recorded agent made";
    QUESTIONS "questions" Count Neutral Csv "reference §5":
        "questions asked about the contexts of the row";
    UNSCORED "unscored" Count Lower Csv "reference §5":
        "questions without a grade; where no model answers, without a value to find";
    RECALL "recall" Share Higher Csv "reference §5":
        "mean score of the answers, without the kind `abstain`; model answerers only";
    RECALL_LO "recall_lo" Share Higher Csv "reference §7":
        "lower bound of the 95 % interval of `recall`";
    RECALL_HI "recall_hi" Share Higher Csv "reference §7":
        "upper bound of the 95 % interval of `recall`";
    CONTINUITY "continuity" Points Higher Csv "reference §5":
        "of the questions right from the whole conversation (where no model answers: findable in it), the part still right";
    CONTINUITY_LO "continuity_lo" Points Higher Csv "reference §7":
        "lower bound of the 95 % interval of `continuity`";
    CONTINUITY_HI "continuity_hi" Points Higher Csv "reference §7":
        "upper bound of the 95 % interval of `continuity`";
    REFERENCE_RECALL "reference_recall" ("needed facts kept") Share Higher Csv "reference §4":
        "share of the references that are still in the context, or stated in it: per request, then per session";
    EVIDENCE_GONE "evidence_gone" Share Lower Csv "reference §4":
        "share of questions with evidence that is not sent in any form";
    FABRICATION_RATE "fabrication_rate" Share Lower Csv "reference §5":
        "share of wrong claims, of the questions whose answer cannot be known, has changed, or was removed; model answerers only";
    TOKENS_FULL "tokens_full" Tokens Neutral Csv "reference §1":
        "tokens over all requests if nothing were compacted";
    TOKENS_SENT "tokens_sent" Tokens Lower Csv "reference §1":
        "tokens over all requests, system prompt and tool definitions included";
    TOKEN_SAVINGS "token_savings" Share Higher Csv "reference §1":
        "1 − `tokens_sent` / `tokens_full`; negative where more was sent";
    PEAK_TOKENS "peak_tokens" ("peak") Tokens Lower Csv "reference §1":
        "largest context";
    COMPACTIONS "compactions" Count Neutral Csv "reference §1":
        "compactions that did not fail";
    OVERFLOWS "overflows" ("over the window") Count Lower Csv "reference §1":
        "requests whose context and recorded output exceed the window";
    COST_USD "cost_usd" ("session cost") Dollars Lower Csv "reference §2":
        "bill of the session: prompts, recorded outputs and compactions, with what happened to the recording's cache";
    COST_SAVINGS "cost_savings" Share Higher Csv "reference §2":
        "1 − `cost_usd` / that of `full`; negative where the bill is higher";
    COMPACTION_COST_USD "compaction_cost_usd" Dollars Lower Csv "reference §2":
        "bill of the model calls that compactions make; part of the bills";
    CACHE_HIT_RATE "cache_hit_rate" Share Higher Csv "reference §2":
        "share of the tokens sent that is read from the cache, compactor's calls left out";
    CACHE_BREAKS "cache_breaks" Count Lower Csv "reference §2":
        "requests at which something sent before was edited or removed";
    BLOCKING_MS_P95 "blocking_ms_p95" ("wait p95") Milliseconds Lower Csv "reference §3":
        "95th percentile of the wait for a compaction";
    LATENCY_SOURCE "latency_source" Word Neutral Csv "reference §3":
        "how times were obtained: live, recorded or modelled";
    VERDICT_VS_FULL "verdict_vs_full" Word Neutral Csv "reference §7":
        "conclusion from the paired difference to `full`";
    RECALL_RECOVERY "recall_recovery" Share Higher JsonOnly "reference §5":
        "recall when the answerer may also search what the strategy stored outside the context";
    RECOVERY_TOKENS "recovery_tokens" Tokens Lower JsonOnly "reference §5":
        "mean tokens per question that these searches returned";
    RECOVERY_CALLS "recovery_calls" Count Lower JsonOnly "reference §5":
        "mean number of these searches per question";
    REFERENCE_RECALL_LO "reference_recall_lo" Share Higher Csv "reference §7":
        "lower bound of the 95 % interval of `reference_recall`";
    REFERENCE_RECALL_HI "reference_recall_hi" Share Higher Csv "reference §7":
        "upper bound of the 95 % interval of `reference_recall`";
    REFERENCES "references" Count Neutral Csv "reference §4":
        "references examined";
    RECENCY_GAIN "recency_gain" ("gain over recency") Difference Higher Csv "reference §4":
        "reference recall minus what the newest messages of the same mean size would score";
    DID_WITHOUT "did_without" Share Lower JsonOnly "reference §4":
        "share of references that the recorded agent used after its own compaction had removed them";
    COST_USD_REFETCH "cost_usd_refetch" {Loss} Dollars Lower Csv "reference §2":
        "the bill if everything lost that was in a tool result is fetched again where it is needed";
    OFFLINE_SUMMARY "offline_summary" Flag Neutral Csv "reference §6":
        "whether the summaries are offline summaries, so that the row is not ranked";
    MDE "mde" Ranking Neutral Csv "reference §7":
        "smallest difference that this many clusters would show with a power of 0.8";
    N_CLUSTERS "n_clusters" Count Neutral Csv "reference §7":
        "clusters behind the interval of the measure that ranks";
    RANK "rank" Place Lower Csv "reference §7":
        "rank among the ranked rows of the window; equal rows share one";
    DEPTH "depth" Count Neutral Csv "how-it-works §44":
        "depth of the cuts";
    CUTS "cuts" {Sizes} Count Neutral Csv "how-it-works §45":
        "places at which a compaction was forced";
    FACTS_NEEDED "facts_needed" {Sizes} Count Neutral Csv "how-it-works §45":
        "identifiers that the agent used after a cut and could only know from before it";
    SESSIONS_WITH_FACTS "sessions_with_facts" {Sizes} Count Neutral Csv "how-it-works §45":
        "sessions with facts";
    FACTS_KEPT "facts_kept" ("facts kept") Share Higher Csv "how-it-works §45":
        "(verbatim + carried) / facts";
    FACTS_KEPT_LO "facts_kept_lo" Share Higher Csv "reference §7":
        "lower bound of the 95 % interval of `facts_kept`";
    FACTS_KEPT_HI "facts_kept_hi" Share Higher Csv "reference §7":
        "upper bound of the 95 % interval of `facts_kept`";
    EXPOSED_SHARE "exposed_share" ("exposed") {Sizes} Share Neutral Csv "how-it-works §45":
        "share of the facts that are not verbatim";
    CARRIED_SHARE "carried_share" ("carried") Share Higher Csv "how-it-works §45":
        "carried / (facts − verbatim): how much of what went the written text carries";
    ADDED_AT_CUT "added_at_cut" ("added by the summary") Difference Higher Csv "how-it-works §45":
        "`facts_kept` minus that of the same strategy without summary";
    ADDED_AT_CUT_LO "added_at_cut_lo" Difference Higher JsonOnly "reference §7":
        "lower bound of the 95 % interval of `added_at_cut`";
    ADDED_AT_CUT_HI "added_at_cut_hi" Difference Higher JsonOnly "reference §7":
        "upper bound of the 95 % interval of `added_at_cut`";
    GAIN_AT_CUT "gain_at_cut" ("gain over recency") Difference Higher Csv "how-it-works §45":
        "`facts_kept` minus what the newest messages of the same size would keep";
    TOKENS_AT_CUT "tokens_at_cut" ("tokens after the cut") {Sizes} Ratio Lower Csv "how-it-works §45":
        "tokens of the first prompt after the cut / those without any compaction";
    CONTINUITY_AT_CUT "continuity_at_cut" {Answers} Points Higher Csv "how-it-works §45":
        "of the questions right just before the cut, the part still right just after it";
    UNUSABLE_REPLIES "unusable_replies" Count Lower Csv "how-it-works §47":
        "unusable replies of the compactor";
    IDLE_COMPACTIONS "idle_compactions" Count Lower Csv "how-it-works §48":
        "compactions that free less than 5 % of the context; views do not count";
    QUESTIONS_AT_CUT "questions_at_cut" {Answers} Count Neutral Csv "how-it-works §45":
        "questions at cuts that are right without compression";
    COST_SAVINGS_VS_RECORDED "cost_savings_vs_recorded" Share Higher Csv "reference §2":
        "share saved of the bill of the row `recorded`";
    DIFFERENCE_TO_FULL "difference_to_full" Ranking Higher JsonOnly "reference §7":
        "paired difference to `full` in the measure that ranks";
    DIFFERENCE_TO_FULL_HI "difference_to_full_hi" Ranking Higher JsonOnly "reference §7":
        "upper bound of the 95 % interval of `difference_to_full`";
    DIFFERENCE_TO_FULL_LO "difference_to_full_lo" Ranking Higher JsonOnly "reference §7":
        "lower bound of the 95 % interval of `difference_to_full`";
    REFERENCES_KEPT "references_kept" Count Higher JsonOnly "reference §4":
        "references that are still in the context with support at the request that uses them";
    REFERENCE_EXPOSED "reference_exposed" Share Neutral JsonOnly "how-it-works §46":
        "share of the references that are not verbatim; at 0 no fact was needed";
    UNRANKED "unranked" Word Neutral JsonOnly "reference §7":
        "why a row that could be ranked has no rank";
    FINDABLE "findable" Share Higher Csv "reference §4":
        "share of questions whose answer one of the three best passages of the context still states";
}

/// Declares continuity for each kind of question but the last, which cannot be answered,
/// in the order of [`QuestionKind::ALL`].
macro_rules! continuity_by_kind {
    ($($kind:literal)*) => {
        /// `continuity_<kind>`: continuity over the questions of a kind.
        pub static CONTINUITY_BY_KIND: [Measure; QuestionKind::ALL.len() - 1] = {
            let mut at = 0;
            [$(Measure {
                id: concat!("continuity_", $kind),
                meaning: "continuity over the questions of this kind, all sessions together",
                label: "",
                column: Column::JsonOnly,
                kind: {
                    at += 1;
                    Some(QuestionKind::ALL[at - 1])
                },
                ..*CONTINUITY
            }),*]
        };
    };
}

continuity_by_kind! {
    "fact" "decision" "artifact" "plan" "update" "temporal" "multi-hop" "constraint"
    "preference" "tone" "shared-concept" "snapshot" "ordering" "summary" "contradiction"
    "open-domain"
}

/// Every measure, in the order of the columns of `summary.csv`.
pub fn all() -> impl Iterator<Item = &'static Measure> {
    LISTED.iter().copied().chain(&CONTINUITY_BY_KIND)
}

/// Continuity of the questions of a kind; `None` of those that cannot be answered.
pub fn continuity_of(kind: QuestionKind) -> Option<&'static Measure> {
    CONTINUITY_BY_KIND.iter().find(|measure| measure.kind == Some(kind))
}

/// The measure of a column.
pub fn find(id: &str) -> Option<&'static Measure> {
    all().find(|measure| measure.id == id)
}

/// Measures of earlier versions, by the one that takes their place, if there is one: what a
/// rule that names one of them is told.
pub const REMOVED: &[(Option<&Measure>, &str)] = &[
    (Some(BLOCKING_MS_P95), "blocking_ms_p50 blocking_ms_max blocking_ms_sum"),
    (Some(CACHE_BREAKS), "rewritten_tokens"),
    (Some(CONTINUITY), "kept continuity_lost gained neither worst_kind"),
    (Some(COST_SAVINGS_VS_RECORDED), "break_even_requests never_even pays_after"),
    (Some(COST_USD), "cut_cost_usd cost_head_breakpoint_usd cost_usd_without_storage"),
    (Some(COST_USD_REFETCH), "refetch_tokens refetch_at_cut"),
    (Some(EVIDENCE_GONE), "evidence_verbatim evidence_edited evidence_folded"),
    (Some(FABRICATION_RATE), "abstention_rate recall_abstain"),
    (Some(FACTS_KEPT), "bare_at_cut facts_kept_1_5 facts_kept_6_20 facts_kept_21_40 first_miss"),
    (Some(FACTS_KEPT), "irrecoverable_at_cut kept_per_1k recovered_at_cut"),
    (Some(FINDABLE), "lost garbled unused"),
    (Some(IDLE_COMPACTIONS), "inflated"),
    (Some(N_CLUSTERS), "largest_share"),
    (Some(RECALL), "retention retention_lo retention_hi recall_filtered"),
    (Some(RECENCY_GAIN), "recency_gain_survival"),
    (Some(REFERENCE_RECALL), "reference_partial reference_bare reference_lost"),
    (Some(REFERENCE_RECALL), "reference_recall_4k_8k reference_recall_8k_16k"),
    (Some(REFERENCE_RECALL), "reference_recall_16k_32k reference_recall_32k_64k"),
    (Some(REFERENCE_RECALL), "reference_recall_64k irrecoverable irrecoverable_references"),
    (Some(TOKENS_AT_CUT), "compression_ratio"),
    (Some(TOKENS_SENT), "mean_tokens message_ratio"),
    (Some(UNUSABLE_REPLIES), "unusable_share fallback_share"),
    (None, "background_ms continuity_source estimator_error exposed output_source"),
    (None, "prefill_ms_saved recall_verbatim recall_verbatim_full tokens_source"),
    (None, "sidechain_cost_usd"),
];

/// What took the place of a measure of an earlier version, as [`REMOVED`] has it; `None` of
/// one that never was. Recall of a kind of question is continuity of that kind now.
pub fn removed(id: &str) -> Option<Option<&'static Measure>> {
    let names = |(_, ids): &&(_, &str)| ids.split(' ').any(|removed| removed == id);
    let listed = REMOVED.iter().find(names).map(|(successor, _)| *successor);
    let of_kind = || find(&format!("continuity_{}", id.strip_prefix("recall_")?));
    listed.or_else(|| of_kind().filter(|of| of.kind.is_some()).map(Some))
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
    fn every_kind_of_question_that_can_be_answered_has_its_continuity() {
        let (last, kinds) = QuestionKind::ALL.split_last().unwrap();
        for (kind, measure) in kinds.iter().zip(&CONTINUITY_BY_KIND) {
            assert_eq!(measure.id, format!("continuity_{}", kind.as_str()));
            assert_eq!(measure.kind, Some(*kind));
        }
        assert_eq!((*last, continuity_of(*last)), (QuestionKind::Abstain, None));
    }

    #[test]
    fn what_is_named_after_money_counts_in_dollars() {
        for Measure { id, unit, .. } in all() {
            assert_eq!(id.contains("_usd"), *unit == Unit::Dollars, "{id}");
        }
    }

    #[test]
    fn a_removed_measure_is_none_of_the_others() {
        for (successor, ids) in REMOVED {
            for id in ids.split(' ') {
                assert_eq!((find(id), removed(id)), (None, Some(*successor)), "{id}");
            }
        }
        assert_eq!(removed("recall_tone"), Some(find("continuity_tone")));
        for id in ["recall", "recall_lo", "tokens_sent", "nothing"] {
            assert_eq!(removed(id), None, "{id}");
        }
    }
}
