//! The people around the user.

use serde_json::{Value as Json, json};

use super::bank::{Errands, Shape};
use crate::Stream;
use jiff::civil::Date;

/// Somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// First and family name.
    pub name: String,
    /// What they are.
    pub role: String,
    /// Where.
    pub org: String,
    /// Mail address.
    pub mail: String,
    /// Telephone extension.
    pub line: String,
    /// Street and number.
    pub address: String,
}

impl Person {
    /// The first name.
    pub fn first(&self) -> &str {
        self.name.split(' ').next().unwrap_or(&self.name)
    }

    /// The card that an address book keeps.
    pub fn card(&self) -> Json {
        json!({
            "name": self.name, "extension": self.line, "address": self.address,
            "role": self.role, "company": self.org, "email": self.mail,
        })
    }
}

/// A name as part of an address.
fn host(org: &str) -> String {
    let org = org.to_lowercase().replace('\'', "");
    let words: Vec<&str> = org.split(|c: char| !c.is_alphanumeric()).collect();
    format!("{}.test", words.join("-"))
}

/// The host of a house's pages.
pub fn site(org: &str) -> String {
    format!("www.{}", host(org))
}

/// Everybody who has come up.
#[derive(Clone, Debug, Default)]
pub struct People {
    /// In the order in which they came up.
    pub all: Vec<Person>,
}

impl People {
    /// The index of the one who is `role` at `org`; they are made up the first time.
    pub fn meet(
        &mut self,
        role: &str,
        org: &str,
        errands: &Errands,
        random: &mut Stream,
        today: Date,
    ) -> usize {
        if let Some(at) = self.all.iter().position(|one| one.role == role && one.org == org) {
            return at;
        }
        let name =
            random.fresh(|r| format!("{} {}", r.pick(&errands.first), r.pick(&errands.last)));
        let street = random.pick(&errands.streets).clone();
        let number = random.number(13..=289);
        let address = random.fresh(|r| format!("{street} {}", number + r.number(0..=40)));
        let mail = format!("{}@{}", name.to_lowercase().replace(' ', "."), host(org));
        let line = Shape::Line.draw(random, today);
        let person =
            Person { name, role: role.to_owned(), org: org.to_owned(), mail, line, address };
        self.all.push(person);
        self.all.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assistant::bank::Bank;
    use jiff::civil::date;

    #[test]
    fn each_role_has_one_uniquely_named_person() {
        let (errands, mut random) = (Bank::new().errands, Stream::new(1, "people"));
        let (mut people, today) = (People::default(), date(2025, 5, 5));
        let dentist = people.meet("dentist", "Harrowell", &errands, &mut random, today);
        for role in 0..30 {
            people.meet(&role.to_string(), "Elsewhere", &errands, &mut random, today);
        }
        assert_eq!(people.meet("dentist", "Harrowell", &errands, &mut random, today), dentist);
        for key in [|p: &Person| p.name.clone(), |p: &Person| p.line.clone()] {
            let mut keys: Vec<String> = people.all.iter().map(key).collect();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), 31);
        }
        assert!(people.all[dentist].mail.ends_with("@harrowell.test"));
    }
}
