//! The signs by which a sentence is known to answer, and their weights.

/// What speaks for and against one sentence. Figures of terms are shares of
/// what a text with every term of the question would have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// BM25 of the sentence.
    pub own: f64,
    /// BM25 of its block and of the two blocks before it.
    pub block: f64,
    pub previous: f64,
    pub earlier: f64,
    /// BM25 of the best question in the block before: this one may answer it.
    pub asked: f64,
    /// Said by the one speaker that the question names, or by another.
    pub speaker: bool,
    pub other: bool,
    /// Said on a date that the question names.
    pub date: bool,
    /// It is a question itself.
    pub asks: bool,
    /// The logarithm of the number of its words with a meaning.
    pub length: f64,
    /// Logarithm of how much it says beside the question, by rarity.
    pub novel: f64,
    /// Share of the question, by rarity, that its block lacks; that its block
    /// and the one before hold; that its block and the two before hold.
    pub missing: f64,
    pub held: f64,
    pub held_wide: f64,
    /// How rare its rarest term of the question is.
    pub rarest: f64,
    /// It holds a date, or a number, where the question asks for one.
    pub dated: bool,
    pub numbered: bool,
    /// 1 for the first sentence of a block, 1/2 for the second and so on.
    pub opens: f64,
    /// In a session of an agent: it holds a value of the form that is asked for.
    pub formed: bool,
    /// In such a session.
    pub agent: bool,
}

/// The score of a sentence: a logit, comparable within one question.
///
/// The weights were fitted by a conditional logit over the candidate sentences
/// of a question (McFadden 1974; Adam, 600 steps, L2 of 0.002) on one half of
/// the conversations at hand, chats of two people and chats with an assistant;
/// the other half was held out. Those of sessions of agents are set by hand:
/// there a line has to fit by itself. Of 41 weights those are left that pay
/// (`docs/ablation.md`).
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
}

/// The score without what the speaker adds to it or takes away.
pub(super) fn score_whoever_spoke(signs: &Signs) -> f64 {
    score(&Signs { speaker: false, other: false, ..*signs })
}
