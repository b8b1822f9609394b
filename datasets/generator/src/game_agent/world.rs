//! The simulated world: stations with markets, one ship, its account.

use super::names::Names;
use crate::Stream;

/// What is traded, with the usual price of a unit in credits.
const GOODS: &[(&str, u64)] = &[
    ("copper plate", 410),
    ("water ice", 175),
    ("barley", 240),
    ("medical gel", 2860),
    ("solar film", 1940),
    ("machine parts", 1320),
    ("polymer", 520),
    ("helium cells", 1680),
    ("black tea", 890),
    ("ceramics", 730),
    ("optical glass", 2430),
    ("bearings", 1110),
    ("rare salts", 3450),
    ("timber", 360),
    ("wool", 450),
    ("lamp oil", 610),
    ("enamel", 980),
    ("paper", 320),
];

/// What is mined, with the usual price of a unit in credits.
const ORES: &[(&str, u64)] = &[("nickel ore", 280), ("blue ice", 330), ("sulphur", 210)];

/// What lies in the sealed bay and is never traded.
pub const RESERVE: &str = "cobalt";

/// Goods that a session trades, ores not counted.
const TRADED: usize = 11;

/// Stations of a session.
const STATIONS: usize = 7;

/// Share of a leg's fuel that an interdiction burns, in percent.
const BURNT: u64 = 30;

/// Something that is traded.
#[derive(Clone, Debug)]
pub struct Good {
    pub name: &'static str,
    pub usual: u64,
    pub is_ore: bool,
}

/// What a station asks and pays for a unit, and how many units it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    pub ask: u64,
    pub bid: u64,
    pub stock: u64,
}

/// A station and the rock that lies next to it.
#[derive(Clone, Debug)]
pub struct Station {
    pub name: &'static str,
    pub system: &'static str,
    pub body: &'static str,
    /// Index of the ore that the body holds.
    pub ore: usize,
    pub is_red: bool,
    pub fuel_price: u64,
    pub fee: u64,
    pub position: (u64, u64),
    pub text: &'static str,
    /// By good; `None` where it is not traded.
    pub quotes: Vec<Option<Quote>>,
}

/// A piece of equipment.
#[derive(Clone, Debug)]
pub struct Module {
    pub slot: &'static str,
    pub name: &'static str,
    pub serial: String,
    pub wear: u64,
}

/// Everything that tools can look at or change.
#[derive(Clone, Debug)]
pub struct World {
    pub random: Stream,
    pub goods: Vec<Good>,
    pub stations: Vec<Station>,
    pub ship: &'static str,
    pub registry: String,
    pub here: usize,
    pub credits: u64,
    pub hull: u64,
    pub hull_max: u64,
    pub fuel: u64,
    pub fuel_max: u64,
    pub capacity: u64,
    /// Units in the hold, by good.
    pub hold: Vec<u64>,
    /// Units in the sealed bay.
    pub reserve: u64,
    pub modules: Vec<Module>,
    /// What was paid for a unit the last time, by good.
    pub paid: Vec<u64>,
    /// The newest bookings: what for, and how much, in or out.
    pub bookings: Vec<(String, String, i64)>,
}

/// Two capital letters and a number.
pub fn plate(random: &mut Stream) -> String {
    let letter = |random: &mut Stream| *random.pick(b"ABDEFGHKLMNPRSTVWXZ") as char;
    format!("{}{}-{}", letter(random), letter(random), random.number(1050..=9890))
}

/// A plate that this stream did not give before.
pub fn registry(random: &mut Stream) -> String {
    random.fresh(plate)
}

const MODULES: &[(&str, &str)] = &[
    ("drive", "Ferrant coil"),
    ("shield", "Damper 2"),
    ("scanner", "short-range set"),
    ("drill", "rotary head"),
    ("pump", "coolant pump"),
    ("aft", "empty"),
    ("comms", "relay mast"),
];

impl World {
    /// A world with a ship in dock at its first station.
    pub fn new(mut random: Stream, names: &Names) -> World {
        let all = |list: &str| names.all(&mut random.fork(list), list);
        let (systems, stations, bodies, ships) =
            (all("systems"), all("stations"), all("bodies"), all("ships"));
        let texts = all("place_text");
        let mut goods: Vec<Good> = random
            .sample(GOODS, TRADED)
            .into_iter()
            .map(|(name, usual)| Good { name, usual, is_ore: false })
            .collect();
        goods.extend(ORES.iter().map(|&(name, usual)| Good { name, usual, is_ore: true }));
        let mut places = Vec::new();
        for at in 0..STATIONS {
            let quotes = goods.iter().map(|good| quote(&mut random, good)).collect();
            places.push(Station {
                name: stations[at],
                system: systems[at],
                body: bodies[at],
                ore: TRADED + random.index(ORES.len()),
                is_red: at == 2 || at == 5,
                fuel_price: random.number(11..=38),
                fee: random.number(105..=960),
                position: (random.number(10..=990), random.number(10..=990)),
                text: texts[at],
                quotes,
            });
        }
        let modules = MODULES.iter().map(|&(slot, name)| Module {
            slot,
            name,
            serial: registry(&mut random),
            wear: random.number(3..=61),
        });
        let modules = modules.collect();
        let (hull_max, fuel_max) = (random.number(1210..=1980), random.number(1450..=2380));
        let mut hold = vec![0; goods.len()];
        for _ in 0..3 {
            let good = random.index(TRADED);
            hold[good] = random.number(31..=148);
        }
        let paid = goods.iter().map(|good| good.usual).collect();
        World {
            registry: registry(&mut random),
            ship: ships[0],
            here: 0,
            credits: random.number(212_000..=389_000),
            hull: hull_max - random.number(36..=210),
            hull_max,
            fuel: fuel_max - random.number(130..=520),
            fuel_max,
            capacity: random.number(1120..=1890),
            hold,
            reserve: random.number(212..=488),
            modules,
            paid,
            bookings: Vec::new(),
            goods,
            stations: places,
            random,
        }
    }

    /// The station where the ship is.
    pub fn place(&self) -> &Station {
        &self.stations[self.here]
    }

    /// Units in the hold, the sealed bay not counted.
    pub fn used(&self) -> u64 {
        self.hold.iter().sum()
    }

    /// Units that still fit.
    pub fn room(&self) -> u64 {
        self.capacity - self.used()
    }

    /// Fuel for the leg from here to `to`.
    pub fn leg(&self, to: usize) -> u64 {
        let (a, b) = (self.place().position, self.stations[to].position);
        let (x, y) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
        // The distance on the map, and what it takes to leave and arrive.
        47 + (x * x + y * y).isqrt() * 2 / 5
    }

    /// Time goes by: every market moves.
    pub fn drift(&mut self) {
        for station in &mut self.stations {
            for (quote, good) in station.quotes.iter_mut().zip(&self.goods) {
                let Some(quote) = quote else { continue };
                let percent = self.random.number(95..=105);
                let ask = quote.ask * percent / 100 + self.random.number(0..=6);
                quote.ask = ask.clamp(good.usual / 2, good.usual * 2);
                quote.bid = quote.ask * self.random.number(90..=97) / 100;
                quote.stock = quote.stock * self.random.number(82..=112) / 100;
                quote.stock += self.random.number(4..=39);
            }
        }
    }

    /// Buys at the price on the board. `None` where that cannot be done.
    pub fn buy(&mut self, good: usize, units: u64) -> Option<u64> {
        let quote = self.stations[self.here].quotes[good].as_mut()?;
        let sum = quote.ask * units;
        let fits = units > 0 && units <= quote.stock && sum <= self.credits;
        if !fits || units > self.capacity - self.hold.iter().sum::<u64>() {
            return None;
        }
        quote.stock -= units;
        self.paid[good] = quote.ask;
        self.credits -= sum;
        self.hold[good] += units;
        Some(sum)
    }

    /// Sells at the price on the board. `None` where that cannot be done.
    pub fn sell(&mut self, good: usize, units: u64) -> Option<u64> {
        let quote = self.stations[self.here].quotes[good].as_mut()?;
        if units == 0 || units > self.hold[good] {
            return None;
        }
        quote.stock += units;
        let sum = quote.bid * units;
        self.hold[good] -= units;
        self.credits += sum;
        Some(sum)
    }

    /// Flies to `to`. `None` where the tank does not hold the leg.
    pub fn jump(&mut self, to: usize) -> Option<u64> {
        let need = self.leg(to);
        self.fuel = self.fuel.checked_sub(need)?;
        self.here = to;
        Some(need)
    }

    /// Somebody pulls the ship out of the jump to `to`: hull and fuel are lost,
    /// the ship stays. Gives the damage, or `None` where fuel would not last
    /// for the second attempt.
    pub fn interdict(&mut self, to: usize) -> Option<u64> {
        let burnt = self.leg(to) * BURNT / 100;
        let damage = self.random.number(63..=248);
        if self.fuel < burnt + self.leg(to) || self.hull <= damage + 300 {
            return None;
        }
        self.fuel -= burnt;
        self.hull -= damage;
        Some(damage)
    }

    /// What the repair of the whole hull costs here.
    pub fn repair_cost(&self) -> u64 {
        (self.hull_max - self.hull) * (self.place().fee / 60 + 9)
    }

    /// Books a sum.
    pub fn book(&mut self, when: &str, what: String, sum: i64) {
        self.bookings.push((when.to_owned(), what, sum));
        if self.bookings.len() > 5 {
            self.bookings.remove(0);
        }
    }

    /// A good that is traded here and elsewhere, which is no ore.
    pub fn a_good(&mut self) -> usize {
        self.random.index(TRADED)
    }

    /// Another station than those.
    pub fn a_station(&mut self, but: &[usize]) -> usize {
        loop {
            let at = self.random.index(self.stations.len());
            if !but.contains(&at) {
                return at;
            }
        }
    }
}

fn quote(random: &mut Stream, good: &Good) -> Option<Quote> {
    if good.is_ore && random.chance(35) {
        return None;
    }
    let ask = good.usual * random.number(71..=134) / 100 + random.number(1..=9);
    let bid = ask * random.number(90..=97) / 100;
    Some(Quote { ask, bid, stock: random.number(58..=1890) })
}
