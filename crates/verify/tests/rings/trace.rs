//! The steps of one way through code.

use super::machine::Step;
use async_verify::mbarriers::code::{Bound, Code, Edge, Instr, Operand, Token, Var, When};
use async_verify::mbarriers::int::Int;

/// What variables and tokens stand for.
struct Values {
    vars: Vec<i64>,
    tokens: Vec<Vec<usize>>,
    loads: usize,
}

impl Values {
    fn of(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Const(value) => value,
            Operand::Var(Var(var)) => self.vars[var as usize],
        }
    }

    fn slot(&self, operand: Operand) -> usize {
        usize::try_from(self.of(operand)).expect("a slot")
    }

    fn union(&self, tokens: &[Token]) -> Vec<usize> {
        let loads = tokens.iter().flat_map(|token| &self.tokens[token.0 as usize]);
        loads.copied().collect()
    }

    fn bind(&mut self, edge: &Edge) {
        let vars = edge.vars.iter().map(|(_, bound)| match *bound {
            Bound::Is(operand) => self.of(operand),
            Bound::Next(Var(counter)) => self.vars[counter as usize] + 1,
            Bound::First(_) | Bound::Unknown => 0,
        });
        let vars: Vec<i64> = vars.collect();
        let tokens = edge
            .tokens
            .iter()
            .map(|(_, from)| from.map(|from| self.union(&[from])));
        let tokens: Vec<Vec<usize>> = tokens.map(Option::unwrap_or_default).collect();
        for ((Var(var), _), value) in edge.vars.iter().zip(vars) {
            self.vars[*var as usize] = value;
        }
        for ((Token(token), _), loads) in edge.tokens.iter().zip(tokens) {
            self.tokens[*token as usize] = loads;
        }
    }
}

/// The steps of `code`, where `choose` picks an edge of several.
pub fn steps(code: &Code, mut choose: impl FnMut(usize) -> usize) -> Vec<Step> {
    let mut values = Values {
        vars: vec![0; code.vars as usize],
        tokens: vec![Vec::new(); code.tokens as usize],
        loads: 0,
    };
    let mut steps = Vec::new();
    let mut at = 0;
    loop {
        let block = code.blocks[at];
        for instr in block.instrs.of(&code.instrs) {
            steps.extend(step(*instr, code, &mut values));
        }
        let edges = block.edges.of(&code.edges);
        let open: Vec<&Edge> = edges
            .iter()
            .filter(|edge| match edge.when {
                Some(When::Again(Var(counter), trip)) => values.vars[counter as usize] + 1 < number(trip),
                Some(When::Last(Var(counter), trip)) => values.vars[counter as usize] + 1 == number(trip),
                _ => true,
            })
            .collect();
        let edge = open[if open.len() > 1 { choose(open.len()) } else { 0 }];
        let Some(to) = edge.to else { return steps };
        values.bind(edge);
        at = to.0 as usize;
    }
}

fn number(trip: u64) -> i64 {
    i64::try_from(trip).expect("few iterations")
}

fn step(instr: Instr, code: &Code, values: &mut Values) -> Option<Step> {
    Some(match instr {
        Instr::Init { slot, count } => Step::Init(values.slot(slot), values.of(count)),
        Instr::Inval { slot } => Step::Inval(values.slot(slot)),
        Instr::Expect { slot, bytes } => Step::Expect(values.slot(slot), values.of(bytes)),
        Instr::Arrive { slot, by } => Step::Arrive(values.slot(slot), by),
        Instr::Load { slot, bytes, token } => {
            values.tokens[token.0 as usize] = vec![values.loads];
            values.loads += 1;
            Step::Load(values.slot(slot), u8::try_from(bytes).expect("few bytes"))
        }
        Instr::Wait { slot, parity, by } => Step::Wait(values.slot(slot), values.of(parity) & 1 == 1, by),
        Instr::Barrier => Step::Barrier,
        Instr::Gather(..) => Step::Gather,
        Instr::Gathered(_) => Step::Gathered,
        Instr::Learn(ages, _) => Step::Learn(ages as usize),
        Instr::Await(tokens, _) => Step::Await(values.union(tokens.of(&code.lists))),
        Instr::Join(token, of) => {
            values.tokens[token.0 as usize] = values.union(of.of(&code.lists));
            return None;
        }
        Instr::Compute {
            to,
            operation,
            width,
            of,
        } => {
            let result = operation.compute(width, of.map(|operand| Int::exact(values.of(operand))));
            values.vars[to.0 as usize] = result.value().unwrap_or(0);
            return None;
        }
        Instr::Forget(_) | Instr::InitFence => return None,
    })
}
