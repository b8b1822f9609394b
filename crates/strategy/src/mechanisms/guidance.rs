//! Guidance: a fixed text in the system prompt, given by the strategy.

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::set_note;
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};

/// Puts a text into the system prompt.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "guidance",
    summary: "Puts the text of a file into the system prompt",
    build: |build| {
        let Parameters { prompt, sessions } = build.read()?;
        let text = build.text(&prompt)?.trim().to_owned();
        Ok(Box::new(Guidance { key: format!("guidance-{}", build.stage), text, sessions }))
    },
    ..MechanismSpec::PLAIN
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    prompt: String,
    #[serde(default)]
    sessions: Sessions,
}

/// Which sessions get the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sessions {
    #[default]
    All,
    /// Sessions that are not sidechains.
    Main,
}

#[derive(Clone)]
struct Guidance {
    /// The key of its note: a strategy may have several.
    key: String,
    text: String,
    sessions: Sessions,
}

#[async_trait]
impl Mechanism for Guidance {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), MechanismError> {
        let Work { context, .. } = work;
        let aside = context.recording().session.is_sidechain();
        let withheld = self.sessions == Sessions::Main && aside;
        let text = Some(self.text.clone()).filter(|text| !withheld && !text.is_empty());
        Ok(set_note(context, &self.key, text)?)
    }

    /// This mechanism does not shrink anything.
    async fn compact(&mut self, _: Work<'_>) -> Result<Outcome, MechanismError> {
        Ok(Outcome::default())
    }
}
