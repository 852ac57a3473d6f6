//! Workgroup memory with a matrix in it, filled from the figures of the PTX ISA: atom by atom.

use async_sim::wgmma::{Descriptor, Major, Swizzle};
use std::collections::{HashMap, HashSet};

/// An element, by its indices in MN and K.
pub type Element = (u64, u64);

/// What lies at which byte, and the descriptor of it.
pub struct Image {
    pub bytes: HashMap<u64, Element>,
    pub descriptor: Descriptor,
}

/// How a matrix lies.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub major: Major,
    pub swizzle: Swizzle,
    /// The elements along MN and K, and the bytes of one.
    pub mn: u64,
    pub k: u64,
    pub size: u64,
    /// Atoms that lie between two of the matrix, along each dimension.
    pub gaps: [u64; 2],
    /// Where it starts.
    pub start: u64,
}

impl Case {
    /// Places an atom of 8 lines. The number of a chunk in its line is added, without carry, to the number of the line, as
    /// far as a pattern of 8 lines of 128 bytes tells lines apart.
    fn atom(
        self,
        at: u64,
        chunks: u64,
        mut element: impl FnMut(u64, u64) -> Option<Element>,
    ) -> Vec<(u64, Element)> {
        let mut placed = Vec::new();
        for line in 0..8 {
            for chunk in 0..chunks {
                let shuffled = match chunks {
                    1 => chunk,
                    2 => chunk ^ (line / 4),
                    4 => chunk ^ (line / 2),
                    _ => chunk ^ line,
                };
                for within in 0..16 / self.size {
                    let along = chunk * (16 / self.size) + within;
                    if let Some(element) = element(line, along) {
                        let place = at + (line * chunks + shuffled) * 16 + within * self.size;
                        placed.push((place, element));
                    }
                }
            }
        }
        placed
    }

    /// Fills memory: atoms along MN, and along K, with gaps between.
    pub fn image(self) -> Image {
        let chunks = match self.swizzle {
            Swizzle::None => 1,
            Swizzle::B32 => 2,
            Swizzle::B64 => 4,
            Swizzle::B128 => 8,
        };
        let along = chunks * 16 / self.size;
        // How many elements an atom has along MN and K.
        let [of_mn, of_k] = match self.major {
            Major::K => [8, along],
            Major::MN => [along, 8],
        };
        let counts = [self.mn.div_ceil(of_mn), self.k.div_ceil(of_k)];
        let bytes = 8 * chunks * 16;
        let step_k = bytes * (1 + self.gaps[1]);
        let step_mn = step_k * counts[1] * (1 + self.gaps[0]);
        let mut image = HashMap::new();
        for a in 0..counts[0] {
            for b in 0..counts[1] {
                let placed = self.atom(self.start + a * step_mn + b * step_k, chunks, |line, along| {
                    let (mn, k) = match self.major {
                        Major::K => (line, along),
                        Major::MN => (along, line),
                    };
                    let element = (a * of_mn + mn, b * of_k + k);
                    (element.0 < self.mn && element.1 < self.k).then_some(element)
                });
                for (at, element) in placed {
                    assert!(
                        image.insert(at, element).is_none(),
                        "{self:?}: two elements at one place"
                    );
                }
            }
        }
        let (leading, stride) = match (self.major, self.swizzle) {
            (Major::K, _) | (Major::MN, Swizzle::None) => (step_k, step_mn),
            (Major::MN, _) => (step_mn, step_k),
        };
        let descriptor = Descriptor {
            start: self.start,
            leading,
            stride,
            base_offset: 0,
            swizzle: self.swizzle,
        };
        Image {
            bytes: image,
            descriptor,
        }
    }

    /// Checks that a descriptor finds every element of the matrix, from index `first` of K on.
    pub fn check(self, descriptor: Descriptor, image: &HashMap<u64, Element>, first: u64) {
        let mut found = HashSet::new();
        for (address, [mn, k]) in descriptor.chunks(self.major, self.mn, self.size) {
            assert_eq!(address % 16, 0, "{self:?}");
            for i in 0..16 / self.size {
                let element = match self.major {
                    Major::K => (mn, k + i),
                    Major::MN => (mn + i, k),
                };
                let there = image.get(&(address + i * self.size));
                assert_eq!(
                    there,
                    Some(&(element.0, element.1 + first)),
                    "{self:?}, K from {first} on"
                );
                found.insert(element);
            }
        }
        let all = self.mn * 32 / self.size;
        assert_eq!(found.len() as u64, all, "{self:?}: not all elements");
    }
}
