//! Runs a program with its plan, on mbarriers as the definition has them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenflow::Token;
use tokenflow::phases::{AccessKind, Buffer, Guard, Linear, Phase, Plan, Step, Tree, Trips, Unknown};

/// `splitmix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True `a` times out of `b`.
    pub fn chance(&mut self, a: u64, b: u64) -> bool {
        self.below(b) < a
    }
}

/// A fault to be planted into a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// None.
    None,
    /// Rings have one mbarrier less, if they have two.
    Shallow,
    /// Rings that are not sure are taken to be.
    Sure,
    /// No guard has a barrier.
    NoBarriers,
    /// No guard has a fence.
    NoFences,
    /// Numbers in closed form are one more in loops.
    Numbers,
    /// The first phase of an await is not waited for.
    NoWait,
    /// A phase expects 16 bytes more.
    Bytes,
    /// Threads never wait before they meet at an mbarrier.
    Ahead,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Shallow,
        Self::Sure,
        Self::NoBarriers,
        Self::NoFences,
        Self::Numbers,
        Self::NoWait,
        Self::Bytes,
        Self::Ahead,
    ];
}

/// The most phases that were live together, for each ring.
pub struct Depths {
    pub most: Vec<u64>,
    /// Of all rings together.
    pub together: u64,
}

impl Depths {
    pub fn new(plan: &Plan) -> Self {
        Self {
            most: vec![0; plan.rings.len()],
            together: 0,
        }
    }
}

/// What was seen in a run.
#[derive(Default)]
pub struct Seen {
    pub phases: u64,
    pub waits: u64,
    /// Waits for phases that have no load of the tokens that are awaited.
    pub in_vain: u64,
}

/// A phase of a ring, while the program runs.
#[derive(Default)]
struct Opened {
    bundle: usize,
    /// The instances of loads in it.
    loads: Vec<u64>,
    bytes: u64,
    /// When it was armed, behind how many meetings, and when it was last waited for.
    armed: u64,
    met: u64,
    waited: Option<u64>,
    /// True if no load of it is yet to come.
    closed: bool,
}

struct Runner<'a> {
    tree: &'a Tree,
    plan: &'a Plan,
    rng: &'a mut Rng,
    fault: Fault,
    /// The clock: every event is one step later.
    now: u64,
    last_barrier: u64,
    barriers: Vec<u64>,
    /// The instances of loads that each token stands for.
    tokens: HashMap<Token, BTreeSet<u64>>,
    /// Which number of its ring each phase has; `None`: a complete token.
    numbers: HashMap<Phase, Option<u64>>,
    /// The phases of each ring by number, and how many there are.
    rings: Vec<BTreeMap<u64, Opened>>,
    instances: u64,
    complete: BTreeSet<u64>,
    iterations: HashMap<usize, u64>,
    trips: HashMap<usize, u64>,
    /// When each buffer was last read, written, and written without a fence since; the last is for any buffer.
    read: Vec<u64>,
    written: Vec<u64>,
    unfenced: Vec<bool>,
    fenced: Vec<u64>,
    /// When a load of each buffer was last awaited where threads may differ.
    landed: Vec<u64>,
    /// The buffer of each instance of a load.
    buffers: Vec<Buffer>,
    /// In how many regions it is where threads may differ.
    divergent: u64,
    /// The instances of loads that each token may not stand for in other threads.
    chosen: HashMap<Token, BTreeSet<u64>>,
    /// How many guards threads have met at, and how many of these meetings are known to be over.
    met: u64,
    over: u64,
    steps: u64,
    seen: Seen,
}

/// Runs a program; fails with the first thing that is wrong.
pub fn run(
    tree: &Tree,
    plan: &Plan,
    rng: &mut Rng,
    fault: Fault,
    depths: &mut Depths,
) -> Result<Seen, String> {
    let buffers = tree.buffers + 1;
    let mut runner = Runner {
        tree,
        plan,
        rng,
        fault,
        now: 1,
        last_barrier: 1,
        barriers: Vec::new(),
        tokens: HashMap::new(),
        numbers: HashMap::new(),
        rings: plan.rings.iter().map(|_| BTreeMap::new()).collect(),
        instances: 0,
        complete: BTreeSet::new(),
        iterations: HashMap::new(),
        trips: HashMap::new(),
        read: vec![0; buffers],
        written: vec![0; buffers],
        unfenced: vec![false; buffers],
        fenced: vec![0; buffers],
        landed: vec![0; buffers],
        buffers: Vec::new(),
        divergent: 0,
        chosen: HashMap::new(),
        met: 0,
        over: 0,
        steps: 0,
        seen: Seen::default(),
    };
    runner.block(0)?;
    runner.end(depths)?;
    Ok(runner.seen)
}

impl Runner<'_> {
    fn block(&mut self, block: usize) -> Result<(), String> {
        for (i, step) in self.tree.blocks[block].steps.iter().enumerate() {
            self.steps += 1;
            self.now += 1;
            for (b, bundle) in self.plan.bundles.iter().enumerate() {
                if (bundle.home, bundle.first) == (block, i) {
                    self.open(b)?;
                }
            }
            match step {
                Step::Load { load, token } => self.load(*load, *token)?,
                Step::Await { id, tokens } => self.wait(*id, tokens)?,
                Step::Join { token, of } => {
                    let chosen = of.iter().flat_map(|of| self.chosen_of(*of)).collect();
                    self.chosen.insert(*token, chosen);
                    let all = of.iter().flat_map(|of| self.tokens[of].clone()).collect();
                    self.tokens.insert(*token, all);
                }
                Step::Region(region) => self.region(*region)?,
                Step::Barrier => {
                    self.over = self.met;
                    self.barrier();
                }
                Step::Access { buffer, kind } => self.access(*buffer, *kind),
                Step::Fence | Step::Settle | Step::Store { .. } => unreachable!("not generated"),
            }
            for (b, bundle) in self.plan.bundles.iter().enumerate() {
                if (bundle.home, bundle.last) == (block, i) {
                    self.close(b);
                }
            }
        }
        Ok(())
    }

    /// All loads of a phase have been issued that will be.
    fn close(&mut self, b: usize) {
        let phases = &mut self.rings[self.plan.bundles[b].ring];
        if let Some(opened) = phases.values_mut().rev().find(|opened| opened.bundle == b) {
            opened.closed = true;
        }
    }

    fn barrier(&mut self) {
        self.now += 1;
        self.last_barrier = self.now;
        self.barriers.push(self.now);
    }

    /// Where what happens to a buffer is noted.
    fn place(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Known(buffer) => buffer,
            Buffer::Any => self.tree.buffers,
        }
    }

    /// Where what may have happened to a buffer is noted.
    fn places(&self, buffer: Buffer) -> Vec<usize> {
        match buffer {
            Buffer::Known(buffer) => vec![buffer, self.tree.buffers],
            Buffer::Any => (0..=self.tree.buffers).collect(),
        }
    }

    fn access(&mut self, buffer: Buffer, kind: AccessKind) {
        let place = self.place(buffer);
        if kind == AccessKind::Read {
            self.read[place] = self.now;
        } else {
            self.written[place] = self.now;
            self.unfenced[place] = true;
        }
    }

    fn chosen_of(&self, token: Token) -> BTreeSet<u64> {
        self.chosen.get(&token).cloned().unwrap_or_default()
    }

    /// Threads arrive at an mbarrier: none may be a whole ring of them ahead of the others.
    fn meet(&mut self, load: bool, of: usize) -> Result<(), String> {
        let mut syncs = self.plan.syncs.iter();
        let sync = syncs.find(|sync| (sync.load, sync.of) == (load, of));
        let sync = sync.ok_or("a guard is no meeting")?;
        let before = (self.met + 1).saturating_sub(self.plan.sync_depth());
        if sync.waits && self.fault != Fault::Ahead {
            self.over = self.over.max(before);
        } else if self.over < before {
            return Err(format!(
                "threads may arrive at meeting {} while only {} are known to be over",
                self.met, self.over
            ));
        }
        self.met += 1;
        Ok(())
    }

    fn guard(&mut self, guard: Guard, load: bool, of: usize) -> Result<(), String> {
        if guard.barrier {
            self.meet(load, of)?;
        }
        if guard.fence && self.fault != Fault::NoFences {
            for place in 0..self.unfenced.len() {
                if std::mem::take(&mut self.unfenced[place]) {
                    self.fenced[place] = self.now;
                }
            }
        }
        if guard.barrier && self.fault != Fault::NoBarriers {
            self.barrier();
        }
        Ok(())
    }

    fn depth(&self, ring: usize) -> u64 {
        let depth = self.plan.rings[ring].depth;
        if self.fault == Fault::Shallow {
            depth.saturating_sub(1).max(1)
        } else {
            depth
        }
    }

    fn open(&mut self, b: usize) -> Result<(), String> {
        let bundle = &self.plan.bundles[b];
        let ring = bundle.ring;
        let armed = self.rings[ring].len() as u64;
        let number = armed
            .checked_add_signed(bundle.shift)
            .ok_or("a number is less than 0")?;
        if self.rings[ring].contains_key(&number) {
            return Err(format!("ring {ring} has two phases of number {number}"));
        }
        self.guard(self.plan.guards.phases[b], false, b)?;
        if let Some(linear) = &bundle.number {
            self.check(linear, number, &format!("bundle {b}"))?;
        }
        let sure = self.plan.rings[ring].sure || self.fault == Fault::Sure;
        if let Some(before) = number.checked_sub(self.depth(ring)) {
            let last_barrier = self.last_barrier;
            let before = self.rings[ring]
                .get(&before)
                .ok_or("a slot is armed before its turn")?;
            if !before.closed {
                return Err(format!(
                    "ring {ring} is armed while loads of the slot's last phase are yet to come"
                ));
            }
            match before.waited {
                Some(waited) if waited >= last_barrier => {
                    return Err(format!(
                        "ring {ring} is armed while threads may still wait for the slot's last phase"
                    ));
                }
                None if sure => {
                    return Err(format!(
                        "ring {ring} is armed while the slot's last phase is open"
                    ));
                }
                _ => {}
            }
        }
        self.now += 1;
        self.numbers.insert(Phase::Bundle(b), Some(number));
        let opened = Opened {
            bundle: b,
            armed: self.now,
            met: self.met,
            ..Opened::default()
        };
        self.rings[ring].insert(number, opened);
        self.seen.phases += 1;
        Ok(())
    }

    fn check(&self, linear: &Linear, number: u64, what: &str) -> Result<(), String> {
        let mut value = linear.constant;
        for (unknown, factor) in &linear.factors {
            value += factor
                * match unknown {
                    Unknown::Iteration(region) => self.iterations[region],
                    Unknown::Trips(region) => self.trips[region],
                };
        }
        value += u64::from(self.fault == Fault::Numbers && !linear.factors.is_empty());
        if value == number {
            Ok(())
        } else {
            Err(format!("{what} has number {number}, but {linear:?} is {value}"))
        }
    }

    fn load(&mut self, load: usize, token: Token) -> Result<(), String> {
        self.guard(self.plan.guards.loads[load], true, load)?;
        let buffer = self.tree.loads[load].buffer;
        for place in self.places(buffer) {
            if self.read[place].max(self.written[place]).max(self.fenced[place]) >= self.last_barrier {
                return Err(format!(
                    "load {load} is issued while threads may still access its buffer"
                ));
            }
            if self.landed[place] >= self.last_barrier {
                return Err(format!(
                    "load {load} is issued while only some threads know that the last one has landed"
                ));
            }
            if self.unfenced[place] {
                return Err(format!("load {load} writes what was written without a fence"));
            }
        }
        let bundles = &self.plan.bundles;
        let b = bundles
            .iter()
            .position(|bundle| bundle.loads.contains(&load))
            .ok_or("a load has no phase")?;
        let number = self
            .numbers
            .get(&Phase::Bundle(b))
            .copied()
            .flatten()
            .ok_or("a load has no open phase")?;
        let phase = self.rings[bundles[b].ring].get_mut(&number);
        let phase = phase.ok_or("a load has no phase of its number")?;
        if phase.bundle != b || phase.waited.is_some() {
            return Err(format!("load {load} joins a phase that is over"));
        }
        let instance = self.instances;
        self.instances += 1;
        self.buffers.push(buffer);
        self.chosen.remove(&token);
        phase.loads.push(instance);
        phase.bytes += self.tree.loads[load].bytes;
        self.tokens.insert(token, BTreeSet::from([instance]));
        Ok(())
    }

    fn wait(&mut self, id: usize, tokens: &[Token]) -> Result<(), String> {
        let wanted: BTreeSet<u64> = tokens
            .iter()
            .flat_map(|token| self.tokens[token].clone())
            .collect();
        for token in tokens {
            let some = if self.divergent > 0 {
                self.tokens[token].clone()
            } else {
                self.chosen_of(*token)
            };
            for instance in some.difference(&self.complete).copied().collect::<Vec<u64>>() {
                let place = self.place(self.buffers[instance as usize]);
                self.landed[place] = self.now;
            }
        }
        let phases = &self.plan.awaits[id];
        for &phase in phases.iter().skip(usize::from(self.fault == Fault::NoWait)) {
            self.now += 1;
            let (ring, linear) = match phase {
                Phase::Bundle(b) => (self.plan.bundles[b].ring, &self.plan.bundles[b].number),
                Phase::Var(v) => (self.plan.vars[v].ring, &self.plan.vars[v].number),
            };
            let Some(number) = *self
                .numbers
                .get(&phase)
                .ok_or("a wait for a phase that was never handed on")?
            else {
                continue;
            };
            if let Some(linear) = linear {
                self.check(linear, number, &format!("{phase:?}"))?;
            }
            let armed = self.rings[ring].len() as u64;
            let in_turn = armed.saturating_sub(number) <= self.depth(ring);
            if !in_turn || !self.rings[ring].contains_key(&number) {
                return Err(format!(
                    "await {id} waits for phase {number} of ring {ring}, which has armed {armed}"
                ));
            }
            self.over(ring, number)?;
            let opened = self.rings[ring].get_mut(&number).expect("just looked up");
            let own = opened.loads.iter().any(|load| wanted.contains(load));
            if !own && !opened.loads.is_empty() && !self.plan.bundles[opened.bundle].loads.is_empty() {
                // Alternatives of several phases each are waited for together.
                self.seen.in_vain += 1;
            }
            self.over = self.over.max(opened.met);
            self.complete.extend(&opened.loads);
            opened.waited = Some(self.now);
            self.seen.waits += 1;
        }
        match wanted.iter().find(|instance| !self.complete.contains(instance)) {
            Some(instance) => Err(format!("load {instance} is in flight behind await {id}")),
            None => Ok(()),
        }
    }

    /// Checks that a phase is over once its loads have landed.
    fn over(&self, ring: usize, number: u64) -> Result<(), String> {
        let opened = &self.rings[ring][&number];
        let expected = self.plan.bundles[opened.bundle].bytes;
        let expected = expected.map(|bytes| bytes + 16 * u64::from(self.fault == Fault::Bytes));
        match expected {
            Some(bytes) if bytes != opened.bytes => Err(format!(
                "phase {number} of ring {ring} expects {bytes} bytes and gets {}",
                opened.bytes
            )),
            _ => Ok(()),
        }
    }

    fn region(&mut self, region: usize) -> Result<(), String> {
        let it = &self.tree.regions[region];
        let trips = match it.trips {
            Trips::Constant(trips) => Some(trips),
            Trips::Counted => Some(self.rng.below(6)),
            Trips::Free => None,
        };
        let divergent = self.diverges(region);
        self.divergent += u64::from(divergent);
        let mut at: Option<usize> = None;
        let mut runs = 0;
        loop {
            let edges: Vec<usize> = (0..it.edges.len()).filter(|&e| it.edges[e].from == at).collect();
            let enough = self.steps > 400;
            let possible: Vec<usize> = edges
                .iter()
                .copied()
                .filter(|&e| match (trips, it.edges[e].to) {
                    (Some(trips), Some(_)) => runs < trips,
                    (Some(trips), None) => runs == trips,
                    (None, to) => !enough || to.is_none() || !edges.iter().any(|&e| it.edges[e].to.is_none()),
                })
                .collect();
            let edge = possible[self.rng.below(possible.len() as u64) as usize];
            self.take(region, edge, divergent);
            at = it.edges[edge].to;
            let Some(to) = at else { break };
            self.iterations.insert(region, runs);
            runs += 1;
            self.block(it.blocks[to])?;
        }
        self.trips.insert(region, runs);
        self.divergent -= u64::from(divergent);
        Ok(())
    }

    /// Returns true if threads may differ in a region: not where all meet inside.
    fn diverges(&self, region: usize) -> bool {
        let it = &self.tree.regions[region];
        let mut work = it.blocks.clone();
        while let Some(block) = work.pop() {
            for step in &self.tree.blocks[block].steps {
                match step {
                    Step::Load { .. } | Step::Barrier => return false,
                    Step::Region(inner) => work.extend(&self.tree.regions[*inner].blocks),
                    _ => {}
                }
            }
        }
        it.divergent
    }

    /// What a token may be bound to by the edges of a region, of what they don't bind themselves.
    fn sources(&self, region: usize, token: Token) -> BTreeSet<Token> {
        let edges = &self.tree.regions[region].edges;
        let (mut sources, mut seen, mut work) = (BTreeSet::new(), BTreeSet::new(), vec![token]);
        while let Some(token) = work.pop() {
            if !seen.insert(token) {
                continue;
            }
            let bindings = edges.iter().flat_map(|edge| &edge.bindings);
            let from: Vec<Token> = bindings
                .filter(|(_, to)| *to == token)
                .map(|(from, _)| *from)
                .collect();
            if from.is_empty() {
                sources.insert(token);
            }
            work.extend(from);
        }
        sources
    }

    /// Binds what an edge binds, all at once.
    fn take(&mut self, region: usize, edge: usize, divergent: bool) {
        let bindings = &self.tree.regions[region].edges[edge].bindings;
        let chosen: Vec<(Token, BTreeSet<u64>)> = bindings
            .iter()
            .map(|&(from, to)| {
                let all = divergent && self.sources(region, to).len() > 1;
                (
                    to,
                    if all {
                        self.tokens[&from].clone()
                    } else {
                        self.chosen_of(from)
                    },
                )
            })
            .collect();
        self.chosen.extend(chosen);
        let bindings = bindings.iter();
        let tokens: Vec<(Token, BTreeSet<u64>)> = bindings
            .map(|(from, to)| (*to, self.tokens[from].clone()))
            .collect();
        self.tokens.extend(tokens);
        let vars = self.plan.vars.iter().enumerate();
        let numbers: Vec<(Phase, Option<u64>)> = vars
            .flat_map(|(v, var)| var.bound.iter().map(move |bound| (v, bound)))
            .filter(|(_, bound)| (bound.region, bound.edge) == (region, edge))
            .map(|(v, bound)| {
                let number = bound
                    .phase
                    .and_then(|phase| self.numbers.get(&phase).copied().flatten());
                (Phase::Var(v), number)
            })
            .collect();
        self.numbers.extend(numbers);
    }

    fn end(&mut self, depths: &mut Depths) -> Result<(), String> {
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for (ring, phases) in self.rings.iter().enumerate() {
            let sure = self.plan.rings[ring].sure || self.fault == Fault::Sure;
            for (&number, opened) in phases {
                self.over(ring, number)?;
                let drained = !sure && number + self.depth(ring) >= phases.len() as u64;
                let armed_again = !sure && !drained;
                if opened.waited.is_none() && !drained && !armed_again {
                    return Err(format!("phase {number} of ring {ring} is in flight at the end"));
                }
                // Live until the first barrier behind the last wait.
                let free = opened
                    .waited
                    .and_then(|waited| self.barriers.iter().find(|&&barrier| barrier > waited));
                let later = phases.range(number..).map(|(_, later)| later);
                let live = later.filter(|later| free.is_none_or(|&free| later.armed < free));
                depths.most[ring] = depths.most[ring].max(live.count() as u64);
                changes.push((opened.armed, 1));
                let armed = || phases.get(&(number + self.depth(ring))).map(|later| later.armed);
                changes.extend(free.copied().or_else(armed).map(|free| (free, -1)));
            }
        }
        changes.sort_unstable();
        let mut live = 0;
        for (_, change) in changes {
            live += change;
            depths.together = depths.together.max(live.unsigned_abs());
        }
        Ok(())
    }
}
