//! Finds a certificate for code. Nothing here is believed: [`check`](super::check()) looks at what comes out.
//!
//! 1. *Liveness*: claims are made of the tokens that are used later.
//! 2. *Fixed point*: from the entry, block by block in reverse postorder; where paths meet, each token has the smaller age. Since all
//!    instructions keep minima, this is the age over all paths.
//! 3. *Trip counts*: a loop of constant trip count is first taken for one of any trip count. If that is not enough for an await,
//!    its iterations are nodes of their own until a state comes back, from where on they take turns.
//!
//! Cost: (blocks and live tokens) x (rounds that loops need), in the third phase x (iterations that differ).

mod iterations;
pub(crate) mod liveness;
pub(crate) mod order;

use super::certificate::{Age, Certificate, Claim, Iterations, Node, NodeId, OLDEST};
use super::check::check;
use super::code::{Block, BlockId, Code, Edge, EdgeKind, Fifo, Instr, Loop, Span};
use super::lists::{filled, list_for};
use super::state::State;
use iterations::with_iterations;
use liveness::Liveness;
use order::{Worklist, reverse_postorder};

/// Finds a certificate for `code`; it is not valid if `code` awaits what may be in flight.
#[must_use]
pub fn infer(code: &Code) -> Certificate {
    match code.blocks.as_slice() {
        [] => return Certificate::default(),
        [only] => return of_one_block(only, code),
        _ => {}
    }
    let mut steps = Steps::new(code);
    let any_trip = with_any_trip_count(&mut steps);
    if code.trips.is_empty() || check(code, &any_trip).is_ok() {
        return any_trip;
    }
    with_iterations(&mut steps).unwrap_or(any_trip)
}

/// The certificate of code that is `only` one block, to which nothing leads: of its beginning, nothing is known.
fn of_one_block(only: &Block, code: &Code) -> Certificate {
    let successors = vec![None; only.edges.of(&code.edges).len()];
    let node = Node {
        block: BlockId(0),
        context: Vec::new(),
        claims: Span::default(),
        successors: Span::since(0, &successors),
    };
    Certificate {
        nodes: vec![node],
        successors,
        ..Certificate::default()
    }
}

/// Finds a certificate in which iterations of loops of constant trip count are told apart; `None` if a loop has too many that differ.
#[must_use]
pub fn infer_by_iteration(code: &Code) -> Option<Certificate> {
    if code.blocks.is_empty() {
        return None;
    }
    with_iterations(&mut Steps::new(code))
}

/// What is known of a token and a FIFO. The smaller of two numbers is what is known where paths meet.
pub(super) type Known = u8;

/// Nothing.
pub(super) const UNKNOWN: Known = 0;
/// An operation in flight that is younger than any other.
pub(super) const OPEN: Known = 1;
/// Nothing is in flight.
pub(super) const COMPLETE: Known = u8::MAX;

/// Runs blocks one at a time. What is known at the beginning of a block is a row of [`Known`], for each live token one by FIFO.
pub(super) struct Steps<'a> {
    code: &'a Code,
    pub live: Liveness,
    pub fifos: usize,
    state: State,
}

impl<'a> Steps<'a> {
    pub fn new(code: &'a Code) -> Self {
        let state = State::new(code, &Certificate::default());
        Self {
            code,
            live: Liveness::of_tokens(code, state.num_tokens()),
            fifos: state.num_fifos(),
            state,
        }
    }

    /// The places of what is known of a block among that of all blocks.
    pub fn row(&self, block: BlockId) -> std::ops::Range<usize> {
        let places = self.live.places(block);
        places.start * self.fifos..places.end * self.fifos
    }

    fn edges(&self, block: BlockId) -> &'a [Edge] {
        self.code.blocks[block.0 as usize].edges.of(&self.code.edges)
    }

    /// Runs `block`, at whose beginning `row` is known.
    pub fn run(&mut self, block: BlockId, row: &[Known]) {
        self.state.begin();
        let known = row.chunks_exact(self.fifos);
        for (&token, known) in self.live.tokens(block).iter().zip(known) {
            if !is_unknown(known) {
                self.state
                    .claim_ages(token, known.iter().map(|known| age(*known)));
            }
        }
        for instr in self.code.blocks[block.0 as usize].instrs.of(&self.code.instrs) {
            // A token that is in flight at an await is what the check refuses. What comes later does not matter then.
            if !matches!(instr, Instr::Await(_)) {
                let _ = self.state.run(*instr, self.code);
            }
        }
    }

    /// Adds what is known after [`Self::run`] to what is known where `edge` leads; returns true if that changed it. Where nothing has
    /// arrived yet, `row` says that all is complete.
    pub fn arrive(&self, edge: &Edge, to: BlockId, row: &mut [Known], is_first: bool) -> bool {
        let args = edge.args.of(&self.code.tokens);
        let mut changed = is_first;
        for ((token, param), known) in self.live.sources(to).zip(row.chunks_exact_mut(self.fifos)) {
            let source = param.map_or(Some(token), |param| args.get(param as usize).copied());
            let Some(ages) = source.and_then(|source| self.state.ages(source)) else {
                changed |= known[0] != UNKNOWN;
                known.fill(UNKNOWN);
                continue;
            };
            for (known, age) in known.iter_mut().zip(ages) {
                let age = age.map_or(COMPLETE, |age| age.min(OLDEST) as Known + OPEN);
                changed |= age < *known;
                *known = age.min(*known);
            }
        }
        changed
    }

    /// Adds a node, without successors.
    fn add_node(
        &mut self,
        certificate: &mut Certificate,
        block: BlockId,
        context: Vec<(Loop, Iterations)>,
        row: &[Known],
    ) -> NodeId {
        let first = certificate.claims.len();
        let known = row.chunks_exact(self.fifos);
        for (&token, known) in self.live.tokens(block).iter().zip(known) {
            if is_unknown(known) {
                continue;
            }
            let start = certificate.in_flight.len();
            for (fifo, age) in (0..).map(Fifo).zip(known.iter().map(|known| age(*known))) {
                if let Some(age) = age {
                    certificate.in_flight.push((fifo, age));
                }
            }
            certificate.claims.push(Claim {
                token,
                in_flight: Span::since(start, &certificate.in_flight),
            });
        }
        let id = NodeId(u32::try_from(certificate.nodes.len()).unwrap_or(u32::MAX));
        certificate.nodes.push(Node {
            block,
            context,
            claims: Span::since(first, &certificate.claims),
            successors: Span::default(),
        });
        id
    }

    /// Says where the edges of a node lead.
    fn connect(
        &self,
        certificate: &mut Certificate,
        node: NodeId,
        mut target: impl FnMut(&Edge, BlockId) -> Option<NodeId>,
    ) {
        let start = certificate.successors.len();
        let block = certificate.nodes[node.0 as usize].block;
        for edge in self.edges(block) {
            let to = edge.to.and_then(|to| target(edge, to));
            certificate.successors.push(to);
        }
        certificate.nodes[node.0 as usize].successors = Span::since(start, &certificate.successors);
    }
}

/// Returns true if nothing is known of a token: of one FIFO as little as of another.
pub(super) fn is_unknown(known: &[Known]) -> bool {
    known.first() == Some(&UNKNOWN)
}

/// The age of operations in flight; `None` if there are none.
pub(super) fn age(known: Known) -> Option<Age> {
    (known != COMPLETE).then(|| Age::from(known - OPEN))
}

/// The certificate with a node for each block that is reached, which holds for any trip count.
fn with_any_trip_count(steps: &mut Steps) -> Certificate {
    let code = steps.code;
    let mut rows: Vec<Known> = filled(COMPLETE, steps.live.len() * steps.fifos);
    let mut reached = filled(false, code.blocks.len());
    let mut work = Worklist::new(reverse_postorder(code));
    let entry = BlockId(0);
    // Nothing is known where a function begins.
    rows[steps.row(entry)].fill(UNKNOWN);
    reached[0] = true;
    work.insert(entry);
    while let Some(id) = work.pop() {
        let edges = steps.edges(id).iter().filter(|edge| edge.kind.may_be_taken(code));
        // Where nothing is used later, it does not matter what happens here.
        if edges
            .clone()
            .filter_map(|edge| edge.to)
            .any(|to| !steps.row(to).is_empty())
        {
            steps.run(id, &rows[steps.row(id)]);
        }
        for edge in edges {
            let Some(to) = edge.to else { continue };
            let is_first = !std::mem::replace(&mut reached[to.0 as usize], true);
            let row = steps.row(to);
            if to != entry && steps.arrive(edge, to, &mut rows[row], is_first) {
                work.insert(to);
            }
        }
    }
    let mut certificate = Certificate {
        nodes: list_for(code.blocks.len()),
        claims: list_for(steps.live.len()),
        in_flight: list_for(steps.live.len()),
        successors: list_for(code.edges.len()),
    };
    let mut numbers = filled(None, code.blocks.len());
    for (b, _) in (0..).zip(&reached).filter(|(_, reached)| **reached) {
        let row = &rows[steps.row(BlockId(b))];
        numbers[b as usize] = Some(steps.add_node(&mut certificate, BlockId(b), Vec::new(), row));
    }
    for node in (0..).map(NodeId).take(certificate.nodes.len()) {
        steps.connect(&mut certificate, node, |edge, to| {
            numbers[to.0 as usize].filter(|_| edge.kind.may_be_taken(code))
        });
    }
    certificate
}

impl EdgeKind {
    /// Returns false if an edge of this kind is never taken, whatever the iteration.
    fn may_be_taken(self, code: &Code) -> bool {
        match self {
            Self::Plain => true,
            Self::Enter(l) | Self::Back(l) | Self::Exit(l) => code.trip(l) != Some(0),
        }
    }
}
