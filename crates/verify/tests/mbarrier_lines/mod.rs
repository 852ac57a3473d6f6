//! Certificates of mbarriers as lines of numbers: what the proven checker reads (`proofs/README.md`).

use super::numbers::Reader;
use async_verify::mbarriers::Certificate;
use async_verify::mbarriers::certificate::{Account, Block, Edge, Instr, Node};

/// A certificate as numbers.
pub fn write(certificate: &Certificate) -> Vec<u64> {
    let mut out = Vec::new();
    list(&mut out, &certificate.blocks, |out, block| {
        list(out, &block.instrs, instr);
        list(out, &block.edges, |out, edge| {
            out.push(edge.to.into());
            list(out, &edge.binds, numbered);
        });
    });
    list(&mut out, &certificate.nodes, |out, node| {
        out.push(node.block.into());
        list(out, &node.accounts, |out, (mbarrier, account)| {
            out.push((*mbarrier).into());
            match account {
                None => out.push(0),
                Some(known) => out.extend(numbers(known)),
            }
        });
        list(out, &node.claims, numbered);
        numbers_in(out, &node.successors);
    });
    out
}

fn instr(out: &mut Vec<u64>, instr: &Instr) {
    match instr {
        Instr::Init(mbarrier, count) => out.extend([0, u64::from(*mbarrier), *count]),
        Instr::Inval(mbarrier) => out.extend([1, u64::from(*mbarrier)]),
        Instr::Load(mbarrier, token, bytes) => {
            out.extend([2, u64::from(*mbarrier), u64::from(*token), *bytes]);
        }
        Instr::Expect(mbarrier, bytes) => out.extend([3, u64::from(*mbarrier), *bytes]),
        Instr::Arrive(mbarrier) => out.extend([4, u64::from(*mbarrier)]),
        Instr::TryWait(mbarrier, parity) => {
            out.extend([5, u64::from(*mbarrier), u64::from(*parity)]);
        }
        Instr::Sync => out.push(6),
        Instr::Idle(mbarrier) => out.extend([7, u64::from(*mbarrier)]),
        Instr::Await(tokens) => {
            out.push(8);
            numbers_in(out, tokens);
        }
        Instr::Join(token, of) => {
            out.extend([9, u64::from(*token)]);
            numbers_in(out, of);
        }
    }
}

/// An account that is there; its debt is a difference.
fn numbers(account: &Account) -> [u64; 9] {
    let debt = account.debt.unsigned_abs();
    let (expected, issued) = if account.debt < 0 { (0, debt) } else { (debt, 0) };
    let [parity, loaded, fresh, at_wait] =
        [account.parity, account.loaded, account.fresh, account.at_wait].map(u64::from);
    let (total, arrivals) = (account.total, account.arrivals);
    [
        1, total, parity, arrivals, expected, issued, loaded, fresh, at_wait,
    ]
}

fn list<T>(out: &mut Vec<u64>, all: &[T], mut one: impl FnMut(&mut Vec<u64>, &T)) {
    out.push(all.len() as u64);
    for element in all {
        one(out, element);
    }
}

fn numbers_in(out: &mut Vec<u64>, all: &[u32]) {
    list(out, all, |out, number| out.push((*number).into()));
}

fn numbered(out: &mut Vec<u64>, (number, all): &(u32, Vec<u32>)) {
    out.push((*number).into());
    numbers_in(out, all);
}

/// Reads numbers; `None` if they are no certificate, or if they don't fit the types here.
pub fn read(numbers: &[u64]) -> Option<Certificate> {
    let mut reader = Reader { rest: numbers };
    let blocks = reader.list(|this| {
        let instrs = this.list(Reader::mbarrier_instr)?;
        let edges = this.list(|this| {
            let to = this.small()?;
            let binds = this.list(Reader::numbered)?;
            Some(Edge { to, binds })
        })?;
        Some(Block { instrs, edges })
    })?;
    let nodes = reader.list(|this| {
        let block = this.small()?;
        let accounts = this.list(|this| {
            let mbarrier = this.small()?;
            let account = if this.truth()? {
                Some(this.account()?)
            } else {
                None
            };
            Some((mbarrier, account))
        })?;
        let claims = this.list(Reader::numbered)?;
        let successors = this.list(Reader::small)?;
        Some(Node {
            block,
            accounts,
            claims,
            successors,
        })
    })?;
    reader.rest.is_empty().then_some(Certificate { blocks, nodes })
}

impl Reader<'_> {
    fn truth(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn numbered(&mut self) -> Option<(u32, Vec<u32>)> {
        Some((self.small()?, self.list(Self::small)?))
    }

    fn mbarrier_instr(&mut self) -> Option<Instr> {
        Some(match self.number()? {
            0 => Instr::Init(self.small()?, self.number()?),
            1 => Instr::Inval(self.small()?),
            2 => Instr::Load(self.small()?, self.small()?, self.number()?),
            3 => Instr::Expect(self.small()?, self.number()?),
            4 => Instr::Arrive(self.small()?),
            5 => Instr::TryWait(self.small()?, self.truth()?),
            6 => Instr::Sync,
            7 => Instr::Idle(self.small()?),
            8 => Instr::Await(self.list(Self::small)?),
            9 => Instr::Join(self.small()?, self.list(Self::small)?),
            _ => return None,
        })
    }

    fn account(&mut self) -> Option<Account> {
        Some(Account {
            total: self.number()?,
            parity: self.truth()?,
            arrivals: self.number()?,
            debt: i64::from(self.small()?) - i64::from(self.small()?),
            loaded: self.truth()?,
            fresh: self.truth()?,
            at_wait: self.truth()?,
        })
    }
}
