//! What the acting tools do to the world, and what they answer.

use serde_json::{Value as Json, json};

use super::views::{Key, View};
use super::world::{World, registry};
use crate::Act;

/// A tool call with the values that its result shows.
#[derive(Clone, Debug)]
pub struct Move {
    pub act: Act,
    pub seen: Vec<(Key, u64)>,
}

/// A look at something.
pub fn look(tool: &str, view: View) -> Move {
    look_with(tool, json!({}), view)
}

/// A look at something, with arguments.
pub fn look_with(tool: &str, arguments: Json, view: View) -> Move {
    Move { act: Act::new(tool, arguments, view.text), seen: view.seen }
}

/// A call that fails and changes nothing else than `seen`.
pub fn failure(tool: &str, arguments: Json, result: &Json, seen: Vec<(Key, u64)>) -> Move {
    Move { act: Act::new(tool, arguments, result.to_string()).failed(true), seen }
}

/// What a trade came to.
#[derive(Clone, Debug)]
pub struct Deal {
    pub price: u64,
    pub sum: u64,
    pub receipt: String,
}

impl World {
    /// `undock`.
    pub fn undock(&mut self) -> Move {
        let queue = self.random.number(0..=6);
        let place = self.place();
        let result = json!({"left": place.name, "system": place.system, "queue": queue});
        Move { act: Act::new("undock", json!({}), result.to_string()).takes(20), seen: vec![] }
    }

    /// `dock`. The fee is booked.
    pub fn dock(&mut self, now: &str) -> Move {
        let (name, fee) = (self.place().name, self.place().fee);
        self.credits = self.credits.saturating_sub(fee);
        self.book(now, format!("docking at {name}"), -(fee as i64));
        let berth = self.random.number(1050..=9890);
        let result =
            json!({"docked_at": name, "berth": berth, "fee": fee, "credits": self.credits});
        let seen = vec![(Key::Fee(self.here), fee), (Key::Credits, self.credits)];
        Move { act: Act::new("dock", json!({}), result.to_string()).takes(45), seen }
    }

    /// `jump`, with fuel enough.
    pub fn jumping(&mut self, to: usize) -> Move {
        let from = self.place().system;
        let used = self.jump(to).expect("the tank was checked");
        let place = self.place();
        let result = json!({
            "arrived": place.name, "system": place.system, "from": from, "fuel_used": used,
            "fuel": self.fuel,
        });
        let call = json!({"to": place.name});
        let act = Act::new("jump", call, result.to_string()).takes(240 + used);
        Move { act, seen: vec![(Key::Fuel, self.fuel)] }
    }

    /// `travel` within the system.
    pub fn travel(&mut self, to: &str) -> Move {
        self.fuel = self.fuel.saturating_sub(6);
        let result = json!({"at": to, "fuel_used": 6, "fuel": self.fuel});
        let act = Act::new("travel", json!({"to": to}), result.to_string()).takes(95);
        Move { act, seen: vec![(Key::Fuel, self.fuel)] }
    }

    /// `buy`, which was checked against the board.
    pub fn buying(&mut self, now: &str, good: usize, units: u64) -> (Move, Deal) {
        let sum = self.buy(good, units).expect("the board was checked");
        self.dealing("buy", now, good, units, sum)
    }

    /// `sell` of what is in the hold.
    pub fn selling(&mut self, now: &str, good: usize, units: u64) -> (Move, Deal) {
        let sum = self.sell(good, units).expect("the hold was checked");
        self.dealing("sell", now, good, units, sum)
    }

    fn dealing(
        &mut self,
        tool: &str,
        now: &str,
        good: usize,
        units: u64,
        sum: u64,
    ) -> (Move, Deal) {
        let (name, place) = (self.goods[good].name, self.place().name);
        let receipt = registry(&mut self.random);
        let sign = if tool == "buy" { -1 } else { 1 };
        self.book(now, format!("{tool} {units} {name} at {place}"), sign * sum as i64);
        let result = json!({
            "receipt": receipt, "time": now, "place": place, "item": name, "units": units,
            "unit_price": sum / units, "sum": sum, "credits": self.credits,
            "in_hold": self.hold[good], "hold_used": self.used(),
        });
        let call = json!({"item": name, "units": units});
        let seen = vec![
            (Key::Credits, self.credits),
            (Key::Units(good), self.hold[good]),
            (Key::Used, self.used()),
        ];
        let act = Act::new(tool, call, result.to_string()).takes(6);
        (Move { act, seen }, Deal { price: sum / units, sum, receipt })
    }

    /// `repair` of the whole hull. Gives its cost.
    pub fn repairing(&mut self, now: &str) -> (Move, u64) {
        let (cost, points) = (self.repair_cost(), self.hull_max - self.hull);
        self.credits -= cost;
        self.hull = self.hull_max;
        let place = self.place().name;
        self.book(now, format!("hull repair at {place}"), -(cost as i64));
        let result = json!({
            "time": now, "place": place, "repaired": points, "hull": self.hull, "cost": cost,
            "credits": self.credits,
        });
        let seen = vec![(Key::Hull, self.hull), (Key::Credits, self.credits)];
        (Move { act: Act::new("repair", json!({}), result.to_string()).takes(900), seen }, cost)
    }

    /// `refuel` to the brim. Gives its cost.
    pub fn refuelling(&mut self, now: &str) -> (Move, u64) {
        let units = self.fuel_max - self.fuel;
        let (price, place) = (self.place().fuel_price, self.place().name);
        let cost = units * price;
        self.credits -= cost;
        self.fuel = self.fuel_max;
        self.book(now, format!("fuel at {place}"), -(cost as i64));
        let result = json!({
            "time": now, "units": units, "unit_price": price, "cost": cost, "fuel": self.fuel,
            "credits": self.credits,
        });
        let seen = vec![(Key::Fuel, self.fuel), (Key::Credits, self.credits)];
        let act = Act::new("refuel", json!({"units": units}), result.to_string()).takes(180);
        (Move { act, seen }, cost)
    }

    /// `mine` of one load; `None` with a full hold.
    pub fn mining(&mut self) -> (Move, Option<u64>) {
        let ore = self.place().ore;
        let name = self.goods[ore].name;
        if self.room() == 0 {
            let result = json!({"error": "hold_full", "hold_used": self.used()});
            return (failure("mine", json!({}), &result, vec![]), None);
        }
        let units = self.random.number(17..=58).min(self.room());
        self.hold[ore] += units;
        let grade = format!("{}.{:02}", self.random.number(18..=64), self.random.number(1..=99));
        let drill = self.modules.iter_mut().find(|module| module.slot == "drill");
        let drill = drill.expect("every ship has a drill");
        drill.wear = (drill.wear + 1).min(99);
        let wear = drill.wear;
        let result = json!({
            "item": name, "units": units, "grade": grade, "drill_wear": wear,
            "in_hold": self.hold[ore], "hold_used": self.used(),
        });
        let seen = vec![(Key::Units(ore), self.hold[ore]), (Key::Used, self.used())];
        let act = Act::new("mine", json!({}), result.to_string()).takes(300);
        (Move { act, seen }, Some(units))
    }
}
