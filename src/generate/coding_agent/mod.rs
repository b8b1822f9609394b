//! A coding agent at work in a simulated repository.

mod facts;
pub(super) mod voice;

use std::collections::BTreeMap;

use serde_json::json;

use self::facts::{Shapes, TOPICS};
use self::voice::Voice;
use super::{Act, Fact, Kind, Phrases, Script, Stream};
use crate::model::ToolDefinition;

/// The kind.
pub(super) static KIND: Kind = Kind {
    name: "coding-agent",
    about: "A coding agent finds faults, builds features and answers for its work.",
    tokens: 12_000..=120_000,
    write,
};

fn write(script: &mut Script) {
    let mut phrases = Phrases::new(include_str!("facts.txt"));
    let mut random = script.random.fork("world");
    let shapes = Shapes { tickets: "KX".to_owned(), month: (2025, 4) };
    let files = files(&mut random, &shapes);
    let voice = Voice::new(&mut random);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let description = "Read a file.".to_owned();
    let read = ToolDefinition { name: "read_file".into(), description, parameters: schema };
    script.open("project", &["You are a coding agent.".to_owned()], vec![read]);
    let mut known = BTreeMap::new();
    for ((path, text), topic) in files.iter().cycle().zip(TOPICS.iter().cycle()) {
        if script.left() < 300 {
            break;
        }
        let value = random.fresh(|random| (topic.value)(random, &shapes));
        let asked = format!("ask.{}", topic.key);
        let fact = *known.entry(topic.key).or_insert_with(|| {
            script.fact(Fact::new(topic.kind, phrases.all(&mut random, &asked, &[])))
        });
        let section = if script.value(fact).is_some() { "change" } else { "say" };
        let said = phrases.say(&mut random, &format!("{section}.{}", topic.key), &[("v", &value)]);
        let place = script.user(voice.typed(&mut random, &said));
        script.state(fact, &value, place);
        let text: String = text.chars().take(script.left() as usize * 3).collect();
        script.act("Reading on.", vec![Act::new("read_file", json!({"path": path}), text)]);
    }
}

/// The project's files, with an inventory of values that are not the asked ones.
fn files(random: &mut Stream, shapes: &Shapes) -> BTreeMap<String, String> {
    let parts = include_str!("projects/python.txt").split("=== ").filter(|part| !part.is_empty());
    let file = |part: &str| {
        let (path, text) = part.split_once('\n').expect("a path stands on its own line");
        (path.to_owned(), text.to_owned())
    };
    let mut files: BTreeMap<String, String> = parts.map(file).collect();
    let mut inventory = String::new();
    for topic in TOPICS {
        let values: Vec<String> =
            (0..5).map(|_| random.fresh(|random| (topic.value)(random, shapes))).collect();
        inventory.push_str(&format!("{} = {values:?}\n", topic.key));
    }
    files.insert("0-inventory.toml".to_owned(), inventory);
    files
}
