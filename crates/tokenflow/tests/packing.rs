//! Layouts of buffers, against brute force over all offsets.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.
#![allow(missing_docs)]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokenflow::packing::{Buffer, Layout, Problem, first_fit_decreasing, pack};

const BUDGET: u32 = 200_000;

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(1000, |_| from_env.cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

fn problem(most: usize) -> impl Strategy<Value = Problem> {
    let buffer = (0..=6_u64, 0..=2_u32).prop_map(|(bytes, log)| Buffer {
        bytes,
        alignment: 1 << log,
    });
    (
        proptest::collection::vec(buffer, 0..=most),
        0..=100_u32,
        any::<u64>(),
    )
        .prop_map(|(buffers, percent, seed)| {
            let mut random = seed;
            let mut interference = Vec::new();
            for b in 0..buffers.len() {
                for a in 0..b {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    if (random >> 33) % 100 < u64::from(percent) {
                        interference.push(if random & 1 << 20 == 0 { (a, b) } else { (b, a) });
                    }
                }
            }
            Problem {
                buffers,
                interference,
            }
        })
}

/// Returns true if some layout ends at `end`, whatever its offsets.
fn fits(problem: &Problem, offsets: &mut Vec<u64>, end: u64) -> bool {
    let b = offsets.len();
    let Some(buffer) = problem.buffers.get(b) else {
        return true;
    };
    let mut offset = 0;
    while offset + buffer.bytes <= end {
        let overlaps = |other: usize| {
            offset < offsets[other] + problem.buffers[other].bytes && offsets[other] < offset + buffer.bytes
        };
        let is_free = problem.interference.iter().all(|&(x, y)| {
            let (low, high) = (x.min(y), x.max(y));
            high != b || problem.buffers[low].bytes == 0 || buffer.bytes == 0 || !overlaps(low)
        });
        if is_free {
            offsets.push(offset);
            if fits(problem, offsets, end) {
                return true;
            }
            offsets.pop();
        }
        offset += buffer.alignment;
    }
    false
}

fn check(problem: &Problem, layout: &Layout) -> Result<(), TestCaseError> {
    prop_assert_eq!(layout.verify(problem), Ok(()), "{:?}\n{:?}", problem, layout);
    prop_assert!(layout.bytes <= first_fit_decreasing(problem).bytes, "{problem:?}");
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn small_layouts_are_optimal(problem in problem(8)) {
        let layout = pack(&problem, BUDGET);
        check(&problem, &layout)?;
        let smaller = layout.bytes.checked_sub(1);
        prop_assert!(
            smaller.is_none_or(|end| !fits(&problem, &mut Vec::new(), end)),
            "{problem:?} fits into less than {layout:?}"
        );
    }

    #[test]
    fn large_layouts_are_no_worse_than_first_fit(problem in problem(40), budget in 0..2000_u32) {
        check(&problem, &pack(&problem, budget))?;
    }
}

/// Buffers whose lives are intervals, each of which overlaps a few others.
fn chain(number: usize) -> Problem {
    let buffers = (0..number).map(|b| Buffer {
        bytes: 16 * (b as u64 * 7_919 % 61 + 1),
        alignment: 1 << (b % 8),
    });
    let interference = (0..number).flat_map(|b| (b.saturating_sub(1 + b % 5)..b).map(move |a| (a, b)));
    Problem {
        buffers: buffers.collect(),
        interference: interference.collect(),
    }
}

#[test]
fn ten_thousand_buffers() {
    for number in [10_000, 20_000] {
        let problem = chain(number);
        let start = std::time::Instant::now();
        let layout = pack(&problem, BUDGET);
        println!("{number} buffers: {:?}", start.elapsed());
        assert_eq!(layout.verify(&problem), Ok(()));
        assert!(layout.bytes <= first_fit_decreasing(&problem).bytes);
    }
}

/// First fit by decreasing size leaves a gap; the search does not.
#[test]
fn better_than_first_fit() {
    // A path of interference: the large ones at its ends, and what is beside both in the middle.
    let sizes = [4, 3, 2, 4, 3];
    let problem = Problem {
        buffers: sizes.map(|bytes| Buffer { bytes, alignment: 1 }).to_vec(),
        interference: vec![(0, 1), (1, 2), (2, 3), (3, 4)],
    };
    let layout = pack(&problem, BUDGET);
    assert_eq!(layout.bytes, 7);
    assert!(layout.bytes < first_fit_decreasing(&problem).bytes);
}

#[test]
fn faults_are_found() {
    let buffer = |bytes| Buffer { bytes, alignment: 4 };
    let problem = Problem {
        buffers: vec![buffer(4), buffer(4)],
        interference: vec![(1, 0)],
    };
    let fault = |offsets: &[u64], bytes| {
        let offsets = offsets.to_vec();
        Layout { offsets, bytes }.verify(&problem).is_err()
    };
    assert!(!fault(&[0, 4], 8));
    assert!(fault(&[0], 8), "a buffer without offset");
    assert!(fault(&[0, 5], 9), "misaligned");
    assert!(fault(&[0, 0], 4), "overlapping");
    assert!(fault(&[0, 4], 7), "ends too late");
    assert!(fault(&[0, u64::MAX - 3], u64::MAX), "ends beyond all numbers");
}
