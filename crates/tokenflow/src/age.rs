//! Ages: how many groups a queue has committed after a token's group.
//!
//! An [`Age`] is ordered from the most to the least dangerous: a group that is still open, then 0, 1,
//! … groups committed after it, then [`Age::MANY`] (64 or more), then [`Age::DONE`] (known to be
//! complete). What is known where paths meet is the minimum. 64 values before `MANY` are enough:
//! `wait_group` can't count beyond 63.
//!
//! An [`AgeMap`] is a transfer function: what a part of a program does to the age of any token from before it. Commits,
//! waits, meeting paths and sequences of these all are such maps, and all of them preserve minima,
//! which is why the analysis over meeting paths is exact and not an approximation.

/// The largest count that the hardware takes (`DEPBAR` has six bits).
pub const MAX_COUNT: u8 = 63;

const DOMAIN: usize = 67;

/// The age of a token's group, see the module's documentation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Age(u8);

impl Age {
    /// The group is still open: no wait can cover it.
    pub const OPEN: Self = Self(0);
    /// The group is the one committed last.
    pub const NEWEST: Self = Self(1);
    /// 64 or more groups were committed after it.
    pub const MANY: Self = Self(65);
    /// The group is complete.
    pub const DONE: Self = Self(66);

    /// Returns how many groups were committed after this one, at most 64; none if open or complete.
    #[must_use]
    pub fn groups(self) -> Option<u8> {
        (Self::NEWEST..=Self::MANY).contains(&self).then(|| self.0 - 1)
    }

    /// Returns the age after one more commit.
    #[must_use]
    pub fn commit(self) -> Self {
        if self < Self::MANY { Self(self.0 + 1) } else { self }
    }

    /// Returns the age after a wait that lets `n` groups stay in flight.
    #[must_use]
    pub fn wait(self, n: u8) -> Self {
        if self.0 > n { Self::DONE } else { self }
    }

    /// Returns the place of this age in a table of all ages.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the age at a place of a table of all ages.
    #[must_use]
    pub fn at(index: u32) -> Self {
        Self(u8::try_from(index).unwrap_or(u8::MAX).min(Self::DONE.0))
    }
}

/// What a part of a program does to ages: its transfer function.
// Bytes, and no ages: arrays of bytes are compared, hashed and met many at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AgeMap([u8; DOMAIN]);

impl AgeMap {
    /// The map of an empty part.
    #[must_use]
    pub fn identity() -> Self {
        Self(std::array::from_fn(|i| u8::try_from(i).unwrap_or(Age::DONE.0)))
    }

    /// Returns what becomes of `age`.
    #[must_use]
    pub fn apply(&self, age: Age) -> Age {
        Age(self.0[age.index()])
    }

    /// Appends one step.
    pub fn then_each(&mut self, step: impl Fn(Age) -> Age) {
        for age in &mut self.0 {
            *age = step(Age(*age)).0;
        }
    }

    /// Appends what comes next.
    pub fn then(&mut self, next: &Self) {
        self.then_each(|age| next.apply(age));
    }

    /// Makes this the map of two paths that meet; returns true if that changed it.
    pub fn meet(&mut self, other: &Self) -> bool {
        self.combine(other, u8::min)
    }

    /// Makes each age that differs on two paths [`Age::DONE`]; returns true if that changed any.
    pub fn agree(&mut self, other: &Self) -> bool {
        self.combine(other, |age, other| if age == other { age } else { Age::DONE.0 })
    }

    fn combine(&mut self, other: &Self, choose: impl Fn(u8, u8) -> u8) -> bool {
        let before = self.0;
        for (age, other) in self.0.iter_mut().zip(&other.0) {
            *age = choose(*age, *other);
        }
        before != self.0
    }
}

/// A table with a value for each age.
#[derive(Clone, Debug)]
pub struct AgeTable<T>([T; DOMAIN]);

impl<T: Copy> AgeTable<T> {
    /// Makes a table of equal values.
    pub fn filled(value: T) -> Self {
        Self([value; DOMAIN])
    }
}

impl<T> std::ops::Index<Age> for AgeTable<T> {
    type Output = T;
    fn index(&self, age: Age) -> &T {
        &self.0[age.index()]
    }
}

impl<T> std::ops::IndexMut<Age> for AgeTable<T> {
    fn index_mut(&mut self, age: Age) -> &mut T {
        &mut self.0[age.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Age> {
        (0..67).map(Age::at)
    }

    #[test]
    fn ages_count_groups() {
        let mut age = Age::OPEN;
        for n in 0..100 {
            age = age.commit();
            assert_eq!(age.groups(), Some(n.min(64)));
            // A wait for as many groups as came after it, or fewer, completes it.
            for count in 0..=MAX_COUNT {
                let done = age.wait(count) == Age::DONE;
                assert_eq!(done, n.min(64) >= count, "{n} groups after it, wait {count}");
            }
        }
        assert_eq!((Age::OPEN.groups(), Age::DONE.groups()), (None, None));
        assert_eq!((Age::OPEN.wait(0), Age::DONE.commit()), (Age::OPEN, Age::DONE));
    }

    #[test]
    fn transfer_functions_compose_and_preserve_minima() {
        let steps: [&dyn Fn(Age) -> Age; 4] =
            [&Age::commit, &|age| age.wait(0), &|age| age.wait(2), &|age| age];
        let map = |choice: usize| {
            let mut map = AgeMap::identity();
            (0..5).for_each(|i| map.then_each(steps[choice >> (2 * i) & 3]));
            map
        };
        for (f, g) in (0..1024).step_by(7).map(|f| (map(f), map(f * 5 % 1024))) {
            let (mut both, mut either) = (f, f);
            both.then(&g);
            assert_eq!(either.meet(&g), all().any(|age| g.apply(age) < f.apply(age)));
            for age in all() {
                assert_eq!(both.apply(age), g.apply(f.apply(age)));
                assert_eq!(either.apply(age), f.apply(age).min(g.apply(age)));
                assert!(all().all(|b| both.apply(age.min(b)) == both.apply(age).min(both.apply(b))));
            }
        }
    }
}
