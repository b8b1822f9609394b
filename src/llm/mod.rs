//! Requests to models and their replies, as providers put them on the wire.
//!
//! Encoding and decoding are pure: no socket, no key, no clock. What sends a
//! request adds the key and hands back status and body.

mod call;
mod calls;
pub mod cassette;
mod error;
mod figures;
mod once;
pub mod providers;
mod reply;
mod request;
mod scrubbed;

pub use call::{Answered, Call, CallError, Llm, Model, Question, Settings};
pub use calls::{Calls, Now};
pub use cassette::Cassette;
pub use error::{Fault, FaultKind, WireError};
pub use once::Once;
pub use providers::Provider;
pub use reply::{Finish, NoUsage, Reply, Tokens};
pub use request::{Message, Request, Schema, Speaker};
pub use scrubbed::Scrubbed;
