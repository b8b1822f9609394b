//! What the snapshot tools show of the world.

use serde_json::{Value as Json, json};

use super::world::{RESERVE, World};

/// A value of the world that can be asked for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Balance of the account.
    Credits,
    /// Points of the hull.
    Hull,
    /// Units in the tank.
    Fuel,
    /// Units in the hold.
    Used,
    /// Units in the hold, by good.
    Units(usize),
    /// What is asked for a good: station, good.
    Ask(usize, usize),
    /// What is paid for a good: station, good.
    Bid(usize, usize),
    /// Docking fee of a station.
    Fee(usize),
    /// Balance of another agent.
    Fellow(usize),
}

/// What a tool gives back, and the values that stand in it.
#[derive(Clone, Debug)]
pub struct View {
    pub text: String,
    pub seen: Vec<(Key, u64)>,
}

/// An object with a list in it, one record a line.
pub fn listing(head: &Json, name: &str, rows: &[Json]) -> String {
    let head = head.to_string();
    let head = head.strip_suffix('}').expect("an object ends in a brace");
    let rows: Vec<String> = rows.iter().map(Json::to_string).collect();
    let comma = if head == "{" { "" } else { "," };
    format!("{head}{comma}\"{name}\":[\n {}\n]}}", rows.join(",\n "))
}

impl World {
    /// `get_ship`.
    pub fn show_ship(&self) -> View {
        let place = self.place();
        let head = json!({
            "ship": self.ship, "registry": self.registry, "docked_at": place.name,
            "system": place.system, "hull": self.hull, "hull_max": self.hull_max,
            "fuel": self.fuel, "fuel_max": self.fuel_max, "hold_used": self.used(),
            "hold_capacity": self.capacity, "sealed_bay": {"item": RESERVE, "units": self.reserve},
        });
        let rows: Vec<Json> = self
            .modules
            .iter()
            .map(|m| json!({"slot": m.slot, "module": m.name, "serial": m.serial, "wear": m.wear}))
            .collect();
        let seen = vec![(Key::Hull, self.hull), (Key::Fuel, self.fuel), (Key::Used, self.used())];
        View { text: listing(&head, "modules", &rows), seen }
    }

    /// `get_account`.
    pub fn show_account(&self, now: &str) -> View {
        let rows: Vec<Json> = self
            .bookings
            .iter()
            .rev()
            .map(|(when, what, sum)| json!({"at": when, "for": what, "sum": sum}))
            .collect();
        let head = json!({"time": now, "credits": self.credits});
        View { text: listing(&head, "bookings", &rows), seen: vec![(Key::Credits, self.credits)] }
    }

    /// `get_cargo`.
    pub fn show_cargo(&self) -> View {
        let mut seen = vec![(Key::Used, self.used())];
        let mut rows = Vec::new();
        for (good, &units) in self.hold.iter().enumerate().filter(|(_, units)| **units > 0) {
            seen.push((Key::Units(good), units));
            rows.push(json!({
                "item": self.goods[good].name, "units": units, "last_paid": self.paid[good],
            }));
        }
        let head = json!({
            "used": self.used(), "capacity": self.capacity, "free": self.room(),
            "sealed_bay": {"item": RESERVE, "units": self.reserve},
        });
        View { text: listing(&head, "items", &rows), seen }
    }

    /// `get_system`.
    pub fn show_system(&self) -> View {
        let place = self.place();
        let mut lanes: Vec<usize> =
            (0..self.stations.len()).filter(|at| *at != self.here).collect();
        lanes.sort_by_key(|to| self.leg(*to));
        let rows: Vec<Json> = lanes
            .iter()
            .map(|&to| {
                let other = &self.stations[to];
                let sector = if other.is_red { "red" } else { "open" };
                let body = other.body;
                json!({
                    "system": other.system, "station": other.name, "body": body,
                    "sector": sector, "fuel": self.leg(to),
                })
            })
            .collect();
        let head = json!({
            "system": place.system, "points": [place.name, place.body], "tank": self.fuel,
        });
        View { text: listing(&head, "lanes", &rows), seen: vec![(Key::Fuel, self.fuel)] }
    }

    /// `get_poi`.
    pub fn show_poi(&self) -> View {
        let place = self.place();
        let text = json!({
            "name": place.name, "system": place.system, "docking_fee": place.fee,
            "fuel_price": place.fuel_price, "body": place.body,
            "ore": self.goods[place.ore].name, "about": place.text,
        });
        View { text: text.to_string(), seen: vec![(Key::Fee(self.here), place.fee)] }
    }

    /// `get_market`.
    pub fn show_market(&self, now: &str) -> View {
        let place = self.place();
        let mut seen = Vec::new();
        let mut rows = Vec::new();
        for (good, quote) in place.quotes.iter().enumerate() {
            let Some(quote) = quote else { continue };
            seen.push((Key::Ask(self.here, good), quote.ask));
            seen.push((Key::Bid(self.here, good), quote.bid));
            let name = self.goods[good].name;
            rows.push(json!({
                "item": name, "at": place.name, "ask": quote.ask, "bid": quote.bid,
                "stock": quote.stock,
            }));
        }
        View { text: listing(&json!({"time": now}), "board", &rows), seen }
    }
}
