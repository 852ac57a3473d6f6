//! Where the numbers of a sparse A stand. Metadata is laid out as in the PTX ISA, "Matrix fragments for multiply-accumulate
//! operation with sparse matrix A".

use super::warp::Together;
use super::{Machine, Reason};
use crate::code::Sparsity;

/// How many bits of metadata a chunk of a row has, whatever is in it.
const BITS: usize = 4;

/// What half of the columns of a chunk of a row are: those that A has numbers for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chunk {
    /// One of two.
    OneOfTwo,
    /// Two of four.
    TwoOfFour,
}

impl Chunk {
    /// How many columns it has.
    fn width(self) -> usize {
        match self {
            Self::OneOfTwo => 2,
            Self::TwoOfFour => 4,
        }
    }

    /// The columns, counted from the first one of the chunk, that metadata names; what it should be if it names none.
    fn columns(self, bits: u64, ordered: bool) -> Result<Vec<usize>, &'static str> {
        let [first, second] = [bits & 3, bits >> 2].map(|column| usize::try_from(column).unwrap_or(0));
        match self {
            Self::OneOfTwo => match bits {
                0b0100 => Ok(vec![0]),
                0b1110 => Ok(vec![1]),
                _ => Err("0b0100 stands for the first of two, and 0b1110 for the second"),
            },
            Self::TwoOfFour if first == second => Err("that names one of the four twice"),
            Self::TwoOfFour if ordered && first > second => Err("ordered metadata names the left one first"),
            Self::TwoOfFour => Ok(vec![first, second]),
        }
    }
}

impl Machine<'_> {
    /// The column of each number of A, row by row: half as many as there are.
    pub(super) fn sparse_columns(
        &self,
        lanes: &[usize],
        [m, k]: [usize; 2],
        bytes: usize,
        sparsity: Sparsity,
    ) -> Together<Vec<usize>> {
        let chunk = if bytes == 4 {
            Chunk::OneOfTwo
        } else {
            Chunk::TwoOfFour
        };
        let chunks = k / chunk.width();
        // Lanes of each four that have metadata, which is 64 bits for each row of two by two of them.
        let holders = chunks * BITS / 16;
        let selector = self.selector(lanes, 4 / holders.max(1), sparsity)?;
        let mut columns = Vec::with_capacity(m * k / 2);
        for row in 0..m {
            for i in 0..chunks {
                let (holder, bit) = place_of_metadata(row, i, bytes);
                let t = lanes[4 * (row % 8) + selector * holders + holder];
                let metadata = self.bits(t, sparsity.metadata).map_err(|reason| (t, reason))?;
                let bits = metadata >> bit & 0xF;
                let first = i * chunk.width();
                let named = chunk.columns(bits, sparsity.ordered).map_err(|help| {
                    let columns = [first, first + chunk.width() - 1];
                    (
                        t,
                        Reason::Metadata {
                            row,
                            columns,
                            bits,
                            help,
                        },
                    )
                })?;
                columns.extend(named.into_iter().map(|column| first + column));
            }
        }
        Ok(columns)
    }

    /// Which lanes of each four have the metadata: all threads have to say the same, less than `choices`.
    fn selector(&self, lanes: &[usize], choices: usize, sparsity: Sparsity) -> Together<usize> {
        let mut all = None;
        for &t in lanes {
            let selector = self.index(t, sparsity.selector).map_err(|reason| (t, reason))?;
            let valid = usize::try_from(selector)
                .ok()
                .filter(|selector| *selector < choices);
            let valid = valid.ok_or((t, Reason::Selector { selector, choices }))?;
            if *all.get_or_insert(valid) != valid {
                return Err((t, Reason::OtherSelector));
            }
        }
        Ok(all.unwrap_or(0))
    }
}

/// Which of the lanes of each four that have metadata has that of a chunk, and from which bit on. A lane has 16 bits of
/// a row and of the one 8 rows further down, or 32 bits of one of both where numbers are bytes.
fn place_of_metadata(row: usize, chunk: usize, bytes: usize) -> (usize, usize) {
    let (lower, bit) = (row / 8, BITS * chunk);
    if bytes == 1 {
        (2 * (bit / 32) + lower, bit % 32)
    } else {
        (bit / 16, 16 * lower + bit % 16)
    }
}
