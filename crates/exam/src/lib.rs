//! What is asked of a compressed context, who answers, and who grades.
//!
//! In: a recorded session and the context that a strategy left of it. Out: [`facts`], identifiers
//! that the recorded agent needed afterwards; [`questions`], questions made from the recording
//! itself; [`findable`], whether a context still states their answers; [`roles`], the models that
//! summarise, answer and grade, and the program's own compactor and judge.
//!
//! Next: `recap-replay` asks them at each compaction.

pub mod facts;
pub mod findable;
pub mod questions;
pub mod roles;
