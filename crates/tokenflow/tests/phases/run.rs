//! Runs a program with its plan, on mbarriers as the definition has them.

use proptest::prelude::Rng;
use proptest::test_runner::TestRng;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenflow::Token;
use tokenflow::phases::{
    AccessKind, AffineExpr, AwaitId, BlockId, Buffer, IndexVec, Inst, LoadId, PhaseId, PhaseValue, Plan,
    RegionOpId, RequiredSync, RingId, Symbol, SyncPoint, Tree, Trips,
};

/// A fault to be planted into a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// None.
    None,
    /// Rings have one mbarrier less, if they have two.
    Shallow,
    /// Rings that are not sure are taken to be.
    Sure,
    /// No sync has a barrier.
    NoBarriers,
    /// No sync has a fence.
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
    pub most: IndexVec<RingId, u64>,
    /// Of all rings together.
    pub together: u64,
}

impl Depths {
    pub fn new(plan: &Plan) -> Self {
        Self {
            most: IndexVec::filled(0, plan.rings.len()),
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
    phase: PhaseId,
    /// The instances of loads in it.
    loads: Vec<u64>,
    bytes: u64,
    /// When it was armed, after how many meetings, and when it was last waited for.
    armed: u64,
    met: u64,
    waited: Option<u64>,
    /// True if no load of it is yet to come.
    closed: bool,
}

struct Runner<'a> {
    tree: &'a Tree,
    plan: &'a Plan,
    rng: &'a mut TestRng,
    fault: Fault,
    /// The clock: every event is one instruction later.
    now: u64,
    last_barrier: u64,
    barriers: Vec<u64>,
    /// The instances of loads that each token stands for.
    tokens: HashMap<Token, BTreeSet<u64>>,
    /// Which number of its ring each phase has; `None`: a complete token.
    numbers: HashMap<PhaseValue, Option<u64>>,
    /// The phases of each ring by number, and how many there are.
    rings: IndexVec<RingId, BTreeMap<u64, Opened>>,
    instances: u64,
    complete: BTreeSet<u64>,
    iterations: HashMap<RegionOpId, u64>,
    trips: HashMap<RegionOpId, u64>,
    /// When each buffer was last read, written, and written without a fence since; the last is for any buffer.
    read: Vec<u64>,
    written: Vec<u64>,
    unfenced: Vec<bool>,
    fenced: Vec<u64>,
    /// When a load of each buffer was last awaited where threads may differ.
    landed: Vec<u64>,
    /// The buffer of each instance of a load.
    buffers: Vec<Buffer>,
    /// In how many region ops it is where threads may differ.
    divergent: u64,
    /// The instances of loads that each token may not stand for in other threads.
    chosen: HashMap<Token, BTreeSet<u64>>,
    /// How many syncs threads have met at, and how many of these meetings are known to be over.
    met: u64,
    over: u64,
    insts: u64,
    seen: Seen,
}

/// Runs a program; fails with the first thing that is wrong.
pub fn run(
    tree: &Tree,
    plan: &Plan,
    rng: &mut TestRng,
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
        insts: 0,
        seen: Seen::default(),
    };
    runner.block(BlockId(0))?;
    runner.end(depths)?;
    Ok(runner.seen)
}

impl Runner<'_> {
    fn block(&mut self, block: BlockId) -> Result<(), String> {
        for (i, inst) in self.tree.blocks[block].insts.iter().enumerate() {
            self.insts += 1;
            self.now += 1;
            for (b, phase) in self.plan.phases.with_ids() {
                if (phase.open_block, phase.first) == (block, i) {
                    self.open(b)?;
                }
            }
            match inst {
                Inst::Load { load, token } => self.load(*load, *token)?,
                Inst::Await { id, tokens } => self.wait(*id, tokens)?,
                Inst::Join { token, of } => {
                    let chosen = of.iter().flat_map(|of| self.chosen_of(*of)).collect();
                    self.chosen.insert(*token, chosen);
                    let all = of.iter().flat_map(|of| self.tokens[of].clone()).collect();
                    self.tokens.insert(*token, all);
                }
                Inst::RegionOp(op) => self.region_op(*op)?,
                Inst::Barrier => {
                    self.over = self.met;
                    self.barrier();
                }
                Inst::Access { buffer, kind } => self.access(*buffer, *kind),
                Inst::Fence | Inst::WaitForCopies | Inst::Store { .. } => unreachable!("not generated"),
            }
            for (b, phase) in self.plan.phases.with_ids() {
                if (phase.open_block, phase.last) == (block, i) {
                    self.close(b);
                }
            }
        }
        Ok(())
    }

    /// All loads of a phase have been issued that will be.
    fn close(&mut self, id: PhaseId) {
        let phases = &mut self.rings[self.plan.phases[id].ring];
        if let Some(opened) = phases.values_mut().rev().find(|opened| opened.phase == id) {
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
    fn places_of(&self, buffer: Buffer) -> Vec<usize> {
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
    fn meet(&mut self, before: SyncPoint) -> Result<(), String> {
        let mut all = self.plan.rendezvous.iter();
        let meeting = all.find(|meeting| meeting.before == before);
        let meeting = meeting.ok_or("a barrier is no rendezvous")?;
        let over = (self.met + 1).saturating_sub(self.plan.rendezvous_depth());
        if meeting.waits && self.fault != Fault::Ahead {
            self.over = self.over.max(over);
        } else if self.over < over {
            return Err(format!(
                "threads may arrive at rendezvous {} while only {} are known to be over",
                self.met, self.over
            ));
        }
        self.met += 1;
        Ok(())
    }

    fn sync(&mut self, sync: RequiredSync, before: SyncPoint) -> Result<(), String> {
        if sync.barrier {
            self.meet(before)?;
        }
        if sync.fence && self.fault != Fault::NoFences {
            for place in 0..self.unfenced.len() {
                if std::mem::take(&mut self.unfenced[place]) {
                    self.fenced[place] = self.now;
                }
            }
        }
        if sync.barrier && self.fault != Fault::NoBarriers {
            self.barrier();
        }
        Ok(())
    }

    fn depth(&self, ring: RingId) -> u64 {
        let depth = self.plan.rings[ring].depth;
        if self.fault == Fault::Shallow {
            depth.saturating_sub(1).max(1)
        } else {
            depth
        }
    }

    fn open(&mut self, id: PhaseId) -> Result<(), String> {
        let phase = &self.plan.phases[id];
        let ring = phase.ring;
        let armed = self.rings[ring].len() as u64;
        let number = armed
            .checked_add_signed(phase.shift)
            .ok_or("a number is less than 0")?;
        if self.rings[ring].contains_key(&number) {
            return Err(format!("ring {ring} has two phases of number {number}"));
        }
        self.sync(self.plan.syncs.phases[id], SyncPoint::Phase(id))?;
        if let Some(expr) = &phase.number {
            self.check(expr, number, &format!("{id:?}"))?;
        }
        let always_awaited = self.plan.rings[ring].always_awaited || self.fault == Fault::Sure;
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
                None if always_awaited => {
                    return Err(format!(
                        "ring {ring} is armed while the slot's last phase is open"
                    ));
                }
                _ => {}
            }
        }
        self.now += 1;
        self.numbers.insert(PhaseValue::Opened(id), Some(number));
        let opened = Opened {
            phase: id,
            armed: self.now,
            met: self.met,
            ..Opened::default()
        };
        self.rings[ring].insert(number, opened);
        self.seen.phases += 1;
        Ok(())
    }

    fn check(&self, expr: &AffineExpr, number: u64, what: &str) -> Result<(), String> {
        let mut value = expr.constant;
        for (symbol, factor) in &expr.coefficients {
            value += factor
                * match symbol {
                    Symbol::Iteration(op) => self.iterations[op],
                    Symbol::TripCount(op) => self.trips[op],
                };
        }
        value += u64::from(self.fault == Fault::Numbers && !expr.coefficients.is_empty());
        if value == number {
            Ok(())
        } else {
            Err(format!("{what} has number {number}, but {expr:?} is {value}"))
        }
    }

    fn load(&mut self, load: LoadId, token: Token) -> Result<(), String> {
        self.sync(self.plan.syncs.loads[load], SyncPoint::Load(load))?;
        let buffer = self.tree.loads[load].buffer;
        for place in self.places_of(buffer) {
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
        let phases = &self.plan.phases;
        let (id, _) = phases
            .with_ids()
            .find(|(_, phase)| phase.loads.contains(&load))
            .ok_or("a load has no phase")?;
        let number = self
            .numbers
            .get(&PhaseValue::Opened(id))
            .copied()
            .flatten()
            .ok_or("a load has no open phase")?;
        let phase = self.rings[phases[id].ring].get_mut(&number);
        let phase = phase.ok_or("a load has no phase of its number")?;
        if phase.phase != id || phase.waited.is_some() {
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

    fn wait(&mut self, id: AwaitId, tokens: &[Token]) -> Result<(), String> {
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
            let (ring, expr) = match phase {
                PhaseValue::Opened(b) => (self.plan.phases[b].ring, &self.plan.phases[b].number),
                PhaseValue::Phi(v) => (self.plan.phis[v].ring, &self.plan.phis[v].number),
            };
            let Some(number) = *self
                .numbers
                .get(&phase)
                .ok_or("a wait for a phase that was never handed on")?
            else {
                continue;
            };
            if let Some(expr) = expr {
                self.check(expr, number, &format!("{phase:?}"))?;
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
            if !own && !opened.loads.is_empty() && !self.plan.phases[opened.phase].loads.is_empty() {
                // Alternatives of several phases each are waited for together.
                self.seen.in_vain += 1;
            }
            self.over = self.over.max(opened.met);
            self.complete.extend(&opened.loads);
            opened.waited = Some(self.now);
            self.seen.waits += 1;
        }
        match wanted.iter().find(|instance| !self.complete.contains(instance)) {
            Some(instance) => Err(format!("load {instance} is in flight after await {id}")),
            None => Ok(()),
        }
    }

    /// Checks that a phase is over once its loads have landed.
    fn over(&self, ring: RingId, number: u64) -> Result<(), String> {
        let opened = &self.rings[ring][&number];
        let expected = self.plan.phases[opened.phase].bytes;
        let expected = expected.map(|bytes| bytes + 16 * u64::from(self.fault == Fault::Bytes));
        match expected {
            Some(bytes) if bytes != opened.bytes => Err(format!(
                "phase {number} of ring {ring} expects {bytes} bytes and gets {}",
                opened.bytes
            )),
            _ => Ok(()),
        }
    }

    fn region_op(&mut self, op: RegionOpId) -> Result<(), String> {
        let it = &self.tree.region_ops[op];
        let trips = match it.trips {
            Trips::Constant(trips) => Some(trips),
            Trips::Counted => Some(self.rng.next_u64() % 6),
            Trips::FromEdges => None,
        };
        let divergent = self.diverges(op);
        self.divergent += u64::from(divergent);
        let mut at: Option<usize> = None;
        let mut runs = 0;
        loop {
            let edges: Vec<usize> = (0..it.edges.len()).filter(|&e| it.edges[e].from == at).collect();
            let enough = self.insts > 400;
            let possible: Vec<usize> = edges
                .iter()
                .copied()
                .filter(|&e| match (trips, it.edges[e].to) {
                    (Some(trips), Some(_)) => runs < trips,
                    (Some(trips), None) => runs == trips,
                    (None, to) => !enough || to.is_none() || !edges.iter().any(|&e| it.edges[e].to.is_none()),
                })
                .collect();
            let edge = possible[(self.rng.next_u64() % possible.len() as u64) as usize];
            self.take(op, edge, divergent);
            at = it.edges[edge].to;
            let Some(to) = at else { break };
            self.iterations.insert(op, runs);
            runs += 1;
            self.block(it.blocks[to])?;
        }
        self.trips.insert(op, runs);
        self.divergent -= u64::from(divergent);
        Ok(())
    }

    /// Returns true if threads may differ in a region op: not where all meet inside.
    fn diverges(&self, op: RegionOpId) -> bool {
        let it = &self.tree.region_ops[op];
        let mut work = it.blocks.clone();
        while let Some(block) = work.pop() {
            for inst in &self.tree.blocks[block].insts {
                match inst {
                    Inst::Load { .. } | Inst::Barrier => return false,
                    Inst::RegionOp(inner) => work.extend(&self.tree.region_ops[*inner].blocks),
                    _ => {}
                }
            }
        }
        it.divergent
    }

    /// What a token may be bound to by the edges of a region op, of what they don't bind themselves.
    fn sources(&self, op: RegionOpId, token: Token) -> BTreeSet<Token> {
        let edges = &self.tree.region_ops[op].edges;
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
    fn take(&mut self, op: RegionOpId, edge: usize, divergent: bool) {
        let bindings = &self.tree.region_ops[op].edges[edge].bindings;
        let chosen: Vec<(Token, BTreeSet<u64>)> = bindings
            .iter()
            .map(|&(from, to)| {
                let all = divergent && self.sources(op, to).len() > 1;
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
        let phis = self.plan.phis.with_ids();
        let numbers: Vec<(PhaseValue, Option<u64>)> = phis
            .flat_map(|(v, phi)| phi.incoming.iter().map(move |incoming| (v, incoming)))
            .filter(|(_, incoming)| (incoming.op, incoming.edge) == (op, edge))
            .map(|(v, incoming)| {
                let number = incoming
                    .phase
                    .and_then(|phase| self.numbers.get(&phase).copied().flatten());
                (PhaseValue::Phi(v), number)
            })
            .collect();
        self.numbers.extend(numbers);
    }

    fn end(&mut self, depths: &mut Depths) -> Result<(), String> {
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for (ring, phases) in self.rings.with_ids() {
            let always_awaited = self.plan.rings[ring].always_awaited || self.fault == Fault::Sure;
            for (&number, opened) in phases {
                self.over(ring, number)?;
                let drained = !always_awaited && number + self.depth(ring) >= phases.len() as u64;
                let armed_again = !always_awaited && !drained;
                if opened.waited.is_none() && !drained && !armed_again {
                    return Err(format!("phase {number} of ring {ring} is in flight at the end"));
                }
                // Live until the first barrier after the last wait.
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
