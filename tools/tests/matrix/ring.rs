//! The circular buffer that all kernels share: so many loads ahead, tokens that rotate, a body for each tile.

use crate::text::{TOKEN, Text, Value};

/// Whether the next load is issued before the oldest one is awaited, or after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Await, then load.
    AwaitFirst,
    /// Load, then await.
    LoadFirst,
}

/// How the loop ends, after whose last tile nothing is left to load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// Loads are guarded in the loop, which has an iteration for every tile.
    Guarded,
    /// The loop has an iteration for every tile that it loads; those that are left come in an epilogue.
    Split,
}

/// What the loop is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// `scf.for`
    For,
    /// `scf.while`
    While,
}

/// Issues the loads of a tile, and returns their tokens.
pub type Issue<'a> = dyn Fn(&mut Text, &str) -> Vec<String> + 'a;
/// Uses a tile, and returns what is carried on. The last says whether the tile may reach beyond the end.
pub type Body<'a> = dyn Fn(&mut Text, &str, &[String], bool) -> Vec<String> + 'a;

/// A pipelined loop.
pub struct Ring<'a> {
    /// How many tiles are loaded ahead.
    pub prefetch: usize,
    /// See there.
    pub order: Order,
    /// See there.
    pub tail: Tail,
    /// See there.
    pub kind: Loop,
    /// The number of tiles.
    pub tiles: &'a str,
    /// The number of tiles of which it is known that they do not reach beyond the end, if those are done apart.
    pub full: Option<&'a str>,
    /// How many tokens a tile has.
    pub tokens: usize,
    /// True if threads copy, too, whose copies others read.
    pub copies: bool,
    /// True if the body stores from a buffer that threads have written, before which all of them meet.
    pub meets: bool,
    /// See there.
    pub issue: &'a Issue<'a>,
    /// See there.
    pub body: &'a Body<'a>,
}

impl Ring<'_> {
    /// The mbarriers that it takes: a phase needs one from where it is opened to the first barrier after its last wait.
    ///
    /// With `p` tiles ahead, `p` phases are open when an iteration starts. If it awaits the oldest one first, the barrier
    /// that keeps the next load from its slot comes before that load, which takes the mbarrier of the phase that is over.
    /// If it loads first, the `p` phases and the new one are open together. So they are if the body has a barrier, too: it
    /// keeps the next load from its slot, which then needs none of its own.
    pub fn mbarriers(&self) -> usize {
        match self.order {
            _ if self.prefetch == 0 => 1,
            Order::AwaitFirst if !self.meets => self.prefetch,
            Order::AwaitFirst | Order::LoadFirst => self.prefetch + 1,
        }
    }

    /// Writes it; `carried` are the values that the body hands on.
    pub fn emit(&self, text: &mut Text, carried: &[Value]) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for tile in 0..self.prefetch {
            let tile = text.constant(tile);
            values.extend(self.issue_guarded(text, &tile).into_iter().map(Value::token));
        }
        values.extend_from_slice(carried);
        match self.full {
            Some(full) => self.unswitched(text, full, &values),
            None if self.tail == Tail::Split && self.prefetch > 0 => self.split(text, &values),
            None => self.guarded(text, &values),
        }
    }

    fn issue_guarded(&self, text: &mut Text, tile: &str) -> Vec<String> {
        let more = text.less(tile, self.tiles);
        let kinds = vec![TOKEN.to_owned(); self.tokens];
        let ready = |text: &mut Text| (0..self.tokens).map(|_| text.def("async.ready")).collect();
        text.if_else(&more, &kinds, |text| (self.issue)(text, tile), ready)
    }

    /// The loop over the first tiles.
    fn main_loop(
        &self,
        text: &mut Text,
        to: &str,
        carried: &[Value],
        guard: bool,
        checked: bool,
    ) -> Vec<Value> {
        let body =
            |text: &mut Text, tile: &str, args: &[String]| self.iteration(text, tile, args, guard, checked);
        let (zero, one) = (text.constant(0), text.constant(1));
        let names = match self.kind {
            Loop::For => text.for_loop((&zero, to, &one), carried, body),
            Loop::While => text.while_loop(to, carried, body),
        };
        let named = names.into_iter().zip(carried);
        named
            .map(|(name, value)| Value::new(name, &*value.kind))
            .collect()
    }

    fn iteration(
        &self,
        text: &mut Text,
        tile: &str,
        args: &[String],
        guard: bool,
        checked: bool,
    ) -> Vec<String> {
        let (tokens, carried) = args.split_at(self.prefetch * self.tokens);
        if self.prefetch == 0 {
            let new = (self.issue)(text, tile);
            self.wait(text, &new);
            let next = (self.body)(text, tile, carried, checked);
            self.meet(text);
            return next;
        }
        let (oldest, younger) = tokens.split_at(self.tokens);
        let issue = |text: &mut Text| {
            let ahead = text.constant(self.prefetch);
            let ahead = text.index("addi", tile, &ahead);
            if guard {
                self.issue_guarded(text, &ahead)
            } else {
                (self.issue)(text, &ahead)
            }
        };
        let new = match self.order {
            Order::AwaitFirst => {
                self.wait(text, oldest);
                issue(text)
            }
            Order::LoadFirst => {
                let new = issue(text);
                self.wait(text, oldest);
                new
            }
        };
        let next = (self.body)(text, tile, carried, checked);
        if self.order == Order::LoadFirst {
            self.meet(text);
        }
        [younger, &new, &next].concat()
    }

    /// Awaits a tile; copies of the threads are seen by others after a barrier.
    fn wait(&self, text: &mut Text, tokens: &[String]) {
        text.line(format!("async.await {}", tokens.join(", ")));
        self.meet(text);
    }

    /// Where threads copy, the program itself sees to it that they meet.
    fn meet(&self, text: &mut Text) {
        if self.copies {
            text.line("gpu.barrier");
        }
    }

    fn guarded(&self, text: &mut Text, values: &[Value]) -> Vec<Value> {
        let left = self.main_loop(text, self.tiles, values, true, true);
        let (tokens, carried) = left.split_at(self.prefetch * self.tokens);
        if !tokens.is_empty() {
            // All of them are complete: nothing was loaded.
            let names: Vec<&str> = tokens.iter().map(|token| &*token.name).collect();
            text.line(format!("async.await {}", names.join(", ")));
        }
        carried.to_vec()
    }

    fn split(&self, text: &mut Text, values: &[Value]) -> Vec<Value> {
        let ahead = text.constant(self.prefetch);
        let most = text.index("maxui", self.tiles, &ahead);
        let loaded = text.index("subi", &most, &ahead);
        let left = self.main_loop(text, &loaded, values, false, true);
        let (tokens, carried) = left.split_at(self.prefetch * self.tokens);
        let mut carried = carried.to_vec();
        for (i, tokens) in tokens.chunks(self.tokens).enumerate() {
            let names: Vec<String> = tokens.iter().map(|token| token.name.clone()).collect();
            self.wait(text, &names);
            let i = text.constant(i);
            let tile = text.index("addi", &loaded, &i);
            carried = self.last_tile(text, self.tiles, &tile, &carried);
        }
        carried
    }

    fn unswitched(&self, text: &mut Text, full: &str, values: &[Value]) -> Vec<Value> {
        let left = self.main_loop(text, full, values, true, false);
        let (tokens, carried) = left.split_at(self.prefetch * self.tokens);
        if self.prefetch > 0 {
            let names: Vec<String> = tokens[..self.tokens]
                .iter()
                .map(|token| token.name.clone())
                .collect();
            self.wait(text, &names);
            return self.last_tile(text, self.tiles, full, carried);
        }
        let partial = text.less(full, self.tiles);
        let kinds: Vec<String> = carried.iter().map(|value| value.kind.clone()).collect();
        let names: Vec<String> = carried.iter().map(|value| value.name.clone()).collect();
        let then = |text: &mut Text| {
            let new = (self.issue)(text, full);
            self.wait(text, &new);
            (self.body)(text, full, &names, true)
        };
        let next = text.if_else(&partial, &kinds, then, |_| names.clone());
        next.into_iter()
            .zip(kinds)
            .map(|(name, kind)| Value::new(name, kind))
            .collect()
    }

    /// The body of a tile, if there is one.
    fn last_tile(&self, text: &mut Text, tiles: &str, tile: &str, carried: &[Value]) -> Vec<Value> {
        let there = text.less(tile, tiles);
        let kinds: Vec<String> = carried.iter().map(|value| value.kind.clone()).collect();
        let names: Vec<String> = carried.iter().map(|value| value.name.clone()).collect();
        let then = |text: &mut Text| (self.body)(text, tile, &names, true);
        let next = text.if_else(&there, &kinds, then, |_| names.clone());
        next.into_iter()
            .zip(kinds)
            .map(|(name, kind)| Value::new(name, kind))
            .collect()
    }
}
