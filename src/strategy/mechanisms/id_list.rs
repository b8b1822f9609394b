//! The control that games reference recall: the last messages and a bare list
//! of every identifier. What it scores is the part of the measure that a list
//! without meaning can get (`measures` §4).

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value as Json;

use super::sliding_window::orphans;
use crate::strategy::context::{Context, EntryId, Op};
use crate::strategy::host::{Host, Outcome, PresetState, Strategy, StrategyError, restored};
use crate::strategy::preset::MechanismSpec;
use crate::text::{IdentifierOptions, identifiers};

/// Hides all but the newest messages and lists every identifier.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "id-list",
    summary: "Sends the last N messages and a bare list of every identifier: what can be gamed",
    uses_compactor: false,
    is_view: true,
    scales: &[],
    build: |build| {
        let parameters: Parameters = build.read()?;
        Ok(Box::new(IdList { last: parameters.last, listed: BTreeSet::new(), through: 0 }))
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    last: u32,
}

struct IdList {
    last: u32,
    listed: BTreeSet<String>,
    through: u32,
}

impl IdList {
    /// Lists what messages that were not looked at yet bring. One note per
    /// message keeps the cost of a request independent of the history.
    fn read_on(&mut self, context: &mut Context) -> Result<(), StrategyError> {
        for index in self.through..context.seen_count() {
            let Some(message) = context.original(EntryId::message(index)) else { continue };
            let text = message.sent();
            let found = identifiers(&text, IdentifierOptions::default());
            let fresh: Vec<&str> = found
                .iter()
                .map(|identifier| identifier.text)
                .filter(|text| self.listed.insert((*text).to_owned()))
                .collect();
            if !fresh.is_empty() {
                let key = format!("identifiers/{index:08}");
                context.apply(Op::Note { key, text: Some(fresh.join("\n")) })?;
            }
        }
        self.through = context.seen_count();
        Ok(())
    }
}

#[async_trait]
impl Strategy for IdList {
    async fn compact(
        &mut self,
        context: &mut Context,
        _shared: &mut PresetState,
        _host: &Host<'_>,
    ) -> Result<Outcome, StrategyError> {
        self.read_on(context)?;
        let before = context.seen_count().saturating_sub(self.last);
        let also = orphans(context, before);
        context.apply(Op::Hide { before, also })?;
        Ok(Outcome::default())
    }

    fn state(&self) -> Json {
        serde_json::json!({"listed": self.listed, "through": self.through})
    }

    fn restore(&mut self, state: Json) -> Result<(), StrategyError> {
        self.listed = restored(SPEC.name, state["listed"].clone())?;
        self.through = restored(SPEC.name, state["through"].clone())?;
        Ok(())
    }
}
