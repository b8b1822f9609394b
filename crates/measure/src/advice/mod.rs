//! What to do: which strategy, at which size and setting, and how sure that is.

pub(crate) mod agent_settings;
pub(crate) mod family;
pub(crate) mod preference;
pub(crate) mod ranking;
pub(crate) mod recommendation;
pub(crate) mod savers;
pub(crate) mod sizes;
pub(crate) mod tuned;
