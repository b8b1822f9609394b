//! Chats of VS Code with GitHub Copilot: a JSON document
//! (`workspaceStorage/*/chatSessions/*.json`), from VS Code 1.109 on a log of
//! its changes (`*.jsonl`). Read from the public sources of VS Code
//! (microsoft/vscode, `src/vs/workbench/contrib/chat/common/model/`) and of the
//! extension (microsoft/vscode-copilot-chat, `src/extension/prompt/common/`),
//! without recordings at hand.
//!
//! What the extension keeps of a request has every response of the model with
//! its calls. Where that is missing (an interrupted request, another
//! participant), what VS Code showed is read instead.

mod log;
mod shown;
mod wire;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use self::wire::{Kept, Request, Round, Session, joined, rendered, result_text};
use super::recorder::{Outcome, Recorder, Turn};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::error::{DatasetError, Problem};
use crate::dataset::format::{Format, Head};
use crate::dataset::source::{HEAD, Source, from_json, parse};
use crate::model::{Block, MessageIndex, RecordedCompaction, Role};

/// The format of VS Code's chats.
pub struct VsCodeChat;

fn is_session(record: &Json) -> bool {
    record.get("requests").is_some_and(Json::is_array)
        && ["responderUsername", "initialLocation", "inputState", "customTitle", "creationDate"]
            .iter()
            .any(|key| record.get(key).is_some())
}

impl Format for VsCodeChat {
    fn name(&self) -> &'static str {
        "vscode-chat"
    }

    fn describe(&self) -> &'static str {
        "VS Code Copilot chat (JSON or log of changes, workspaceStorage/*/chatSessions/*; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let is_first =
            |record: &Json| log::is_entry(record) && record.get("v").is_some_and(is_session);
        let long = head.records.is_empty()
            && head.first_char() == Some('{')
            && head.mentions(&["requests", "requestId", "message"])
            && (head.mentions(&["variableData"]) || head.mentions(&["toolCallRounds"]));
        head.any(|record| is_session(record) || is_first(record)) || long
    }

    fn read(&self, source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
        let is_document = Head::new(source.head(HEAD)?).spread;
        let (mut state, mut idle) = (None, 0);
        if is_document {
            state = Some(source.document()?);
        } else {
            while let Some((line, record)) = source.next_record(parse::<Json>)? {
                if !log::is_entry(&record) && state.is_none() {
                    state = Some(record);
                    continue;
                }
                let applied = log::apply(&mut state, record);
                let applied = applied.map_err(|problem| source.error(Some(line), problem))?;
                idle += u64::from(!applied);
            }
        }
        let Some(state) = state else { return Ok(Vec::new()) };
        let draft = from_json(state).and_then(|session| session_of(session, source.stem()));
        let mut draft = draft.map_err(|problem| source.error(None, problem))?;
        draft.leave_out("change without a path", idle);
        draft.leave_out("torn last line", source.torn());
        Ok(if draft.transcript.messages.is_empty() { vec![] } else { vec![draft] })
    }
}

/// Reads a chat into a session named after its file.
fn session_of(session: Session, stem: &str) -> Result<Draft, Problem> {
    let mut chat = Chat { recorder: Recorder::new(stem), ..Chat::default() };
    chat.recorder.transcript().metadata.extend(session.session_id);
    let mut requests = Vec::new();
    for mut request in session.requests {
        if request.is_undone() {
            chat.recorder.draft.leave_out("request that the user went back before", 1);
            continue;
        }
        let kept = request.result.as_mut().map(|result| result.metadata.take());
        let kept = kept.filter(Json::is_object).map(from_json::<Kept>).transpose()?;
        requests.push((request, kept.unwrap_or_default()));
    }
    // A summary that a later request made is also written to the round.
    let named = requests.iter().filter_map(|(_, kept)| kept.summary.as_ref());
    chat.named = named.map(|summary| summary.tool_call_round_id.clone()).collect();
    for (request, kept) in requests {
        chat.request(request, kept)?;
    }
    Ok(chat.recorder.finish())
}

#[derive(Default)]
struct Chat {
    recorder: Recorder,
    /// Where the messages of each round end.
    ends: FxHashMap<String, MessageIndex>,
    /// Rounds whose summaries stand in the request that made them.
    named: FxHashSet<String>,
}

impl Chat {
    fn request(&mut self, mut request: Request, kept: Kept) -> Result<(), Problem> {
        let context = rendered(&kept.rendered_global_context.unwrap_or_default());
        let pinned = &mut self.recorder.transcript().preamble.pinned;
        if !context.is_empty() && pinned.is_empty() {
            pinned.push(context);
        }
        self.user(&request, kept.rendered_user_message.as_deref());
        if request.result.as_ref().is_some_and(|result| result.error_details.is_some()) {
            self.recorder.draft.leave_out("error that was shown", 1);
        }
        let rounds = kept.tool_call_rounds.unwrap_or_default();
        let own: FxHashSet<String> = rounds.iter().filter_map(|round| round.id.clone()).collect();
        let mut summary = kept.summary.map(|made| (made.tool_call_round_id, made.text));
        if let Some((round, text)) = summary.take_if(|(round, _)| !own.contains(round)) {
            self.compact(&round, text)?;
        }
        if rounds.is_empty() {
            let parts = request.response.take().unwrap_or_default();
            shown::add(&mut self.recorder, parts, request.model().as_deref());
            let end = self.recorder.count();
            self.ends.extend(request.request_id.take().map(|id| (id, end)));
        }
        let results = kept.tool_call_results.unwrap_or_default();
        self.rounds(rounds, results, request.model(), summary)
    }

    /// `summary` names one of the rounds, and has its text.
    fn rounds(
        &mut self,
        rounds: Vec<Round>,
        mut results: FxHashMap<String, Json>,
        model: Option<String>,
        mut summary: Option<(String, String)>,
    ) -> Result<(), Problem> {
        // The round behind a summarised one made the prompt too long.
        let mut open: Option<(String, String)> = None;
        for mut round in rounds {
            let id = round.id.clone();
            let written = round.summary.take().filter(|text| !text.is_empty());
            self.round(round, &mut results, model.clone());
            if let Some((round, text)) = open.take() {
                self.compact(&round, text)?;
            }
            let Some(id) = id else { continue };
            self.ends.insert(id.clone(), self.recorder.count());
            let own = summary.take_if(|(round, _)| *round == id).map(|(_, text)| text);
            let written = written.filter(|_| !self.named.contains(&id));
            open = own.or(written).map(|text| (id, text));
        }
        match open {
            Some((round, text)) => self.compact(&round, text),
            None => Ok(()),
        }
    }

    fn user(&mut self, request: &Request, sent: Option<&[Json]>) {
        let mut turn = Turn::new(Role::User);
        turn.id = request.request_id.clone();
        turn.at = request.timestamp.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let typed = joined(request.message.get("text").unwrap_or(&request.message));
        let sent = sent.map(rendered).filter(|text| !text.is_empty());
        turn.text(sent.unwrap_or(typed));
        for variable in request.variable_data.iter().flat_map(|data| &data.variables) {
            if variable.get("kind").and_then(Json::as_str) == Some("image") {
                let media_type = variable.get("mimeType").and_then(Json::as_str);
                turn.blocks.push(Block::Image { media_type: media_type.map(str::to_owned) });
            }
        }
        self.recorder.turn(turn);
    }

    fn round(
        &mut self,
        round: Round,
        results: &mut FxHashMap<String, Json>,
        model: Option<String>,
    ) {
        let mut turn = Turn::new(Role::Assistant);
        (turn.id, turn.model) = (round.id, model);
        turn.at = round.timestamp.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        turn.reasoning(joined(round.thinking.get("text").unwrap_or(&Json::Null)));
        turn.text(round.response.unwrap_or_default());
        let made: Vec<String> = round.tool_calls.iter().map(|call| call.id.clone()).collect();
        for call in round.tool_calls {
            turn.blocks.push(self.recorder.call(call.id, call.name, call.arguments));
        }
        self.recorder.turn(turn);
        for call in made {
            if let Some(result) = results.remove(&call) {
                self.recorder.result(&call, result_text(&result), Outcome::default());
            }
        }
    }

    /// A summary of all up to the end of a round was sent from now on.
    fn compact(&mut self, round: &str, text: String) -> Result<(), Problem> {
        let Some(&kept_from) = self.ends.get(round) else {
            self.recorder.draft.leave_out("summary of a round that is not in the recording", 1);
            return Ok(());
        };
        let after = self.recorder.count();
        let summary = Some(text);
        let compaction = RecordedCompaction { after, kept_from, summary, ..Default::default() };
        self.recorder.draft.compact(compaction)
    }
}
