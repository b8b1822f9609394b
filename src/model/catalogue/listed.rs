//! All measures but those by kind of probe.

use super::entry::{bytes, length};
use crate::model::ProbeKind;
use crate::model::measure::{Column, Direction, Measure, Nature, Unit};

// The columns of `summary.csv` before those of the kinds of probes.
measures! {
BEFORE_KINDS:
    TRANSCRIPTS "transcripts" Count Neutral Always "measures §7":
        "sessions that the row rests on";
    REQUESTS "requests" Count Neutral Always "measures §1":
        "requests of the recorded agent";
    PROBES "probes" Count Neutral Always "measures §5":
        "probes put to the contexts of the row";
    UNSCORED "unscored" Count Lower Always "measures §5":
        "probes without a grade: no answer, or no judge that could grade it";
    RECALL "recall" {ByKind} Share Higher Always "measures §5":
        "mean score of the probes that ask for something that was said";
    RECALL_LO: lower_bound RECALL;
    RECALL_HI: upper_bound RECALL;
    RETENTION "retention" Ratio Higher Always "measures §5":
        "the ranking measure between an empty memory (0) and the whole conversation (1)";
    CONTINUITY "continuity" {ByKind} Points Higher Always "measures §5":
        "of what the whole conversation answers right, the part that the preset still does";
    CONTINUITY_LO: lower_bound CONTINUITY;
    CONTINUITY_HI: upper_bound CONTINUITY;
    REFERENCE_RECALL "reference_recall" ("needed facts kept") Share Higher Always "measures §4":
        "share of what the agent used next that is still in the context, with its support";
    ANSWERABLE "answerable" Share Higher Always "measures §4":
        "share of probes whose expected value stands in the context, not negated nearby";
    EVIDENCE_VERBATIM "evidence_verbatim" Share Higher Always "measures §4":
        "share of probes whose evidence is all sent as recorded";
    EVIDENCE_EDITED "evidence_edited" Share Neutral Always "measures §4":
        "share of probes whose evidence is at worst edited";
    EVIDENCE_FOLDED "evidence_folded" Share Neutral Always "measures §4":
        "share of probes whose evidence is at worst covered by a summary";
    EVIDENCE_GONE "evidence_gone" Share Lower Always "measures §4":
        "share of probes with evidence that is not sent in any form";
    LOST "lost" Share Lower Always "measures §5":
        "share of probes that are wrong and whose value is not in the context";
    UNUSED "unused" Share Lower Always "measures §5":
        "share of probes that are wrong though the value is there, under `full` as well";
    FABRICATION_RATE "fabrication_rate" Share Lower Always "measures §5":
        "share of wrong claims where the truth is unknowable, changed or gone";
    TOKENS_FULL "tokens_full" Tokens Neutral Always "measures §1":
        "tokens that the whole conversation would have sent, over all requests";
    TOKENS_SENT "tokens_sent" Tokens Lower Always "measures §1":
        "tokens sent over all requests, preamble included";
    TOKEN_SAVINGS "token_savings" Share Higher Always "measures §1":
        "share of the whole conversation's tokens that was not sent; negative where more was sent";
    PEAK_TOKENS "peak_tokens" ("peak") Tokens Lower Always "measures §1":
        "largest context sent";
    COMPACTIONS "compactions" Count Neutral Always "measures §1":
        "compactions";
    INFLATED "inflated" Count Lower Always "measures §1":
        "compactions with more tokens after than before";
    OVERFLOWS "overflows" ("over the window") Count Lower Always "measures §1":
        "requests whose context and recorded output exceed the window";
    ESTIMATOR_ERROR "estimator_error" Difference Neutral Always "measures §1":
        "median over requests of estimate / exact − 1; absent where the preset estimates nothing";
    COST_USD "cost_usd" ("session cost") Dollars Lower Always "measures §2":
        "what the whole session is billed: prompts, recorded outputs and compactions, cold starts of the recording included";
    COST_IDEAL_CACHE_USD "cost_ideal_cache_usd" Dollars Lower Always "measures §2":
        "the same bill under a cache that keeps every earlier prefix and takes nothing for writing";
    COST_NO_CACHE_USD "cost_no_cache_usd" Dollars Lower Always "measures §2":
        "the same bill without any prompt cache";
    COST_SAVINGS "cost_savings" Share Higher Always "measures §2":
        "share of the whole conversation's bill that is saved; negative where the bill is higher";
    COMPACTION_COST_USD "compaction_cost_usd" Dollars Lower Always "measures §2":
        "what the calls of compactions are billed";
    CACHE_HIT_RATE "cache_hit_rate" Share Higher Always "measures §2":
        "share of the tokens sent that is read from the prompt cache";
    CACHE_BREAKS "cache_breaks" Count Lower Always "measures §2":
        "requests at which something sent before was edited or removed, so that the prompt cache ends early";
    REWRITTEN_TOKENS "rewritten_tokens" Tokens Lower Always "measures §2":
        "tokens sent before that are billed as new, because something before them was edited or removed while the cache was warm";
    REFETCH_TOKENS "refetch_tokens" ("tokens to refetch") {Loss} Tokens Lower Always "measures §4":
        "tokens of the smallest tool results that would bring the lost references back";
    BLOCKING_MS_P50 "blocking_ms_p50" Milliseconds Lower Always "measures §3":
        "median time that the user waits where something is compacted";
    BLOCKING_MS_P95 "blocking_ms_p95" ("wait p95") Milliseconds Lower Always "measures §3":
        "95th percentile of the time that the user waits where something is compacted";
    BLOCKING_MS_MAX "blocking_ms_max" Milliseconds Lower Always "measures §3":
        "longest time that the user waits for a compaction";
    BACKGROUND_MS "background_ms" Milliseconds Lower Always "measures §3":
        "time of compactions that run while the conversation goes on";
    CPU_MS "cpu_ms" {Machine} Milliseconds Lower Always "measures §3":
        "CPU time of the mechanism itself";
    LATENCY_SOURCE "latency_source" Word Neutral Always "measures §3":
        "how the times came about: live, recorded or modelled";
    VERDICT_VS_FULL "verdict_vs_full" Word Neutral Always "measures §7":
        "what the paired difference to `full` says";
    MEAN_TOKENS "mean_tokens" Tokens Lower Always "measures §1":
        "mean tokens of a context";
    COMPRESSION_RATIO "compression_ratio" Ratio Lower Always "measures §1":
        "median over compactions of the context's tokens after / before";
    MESSAGE_RATIO "message_ratio" Ratio Lower Always "measures §1":
        "messages in the last context over messages recorded until then";
    BREAK_EVEN_REQUESTS "break_even_requests" Count Lower Always "measures §2":
        "median number of requests after which a compaction has paid for itself, over those that do";
    PREFILL_MS_SAVED "prefill_ms_saved" Milliseconds Higher Always "measures §3":
        "modelled time that reading the prompts takes less than under the whole conversation; negative where it takes more";
    RECALL_FILTERED "recall_filtered" Share Higher Always "measures §5":
        "recall of the probes that the answerer gets wrong without any conversation";
    RECALL_ABSTAIN "recall_abstain" [Some(ProbeKind::Abstain)] Share Higher Always "measures §5":
        "mean score of the probes of this kind";
    RECALL_RECOVERY "recall_recovery" Share Higher Always "measures §5":
        "mean score of the probes that ask for something that was said, with the recovery channel";
    RECOVERY_TOKENS "recovery_tokens" Tokens Lower Always "measures §5":
        "mean tokens that the recovery channel gave back per probe";
    RECOVERY_CALLS "recovery_calls" Count Lower Always "measures §5":
        "mean calls of the recovery channel per probe";
    REFERENCE_RECALL_LO: lower_bound REFERENCE_RECALL;
    REFERENCE_RECALL_HI: upper_bound REFERENCE_RECALL;
    REFERENCES "references" Count Neutral Always "measures §4":
        "references of the exam";
    REFERENCE_PARTIAL "reference_partial" Share Lower Always "measures §4":
        "share of which only the last component is still in the context";
    REFERENCE_BARE "reference_bare" Share Lower Always "measures §4":
        "share that only summaries name, without the words that gave it meaning";
    RECENCY_GAIN "recency_gain" ("gain over recency") Difference Higher Always "measures §4":
        "reference recall minus what the newest messages of the same mean size would score";
    IRRECOVERABLE "irrecoverable" ("lost for good") Share Lower Always "measures §4":
        "share of the lost references that no tool result ever held";
    DID_WITHOUT "did_without" Share Lower Always "measures §4":
        "share of references that the recorded agent used after a boundary had removed them";
    KEPT "kept" Share Higher Always "measures §5":
        "share of exposed probes that are right before and after";
    GAINED "gained" Share Neutral Always "measures §5":
        "share of exposed probes that are wrong before and right after";
    GARBLED "garbled" Share Lower Always "measures §5":
        "share of probes that are wrong though the value is there and `full` is right";
    EXPOSED "exposed" Share Neutral Always "measures §5":
        "share of probes before which the preset had compacted";
    ABSTENTION_RATE "abstention_rate" Share Neutral Always "measures §5":
        "share of answers to answerable probes that say it is not known";
    CONTINUITY_SOURCE "continuity_source" Word Neutral Always "measures §5":
        "how answers were found";
    COST_TTL_ONLY_USD "cost_ttl_only_usd" Dollars Lower Always "measures §2":
        "the same bill by the provider's cache rules alone, without what befell the recording's cache";
    COST_USD_REFETCH "cost_usd_refetch" {Loss} Dollars Lower Always "measures §2":
        "the bill if everything lost that stood in a tool result is fetched again where it is needed";
    SIDECHAIN_COST_USD "sidechain_cost_usd" Dollars Neutral Always "measures §2":
        "what the recorded requests of subagents are billed: the same under every preset, and part of no other figure";
    OUTPUT_SOURCE "output_source" Word Neutral Always "measures §0":
        "whether outputs are the provider's figures or counted";
    TOKENS_SOURCE "tokens_source" Word Neutral Always "measures §0":
        "how tokens are counted";
    STAND_IN "stand_in" Flag Neutral Always "measures §6":
        "whether the offline compactor stands in for a model, so that the row is not ranked";
    MDE "mde" Ranking Neutral Always "measures §7":
        "smallest difference to `full` that this many clusters would show in four of five runs, in the unit of the measure that ranks";
    N_CLUSTERS "n_clusters" Count Neutral Always "measures §7":
        "projects (else sessions) that the interval of the ranking measure rests on";
}

// The columns behind them.
measures! {
AFTER_KINDS:
    RANK "rank" Place Lower Always "measures §7":
        "place among the ranked rows of the window, from 1; equal rows share one";
    DEPTH "depth" Count Neutral Always "cuts §1":
        "greatest depth of the cuts: how many windows the session is long";
    CUTS "cuts" {Sizes} Count Neutral Always "cuts §2":
        "places at which a compaction was made to happen";
    FACTS_AT_STAKE "facts_at_stake" {Sizes} Count Neutral Always "cuts §2":
        "identifiers that the agent used behind a cut and could only know from before it";
    SESSIONS_AT_STAKE "sessions_at_stake" {Sizes} Count Neutral Always "cuts §2":
        "sessions with facts at stake";
    LARGEST_SHARE "largest_share" Share Neutral Always "cuts §3":
        "weight of the heaviest cluster among the facts at stake";
    KEPT_AT_CUT "kept_at_cut" ("kept at cuts") Share Higher Always "cuts §2":
        "share of the facts at stake that the context behind the cut still tells, verbatim or with support in what the strategy wrote";
    KEPT_AT_CUT_LO: lower_bound KEPT_AT_CUT;
    KEPT_AT_CUT_HI: upper_bound KEPT_AT_CUT;
    EXPOSED_SHARE "exposed_share" ("exposed") {Sizes} Share Neutral Always "cuts §2":
        "share of the facts at stake whose recorded text was no longer sent";
    CARRIED_SHARE "carried_share" ("carried") Share Higher Always "cuts §2":
        "of the facts whose recorded text was no longer sent, the share that stands in what the strategy wrote, with support";
    ADDED_AT_CUT "added_at_cut" ("added over the null") Difference Higher Always "cuts §2":
        "kept at cuts less what the same preset keeps with an empty text in the place of what its model writes";
    ADDED_AT_CUT_LO: lower_bound ADDED_AT_CUT;
    ADDED_AT_CUT_HI: upper_bound ADDED_AT_CUT;
    GAIN_AT_CUT "gain_at_cut" ("gain over recency") Difference Higher Always "cuts §2":
        "kept at cuts less what the newest messages of the same size would keep";
    TOKENS_AT_CUT "tokens_at_cut" ("tokens after the cut") {Sizes} Ratio Lower Always "cuts §2":
        "tokens of the first prompt behind the cut over those without any compaction";
    FIRST_MISS "first_miss" Count Higher Always "cuts §2":
        "requests from the cut to the first fact that the context no longer tells, median (Kaplan-Meier: cuts without a miss wait on at the horizon)";
    CONTINUITY_AT_CUT "continuity_at_cut" {Answers} Points Higher Always "cuts §2":
        "of the questions that can be answered uncompressed right before a cut, the part that still can right behind it";
    VOID_REPLIES "void_replies" Count Lower Always "cuts §5":
        "replies of the compactor that were empty, refused, cut off, of the wrong shape, too short, or the same text for different inputs";
    IDLE_COMPACTIONS "idle_compactions" Count Lower Always "cuts §6":
        "compactions that free less than 5 % of the context; what only chooses what is sent (fifo, sliding-window) does not count";
    CUTS_FIRST: after_first CUTS;
    FACTS_AT_STAKE_FIRST: after_first FACTS_AT_STAKE;
    SESSIONS_AT_STAKE_FIRST: after_first SESSIONS_AT_STAKE;
    KEPT_AT_CUT_FIRST: after_first KEPT_AT_CUT ("kept after the first compaction");
    KEPT_AT_CUT_FIRST_LO: lower_bound KEPT_AT_CUT_FIRST;
    KEPT_AT_CUT_FIRST_HI: upper_bound KEPT_AT_CUT_FIRST;
    EXPOSED_SHARE_FIRST: after_first EXPOSED_SHARE;
    CARRIED_SHARE_FIRST: after_first CARRIED_SHARE;
    ADDED_AT_CUT_FIRST: after_first ADDED_AT_CUT;
    ADDED_AT_CUT_FIRST_LO: lower_bound ADDED_AT_CUT_FIRST;
    ADDED_AT_CUT_FIRST_HI: upper_bound ADDED_AT_CUT_FIRST;
    GAIN_AT_CUT_FIRST: after_first GAIN_AT_CUT;
    TOKENS_AT_CUT_FIRST: after_first TOKENS_AT_CUT;
    FIRST_MISS_FIRST: after_first FIRST_MISS;
    CONTINUITY_AT_CUT_FIRST: after_first CONTINUITY_AT_CUT;
    BARE_AT_CUT "bare_at_cut" Share Neutral IfKnown "cuts §2":
        "share of the facts at stake that stand in what the strategy wrote without any word that gave them meaning";
    BARE_AT_CUT_FIRST: after_first BARE_AT_CUT;
    BLOCKING_MS_SUM "blocking_ms_sum" Milliseconds Lower IfKnown "measures §3":
        "time that the user waits for compactions in all";
    CONTINUITY_LOST "continuity_lost" Share Lower IfKnown "measures §5":
        "share of exposed probes that are right before and wrong after";
    COST_HEAD_BREAKPOINT_USD "cost_head_breakpoint_usd" Dollars Lower IfKnown "measures §2":
        "the same bill with the preamble's cache breakpoint behind everything in front of the conversation";
    COST_SAVINGS_VS_RECORDED "cost_savings_vs_recorded" Share Higher IfKnown "measures §2":
        "where the whole conversation is over the window: share saved of the bill of what the recorded agent really sent";
    CUT_COST_USD "cut_cost_usd" Dollars Lower IfKnown "cuts §2":
        "dollars of the compaction and of the requests behind the cut, less those of the same requests uncompressed, a cut in the mean";
    CUT_COST_USD_FIRST: after_first CUT_COST_USD;
    DIFFERENCE_TO_FULL "difference_to_full" Ranking Higher IfKnown "measures §7":
        "paired difference to `full` in the measure that ranks";
    DIFFERENCE_TO_FULL_HI: upper_bound DIFFERENCE_TO_FULL;
    DIFFERENCE_TO_FULL_LO: lower_bound DIFFERENCE_TO_FULL;
    IRRECOVERABLE_AT_CUT "irrecoverable_at_cut" Share Lower IfKnown "cuts §2":
        "share of the facts at stake that are lost and never stood in a tool result";
    IRRECOVERABLE_AT_CUT_FIRST: after_first IRRECOVERABLE_AT_CUT;
    IRRECOVERABLE_REFERENCES "irrecoverable_references" {Loss} Count Lower IfKnown "measures §4":
        "lost references that no tool result ever held";
    KEPT_AT_CUT_1_5 "kept_at_cut_1_5" Share Higher IfKnown "cuts §2":
        "kept at cuts, of what was used at requests 1 to 5 behind the cut";
    KEPT_AT_CUT_21_40 "kept_at_cut_21_40" Share Higher IfKnown "cuts §2":
        "kept at cuts, of what was used at requests 21 to 40 behind the cut";
    KEPT_AT_CUT_6_20 "kept_at_cut_6_20" Share Higher IfKnown "cuts §2":
        "kept at cuts, of what was used at requests 6 to 20 behind the cut";
    KEPT_PER_1K "kept_per_1k" Ratio Higher IfKnown "cuts §2":
        "facts kept for each 1,000 tokens of the first prompt behind the cut";
    KEPT_PER_1K_FIRST: after_first KEPT_PER_1K;
    NEITHER "neither" Share Neutral IfKnown "measures §5":
        "share of exposed probes that are wrong before and after";
    NEVER_EVEN "never_even" Share Lower IfKnown "measures §2":
        "share of the compactions that have not paid for themselves when their session ends";
    PAYS_AFTER "pays_after" Count Lower IfKnown "cuts §2":
        "requests behind the cut until the compaction has paid for itself, median (Kaplan-Meier: cuts at which it has not wait on at the horizon)";
    PAYS_AFTER_FIRST: after_first PAYS_AFTER;
    RECALL_VERBATIM "recall_verbatim" Share Neutral IfKnown "measures §6":
        "mean score of the probes whose evidence is all sent as recorded";
    RECALL_VERBATIM_FULL "recall_verbatim_full" Share Neutral IfKnown "measures §6":
        "mean score of the same probes under `full`";
    RECENCY_GAIN_SURVIVAL "recency_gain_survival" Difference Higher IfKnown "measures §4":
        "gain over recency as if no request had been refused";
    RECOVERED_AT_CUT "recovered_at_cut" Share Higher IfKnown "cuts §2":
        "share of the facts at stake that only the preset's own search finds";
    RECOVERED_AT_CUT_FIRST: after_first RECOVERED_AT_CUT;
    REFERENCE_EXPOSED "reference_exposed" Share Neutral IfKnown "cuts §3":
        "share of the references whose recorded text was no longer sent";
    REFERENCE_LOST "reference_lost" Share Lower IfKnown "measures §4":
        "share that is not in the context in any form";
    REFERENCE_RECALL_16K_32K "reference_recall_16k_32k" Share Higher IfKnown "measures §4":
        "reference recall of what was last seen 16–32k tokens ago";
    REFERENCE_RECALL_32K_64K "reference_recall_32k_64k" Share Higher IfKnown "measures §4":
        "reference recall of what was last seen 32–64k tokens ago";
    REFERENCE_RECALL_4K_8K "reference_recall_4k_8k" Share Higher IfKnown "measures §4":
        "reference recall of what was last seen 4–8k tokens ago";
    REFERENCE_RECALL_64K "reference_recall_64k" Share Higher IfKnown "measures §4":
        "reference recall of what was last seen 64k tokens ago or more";
    REFERENCE_RECALL_8K_16K "reference_recall_8k_16k" Share Higher IfKnown "measures §4":
        "reference recall of what was last seen 8–16k tokens ago";
    REFETCH_AT_CUT "refetch_at_cut" Tokens Lower IfKnown "cuts §2":
        "tokens of tool results to be fetched again for what is lost, a cut in the mean";
    REFETCH_AT_CUT_FIRST: after_first REFETCH_AT_CUT;
    RETENTION_HI: upper_bound RETENTION IfKnown;
    RETENTION_LO: lower_bound RETENTION IfKnown;
    VOID_SHARE "void_share" ("void replies") Share Lower IfKnown "cuts §5":
        "share of the compactor's replies that were void; above 0.05 the row is not ranked";
    WORST_KIND "worst_kind" Word Neutral IfKnown "measures §5":
        "kind of probe of which least is kept";
    UNRANKED "unranked" Word Neutral IfKnown "measures §7":
        "why a row that could be ranked has no rank";
}
