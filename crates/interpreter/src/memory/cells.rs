//! What is known of the bytes of a buffer: who touched them last, and what may still touch them.
//!
//! Bytes are told apart by *granules* of 4 bytes each, and a page whose bytes are accessed in other ways by smaller ones.
//! Most granules know a few accesses and no more, which takes 16 bytes; the others have a [`Cell`].

use super::accesses::{AccessId, Accesses};
use super::order::Order;
use super::shadow::Actor;
use crate::value::CopyId;
use std::ops::Range;

/// Bytes of a page.
const PAGE: usize = 1024;

/// Bytes of a granule, as a power of 2.
const SHIFT: u32 = 2;

/// What is known of all bytes of a buffer.
#[derive(Default)]
pub(super) struct Shadow {
    /// Of bytes that nobody has touched there is none.
    pages: Vec<Option<Box<Page>>>,
}

/// The granules of some bytes.
struct Page {
    /// The bytes of each, as a power of 2.
    shift: u32,
    cells: Box<[Compact]>,
    /// The cells of those that have one.
    full: Vec<Cell>,
    /// The places of `full` that are not used.
    free: Vec<u32>,
}

/// A granule that knows a few accesses. One that knows more has [`AccessId::RESERVED`] as `write`, and the place of its
/// cell as `last`.
#[derive(Clone, Copy, Default)]
struct Compact {
    /// The last write.
    write: Option<AccessId>,
    /// The last read.
    last: Option<AccessId>,
    /// A read by another thread of its warp, or by another warp: the threads tell. With both there is a cell.
    other: Option<AccessId>,
    /// A read by a block that has ended.
    earlier: Option<AccessId>,
}

impl Shadow {
    /// Knows nothing of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let mut pages = Vec::new();
        pages.resize_with(bytes.div_ceil(PAGE), || None);
        Self { pages }
    }

    /// Makes granules so small that those of `range` have no other byte in them.
    pub fn fit(&mut self, range: &Range<usize>) {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min((start / PAGE + 1) * PAGE);
            let aligned = (start | end).trailing_zeros().min(SHIFT);
            self.pages[start / PAGE]
                .get_or_insert_with(|| Box::new(Page::new(aligned)))
                .refine(aligned);
            start = end;
        }
    }

    /// Takes the first granule off `rest`, which is the end of a range that [`Shadow::fit`] was called for.
    pub fn next(&self, rest: &mut Range<usize>) -> Option<Range<usize>> {
        let start = rest.start;
        if start >= rest.end {
            return None;
        }
        let page = self.pages.get(start / PAGE)?.as_ref()?;
        rest.start += 1 << page.shift;
        Some(start..rest.start)
    }

    /// Takes what is known of a granule; [`Shadow::put`] gives it back.
    pub fn take(&mut self, granule: &Range<usize>, accesses: &Accesses) -> Cell {
        let page = self.pages[granule.start / PAGE].as_deref_mut();
        page.map_or_else(Cell::default, |page| page.take(granule.start % PAGE, accesses))
    }

    pub fn put(&mut self, granule: &Range<usize>, cell: Cell) {
        if let Some(page) = self.pages[granule.start / PAGE].as_deref_mut() {
            page.put(granule.start % PAGE, cell);
        }
    }
}

/// What was done to bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Touch {
    /// They were read.
    Read,
    /// They were written, accessed atomically, or a copy in flight may still write them.
    Write,
}

impl Shadow {
    /// Calls `f` with all accesses that are remembered.
    pub fn each_access(&mut self, f: &mut dyn FnMut(&mut AccessId)) {
        for page in self.pages.iter_mut().flatten() {
            for compact in &mut page.cells {
                let place = compact.place();
                let Compact {
                    write,
                    last,
                    other,
                    earlier,
                } = compact;
                match place {
                    Some(place) => page.full[place].each_access(f),
                    None => [write, last, other, earlier]
                        .into_iter()
                        .flatten()
                        .for_each(&mut *f),
                }
            }
        }
    }

    /// The bytes of the smallest granule.
    pub fn finest(&self) -> usize {
        let shifts = self.pages.iter().flatten().map(|page| page.shift);
        1 << shifts.min().unwrap_or(SHIFT)
    }

    /// All bytes that somebody has touched, granule by granule.
    pub fn touched(&self) -> impl Iterator<Item = (Range<usize>, Touch)> {
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(number, page)| Some((number * PAGE, page.as_deref()?)));
        pages.flat_map(|(first, page)| {
            (0..page.cells.len()).filter_map(move |i| {
                let start = first + (i << page.shift);
                Some((start..start + (1 << page.shift), page.touch(i)?))
            })
        })
    }
}

impl Shadow {
    /// The same, and whether all accesses to a granule were atomic.
    pub fn accessed(&self) -> impl Iterator<Item = (Range<usize>, Touch, bool)> {
        let touched = self.touched();
        touched.map(|(granule, touch)| {
            let page = self.pages[granule.start / PAGE].as_deref();
            let is_atomic = page.is_some_and(|page| page.is_atomic(granule.start % PAGE));
            (granule, touch, is_atomic)
        })
    }
}

impl Page {
    /// Returns true if the granule that has `byte` was accessed atomically, and in no other way.
    fn is_atomic(&self, byte: usize) -> bool {
        let place = self.cells[byte >> self.shift].place();
        place.is_some_and(|place| {
            let cell = &self.full[place];
            cell.atomics.is_some() && cell.write.is_none() && cell.reads.all().next().is_none()
        })
    }

    fn touch(&self, i: usize) -> Option<Touch> {
        let compact = self.cells[i];
        if let Some(place) = compact.place() {
            return self.full[place].touch();
        }
        let read = compact.last.or(compact.other).or(compact.earlier);
        let read = read.map(|_| Touch::Read);
        compact.write.map(|_| Touch::Write).or(read)
    }

    fn new(shift: u32) -> Self {
        Self {
            shift,
            cells: vec![Compact::default(); PAGE >> shift].into(),
            full: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Makes the granules at most so large.
    fn refine(&mut self, shift: u32) {
        if shift >= self.shift {
            return;
        }
        let parts = 1 << (self.shift - shift);
        let mut cells = Vec::with_capacity(self.cells.len() * parts);
        for &cell in &self.cells {
            cells.push(cell);
            for _ in 1..parts {
                let mut copy = cell;
                if let Some(place) = cell.place() {
                    let full = self.full[place].clone();
                    copy = Compact::at(self.full.len());
                    self.full.push(full);
                }
                cells.push(copy);
            }
        }
        self.cells = cells.into();
        self.shift = shift;
    }

    fn take(&mut self, byte: usize, accesses: &Accesses) -> Cell {
        let compact = &self.cells[byte >> self.shift];
        match compact.place() {
            Some(place) => std::mem::take(&mut self.full[place]),
            None => compact.cell(accesses),
        }
    }

    fn put(&mut self, byte: usize, cell: Cell) {
        let compact = &mut self.cells[byte >> self.shift];
        let place = compact.place();
        if let Some(small) = cell.compact() {
            if let Some(place) = place {
                self.free.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
            *compact = small;
            return;
        }
        let place = place.or_else(|| self.free.pop().map(|place| place as usize));
        let place = place.unwrap_or_else(|| {
            self.full.push(Cell::default());
            self.full.len() - 1
        });
        self.full[place] = cell;
        *compact = Compact::at(place);
    }
}

impl Compact {
    /// A granule whose cell is in this place.
    fn at(place: usize) -> Self {
        Self {
            write: Some(AccessId::RESERVED),
            last: Some(AccessId::from_index(u32::try_from(place).unwrap_or(u32::MAX))),
            ..Self::default()
        }
    }

    fn place(&self) -> Option<usize> {
        let full = self.write == Some(AccessId::RESERVED);
        self.last.filter(|_| full).map(AccessId::index)
    }

    fn cell(&self, accesses: &Accesses) -> Cell {
        let same_warp = |(a, b)| accesses.same_warp(a, b);
        let (own, warp) = if self.last.zip(self.other).is_some_and(same_warp) {
            (self.other, None)
        } else {
            (None, self.other)
        };
        Cell {
            write: self.write,
            reads: Recent {
                own: [self.last, own],
                others: [warp, self.earlier],
                each: Vec::new(),
            },
            ..Cell::default()
        }
    }
}

/// What is known of a granule.
#[derive(Clone, Default)]
pub(super) struct Cell {
    /// The last write that is not atomic.
    pub write: Option<AccessId>,
    /// Reads that are not atomic.
    pub reads: Recent,
    /// Atomic accesses, which few bytes have.
    pub atomics: Option<Box<Recent>>,
    /// The copy in flight that writes here.
    pub landing: Option<CopyId>,
    /// A copy in flight that reads here, and how many do.
    pub reading: Option<(CopyId, u32)>,
    /// The copy that wrote last, if it was one, and that is watched.
    pub copied: Option<CopyId>,
    /// Copies that many threads wait for and that have read here.
    pub drained: Vec<AccessId>,
}

impl Cell {
    /// The same in little space, if that is enough.
    fn compact(&self) -> Option<Compact> {
        let Recent {
            own: [last, own],
            others: [warp, earlier],
            each,
        } = &self.reads;
        let plain = self.atomics.is_none()
            && self.landing.is_none()
            && self.reading.is_none()
            && self.copied.is_none()
            && self.drained.is_empty()
            && each.is_empty()
            && !(own.is_some() && warp.is_some());
        plain.then_some(Compact {
            write: self.write,
            last: *last,
            other: own.or(*warp),
            earlier: *earlier,
        })
    }

    fn each_access(&mut self, f: &mut dyn FnMut(&mut AccessId)) {
        self.write.iter_mut().for_each(&mut *f);
        self.reads.each_access(f);
        if let Some(atomics) = &mut self.atomics {
            atomics.each_access(f);
        }
        self.drained.iter_mut().for_each(f);
    }

    fn touch(&self) -> Option<Touch> {
        if self.write.is_some() || self.atomics.is_some() || self.landing.is_some() {
            return Some(Touch::Write);
        }
        let read = self.reads.all().next().is_some() || self.reading.is_some() || !self.drained.is_empty();
        read.then_some(Touch::Read)
    }

    /// The accesses that a write may race with; an atomic one does not with those that are.
    pub fn before_write(&self, atomic: bool) -> impl Iterator<Item = AccessId> {
        let drained = self.drained.iter().copied();
        self.reads.all().chain(drained).chain(self.before_read(atomic))
    }

    /// The atomic accesses that a read may race with.
    pub fn before_read(&self, atomic: bool) -> impl Iterator<Item = AccessId> {
        let atomics = self.atomics.as_deref().filter(|_| !atomic);
        atomics.into_iter().flat_map(Recent::all)
    }

    /// A copy that many threads wait for has read here. Those of earlier eras are after everybody of their block.
    pub fn drain(&mut self, (access, id): (Actor, AccessId), order: &Order, accesses: &Accesses) {
        let block = |actor: &Actor| order.warp(actor.spot.thread).0.0;
        let earlier = &mut self.reads.others[1];
        self.drained.retain(|&id| {
            let before = accesses.actor(id);
            if block(&before) != block(&access) {
                *earlier = Some(id);
            }
            before.moment.era == access.moment.era
        });
        self.drained.push(id);
    }

    /// Forgets all accesses: something else is ordered after them.
    pub fn forget(&mut self) {
        self.reads = Recent::default();
        self.atomics = None;
        self.drained = Vec::new();
    }
}

/// Accesses of one kind that race not with each other: some of each group of threads, so that whoever comes with another
/// kind finds one that it is not ordered with, if there is any.
#[derive(Clone, Default)]
pub(super) struct Recent {
    /// The last one, and one by another thread of its warp since the last barrier.
    own: [Option<AccessId>; 2],
    /// One by another warp since the last block barrier, and one by a block that has ended.
    others: [Option<AccessId>; 2],
    /// The last one of each thread since the last block barrier, by thread: where mbarriers or barriers of some threads of
    /// a warp order threads, a few do not stand for all.
    each: Vec<AccessId>,
}

impl Recent {
    pub fn all(&self) -> impl Iterator<Item = AccessId> {
        let ([a, b], [c, d]) = (self.own, self.others);
        let each = self.each.iter().copied();
        let few = [a, b, c, d].into_iter().flatten();
        few.filter(|id| !self.each.contains(id)).chain(each)
    }

    fn each_access(&mut self, f: &mut dyn FnMut(&mut AccessId)) {
        let few = self.own.iter_mut().chain(&mut self.others).flatten();
        few.chain(&mut self.each).for_each(f);
    }

    /// Keeps an access in the place of the last one of its thread.
    fn keep(&mut self, (access, id): (Actor, AccessId), accesses: &Accesses) {
        let each = &mut self.each;
        if each
            .first()
            .is_some_and(|first| accesses.actor(*first).moment.era != access.moment.era)
        {
            each.clear();
        }
        let thread = |kept: &AccessId| accesses.actor(*kept).spot.thread;
        match each.binary_search_by_key(&access.spot.thread, thread) {
            Ok(place) => each[place] = id,
            Err(place) => each.insert(place, id),
        }
    }

    pub fn add(&mut self, (access, id): (Actor, AccessId), order: &Order, accesses: &Accesses) {
        if !order.is_coarse() {
            self.keep((access, id), accesses);
        }
        let [first, second] = &mut self.own;
        let [warp, block] = &mut self.others;
        let Some(last_id) = first.filter(|last| *last != id) else {
            *first = Some(id);
            return;
        };
        let last = accesses.actor(last_id);
        let same_era = last.moment.era == access.moment.era;
        if same_era && last.spot.thread == access.spot.thread {
            *first = Some(id);
            return;
        }
        let ((old, _), (new, _)) = (order.warp(last.spot.thread), order.warp(access.spot.thread));
        if old.0 != new.0 {
            *block = Some(last_id);
            (*first, *second, *warp) = (Some(id), None, None);
        } else if !same_era {
            (*first, *second, *warp) = (Some(id), None, None);
        } else if old != new {
            (*first, *second, *warp) = (Some(id), None, Some(last_id));
        } else if order.unordered(last, access) {
            *second = Some(id);
        } else {
            (*first, *second) = (Some(id), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::order::Moment;
    use crate::report::Spot;
    use std::num::NonZeroU32;

    fn granules(shadow: &mut Shadow, range: Range<usize>) -> Vec<Range<usize>> {
        shadow.fit(&range);
        let mut rest = range;
        std::iter::from_fn(|| shadow.next(&mut rest)).collect()
    }

    #[test]
    fn granules_are_no_smaller_than_they_have_to_be() {
        let mut shadow = Shadow::new(2 * PAGE);
        assert_eq!(granules(&mut shadow, 4..12), [4..8, 8..12]);
        assert_eq!(granules(&mut shadow, 6..8), vec![Range { start: 6, end: 8 }]);
        // The page is finer now, and the next one is not.
        assert_eq!(
            granules(&mut shadow, PAGE - 4..PAGE + 4),
            [PAGE - 4..PAGE - 2, PAGE - 2..PAGE, PAGE..PAGE + 4]
        );
        assert_eq!(granules(&mut shadow, 3..3), []);
        assert_eq!(shadow.finest(), 2);
    }

    #[test]
    fn parts_of_a_granule_know_what_it_knew() {
        let mut accesses = Accesses::new(32);
        let actor = Actor::plain(
            Spot {
                instr: 0,
                thread: 5,
                iterations: 0,
            },
            Moment::of(NonZeroU32::MIN, 0),
        );
        let id = accesses.number(actor);
        let mut shadow = Shadow::new(PAGE);
        for landing in [None, Some(CopyId(7))] {
            shadow.fit(&(0..4));
            let cell = Cell {
                write: id,
                landing,
                ..Cell::default()
            };
            shadow.put(&(0..4), cell);
            shadow.fit(&(1..2));
            let all: Vec<Cell> = (0..4)
                .map(|byte| shadow.take(&(byte..byte + 1), &accesses))
                .collect();
            assert!(all.iter().all(|cell| cell.write == id && cell.landing == landing));
            shadow = Shadow::new(PAGE);
        }
    }
}
