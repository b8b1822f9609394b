//! Builds the facts of a session for tests.

use super::*;

/// A session of data set `d` with alternating user and assistant messages.
pub fn facts(id: &str) -> FactsBuilder {
    let (dataset, session) = ("d".into(), id.into());
    FactsBuilder(SessionFacts { dataset, session, ..SessionFacts::default() })
}

pub struct FactsBuilder(SessionFacts);

impl FactsBuilder {
    pub fn dataset(mut self, name: &str) -> Self {
        self.0.dataset = name.into();
        self
    }

    pub fn cluster(mut self, name: &str) -> Self {
        self.0.cluster = Some(name.into());
        self
    }

    pub fn preamble(mut self, tokens: u64) -> Self {
        self.0.preamble_tokens = tokens;
        self
    }

    /// Adds requests: request j is before message 2j + 1 and sends `full[j]`
    /// tokens.
    pub fn requests(mut self, full: &[u64]) -> Self {
        for (at, tokens_full) in (0u32..).zip(full) {
            self.0.requests.push(RequestFacts {
                message: 2 * at + 1,
                tokens_full: *tokens_full,
                output: 10,
                at: Timestamp::UNIX_EPOCH,
                recorded: None,
                billed: true,
                exogenous: None,
                model: 0,
            });
        }
        for at in 0..2 * full.len() {
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            let tokens = 10 * (at as u64 + 1);
            let (id, text) = (format!("m{at}"), format!("hash-{at}"));
            self.0.messages.push(MessageFacts { id, role, tokens, at: None, tool: None, text });
        }
        self
    }

    /// Adds a reference that was last seen `distance` tokens before `request`
    /// and is in the tool result `refetch`. Must be called in the order of the
    /// requests.
    pub fn reference(mut self, request: u32, distance: u64, refetch: Option<u32>) -> Self {
        let at = self.0.exam.references.len();
        self.0.exam.references.push(Reference {
            request,
            text: format!("identifier_{at}"),
            class: IdentifierClass::Identifier,
            last_seen: 0,
            distance_tokens: distance,
            sources: vec![0],
            refetch,
            reread: false,
            near: Vec::new(),
        });
        self
    }

    /// Adds a question of a kind about message 0, asked at `request`, `age` tokens
    /// later.
    pub fn question(mut self, kind: QuestionKind, request: u32, age: u64) -> Self {
        let id = format!("p{:03}", self.0.questions.len());
        let expect = match kind {
            QuestionKind::Abstain => Expectation::Unanswerable,
            _ => Expectation::AnyOf(vec!["it".into()]),
        };
        let question = Question {
            id,
            session: self.0.session.clone(),
            asked_at: 0,
            kind,
            question: "Which?".into(),
            expect,
            evidence: vec!["m0".into()],
            stale: Vec::new(),
        };
        let evidence = vec![0];
        self.0.questions.push(QuestionFacts { question, request, evidence, age_tokens: Some(age) });
        self
    }

    /// Marks the last reference as read again by the recording itself.
    pub fn reread(mut self) -> Self {
        self.0.exam.references.last_mut().unwrap().reread = true;
        self
    }

    pub fn boundary(mut self, did_without: u32) -> Self {
        self.0.recorded_compactions = 1;
        self.0.exam.did_without = did_without;
        self
    }

    /// Changes the facts in any way.
    pub fn with(mut self, change: impl FnOnce(&mut SessionFacts)) -> Self {
        change(&mut self.0);
        self
    }

    /// Scales the tokens by a factor, with this error of predicted counts.
    pub fn calibrated(self, factor: f64, forward: Option<f64>) -> Self {
        let mut scaled = self.reported(forward);
        scaled.0.tokens_source = TokensSource::Calibrated;
        scaled.0.calibration.as_mut().unwrap().fits[0].factor = factor;
        scaled
    }

    /// Marks the recording as one with usage, with this error of predicted
    /// counts.
    pub fn reported(mut self, forward: Option<f64>) -> Self {
        let fit = Fit { from: 0, hidden: 0.0, factor: 1.0, requests: 10 };
        self.0.calibration = Some(Calibration {
            fits: vec![fit],
            unseen: Vec::new(),
            global: None,
            in_sample: forward,
            forward,
            after_boundary: None,
        });
        self
    }

    pub fn left_out(mut self, reason: &str, n: u64) -> Self {
        self.0.left_out.push((reason.into(), n));
        self
    }

    pub fn build(self) -> SessionFacts {
        self.0
    }
}
