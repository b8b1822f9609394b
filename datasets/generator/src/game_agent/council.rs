//! Choices: the agent lays out what there is, the commander takes one.

use recap_core::model::QuestionKind;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::actions::look_with;
use super::game::Game;
use super::views::{View, listing};
use crate::{Place, PlannedQuestion, Stream, fill};

/// A choice that comes up once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What it is about.
    matter: String,
    /// How the commander brings it up.
    raise: Vec<String>,
    /// Unit of the figures.
    figure: String,
    range: [u64; 2],
    /// Whether the options are stations.
    #[serde(default)]
    places: bool,
    #[serde(default)]
    options: Vec<String>,
    pros: Vec<String>,
    cons: Vec<String>,
    ask: Vec<String>,
    ask_figure: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    decision: Vec<Decision>,
}

/// An option as it was laid out.
#[derive(Clone, Debug)]
struct Choice {
    name: String,
    figure: String,
    pro: String,
    con: String,
}

impl Decision {
    /// Every choice, in any order.
    pub fn all(random: &mut Stream) -> Vec<Decision> {
        let file: File = toml::from_str(include_str!("decisions.toml"))
            .expect("the file of decisions is part of the program");
        random.sample(&file.decision, file.decision.len())
    }
}

impl Game<'_> {
    /// A decision from the question to the choice; status where none is left.
    pub fn decide(&mut self) {
        let Some(decision) = self.decisions.pop() else { return self.status() };
        let raise = self.random.pick(&decision.raise).clone();
        self.write(&raise);
        let choices = self.choices(&decision);
        let rows: Vec<Json> = choices
            .iter()
            .map(|c| {
                let price = format!("{} {}", c.figure, decision.figure);
                json!({"option": c.name, "price": price, "for": c.pro, "against": c.con})
            })
            .collect();
        let call = json!({"for": decision.matter});
        let view = View { text: listing(&call, "quotes", &rows), seen: Vec::new() };
        let text = self.reasons.say(&mut self.random, "lay", &[]);
        self.act(text, vec![look_with("get_quotes", call, view)]);
        let list: Vec<String> = choices
            .iter()
            .map(|c| {
                format!("{} for {} {}: {}, but {}", c.name, c.figure, decision.figure, c.pro, c.con)
            })
            .collect();
        let own = self.random.pick(&choices).name.clone();
        let gaps: &[(&str, &str)] =
            &[("matter", &decision.matter), ("list", &list.join("; ")), ("o", &own)];
        let text = self.reasons.say(&mut self.random, "offer", gaps);
        let offered = self.report(text);
        let (chosen, refused) = {
            let two = self.random.sample(&choices, 2);
            (two[0].clone(), two[1].clone())
        };
        let gaps: &[(&str, &str)] =
            &[("pro", &chosen.pro), ("con", &refused.con), ("r", &refused.name)];
        let because = self.reasons.say(&mut self.random, "because", gaps);
        let matter = ("matter", decision.matter.as_str());
        let gaps: &[(&str, &str)] = &[("o", &chosen.name), ("because", &because), matter];
        let text = self.reasons.say(&mut self.random, "choose", gaps);
        let settled = self.write_exactly(&text);
        let (figure, unit) = (chosen.figure.as_str(), decision.figure.as_str());
        let gaps: &[(&str, &str)] =
            &[("o", &chosen.name), ("figure", figure), ("unit", unit), matter];
        let text = self.reasons.say(&mut self.random, "settle", gaps);
        let booked = self.report(text);
        let places = [offered, settled, booked];
        self.ask_decision(&decision, &choices, [&chosen, &refused], places);
    }

    fn choices(&mut self, decision: &Decision) -> Vec<Choice> {
        let names = if decision.places {
            let mut names: Vec<String> =
                self.world.stations.iter().map(|station| station.name.to_owned()).collect();
            self.random.shuffle(&mut names);
            names
        } else {
            self.random.sample(&decision.options, decision.options.len())
        };
        let pros = self.random.sample(&decision.pros, decision.pros.len());
        let cons = self.random.sample(&decision.cons, decision.cons.len());
        let [least, most] = decision.range;
        let figure = |random: &mut Stream| random.fresh(|r| r.number(least..=most).to_string());
        let random = &mut self.random;
        let choices = names.into_iter().zip(pros).zip(cons);
        choices
            .map(|((name, pro), con)| Choice { name, figure: figure(random), pro, con })
            .collect()
    }

    fn ask_decision(
        &mut self,
        decision: &Decision,
        choices: &[Choice],
        [chosen, refused]: [&Choice; 2],
        [offered, settled, booked]: [Place; 3],
    ) {
        let others = || choices.iter().filter(|choice| choice.name != chosen.name);
        let text = self.random.pick(&decision.ask).clone();
        let which =
            PlannedQuestion::any_of(QuestionKind::Decision, text, [&chosen.name]).from(&[settled]);
        self.script.ask(which.stale(others().map(|choice| &choice.name)));
        let text = self.random.pick(&decision.ask_figure).clone();
        let figure = PlannedQuestion::any_of(QuestionKind::MultiHop, text, [&chosen.figure]);
        let figures = others().map(|choice| &choice.figure);
        self.script.ask(figure.from(&[settled, booked]).near(figures));
        let why = self.reasons.say(&mut self.random, "ask.why", &[("matter", &decision.matter)]);
        let nuggets = [
            format!("{} was chosen", chosen.name),
            fill("the reason given is that {pro}", &[("pro", &chosen.pro)]),
            format!("{} was turned down because {}", refused.name, refused.con),
        ];
        let most = 1 + self.script.messages() / 220;
        let question = PlannedQuestion::rubric(QuestionKind::Decision, why, nuggets);
        self.rubric(question.from(&[offered, settled]), most);
    }
}
