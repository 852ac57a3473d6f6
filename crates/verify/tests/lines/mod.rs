//! Code and certificates as lines of numbers: what the proven checker reads (`proofs/README.md`).

use super::numbers::Reader;
use async_verify::groups::certificate::{Certificate, Claim, Iterations, Node, NodeId};
use async_verify::groups::code::{Block, BlockId, Code, Edge, EdgeKind, Fifo, Instr, Loop, Span, Token};

/// Code and certificate as numbers.
pub fn write(code: &Code, certificate: &Certificate) -> Vec<u64> {
    let mut out = Vec::new();
    list(&mut out, &code.trips, |out, trip| out.push(*trip));
    list(&mut out, &code.blocks, |out, block| {
        tokens(out, code, block.params);
        list(out, block.instrs.of(&code.instrs), |out, instr| match *instr {
            Instr::Issue(fifo, token) => out.extend([0, fifo.0.into(), token.0.into()]),
            Instr::Commit(fifo) => out.extend([1, fifo.0.into()]),
            Instr::Wait(fifo, n) => out.extend([2, fifo.0.into(), n.into()]),
            Instr::Await(of) => {
                out.push(3);
                tokens(out, code, of);
            }
            Instr::Join(token, of) => {
                out.extend([4, token.0.into()]);
                tokens(out, code, of);
            }
        });
        list(out, block.edges.of(&code.edges), |out, edge| {
            let (kind, l) = match edge.kind {
                EdgeKind::Plain => (0, 0),
                EdgeKind::Enter(l) => (1, l.0),
                EdgeKind::Back(l) => (2, l.0),
                EdgeKind::Exit(l) => (3, l.0),
            };
            out.extend([kind, l.into(), edge.to.map_or(0, |to| u64::from(to.0) + 1)]);
            tokens(out, code, edge.args);
        });
    });
    list(&mut out, &certificate.nodes, |out, node| {
        out.push(node.block.0.into());
        list(out, &node.context, |out, (l, iterations)| {
            out.extend([l.0.into(), iterations.first, iterations.step]);
        });
        list(out, node.claims.of(&certificate.claims), |out, claim| {
            out.push(claim.token.0.into());
            list(
                out,
                claim.in_flight.of(&certificate.in_flight),
                |out, (fifo, age)| {
                    out.extend([fifo.0.into(), u64::from(*age)]);
                },
            );
        });
        list(out, node.successors.of(&certificate.successors), |out, to| {
            out.push(to.map_or(0, |to| u64::from(to.0) + 1));
        });
    });
    out
}

fn list<T>(out: &mut Vec<u64>, all: &[T], mut one: impl FnMut(&mut Vec<u64>, &T)) {
    out.push(all.len() as u64);
    for element in all {
        one(out, element);
    }
}

fn tokens(out: &mut Vec<u64>, code: &Code, span: Span) {
    list(out, span.of(&code.tokens), |out, token| out.push(token.0.into()));
}

/// Reads numbers; `None` if they are no code and certificate, or if these don't fit the types here.
pub fn read(numbers: &[u64]) -> Option<(Code, Certificate)> {
    let mut reader = Reader { rest: numbers };
    let code = reader.code()?;
    let certificate = reader.certificate()?;
    reader.rest.is_empty().then_some((code, certificate))
}

impl Reader<'_> {
    fn fifo(&mut self) -> Option<Fifo> {
        Some(Fifo(self.number()?.try_into().ok()?))
    }

    fn tokens(&mut self, code: &mut Code) -> Option<Span> {
        let all = self.list(|this| this.small().map(Token))?;
        Some(append(&mut code.tokens, all))
    }

    fn code(&mut self) -> Option<Code> {
        let mut code = Code {
            trips: self.list(Self::number)?,
            ..Code::default()
        };
        code.blocks = self.list(|this| {
            let params = this.tokens(&mut code)?;
            let instrs = this.list(|this| this.instr(&mut code))?;
            let edges = this.list(|this| this.edge(&mut code))?;
            Some(Block {
                params,
                instrs: append(&mut code.instrs, instrs),
                edges: append(&mut code.edges, edges),
            })
        })?;
        Some(code)
    }

    fn instr(&mut self, code: &mut Code) -> Option<Instr> {
        Some(match self.number()? {
            0 => Instr::Issue(self.fifo()?, Token(self.small()?)),
            1 => Instr::Commit(self.fifo()?),
            2 => Instr::Wait(self.fifo()?, self.small()?),
            3 => Instr::Await(self.tokens(code)?),
            4 => Instr::Join(Token(self.small()?), self.tokens(code)?),
            _ => return None,
        })
    }

    fn edge(&mut self, code: &mut Code) -> Option<Edge> {
        let (kind, l) = (self.number()?, Loop(self.small()?));
        let kind = match kind {
            0 if l.0 == 0 => EdgeKind::Plain,
            1 => EdgeKind::Enter(l),
            2 => EdgeKind::Back(l),
            3 => EdgeKind::Exit(l),
            _ => return None,
        };
        let to = self.small()?.checked_sub(1).map(BlockId);
        let args = self.tokens(code)?;
        Some(Edge { kind, to, args })
    }

    fn certificate(&mut self) -> Option<Certificate> {
        let mut certificate = Certificate::default();
        certificate.nodes = self.list(|this| {
            let block = BlockId(this.small()?);
            let context = this.list(|this| {
                let (l, first, step) = (Loop(this.small()?), this.number()?, this.number()?);
                Some((l, Iterations { first, step }))
            })?;
            let claims = this.list(|this| {
                let token = Token(this.small()?);
                let all = this.list(|this| Some((this.fifo()?, this.small()?)))?;
                let in_flight = append(&mut certificate.in_flight, all);
                Some(Claim { token, in_flight })
            })?;
            let successors = this.list(|this| Some(this.small()?.checked_sub(1).map(NodeId)))?;
            Some(Node {
                block,
                context,
                claims: append(&mut certificate.claims, claims),
                successors: append(&mut certificate.successors, successors),
            })
        })?;
        Some(certificate)
    }
}

fn append<T>(all: &mut Vec<T>, new: Vec<T>) -> Span {
    let start = all.len();
    all.extend(new);
    Span::since(start, all)
}
