//! What others do and say: the swarm, ships nearby, the channel, contracts.

use serde_json::{Value as Json, json};

use super::names::Names;
use super::views::{Key, View, listing};
use super::world::{World, registry};
use crate::{Phrases, Stream};

/// Another agent of the swarm.
#[derive(Clone, Debug)]
pub struct Fellow {
    pub name: &'static str,
    pub ship: &'static str,
    pub place: &'static str,
    pub state: &'static str,
    pub credits: u64,
    pub fuel: u64,
}

/// A ship in scanner range.
#[derive(Clone, Debug)]
pub struct Contact {
    pub name: &'static str,
    pub ship: &'static str,
    pub registry: String,
    pub distance: String,
}

/// A contract.
#[derive(Clone, Debug)]
pub struct Mission {
    pub id: String,
    pub good: usize,
    pub units: u64,
    pub to: usize,
    pub pay: u64,
    pub due: String,
}

/// What somebody said on the channel about a price.
#[derive(Clone, Debug)]
pub struct Claim {
    pub who: &'static str,
    pub good: usize,
    pub place: usize,
    pub price: u64,
}

const STATES: &[&str] = &[
    "mining",
    "in dock",
    "waiting for a berth",
    "under way",
    "hauling",
    "idle",
    "in repair",
    "scanning",
];

/// Everybody else.
#[derive(Clone, Debug)]
pub struct Chatter {
    random: Stream,
    lines: Phrases,
    callsigns: Vec<&'static str>,
    ships: Vec<&'static str>,
    classes: Vec<&'static str>,
    flags: Vec<&'static str>,
    pub fellows: Vec<Fellow>,
    /// Ids in the order in which messages were posted.
    posted: u64,
}

/// Agents of the swarm beside this one.
const FELLOWS: usize = 5;

impl Chatter {
    /// The others of a world.
    pub fn new(mut random: Stream, names: &Names, world: &World) -> Chatter {
        let callsigns = names.all(&mut random, "callsigns");
        let mut ships = names.all(&mut random, "ships");
        ships.retain(|ship| *ship != world.ship);
        let fellows = (0..FELLOWS).map(|at| Fellow {
            name: callsigns[at],
            ship: ships[at],
            place: random.pick(&world.stations).name,
            state: random.pick::<&'static str>(STATES),
            credits: random.number(11_200..=98_700),
            fuel: random.number(210..=1890),
        });
        let fellows = fellows.collect();
        Chatter {
            lines: Phrases::new(include_str!("broadcasts.txt")),
            callsigns: callsigns[FELLOWS..].to_vec(),
            ships: ships[FELLOWS..].to_vec(),
            classes: names.all(&mut random, "classes"),
            flags: names.all(&mut random, "flags"),
            fellows,
            posted: random.number(41_000..=88_000),
            random,
        }
    }

    /// Somebody who is no agent of the swarm.
    pub fn somebody(&mut self) -> &'static str {
        self.random.pick::<&'static str>(&self.callsigns)
    }

    /// The others go on with what they do.
    pub fn drift(&mut self, world: &World) {
        let (random, fellows) = (&mut self.random, &mut self.fellows);
        for fellow in fellows {
            if random.chance(55) {
                fellow.state = random.pick::<&'static str>(STATES);
                fellow.credits =
                    fellow.credits * random.number(93..=109) / 100 + random.number(1..=90);
                fellow.fuel = random.number(210..=1890);
            }
            if random.chance(25) {
                fellow.place = random.pick(&world.stations).name;
            }
        }
    }

    /// `zoea_swarm_status`.
    pub fn show_swarm(&mut self) -> View {
        let rows: Vec<Json> = self
            .fellows
            .iter()
            .map(|f| {
                json!({
                    "mysis": f.name, "ship": f.ship, "at": f.place, "state": f.state,
                    "credits": f.credits, "fuel": f.fuel, "tick": self.random.number(10_400..=98_900),
                })
            })
            .collect();
        let seen = self.fellows.iter().enumerate().map(|(at, f)| (Key::Fellow(at), f.credits));
        View { seen: seen.collect(), text: listing(&json!({}), "swarm", &rows) }
    }

    /// `zoea_list_myses`.
    pub fn list_fellows(&self) -> View {
        let rows: Vec<Json> = self
            .fellows
            .iter()
            .enumerate()
            .map(|(at, f)| json!({"id": at + 2, "name": f.name, "ship": f.ship, "state": f.state}))
            .collect();
        View { text: listing(&json!({}), "myses", &rows), seen: Vec::new() }
    }

    /// `get_nearby`: the ships, nearest first.
    pub fn show_nearby(&mut self, world: &World) -> (View, Vec<Contact>) {
        let mut far = self.random.number(2..=9);
        let names = self.random.sample(&self.callsigns, 12);
        let ships = self.random.sample(&self.ships, 12);
        let count = self.random.number(7..=12) as usize;
        let (mut rows, mut contacts) = (Vec::new(), Vec::new());
        for (name, ship) in names.into_iter().zip(ships).take(count) {
            let random = &mut self.random;
            far += random.number(9..=71);
            let distance = format!("{far}.{:02}", random.number(1..=99));
            let registry = registry(random);
            rows.push(json!({
                "registry": registry, "ship": ship, "class": random.pick(&self.classes),
                "pilot": name, "flag": random.pick(&self.flags), "km": distance,
                "heading": random.number(0..=359), "hull": random.number(310..=2890),
            }));
            contacts.push(Contact { name, ship, registry, distance });
        }
        let head = json!({"around": world.place().name, "contacts": rows.len()});
        (View { text: listing(&head, "ships", &rows), seen: Vec::new() }, contacts)
    }

    fn line(&mut self, section: &str, world: &World, claim: Option<&Claim>) -> String {
        let random = &mut self.random;
        let (good, place, price) = match claim {
            Some(claim) => {
                (world.goods[claim.good].name, world.stations[claim.place].name, claim.price)
            }
            None => (
                random.pick(&world.goods).name,
                random.pick(&world.stations).name,
                random.number(118..=3890),
            ),
        };
        let (price, n) = (price.to_string(), random.number(3..=97).to_string());
        let (time, berth) = (clock(random), random.number(1050..=9890).to_string());
        let (reg, code) = (registry(random), registry(random));
        let who = *random.pick(&self.callsigns);
        let gaps: &[(&str, &str)] = &[
            ("good", good),
            ("place", place),
            ("price", &price),
            ("n", &n),
            ("time", &time),
            ("berth", &berth),
            ("reg", &reg),
            ("code", &code),
            ("who", who),
        ];
        self.lines.say(&mut self.random, section, gaps)
    }

    /// `read_broadcasts`, with a claim somewhere among the gossip.
    pub fn show_broadcasts(&mut self, world: &World, claim: &Claim, count: usize) -> View {
        let at = self.random.index(count);
        let mut rows = Vec::new();
        let mut ago = 0;
        self.posted += 40;
        for row in 0..count {
            ago += self.random.number(2..=39);
            self.posted += 1;
            let (from, text) = if row == at {
                (claim.who, self.line("claim", world, Some(claim)))
            } else {
                let from = self.somebody();
                (from, self.line("gossip", world, None))
            };
            rows.push(json!({"id": self.posted - row as u64 * 2, "from": from, "min_ago": ago, "text": text}));
        }
        View { text: listing(&json!({"channel": "open"}), "messages", &rows), seen: Vec::new() }
    }

    /// `get_notifications`.
    pub fn show_notices(&mut self, world: &World, count: usize) -> View {
        let mut rows = Vec::new();
        for _ in 0..count {
            let text = self.line("notice", world, None);
            let kind = *self.random.pick(&["traffic", "dock", "ledger", "mail", "patrol"]);
            rows.push(json!({"time": clock(&mut self.random), "kind": kind, "text": text}));
        }
        View { text: listing(&json!({"unread": count}), "notices", &rows), seen: Vec::new() }
    }

    /// `get_missions`: the contracts in the order of the board.
    pub fn show_missions(&mut self, world: &World, month: (i16, i8)) -> (View, Vec<Mission>) {
        let count = self.random.number(5..=8);
        let (mut rows, mut missions) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let random = &mut self.random;
            let mut to = random.index(world.stations.len());
            if to == world.here {
                to = (to + 1) % world.stations.len();
            }
            let mission = Mission {
                id: random.fresh(|random| format!("MS-{}", random.number(10_200..=98_900))),
                good: random.index(world.goods.len()),
                units: random.number(34..=290),
                to,
                pay: random.number(4_150..=38_900),
                due: day(random, month),
            };
            let text = self.line("mission_text", world, None);
            let place = &world.stations[to];
            rows.push(json!({
                "id": mission.id, "item": world.goods[mission.good].name, "units": mission.units,
                "to": place.name, "pay": mission.pay, "due": mission.due, "text": text,
            }));
            missions.push(mission);
        }
        let head = json!({"board": world.place().name});
        (View { text: listing(&head, "missions", &rows), seen: Vec::new() }, missions)
    }
}

/// A time of day.
pub fn clock(random: &mut Stream) -> String {
    format!("{}:{:02}", random.number(10..=23), random.number(1..=59))
}

/// A day some weeks ahead of that year and month.
pub fn day(random: &mut Stream, (year, month): (i16, i8)) -> String {
    let ahead = i16::from(month) + 1 + random.number(0..=1) as i16;
    let (year, month) = if ahead > 12 { (year + 1, ahead - 12) } else { (year, ahead) };
    format!("{year}-{month:02}-{:02}", random.number(2..=28))
}
