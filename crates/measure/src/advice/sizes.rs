//! What sessions would have cost if their agent's own compaction had fired at other sizes of the
//! prompt (how-it-works §49): a fold over what providers reported, without a replay.
//!
//! In: the facts of sessions, the price list, and the agents' settings with what a compaction of
//! each changes. Out: a [`SizeCurve`], or the reason why there is none. Windows and strategies of
//! a run change nothing here.

mod walk;

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::advice::agent_settings::{AgentSetting, public_quantities, threshold};
use crate::receipt::{aside, receipt};
use crate::statistics::pooling::families;
use crate::statistics::{Bounds, Clusters, percentile_interval, quantiles};
use recap_billing::pricing::PriceList;
use recap_core::model::{
    AROUND, Absent, Amount, Kept, Manifest, NoCurve, Quantities, Quantity, RecordedRow, SIDECHAIN,
    SessionAtSize, SessionFacts, SizeCurve, SizeRow,
};
use walk::{ROOM, Step, Track, Walked};

/// The sizes that are looked at, in tokens.
pub const SIZES: [u64; 9] =
    [80_000, 100_000, 115_000, 130_000, 150_000, 165_000, 200_000, 300_000, 400_000];
/// Sizes that are shown at most, where none is named.
const MOST_SIZES: usize = 6;
/// Share of the largest prompt above which a size changes next to nothing.
const OF_LARGEST: f64 = 0.9;
/// Fewest families of sessions.
const FEWEST_FAMILIES: usize = 3;
/// Fewest projects from which on they are drawn instead of families.
const FEWEST_PROJECTS: usize = 6;
/// Draws of families or projects.
const DRAWS: usize = 400;
/// Draws of what a compaction adds and of what is read again; those of families take turns.
const AMOUNTS: usize = 40;
/// Change of a bill that counts as cheaper or dearer.
const CHANGE: f64 = 0.01;
/// Share of the sessions that may be dearer, or without room, at most.
const DEARER: f64 = 0.2;
/// Share of today's bill that is worth a setting.
const WORTH: f64 = 0.05;
/// Share of the best admissible saving that the advised size has at least: of sizes that save
/// nearly as much the largest forgets least often.
const OF_BEST: f64 = 0.85;

/// The conversations of an input as the walk sees them, and the sessions that it leaves out with
/// the reason.
fn tracks<'a>(
    facts: &'a [SessionFacts],
    prices: &'a PriceList,
) -> (Vec<Track<'a>>, Vec<(&'a str, Absent)>) {
    let mut subagents: BTreeMap<(&str, &str), Amount> = BTreeMap::new();
    for one in facts {
        if let Some((parent, _)) = one.session.split_once(SIDECHAIN) {
            let total = receipt([one], prices).all().total();
            *subagents.entry((&one.dataset, parent)).or_default() += &total;
        }
    }
    let (mut tracks, mut left_out) = (Vec::new(), Vec::new());
    for (at, one) in facts.iter().enumerate().filter(|(_, one)| !one.is_sidechain()) {
        let own = subagents.remove(&(&*one.dataset, &*one.session)).unwrap_or_default();
        match track(at, one, own, prices) {
            Ok(track) => tracks.push(track),
            Err(why) => left_out.push((one.session.as_str(), why)),
        }
    }
    let first: Vec<f64> = tracks.iter().filter_map(Track::first).collect();
    let usual = if first.is_empty() { f64::INFINITY } else { quantiles(first, [0.5])[0] };
    tracks.iter_mut().for_each(|track| track.begin_with(usual));
    (tracks, left_out)
}

/// The conversation of a session with what its subagents cost. What has no price is never taken
/// for free.
fn track<'a>(
    at: usize,
    facts: &'a SessionFacts,
    subagents: Amount,
    prices: &'a PriceList,
) -> Result<Track<'a>, Absent> {
    let mut track = Track::of(at, facts, prices)?;
    let subagents = subagents.priced()?;
    track.beside_usd = aside(facts, prices).all().total().priced()? + subagents;
    if track.steps.is_empty() { Err(Absent::NoUsage) } else { Ok(track) }
}

/// The compactions of a session that removed messages; copies are left to the session that counts
/// them.
fn recorded(track: &Track<'_>) -> Vec<RecordedRow> {
    let steps = &track.steps;
    let growth = |from: usize, to: usize| -> Option<i64> {
        let among = steps.get(from + 1..=to)?.iter().any(|step| step.compaction.is_some());
        (!among).then(|| steps[to].prompt as i64 - steps[from].prompt as i64)
    };
    let row = |(at, step): (usize, &Step<'_>)| {
        let facts = step.compaction.filter(|made| !made.copied)?.clone();
        let before = at.checked_sub(1);
        let read = (!step.bill.usage.cache_unknown).then_some(step.bill.usage.cache_read);
        Some(RecordedRow {
            session: track.session,
            request: at,
            facts,
            first: track.first().map(|tokens| tokens as u64),
            before: before.map(|before| steps[before].prompt),
            behind: step.prompt,
            read,
            growth_before: before.and_then(|to| growth(to.checked_sub(AROUND)?, to)),
            growth_behind: growth(at, at + AROUND),
        })
    };
    steps.iter().enumerate().filter_map(row).collect()
}

/// Every compaction on record with the prompts around it, session by session.
pub fn recorded_compactions(facts: &[SessionFacts], prices: &PriceList) -> Vec<RecordedRow> {
    tracks(facts, prices).0.iter().flat_map(recorded).collect()
}

/// What the sessions of a run would have cost at other sizes.
///
/// # Errors
/// Why that cannot be said, or would be no answer.
pub fn curve(
    manifest: &Manifest,
    facts: &[SessionFacts],
    prices: &PriceList,
) -> Result<SizeCurve, NoCurve> {
    let agent = manifest.agent.clone().ok_or(NoCurve::Agents)?;
    let (tracks, left_out) = tracks(facts, prices);
    if tracks.is_empty() {
        let unpriced = left_out.iter().find(|(_, why)| *why != Absent::NoUsage);
        let no_price = |(_, why): &(_, Absent)| NoCurve::NoPrice { why: why.to_string() };
        return Err(unpriced.map_or(NoCurve::NoUsage, no_price));
    }
    let units = |by_project: bool| {
        let sessions = tracks.iter().enumerate().map(|(at, track)| (&facts[track.session], at));
        families(sessions, by_project)
    };
    let families = units(false);
    if families.len() < FEWEST_FAMILIES {
        return Err(NoCurve::Few { families: families.len() as u64 });
    }
    let setting = threshold(&agent);
    if setting.is_none() && manifest.compact_at.is_empty() {
        return Err(NoCurve::NoSetting { agent });
    }
    let rows: Vec<RecordedRow> = tracks.iter().flat_map(recorded).collect();
    let Some(measured) = measured(&rows, public_quantities(&agent)) else {
        return Err(NoCurve::Unmeasured { agent, compactions: rows.len() as u64 });
    };
    let sizes = sizes(manifest, setting, &tracks, &measured)?;
    let named = tracks.iter().filter_map(|track| facts[track.session].cluster.as_deref());
    let projects = named.collect::<BTreeSet<&str>>().len();
    let by_project = projects >= FEWEST_PROJECTS;
    let mut rng = ChaCha8Rng::seed_from_u64(manifest.seed);
    let fold = Fold {
        today: tracks.iter().map(|track| track.walk(&measured.quantities, None)).collect(),
        units: units(by_project),
        amounts: (0..AMOUNTS).map(|_| measured.drawn(&mut rng)).collect(),
        seed: manifest.seed,
        tracks: &tracks,
        measured: &measured,
        families: &families,
    };
    let applied = |size: u64| setting.and_then(|own| own.setting(size));
    let row = |size: u64| SizeRow { line: applied(size).map(|own| own.line), ..fold.row(size) };
    let sizes: Vec<SizeRow> = sizes.into_iter().map(row).collect();
    let advised = advised(&sizes, tracks.len());
    let apply = advised.as_ref().ok().and_then(|at| applied(sizes[*at].size));
    let today = &fold.today;
    let estimated = today.iter().map(|one| one.estimated);
    Ok(SizeCurve {
        agent,
        sessions: tracks.len() as u64,
        left_out: left_out.iter().map(|(id, why)| ((*id).to_owned(), why.to_string())).collect(),
        families: families.len() as u64,
        projects: projects as u64,
        unit: if by_project { "project" } else { "family" },
        requests: tracks.iter().map(|track| track.requests()).sum(),
        today_usd: today.iter().map(|one| one.usd).sum(),
        estimated: estimated.fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
        compactions: today.iter().map(|one| one.compactions).sum(),
        largest: largest(&tracks),
        quantities: measured.quantities.clone(),
        sizes,
        advised,
        apply,
    })
}

fn largest(tracks: &[Track<'_>]) -> u64 {
    tracks.iter().flat_map(|track| &track.steps).map(|step| step.prompt).max().unwrap_or(0)
}

/// The sizes that are looked at, ascending.
fn sizes(
    manifest: &Manifest,
    setting: Option<&AgentSetting>,
    tracks: &[Track<'_>],
    measured: &Measured,
) -> Result<Vec<u64>, NoCurve> {
    if !manifest.compact_at.is_empty() {
        let named: BTreeSet<u64> = manifest.compact_at.iter().copied().collect();
        return Ok(named.into_iter().collect());
    }
    let added = measured.point().added;
    let [left] = quantiles(tracks.iter().map(|track| track.left(added)).collect(), [0.5]);
    let least = left as u64 + ROOM;
    let largest = largest(tracks);
    let accepted = |size: u64| setting.is_none_or(|own| own.setting(size).is_some());
    let reached = |size: &u64| {
        *size >= least && *size as f64 <= OF_LARGEST * largest as f64 && accepted(*size)
    };
    let reached: Vec<u64> = SIZES.into_iter().filter(reached).collect();
    if reached.is_empty() {
        return Err(NoCurve::Short { largest, least });
    }
    let has_room = |size: &u64| {
        let without = tracks.iter().filter(|track| !track.has_room(*size, added)).count();
        without as f64 <= DEARER * tracks.len() as f64
    };
    let mut sizes: Vec<u64> = reached.into_iter().filter(has_room).collect();
    if sizes.is_empty() {
        return Err(NoCurve::NoRoom { least });
    }
    // Of sizes that are close together one goes.
    while sizes.len() > MOST_SIZES {
        let near = (1..sizes.len() - 1).min_by_key(|at| 1_000 * sizes[at + 1] / sizes[at - 1]);
        sizes.remove(near.unwrap_or(1));
    }
    Ok(sizes)
}

/// The fold over all sessions.
struct Fold<'a> {
    tracks: &'a [Track<'a>],
    /// What each session cost as reported.
    today: Vec<Walked>,
    measured: &'a Measured,
    families: &'a [Vec<usize>],
    /// What is drawn: projects, or families.
    units: Vec<Vec<usize>>,
    /// Draws for every size alike.
    amounts: Vec<Amounts>,
    seed: u64,
}

impl Fold<'_> {
    /// Every session at a size.
    fn at(&self, size: u64, amounts: Amounts) -> Vec<Walked> {
        let quantities = &self.measured.quantities;
        let at = Some((size, amounts));
        self.tracks.iter().map(|track| track.walk(quantities, at)).collect()
    }

    fn row(&self, size: u64) -> SizeRow {
        let (point, today) = (self.measured.point(), &self.today);
        let at = self.at(size, point);
        let (lo, hi) = self.interval(size, &self.amounts);
        let (lo_read_again, _) = self.interval(size, &[self.measured.much_read_again()]);
        let rows = self.tracks.iter().zip(&at).zip(today);
        let rows = rows.map(|((track, at), today)| SessionAtSize {
            session: track.session,
            today_usd: today.usd,
            usd: at.usd,
            recorded: today.compactions,
            compactions: at.compactions,
            room: track.has_room(size, point.added),
        });
        let rows: Vec<SessionAtSize> = rows.collect();
        let count =
            |is: &dyn Fn(&SessionAtSize) -> bool| rows.iter().filter(|one| is(one)).count() as u64;
        let usd: f64 = rows.iter().map(|one| one.usd).sum();
        let compactions: u64 = rows.iter().map(|one| one.compactions).sum();
        let recorded: u64 = rows.iter().map(|one| one.recorded).sum();
        let added = compactions.saturating_sub(recorded) as f64;
        SizeRow {
            size,
            usd,
            saving: 1.0 - usd / rows.iter().map(|one| one.today_usd).sum::<f64>(),
            lo,
            hi,
            lo_read_again,
            compactions,
            cheaper: count(&|one| one.usd < one.today_usd * (1.0 - CHANGE)),
            dearer: count(&|one| one.usd > one.today_usd * (1.0 + CHANGE)),
            no_room: count(&|one| !one.room),
            three_families: self.three_families(&at),
            wait_ms: added * self.measured.quantities.wait_ms.value,
            line: None,
            by_session: rows,
        }
    }

    /// The 95 % interval of the saving over draws of units, with these amounts in turn.
    fn interval(&self, size: u64, amounts: &[Amounts]) -> Bounds {
        let of_units = |walked: &[Walked]| -> Vec<f64> {
            let of = |unit: &Vec<usize>| unit.iter().map(|at| walked[*at].usd).sum();
            self.units.iter().map(of).collect()
        };
        let now = of_units(&self.today);
        let each: Vec<Vec<f64>> =
            amounts.iter().map(|amounts| of_units(&self.at(size, *amounts))).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let draw = |draw: usize| saving(&mut rng, &each[draw % each.len()], &now);
        percentile_interval((0..DRAWS).map(draw).collect())
    }

    /// Share of the saving that the three families come to that save most.
    fn three_families(&self, at: &[Walked]) -> Option<f64> {
        let saved = |family: &Vec<usize>| -> f64 {
            family.iter().map(|one| self.today[*one].usd - at[*one].usd).sum()
        };
        let mut saved: Vec<f64> = self.families.iter().map(saved).collect();
        let all: f64 = saved.iter().sum();
        saved.sort_by(|a, b| b.total_cmp(a));
        let now: f64 = self.today.iter().map(|one| one.usd).sum();
        let share = saved.iter().take(3).sum::<f64>() / all;
        // Where others get dearer, three may save more than all together.
        (all > CHANGE * now).then_some(share.min(1.0))
    }
}

/// The saving of a draw of units.
fn saving(rng: &mut impl Rng, at: &[f64], today: &[f64]) -> f64 {
    let (mut sum, mut all) = (0.0, 0.0);
    for _ in 0..today.len() {
        let unit = rng.random_range(0..today.len());
        (sum, all) = (sum + at[unit], all + today[unit]);
    }
    if all > 0.0 { 1.0 - sum / all } else { 0.0 }
}

/// The largest size that saves nearly as much as the best one, of those of which it is known that
/// they save; or why none is.
fn advised(sizes: &[SizeRow], sessions: usize) -> Result<usize, Kept> {
    let dearer = |row: &SizeRow| row.dearer as f64 > DEARER * sessions as f64;
    let admissible = |row: &&SizeRow| {
        row.lo > 0.0 && row.lo_read_again > 0.0 && !dearer(row) && row.saving > WORTH
    };
    let best = sizes.iter().filter(admissible).map(|row| row.saving).reduce(f64::max);
    if let Some(best) = best {
        let enough = |row: &SizeRow| admissible(&row) && row.saving >= OF_BEST * best;
        return sizes.iter().rposition(enough).ok_or(Kept::NoSaving);
    }
    let most = sizes.iter().reduce(|a, b| if b.saving > a.saving { b } else { a });
    Err(match most {
        Some(row) if row.saving <= 0.0 => Kept::NoSaving,
        Some(row) if row.saving <= WORTH => Kept::Small,
        Some(row) if dearer(row) => Kept::ManyDearer,
        Some(row) if row.lo > 0.0 => Kept::ReadAgain,
        Some(_) => Kept::Unsure,
        None => Kept::NoSaving,
    })
}

/// Fewest compactions that a figure of the input's own rests on.
const FEWEST: usize = 3;

/// A draw of what a compaction adds and of what is read again behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amounts {
    /// See [`Quantities::added`].
    pub added: f64,
    /// See [`Quantities::read_again`].
    pub read_again: f64,
}

/// What one compaction changes: measured at the input's own recorded compactions from three on,
/// else at public recordings of the same agent, which stand beside the agents' settings
/// (`strategies/agents/settings.toml`). What is read again differs so much from compaction to
/// compaction that own figures are taken only where they are the surer ones.
struct Measured {
    pub quantities: Quantities,
    /// What each of the input's own compactions added, and what was read again behind it.
    own: Vec<(f64, Option<f64>)>,
}

/// The input's own quantities, and where it has too few compactions those of public recordings;
/// `None` where neither is known.
fn measured(rows: &[RecordedRow], public: Option<&Quantities>) -> Option<Measured> {
    let figures = |of: fn(&RecordedRow) -> Option<f64>| rows.iter().filter_map(of).collect();
    let median = |of, public: Option<Quantity>| known(median(figures(of)), public);
    let mean = |of, public: Option<Quantity>| surer(known(mean(figures(of)), public), public);
    let of = |quantity: fn(&Quantities) -> Quantity| public.map(quantity);
    let quantities = Quantities {
        added: median(|row| row.added(), of(|all| all.added))?,
        cached: median(|row| Some(row.read? as f64), of(|all| all.cached))?,
        output: median(|row| row.output(), of(|all| all.output))
            .or_else(|| median(|row| Some(row.facts.summary_tokens as f64), None))?,
        read_again: mean(|row| row.read_again(), of(|all| all.read_again))?,
        calls: mean(|row| row.calls(), of(|all| all.calls))?,
        wait_ms: median(|row| row.facts.wait_ms, of(|all| all.wait_ms)).unwrap_or_default(),
    };
    let own = rows.iter().filter_map(|row| Some((row.added()?, row.read_again()))).collect();
    Some(Measured { quantities, own })
}

/// An own figure where it rests on enough, else the public one.
fn known(own: Option<Quantity>, public: Option<Quantity>) -> Option<Quantity> {
    own.filter(|own| own.n as usize >= FEWEST).or(public)
}

/// The figure with the narrower interval.
fn surer(known: Option<Quantity>, public: Option<Quantity>) -> Option<Quantity> {
    let width = |of: &Quantity| of.hi - of.lo;
    known.map(|known| public.filter(|public| width(public) < width(&known)).unwrap_or(known))
}

/// The median of these with their quartiles.
fn median(figures: Vec<f64>) -> Option<Quantity> {
    let n = figures.len() as u64;
    (n > 0).then(|| {
        let [lo, value, hi] = quantiles(figures, [0.25, 0.5, 0.75]);
        Quantity { value, lo, hi, n, own: true }
    })
}

/// The mean of these with its 95 % t interval.
fn mean(figures: Vec<f64>) -> Option<Quantity> {
    let n = figures.len() as u64;
    let each = Clusters::new(figures.into_iter().map(|figure| vec![figure]).collect());
    (n > 1).then(|| {
        let (lo, hi) = each.student();
        Quantity { value: each.mean(), lo, hi, n, own: true }
    })
}

impl Measured {
    /// What is the most likely.
    pub fn point(&self) -> Amounts {
        let Quantities { added, read_again, .. } = &self.quantities;
        Amounts { added: added.value, read_again: read_again.value }
    }

    /// The same, with what is read again at the upper end of its interval.
    pub fn much_read_again(&self) -> Amounts {
        Amounts { read_again: self.quantities.read_again.hi, ..self.point() }
    }

    /// What others of the kind may come to: own compactions are drawn anew, both figures
    /// together; of public ones the first lies between the quartiles, half of the time on either
    /// side of the median, and the second is normal.
    pub fn drawn(&self, rng: &mut impl Rng) -> Amounts {
        let Quantities { added, read_again, .. } = &self.quantities;
        let drawn: Vec<(f64, Option<f64>)> =
            self.own.iter().map(|_| self.own[rng.random_range(0..self.own.len())]).collect();
        let own_added = median(drawn.iter().map(|(added, _)| *added).collect());
        let own_again: Vec<f64> = drawn.iter().filter_map(|(_, again)| *again).collect();
        let (half, normal) = (rng.random_range(-1.0..1.0), standard_normal(rng));
        let side = if half < 0.0 { added.value - added.lo } else { added.hi - added.value };
        Amounts {
            added: match own_added.filter(|_| added.own) {
                Some(own) => own.value,
                None => added.value + half * side,
            },
            read_again: if read_again.own && !own_again.is_empty() {
                own_again.iter().sum::<f64>() / own_again.len() as f64
            } else {
                read_again.value + normal * (read_again.hi - read_again.lo) / (2.0 * 1.96)
            },
        }
    }
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn standard_normal(rng: &mut impl Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests;
