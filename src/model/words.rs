//! Reasons in files.

/// Has reasons written as their words.
macro_rules! written_as_words {
    ($($reason:ty)*) => {
        $(impl serde::Serialize for $reason {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })*
    };
}
