//! The features of a sentence that predict whether it answers, and their
//! weights.

/// The features of one sentence. Scores of terms are shares of the score of a
/// text with every term of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// BM25 score of the sentence.
    pub own: f64,
    /// BM25 scores of its block and of the two blocks before it.
    pub block: f64,
    pub previous: f64,
    pub earlier: f64,
    /// BM25 score of the best question in the block before: the sentence may
    /// answer it.
    pub asked: f64,
    /// Whether the speaker is the only one in the question, and whether it is
    /// another one.
    pub speaker: bool,
    pub other: bool,
    /// Whether it was said on a date in the question.
    pub date: bool,
    /// Whether the sentence is a question.
    pub asks: bool,
    /// Logarithm of the number of words that are not function words.
    pub length: f64,
    /// Logarithm of the rarity of the terms that are not in the question.
    pub novel: f64,
    /// Shares of the question, weighted by rarity: missing from its block; in
    /// its block and the block before; in its block and the two blocks before.
    pub missing: f64,
    pub held: f64,
    pub held_wide: f64,
    /// Rarity of its rarest term of the question.
    pub rarest: f64,
    /// Whether it contains a date or a number that the question asks for.
    pub dated: bool,
    pub numbered: bool,
    /// 1 for the first sentence of a block, 1/2 for the second and so on.
    pub opens: f64,
    /// Whether it contains a value of the requested form, in a session of an
    /// agent.
    pub formed: bool,
    /// Share of the names that the question quotes: in the sentence, and in its
    /// message or the call before it.
    pub quoted: f64,
    pub scope: f64,
    /// Whether a name that the question quotes is the key of a value in it.
    pub keyed: bool,
    /// Whether it defines a name, if the question asks for one that was defined.
    pub defines: bool,
    /// Whether the session is one of an agent.
    pub agent: bool,
}

/// The score of a sentence: a logit, comparable within one question.
///
/// The weights were fitted by a conditional logit over the candidate sentences
/// of a question (McFadden 1974; Adam, 600 steps, L2 of 0.002) on one half of
/// the available conversations, chats of two people and chats with an
/// assistant; the other half was held out. The weights for sessions of agents
/// are set by hand: there a line must fit by itself. Of 41 weights only those
/// that improve the result are kept.
pub(super) fn score(signs: &Signs) -> f64 {
    let s = signs;
    let flag = |is: bool| f64::from(u8::from(is));
    let speaker = flag(s.speaker);
    let own = if s.agent { 2.862 } else { 1.862 - 1.851 * s.held };
    own * s.own + 1.013 * s.block - 0.800 * s.previous
        + 2.118 * s.asked
        + 0.831 * (speaker - flag(s.other))
        + 3.508 * flag(s.date)
        - 0.662 * flag(s.asks)
        - 1.146 * s.length
        + 1.864 * s.novel
        + 0.844 * s.missing
        + 2.080 * s.held
        + (0.993 * speaker - 0.238) * s.earlier
        + 4.208 * s.held_wide
        + 1.230 * s.rarest
        + 3.433 * flag(s.dated)
        + 3.026 * flag(s.numbered)
        + 1.138 * s.opens
        + 3.0 * flag(s.formed)
        + 3.0 * flag(s.defines)
        + 4.0 * flag(s.keyed)
        + 8.0 * s.quoted
        + 6.0 * s.scope
}

/// The score without the contribution of the speaker.
pub(super) fn score_whoever_spoke(signs: &Signs) -> f64 {
    score(&Signs { speaker: false, other: false, ..*signs })
}
