//! Tests the verifier: each check of `Plan::verify` has a broken plan that only it refuses.

use tokenflow::Token;
use tokenflow::phases::{
    AffineExpr, AwaitId, Block, BlockId, Buffer, Edge, Inst, Load, LoadId, PhaseId, PhaseValue, PhiId, Plan,
    RegionOp, RegionOpId, RingId, Symbol, SyncPoint, Tree, Trips, plan,
};

/// A load, and a loop that awaits the last load and starts the next one: a phi, and two phases on one ring.
fn rotation() -> (Tree, Plan) {
    let mut tree = Tree {
        buffers: 1,
        awaits: 2,
        ..Tree::default()
    };
    let [first, param, next, result] = [(); 4].map(|()| tree.token());
    let loads = [(); 2].map(|()| {
        tree.loads.push(Load {
            bytes: 64,
            buffer: Buffer::Known(0),
        })
    });
    let load = |i: usize, token| Inst::Load {
        load: loads[i],
        token,
    };
    let wait = |id, token| Inst::Await {
        id: AwaitId(id),
        tokens: vec![token],
    };
    tree.blocks.push(Block {
        insts: vec![load(0, first), Inst::RegionOp(RegionOpId(0)), wait(1, result)],
        ..Block::default()
    });
    tree.blocks.push(Block {
        params: vec![param],
        insts: vec![wait(0, param), load(1, next)],
        parent_op: Some(RegionOpId(0)),
    });
    let edge = |from, to, bindings: (Token, Token)| Edge {
        from,
        to,
        bindings: vec![bindings],
    };
    tree.region_ops.push(RegionOp {
        parent: BlockId(0),
        blocks: vec![BlockId(1)],
        edges: vec![
            edge(None, Some(0), (first, param)),
            edge(None, None, (first, result)),
            edge(Some(0), Some(0), (next, param)),
            edge(Some(0), None, (next, result)),
        ],
        results: vec![result],
        trips: Trips::Counted,
        ..RegionOp::default()
    });
    let plan = plan(&tree, false);
    (tree, plan)
}

/// Checks that a plan is refused with `message` once `fault` is planted into it.
#[track_caller]
fn refused(message: &str, fault: impl FnOnce(&mut Plan, &mut Tree)) {
    let (mut tree, mut plan) = rotation();
    fault(&mut plan, &mut tree);
    let error = plan.verify(&tree).expect_err("a broken plan passes");
    assert!(error.contains(message), "{error}");
}

const NONE: usize = 7;

#[test]
fn sound_plans_pass() {
    let (tree, plan) = rotation();
    assert_eq!(plan.verify(&tree), Ok(()));
    assert_eq!(
        (plan.phases.len(), plan.rings.len(), plan.rendezvous.len()),
        (2, 1, 1)
    );
    assert!(!plan.phis.is_empty() && plan.rings[RingId(0)].always_awaited);
}

#[test]
fn sizes_and_scope() {
    refused("loads are unallocated", |plan, _| {
        plan.unallocated.push(LoadId(0));
    });
    refused("awaits, and should be", |_, tree| tree.awaits += 1);
    refused("syncs of stores, and should be", |_, tree| tree.stores += 1);
    refused("syncs of phases, and should be", |plan, _| {
        plan.syncs.phases.push(tokenflow::phases::RequiredSync::default());
    });
    refused("region ops with armed rings", |plan, _| {
        plan.armed_rings.push([].into());
    });
    refused("region ops with rendezvous", |plan, _| {
        plan.rendezvous_rings[0].within.push(true);
    });
    refused("the scope is no block", |plan, _| plan.scope = BlockId(NONE));
    refused("has no instructions", |plan, _| plan.extent.1 = NONE);
    refused("initialized in a loop", |plan, _| {
        plan.scope = BlockId(1);
        plan.extent = (0, 1);
    });
}

#[test]
fn rings() {
    refused("has 0 mbarriers", |plan, _| plan.rings[RingId(0)].depth = 0);
    refused("has no phase", |plan, _| {
        let ring = plan.rings[RingId(0)].clone();
        plan.rings.push(ring);
    });
    refused("nothing says at which number", |plan, _| {
        let ring = &mut plan.rings[RingId(0)];
        (ring.always_awaited, ring.has_counter, ring.end) = (false, false, None);
    });
}

#[test]
fn phases() {
    const LAST: PhaseId = PhaseId(1);
    refused("is on no ring", |plan, _| plan.phases[LAST].ring = RingId(NONE));
    refused("is opened in no block", |plan, _| {
        plan.phases[LAST].open_block = BlockId(NONE);
    });
    refused("its mbarrier is not initialized", |plan, _| plan.extent = (1, 2));
    refused("has no load", |plan, _| plan.phases[LAST].loads.clear());
    refused("which is none", |plan, _| {
        plan.phases[LAST].loads.push(LoadId(NONE));
    });
    refused("is not open at load", |plan, _| plan.phases[LAST].last = 0);
    refused("not those of its loads", |plan, _| {
        plan.phases[LAST].bytes = Some(16);
    });
    refused("in 2 phases", |plan, _| {
        let twice = plan.phases[LAST].clone();
        plan.phases.push(twice);
        let sync = plan.syncs.phases[LAST];
        plan.syncs.phases.push(sync);
    });
    refused("has no number", |plan, _| {
        plan.rings[RingId(0)].has_counter = false;
        plan.phases[LAST].number = None;
    });
    refused("is no counted loop", |_, tree| {
        tree.region_ops[RegionOpId(0)].trips = Trips::FromEdges;
    });
    refused("which is not around it", |plan, _| {
        let iteration = Symbol::Iteration(RegionOpId(0));
        plan.phases[PhaseId(0)].number = Some(AffineExpr {
            constant: 0,
            coefficients: [(iteration, 1)].into(),
        });
    });
    refused("which is not said to arm it", |plan, _| {
        plan.armed_rings[RegionOpId(0)].clear();
    });
}

#[test]
fn phis_and_awaits() {
    const PHI: PhiId = PhiId(0);
    refused("is on no ring", |plan, _| plan.phis[PHI].ring = RingId(NONE));
    refused("stands for no token", |plan, _| plan.phis[PHI].tokens.clear());
    refused("is bound by no edge", |plan, _| {
        plan.phis[PHI].incoming[0].edge = NONE;
    });
    refused("is bound to a complete token", |plan, _| {
        plan.phis[PHI].incoming[0].phase = None;
    });
    refused("is bound to no phase", |plan, _| {
        plan.phis[PHI].incoming[0].phase = Some(PhaseValue::Opened(PhaseId(NONE)));
    });
    refused("a phase of another ring", |plan, _| {
        let ring = plan.rings[RingId(0)].clone();
        plan.phis[PHI].ring = plan.rings.push(ring);
        plan.phases[PhaseId(1)].ring = plan.phis[PHI].ring;
        plan.armed_rings[RegionOpId(0)].insert(plan.phis[PHI].ring);
    });
    refused("bound to what is not opened by then", |plan, _| {
        plan.phis[PHI].incoming[0].phase = Some(PhaseValue::Opened(PhaseId(1)));
    });
    refused("is for no phase", |plan, _| {
        plan.awaits[AwaitId(0)] = vec![PhaseValue::Phi(PhiId(NONE))];
    });
    refused("is for an mbarrier that is not initialized", |plan, _| {
        plan.extent.1 = 1;
    });
    refused("is for what is not opened by then", |plan, _| {
        plan.awaits[AwaitId(0)] = vec![PhaseValue::Opened(PhaseId(1))];
    });
}

#[test]
fn rendezvous() {
    refused("barriers and rendezvous differ", |plan, _| {
        plan.rendezvous.clear();
    });
    refused("barriers and rendezvous differ", |plan, _| {
        let twice = plan.rendezvous[0].clone();
        plan.rendezvous.push(twice);
    });
    refused("barriers and rendezvous differ", |plan, _| {
        plan.rendezvous[0].before = SyncPoint::Load(LoadId(0));
    });
    refused("is on no ring", |plan, _| plan.rendezvous[0].ring = NONE);
    refused("those who arrive", |plan, _| {
        plan.rendezvous_rings[0].roles = tokenflow::phases::RoleSet(1);
    });
    refused("a rendezvous has no number", |plan, _| {
        plan.rendezvous_rings[0].counted = false;
        plan.rendezvous[0].number = None;
    });
    refused("in which it is said that they don't", |plan, _| {
        plan.rendezvous_rings[0].within[RegionOpId(0)] = false;
    });
}
