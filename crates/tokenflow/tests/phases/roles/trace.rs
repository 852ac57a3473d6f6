//! The trace of an execution: what threads do, in the order of the program.

use proptest::prelude::Rng;
use proptest::test_runner::TestRng;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenflow::Token;
use tokenflow::phases::{
    AccessKind, AffineExpr, AwaitId, BlockId, Buffer, Inst, LoadId, PhaseId, PhaseValue, Plan, RegionOpId,
    RequiredSync, RoleSet, Symbol, SyncPoint, Tree, Trips,
};

/// Who does something.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Threads of these roles.
    Roles(RoleSet),
    /// The thread that issues.
    Issuer,
}

/// An mbarrier: of the rings, and after these those at which threads meet.
pub type Mbarrier = (usize, u64);

/// What is done.
#[derive(Clone, Debug)]
pub enum What {
    /// All threads of the block meet.
    Barrier,
    Fence,
    Access(Buffer, AccessKind),
    Arrive(Mbarrier),
    /// Waits until the phase with this parity is over.
    Wait(Mbarrier, bool),
    /// Expects bytes, and arrives or not.
    Expect(Mbarrier, u64, bool),
    Issue {
        instance: usize,
        buffer: Buffer,
        bytes: u64,
        on: Mbarrier,
    },
    /// These loads have landed.
    Awaited(Vec<usize>),
    /// Marks the place of a sync.
    Met(SyncPoint),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub who: Who,
    pub what: What,
}

struct Tracer<'a> {
    tree: &'a Tree,
    plan: &'a Plan,
    rng: &'a mut TestRng,
    roles: RoleSet,
    tokens: HashMap<Token, BTreeSet<usize>>,
    numbers: HashMap<PhaseValue, Option<u64>>,
    armed: Vec<u64>,
    met: Vec<u64>,
    instances: usize,
    iterations: HashMap<RegionOpId, u64>,
    trips: HashMap<RegionOpId, u64>,
    insts: u64,
    out: Vec<Event>,
}

/// Makes an execution; choices are the same for all threads.
pub fn trace(tree: &Tree, plan: &Plan, rng: &mut TestRng) -> Result<Vec<Event>, String> {
    let mut tracer = Tracer {
        tree,
        plan,
        rng,
        roles: tree.all_roles(),
        tokens: HashMap::new(),
        numbers: HashMap::new(),
        armed: vec![0; plan.rings.len()],
        met: vec![0; plan.rendezvous_rings.len()],
        instances: 0,
        iterations: HashMap::new(),
        trips: HashMap::new(),
        insts: 0,
        out: Vec::new(),
    };
    tracer.block(BlockId(0))?;
    Ok(tracer.out)
}

impl Tracer<'_> {
    fn push(&mut self, who: Who, what: What) {
        self.out.push(Event { who, what });
    }

    fn block(&mut self, block: BlockId) -> Result<(), String> {
        for (i, inst) in self.tree.blocks[block].insts.iter().enumerate() {
            self.insts += 1;
            for (id, phase) in self.plan.phases.with_ids() {
                if (phase.open_block, phase.first) == (block, i) {
                    self.open(id)?;
                }
            }
            let all = Who::Roles(self.roles);
            match inst {
                Inst::Load { load, token } => self.load(*load, *token)?,
                Inst::Await { id, tokens } => self.wait(*id, tokens)?,
                Inst::Join { token, of } => {
                    let of = of.iter().flat_map(|of| self.tokens[of].clone()).collect();
                    self.tokens.insert(*token, of);
                }
                Inst::RegionOp(op) if !self.tree.region_ops[*op].roles.is_empty() => self.role_op(*op)?,
                Inst::RegionOp(op) => self.region_op(*op)?,
                Inst::Barrier => self.push(all, What::Barrier),
                Inst::Access { buffer, kind } => self.push(all, What::Access(*buffer, *kind)),
                Inst::Fence | Inst::WaitForCopies | Inst::Store { .. } => unreachable!("not generated"),
            }
            for (id, phase) in self.plan.phases.with_ids() {
                if (phase.open_block, phase.last) == (block, i) && phase.bytes.is_none() {
                    let on = self.mbarrier(id)?;
                    self.push(Who::Issuer, What::Arrive(on));
                }
            }
        }
        Ok(())
    }

    /// Threads pass on what they wrote and arrive; the issuing thread waits for them.
    fn sync(&mut self, sync: RequiredSync, before: SyncPoint) -> Result<(), String> {
        let who = self
            .plan
            .syncs
            .participants
            .get(&before)
            .copied()
            .unwrap_or_default();
        if sync.fence {
            self.push(Who::Roles(who.fence), What::Fence);
        }
        if !sync.barrier || who.barrier.is_empty() {
            return Ok(());
        }
        let meeting = self.plan.rendezvous.iter().find(|it| it.before == before);
        let meeting = meeting.ok_or("a barrier is no rendezvous")?;
        let (ring, depth) = (meeting.ring, self.plan.rendezvous_depth());
        let number = self.met[ring];
        self.met[ring] += 1;
        if let Some(expr) = &meeting.number {
            self.check(expr, number)?;
        }
        let on = (self.plan.rings.len() + ring, number % depth);
        let is_odd = number / depth % 2 == 1;
        let arrives = self.plan.rendezvous_rings[ring].issuer_arrives;
        for who in [Who::Roles(who.barrier)]
            .into_iter()
            .chain(arrives.then_some(Who::Issuer))
        {
            if meeting.waits && matches!(who, Who::Roles(_)) {
                self.push(who, What::Wait(on, !is_odd));
            }
            self.push(who, What::Arrive(on));
        }
        self.push(Who::Roles(who.barrier), What::Met(before));
        self.push(Who::Issuer, What::Wait(on, is_odd));
        Ok(())
    }

    fn check(&self, expr: &AffineExpr, number: u64) -> Result<(), String> {
        let value = |symbol: &Symbol| match symbol {
            Symbol::Iteration(op) => self.iterations[op],
            Symbol::TripCount(op) => self.trips[op],
        };
        let terms = expr
            .coefficients
            .iter()
            .map(|(symbol, factor)| factor * value(symbol));
        let sum = expr.constant + terms.sum::<u64>();
        (sum == number)
            .then_some(())
            .ok_or(format!("number {number} is {sum}: {expr:?}"))
    }

    fn open(&mut self, id: PhaseId) -> Result<(), String> {
        let (phase, plan) = (&self.plan.phases[id], self.plan);
        let (ring, depth) = (phase.ring.0, plan.rings[phase.ring].depth);
        let number = self.armed[ring]
            .checked_add_signed(phase.shift)
            .ok_or("less than 0")?;
        self.armed[ring] += 1;
        if let Some(expr) = &phase.number {
            self.check(expr, number)?;
        }
        self.numbers.insert(PhaseValue::Opened(id), Some(number));
        if !plan.rings[phase.ring].always_awaited && number >= depth {
            let before = (ring, number % depth);
            self.push(Who::Issuer, What::Wait(before, number / depth % 2 == 0));
        }
        self.sync(plan.syncs.phases[id], SyncPoint::Phase(id))?;
        if let Some(bytes) = phase.bytes {
            self.push(Who::Issuer, What::Expect((ring, number % depth), bytes, true));
        }
        Ok(())
    }

    /// Where a phase is that is open.
    fn mbarrier(&self, id: PhaseId) -> Result<Mbarrier, String> {
        let number = self.numbers.get(&PhaseValue::Opened(id)).copied().flatten();
        let number = number.ok_or("a phase is not open")?;
        let ring = self.plan.phases[id].ring;
        Ok((ring.0, number % self.plan.rings[ring].depth))
    }

    fn load(&mut self, load: LoadId, token: Token) -> Result<(), String> {
        self.sync(self.plan.syncs.loads[load], SyncPoint::Load(load))?;
        let mut phases = self.plan.phases.with_ids();
        let phase = phases.find(|(_, phase)| phase.loads.contains(&load));
        let (id, phase) = phase.ok_or("a load has no phase")?;
        let (on, bytes) = (self.mbarrier(id)?, self.tree.loads[load].bytes);
        if phase.bytes.is_none() {
            self.push(Who::Issuer, What::Expect(on, bytes, false));
        }
        let issue = What::Issue {
            instance: self.instances,
            buffer: self.tree.loads[load].buffer,
            bytes,
            on,
        };
        self.push(Who::Issuer, issue);
        self.tokens.insert(token, BTreeSet::from([self.instances]));
        self.instances += 1;
        Ok(())
    }

    fn wait(&mut self, id: AwaitId, tokens: &[Token]) -> Result<(), String> {
        let all = Who::Roles(self.roles);
        for &phase in &self.plan.awaits[id] {
            let ring = match phase {
                PhaseValue::Opened(phase) => self.plan.phases[phase].ring,
                PhaseValue::Phi(phi) => self.plan.phis[phi].ring,
            };
            let number = self.numbers.get(&phase).copied().ok_or("an await of no phase")?;
            if let Some(number) = number {
                let depth = self.plan.rings[ring].depth;
                let on = (ring.0, number % depth);
                self.push(all, What::Wait(on, number / depth % 2 == 1));
            }
        }
        let wanted: BTreeSet<usize> = tokens
            .iter()
            .flat_map(|token| self.tokens[token].clone())
            .collect();
        self.push(all, What::Awaited(wanted.into_iter().collect()));
        Ok(())
    }

    fn role_op(&mut self, op: RegionOpId) -> Result<(), String> {
        let outer = self.roles;
        let op = &self.tree.region_ops[op];
        for (&block, &roles) in op.blocks.iter().zip(&op.roles) {
            self.roles = outer.and(roles);
            if !self.roles.is_empty() {
                self.block(block)?;
            }
        }
        self.roles = outer;
        Ok(())
    }

    fn region_op(&mut self, op: RegionOpId) -> Result<(), String> {
        let it = &self.tree.region_ops[op];
        let trips = match it.trips {
            Trips::Constant(trips) => Some(trips),
            Trips::Counted => Some(self.rng.next_u64() % 6),
            Trips::FromEdges => None,
        };
        let (mut at, mut runs) = (None, 0);
        loop {
            let edges = it.edges.iter().enumerate().filter(|(_, edge)| edge.from == at);
            let possible = edges.filter(|(_, edge)| match trips {
                Some(trips) => edge.to.is_some() == (runs < trips),
                None => true,
            });
            let possible: Vec<usize> = possible.map(|(edge, _)| edge).collect();
            let edge = possible[(self.rng.next_u64() % possible.len() as u64) as usize];
            self.take(op, edge);
            at = it.edges[edge].to;
            let Some(to) = at else { break };
            self.iterations.insert(op, runs);
            runs += 1;
            self.block(it.blocks[to])?;
        }
        self.trips.insert(op, runs);
        Ok(())
    }

    /// Binds what an edge binds, all at once.
    fn take(&mut self, op: RegionOpId, edge: usize) {
        let bindings = self.tree.region_ops[op].edges[edge].bindings.iter();
        let tokens: Vec<_> = bindings
            .map(|(from, to)| (*to, self.tokens[from].clone()))
            .collect();
        self.tokens.extend(tokens);
        let mut numbers = Vec::new();
        for (id, phi) in self.plan.phis.with_ids() {
            for incoming in phi.incoming.iter().filter(|it| (it.op, it.edge) == (op, edge)) {
                let number = incoming
                    .phase
                    .and_then(|phase| self.numbers.get(&phase).copied().flatten());
                numbers.push((PhaseValue::Phi(id), number));
            }
        }
        self.numbers.extend(numbers);
    }
}

/// Notes who arrives before which loads, and for whom an execution shows a reason: something that its threads have done since
/// they last arrived or met.
pub fn arrivals(
    tree: &Tree,
    plan: &Plan,
    events: &[Event],
    all: &mut Vec<(SyncPoint, u32)>,
    needed: &mut Vec<(SyncPoint, u32)>,
) {
    let mut busy: BTreeMap<u32, bool> = BTreeMap::new();
    for event in events {
        let Who::Roles(roles) = event.who else { continue };
        for role in roles.iter() {
            match &event.what {
                What::Access(..) | What::Wait((..), _) | What::Awaited(_) => {
                    let of_ring = !matches!(event.what, What::Wait((ring, _), _) if ring >= plan.rings.len());
                    *busy.entry(role).or_default() |= of_ring;
                }
                What::Met(before) => {
                    let place = (*before, role);
                    if !all.contains(&place) {
                        all.push(place);
                    }
                    let is_busy = std::mem::take(busy.entry(role).or_default());
                    if is_busy && !needed.contains(&place) {
                        needed.push(place);
                    }
                }
                _ => {}
            }
        }
        if matches!(event.what, What::Barrier) {
            busy.clear();
        }
    }
    debug_assert!(tree.has_roles());
}
