//! What the kernel prints.

use super::{Machine, Reason};
use crate::code::Piece;

/// What is printed of a run, as much as CUDA keeps for a launch.
const MOST_BYTES: usize = 1 << 20;

impl Machine<'_> {
    pub(super) fn print(&mut self, t: usize, pieces: &[Piece]) -> Result<(), Reason> {
        let mut line = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Number { value, elem, spec } => line += &spec.format(*elem, self.bits(t, *value)?),
            }
        }
        let printed: usize = self.printed.len() + self.printing;
        if printed + line.len() <= MOST_BYTES {
            self.printing += line.len();
            self.threads[t].printed += &line;
        }
        Ok(())
    }

    /// Puts together what the threads of the block have printed.
    pub(super) fn collect_prints(&mut self) {
        for thread in &mut self.threads {
            self.printed += &std::mem::take(&mut thread.printed);
        }
        self.printing = 0;
    }
}
