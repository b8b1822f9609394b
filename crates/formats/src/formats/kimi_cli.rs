//! Contexts of Kimi CLI, JSON lines (`~/.kimi/sessions/*/*/context.jsonl`). Read
//! from the agent's public source (MoonshotAI/kimi-cli, `soul/context.py` and
//! `soul/compaction.py`), without recordings at hand.
//!
//! A compaction begins the file anew: it starts with the summary and what was
//! kept, and what came before is in a file of its own (`context_1.jsonl`), which
//! is a session of its own here. Usage is told by the size of the context: of
//! the prompt before a response, with the response behind it. How much of it was
//! read from a cache is not told. A subagent has a file beside that of its agent
//! (`context_sub_1.jsonl`).

use super::prelude::*;

/// The first words of the message that a compaction begins a file with.
const COMPACTED: &str = "<system>Previous context has been compacted.";

/// The format of Kimi CLI's context files.
pub(super) const FORMAT: Format = Format {
    name: "kimi-cli",
    describe: "Kimi CLI context (JSON lines, ~/.kimi/sessions/*/*/context.jsonl)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    head.any(is_note)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    // Every session has files of the same names, in a folder of its own.
    let stem = source.stem();
    let id = match source.folder().filter(|_| stem.starts_with("context")) {
        Some(folder) => format!("{folder}{}", stem.trim_start_matches("context")),
        None => stem.to_owned(),
    };
    let main = std::path::Path::new(source.name()).with_file_name("context");
    let main = main.display().to_string();
    let is_subagent = stem.starts_with("context_sub");
    let is_main = stem == "context";
    let mut reader = Reader { recorder: Recorder::new(id), ..Reader::default() };
    source.keeps_of_each(0);
    source.each_record(parse::<Record>, |line, record| {
        reader.record(line, record)?;
        reader.recorder.draft.check_memory()
    })?;
    reader.drop_size();
    let mut draft = reader.recorder.finish();
    draft.recorded_id = is_main.then(|| main.clone());
    draft.parent = is_subagent.then_some(main);
    Ok(vec![draft])
}

/// Whether a record is one of those that are no messages.
pub(super) fn is_note(record: &Json) -> bool {
    let role = record.get("role").and_then(Json::as_str);
    matches!(role, Some("_system_prompt" | "_checkpoint" | "_usage"))
}

#[derive(Deserialize)]
struct Record {
    role: String,
    #[serde(default)]
    content: Content<Part>,
    tool_calls: Option<Vec<Call>>,
    tool_call_id: Option<String>,
    token_count: Option<u64>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    think: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Json,
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    /// The size of the context, where no response followed.
    size: Option<u64>,
    /// Whether the record before is a response, with the prompt it answered.
    answered: Option<Option<u64>>,
}

impl Reader {
    fn record(&mut self, line: u64, record: Record) -> Result<(), Problem> {
        let answered = self.answered.take();
        let role = match record.role.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => {
                let call = record.tool_call_id.ok_or_else(|| {
                    Problem::shape("tool_call_id", "a message of role tool lacks it")
                })?;
                let read = |part: Part| (part.kind, part.text);
                let text = result_text(record.content, read, "image_url", &mut self.recorder.draft);
                let outcome = Outcome { line: Some(line), ..Outcome::default() };
                self.recorder.result(&call, text, outcome);
                return Ok(());
            }
            "_system_prompt" => {
                let text = self.blocks(record.content);
                let text = recap_core::model::sent(&text);
                self.recorder.draft.system_prompt(vec![text]);
                return Ok(());
            }
            "_usage" => {
                let size = record
                    .token_count
                    .ok_or_else(|| Problem::shape("token_count", "a record of usage lacks it"))?;
                self.size(size, answered);
                return Ok(());
            }
            note if note.starts_with('_') => {
                self.recorder.draft.leave_out(format!("{note} record"), 1);
                return Ok(());
            }
            _ => return Err(Problem::UnknownRole { role: record.role }),
        };
        let mut turn = Turn::new(role);
        turn.line = Some(line);
        turn.blocks = self.blocks(record.content);
        for call in record.tool_calls.into_iter().flatten() {
            let Function { name, arguments } = call.function;
            turn.blocks.push(self.recorder.call(call.id, name, arguments));
        }
        let text = recap_core::model::sent(&turn.blocks);
        if role == Role::User && self.recorder.count() <= 1 && text.starts_with(COMPACTED) {
            return self.compaction(text);
        }
        if role == Role::Assistant {
            let prompt = self.size.take();
            turn.usage =
                prompt.map(|input| Usage { input, cache_unknown: true, ..Usage::default() });
            self.answered = Some(prompt);
        }
        self.recorder.turn(turn);
        Ok(())
    }

    /// The size of the context: with a response that stands right before it, or
    /// of the next prompt.
    fn size(&mut self, size: u64, answered: Option<Option<u64>>) {
        let Some(prompt) = answered else {
            self.drop_size();
            self.size = Some(size);
            return;
        };
        let last = self.recorder.session().messages.last_mut();
        let usage = last.and_then(|message| message.usage.as_mut());
        match (usage, prompt.and_then(|prompt| size.checked_sub(prompt))) {
            (Some(usage), Some(output)) => (usage.output, usage.output_final) = (output, true),
            _ => self.recorder.draft.leave_out("size of the context without that of its prompt", 1),
        }
    }

    /// A size that belongs to no response.
    fn drop_size(&mut self) {
        let dropped = u64::from(self.size.take().is_some());
        self.recorder.draft.leave_out("size of the context without a response", dropped);
    }

    /// A summary at the beginning of the file.
    fn compaction(&mut self, text: String) -> Result<(), Problem> {
        let summary = text.split_once("</system>").map_or(text.as_str(), |(_, rest)| rest);
        let summary = summary.trim().to_owned();
        // A note that a checkpoint was made may stand before it.
        let after = self.recorder.count();
        self.recorder.draft.compact(RecordedCompaction {
            after,
            kept_from: after,
            summary: Some(summary).filter(|summary| !summary.is_empty()),
            pieces: vec![Piece::Text { role: Role::User, text }],
            ..RecordedCompaction::default()
        })
    }

    fn blocks(&mut self, content: Content<Part>) -> Vec<Block> {
        let parts = match content {
            Content::Text(text) if text.is_empty() => return Vec::new(),
            Content::Text(text) => return vec![Block::Text { text }],
            Content::Parts(parts) => parts,
        };
        let mut blocks = Vec::with_capacity(parts.len());
        for part in parts {
            match (part.kind.as_str(), part.text) {
                ("text", Some(text)) => blocks.push(Block::Text { text }),
                ("think", _) => {
                    blocks.push(Block::Reasoning { text: part.think.unwrap_or_default() });
                }
                ("image_url", _) => blocks.push(Block::Image { media_type: None }),
                (kind, _) => self.recorder.draft.leave_out(format!("{kind} part"), 1),
            }
        }
        blocks
    }
}
