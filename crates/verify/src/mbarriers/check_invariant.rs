//! Checks an invariant of code, by one walk through each node.
//!
//! Where one thread issues all loads and does all arrivals, the nodes are written as a [`Certificate`] on the way, and that is checked, too:
//! its checker is the one of which there is a proof.
//!
//! An invariant that is accepted is the one that the code has: each node says exactly what arrives, and is arrived at. So nothing in it
//! could be another.
//!
//! Cost: (instructions) x (nodes of their blocks).

use super::certificate::{Certificate, NodeId};
use super::check_certificate::{Unproven, check_certificate};
use super::code::{BlockId, Code, Edge, Instr, Who};
use super::int::UNKNOWN;
use super::invariant::{Ages, Invariant, Node};
use super::liveness::{Live, defined_token, defined_var, liveness};
use super::slot::{Fault, NOT_INITIALIZED, Slot};
use super::state::{State, Taken};
use super::unfold::Unfolding;
use std::fmt;

/// Facts about all executions of code that breaks no rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// For each instruction that is a wait, and not of the thread that issues, how many times threads may have gathered since the phase that
    /// it waits for was armed, but for those times that were over then; `None` if it is never reached.
    pub ages: Vec<Option<u8>>,
    /// The proof; `None` if others than the thread that issues arrive, or if warps have roles.
    pub certificate: Option<Certificate>,
}

/// A node that does not hold, or could be another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The node.
    pub node: NodeId,
    /// The reason.
    pub wrong: Wrong,
}

/// A reason to refuse a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// It is not what is known where the code begins.
    Entry,
    /// There is no such block, or what is known there is not of what is used later.
    Block,
    /// An instruction, by its place among all, breaks a rule; `None` where the function ends.
    Rule(Option<usize>, Fault),
    /// It does not lead where its block does.
    Successors,
    /// It does not say what arrives there.
    Other,
    /// Nothing leads to it.
    Unreached,
    /// The certificate that is made of it does not hold.
    Unproven,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} ", self.node)?;
        match self.wrong {
            Wrong::Entry => f.write_str("is not what is known where the function begins"),
            Wrong::Block => f.write_str("is not of what a block uses"),
            Wrong::Rule(Some(place), fault) => write!(f, "has an instruction, {place}, that {fault}"),
            Wrong::Rule(None, fault) => write!(f, "is where the function ends, and {fault}"),
            Wrong::Successors => f.write_str("does not lead where its block does"),
            Wrong::Other => f.write_str("does not say what arrives there"),
            Wrong::Unreached => f.write_str("is never come to"),
            Wrong::Unproven => f.write_str("does not follow by the rules that are proven"),
        }
    }
}

/// Checks that `invariant` is that of `code`, and that no execution breaks a rule: each phase has the arrivals and bytes that it expects, each
/// wait is for the phase of its parity and ends, no thread is two phases behind, mbarriers are initialized before they are used, and loads have
/// landed where their tokens are awaited.
///
/// # Errors
///
/// A node that does not hold, or that says something else than what arrives there.
pub fn check_invariant(code: &Code, invariant: &Invariant) -> Result<Outcome, Broken> {
    let nodes = &invariant.nodes;
    let mut walk = Walk {
        code,
        nodes,
        live: liveness(code),
        state: State::new(code),
        arrived: vec![None; nodes.len()],
        work: Vec::new(),
        ages: vec![None; code.instrs.len()],
        unfolding: Unfolding::new(code),
    };
    if !code.blocks.is_empty() {
        walk.enter()?;
    }
    // A node is looked at once it is known to be what arrives there.
    while let Some(id) = walk.work.pop() {
        walk.node(id)?;
    }
    for (id, node) in (0..).zip(nodes) {
        walk.is_exact(id, node)
            .map_err(|wrong| Broken { node: id, wrong })?;
    }
    let certificate = walk.unfolding.map(Unfolding::finish);
    if let Some(Err(Unproven { node, .. })) = certificate.as_ref().map(check_certificate) {
        let node = node.and_then(|node| NodeId::try_from(node).ok()).unwrap_or(0);
        let wrong = Wrong::Unproven;
        return Err(Broken { node, wrong });
    }
    Ok(Outcome {
        ages: walk.ages,
        certificate,
    })
}

struct Walk<'a> {
    code: &'a Code,
    nodes: &'a [Node],
    live: Vec<Live>,
    state: State,
    /// The ages that have come to each node from others; `None` if nothing has.
    arrived: Vec<Option<Ages>>,
    work: Vec<NodeId>,
    ages: Vec<Option<u8>>,
    unfolding: Option<Unfolding>,
}

impl Walk<'_> {
    fn enter(&mut self) -> Result<(), Broken> {
        let wrong = Wrong::Entry;
        let is_entry = self.nodes.first().is_some_and(|node| {
            let is_plain = |slot: &Slot| slot.with_age(0) == NOT_INITIALIZED;
            node.block == BlockId(0)
                && node.slots.len() == self.state.slots.len()
                && node.slots.iter().all(is_plain)
                && node.vars.iter().all(|(_, value)| *value == UNKNOWN)
                && node
                    .tokens
                    .iter()
                    .all(|(_, slots)| slots.iter().all(|on| *on == 0))
                && self.has_names(node)
        });
        if !is_entry {
            return Err(Broken { node: 0, wrong });
        }
        let ages = Ages::of(&self.state);
        if let Some(unfolding) = &mut self.unfolding {
            for node in self.nodes {
                // There is one role.
                let tokens = node.tokens.iter();
                let tokens =
                    tokens.map(|(token, slots)| (*token, slots.first().copied().unwrap_or_default()));
                unfolding.enter(&node.slots, tokens);
            }
        }
        self.state.forget_tokens();
        self.arrive(0, ages);
        Ok(())
    }

    /// Returns true if `node` is about what is used later, and nothing else.
    fn has_names(&self, node: &Node) -> bool {
        let roles = self.code.threads.len();
        self.live.get(node.block.0 as usize).is_some_and(|live| {
            node.vars.iter().map(|(var, _)| var).eq(&live.vars)
                && node.tokens.iter().map(|(token, _)| token).eq(&live.tokens)
                && node.tokens.iter().all(|(_, slots)| slots.len() == roles)
        })
    }

    /// Notes that a node is arrived at.
    fn arrive(&mut self, id: NodeId, ages: Ages) {
        let Some(arrived) = self.arrived.get_mut(id as usize) else {
            return;
        };
        match arrived {
            Some(before) => {
                before.join(&ages);
            }
            None => {
                *arrived = Some(ages);
                self.work.push(id);
            }
        }
    }

    fn node(&mut self, id: NodeId) -> Result<(), Broken> {
        let node = &self.nodes[id as usize];
        let broken = |wrong| Broken { node: id, wrong };
        self.restore(node, &Ages::at(node));
        self.run(id, node, true).map_err(broken)?;
        let edges = self.code.blocks[node.block.0 as usize].edges.of(&self.code.edges);
        if edges.len() != node.successors.len() {
            return Err(broken(Wrong::Successors));
        }
        for (edge, successor) in edges.iter().zip(&node.successors) {
            self.edge(id, edge, *successor)?;
        }
        self.forget(node);
        Ok(())
    }

    /// Makes the state what `node` says, with these ages.
    fn restore(&mut self, node: &Node, ages: &Ages) {
        self.state.slots.copy_from_slice(&node.slots);
        ages.restore(&mut self.state);
        for (var, value) in &node.vars {
            self.state.set(*var, *value);
        }
        for (token, slots) in &node.tokens {
            for (role, slots) in slots.iter().enumerate() {
                self.state.set_token(*token, role, *slots);
            }
        }
    }

    /// Runs the block of a node; the first time, `is_first`, what happens is noted.
    fn run(&mut self, id: NodeId, node: &Node, is_first: bool) -> Result<(), Wrong> {
        for place in self.code.blocks[node.block.0 as usize].instrs.range() {
            let instr = self.code.instrs[place];
            if let (true, Some(unfolding)) = (is_first, &mut self.unfolding) {
                unfolding.push(id, instr, &self.state, self.code);
            }
            self.state.waited = None;
            let run = self.state.run(instr, self.code);
            run.map_err(|fault| Wrong::Rule(Some(place), fault))?;
            let by_roles = matches!(
                instr,
                Instr::Wait {
                    by: Who::Roles(_),
                    ..
                }
            );
            if let Some(waited) = self.state.waited.filter(|_| by_roles) {
                let age = &mut self.ages[place];
                *age = Some(waited.age.max(age.unwrap_or(0)));
            }
        }
        Ok(())
    }

    /// Forgets all that a node and its block say, so that nothing is known of it in the next one.
    fn forget(&mut self, node: &Node) {
        let instrs = self.code.blocks[node.block.0 as usize]
            .instrs
            .of(&self.code.instrs);
        let vars = node.vars.iter().map(|(var, _)| *var);
        for var in vars.chain(instrs.iter().filter_map(|instr| defined_var(*instr))) {
            self.state.set(var, UNKNOWN);
        }
        let tokens = node.tokens.iter().map(|(token, _)| *token);
        for token in tokens.chain(instrs.iter().filter_map(|instr| defined_token(*instr))) {
            self.state.forget_token(token);
        }
    }

    /// Looks whether `edge`, at the end of node `from`, leads where it is said to.
    fn edge(&mut self, from: NodeId, edge: &Edge, successor: Option<NodeId>) -> Result<(), Broken> {
        let broken = |wrong| Broken { node: from, wrong };
        let taken = self.state.take(edge);
        let (taken, to, id) = match (taken, edge.to, successor) {
            (None, _, None) => return Ok(()),
            (Some(_), None, None) => {
                leave(&self.state).map_err(|fault| broken(Wrong::Rule(None, fault)))?;
                if let Some(unfolding) = &mut self.unfolding {
                    unfolding.leave(from, &self.state.slots);
                }
                return Ok(());
            }
            (Some(taken), Some(to), Some(id)) => (taken, to, id),
            _ => return Err(broken(Wrong::Successors)),
        };
        let node = self.nodes.get(id as usize).filter(|node| node.block == to);
        let node = node.ok_or(broken(Wrong::Successors))?;
        let ages = Ages::of(&self.state);
        if !self.has_names(node) {
            let wrong = Wrong::Block;
            return Err(Broken { node: id, wrong });
        }
        if !self.says(node, &taken) || !Ages::at(node).cover(&ages) {
            let wrong = Wrong::Other;
            return Err(Broken { node: id, wrong });
        }
        if let Some(unfolding) = &mut self.unfolding {
            let live = &self.live[to.0 as usize].tokens;
            let binds = edge.tokens.iter().copied();
            let binds = binds.filter(|(token, _)| live.binary_search(token).is_ok());
            unfolding.connect(from, id, binds);
        }
        if id != from {
            self.arrive(id, ages);
        }
        Ok(())
    }

    /// Returns true if `node`, but for its ages, says what is known after an edge.
    fn says(&self, node: &Node, taken: &Taken) -> bool {
        // Where threads gather, ages are those of slots, which take turns.
        let is_told_apart = self.code.is_gathering;
        let known = |slot: &Slot| if is_told_apart { *slot } else { slot.with_age(0) };
        let slots = node.slots.iter().map(known);
        slots.eq(self.state.slots.iter().map(known))
            && node.vars.iter().all(|(var, value)| taken.var(*var) == *value)
            && node.tokens.iter().all(|(token, slots)| {
                let roles = slots.iter().enumerate();
                roles
                    .into_iter()
                    .all(|(role, slots)| taken.in_flight(*token, role) == *slots)
            })
    }

    /// Looks whether the ages of `node` are the largest that arrive. An edge to the node that it comes from hands on what that says: so
    /// they are the least that such edges admit, beginning with what arrives on the others.
    fn is_exact(&mut self, id: NodeId, node: &Node) -> Result<(), Wrong> {
        let mut ages = self.arrived[id as usize].clone().ok_or(Wrong::Unreached)?;
        if node.successors.contains(&Some(id)) {
            loop {
                self.restore(node, &ages);
                self.run(id, node, false)?;
                if !ages.join(&Ages::of(&self.state)) {
                    break;
                }
            }
            self.forget(node);
        }
        if ages == Ages::at(node) {
            Ok(())
        } else {
            Err(Wrong::Other)
        }
    }
}

/// Looks at the state where the function ends: nothing may be in flight.
pub(super) fn leave(state: &State) -> Result<(), Fault> {
    if state.slots.iter().any(Slot::is_in_flight) {
        return Err(Fault::InUse);
    }
    Ok(())
}
