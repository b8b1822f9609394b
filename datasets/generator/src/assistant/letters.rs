//! Mails and pages that are read, and answers to mails.

use jiff::ToSpan;
use serde_json::{Value as Json, json};

use super::bank::{Letter, Shape, Told, day, weekday};
use super::people::{Person, site};
use super::session::{OpenSession, capital};
use crate::{Act, Place};

impl OpenSession<'_> {
    /// A mail is found, read, and perhaps answered.
    pub fn mail(&mut self, n: usize) {
        let letter = self.bank.mails[n].clone();
        let who = self.person(&letter.role, &letter.org);
        let (body, values) = self.fill(&letter);
        let gaps = [
            ("who", who.name.as_str()),
            ("first", who.first()),
            ("about", &letter.about),
            ("role", &letter.role),
            ("org", &letter.org),
        ];
        self.user("u.mail", &gaps);
        let place = self.read_mail(&letter, &who, &letter.subject, &body);
        self.tell(&format!("mail.{n}"), &letter.told, &values, place);
        let (told, value) = (&letter.told[0], &values[0]);
        let point = told.says[0].replace("{v}", value);
        let said = [("first", who.first()), ("about", letter.about.as_str()), ("point", &point)];
        let more = self.points(&letter, &values, 0);
        self.say_more("mail.read", &said, &more);
        if letter.reply.is_empty() || self.random.chance(25) {
            return;
        }
        let gist =
            [("first", who.first()), ("gist", letter.reply.as_str()), ("about", &letter.about)];
        self.user("u.reply", &gist);
        let id = Shape::Code.draw(&mut self.random, self.script.today()).replace('-', "-d");
        let hello =
            self.line("draft", &[("first", who.first()), ("gist", &capital(&letter.reply))]);
        let subject = format!("Re: {}", letter.subject);
        let arguments = json!({"to": who.mail, "subject": subject, "body": hello});
        let result = json!({"ok": true, "draft": id, "to": who.mail, "status": "not sent"});
        let act = Act::new("draft_create", arguments, result.to_string());
        let places = self.act("entering", &gist, vec![act]);
        let more = self.detail("more.draft", &[("first", who.first())]);
        let said = [("id", id.as_str()), ("first", who.first()), ("about", &letter.about)];
        self.say_more("drafted", &said, &more);
        let question =
            self.question(recap_core::model::QuestionKind::Artifact, "ask.draft", &gaps, &[&id]);
        self.asks.ask(question.from(&places));
    }

    /// The writer has written again: something has changed.
    pub fn mail_again(&mut self, n: usize) {
        let letter = self.bank.mails[n].clone();
        let who = self.person(&letter.role, &letter.org);
        let today = self.today();
        let Some(at) = letter.told.iter().position(|told| !told.changes.is_empty()) else {
            return self.money();
        };
        let told = &letter.told[at];
        let value = told.value.draw(&mut self.random, today);
        let news = self.random.pick(&told.changes).replace("{v}", &value);
        let gaps = [("first", who.first()), ("about", letter.about.as_str()), ("news", &news)];
        let body = self.talk.say(&mut self.random, "mail.again", &gaps);
        let gaps = [("who", who.name.as_str()), ("first", who.first()), ("about", &letter.about)];
        self.user("u.mail_again", &gaps);
        let place = self.read_mail(&letter, &who, &format!("Re: {}", letter.subject), &body);
        let key = format!("mail.{n}.{at}");
        let random = &mut self.random;
        self.asks.state(&key, told.kind, || told.questions(random), &value, place);
        self.say("mail.news", &[("first", who.first()), ("about", letter.about.as_str())]);
    }

    /// Finds a mail among others and reads it.
    fn read_mail(&mut self, letter: &Letter, who: &Person, subject: &str, body: &str) -> Place {
        let today = self.today();
        let row = |id: &str, from: &str, subject: &str, ago: i64| {
            let date = today.checked_sub(ago.days()).expect("within the calendar");
            json!({"id": id, "from": from, "subject": subject, "date": date.to_string()})
        };
        let id = self.random.fresh(|r| format!("<{}>", r.hex(6)));
        let mut rows: Vec<Json> = vec![row(&id, &who.mail, subject, 1)];
        let count = self.random.number(3..=7) as usize;
        for noise in self.random.sample(&self.bank.errands.noise.clone(), count) {
            let value = Shape::Code.draw(&mut self.random, today);
            let from = format!("{}@{}", noise[0], site(&noise[1]).trim_start_matches("www."));
            let other = self.random.fresh(|r| format!("<{}>", r.hex(6)));
            let ago = self.random.number(1..=6) as i64;
            rows.push(row(&other, &from, &noise[2].replace("{v}", &value), ago));
        }
        self.random.shuffle(&mut rows);
        let query = format!("{} {}", who.first().to_lowercase(), letter.about);
        let found = json!({"query": query, "found": rows}).to_string();
        self.act("looking", &[], vec![Act::new("mail_search", json!({"query": query}), found)]);
        let date = today.checked_sub(1.days()).expect("within the calendar");
        let text = format!(
            "From: {} <{}>\nDate: {}, {}\nSubject: {subject}\n\n{}\n\n{}\n{}\n{}\n{}",
            who.name,
            who.mail,
            weekday(date),
            date,
            body,
            who.name,
            capital(&who.role),
            who.org,
            who.address,
        );
        self.act("", &[], vec![Act::new("mail_read", json!({"id": id}), text)])[0]
    }

    /// A page is read for a question of the user.
    pub fn page(&mut self, n: usize) {
        let letter = self.bank.pages[n].clone();
        let (body, values) = self.fill(&letter);
        let path: String =
            letter.subject.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
        let address = format!("https://{}/{path}", site(&letter.org));
        let gaps = [("about", letter.about.as_str()), ("org", &letter.org), ("url", &address)];
        self.user("u.page", &gaps);
        let text = format!("{}\n{}\n\n{body}", letter.org, letter.subject);
        let fetch = Act::new("page_fetch", json!({"url": address}), text).takes(2);
        let place = self.act("looking", &gaps, vec![fetch])[0];
        self.tell(&format!("page.{n}"), &letter.told, &values, place);
        let which = self.random.index(letter.told.len());
        let point = letter.told[which].says[1].replace("{v}", &values[which]);
        let more = self.points(&letter, &values, which);
        self.say_more("page.read", &[("point", &point), ("about", &letter.about)], &more);
    }

    /// What a letter tells beside what was said of it, sometimes only a part.
    fn points(&mut self, letter: &Letter, values: &[String], said: usize) -> String {
        let mut points = Vec::new();
        for (at, (told, value)) in letter.told.iter().zip(values).enumerate() {
            // Sentences that go on from another one make no sense by themselves.
            let is_whole = told.says[2].starts_with(char::is_uppercase);
            if at != said && is_whole && self.random.chance(55) {
                points.push(format!("\"{}\"", told.says[2].replace("{v}", value)));
            }
        }
        if points.is_empty() {
            self.detail("more.nothing", &[])
        } else {
            self.detail("more.points", &[("points", &points.join(" And: "))])
        }
    }

    /// A text with its facts, and their values.
    fn fill(&mut self, letter: &Letter) -> (String, Vec<String>) {
        let today = self.today();
        let mut body = letter.body.trim().to_owned();
        let mut values = Vec::new();
        for (at, told) in letter.told.iter().enumerate() {
            let value = told.value.draw(&mut self.random, today);
            let said = self.random.pick(&told.says).replace("{v}", &value);
            body = body.replace(&format!("{{{at}}}"), &said);
            values.push(value);
        }
        // Numbers that nobody asks for.
        while let Some(at) = body.find("{code}") {
            body.replace_range(at..at + 6, &Shape::Code.draw(&mut self.random, today));
        }
        while let Some(at) = body.find("{day}") {
            let date = super::bank::ahead(&mut self.random, today, 3, 90);
            body.replace_range(at..at + 5, &day(date));
        }
        (body, values)
    }

    /// The message at `place` tells all of it.
    fn tell(&mut self, key: &str, told: &[Told], values: &[String], place: Place) {
        for (at, (told, value)) in told.iter().zip(values).enumerate() {
            let asks = told.questions(&mut self.random);
            self.asks.state(&format!("{key}.{at}"), told.kind, || asks, value, place);
        }
    }
}
