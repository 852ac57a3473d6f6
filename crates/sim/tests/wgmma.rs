//! Matrix descriptors and fragments against brute force: memory is filled the other way around, from the figures of the PTX
//! ISA, atom by atom, and every element has to be found where it was put, for all shapes and modes. Products of matrices in
//! such memory are compared with sums, number by number, and so are those of A in registers.
#![allow(missing_docs)]

mod kernel;
mod wgmma {
    mod fragments;
    pub mod image;
    mod products;
}

use async_sim::wgmma::{Descriptor, Major, ROWS, Swizzle, THREADS, place_a, place_d};
use wgmma::image::Case;

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

/// All shapes, modes and sizes; MN is contiguous for numbers of 16 bits alone.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for swizzle in SWIZZLES {
        for mn in (8..=256).step_by(8) {
            for (major, size) in [(Major::K, 1), (Major::K, 2), (Major::K, 4), (Major::MN, 2)] {
                for gaps in [[0, 0], [1, 0], [0, 2]] {
                    for start in [0, 7 * 1024] {
                        let k = 32 / size;
                        all.push(Case {
                            major,
                            swizzle,
                            mn,
                            k,
                            size,
                            gaps,
                            start,
                        });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn descriptors_find_every_element_where_it_lies() {
    for case in cases() {
        let image = case.image();
        let decoded = Descriptor::decode(image.descriptor.encode());
        assert_eq!(decoded, image.descriptor, "{case:?}");
        case.check(decoded, &image.bytes, 0);
    }
}

/// Rows of 64 or 128 bytes hold several steps of K: the next one starts 32 bytes further on, in the middle of a pattern.
#[test]
fn the_next_step_of_k_starts_inside_of_an_atom() {
    for swizzle in [Swizzle::B64, Swizzle::B128] {
        for size in [1, 2, 4] {
            for mn in [8, 64, 200] {
                let k = swizzle.line() / size;
                let case = Case {
                    major: Major::K,
                    swizzle,
                    mn,
                    k,
                    size,
                    gaps: [0, 0],
                    start: 2048,
                };
                let image = case.image();
                for step in 0..swizzle.line() / 32 {
                    let mut descriptor = image.descriptor;
                    descriptor.start += 32 * step;
                    case.check(descriptor, &image.bytes, step * 32 / size);
                }
            }
        }
    }
}

/// Where MN is contiguous, two atoms further along K.
#[test]
fn the_next_step_of_k_starts_two_atoms_on() {
    for swizzle in SWIZZLES {
        let case = Case {
            major: Major::MN,
            swizzle,
            mn: 128,
            k: 64,
            size: 2,
            gaps: [0, 1],
            start: 1024,
        };
        let image = case.image();
        let atoms = match swizzle {
            Swizzle::None => image.descriptor.leading,
            _ => image.descriptor.stride,
        };
        for step in 0..4 {
            let mut descriptor = image.descriptor;
            descriptor.start += 2 * atoms * step;
            case.check(descriptor, &image.bytes, 16 * step);
        }
    }
}

#[test]
fn fragments_cover_the_accumulator_as_the_figure_shows() {
    for n in (8..=256).step_by(8) {
        for row in 0..ROWS {
            for column in 0..n {
                // A quarter for each warp; 8 rows of 4 threads; of every 8 columns two for each; upper rows come first.
                let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
                let upper = usize::from(row % 16 >= 8);
                let i = column / 8 * 4 + upper * 2 + column % 2;
                assert!(thread < THREADS && i < n / 2);
                assert_eq!(place_d(thread, i), (row, column));
            }
        }
    }
}

/// As the figures for A show: of elements of 8, 16 and 32 bits, a thread has 4, 2 or one neighbor in each register.
#[test]
fn fragments_cover_a_as_the_figures_show() {
    for pack in [1, 2, 4] {
        for row in 0..ROWS {
            for column in 0..8 * pack {
                let thread = row / 16 * 32 + row % 8 * 4 + column / pack % 4;
                // a0, a1: the upper row and the lower one; a2, a3: the same in the right half.
                let register = usize::from(row % 16 >= 8) + 2 * usize::from(column >= 4 * pack);
                let i = register * pack + column % pack;
                assert_eq!(place_a(thread, i, pack), (row, column), "{pack} in a register");
            }
        }
    }
}

/// The examples of the section on strides: tf32 with K contiguous, bf16 with MN contiguous.
#[test]
fn descriptors_of_the_examples_in_the_ptx_isa() {
    let example = |leading, stride, swizzle| Descriptor {
        start: 0,
        leading,
        stride,
        base_offset: 0,
        swizzle,
    };
    let at = |descriptor: Descriptor, major, size, place: [u64; 2]| {
        let mut chunks = descriptor.chunks(major, 16, size);
        chunks
            .find(|(_, first)| *first == place)
            .map(|(address, _)| address)
    };
    // ((8,2),(4,4)):((4,32),(1,64)): rows 4 numbers apart, 8 rows 32, and 4 columns 64.
    let none = example(64 * 4, 32 * 4, Swizzle::None);
    assert_eq!(at(none, Major::K, 4, [9, 4]), Some(4 * (32 + 4 + 64)));
    // ((8,2),(4,4)):((8,64),(1,4)), and the chunks of the last four of 8 rows are exchanged.
    let swizzled = example(16, 64 * 4, Swizzle::B32);
    assert_eq!(at(swizzled, Major::K, 4, [11, 4]), Some(4 * (64 + 3 * 8 + 4)));
    assert_eq!(at(swizzled, Major::K, 4, [12, 4]), Some(4 * (64 + 4 * 8)));
    // ((8,1,2),(8,2)):((1,8,64),(8,128))
    let none = example(128 * 2, 64 * 2, Swizzle::None);
    assert_eq!(at(none, Major::MN, 2, [8, 9]), Some(2 * (64 + 8 + 128)));
}
