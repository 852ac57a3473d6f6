//! Where an axis of cycles has its ticks.

/// The distance between ticks: 1, 2 or 5 times a power of ten, the smallest one with which at most `most` of them come
/// after the one at 0.
pub(super) fn step(cycles: u64, most: u64) -> u64 {
    let most = most.max(1);
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            match power.checked_mul(factor) {
                Some(step) if cycles / step <= most => return step,
                Some(_) => {}
                // There is no larger one.
                None => return power,
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return power,
        }
    }
}

/// The ticks of an axis of so many cycles.
pub(super) fn ticks(cycles: u64, most: u64) -> impl Iterator<Item = u64> {
    let step = step(cycles, most);
    (0..=cycles / step).map(move |tick| tick * step)
}

#[cfg(test)]
mod tests {
    use super::{step, ticks};

    #[test]
    fn ticks_are_at_round_numbers() {
        assert_eq!(ticks(567, 10).collect::<Vec<_>>(), [0, 100, 200, 300, 400, 500]);
        assert_eq!([1, 2, 3, 5, 6].map(|most| step(100, most)), [100, 50, 50, 20, 20]);
        assert_eq!(ticks(0, 10).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn there_are_few_ticks_whatever_the_length() {
        for cycles in [
            1,
            9,
            10,
            11,
            999,
            12_345,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ] {
            let count = ticks(cycles, 10).count();
            assert!((2..=11).contains(&count), "{count} ticks for {cycles} cycles");
        }
    }
}
