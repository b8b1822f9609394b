//! All measures but those by kind of probe.

use super::entry::{bytes, length};
use crate::model::ProbeKind;
use crate::model::measure::{Column, Direction, Measure, Nature, Unit};

// The columns of `summary.csv` before those of the kinds of probes.
measures! {
BEFORE_KINDS:
    TRANSCRIPTS "transcripts" Count Neutral Csv "measures §7":
        "number of sessions in the row";
    REQUESTS "requests" Count Neutral Csv "measures §1":
        "number of requests that the recorded agent made";
    PROBES "probes" Count Neutral Csv "measures §5":
        "number of questions asked about the contexts of the row";
    UNSCORED "unscored" Count Lower Csv "measures §5":
        "number of questions without a grade: there was no answer, or no judge could grade it";
    RECALL "recall" {ByKind} Share Higher Csv "measures §5":
        "mean score of the questions whose answer was said in the session";
    RECALL_LO: lower_bound RECALL;
    RECALL_HI: upper_bound RECALL;
    RETENTION "retention" Ratio Higher JsonOnly "measures §5":
        "the ranking measure on a scale from an empty context (0) to the whole conversation (1)";
    CONTINUITY "continuity" {ByKind} Points Higher Csv "measures §5":
        "of the questions that are answered right with the whole conversation, the part that is still answered right under the preset";
    CONTINUITY_LO: lower_bound CONTINUITY;
    CONTINUITY_HI: upper_bound CONTINUITY;
    REFERENCE_RECALL "reference_recall" ("needed facts kept") Share Higher Csv "measures §4":
        "share of the references that the agent used next which are still in the context, with words that give them meaning";
    ANSWERABLE "answerable" Share Higher JsonOnly "measures §4":
        "share of questions whose expected value is in the context and not negated nearby";
    EVIDENCE_VERBATIM "evidence_verbatim" Share Higher JsonOnly "measures §4":
        "share of questions whose evidence is all sent as recorded";
    EVIDENCE_EDITED "evidence_edited" Share Neutral JsonOnly "measures §4":
        "share of questions of whose evidence some was edited, and none folded or removed";
    EVIDENCE_FOLDED "evidence_folded" Share Neutral JsonOnly "measures §4":
        "share of questions of whose evidence some is covered by a summary, and none was removed";
    EVIDENCE_GONE "evidence_gone" Share Lower Csv "measures §4":
        "share of questions with evidence that is not sent in any form";
    LOST "lost" Share Lower JsonOnly "measures §5":
        "share of questions that are answered wrong and whose value is not in the context";
    UNUSED "unused" Share Lower JsonOnly "measures §5":
        "share of questions that are answered wrong although the value is in the context, under `full` as well";
    FABRICATION_RATE "fabrication_rate" Share Lower Csv "measures §5":
        "share of questions answered with a wrong claim, of those whose true answer cannot be known, has changed, or was removed";
    TOKENS_FULL "tokens_full" Tokens Neutral Csv "measures §1":
        "tokens that would be sent over all requests if nothing were compacted";
    TOKENS_SENT "tokens_sent" Tokens Lower Csv "measures §1":
        "tokens sent over all requests, system prompt and tool definitions included";
    TOKEN_SAVINGS "token_savings" Share Higher Csv "measures §1":
        "share of the whole conversation's tokens that was not sent; negative where more was sent";
    PEAK_TOKENS "peak_tokens" ("peak") Tokens Lower Csv "measures §1":
        "largest context sent";
    COMPACTIONS "compactions" Count Neutral Csv "measures §1":
        "number of compactions";
    INFLATED "inflated" Count Lower JsonOnly "measures §1":
        "number of compactions after which the context had more tokens than before";
    OVERFLOWS "overflows" ("over the window") Count Lower Csv "measures §1":
        "number of requests whose context and recorded output exceed the window";
    ESTIMATOR_ERROR "estimator_error" Difference Neutral JsonOnly "measures §1":
        "median over requests of the preset's own token estimate / the exact count − 1; absent where the preset makes no estimate";
    COST_USD "cost_usd" ("session cost") Dollars Lower Csv "measures §2":
        "bill of the whole session: prompts, recorded outputs and compactions, with the cache as cold as it was in the recording";
    COST_SAVINGS "cost_savings" Share Higher Csv "measures §2":
        "share of the whole conversation's bill that is saved; negative where the bill is higher";
    COMPACTION_COST_USD "compaction_cost_usd" Dollars Lower Csv "measures §2":
        "bill of the model calls that compactions make";
    CACHE_HIT_RATE "cache_hit_rate" Share Higher Csv "measures §2":
        "share of the tokens sent that is read from the prompt cache";
    CACHE_BREAKS "cache_breaks" Count Lower Csv "measures §2":
        "requests at which something sent before was edited or removed, so that the prompt cache ends early";
    REWRITTEN_TOKENS "rewritten_tokens" Tokens Lower JsonOnly "measures §2":
        "tokens sent before that are billed as new, because something before them was edited or removed while the cache was warm";
    REFETCH_TOKENS "refetch_tokens" ("tokens to refetch") {Loss} Tokens Lower JsonOnly "measures §4":
        "tokens of the smallest tool results that would bring the lost references back";
    BLOCKING_MS_P50 "blocking_ms_p50" Milliseconds Lower JsonOnly "measures §3":
        "median time that the user waits at a request where something is compacted";
    BLOCKING_MS_P95 "blocking_ms_p95" ("wait p95") Milliseconds Lower Csv "measures §3":
        "95th percentile of the time that the user waits at a request where something is compacted";
    BLOCKING_MS_MAX "blocking_ms_max" Milliseconds Lower JsonOnly "measures §3":
        "longest time that the user waits for a compaction";
    BACKGROUND_MS "background_ms" Milliseconds Lower JsonOnly "measures §3":
        "time of compactions that run while the conversation goes on";
    LATENCY_SOURCE "latency_source" Word Neutral Csv "measures §3":
        "how times were obtained: live, recorded or modelled";
    VERDICT_VS_FULL "verdict_vs_full" Word Neutral Csv "measures §7":
        "conclusion from the paired difference to `full`";
    MEAN_TOKENS "mean_tokens" Tokens Lower JsonOnly "measures §1":
        "mean tokens of the contexts sent";
    COMPRESSION_RATIO "compression_ratio" Ratio Lower JsonOnly "measures §1":
        "median over compactions of the context's tokens after / before";
    MESSAGE_RATIO "message_ratio" Ratio Lower JsonOnly "measures §1":
        "messages in the last context / messages recorded until then";
    BREAK_EVEN_REQUESTS "break_even_requests" Count Lower JsonOnly "measures §2":
        "median number of requests after which a compaction has saved more than it cost, over the compactions that do";
    PREFILL_MS_SAVED "prefill_ms_saved" Milliseconds Higher JsonOnly "measures §3":
        "modelled time that reading the prompts takes less than under the whole conversation; negative where it takes more";
    RECALL_FILTERED "recall_filtered" Share Higher JsonOnly "measures §5":
        "recall of the questions that the answerer gets wrong without any conversation";
    RECALL_ABSTAIN "recall_abstain" [Some(ProbeKind::Abstain)] Share Higher JsonOnly "measures §5":
        "mean score of the questions of this kind";
    RECALL_RECOVERY "recall_recovery" Share Higher JsonOnly "measures §5":
        "recall when the answerer may also search what the preset stored outside the context";
    RECOVERY_TOKENS "recovery_tokens" Tokens Lower JsonOnly "measures §5":
        "mean tokens per question that those searches returned";
    RECOVERY_CALLS "recovery_calls" Count Lower JsonOnly "measures §5":
        "mean number of such searches per question";
    REFERENCE_RECALL_LO: lower_bound REFERENCE_RECALL;
    REFERENCE_RECALL_HI: upper_bound REFERENCE_RECALL;
    REFERENCES "references" Count Neutral Csv "measures §4":
        "number of references examined";
    REFERENCE_PARTIAL "reference_partial" Share Lower JsonOnly "measures §4":
        "share of references of which only the last part, such as the file name, is still in the context";
    REFERENCE_BARE "reference_bare" Share Lower JsonOnly "measures §4":
        "share of references that only summaries name, without the words that gave them meaning";
    RECENCY_GAIN "recency_gain" ("gain over recency") Difference Higher Csv "measures §4":
        "reference recall minus what the newest messages of the same mean size would score";
    IRRECOVERABLE "irrecoverable" ("lost for good") Share Lower JsonOnly "measures §4":
        "share of the lost references that no tool result ever contained";
    DID_WITHOUT "did_without" Share Lower JsonOnly "measures §4":
        "share of references that the recorded agent used after its own compaction had removed them";
    KEPT "kept" Share Higher JsonOnly "measures §5":
        "share of exposed questions that are answered right under `full` and under the preset";
    GAINED "gained" Share Neutral JsonOnly "measures §5":
        "share of exposed questions that are answered wrong under `full` and right under the preset";
    GARBLED "garbled" Share Lower JsonOnly "measures §5":
        "share of questions that are answered wrong although the value is in the context and `full` answers them right";
    EXPOSED "exposed" Share Neutral JsonOnly "measures §5":
        "share of questions before which the preset had compacted";
    ABSTENTION_RATE "abstention_rate" Share Neutral JsonOnly "measures §5":
        "share of the questions with a known answer that are answered with \"not known\"";
    CONTINUITY_SOURCE "continuity_source" Word Neutral JsonOnly "measures §5":
        "how continuity was obtained";
    COST_USD_REFETCH "cost_usd_refetch" {Loss} Dollars Lower Csv "measures §2":
        "the bill if everything lost that was in a tool result is fetched again where it is needed";
    SIDECHAIN_COST_USD "sidechain_cost_usd" Dollars Neutral Csv "measures §2":
        "bill of the recorded requests of subagents: equal under every preset, and part of no other figure";
    OUTPUT_SOURCE "output_source" Word Neutral JsonOnly "measures §0":
        "whether output tokens are the provider's figures or counted";
    TOKENS_SOURCE "tokens_source" Word Neutral JsonOnly "measures §0":
        "how tokens are counted";
    STAND_IN "stand_in" Flag Neutral Csv "measures §6":
        "whether the offline compactor stands in for a model, so that the row is not ranked";
    MDE "mde" Ranking Neutral Csv "measures §7":
        "smallest difference to `full` that this many clusters would show in four of five runs, in the unit of the measure that ranks";
    N_CLUSTERS "n_clusters" Count Neutral Csv "measures §7":
        "number of projects (else sessions) behind the interval of the ranking measure";
}

// The columns behind them.
measures! {
AFTER_KINDS:
    RANK "rank" Place Lower Csv "measures §7":
        "rank among the ranked rows of the window, from 1; equal rows share one";
    DEPTH "depth" Count Neutral Csv "cuts §1":
        "depth of the cuts: 1 for a first compaction, above it the size of the session before the cut, in windows";
    CUTS "cuts" {Sizes} Count Neutral Csv "cuts §2":
        "number of places at which a compaction was forced";
    FACTS_AT_STAKE "facts_at_stake" {Sizes} Count Neutral Csv "cuts §2":
        "number of identifiers that the agent used after a cut and could only know from before it";
    SESSIONS_AT_STAKE "sessions_at_stake" {Sizes} Count Neutral Csv "cuts §2":
        "number of sessions with facts at stake";
    LARGEST_SHARE "largest_share" Share Neutral JsonOnly "cuts §3":
        "largest share of the facts at stake that comes from one project (else session)";
    KEPT_AT_CUT "kept_at_cut" ("kept at cuts") Share Higher Csv "cuts §2":
        "share of the facts at stake that the context after the cut still contains, verbatim or with support in what the strategy wrote";
    KEPT_AT_CUT_LO: lower_bound KEPT_AT_CUT;
    KEPT_AT_CUT_HI: upper_bound KEPT_AT_CUT;
    EXPOSED_SHARE "exposed_share" ("exposed") {Sizes} Share Neutral Csv "cuts §2":
        "share of the facts at stake whose recorded text was no longer sent";
    CARRIED_SHARE "carried_share" ("carried") Share Higher Csv "cuts §2":
        "of the facts whose recorded text was no longer sent, the share that what the strategy wrote contains with support";
    ADDED_AT_CUT "added_at_cut" ("added over the null") Difference Higher Csv "cuts §2":
        "kept at cuts minus what the same preset keeps when its model writes an empty text";
    ADDED_AT_CUT_LO: lower_bound ADDED_AT_CUT JsonOnly;
    ADDED_AT_CUT_HI: upper_bound ADDED_AT_CUT JsonOnly;
    GAIN_AT_CUT "gain_at_cut" ("gain over recency") Difference Higher Csv "cuts §2":
        "kept at cuts minus what the newest messages of the same size would keep";
    TOKENS_AT_CUT "tokens_at_cut" ("tokens after the cut") {Sizes} Ratio Lower Csv "cuts §2":
        "tokens of the first prompt after the cut / tokens of the same prompt without any compaction";
    FIRST_MISS "first_miss" Count Higher JsonOnly "cuts §2":
        "median number of requests from the cut to the first fact that the context no longer contains (Kaplan-Meier; cuts without a miss are censored at the horizon)";
    CONTINUITY_AT_CUT "continuity_at_cut" {Answers} Points Higher Csv "cuts §2":
        "of the questions that are answered right just before a cut without compression, the part that is still answered right just after it";
    VOID_REPLIES "void_replies" Count Lower Csv "cuts §5":
        "number of replies of the compactor that were empty, refused, cut off, of the wrong shape, too short, or the same text for different inputs";
    IDLE_COMPACTIONS "idle_compactions" Count Lower Csv "cuts §6":
        "number of compactions that free less than 5 % of the context; strategies that only choose what is sent (fifo, sliding-window) do not count";
    QUESTIONS_AT_CUT "questions_at_cut" {Answers} Count Neutral Csv "cuts §2":
        "number of questions at cuts that are answered right without compression";
    BARE_AT_CUT "bare_at_cut" Share Neutral JsonOnly "cuts §2":
        "share of the facts at stake that what the strategy wrote contains without any word that gave them meaning";
    BLOCKING_MS_SUM "blocking_ms_sum" Milliseconds Lower JsonOnly "measures §3":
        "total time that the user waits for compactions";
    CONTINUITY_LOST "continuity_lost" Share Lower JsonOnly "measures §5":
        "share of exposed questions that are answered right under `full` and wrong under the preset";
    COST_HEAD_BREAKPOINT_USD "cost_head_breakpoint_usd" Dollars Lower Csv "measures §2":
        "the same bill if the first cache breakpoint comes after everything before the conversation";
    COST_SAVINGS_VS_RECORDED "cost_savings_vs_recorded" Share Higher Csv "measures §2":
        "share saved of the bill of what the recorded agent really sent";
    CUT_COST_USD "cut_cost_usd" Dollars Lower JsonOnly "cuts §2":
        "mean bill of a cut: its compaction and the requests after it, minus the same requests without compression";
    DIFFERENCE_TO_FULL "difference_to_full" Ranking Higher JsonOnly "measures §7":
        "paired difference to `full` in the measure that ranks";
    DIFFERENCE_TO_FULL_HI: upper_bound DIFFERENCE_TO_FULL;
    DIFFERENCE_TO_FULL_LO: lower_bound DIFFERENCE_TO_FULL;
    IRRECOVERABLE_AT_CUT "irrecoverable_at_cut" Share Lower JsonOnly "cuts §2":
        "share of the facts at stake that are lost and were never in a tool result";
    IRRECOVERABLE_REFERENCES "irrecoverable_references" {Loss} Count Lower JsonOnly "measures §4":
        "number of lost references that no tool result ever contained";
    KEPT_AT_CUT_1_5 "kept_at_cut_1_5" Share Higher JsonOnly "cuts §2":
        "kept at cuts, of the facts used at requests 1 to 5 after the cut";
    KEPT_AT_CUT_21_40 "kept_at_cut_21_40" Share Higher JsonOnly "cuts §2":
        "kept at cuts, of the facts used at requests 21 to 40 after the cut";
    KEPT_AT_CUT_6_20 "kept_at_cut_6_20" Share Higher JsonOnly "cuts §2":
        "kept at cuts, of the facts used at requests 6 to 20 after the cut";
    KEPT_PER_1K "kept_per_1k" Ratio Higher JsonOnly "cuts §2":
        "facts kept per 1,000 tokens of the first prompt after the cut";
    NEITHER "neither" Share Neutral JsonOnly "measures §5":
        "share of exposed questions that are answered wrong under `full` and under the preset";
    NEVER_EVEN "never_even" Share Lower JsonOnly "measures §2":
        "share of the compactions that have not saved more than they cost when their session ends";
    PAYS_AFTER "pays_after" Count Lower JsonOnly "cuts §2":
        "median number of requests after the cut until the compaction has saved more than it cost (Kaplan-Meier; cuts at which it has not are censored at the horizon)";
    RECALL_VERBATIM "recall_verbatim" Share Neutral JsonOnly "measures §6":
        "mean score of the questions whose evidence is all sent as recorded";
    RECALL_VERBATIM_FULL "recall_verbatim_full" Share Neutral JsonOnly "measures §6":
        "mean score of the same questions under `full`";
    RECENCY_GAIN_SURVIVAL "recency_gain_survival" Difference Higher JsonOnly "measures §4":
        "gain over recency as if no request had been refused";
    RECOVERED_AT_CUT "recovered_at_cut" Share Higher JsonOnly "cuts §2":
        "share of the facts at stake that only a search of the preset's own store finds";
    REFERENCE_EXPOSED "reference_exposed" Share Neutral JsonOnly "cuts §3":
        "share of the references whose recorded text was no longer sent";
    REFERENCE_LOST "reference_lost" Share Lower JsonOnly "measures §4":
        "share of references that are not in the context in any form";
    REFERENCE_RECALL_16K_32K "reference_recall_16k_32k" Share Higher JsonOnly "measures §4":
        "reference recall of the references last seen 16–32k tokens ago";
    REFERENCE_RECALL_32K_64K "reference_recall_32k_64k" Share Higher JsonOnly "measures §4":
        "reference recall of the references last seen 32–64k tokens ago";
    REFERENCE_RECALL_4K_8K "reference_recall_4k_8k" Share Higher JsonOnly "measures §4":
        "reference recall of the references last seen 4–8k tokens ago";
    REFERENCE_RECALL_64K "reference_recall_64k" Share Higher JsonOnly "measures §4":
        "reference recall of the references last seen 64k tokens ago or more";
    REFERENCE_RECALL_8K_16K "reference_recall_8k_16k" Share Higher JsonOnly "measures §4":
        "reference recall of the references last seen 8–16k tokens ago";
    REFETCH_AT_CUT "refetch_at_cut" Tokens Lower JsonOnly "cuts §2":
        "mean tokens per cut of the tool results that would have to be fetched again for what is lost";
    RETENTION_HI: upper_bound RETENTION;
    RETENTION_LO: lower_bound RETENTION;
    VOID_SHARE "void_share" ("unusable replies") Share Lower JsonOnly "cuts §5":
        "share of the compactor's replies that were unusable; above 0.05 the row is not ranked";
    WORST_KIND "worst_kind" Word Neutral JsonOnly "measures §5":
        "kind of question of which the least is kept";
    UNRANKED "unranked" Word Neutral JsonOnly "measures §7":
        "why a row that could be ranked has no rank";
}
