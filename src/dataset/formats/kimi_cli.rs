//! Contexts of Kimi CLI, JSON lines (`~/.kimi/sessions/*/*/context.jsonl`). Read
//! from the agent's public source (MoonshotAI/kimi-cli, `soul/context.py` and
//! `soul/compaction.py`), without recordings at hand.
//!
//! A compaction begins the file anew: it starts with the summary and what was
//! kept, and what came before is in a file of its own (`context_1.jsonl`), which
//! is a transcript of its own here. The file has no usage, only the size of the
//! context now and then.

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
    let mut reader = Reader { recorder: Recorder::new(id) };
    while let Some((line, record)) = source.next_record(parse::<Record>)? {
        let read = reader.record(line, record);
        read.map_err(|problem| source.error(Some(line), problem))?;
    }
    let mut draft = reader.recorder.finish();
    draft.leave_out("torn last line", source.torn());
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

struct Reader {
    recorder: Recorder,
}

impl Reader {
    fn record(&mut self, line: u64, record: Record) -> Result<(), Problem> {
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
                let text = crate::model::sent(&text);
                self.recorder.transcript().preamble.system = vec![text];
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
        let text = crate::model::sent(&turn.blocks);
        if role == Role::User && self.recorder.count() <= 1 && text.starts_with(COMPACTED) {
            return self.compaction(text);
        }
        self.recorder.turn(turn);
        Ok(())
    }

    /// A summary at the beginning of the file.
    fn compaction(&mut self, text: String) -> Result<(), Problem> {
        let summary = text.split_once("</system>").map_or(text.as_str(), |(_, said)| said);
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
