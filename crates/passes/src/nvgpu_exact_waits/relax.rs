//! Decides whether an explicit count may be relaxed. The copies that it completes and the exact count doesn't
//! must still be completed, before anything may access what they write, by a wait whose token names them.
//!
//! Notation: *w* is a wait with an explicit count, *s* a copy that it completes and the exact count leaves in flight. A wait
//! names *s* if its token can come from the token of *s* or from that of a group that *s* may be in.
//!
//! The rule. *w* is relaxed if, for each of its *s*,
//!
//! on some path from *w* on, a wait names *s*, and on none of them comes, before such a wait, an operation that may
//! access the buffer that *s* writes, or the end of a function that leaves the buffer to others. In a loop whose tokens rotate, that wait is *w*
//! itself, some iterations later, and rows of the buffer take turns: they are compared by iteration ([`super::rotation`]).
//!
//! Other asynchronous copies into the buffer don't count as accesses: what *s* wrote would have been read before.
//!
//! Cost: for each explicit count that is to be relaxed, the blocks between it and the waits that name its copies.

use super::rotation::Rotation;
use crate::analysis::buffer_slices::{Access, BufferSlice, access, destination};
use crate::analysis::skeleton::Skeleton;
use async_mlir::ir::{Op, Value};
use async_mlir::names::nvgpu;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use tokenflow::{Await, FlatCfg, InFlightOperations, Item, Operations, Site, Token};

/// Why an explicit count must stay.
pub(super) enum Reason<'c> {
    /// No wait names the copy from here on.
    NeverNamed(Op<'c>),
    /// The copy's buffer may be accessed before a wait names the copy.
    Accessed {
        /// The copy.
        copy: Op<'c>,
        /// What may access its buffer; the end of the function if there is none.
        by: Option<Op<'c>>,
    },
    /// It may complete copies that a called function issues.
    Calls,
    /// What it completes depends on too many other waits.
    Undecided,
}

/// Answers for one program.
pub(super) struct Relaxation<'a, 'c> {
    skeleton: &'a Skeleton<'c>,
    flat: &'a FlatCfg<'a>,
    places: FxHashMap<Await, (usize, usize)>,
    /// Where each token flows to.
    flows: FxHashMap<Token, Vec<Token>>,
    /// The waits that use each token.
    waits: FxHashMap<Token, Vec<Await>>,
    /// The tokens of the groups that each copy may be in.
    groups: FxHashMap<Site, Vec<Token>>,
    /// What each copy writes, if that is known.
    writes: Vec<Option<Written<'c>>>,
}

/// What a copy writes.
#[derive(Clone, Copy)]
struct Written<'c> {
    place: BufferSlice<'c>,
    /// True if nothing but operations that are handed the buffer can access it.
    private: bool,
}

/// The waits that name each of some copies, and the other way round.
#[derive(Default)]
struct Names {
    by_site: BTreeMap<Site, FxHashSet<Await>>,
    by_wait: FxHashMap<Await, Vec<Site>>,
}

impl<'a, 'c> Relaxation<'a, 'c> {
    pub fn new(skeleton: &'a Skeleton<'c>, flat: &'a FlatCfg<'a>, flight: &InFlightOperations) -> Self {
        let mut flows: FxHashMap<Token, Vec<Token>> = FxHashMap::default();
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            flows.entry(from).or_default().push(to);
        }
        let mut waits: FxHashMap<Token, Vec<Await>> = FxHashMap::default();
        for (op, w) in skeleton.awaits.iter().zip(0..) {
            if op.is(nvgpu::DEVICE_ASYNC_WAIT) {
                waits
                    .entry(skeleton.tokens[&op.operand(0)])
                    .or_default()
                    .push(Await(w));
            }
        }
        let mut groups: FxHashMap<Site, Vec<Token>> = FxHashMap::default();
        for (token, sites) in &flight.groups {
            for &site in sites {
                groups.entry(site).or_default().push(*token);
            }
        }
        let mut private: FxHashMap<Value, bool> = FxHashMap::default();
        let writes = skeleton.sites.iter().map(|copy| {
            let place = destination(*copy)?;
            let private = *private
                .entry(place.base())
                .or_insert_with(|| place.is_non_escaping());
            Some(Written { place, private })
        });
        Self {
            writes: writes.collect(),
            skeleton,
            flat,
            places: flat.awaits(),
            flows,
            waits,
            groups,
        }
    }

    /// Returns why wait `w`, whose explicit count completes `more` than the exact one, must stay; `None` if it may go. With the exact one, it
    /// leaves so many groups `pending`; `None` if that is not known.
    pub fn reason_to_keep(&self, w: Await, more: &Operations, pending: Option<u8>) -> Option<Reason<'c>> {
        if more.unknown {
            return Some(Reason::Calls);
        }
        let mut names = Names::default();
        for &site in &more.sites {
            let waits = self.namers(site);
            if waits.is_empty() {
                return Some(Reason::NeverNamed(self.copy(site)));
            }
            for &wait in &waits {
                names.by_wait.entry(wait).or_default().push(site);
            }
            names.by_site.insert(site, waits);
        }
        if names.by_site.is_empty() {
            return None;
        }
        let wait = self.skeleton.awaits[w.0 as usize];
        let rotation = pending.and_then(|pending| Rotation::new(wait, pending));
        self.walk(w, &names, rotation.as_ref())
    }

    fn copy(&self, site: Site) -> Op<'c> {
        self.skeleton.sites[site.0 as usize]
    }

    /// Returns the waits that name `site`.
    fn namers(&self, site: Site) -> FxHashSet<Await> {
        let result: Option<Value> = self.copy(site).results().next();
        let token = result.and_then(|value| self.skeleton.tokens.get(&value).copied());
        let groups = self.groups.get(&site).into_iter().flatten().copied();
        let mut work: Vec<Token> = token.into_iter().chain(groups).collect();
        let mut seen: FxHashSet<Token> = work.iter().copied().collect();
        let mut namers = FxHashSet::default();
        while let Some(token) = work.pop() {
            namers.extend(self.waits.get(&token).into_iter().flatten());
            for &to in self.flows.get(&token).into_iter().flatten() {
                if seen.insert(to) {
                    work.push(to);
                }
            }
        }
        namers
    }

    /// Follows all paths from `w` on, each copy until a wait names it.
    fn walk(&self, w: Await, names: &Names, rotation: Option<&Rotation<'c>>) -> Option<Reason<'c>> {
        let (block, place) = self.places[&w];
        let mut named: FxHashSet<Site> = FxHashSet::default();
        let mut seen: FxHashMap<usize, FxHashSet<Site>> = FxHashMap::default();
        let start = self.pending(names.by_site.keys().copied());
        let mut work = vec![(block, place + 1, start)];
        while let Some((b, from, mut pending)) = work.pop() {
            let reason = self.block(b, from, (names, rotation), &mut pending, &mut named);
            if reason.is_some() {
                return reason;
            }
            if pending.is_empty() {
                continue;
            }
            for &to in &self.flat.blocks[b].next {
                let seen = seen.entry(to).or_default();
                let news: Vec<Site> = pending.sites().filter(|&site| seen.insert(site)).collect();
                if !news.is_empty() {
                    work.push((to, 0, self.pending(news.into_iter())));
                }
            }
        }
        let unnamed = names.by_site.keys().find(|site| !named.contains(site));
        unnamed.map(|&site| Reason::NeverNamed(self.copy(site)))
    }

    /// Follows one block; stops at an access to what a pending copy writes.
    fn block(
        &self,
        b: usize,
        from: usize,
        (names, rotation): (&Names, Option<&Rotation<'c>>),
        pending: &mut Pending<'c>,
        named: &mut FxHashSet<Site>,
    ) -> Option<Reason<'c>> {
        let block = &self.flat.blocks[b];
        for item in &block.items[from..] {
            let Item::Await { site: at, .. } = item else {
                continue;
            };
            if let Some(sites) = names.by_wait.get(at) {
                for &site in sites {
                    pending.remove(site);
                    named.insert(site);
                }
                if pending.is_empty() {
                    return None;
                }
            }
            let op = self.skeleton.awaits[at.0 as usize];
            let keeps_apart =
                |site| rotation.is_some_and(|rotation| rotation.keeps_apart(self.copy(site), op));
            if let Some(site) = pending.accessed(&access(op), keeps_apart) {
                return Some(Reason::Accessed {
                    copy: self.copy(site),
                    by: Some(op),
                });
            }
        }
        if !block.ends {
            return None;
        }
        let left = pending.sites().find(|&site| pending.outlives_function(site));
        left.map(|site| Reason::Accessed {
            copy: self.copy(site),
            by: None,
        })
    }

    fn pending(&self, sites: impl Iterator<Item = Site>) -> Pending<'c> {
        Pending(sites.map(|site| (site, self.writes[site.0 as usize])).collect())
    }
}

/// Copies in flight that no wait has named yet, and what they write if that is known.
struct Pending<'c>(BTreeMap<Site, Option<Written<'c>>>);

impl<'c> Pending<'c> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn remove(&mut self, site: Site) {
        self.0.remove(&site);
    }

    fn sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.0.keys().copied()
    }

    /// Returns a copy whose buffer `access` may touch, and which it is not known to be kept apart from.
    fn accessed(&self, access: &Access<'c>, keeps_apart: impl Fn(Site) -> bool) -> Option<Site> {
        let touches = |written: Written<'c>| match access {
            Access::Nothing => false,
            Access::Anything => !written.private,
            Access::Slices(slices) => slices.iter().any(|slice| {
                let known = !written.private || slice.base() == written.place.base();
                known && slice.may_alias(written.place)
            }),
        };
        if matches!(access, Access::Nothing) {
            return None;
        }
        self.0
            .iter()
            .find(|(site, written)| written.is_none_or(touches) && !keeps_apart(**site))
            .map(|(site, _)| *site)
    }

    fn outlives_function(&self, site: Site) -> bool {
        self.0
            .get(&site)
            .copied()
            .flatten()
            .is_none_or(|written| written.place.outlives_function())
    }
}
