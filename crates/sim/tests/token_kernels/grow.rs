//! From a source of bytes to statements.

use super::Profile;
use super::source::Source;
use super::stmt::{Bound, Carry, Condition, FLAGS, For, Issue, Lane, ROWS, SLOTS, Stmt, View};

/// Types of loop variables.
const TYPES: [&str; 5] = ["index", "i32", "i64", "i8", "i16"];
/// Known numbers of iterations: most of those that are peeled.
const TRIPS: [u8; 16] = [2, 3, 4, 0, 1, 2, 3, 4, 2, 3, 5, 6, 8, 9, 12, 2];
const VIEWS: [View; 5] = [View::Plain, View::Subview, View::Flat, View::Recast, View::Beyond];

/// What grows statements.
pub struct Grower<'a, S: ?Sized> {
    pub source: &'a mut S,
    pub profile: Profile,
    /// How many statements there may still be.
    pub room: usize,
}

impl<S: Source + ?Sized> Grower<'_, S> {
    /// Statements inside of so many others.
    pub fn body(&mut self, depth: usize) -> Vec<Stmt> {
        let most = if depth == 0 { 10 } else { 6 };
        let count = self.source.below(most);
        let mut body = Vec::new();
        for _ in 0..count {
            if self.room == 0 {
                break;
            }
            self.room -= 1;
            if depth < 2 && self.source.one_in(4) {
                self.pipeline(depth, &mut body);
            } else {
                body.push(self.stmt(depth));
            }
        }
        body
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        let nests = self.source.below(8) >= 5 && depth < 3;
        if nests { self.nest(depth) } else { self.leaf() }
    }

    fn slot(&mut self) -> usize {
        self.source.below(SLOTS)
    }

    fn leaf(&mut self) -> Stmt {
        let uniform = self.profile.uniform;
        match self.source.below(32) {
            0..=8 => Stmt::Fill(self.slot(), self.issue(), self.view()),
            9..=14 => {
                let slots = (0..=self.source.below(3)).map(|_| self.slot()).collect();
                Stmt::Use(slots, self.source.one_in(2), self.view(), self.lane())
            }
            15 => Stmt::Select(self.condition(), self.slot(), self.slot()),
            16 => Stmt::Put(self.slot()),
            17..=18 => Stmt::Await(self.slot()),
            19 => Stmt::AwaitOld(self.source.byte()),
            20 => Stmt::Ready(self.slot()),
            21..=22 => Stmt::Rotate,
            23 if self.source.one_in(2) => Stmt::Count(self.source.pick(&[0, 1, 2, 3, 4])),
            23 => Stmt::Set(self.source.below(FLAGS), self.condition()),
            31 if self.profile.counted && self.source.one_in(4) => Stmt::Pass(self.slot()),
            24 if self.profile.counted => Stmt::Copy,
            25 if self.profile.counted => Stmt::Commit,
            26 if self.profile.counted => Stmt::Wait(self.source.pick(&[0, 1, 2, 3, 5])),
            27 if self.profile.lanes => Stmt::Made(self.source.one_in(2), self.lane()),
            27..=29 if self.profile.stores => Stmt::Store(self.slot(), self.source.below(ROWS)),
            30 if uniform => Stmt::Barrier,
            _ => Stmt::Write(self.source.one_in(2)),
        }
    }

    fn issue(&mut self) -> Issue {
        if self.profile.bulk && self.source.one_in(2) {
            return Issue::Bulk;
        }
        self.source.pick(&[
            Issue::Awaited,
            Issue::Awaited,
            Issue::Awaited,
            Issue::Depends,
            Issue::Region,
        ])
    }

    fn view(&mut self) -> View {
        // Where others don't read it, it does not matter where a slot is.
        let most = if self.profile.lanes { 5 } else { 4 };
        self.source.pick(&VIEWS[..most])
    }

    fn lane(&mut self) -> Lane {
        if self.profile.lanes {
            self.source.pick(&[Lane::Own, Lane::Mirrored, Lane::Next])
        } else {
            Lane::Own
        }
    }

    fn condition(&mut self) -> Condition {
        let bit = self.source.byte();
        match self.source.below(8) {
            _ if self.profile.independent => Condition::Drawn(bit),
            0 => Condition::Constant(bit.is_multiple_of(2)),
            1 => Condition::Narrow(bit.is_multiple_of(2)),
            2..=3 => Condition::Drawn(bit),
            4..=6 => Condition::Flag(usize::from(bit) % FLAGS),
            _ => Condition::Iteration(bit % 4),
        }
    }

    fn bound(&mut self) -> Bound {
        let number = self.source.byte();
        match self.source.below(8) {
            _ if self.profile.independent => Bound::Drawn(number),
            0..=3 => Bound::Constant(TRIPS[usize::from(number) % TRIPS.len()]),
            4 => Bound::Drawn(number),
            5 => Bound::Counted,
            6 => Bound::Iteration,
            _ => Bound::Product(TRIPS[usize::from(number) % TRIPS.len()]),
        }
    }

    fn carry(&mut self) -> Carry {
        let bits = self.source.byte();
        if bits % 4 == 3 {
            return Carry::default();
        }
        Carry {
            slots: std::array::from_fn(|slot| bits >> (2 + slot) & 1 == 0),
            rows: self.profile.stores && bits & 1 == 0,
            flags: bits & 2 == 0,
        }
    }

    fn arms(&mut self, count: usize, depth: usize) -> Vec<Vec<Stmt>> {
        (0..count).map(|_| self.body(depth + 1)).collect()
    }

    fn nest(&mut self, depth: usize) -> Stmt {
        match self.source.below(if self.profile.blocks { 16 } else { 13 }) {
            0..=1 => Stmt::If(self.condition(), self.carry(), self.arms(2, depth)),
            2..=3 => Stmt::If(self.condition(), Carry::default(), self.arms(1, depth)),
            4..=8 => Stmt::For(self.counted(depth)),
            9 => Stmt::While(
                self.bound(),
                self.carry(),
                self.source.one_in(2),
                self.body(depth + 1),
            ),
            10..=11 => {
                let count = 1 + self.source.below(3);
                Stmt::Switch(self.bound(), self.carry(), self.arms(count, depth))
            }
            12 => Stmt::Region(self.carry(), self.body(depth + 1)),
            13..=14 => Stmt::Branch(self.condition(), self.carry(), self.arms(2, depth)),
            _ => Stmt::Blocks(self.bound(), self.condition(), self.carry(), self.arms(2, depth)),
        }
    }

    /// Copies ahead, and a loop in which slots take turns.
    fn pipeline(&mut self, depth: usize, body: &mut Vec<Stmt>) {
        for slot in 0..self.source.below(SLOTS) {
            body.push(Stmt::Fill(slot, self.issue(), View::Plain));
        }
        let mut counted = self.counted(depth);
        counted.carry.slots = [true; SLOTS];
        if !self.profile.independent && self.source.one_in(2) {
            counted.trips = Bound::Constant(self.source.pick(&TRIPS));
            (counted.triangular, counted.unsigned, counted.lower) = (false, false, 0);
        }
        let mut turn = Vec::new();
        if self.source.one_in(2) {
            let arm = (0..self.source.below(3)).map(|_| self.leaf()).collect();
            turn.push(Stmt::If(self.condition(), Carry::default(), vec![arm]));
        }
        for _ in 0..self.source.below(4) {
            turn.push(match self.source.below(4) {
                0 => self.leaf(),
                1 => Stmt::Fill(self.source.below(SLOTS), self.issue(), View::Plain),
                _ => Stmt::Use(vec![self.source.below(2)], false, View::Plain, self.lane()),
            });
        }
        counted.body.truncate(1);
        counted.body.extend(turn);
        counted.body.push(Stmt::Rotate);
        body.push(Stmt::For(counted));
        for slot in 0..self.source.below(SLOTS) {
            body.push(Stmt::Use(vec![slot], false, View::Plain, self.lane()));
        }
    }

    fn counted(&mut self, depth: usize) -> For {
        let mut carry = self.carry();
        let first = !self.profile.independent && self.source.one_in(2);
        carry.flags |= first;
        let trips = self.bound();
        let counts = matches!(trips, Bound::Counted | Bound::Iteration);
        For {
            trips,
            ty: self.source.pick(if counts { &TYPES[..1] } else { &TYPES }),
            lower: self.source.pick(&[0, 0, 0, 1, 3, -3, 120]),
            step: self.source.pick(&[1, 1, 2, 3]),
            triangular: self.source.below(8) == 7 && !self.profile.independent,
            unsigned: self.source.one_in(4),
            first,
            carry,
            body: self.body(depth + 1),
        }
    }
}
