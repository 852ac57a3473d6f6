//! Generates random programs of threads with different roles.
//!
//! Each load has readers: the roles that await it, and may read what it writes. Now and then a role awaits something else, for
//! which no ring may be found.

use super::generate::Generator;
use tokenflow::Token;
use tokenflow::phases::{AccessKind, BlockId, Edge, Inst, RegionOp, RoleSet, Trips};

impl Generator<'_> {
    /// Fills a block that threads of all roles run.
    pub fn fill_with_roles(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        for _ in 0..2 + self.choices.below(4) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.choices.below(if depth < 2 { 12 } else { 8 }) {
                0..=2 => {
                    self.load(block, scope);
                    let token = scope.pop().expect("a load has a token");
                    if self.choices.chance(1, 2) {
                        self.access_in_role(block);
                    }
                    if self.choices.chance(1, 5) {
                        self.await_tokens(block, vec![token]);
                    } else {
                        let readers = self.some_roles(self.tree.all_roles());
                        self.await_in_roles(block, readers, &[token]);
                    }
                    scope.push(token);
                }
                3 | 4 => self.access_in_role(block),
                5 => {
                    let (buffer, kind) = (self.buffer(), AccessKind::Read);
                    self.push(block, Inst::Access { buffer, kind });
                }
                6 => {
                    if self.choices.chance(1, 3) {
                        self.push(block, Inst::Barrier);
                    }
                }
                7 => {
                    if self.choices.chance(1, 4) && !scope.is_empty() {
                        let token = self.pick(block, scope);
                        let readers = self.some_roles(self.tree.all_roles());
                        self.await_in_roles(block, readers, &[token]);
                    }
                }
                8 | 9 => self.shared_rotation(block, scope, depth),
                10 => self.loop_with_roles(block, scope, depth),
                _ => self.branch_with_roles(block, scope, depth),
            }
        }
    }

    /// At least one of `roles`.
    fn some_roles(&mut self, roles: RoleSet) -> RoleSet {
        let all: Vec<u32> = roles.iter().collect();
        let some = self.choices.below((1 << all.len()) - 1) + 1;
        let chosen = all.iter().enumerate().filter(|(i, _)| some >> i & 1 == 1);
        chosen.fold(RoleSet::default(), |set, (_, &role)| set.or(RoleSet::of(role)))
    }

    /// An operation with a block for some roles, and perhaps one for the others. Returns the blocks.
    fn role_op(&mut self, parent: BlockId, roles: RoleSet, with_others: bool) -> Vec<BlockId> {
        let others = RoleSet(self.tree.all_roles().0 & !roles.0);
        let mut sets = vec![roles];
        sets.extend(Some(others).filter(|others| with_others && !others.is_empty()));
        let op = self.tree.region_ops.push(RegionOp {
            parent,
            divergent: true,
            roles: sets.clone(),
            ..RegionOp::default()
        });
        let blocks: Vec<BlockId> = sets
            .iter()
            .map(|_| self.new_block(Some(op), Vec::new()))
            .collect();
        let edge = |from, to| Edge {
            from,
            to,
            bindings: Vec::new(),
        };
        let mut edges: Vec<Edge> = (0..blocks.len()).map(|place| edge(None, Some(place))).collect();
        edges.extend((0..blocks.len()).map(|place| edge(Some(place), None)));
        edges.extend((blocks.len() == 1).then(|| edge(None, None)));
        self.tree.region_ops[op].edges = edges;
        self.tree.region_ops[op].blocks.clone_from(&blocks);
        self.push(parent, Inst::RegionOp(op));
        blocks
    }

    /// Roles await tokens, together or each for itself, and mostly read something then.
    fn await_in_roles(&mut self, block: BlockId, readers: RoleSet, tokens: &[Token]) {
        let apart = self.choices.chance(1, 3);
        let sets: Vec<RoleSet> = if apart {
            readers.iter().map(RoleSet::of).collect()
        } else {
            vec![readers]
        };
        for roles in sets {
            let with_others = self.choices.chance(1, 4);
            let blocks = self.role_op(block, roles, with_others);
            self.await_tokens(blocks[0], tokens.to_vec());
            if self.choices.chance(3, 4) {
                self.access(blocks[0]);
            }
            if blocks.len() > 1 {
                self.access(blocks[1]);
            }
        }
    }

    fn access(&mut self, block: BlockId) {
        let buffer = self.buffer();
        let write = self.choices.chance(1, 3);
        let kind = if write {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        self.push(block, Inst::Access { buffer, kind });
    }

    fn access_in_role(&mut self, block: BlockId) {
        let roles = self.some_roles(self.tree.all_roles());
        let blocks = self.role_op(block, roles, false);
        self.access(blocks[0]);
        // A role inside of a role.
        if self.choices.chance(1, 4) {
            let inner = self.some_roles(roles);
            let blocks = self.role_op(blocks[0], inner, false);
            self.access(blocks[0]);
        }
    }

    /// A pipeline: loads for all, awaits of the readers.
    fn shared_rotation(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let n = 1 + self.choices.below(3) as usize;
        let readers = self.some_roles(self.tree.all_roles());
        for _ in 0..n {
            self.load(block, scope);
        }
        let inits = scope.split_off(scope.len() - n);
        let before = scope.len();
        self.for_loop(block, scope, &inits, |new, body, inner| {
            let params = new.tree.blocks[body].params.clone();
            let early = new.choices.chance(2, 3);
            if early {
                new.await_in_roles(body, readers, &params[..1]);
            }
            if new.choices.chance(1, 4) {
                let mut own = Vec::new();
                new.fill_with_roles(body, &mut own, depth + 1);
            }
            new.load(body, inner);
            let token = *inner.last().expect("a load has a token");
            if !early {
                new.await_in_roles(body, readers, &params[..1]);
            }
            params[1..].iter().copied().chain([token]).collect()
        });
        // What is left is awaited by all readers, mostly.
        let results = scope.split_off(before);
        if self.choices.chance(9, 10) {
            for roles in readers.iter().map(RoleSet::of) {
                let blocks = self.role_op(block, roles, false);
                self.await_tokens(blocks[0], results.clone());
            }
        }
        scope.extend(results);
    }

    fn loop_with_roles(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        self.for_loop(block, scope, &[], |new, body, inner| {
            new.fill_with_roles(body, inner, depth + 1);
            Vec::new()
        });
    }

    /// A branch that threads of all roles take the same way.
    fn branch_with_roles(&mut self, block: BlockId, scope: &mut [Token], depth: u32) {
        let op = self.region_op(block, Trips::FromEdges, Vec::new());
        for place in 0..2 {
            let arm = self.new_block(Some(op), Vec::new());
            self.tree.region_ops[op].blocks.push(arm);
            if place == 0 || self.choices.chance(1, 2) {
                self.fill_with_roles(arm, &mut scope.to_vec(), depth + 1);
            }
            self.edge(op, None, Some(place), &[]);
            self.edge(op, Some(place), None, &[]);
        }
        self.push(block, Inst::RegionOp(op));
    }
}
