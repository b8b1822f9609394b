use super::{Held, RunResults};
use crate::model::{Cell, Cut};

fn plain<T>(held: &mut Held<T>) -> &mut Vec<T> {
    match held {
        Held::Plain(results) => results,
        Held::Packed(_) => panic!("few cells are held as plain data"),
    }
}

impl RunResults {
    /// Every cell, to be changed.
    pub fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.held.values_mut().flat_map(|(cells, _)| plain(cells))
    }

    /// Every cut, to be changed.
    pub fn cuts_mut(&mut self) -> impl Iterator<Item = &mut Cut> {
        self.held.values_mut().flat_map(|(_, cuts)| plain(cuts))
    }

    /// The same cells with other cuts.
    pub fn with_cuts(self, cuts: impl IntoIterator<Item = Cut>) -> Self {
        Self::new(self.into_lists().0, cuts)
    }
}
