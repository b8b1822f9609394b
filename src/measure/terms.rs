//! What a run takes for granted.

use crate::model::{Manifest, TimeProfile};
use crate::pricing::PriceList;

/// What a run takes for granted of prices and speeds.
pub struct Terms {
    /// The prices that the manifest keeps.
    pub prices: PriceList,
    /// How fast everyone is.
    pub profile: TimeProfile,
}

impl Terms {
    /// Those of the run.
    pub fn of(manifest: &Manifest) -> Self {
        Terms { prices: PriceList::from(&manifest.prices), profile: manifest.profile }
    }
}
