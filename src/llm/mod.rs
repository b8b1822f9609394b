//! Requests to models and their replies, as providers put them on the wire.
//!
//! Encoding and decoding are pure: no socket, no key, no clock. [`Live`] sends
//! a request, within limits and budget, and only `http` opens a socket.

mod budget;
mod call;
mod calls;
pub mod cassette;
mod came;
mod endpoint;
mod error;
mod figures;
mod halt;
mod http;
mod key;
mod once;
mod limiter;
mod live;
pub mod providers;
mod reply;
mod request;
mod retry;

pub use budget::Budget;
pub use call::{Answered, Call, CallError, Llm, Model, Question, Settings};
pub use calls::{Calls, Now};
pub use cassette::Cassette;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Fault, FaultKind, WireError};
pub use halt::{Halt, HaltCause};
pub use http::StartError;
pub use key::{Key, KeyError, SCRUBBED};
pub use once::Once;
pub use limiter::Limits;
pub use live::{Client, Live, LiveError, Options};
pub use providers::Provider;
pub use reply::{Finish, NoUsage, Reply, Tokens};
pub use request::{Message, Request, Schema, Speaker};
pub use retry::Patience;
