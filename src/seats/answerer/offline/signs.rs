//! The signs by which a sentence is known to answer, and their weights.

/// What speaks for and against one sentence. Figures of terms are shares of
/// what a text with every term of the question would have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// BM25 of the sentence.
    pub own: f64,
    /// BM25 of its block, of the two blocks before it and the one after.
    pub block: f64,
    pub previous: f64,
    pub earlier: f64,
    pub next: f64,
    /// BM25 of the sentence before it in its block.
    pub before: f64,
    /// BM25 of the best question in the block before: this one may answer it.
    pub asked: f64,
    /// Said by the one speaker that the question names, or by another.
    pub speaker: bool,
    pub other: bool,
    /// Said on a date that the question names.
    pub date: bool,
    /// It is a question itself.
    pub asks: bool,
    /// At most two words with a meaning; the logarithm of their number.
    pub short: bool,
    pub length: f64,
    /// Logarithm of how much it says beside the question, by rarity.
    pub novel: f64,
    /// A short exclamation.
    pub exclaims: bool,
    /// Share of the question, by rarity, that its block lacks; that its block
    /// and the one before hold; that its block and the two before hold.
    pub missing: f64,
    pub held: f64,
    pub held_wide: f64,
    /// It speaks of its speaker, or to another.
    pub first_person: bool,
    pub second_person: bool,
    /// Share of the question's neighbouring terms that are neighbours in it.
    pub pairs: f64,
    /// How rare its rarest term of the question is.
    pub rarest: f64,
    /// It holds a date, a number, or a name, where the question asks for one.
    pub kind: [f64; 3],
    /// 1 for the first sentence of a block, 1/2 for the second and so on.
    pub opens: f64,
    /// In a session of an agent: it holds a value of the form that is asked for,
    /// or none; the best block some steps away.
    pub formed: bool,
    pub formless: bool,
    pub nearby: f64,
    /// It is an argument of a tool call; an agent's list of alternatives; what
    /// stands before the conversation.
    pub called: bool,
    pub offers: bool,
    pub prompt: bool,
    /// In such a session: code, a table, a log, data.
    pub written: bool,
    /// In such a session.
    pub agent: bool,
    /// Place in the context, `0.0..1.0`, where the question is about the present.
    pub lately: f64,
    /// Said by the user where the question is in the user's voice.
    pub role: bool,
}

/// The terms of the score, each with its weight.
///
/// Those up to `opens` were fitted by a conditional logit over the candidate
/// sentences of a question (McFadden 1974; Adam, 600 steps, L2 of 0.002) on one
/// half of the conversations at hand, chats of two people and chats with an
/// assistant; the other half was held out. What the fit left below 0.2 is out.
/// The others cannot be fitted on such chats and are set by hand: what is
/// newest holds, and who is asked about is listened to. In sessions of agents,
/// where one message has many lines, a line has to fit by itself, a value of the
/// form asked for counts most, and calls and lists of alternatives little;
/// `tests/suite/reader_agent.rs` measures it.
fn weighed(signs: &Signs) -> [(f64, f64); 41] {
    let s = signs;
    let flag = |is: bool| f64::from(u8::from(is));
    let (speaker, other) = (flag(s.speaker), flag(s.other));
    [
        (1.862, s.own),
        (1.013, s.block),
        (-0.800, s.previous),
        (0.565, s.next),
        (0.436, s.before),
        (2.118, s.asked),
        (0.831, speaker),
        (-0.831, other),
        (3.508, flag(s.date)),
        (-0.662, flag(s.asks)),
        (-0.635, flag(s.short)),
        (-1.146, s.length),
        (1.864, s.novel),
        (2.080, s.held),
        (-0.304, flag(s.exclaims)),
        (0.685, s.block * speaker),
        (0.374, s.asked * speaker),
        (0.874, s.previous * other),
        (0.844, s.missing),
        (-0.238, s.earlier),
        (0.993, s.earlier * speaker),
        (4.208, s.held_wide),
        (0.595, speaker * flag(s.first_person)),
        (-0.564, other * flag(s.second_person)),
        (1.169, s.pairs),
        (1.230, s.rarest),
        (3.433, s.kind[0]),
        (3.026, s.kind[1]),
        (0.662, s.kind[2]),
        (-1.851 * flag(!s.agent), s.own * s.held),
        (1.0 * flag(s.agent), s.own),
        (1.138, s.opens),
        (3.0, flag(s.formed)),
        (-3.0, flag(s.formless)),
        (2.0, s.nearby),
        (-1.5, flag(s.called)),
        (-1.5, flag(s.offers)),
        (-2.0, flag(s.prompt)),
        (-1.5, flag(s.written)),
        (1.0, s.lately),
        (0.3, flag(s.role)),
    ]
}

/// The score of a sentence: a logit, comparable within one question.
pub(super) fn score(signs: &Signs) -> f64 {
    weighed(signs).iter().map(|(weight, sign)| weight * sign).sum()
}

/// The score without what the speaker adds to it or takes away.
pub(super) fn score_whoever_spoke(signs: &Signs) -> f64 {
    score(&Signs { speaker: false, other: false, ..*signs })
}
