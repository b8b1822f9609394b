//! What the world of this kind keeps.
