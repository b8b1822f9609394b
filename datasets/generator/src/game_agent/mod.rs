//! A commander and an agent that plays a game of trade between stations.
//!
//! The world ([`world`]) has stations with markets that drift, and one ship.
//! Every result is worked out from it ([`views`], [`actions`]): what a tool
//! shows is what the acts before left behind, and a price on the board is the
//! price that is paid. Others talk ([`chatter`]), and not all of it is true.
//! The commander orders runs ([`trade`]) and errands ([`errands`]), takes
//! decisions ([`council`]) and mentions facts and rules ([`agenda`]). The
//! snapshot tools have the names of Zoea Nova's, so that the strategies that know
//! those names act on such a session.

mod actions;
mod agenda;
mod ask;
mod chatter;
mod council;
mod errands;
mod game;
mod names;
mod trade;
mod views;
mod world;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use recap_core::model::ToolDefinition;

use self::agenda::Agenda;
use self::chatter::Chatter;
use self::council::Decision;
use self::game::Game;
use self::names::Names;
use self::world::World;
use super::voice::Voice;
use super::{Kind, Phrases, Script};

/// The kind.
pub(super) static KIND: Kind = Kind {
    name: "game-agent",
    about: "An agent trades between stations for a commander; its tools show states that change.",
    tokens: 12_000..=200_000,
    write,
};

/// Tokens of the last words.
const END: u64 = 620;

/// What happens next, with the tokens that it takes at most and how often it
/// is drawn.
type Episode = (u64, u64, fn(&mut Game));

const EPISODES: &[Episode] = &[
    (3_600, 34, |game| game.trade()),
    (1_100, 9, |game| game.service()),
    (1_500, 8, |game| game.mine()),
    (1_900, 10, |game| game.news()),
    (1_300, 9, |game| game.contract()),
    (800, 9, |game| game.swarm()),
    (1_000, 6, |game| game.around()),
    (600, 5, |game| game.status()),
    (600, 5, |game| game.routes()),
    (1_200, 7, |game| game.prices()),
    (500, 7, |game| game.order()),
    (450, 9, |game| game.log()),
    (450, 6, |game| game.recall()),
    (900, 12, |game| game.decide()),
];

/// Units below which the hold has to be cleared first.
const ROOM: u64 = 260;

fn write(script: &mut Script) {
    let mut random = script.random.fork("world");
    let names = Names::new(include_str!("names.txt"));
    let world = World::new(random.fork("stations"), &names);
    let chatter = Chatter::new(random.fork("others"), &names, &world);
    let today = script.today();
    let agenda = Agenda::new(&mut random, script.left(), (today.year(), today.month()));
    open(script, &world);
    let mut game = Game {
        talk: Phrases::new(include_str!("talk.txt")),
        asks: Phrases::new(include_str!("asks.txt")),
        reasons: Phrases::new(include_str!("reasons.txt")),
        voice: Voice::new(&mut random),
        decisions: Decision::all(&mut random),
        ledger: BTreeMap::new(),
        records: Vec::new(),
        trades: Vec::new(),
        claims: Vec::new(),
        refuted: Vec::new(),
        said: Vec::new(),
        first: Vec::new(),
        rubrics: 1,
        pending: Vec::new(),
        random,
        world,
        chatter,
        agenda,
        script,
    };
    game.play();
}

impl Game<'_> {
    fn play(&mut self) {
        self.opening();
        let mut last = usize::MAX;
        loop {
            let left = self.script.left().saturating_sub(END);
            let fits: Vec<usize> =
                (0..EPISODES.len()).filter(|at| EPISODES[*at].0 <= left && *at != last).collect();
            if fits.is_empty() {
                break;
            }
            if self.world.room() < ROOM && left > 1_200 {
                self.unload();
                continue;
            }
            let all: u64 = fits.iter().map(|at| EPISODES[*at].1).sum();
            let mut draw = self.random.number(0..=all - 1);
            for at in fits {
                let (_, share, episode) = EPISODES[at];
                if draw < share {
                    episode(self);
                    last = at;
                    break;
                }
                draw -= share;
            }
        }
        self.closing();
        self.ask();
    }
}

fn open(script: &mut Script, world: &World) {
    let system = [format!(
        "You fly the {} ({}) for its commander in a persistent game of trade between stations. \
         Act through the tools; never make up a state that you did not see. Prices move, so look \
         at the board before you buy or sell. What the commander sets as a standing order holds \
         until it is taken back. Use the captain's log for what has to last, and \
         zoea_search_messages for what was said before: your context is limited. Answer briefly, \
         with numbers.",
        world.ship, world.registry
    )];
    let tools: Vec<ToolDefinition> = serde_json::from_str(include_str!("tools.json"))
        .expect("the file of tools is part of the program");
    script.open("space-trade", &system, tools);
}
