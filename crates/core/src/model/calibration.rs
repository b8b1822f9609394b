//! What recorded usage shows about the provider's token count and its cache.

use serde::{Deserialize, Serialize};

use super::{Buckets, MessageIndex};

/// How the tokens of a session are counted (reference §0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Default, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum TokensSource {
    /// With a public vocabulary.
    #[default]
    Exact,
    /// The same, scaled to what the provider reported.
    Calibrated,
}

/// `prompt ≈ hidden + factor × counted`, over the requests between two
/// recorded boundaries (reference §0). Hidden text that came with a message is
/// counted by the first stretch's factor, so that it has one size in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// First message of the stretch.
    pub from: MessageIndex,
    /// Tokens that the recording does not show: system prompt, tools, and what
    /// the harness adds.
    pub hidden: f64,
    /// The provider's tokens for one token of ours.
    pub factor: f64,
    /// Number of requests with recorded usage that the fit uses.
    pub requests: u32,
}

/// How the provider's token count is estimated from ours, and how good the estimate is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// One for each stretch between recorded boundaries; the first one scales
    /// the counts of the run.
    pub fits: Vec<Fit>,
    /// Messages with which hidden text came (a reminder, a memory file), and
    /// its tokens by the provider's count: a jump of the prompt that the
    /// messages do not explain and that stays. The fits rest on what is left;
    /// a message's calibrated size includes it, so it leaves the context with
    /// the message, and where its text is replaced.
    pub unseen: Vec<(MessageIndex, u64)>,
    /// Tokens of the preamble's global part: what is still read from the cache
    /// after a restart. `None` where no restart was seen.
    pub global: Option<u64>,
    /// Median relative error of the first stretch.
    pub in_sample: Option<f64>,
    /// Median relative error on the second half of the first stretch when only
    /// its first half is fitted, and hidden text known in that half only.
    pub forward: Option<f64>,
    /// Median relative error of the first fit behind the first boundary, the
    /// hidden text there known.
    pub after_boundary: Option<f64>,
}

/// An event in the recording's cache that the provider's published rules do not predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exogenous {
    /// The cache was lost (a restart, an eviction, another machine), but for the
    /// first tokens of the prompt, which were read.
    Lost {
        /// How many they were.
        left: u64,
    },
    /// Other sessions had kept the first tokens of the preamble in the cache,
    /// where this session had nothing in it that could be read: it begins, or
    /// the recorded agent has compacted.
    Shared {
        /// How many were read.
        read: u64,
    },
    /// The prefix was read although it should have expired: a request that is
    /// not in the recording had renewed it.
    Renewed,
    /// The whole prompt was read, its newest part included: a request that is
    /// not in the recording (one that failed, a second window) had sent it before.
    Repeated,
}

/// The bill of the row `recorded` against what was billed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The model of the price list whose rules and prices apply; where the
    /// session changed its model, the one of most requests.
    pub model: String,
    /// Number of requests that were compared.
    pub requests: u32,
    /// Sum of what the provider reported.
    pub recorded: Buckets,
    /// Sum of the same requests in the row.
    pub simulated: Buckets,
    /// Cost of the reported input tokens in USD; absent without a price.
    pub recorded_usd: Option<f64>,
    /// Cost of the row's input tokens in USD; absent without a price.
    pub simulated_usd: Option<f64>,
    /// Losses of the cache, in part or whole, that were found in the recording and
    /// replayed.
    pub cold_starts: u32,
    /// Of those, the ones that the rules predict (the cache had expired).
    pub expired: u32,
    /// Requests at which the cache had been renewed, or filled, by something that
    /// was not recorded.
    pub renewed: u32,
}

/// How far a row's bill is from the reported one: `simulated / recorded − 1`,
/// each absent where nothing was recorded to compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BillErrors {
    /// Error in the tokens sent.
    pub tokens: Option<f64>,
    /// Error in the tokens read from the cache.
    pub reads: Option<f64>,
    /// Error in the tokens written to it, for either lifetime.
    pub writes: Option<f64>,
    /// Error in the cost of the input tokens in USD.
    pub usd: Option<f64>,
}

impl BillErrors {
    /// A larger error makes a bill doubtful.
    pub const FAR_OFF: f64 = 0.05;

    /// The size of the largest error, 0 where none is known.
    pub fn size(&self) -> f64 {
        self.worst().map_or(0.0, f64::abs)
    }

    /// Whether the largest error makes the bill doubtful.
    pub fn are_far_off(&self) -> bool {
        self.size() > Self::FAR_OFF
    }

    /// The error of the largest size, with its sign.
    pub fn worst(&self) -> Option<f64> {
        let known = [self.tokens, self.reads, self.writes, self.usd].into_iter().flatten();
        known.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }
}

impl Validation {
    /// The relative errors of the row's bill.
    pub fn errors(&self) -> BillErrors {
        let (found, recorded) = (&self.simulated, &self.recorded);
        let relative = |found: f64, recorded: f64| (recorded > 0.0).then(|| found / recorded - 1.0);
        let of =
            |tokens: fn(&Buckets) -> u64| relative(tokens(found) as f64, tokens(recorded) as f64);
        let usd = self.simulated_usd.zip(self.recorded_usd);
        // The rules of a cache come with the prices: without, none is simulated.
        let cached = |tokens| usd.and_then(|_| of(tokens));
        BillErrors {
            tokens: of(Buckets::prompt),
            reads: cached(|buckets| buckets.read),
            writes: cached(Buckets::written),
            usd: usd.and_then(|(usd, recorded)| relative(usd, recorded)),
        }
    }
}
