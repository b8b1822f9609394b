//! Builds a cell for tests.

use super::*;

/// A cell of this session at window `25%`, by default of a ranked strategy
/// without any effect.
pub fn cell(id: &str, strategy: &str) -> CellBuilder {
    CellBuilder {
        key: CellKey {
            dataset: "d".into(),
            session: id.into(),
            strategy: strategy.into(),
            window: "25%".into(),
            replicate: 0,
        },
        row_kind: RowKind::Ranked,
        rows: CellRows { window: 10_000, cpu_ms: 1.5, ..CellRows::default() },
    }
}

pub struct CellBuilder {
    key: CellKey,
    row_kind: RowKind,
    rows: CellRows,
}

impl CellBuilder {
    pub fn dataset(mut self, name: &str) -> Self {
        self.key.dataset = name.into();
        self
    }

    pub fn window(mut self, label: &str, tokens: u64) -> Self {
        self.key.window = label.into();
        self.rows.window = tokens;
        self
    }

    pub fn replicate(mut self, replicate: u32) -> Self {
        self.key.replicate = replicate;
        self
    }

    pub fn control(mut self) -> Self {
        self.row_kind = RowKind::Control;
        self
    }

    pub fn offline_summary(mut self) -> Self {
        self.row_kind = RowKind::OfflineSummary;
        self
    }

    /// Tokens sent at each request, in a context of two messages.
    pub fn sent(mut self, tokens: &[u64]) -> Self {
        Arc::make_mut(&mut self.rows.requests).extend(tokens.iter().map(|tokens| RequestRow {
            tokens_sent: *tokens,
            estimated: None,
            messages: 2,
            overflow: false,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        }));
        self
    }

    pub fn overflow(mut self, request: usize) -> Self {
        Arc::make_mut(&mut self.rows.requests)[request].overflow = true;
        self
    }

    /// The state of each reference: `k`ept, `p`artial, `b`are, `l`ost.
    pub fn states(mut self, states: &str) -> Self {
        for (at, state) in (0u32..).zip(states.chars()) {
            let state = match state {
                'k' => ReferenceState::Carried,
                'v' => ReferenceState::Verbatim,
                'p' => ReferenceState::Partial,
                'b' => ReferenceState::Bare,
                'l' => ReferenceState::Lost,
                other => panic!("no state is called `{other}`"),
            };
            self.rows.references.push(ReferenceOutcome { reference: at, state });
        }
        self
    }

    /// The context in which the following questions are asked, after this many
    /// compactions.
    pub fn snapshot(mut self, request: u32, compactions: u32) -> Self {
        let (tokens, overflow, parts) = (100, false, Vec::new());
        self.rows.snapshots.push(Snapshot { request, tokens, overflow, compactions, parts });
        self
    }

    /// Marks the last snapshot as over the window.
    pub fn over(mut self) -> Self {
        self.rows.snapshots.last_mut().unwrap().overflow = true;
        self
    }

    /// The result of each question asked at the last snapshot: `r`ight, `h`alf
    /// right, `w`rong, `d`oes not know, `u`nscored. A capital means that the
    /// answer is findable and the evidence is verbatim; a small letter that it is
    /// not and the evidence is gone. Where no model answers: `+` findable, `-` not,
    /// `?` without a value to find.
    pub fn answers(mut self, outcomes: &str) -> Self {
        let snapshot = self.rows.snapshots.len() as u32 - 1;
        let compactions = self.rows.snapshots[snapshot as usize].compactions;
        for outcome in outcomes.chars() {
            let question = self.rows.questions.len() as u32;
            let age_compactions = Some(compactions);
            let row = answered(question, outcome);
            self.rows.questions.push(QuestionRow { snapshot, age_compactions, ..row });
        }
        self
    }

    /// The result of every question with a recovery channel, in the same letters,
    /// with the calls and tokens of its searches.
    pub fn recovers(mut self, outcomes: &str, searched: &[(u32, u64)]) -> Self {
        let rows = self.rows.questions.iter_mut().zip(outcomes.chars()).zip(searched);
        for ((row, outcome), &(calls, tokens)) in rows {
            let (answer, judgement) = (Answer::Said("it".into()), judgement(outcome));
            let answered = GradedAnswer { answer, judgement };
            row.recovered = Some(Recovered { answered, calls, tokens });
        }
        self
    }

    pub fn compaction(mut self, before: u64, after: u64) -> Self {
        self.rows.compactions.push(CompactionRow {
            request: 1,
            begun: 1,
            messages_seen: 2,
            mechanism: "test".into(),
            trigger: "always".into(),
            tokens_before: before,
            tokens_after: after,
            messages_folded: 1,
            ..CompactionRow::default()
        });
        self
    }

    /// Changes the last compaction.
    pub fn with_compaction(mut self, change: impl FnOnce(&mut CompactionRow)) -> Self {
        change(self.rows.compactions.last_mut().unwrap());
        self
    }

    /// Sets the replies of the compactor in the last compaction.
    pub fn replies(self, replies: &[ReplyFacts]) -> Self {
        self.with_compaction(|row| {
            row.replies = replies.to_vec();
            row.model_calls = replies.len() as u32;
        })
    }

    /// Marks the last compaction as one that called a model, with this latency
    /// and its source.
    pub fn called(mut self, latency_ms: f64, source: LatencySource) -> Self {
        let compaction = self.rows.compactions.last_mut().unwrap();
        compaction.model_calls = 1;
        compaction.latency_ms = Some(latency_ms);
        compaction.latency_source = Some(source);
        self
    }

    /// Marks the last compaction as one that ran in the background.
    pub fn background(mut self) -> Self {
        self.rows.compactions.last_mut().unwrap().background = true;
        self
    }

    /// Moves the last compaction before that request.
    pub fn before(mut self, request: u32) -> Self {
        let compaction = self.rows.compactions.last_mut().unwrap();
        (compaction.request, compaction.begun) = (request, request);
        self
    }

    /// Adds a bill with each request's uncached, read and written tokens.
    pub fn bill(mut self, billing_model: &str, model: &str, requests: &[(u64, u64, u64)]) -> Self {
        let billed = |&(uncached, read, write): &(u64, u64, u64)| {
            Some(RequestBill { prompt: prompt(uncached, read, write), model: 0 })
        };
        self.rows.bills.push(Arc::new(Bill {
            billed_as: billing_model.into(),
            model: model.into(),
            rules: recap_core::model::CacheRules::None,
            other_models: Vec::new(),
            compactor: None,
            requests: requests.iter().map(billed).collect(),
            calls: Vec::new(),
        }));
        self
    }

    /// Changes the last bill in any way.
    pub fn with_bill(mut self, change: impl FnOnce(&mut Bill)) -> Self {
        change(Arc::make_mut(self.rows.bills.last_mut().unwrap()));
        self
    }

    /// Breaks the prompt cache at a request.
    pub fn breaks(mut self, request: usize) -> Self {
        Arc::make_mut(&mut self.rows.requests)[request].cache_break = true;
        self
    }

    pub fn build(self) -> Cell {
        let outcome = CellOutcome::Done(Box::new(self.rows));
        Cell { key: self.key, row_kind: self.row_kind, outcome }
    }

    pub fn failed(self, error: &str) -> Cell {
        let outcome = CellOutcome::Failed { error: error.into() };
        Cell { key: self.key, row_kind: self.row_kind, outcome }
    }
}
