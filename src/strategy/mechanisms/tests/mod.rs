//! The mechanisms that fold, held against their seeds line by line.

mod chunked_summary;
mod continuation;
mod session_state;
