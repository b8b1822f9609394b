//! All measures but those by kind of question.

use super::entry::{bytes, length};
use crate::model::QuestionKind;
use crate::model::measure::{Column, Direction, Measure, Nature, Unit};

// The columns of `summary.csv` before those of the kinds of questions.
measures! {
BEFORE_KINDS:
    SESSIONS "sessions" Count Neutral Csv "reference §7":
        "sessions in the row";
    REQUESTS "requests" Count Neutral Csv "reference §1":
        "requests that the recorded agent made";
    QUESTIONS "questions" Count Neutral Csv "reference §5":
        "questions asked about the contexts of the row";
    UNSCORED "unscored" Count Lower Csv "reference §5":
        "questions without a grade; where no model answers, without a value to find";
    RECALL "recall" {ByKind} Share Higher Csv "reference §5":
        "mean score of the answers, without the kind `abstain`; model answerers only";
    RECALL_LO: lower_bound RECALL;
    RECALL_HI: upper_bound RECALL;
    RETENTION "retention" Ratio Higher JsonOnly "reference §5":
        "recall on a scale from `empty` (0) to `full` (1)";
    CONTINUITY "continuity" {ByKind} Points Higher Csv "reference §5":
        "of the questions right from the whole conversation (where no model answers: findable in it), the part still right";
    CONTINUITY_LO: lower_bound CONTINUITY;
    CONTINUITY_HI: upper_bound CONTINUITY;
    REFERENCE_RECALL "reference_recall" ("needed facts kept") Share Higher Csv "reference §4":
        "share of the references that are still in the context, or stated in it: per request, then per session";
    EVIDENCE_VERBATIM "evidence_verbatim" Share Higher JsonOnly "reference §4":
        "share of questions whose evidence is all sent as recorded";
    EVIDENCE_EDITED "evidence_edited" Share Neutral JsonOnly "reference §4":
        "share of questions of whose evidence some was edited, none folded or removed";
    EVIDENCE_FOLDED "evidence_folded" Share Neutral JsonOnly "reference §4":
        "share of questions of whose evidence some is covered by a summary, none removed";
    EVIDENCE_GONE "evidence_gone" Share Lower Csv "reference §4":
        "share of questions with evidence that is not sent in any form";
    LOST "lost" Share Lower JsonOnly "reference §5":
        "share of questions answered wrong whose answer is not findable in the context";
    UNUSED "unused" Share Lower JsonOnly "reference §5":
        "share of questions answered wrong although the answer is findable, under `full` as well";
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
    INFLATED "inflated" Count Lower JsonOnly "reference §1":
        "compactions after which the context had more tokens than before";
    OVERFLOWS "overflows" ("over the window") Count Lower Csv "reference §1":
        "requests whose context and recorded output exceed the window";
    ESTIMATOR_ERROR "estimator_error" Difference Neutral JsonOnly "reference §1":
        "the strategy's own estimate / the exact count − 1, median over requests";
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
    REWRITTEN_TOKENS "rewritten_tokens" Tokens Lower JsonOnly "reference §2":
        "tokens sent before that are billed as new because of such an edit, while the cache was warm";
    REFETCH_TOKENS "refetch_tokens" ("tokens to refetch") {Loss} Tokens Lower JsonOnly "reference §4":
        "tokens of the smallest tool results that would bring the lost references back, each once per request, without what the recording read again";
    BLOCKING_MS_P50 "blocking_ms_p50" Milliseconds Lower JsonOnly "reference §3":
        "median wait for a compaction";
    BLOCKING_MS_P95 "blocking_ms_p95" ("wait p95") Milliseconds Lower Csv "reference §3":
        "95th percentile of the wait for a compaction";
    BLOCKING_MS_MAX "blocking_ms_max" Milliseconds Lower JsonOnly "reference §3":
        "longest wait for a compaction";
    BACKGROUND_MS "background_ms" Milliseconds Lower JsonOnly "reference §3":
        "time of compactions for which nobody waits";
    LATENCY_SOURCE "latency_source" Word Neutral Csv "reference §3":
        "how times were obtained: live, recorded or modelled";
    VERDICT_VS_FULL "verdict_vs_full" Word Neutral Csv "reference §7":
        "conclusion from the paired difference to `full`";
    MEAN_TOKENS "mean_tokens" Tokens Lower JsonOnly "reference §1":
        "mean tokens of the contexts";
    COMPRESSION_RATIO "compression_ratio" Ratio Lower JsonOnly "reference §1":
        "tokens after / before, median over compactions";
    MESSAGE_RATIO "message_ratio" Ratio Lower JsonOnly "reference §1":
        "messages in the last context / messages recorded until then";
    PREFILL_MS_SAVED "prefill_ms_saved" Milliseconds Higher JsonOnly "reference §3":
        "modelled: (tokens that no cache held under `full` − the same here) / tokens read per second";
    RECALL_FILTERED "recall_filtered" Share Higher JsonOnly "reference §5":
        "recall of the questions that cannot be guessed without any conversation";
    RECALL_ABSTAIN "recall_abstain" [Some(QuestionKind::Abstain)] Share Higher JsonOnly "reference §5":
        "mean score of the questions of this kind";
    RECALL_RECOVERY "recall_recovery" Share Higher JsonOnly "reference §5":
        "recall when the answerer may also search what the strategy stored outside the context";
    RECOVERY_TOKENS "recovery_tokens" Tokens Lower JsonOnly "reference §5":
        "mean tokens per question that these searches returned";
    RECOVERY_CALLS "recovery_calls" Count Lower JsonOnly "reference §5":
        "mean number of these searches per question";
    REFERENCE_RECALL_LO: lower_bound REFERENCE_RECALL;
    REFERENCE_RECALL_HI: upper_bound REFERENCE_RECALL;
    REFERENCES "references" Count Neutral Csv "reference §4":
        "references examined";
    REFERENCE_PARTIAL "reference_partial" Share Lower JsonOnly "reference §4":
        "share of references of which only the last part, such as a file name, is in the context";
    REFERENCE_BARE "reference_bare" Share Lower JsonOnly "reference §4":
        "share of references that the strategy's text only names";
    RECENCY_GAIN "recency_gain" ("gain over recency") Difference Higher Csv "reference §4":
        "reference recall minus what the newest messages of the same mean size would score";
    IRRECOVERABLE "irrecoverable" ("lost for good") Share Lower JsonOnly "reference §4":
        "share of the lost references that no tool result ever contained";
    DID_WITHOUT "did_without" Share Lower JsonOnly "reference §4":
        "share of references that the recorded agent used after its own compaction had removed them";
    KEPT "kept" Share Higher JsonOnly "reference §5":
        "share of exposed questions right under `full` and under the strategy";
    GAINED "gained" Share Neutral JsonOnly "reference §5":
        "share of exposed questions wrong under `full` and right under the strategy";
    GARBLED "garbled" Share Lower JsonOnly "reference §5":
        "share of questions answered wrong although the answer is findable and `full` is right";
    EXPOSED "exposed" Share Neutral JsonOnly "reference §5":
        "share of questions before which the strategy had compacted";
    ABSTENTION_RATE "abstention_rate" Share Neutral JsonOnly "reference §5":
        "share of answers to answerable questions that say it is not known";
    CONTINUITY_SOURCE "continuity_source" Word Neutral JsonOnly "reference §5":
        "`lexical` or `model`";
    COST_USD_REFETCH "cost_usd_refetch" {Loss} Dollars Lower Csv "reference §2":
        "the bill if everything lost that was in a tool result is fetched again where it is needed";
    SIDECHAIN_COST_USD "sidechain_cost_usd" Dollars Neutral Csv "reference §2":
        "bill of subagents and rolled-back turns as reported: the same for every strategy, part of no other figure";
    OUTPUT_SOURCE "output_source" Word Neutral JsonOnly "reference §0":
        "whether outputs are `recorded`, `counted` or `mixed`";
    TOKENS_SOURCE "tokens_source" Word Neutral JsonOnly "reference §0":
        "how tokens are counted: `exact` or `calibrated`";
    OFFLINE_SUMMARY "offline_summary" Flag Neutral Csv "reference §6":
        "whether the summaries are offline summaries, so that the row is not ranked";
    MDE "mde" Ranking Neutral Csv "reference §7":
        "smallest difference that this many clusters would show with a power of 0.8";
    N_CLUSTERS "n_clusters" Count Neutral Csv "reference §7":
        "clusters behind the interval of the measure that ranks";
}

// The columns behind them.
measures! {
AFTER_KINDS:
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
    LARGEST_SHARE "largest_share" Share Neutral JsonOnly "how-it-works §46":
        "largest share of the weight that comes from one cluster";
    FACTS_KEPT "facts_kept" ("facts kept") Share Higher Csv "how-it-works §45":
        "(verbatim + carried) / facts";
    FACTS_KEPT_LO: lower_bound FACTS_KEPT;
    FACTS_KEPT_HI: upper_bound FACTS_KEPT;
    EXPOSED_SHARE "exposed_share" ("exposed") {Sizes} Share Neutral Csv "how-it-works §45":
        "share of the facts that are not verbatim";
    CARRIED_SHARE "carried_share" ("carried") Share Higher Csv "how-it-works §45":
        "carried / (facts − verbatim): how much of what went the written text carries";
    ADDED_AT_CUT "added_at_cut" ("added by the summary") Difference Higher Csv "how-it-works §45":
        "`facts_kept` minus that of the same strategy without summary";
    ADDED_AT_CUT_LO: lower_bound ADDED_AT_CUT JsonOnly;
    ADDED_AT_CUT_HI: upper_bound ADDED_AT_CUT JsonOnly;
    GAIN_AT_CUT "gain_at_cut" ("gain over recency") Difference Higher Csv "how-it-works §45":
        "`facts_kept` minus what the newest messages of the same size would keep";
    TOKENS_AT_CUT "tokens_at_cut" ("tokens after the cut") {Sizes} Ratio Lower Csv "how-it-works §45":
        "tokens of the first prompt after the cut / those without any compaction";
    FIRST_MISS "first_miss" Count Higher JsonOnly "how-it-works §45":
        "requests from the cut to the first fact neither verbatim nor carried (Kaplan–Meier median)";
    CONTINUITY_AT_CUT "continuity_at_cut" {Answers} Points Higher Csv "how-it-works §45":
        "of the questions right just before the cut, the part still right just after it";
    UNUSABLE_REPLIES "unusable_replies" Count Lower Csv "how-it-works §47":
        "unusable replies of the compactor";
    IDLE_COMPACTIONS "idle_compactions" Count Lower Csv "how-it-works §48":
        "compactions that free less than 5 % of the context; views do not count";
    QUESTIONS_AT_CUT "questions_at_cut" {Answers} Count Neutral Csv "how-it-works §45":
        "questions at cuts that are right without compression";
    BARE_AT_CUT "bare_at_cut" Share Neutral JsonOnly "how-it-works §45":
        "share of the facts that the strategy's text only names";
    BLOCKING_MS_SUM "blocking_ms_sum" Milliseconds Lower JsonOnly "reference §3":
        "total wait for compactions";
    CONTINUITY_LOST "continuity_lost" Share Lower JsonOnly "reference §5":
        "share of exposed questions right under `full` and wrong under the strategy";
    COST_HEAD_BREAKPOINT_USD "cost_head_breakpoint_usd" Dollars Lower Csv "reference §2":
        "the bill with the first cache breakpoint after everything before the conversation";
    COST_SAVINGS_VS_RECORDED "cost_savings_vs_recorded" Share Higher Csv "reference §2":
        "share saved of the bill of the row `recorded`";
    COST_USD_WITHOUT_STORAGE "cost_usd_without_storage" Dollars Lower JsonOnly "reference §2":
        "`cost_usd` without the storage of explicit caches";
    DIFFERENCE_TO_FULL "difference_to_full" Ranking Higher JsonOnly "reference §7":
        "paired difference to `full` in the measure that ranks";
    DIFFERENCE_TO_FULL_HI: upper_bound DIFFERENCE_TO_FULL;
    DIFFERENCE_TO_FULL_LO: lower_bound DIFFERENCE_TO_FULL;
    IRRECOVERABLE_AT_CUT "irrecoverable_at_cut" Share Lower JsonOnly "how-it-works §45":
        "share of the facts that are lost and were never in a tool result";
    IRRECOVERABLE_REFERENCES "irrecoverable_references" {Loss} Count Lower JsonOnly "reference §4":
        "lost references that no tool result ever contained";
    FALLBACK_SHARE "fallback_share" ("fallbacks") Share Lower JsonOnly "how-it-works §47":
        "share of compactions asking the compactor that fell back";
    FACTS_KEPT_1_5 "facts_kept_1_5" Share Higher JsonOnly "how-it-works §45":
        "`facts_kept` of facts used at requests 1 to 5 after the cut";
    FACTS_KEPT_21_40 "facts_kept_21_40" Share Higher JsonOnly "how-it-works §45":
        "the same, requests 21 to 40";
    FACTS_KEPT_6_20 "facts_kept_6_20" Share Higher JsonOnly "how-it-works §45":
        "the same, requests 6 to 20";
    KEPT_PER_1K "kept_per_1k" Ratio Higher JsonOnly "how-it-works §45":
        "facts kept per 1,000 tokens of the first prompt after the cut";
    NEITHER "neither" Share Neutral JsonOnly "reference §5":
        "share of exposed questions wrong under both";
    RECALL_VERBATIM "recall_verbatim" Share Neutral JsonOnly "reference §6":
        "mean score of questions whose evidence is all sent as recorded";
    RECALL_VERBATIM_FULL "recall_verbatim_full" Share Neutral JsonOnly "reference §6":
        "mean score of the same questions under `full`";
    RECENCY_GAIN_SURVIVAL "recency_gain_survival" Difference Higher JsonOnly "reference §4":
        "gain over recency without overflowing requests";
    RECOVERED_AT_CUT "recovered_at_cut" Share Higher JsonOnly "how-it-works §45":
        "share of the facts that only the strategy's own search finds";
    REFERENCES_KEPT "references_kept" Count Higher JsonOnly "reference §4":
        "references that are still in the context with support at the request that uses them";
    REFERENCE_EXPOSED "reference_exposed" Share Neutral JsonOnly "how-it-works §46":
        "share of the references that are not verbatim; at 0 no fact was needed";
    REFERENCE_LOST "reference_lost" Share Lower JsonOnly "reference §4":
        "share of references that are not in the context in any form";
    REFERENCE_RECALL_16K_32K "reference_recall_16k_32k" Share Higher JsonOnly "reference §4":
        "reference recall, last seen 16–32k tokens before";
    REFERENCE_RECALL_32K_64K "reference_recall_32k_64k" Share Higher JsonOnly "reference §4":
        "reference recall, last seen 32–64k tokens before";
    REFERENCE_RECALL_4K_8K "reference_recall_4k_8k" Share Higher JsonOnly "reference §4":
        "reference recall, last seen 4–8k tokens before";
    REFERENCE_RECALL_64K "reference_recall_64k" Share Higher JsonOnly "reference §4":
        "reference recall, last seen at least 64k tokens before";
    REFERENCE_RECALL_8K_16K "reference_recall_8k_16k" Share Higher JsonOnly "reference §4":
        "reference recall, last seen 8–16k tokens before";
    REFETCH_AT_CUT "refetch_at_cut" Tokens Lower JsonOnly "how-it-works §45":
        "tokens of the smallest tool results that would bring lost facts back, per cut; each once, without what the recording read again";
    RETENTION_HI: upper_bound RETENTION;
    RETENTION_LO: lower_bound RETENTION;
    UNUSABLE_SHARE "unusable_share" ("unusable replies") Share Lower JsonOnly "how-it-works §47":
        "share of the compactor's replies that were unusable; above 0.05 the row is not ranked";
    WORST_KIND "worst_kind" Word Neutral JsonOnly "reference §5":
        "kind of question of which the least is kept";
    UNRANKED "unranked" Word Neutral JsonOnly "reference §7":
        "why a row that could be ranked has no rank";
    FINDABLE "findable" Share Higher Csv "reference §4":
        "share of questions whose answer one of the three best passages of the context still states";
}
