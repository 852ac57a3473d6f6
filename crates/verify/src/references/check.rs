//! Checks references: one look at each block, and at each edge. Cost: the size of the code, and for each block the tokens held there.

use super::code::{Code, Instr, Token};
use rustc_hash::FxHashMap;
use std::fmt;

/// A reason to refuse code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The number of the block.
    pub block: usize,
    /// The place of the instruction in it; the number of instructions for what is done at its end.
    pub instr: usize,
    /// The token.
    pub token: Token,
    /// The fault.
    pub fault: Fault,
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The token is used, retained or released, and may be gone by then.
    Gone,
    /// Another token takes its place while a reference is held.
    Overwritten,
    /// The function returns with a reference.
    Leaked,
    /// Two ways lead to the target of the edge of this number, with other references.
    Meeting(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "may have been released before",
            Self::Overwritten => "is defined again while a reference is held",
            Self::Leaked => "is not released",
            Self::Meeting(_) => "is released on one way here, and not on another",
        })
    }
}

/// The references that are held at the beginning of a block, sorted by token.
type Held = Vec<(Token, u32)>;

/// Checks that on every path, no token is used that may be gone, and all references are dropped at the end.
///
/// # Errors
///
/// A place where that is not so.
pub fn check(code: &Code) -> Result<(), Refusal> {
    let mut state = State::new(code);
    let num_edges = num_edges(code);
    let mut entries: Vec<Option<Held>> = vec![None; code.blocks.len()];
    let mut work = Vec::new();
    if let Some(entry) = entries.first_mut() {
        *entry = Some(Held::new());
        work.push(0);
    }
    while let Some(b) = work.pop() {
        let block = &code.blocks[b];
        let refusal = |instr, token, fault| Refusal {
            block: b,
            instr,
            token,
            fault,
        };
        state.begin(entries[b].as_deref().unwrap_or_default());
        for (i, instr) in block.instrs.iter().enumerate() {
            state
                .run(instr)
                .map_err(|(token, fault)| refusal(i, token, fault))?;
        }
        let end = block.instrs.len();
        let held = state.held();
        if let Some((token, _)) = held.first().filter(|_| block.returns) {
            return Err(refusal(end, *token, Fault::Leaked));
        }
        for (e, edge) in block.edges.iter().enumerate() {
            let params = &code.blocks[edge.to].params;
            let arrives = if num_edges[edge.to] == 1 {
                state.rename(held.clone(), params, &edge.args)
            } else {
                state
                    .pass(held.clone(), params, &edge.args)
                    .map_err(|(token, fault)| refusal(end, token, fault))?
            };
            match &entries[edge.to] {
                None => {
                    entries[edge.to] = Some(arrives);
                    work.push(edge.to);
                }
                Some(known) => {
                    if let Some(token) = first_difference(known, &arrives) {
                        return Err(refusal(end, token, Fault::Meeting(e)));
                    }
                }
            }
        }
    }
    Ok(())
}

/// By block, the number of edges to it.
fn num_edges(code: &Code) -> Vec<usize> {
    let mut edges = vec![0; code.blocks.len()];
    for edge in code.blocks.iter().flat_map(|block| &block.edges) {
        edges[edge.to] += 1;
    }
    edges
}

/// The first token of which one list has other references than the other one.
fn first_difference(a: &[(Token, u32)], b: &[(Token, u32)]) -> Option<Token> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(same), b.get(same)) {
        (Some((a, _)), Some((b, _))) => Some(*a.min(b)),
        (one, other) => one.or(other).map(|(token, _)| *token),
    }
}

/// The references that the function holds at a point of a block.
struct State<'a> {
    counts: Vec<u32>,
    is_borrowed: Vec<bool>,
    /// By token, the one that it is another name of, or itself.
    names: Vec<Token>,
    /// The tokens that a token without a reference of its own may be.
    selected: FxHashMap<Token, &'a [Token]>,
    /// The tokens that may have a count in this block.
    touched: Vec<Token>,
}

impl<'a> State<'a> {
    fn new(code: &'a Code) -> Self {
        let mut is_borrowed = vec![false; code.tokens as usize];
        for token in &code.borrowed {
            is_borrowed[token.0 as usize] = true;
        }
        Self {
            counts: vec![0; code.tokens as usize],
            is_borrowed,
            names: (0..code.tokens).map(Token).collect(),
            selected: FxHashMap::default(),
            touched: Vec::new(),
        }
    }

    fn begin(&mut self, held: &[(Token, u32)]) {
        for token in self.touched.drain(..) {
            self.counts[token.0 as usize] = 0;
        }
        self.selected.clear();
        for &(token, count) in held {
            self.counts[token.0 as usize] = count;
            self.touched.push(token);
        }
    }

    fn named(&self, token: Token) -> Token {
        self.names[token.0 as usize]
    }

    fn is_held(&self, token: Token) -> bool {
        let i = self.named(token).0 as usize;
        self.counts[i] > 0 || self.is_borrowed[i]
    }

    fn run(&mut self, instr: &'a Instr) -> Result<(), (Token, Fault)> {
        match instr {
            Instr::Define(token) => {
                self.expect_none(*token)?;
                self.add(*token);
                Ok(())
            }
            Instr::Select(token, of) => {
                self.selected.insert(*token, of);
                self.expect_none(*token)
            }
            Instr::Use(token) => expect(*token, self.is_held(*token)),
            Instr::Retain(token) => {
                let of = self.selected.get(token);
                let is_one_of_held = of.is_some_and(|of| of.iter().all(|of| self.is_held(*of)));
                expect(*token, self.is_held(*token) || is_one_of_held)?;
                self.add(self.named(*token));
                Ok(())
            }
            Instr::Release(token) => {
                let count = &mut self.counts[self.names[token.0 as usize].0 as usize];
                *count = count.checked_sub(1).ok_or((*token, Fault::Gone))?;
                Ok(())
            }
        }
    }

    fn expect_none(&self, token: Token) -> Result<(), (Token, Fault)> {
        let is_none = self.counts[token.0 as usize] == 0;
        is_none.then_some(()).ok_or((token, Fault::Overwritten))
    }

    fn add(&mut self, token: Token) {
        let count = &mut self.counts[token.0 as usize];
        *count = count.saturating_add(1);
        self.touched.push(token);
    }

    fn held(&mut self) -> Held {
        self.touched.sort_unstable();
        self.touched.dedup();
        let counts = self
            .touched
            .iter()
            .map(|token| (*token, self.counts[token.0 as usize]));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Makes `params` other names of `args`: those of a block that only one edge leads to. Returns the references that are held there.
    fn rename(&mut self, mut held: Held, params: &[Token], args: &[Option<Token>]) -> Held {
        for (param, arg) in params.iter().zip(args) {
            match arg {
                Some(arg) => self.names[param.0 as usize] = self.named(*arg),
                None => add(&mut held, *param),
            }
        }
        held
    }

    /// The references of `held` after `args` are handed over to `params`.
    fn pass(&self, mut held: Held, params: &[Token], args: &[Option<Token>]) -> Result<Held, (Token, Fault)> {
        for &arg in args.iter().flatten() {
            match held.binary_search_by_key(&self.named(arg), |(token, _)| *token) {
                Ok(i) if held[i].1 > 0 => held[i].1 -= 1,
                _ => return Err((arg, Fault::Gone)),
            }
        }
        held.retain(|(_, count)| *count > 0);
        for &param in params {
            if held.binary_search_by_key(&param, |(token, _)| *token).is_ok() {
                return Err((param, Fault::Overwritten));
            }
            add(&mut held, param);
        }
        Ok(held)
    }
}

/// Adds a reference to one of a token of which none is held.
fn add(held: &mut Held, token: Token) {
    let place = held.partition_point(|(other, _)| *other < token);
    held.insert(place, (token, 1));
}

fn expect(token: Token, is_there: bool) -> Result<(), (Token, Fault)> {
    is_there.then_some(()).ok_or((token, Fault::Gone))
}
