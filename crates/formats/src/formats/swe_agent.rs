//! Trajectories of SWE-agent (`.traj`): one JSON document, whose `history` is
//! what the model was sent.
//!
//! Older agents have no tool calls: an answer ends in a command in a fence, and
//! the next message of the user is its output. Both are imported as a call and
//! its result. Of the observations that a history processor hides from later
//! requests the file has no record.

use super::openai_chat::WireCall;
use super::prelude::*;

/// The format of SWE-agent's trajectories.
pub(super) const FORMAT: Format = Format {
    name: "swe-agent",
    describe: "SWE-agent trajectory (JSON, *.traj)",
    tried: Tried::On { files: 4, compared: "messages, calls with results, requests" },
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let is_trajectory = |record: &Json| {
        let has = |key: &str| record.get(key).is_some_and(Json::is_array);
        has("trajectory") && has("history")
    };
    head.any(is_trajectory)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let trajectory: Trajectory = source.document()?;
    let mut reader = Reader::default();
    reader.draft.session.id = source.stem().to_owned();
    let model = trajectory.replay_config.map(ReplayConfig::parsed);
    reader.draft.session.model = model.and_then(|config| config.agent?.model?.name);
    let agent = trajectory.history.first().and_then(|entry| entry.agent.clone());
    for (number, entry) in (1..).zip(trajectory.history) {
        if entry.agent != agent {
            reader.draft.leave_out("message of another agent", 1);
            continue;
        }
        source.whole(reader.entry(format!("m{number}"), entry))?;
    }
    let mut draft = reader.draft;
    draft.leading_system_to_preamble();
    Ok(vec![draft])
}

#[derive(Deserialize)]
struct Trajectory {
    history: Vec<Entry>,
    replay_config: Option<ReplayConfig>,
}

/// How the run was configured: an object, or the same as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReplayConfig {
    Text(String),
    Object(Config),
}

#[derive(Default, Deserialize)]
struct Config {
    agent: Option<AgentConfig>,
}

#[derive(Deserialize)]
struct AgentConfig {
    model: Option<ModelConfig>,
}

#[derive(Deserialize)]
struct ModelConfig {
    name: Option<String>,
}

impl ReplayConfig {
    /// The configuration; it names the model, and nothing depends on it.
    fn parsed(self) -> Config {
        match self {
            ReplayConfig::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            ReplayConfig::Object(config) => config,
        }
    }
}

#[derive(Deserialize)]
struct Entry {
    role: String,
    #[serde(default)]
    content: Content<TextPart>,
    agent: Option<String>,
    thought: Option<String>,
    action: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
    tool_call_ids: Option<Vec<String>>,
    thinking_blocks: Option<Vec<Thinking>>,
    #[serde(default)]
    is_demo: bool,
}

#[derive(Deserialize)]
struct Thinking {
    #[serde(default)]
    thinking: String,
}

/// The name of the call that stands for a command in a fence.
const COMMAND: &str = "command";

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// The command in a fence that has no output yet.
    command: Option<String>,
}

impl Reader {
    fn entry(&mut self, id: String, entry: Entry) -> Result<(), Problem> {
        let command = self.command.take();
        match entry.role.as_str() {
            "system" => self.text(id, Role::System, entry.content),
            "user" => match command {
                Some(call) if !entry.is_demo => self.result(id, call, entry.content),
                _ => self.text(id, Role::User, entry.content),
            },
            "assistant" => self.answer(id, entry),
            "tool" => {
                let call = entry.tool_call_ids.into_iter().flatten().next().ok_or_else(|| {
                    Problem::shape("history", "a tool result lacks `tool_call_ids`")
                })?;
                let call = self.draft.newest_call(&call).unwrap_or(&call).to_owned();
                self.result(id, call, entry.content);
            }
            _ => return Err(Problem::UnknownRole { role: entry.role }),
        }
        Ok(())
    }

    fn text(&mut self, id: String, role: Role, content: Content<TextPart>) {
        let text = self.plain(content);
        let mut blocks = vec![Block::Text { text: text.text }];
        blocks.extend((0..text.images).map(|_| Block::Image { media_type: None }));
        self.push(id, role, blocks, false);
    }

    fn result(&mut self, id: String, call: String, content: Content<TextPart>) {
        let text = self.plain(content);
        self.draft.push(result_message(id, call, text, false, None), None);
    }

    fn plain(&mut self, content: Content<TextPart>) -> ResultText {
        result_text(content, TextPart::split, "image_url", &mut self.draft)
    }

    /// A response: what it says, and its calls or the command in its fence.
    fn answer(&mut self, id: String, entry: Entry) {
        let content = self.plain(entry.content).text;
        let mut blocks: Vec<Block> = entry
            .thinking_blocks
            .into_iter()
            .flatten()
            .map(|block| Block::Reasoning { text: block.thinking })
            .collect();
        let action = entry.action.filter(|action| !action.trim().is_empty());
        let calls = entry.tool_calls.unwrap_or_default();
        let call = action.filter(|_| calls.is_empty());
        let text = match (&call, entry.thought) {
            (Some(action), Some(thought)) => {
                let rest = content.replacen(thought.trim(), "", 1).replacen(action.trim(), "", 1);
                let mut lines = rest.lines().map(str::trim);
                let more = lines.any(|line| !line.is_empty() && !line.starts_with("```"));
                self.draft.leave_out("text besides a thought and its command", more.into());
                thought.trim().to_owned()
            }
            (_, thought) => {
                let is_apart = thought.is_some_and(|text| !content.contains(text.trim()));
                self.draft.leave_out("thought that its answer does not repeat", is_apart.into());
                content
            }
        };
        blocks.extend((!text.is_empty()).then_some(Block::Text { text }));
        for (n, call) in calls.into_iter().enumerate() {
            let made = call.id.unwrap_or_else(|| format!("{id}-call-{}", n + 1));
            blocks.push(self.draft.call(made, call.function.name, call.function.arguments));
        }
        if let Some(action) = call {
            let made = format!("{id}-command");
            let arguments = serde_json::json!({COMMAND: action.trim_end()});
            blocks.push(self.draft.call(made.clone(), COMMAND.to_owned(), arguments));
            self.command = Some(self.draft.newest_call(&made).unwrap_or(&made).to_owned());
        }
        // A demonstration is no request of this run.
        self.push(id, Role::Assistant, blocks, entry.is_demo);
    }

    fn push(&mut self, id: String, role: Role, blocks: Vec<Block>, synthetic: bool) {
        let message = Message::new(id, role, None, blocks);
        self.draft.push(Message { synthetic, ..message }, None);
    }
}
