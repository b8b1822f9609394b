//! Runs between stations: flying, buying, selling.

use recap_core::model::QuestionKind;
use serde_json::json;

use super::actions::{failure, look};
use super::game::{Game, Trade, gaps};
use super::views::Key;
use crate::{Place, PlannedQuestion};

/// Share of the account that one purchase may take, in percent.
const STAKE: u64 = 45;

impl Game<'_> {
    /// Flies to `to` and docks. Tanks and interdictions permitting, that is:
    /// it refuels where the leg is too long and tries again where it is caught.
    pub fn go(&mut self, to: usize) {
        if to == self.world.here {
            return;
        }
        let name = self.world.stations[to].name;
        if self.world.fuel < self.world.leg(to) {
            self.too_far(to);
        }
        let text = self.maybe("a.leave", &[("a", name)]);
        let undock = self.world.undock();
        self.act(text, vec![undock]);
        if self.random.chance(14) {
            self.caught(to);
        }
        let jump = self.world.jumping(to);
        self.world.drift();
        let text = self.maybe("a.arrive", &[("a", name)]);
        if self.random.chance(50) {
            self.act(String::new(), vec![jump]);
            let now = self.now();
            let dock = self.world.dock(&now);
            self.act(text, vec![dock]);
        } else {
            let now = self.now();
            let dock = self.world.dock(&now);
            self.act(text, vec![jump, dock]);
        }
        let mut looks = Vec::new();
        if self.random.chance(45) {
            looks.push(look("get_poi", self.world.show_poi()));
        }
        if self.random.chance(40) {
            looks.push(look("get_nearby", self.chatter.show_nearby(&self.world).0));
        }
        if !looks.is_empty() {
            self.act(String::new(), looks);
        }
    }

    /// The tank does not hold the leg: the jump is refused, then fuel bought.
    fn too_far(&mut self, to: usize) {
        let (need, have) = (self.world.leg(to), self.world.fuel);
        let place = self.world.stations[to].name;
        let result =
            json!({"error": "insufficient_fuel", "to": place, "needed": need, "fuel": have});
        let jump = failure("jump", json!({"to": place}), &result, vec![(Key::Fuel, have)]);
        self.act(String::new(), vec![jump]);
        let (need, have) = (need.to_string(), have.to_string());
        let text = self.line("a.nofuel", &[("need", &need), ("have", &have)]);
        let now = self.now();
        let (refuel, _) = self.world.refuelling(&now);
        self.act(text, vec![refuel]);
    }

    /// The jump is interdicted once.
    fn caught(&mut self, to: usize) {
        let Some(damage) = self.world.interdict(to) else { return };
        let by = self.chatter.somebody();
        let place = self.world.stations[to].name;
        let result = json!({
            "error": "interdicted", "to": place, "by": by, "hull_lost": damage,
            "hull": self.world.hull, "fuel": self.world.fuel,
        });
        let seen = vec![(Key::Hull, self.world.hull), (Key::Fuel, self.world.fuel)];
        let jump = failure("jump", json!({"to": place}), &result, seen);
        let at = self.act(String::new(), vec![jump])[0];
        let about = vec![("place", place.to_owned())];
        self.record(QuestionKind::Fact, "caught", about, damage.to_string(), at);
        let damage = damage.to_string();
        let text = self.line("a.caught", &[("by", by), ("damage", &damage)]);
        let ship = look("get_ship", self.world.show_ship());
        self.act(text, vec![ship]);
    }

    /// Looks at the board; sometimes the counter is closed at first.
    pub fn board(&mut self) -> Place {
        if self.random.chance(9) {
            let opens = self.script.calendar.now() + jiff::SignedDuration::from_mins(24);
            let opens = opens.strftime("%H:%M").to_string();
            let result = json!({"error": "market_closed", "opens": opens});
            self.act(String::new(), vec![failure("get_market", json!({}), &result, vec![])]);
            let text = self.line("a.shut", &[("time", &opens)]);
            let wait = super::actions::Move {
                act: crate::Act::new("wait", json!({"minutes": 25}), "{\"waited\":25}").takes(1500),
                seen: Vec::new(),
            };
            self.act(text, vec![wait]);
        }
        let text = self.maybe("a.look", &[]);
        let now = self.now();
        let market = look("get_market", self.world.show_market(&now));
        self.act(text, vec![market])[0]
    }

    /// Stations that may be flown to, `but` those.
    pub fn reachable(&mut self, but: &[usize]) -> usize {
        let mut but = but.to_vec();
        if !self.agenda.red_is_open() {
            let stations = self.world.stations.iter().enumerate();
            but.extend(stations.filter(|(_, station)| station.is_red).map(|(at, _)| at));
        }
        self.world.a_station(&but)
    }

    /// A run: bought at one station, sold at another.
    pub fn trade(&mut self) {
        let good = self.pick_good();
        let from = if self.random.chance(45) { self.world.here } else { self.reachable(&[]) };
        // The commander has a nose for prices, mostly: the better of two.
        let bid = |game: &Self, at: usize| game.world.stations[at].quotes[good].map(|q| q.bid);
        let (one, two) = (self.reachable(&[from]), self.reachable(&[from]));
        let to = if bid(self, one) > bid(self, two) { one } else { two };
        let price = self.world.stations[from].quotes[good].map_or(999, |quote| quote.ask);
        let most = (self.world.credits * STAKE / 100 / price).clamp(12, 320);
        let wish = self.random.number(most * 6 / 10..=most);
        let names = self.trade_gaps(good, from, to);
        let mut wished = names.clone();
        wished.push(("n", wish.to_string()));
        self.user("c.trade", &gaps(&wished));
        let mut wish = wish;
        if self.random.chance(30) {
            let system = look("get_system", self.world.show_system());
            let places = self.act(String::new(), vec![system]);
            debug_assert_eq!(places.len(), 1);
            let text = self.routes_text();
            self.report(text);
            wish = wish * self.random.number(55..=90) / 100;
            self.user("c.less", &[("n", &wish.to_string())]);
        }
        self.go(from);
        let Some(trade) = self.purchase(good, to, wish, &names) else { return };
        self.user("c.sell", &gaps(&names));
        self.go(to);
        self.sale(trade, &names);
    }

    fn pick_good(&mut self) -> usize {
        // Somebody's talk of a price is worth a look now and then.
        if self.random.chance(30)
            && let Some((claim, _)) = self.claims.last()
        {
            return claim.good;
        }
        let here = self.world.here;
        let cheap = |world: &super::world::World, good: usize| {
            let ask = world.stations[here].quotes[good].map_or(0, |quote| quote.ask);
            ask * 1_000 / world.goods[good].usual
        };
        let (one, two) = (self.world.a_good(), self.world.a_good());
        if cheap(&self.world, one) < cheap(&self.world, two) { one } else { two }
    }

    /// Names of a good and of two stations.
    pub fn trade_gaps(&self, good: usize, a: usize, b: usize) -> Vec<(&'static str, String)> {
        let world = &self.world;
        vec![
            ("good", world.goods[good].name.to_owned()),
            ("a", world.stations[a].name.to_owned()),
            ("b", world.stations[b].name.to_owned()),
        ]
    }

    fn purchase(
        &mut self,
        good: usize,
        to: usize,
        wish: u64,
        names: &[(&'static str, String)],
    ) -> Option<Trade> {
        let seen = self.board();
        let quote = self.world.place().quotes[good]?;
        let affordable = self.world.credits * 7 / 10 / quote.ask;
        let units = wish.min(quote.stock).min(self.world.room()).min(affordable);
        if units == 0 {
            let text = self.line("a.short", &[("n", "0")]);
            self.report(text);
            return None;
        }
        let count = units.to_string();
        let price = quote.ask.to_string();
        let mut text = self.maybe("a.buy", &[("price", &price), ("n", &count)]);
        if units < wish {
            text = self.line("a.short", &[("n", &count)]);
        }
        let now = self.now();
        let (buy, deal) = self.world.buying(&now, good, units);
        let bought = self.act(text, vec![buy])[0];
        if self.random.chance(50) {
            let cargo = look("get_cargo", self.world.show_cargo());
            self.act(String::new(), vec![cargo]);
        }
        let mut about = self.numbers();
        about.retain(|(key, _)| *key != "a");
        about.extend(names.iter().cloned());
        about.extend([("n", count), ("price", price), ("sum", deal.sum.to_string())]);
        about.push(("receipt", deal.receipt.clone()));
        let think = self.line("a.think", &gaps(&about));
        about.push(("think", think));
        let text = self.line("a.bought", &gaps(&about));
        let told = self.report(text);
        let from = self.world.here;
        self.booked("bought", good, from, &now, &deal.receipt, bought);
        Some(Trade {
            good,
            from,
            to,
            units,
            cost: deal.price,
            price: 0,
            places: vec![seen, bought, told],
        })
    }

    fn sale(&mut self, mut trade: Trade, names: &[(&'static str, String)]) {
        let (good, to) = (trade.good, trade.to);
        let seen = self.board();
        let Some(quote) = self.world.place().quotes[good] else {
            let text = self.status_text();
            self.report(text);
            return;
        };
        let text = self.doubt(good, quote.bid, seen);
        let now = self.now();
        let (sell, deal) = self.world.selling(&now, good, trade.units);
        let sold = self.act(text, vec![sell])[0];
        let mut about = self.numbers();
        about.retain(|(key, _)| *key != "a");
        about.extend(names.iter().cloned());
        about.extend([
            ("n", trade.units.to_string()),
            ("price", deal.price.to_string()),
            ("sum", deal.sum.to_string()),
            ("margin", deal.price.abs_diff(trade.cost).to_string()),
            ("receipt", deal.receipt.clone()),
        ]);
        let section = if deal.price >= trade.cost { "a.gain" } else { "a.loss" };
        let gain = self.line(section, &gaps(&about));
        about.push(("gain", gain));
        let text = self.line("a.sold", &gaps(&about));
        let told = self.report(text);
        self.booked("sold", good, to, &now, &deal.receipt, sold);
        let question = vec![
            ("good", self.world.goods[good].name.to_owned()),
            ("place", self.world.stations[to].name.to_owned()),
            ("code", deal.receipt.clone()),
        ];
        if self.random.chance(15) {
            let text = self.asks.say(&mut self.random, "cost", &gaps(&question));
            let from = [trade.places[1], sold];
            let cost = trade.cost.to_string();
            let asked = PlannedQuestion::any_of(QuestionKind::MultiHop, text, [cost]).from(&from);
            self.script.ask(asked);
        }
        trade.price = deal.price;
        trade.places.extend([sold, told]);
        self.trades.push(trade);
    }

    /// What to say of the board where somebody had talked of this price.
    pub fn doubt(&mut self, good: usize, bid: u64, seen: Place) -> String {
        let here = self.world.here;
        let known = self.claims.iter().position(|(c, _)| c.good == good && c.place == here);
        let Some(known) = known else { return String::new() };
        let (claim, place) = self.claims.remove(known);
        let (price, told) = (bid.to_string(), claim.price.to_string());
        let text = self.line(
            "a.wrong",
            &[
                ("who", claim.who),
                ("place", self.world.stations[here].name),
                ("good", self.world.goods[good].name),
                ("price", &price),
                ("claim", &told),
            ],
        );
        self.refuted.push((claim, place, seen));
        text
    }

    pub fn booked(
        &mut self,
        verb: &str,
        good: usize,
        at: usize,
        now: &str,
        receipt: &str,
        p: Place,
    ) {
        let (receipts, times) = match verb {
            "bought" => ("bought.receipt", "bought.time"),
            _ => ("sold.receipt", "sold.time"),
        };
        let about = vec![
            ("good", self.world.goods[good].name.to_owned()),
            ("place", self.world.stations[at].name.to_owned()),
        ];
        self.record(QuestionKind::Artifact, receipts, about.clone(), receipt, p);
        let time = now.split(' ').nth(1).unwrap_or(now).to_owned();
        self.record(QuestionKind::Temporal, times, about, time, p);
    }

    /// Sells what fills the hold most.
    pub fn unload(&mut self) {
        let world = &self.world;
        let sellable =
            |good: &usize| world.hold[*good] > 0 && world.place().quotes[*good].is_some();
        let goods = (0..world.goods.len()).filter(sellable);
        let Some(good) = goods.max_by_key(|good| world.hold[*good]) else { return self.status() };
        let name = world.goods[good].name;
        self.user("c.unload", &[("good", name)]);
        self.board();
        let units = self.world.hold[good];
        let now = self.now();
        let (sell, deal) = self.world.selling(&now, good, units);
        let at = self.act(String::new(), vec![sell])[0];
        self.booked("sold", good, self.world.here, &now, &deal.receipt, at);
        let mut about = self.numbers();
        about.extend([
            ("good", name.to_owned()),
            ("n", units.to_string()),
            ("price", deal.price.to_string()),
            ("sum", deal.sum.to_string()),
        ]);
        let text = self.line("a.unloaded", &gaps(&about));
        self.report(text);
    }
}
