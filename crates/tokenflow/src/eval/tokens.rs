//! Tracks the ages of tokens at the point reached, frame by frame; the notation is that of [`super`].

use crate::age::{Age, AgeMap, AgeTable};
use crate::program::{Program, Token};
use crate::program_info::ProgramInfo;

/// The tokens of one graph around the current point.
struct Frame {
    /// From the ages on entry to the ages here, for tokens from outside.
    table: AgeMap,
    /// The class of this frame's own tokens of each age, for ages that have one.
    class: AgeTable<u32>,
    /// Those ages, as a set of bits.
    ages: u128,
}

impl Frame {
    fn new(table: AgeMap) -> Self {
        Self {
            table,
            class: AgeTable::filled(0),
            ages: 0,
        }
    }
}

/// The tokens of the current graph and of those around it.
pub(super) struct Tokens<'p> {
    /// For each token, how many frames lie around the graph that defines it.
    depth: &'p [u32],
    /// Outermost first.
    frames: Vec<Frame>,
    /// The classes of tokens that have one age, as trees (union-find).
    parent: Vec<u32>,
    /// For the root of each class, its age in its frame.
    root_age: Vec<Age>,
}

impl<'p> Tokens<'p> {
    pub fn new(program: &Program, program_info: &'p ProgramInfo) -> Self {
        Self {
            depth: &program_info.depth,
            frames: Vec::new(),
            parent: (0..program.tokens).collect(),
            root_age: vec![Age::DONE; program.tokens as usize],
        }
    }

    /// Leaves all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
    }

    /// Enters a frame inside, whose point of entry `table` leads to the point reached.
    pub fn enter(&mut self, table: AgeMap) {
        self.frames.push(Frame::new(table));
    }

    /// Leaves the innermost frame.
    pub fn leave(&mut self) {
        self.frames.pop();
    }

    /// Goes to another point of the innermost frame, where none of its own tokens is defined yet.
    #[inline]
    pub fn go_to(&mut self, table: AgeMap) {
        if let Some(frame) = self.frames.last_mut() {
            frame.table = table;
            frame.ages = 0;
        }
    }

    /// Returns what the innermost graph did to the ages of tokens from before it.
    #[inline]
    pub fn table(&self) -> Option<&AgeMap> {
        self.frames.last().map(|frame| &frame.table)
    }

    #[inline]
    fn find(&mut self, token: u32) -> u32 {
        let mut at = token;
        while self.parent[at as usize] != at {
            let up = self.parent[at as usize];
            self.parent[at as usize] = self.parent[up as usize];
            at = up;
        }
        at
    }

    /// Returns the age of `token` at the point reached.
    #[inline]
    pub fn age(&mut self, token: Token) -> Age {
        let root = self.find(token.0);
        let mut age = self.root_age[root as usize];
        let depth = self.depth[token.0 as usize] as usize;
        for frame in &self.frames[depth + 1..] {
            age = frame.table.apply(age);
        }
        age
    }

    pub fn ages(&mut self, tokens: &[Token]) -> Vec<Age> {
        tokens.iter().map(|&token| self.age(token)).collect()
    }

    pub fn youngest(&mut self, tokens: &[Token]) -> Age {
        tokens
            .iter()
            .map(|&token| self.age(token))
            .min()
            .unwrap_or(Age::DONE)
    }

    /// Defines a token of the innermost frame.
    #[inline]
    pub fn define(&mut self, token: Token, age: Age) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let bit = 1 << age.index();
        if frame.ages & bit == 0 {
            frame.ages |= bit;
            frame.class[age] = token.0;
            self.root_age[token.0 as usize] = age;
        }
        self.parent[token.0 as usize] = frame.class[age];
    }

    /// Changes the age of every token; none gets younger.
    pub fn step(&mut self, step: impl Fn(Age) -> Age) {
        let outermost = self.frames.len() == 1;
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if !outermost {
            frame.table.then_each(&step);
        }
        let mut left = std::mem::take(&mut frame.ages);
        // The oldest first: none moves to where one that has not moved yet is.
        while left != 0 {
            let age = Age::at(left.ilog2());
            left &= !(1 << age.index());
            let (root, to) = (frame.class[age], step(age));
            let bit = 1 << to.index();
            if frame.ages & bit == 0 {
                frame.ages |= bit;
                frame.class[to] = root;
                self.root_age[root as usize] = to;
            } else {
                self.parent[root as usize] = frame.class[to];
            }
        }
    }
}
