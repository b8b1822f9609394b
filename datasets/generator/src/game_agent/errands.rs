//! Everything between two runs: repairs, mining, contracts, notes.

use recap_core::model::QuestionKind;
use serde_json::json;

use super::actions::{Move, look, look_with};
use super::game::{Game, gaps};
use crate::Act;

impl Game<'_> {
    /// The first order: a look at everything.
    pub fn opening(&mut self) {
        let numbers = self.numbers();
        self.user("c.open", &gaps(&numbers));
        let now = self.now();
        let moves = vec![
            look("get_ship", self.world.show_ship()),
            look("get_account", self.world.show_account(&now)),
            look("get_cargo", self.world.show_cargo()),
        ];
        let text = self.line("a.open", &[]);
        self.act(text, moves);
        let (nearby, _) = self.chatter.show_nearby(&self.world);
        let moves = vec![look("get_poi", self.world.show_poi()), look("get_nearby", nearby)];
        self.act(String::new(), moves);
        let numbers = self.numbers();
        let text = self.line("a.stand", &gaps(&numbers));
        self.report(text);
    }

    /// The last words.
    pub fn closing(&mut self) {
        self.user("c.end", &[]);
        let now = self.now();
        let moves = vec![
            look("get_ship", self.world.show_ship()),
            look("get_account", self.world.show_account(&now)),
        ];
        self.act(String::new(), moves);
        let numbers = self.numbers();
        let text = self.line("a.end", &gaps(&numbers));
        self.report(text);
    }

    /// Repairs and fuel.
    pub fn service(&mut self) {
        self.user("c.service", &[]);
        let text = self.line("a.service", &[]);
        let moves =
            vec![look("get_ship", self.world.show_ship()), look("get_poi", self.world.show_poi())];
        self.act(text, moves);
        let now = self.now();
        let (mut repair_cost, mut fuel_cost) = (0, 0);
        if self.world.hull < self.world.hull_max
            && self.world.repair_cost() < self.world.credits / 3
        {
            let (repair, cost) = self.world.repairing(&now);
            repair_cost = cost;
            let place = self.act(String::new(), vec![repair])[0];
            self.record(QuestionKind::Fact, "repair", Vec::new(), cost.to_string(), place);
        }
        if self.world.fuel < self.world.fuel_max {
            let now = self.now();
            let (refuel, cost) = self.world.refuelling(&now);
            fuel_cost = cost;
            self.act(String::new(), vec![refuel]);
        }
        let mut about = self.numbers();
        about.extend([("repair", repair_cost.to_string()), ("fuelcost", fuel_cost.to_string())]);
        let text = self.line("a.serviced", &gaps(&about));
        self.report(text);
    }

    /// Some loads of ore from the rock next door.
    pub fn mine(&mut self) {
        let place = self.world.place().clone();
        let ore = self.world.goods[place.ore].name;
        let names: &[(&str, &str)] = &[("ore", ore), ("body", place.body)];
        self.user("c.mine", names);
        let text = self.maybe("a.mine", names);
        let undock = self.world.undock();
        let travel = self.world.travel(place.body);
        self.act(text, vec![undock, travel]);
        let mut total = 0;
        for load in 0..self.random.number(3..=5) {
            let text = if load > 0 { self.maybe("a.dig", &[]) } else { String::new() };
            let (dig, units) = self.world.mining();
            self.act(text, vec![dig]);
            let Some(units) = units else {
                let text = self.line("a.full", &[]);
                let cargo = look("get_cargo", self.world.show_cargo());
                self.act(text, vec![cargo]);
                break;
            };
            total += units;
        }
        let back = self.world.travel(place.name);
        let now = self.now();
        let dock = self.world.dock(&now);
        self.act(String::new(), vec![back, dock]);
        let mut about = self.numbers();
        about.extend([
            ("n", total.to_string()),
            ("ore", ore.to_owned()),
            ("body", place.body.to_owned()),
        ]);
        let text = self.line("a.mined", &gaps(&about));
        self.report(text);
    }

    /// The channel and the notices; somebody names a price that is not true.
    pub fn news(&mut self) {
        self.user("c.news", &[]);
        let (good, place) = (self.world.a_good(), self.reachable(&[self.world.here]));
        let bid = self.world.stations[place].quotes[good].map_or(700, |quote| quote.bid);
        let price = bid * self.random.number(148..=236) / 100 + self.random.number(1..=9);
        let who = self.chatter.somebody();
        let claim = super::chatter::Claim { who, good, place, price };
        let (count, notices) = (self.random.number(7..=12), self.random.number(4..=8));
        let heard = self.chatter.show_broadcasts(&self.world, &claim, count as usize);
        let notices = self.chatter.show_notices(&self.world, notices as usize);
        let moves = vec![
            look_with("read_broadcasts", json!({"limit": count}), heard),
            look("get_notifications", notices),
        ];
        let text = self.line("a.news", &[]);
        let at = self.act(text, moves)[0];
        let about = vec![
            ("who", who.to_owned()),
            ("good", self.world.goods[good].name.to_owned()),
            ("place", self.world.stations[place].name.to_owned()),
        ];
        self.record(QuestionKind::Fact, "claim", about.clone(), price.to_string(), at);
        let mut said = about;
        said.push(("price", price.to_string()));
        let text = self.line("a.newsdone", &gaps(&said));
        self.report(text);
        self.claims.push((claim, at));
    }

    /// A contract from the board.
    pub fn contract(&mut self) {
        let here = self.world.place().name;
        self.user("c.missions", &[("a", here)]);
        let month = (self.script.today().year(), self.script.today().month());
        let (view, missions) = self.chatter.show_missions(&self.world, month);
        let text = self.line("a.missions", &[]);
        self.act(text, vec![look("get_missions", view)]);
        let open = self.agenda.red_is_open();
        let fits = |at: &usize| open || !self.world.stations[missions[*at].to].is_red;
        let fitting: Vec<usize> = (0..missions.len()).filter(fits).collect();
        let Some(best) = fitting.into_iter().max_by_key(|at| missions[*at].pay) else { return };
        let mission = &missions[best];
        let (good, place) =
            (self.world.goods[mission.good].name, self.world.stations[mission.to].name);
        let result = json!({
            "accepted": mission.id, "item": good, "units": mission.units, "to": place,
            "pay": mission.pay, "due": mission.due, "time": self.now(),
        });
        let call = json!({"id": mission.id});
        let accept =
            Move { act: Act::new("accept_mission", call, result.to_string()), seen: Vec::new() };
        let at = self.act(String::new(), vec![accept])[0];
        let about = vec![("good", good.to_owned()), ("place", place.to_owned())];
        let pay = mission.pay.to_string();
        self.record(QuestionKind::Artifact, "mission", about.clone(), mission.id.clone(), at);
        self.record(QuestionKind::Plan, "due", about.clone(), mission.due.clone(), at);
        self.record(QuestionKind::Fact, "pay", about, pay.clone(), at);
        let n = mission.units.to_string();
        let text = self.line(
            "a.accepted",
            &[
                ("id", &mission.id),
                ("n", &n),
                ("good", good),
                ("place", place),
                ("pay", &pay),
                ("due", &mission.due),
            ],
        );
        self.report(text);
    }

    /// What the other agents do.
    pub fn swarm(&mut self) {
        self.user("c.swarm", &[]);
        let text = self.maybe("a.swarm", &[]);
        let mut moves = vec![look("zoea_swarm_status", self.chatter.show_swarm())];
        if self.random.chance(30) {
            moves.insert(0, look("zoea_list_myses", self.chatter.list_fellows()));
        }
        self.act(text, moves);
        let two = self.random.sample(&self.chatter.fellows, 2);
        let (one, other) = (&two[0], &two[1]);
        let (money, other_money) = (one.credits.to_string(), other.credits.to_string());
        let text = self.line(
            "a.swarmed",
            &[
                ("who", one.name),
                ("place", one.place),
                ("state", one.state),
                ("money", &money),
                ("other", other.name),
                ("otherstate", other.state),
                ("othermoney", &other_money),
            ],
        );
        self.report(text);
    }

    /// Ships nearby.
    pub fn around(&mut self) {
        self.user("c.around", &[]);
        let (view, contacts) = self.chatter.show_nearby(&self.world);
        self.act(String::new(), vec![look("get_nearby", view)]);
        let nearest = &contacts[0];
        let n = contacts.len().to_string();
        let text = self.line(
            "a.around",
            &[
                ("n", &n),
                ("ship", nearest.ship),
                ("reg", &nearest.registry),
                ("dist", &nearest.distance),
                ("who", nearest.name),
            ],
        );
        self.report(text);
    }

    /// A short look at the ship.
    pub fn status(&mut self) {
        self.user("c.status", &[]);
        let ship = look("get_ship", self.world.show_ship());
        self.act(String::new(), vec![ship]);
        let text = self.status_text();
        self.report(text);
    }

    /// The ship in a sentence.
    pub fn status_text(&mut self) -> String {
        let numbers = self.numbers();
        self.line("a.status", &gaps(&numbers))
    }

    /// The lanes out of here.
    pub fn routes(&mut self) {
        let to = self.reachable(&[self.world.here]);
        let (a, b) = (self.world.place().name, self.world.stations[to].name);
        self.user("c.routes", &[("a", a), ("b", b)]);
        self.act(String::new(), vec![look("get_system", self.world.show_system())]);
        let text = self.routes_text();
        self.report(text);
    }

    /// The nearest and the farthest station.
    pub fn routes_text(&mut self) -> String {
        let world = &self.world;
        let others = || (0..world.stations.len()).filter(|at| *at != world.here);
        let near = others().min_by_key(|to| world.leg(*to)).expect("there are others");
        let far = others().max_by_key(|to| world.leg(*to)).expect("there are others");
        let about = [
            ("a", world.stations[near].name.to_owned()),
            ("b", world.stations[far].name.to_owned()),
            ("fuel", world.leg(near).to_string()),
            ("far", world.leg(far).to_string()),
            ("tank", world.fuel.to_string()),
        ];
        self.line("a.routes", &gaps(&about))
    }

    /// The board of this station, without a purchase.
    pub fn prices(&mut self) {
        let good = self.world.a_good();
        let here = self.world.here;
        let mut names = self.trade_gaps(good, here, self.reachable_still(here));
        self.user("c.board", &gaps(&names));
        let seen = self.board();
        let Some(quote) = self.world.place().quotes[good] else { return };
        let doubt = self.doubt(good, quote.bid, seen);
        names.extend([("price", quote.ask.to_string()), ("bid", quote.bid.to_string())]);
        let think = self.line("a.think", &gaps(&names));
        names.push(("think", think));
        let text = if doubt.is_empty() { self.line("a.board", &gaps(&names)) } else { doubt };
        self.report(text);
    }

    fn reachable_still(&self, but: usize) -> usize {
        (0..self.world.stations.len())
            .find(|at| *at != but && !self.world.stations[*at].is_red)
            .expect("most stations are not red")
    }

    /// A standing order at this station.
    pub fn order(&mut self) {
        let good = self.world.a_good();
        let here = self.world.here;
        let Some(quote) = self.world.place().quotes[good] else { return };
        let limit = quote.ask * self.random.number(81..=96) / 100;
        let units = self.random.number(41..=289);
        let mut about = self.trade_gaps(good, here, here);
        about.extend([("n", units.to_string()), ("price", limit.to_string())]);
        self.user("c.order", &gaps(&about));
        let fee = self.random.number(105..=780);
        let now = self.now();
        self.world.credits -= fee;
        let id = self.random.fresh(|random| format!("BO-{}", random.number(10_200..=98_900)));
        let what = format!("order {id}");
        self.world.book(&now, what, -(fee as i64));
        let (name, place) = (self.world.goods[good].name, self.world.place().name);
        let result = json!({
            "order": id, "time": now, "place": place, "item": name, "units": units,
            "limit": limit, "fee": fee, "credits": self.world.credits,
        });
        let call = json!({"item": name, "units": units, "limit": limit});
        let act = Act::new("place_order", call, result.to_string());
        let seen = vec![(super::views::Key::Credits, self.world.credits)];
        let at = self.act(String::new(), vec![Move { act, seen }])[0];
        let named = vec![("good", name.to_owned()), ("place", place.to_owned())];
        self.record(QuestionKind::Artifact, "order", named, id.clone(), at);
        about.extend([("id", id), ("fee", fee.to_string())]);
        let text = self.line("a.ordered", &gaps(&about));
        self.report(text);
    }

    /// An entry in the captain's log.
    pub fn log(&mut self) {
        self.user("c.log", &[]);
        let mut about = self.numbers();
        let good = self.trades.last().map_or(0, |trade| trade.good);
        about.push(("good", self.world.goods[good].name.to_owned()));
        let headline = self.line("headline", &gaps(&about));
        let tag = self.agenda.log_tag();
        let headline = if tag.is_empty() { headline } else { format!("{tag} {headline}") };
        let entry = self.line("entry", &gaps(&about));
        let id = self.random.fresh(|random| format!("LG-{}", random.number(1050..=9890)));
        let result = json!({"entry": id, "time": self.now(), "at": self.world.place().name});
        let call = json!({"headline": headline, "text": entry});
        let act = Act::new("captains_log_add", call, result.to_string());
        let text = self.maybe("a.log", &[]);
        let at = self.act(text, vec![Move { act, seen: Vec::new() }])[0];
        let place = vec![("place", self.world.place().name.to_owned())];
        self.record(QuestionKind::Artifact, "log", place, id.clone(), at);
        let text = self.line("a.logged", &[("id", &id)]);
        self.report(text);
    }

    /// The commander has forgotten something; the agent searches for it.
    pub fn recall(&mut self) {
        let known: Vec<(String, String)> = self
            .first
            .iter()
            .map(|(m, _)| m.clone())
            .zip(0..)
            .filter_map(|(m, _): (String, u32)| {
                let word = m.split(' ').next_back()?.to_owned();
                let hit = self.said.iter().rev().find(|(_, text)| text.contains(&word))?;
                Some((word, format!("{}\n{}", hit.0, hit.1)))
            })
            .collect();
        if known.is_empty() {
            return self.status();
        }
        let (word, hit) = self.random.pick(&known).clone();
        self.user("c.recall", &[("word", &word)]);
        let hits: Vec<_> = self
            .said
            .iter()
            .rev()
            .filter(|(_, text)| text.contains(&word))
            .map(|(when, text)| json!({"time": when, "role": "user", "content": text}))
            .collect();
        let result = super::views::listing(&json!({"query": word}), "matches", &hits);
        let call = json!({"query": word, "limit": 5});
        let act = Act::new("zoea_search_messages", call, result);
        let text = self.line("a.recall", &[]);
        self.act(text, vec![Move { act, seen: Vec::new() }]);
        let (when, text) = hit.split_once('\n').unwrap_or(("", &hit));
        let text = self.line("a.recalled", &[("when", when), ("text", text)]);
        self.report(text);
    }
}
