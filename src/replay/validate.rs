//! The simulated bill of what the recorded agent really sent, against what
//! the provider billed: the simulator's error on the user's own recording
//! (`measures` §2).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::bill::life;
use super::plan::Plan;
use super::session::replay;
use super::subject::Subject;
use crate::model::{
    Buckets, Calibration, CellKey, CellOutcome, Exogenous, Fit, RequestBill, RequestFacts, Usage,
    Validation,
};
use crate::pricing::{Agents, Class, Tariff};
use crate::strategy::{Compactor, builtin};

/// Share of a prompt, and tokens, from which a jump that is not explained is
/// named.
const JUMP: (f64, f64) = (0.02, 1_000.0);

/// Replays the vendor's own compactions under the recorded model's rules and
/// compares every request with its recorded usage. `None` without usage.
pub async fn validate(
    subject: &Subject,
    agents: &Agents,
    compactor: &dyn Compactor,
) -> Option<Validation> {
    let facts = &subject.facts;
    let calibration = facts.calibration.as_ref()?;
    let agent = agents.recorded(facts.model.as_deref());
    // A summary that cannot be read is part of what its stretch's fit calls hidden.
    let drop = [("unreadable".to_owned(), "drop".to_owned())];
    let preset = builtin("recorded", &drop)?.expect("the preset ships with the program");
    let plan = Plan {
        key: CellKey {
            dataset: facts.dataset.clone(),
            transcript: facts.transcript.clone(),
            strategy: preset.name.clone(),
            window: String::new(),
            replicate: 0,
        },
        preset: Arc::new(preset),
        window: u64::MAX / 4,
        scaled: false,
        seed: 0,
        offline: true,
        agents: Arc::new([agent.clone()]),
        compactor: None,
    };
    // In the provider's tokens even where the run counts its own: up to the
    // first boundary, a simulated position is then the provider's.
    let recording = subject.recording.clone().calibrated();
    let subject = &Subject { recording, ..subject.clone() };
    // A recording that cannot be replayed says so in its own row.
    let CellOutcome::Done(rows) = replay(subject, &plan, compactor).await.cell.outcome else {
        return None;
    };
    let bill = rows.bills.into_iter().next()?;
    let compared = (0u32..).zip(facts.requests.iter().zip(bill.requests));
    let compared = compared.filter_map(|(n, (f, bill))| Some((n, f, f.recorded?, bill?)));
    let mut scale = Scale::new(subject, calibration);
    let mut books = Books { life: life(&facts.requests).duration(), ..Books::default() };
    let mut tariff = agent.prices.as_deref().map(|model| Tariff::new(model, Class::Standard));
    for (number, request, usage, bill) in compared {
        let each = scale.buckets(request, &usage, &bill);
        books.take(request, &usage, each, tariff.as_mut());
        if let Some(jump) = scale.jump(request, &usage, &bill) {
            books.unexplained.push((number, jump));
        }
    }
    (books.requests > 0).then(|| books.close(agent.model))
}

/// From the first stretch's tokens to those of each stretch.
struct Scale<'a> {
    fits: &'a [Fit],
    /// Of the hidden preamble in the first stretch.
    hidden: f64,
    global: f64,
    /// Tokens of the whole preamble.
    preamble: u64,
    /// The first stretch's tokens for one as counted.
    factor: f64,
    /// What the provider counted for prompts of so many tokens, in this stretch.
    sizes: BTreeMap<u64, u64>,
    /// Stretch and residual of the request before.
    last: Option<(usize, f64)>,
}

impl<'a> Scale<'a> {
    fn new(subject: &Subject, calibration: &'a Calibration) -> Self {
        let sizes = &subject.recording.sizes;
        let hidden = sizes.hidden_tokens;
        Self {
            fits: &calibration.fits,
            hidden: hidden as f64,
            global: calibration.global.map_or(hidden, |global| global.min(hidden)) as f64,
            preamble: sizes.preamble_tokens(),
            factor: calibration.fits.first().map_or(1.0, |fit| fit.factor),
            sizes: BTreeMap::new(),
            last: None,
        }
    }

    fn stretch(&self, request: &RequestFacts) -> usize {
        self.fits.partition_point(|fit| fit.from <= request.message).saturating_sub(1)
    }

    /// Tokens of a prompt's beginning in the provider's count.
    fn provider(&self, stretch: usize, tokens: u64) -> f64 {
        let Some(fit) = self.fits.get(stretch) else { return tokens as f64 };
        let (ours, theirs) = match tokens < self.preamble {
            true => (self.global.min(tokens as f64), self.global.min(tokens as f64)),
            false => (self.hidden, fit.hidden),
        };
        theirs + fit.factor * (tokens as f64 - ours) / self.factor
    }

    /// The same, measured from the nearest prompt whose size was reported.
    fn beside_known(&self, stretch: usize, tokens: u64) -> f64 {
        if tokens < self.preamble {
            return self.provider(stretch, tokens);
        }
        let below = self.sizes.range(..=tokens).next_back();
        let above = self.sizes.range(tokens..).next();
        let nearest = below.into_iter().chain(above).min_by_key(|(at, _)| at.abs_diff(tokens));
        match nearest {
            Some((at, size)) => {
                let fitted = |tokens| self.provider(stretch, tokens);
                *size as f64 + fitted(tokens) - fitted(*at)
            }
            None => self.provider(stretch, tokens),
        }
    }

    /// The simulated buckets with prompts sized by the fit, and with prompts
    /// of the recorded size.
    fn buckets(
        &mut self,
        request: &RequestFacts,
        usage: &Usage,
        bill: &RequestBill,
    ) -> [Buckets; 2] {
        let stretch = self.stretch(request);
        if self.last.is_some_and(|(other, _)| other != stretch) {
            self.sizes.clear();
        }
        let billed = &bill.prompt.billed;
        let fitted = cut(billed, |tokens| self.provider(stretch, tokens).max(0.0) as u64);
        let (total, size) = (billed.prompt(), usage.prompt());
        let known = cut(billed, |tokens| {
            let part = self.beside_known(stretch, tokens).max(0.0) as u64;
            if tokens == total { size } else { part.min(size) }
        });
        self.sizes.insert(total, size);
        [fitted, known]
    }

    /// Tokens by which the prompt grew beyond what the recording and what is
    /// known to be hidden explain.
    fn jump(&mut self, request: &RequestFacts, usage: &Usage, bill: &RequestBill) -> Option<i64> {
        let stretch = self.stretch(request);
        let size = usage.prompt() as f64;
        let residual = size - self.provider(stretch, bill.prompt.billed.prompt());
        let last = self.last.replace((stretch, residual));
        let jump = residual - last.filter(|(other, _)| *other == stretch)?.1;
        (jump.abs() > JUMP.1 && jump.abs() > JUMP.0 * size).then_some(jump as i64)
    }
}

/// The same buckets with every bound between them moved.
fn cut(buckets: &Buckets, to: impl Fn(u64) -> u64) -> Buckets {
    let read = buckets.read;
    let hour = read + buckets.write_1h;
    let written = hour + buckets.write;
    let bound = |tokens: u64| if tokens == 0 { 0 } else { to(tokens) };
    let total = bound(buckets.prompt());
    let written = bound(written).min(total);
    let hour = bound(hour).min(written);
    Buckets::up_to(total, bound(read).min(hour), hour, written)
}

/// Sums over the requests that were compared.
#[derive(Default)]
struct Books {
    requests: u32,
    recorded: Buckets,
    fitted: Buckets,
    known: Buckets,
    usd: [f64; 3],
    unpriced: bool,
    cold_starts: u32,
    expired: u32,
    renewed: u32,
    unexplained: Vec<(u32, i64)>,
    last: Option<Timestamp>,
    life: SignedDuration,
}

impl Books {
    fn take(
        &mut self,
        request: &RequestFacts,
        usage: &Usage,
        [fitted, known]: [Buckets; 2],
        tariff: Option<&mut Tariff<'_>>,
    ) {
        let recorded = Buckets::from(usage);
        match tariff {
            Some(tariff) => {
                for (sum, buckets) in self.usd.iter_mut().zip([&recorded, &fitted, &known]) {
                    match tariff.prompt_usd(buckets, request.at) {
                        Some(usd) => *sum += usd,
                        None => self.unpriced = true,
                    }
                }
            }
            None => self.unpriced = true,
        }
        self.requests += 1;
        self.recorded += recorded;
        self.fitted += fitted;
        self.known += known;
        if let Some(last) = self.last {
            let idle = request.at.duration_since(last);
            match request.exogenous {
                Some(Exogenous::Cold | Exogenous::Restart) => {
                    self.cold_starts += 1;
                    self.expired += u32::from(idle > self.life);
                }
                Some(Exogenous::Renewed) => self.renewed += 1,
                Some(Exogenous::Primed) | None => {}
            }
        }
        self.last = Some(request.at);
    }

    fn close(self, model: String) -> Validation {
        let priced = |usd: f64| (!self.unpriced).then_some(usd);
        let [recorded_usd, simulated_usd, rules_usd] = self.usd.map(priced);
        Validation {
            model,
            requests: self.requests,
            recorded: self.recorded,
            simulated: self.fitted,
            rules: self.known,
            recorded_usd,
            simulated_usd,
            rules_usd,
            cold_starts: self.cold_starts,
            expired: self.expired,
            renewed: self.renewed,
            unexplained: self.unexplained,
        }
    }
}
