//! Checks certificates of mbarriers, by one walk through each block.
//!
//! It is the twin of `check` in `proofs/MbarrierChecker.v`, for code without registers: they say the same of every certificate.
//! Where a list has several entries for a key, the first one counts.
//!
//! Cost: the size of code and certificate.

use super::certificate::{Account, Certificate, Edge, Instr, Mbarrier, Node, NodeId, TokenId};
use rustc_hash::FxHashMap;

/// A node that does not hold, or from which another one does not follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unproven {
    /// The node; `None` if there is none where the code begins.
    pub node: Option<usize>,
    /// The instruction of its block; `None` if it is about an edge.
    pub instr: Option<usize>,
}

/// Checks that `certificate` holds.
///
/// # Errors
///
/// The first node with something wrong.
pub fn check_certificate(certificate: &Certificate) -> Result<(), Unproven> {
    if !certificate.nodes.first().is_some_and(is_entry) {
        return Err(Unproven {
            node: None,
            instr: None,
        });
    }
    for (number, node) in certificate.nodes.iter().enumerate() {
        check_node(certificate, node).map_err(|instr| Unproven {
            node: Some(number),
            instr,
        })?;
    }
    Ok(())
}

/// Returns true if `node` holds where the code begins: no mbarrier is initialized, and no load in flight.
fn is_entry(node: &Node) -> bool {
    let is_initialized = |(_, account): &(Mbarrier, Option<Account>)| account.is_some();
    node.block == 0 && !node.accounts.iter().any(is_initialized) && node.claims.is_empty()
}

/// The error is the instruction that breaks a rule, or `None` for an edge, or if there is no such block.
fn check_node(certificate: &Certificate, node: &Node) -> Result<(), Option<usize>> {
    let block = certificate.blocks.get(node.block as usize).ok_or(None)?;
    let mut known = Known::new(node);
    for (place, instr) in block.instrs.iter().enumerate() {
        known.run(instr).ok_or(Some(place))?;
    }
    let holds = |(edge, successor): (&Edge, &NodeId)| {
        let successor = certificate.nodes.get(*successor as usize);
        successor.is_some_and(|successor| successor.block == edge.to && known.implies(edge, successor))
    };
    let all_hold = block.edges.iter().zip(&node.successors).all(holds);
    if block.edges.len() != node.successors.len() || !all_hold {
        return Err(None);
    }
    Ok(())
}

/// Where the loads of a token may be in flight.
struct Claim {
    /// The mbarriers on which they were.
    on: Vec<Mbarrier>,
    /// When that was.
    at: u64,
}

/// What is known at a point.
#[derive(Default)]
struct Known {
    accounts: FxHashMap<Mbarrier, Option<Account>>,
    claims: FxHashMap<TokenId, Claim>,
    /// How many times loads have landed.
    clock: u64,
    /// When those of each mbarrier have landed last.
    landed: FxHashMap<Mbarrier, u64>,
}

impl Known {
    fn new(node: &Node) -> Self {
        let mut known = Self::default();
        for (mbarrier, account) in &node.accounts {
            known.accounts.entry(*mbarrier).or_insert(*account);
        }
        for (token, on) in &node.claims {
            let claim = || Claim {
                on: on.clone(),
                at: 0,
            };
            known.claims.entry(*token).or_insert_with(claim);
        }
        known
    }

    /// An mbarrier that is initialized.
    fn account(&mut self, mbarrier: Mbarrier) -> Option<&mut Account> {
        self.accounts.get_mut(&mbarrier)?.as_mut()
    }

    /// The mbarriers on which loads of a token may be in flight; `None` if nothing is known of it.
    fn in_flight(&self, token: TokenId) -> Option<Vec<Mbarrier>> {
        let claim = self.claims.get(&token)?;
        let mut on = claim.on.clone();
        on.retain(|mbarrier| self.landed.get(mbarrier).is_none_or(|at| *at <= claim.at));
        Some(on)
    }

    /// The same of all of `tokens`.
    fn union(&self, tokens: &[TokenId]) -> Option<Vec<Mbarrier>> {
        let mut all = Vec::new();
        for token in tokens {
            all.extend(self.in_flight(*token)?);
        }
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    fn claim(&mut self, token: TokenId, on: Option<Vec<Mbarrier>>) {
        let at = self.clock;
        match on {
            Some(on) => self.claims.insert(token, Claim { on, at }),
            None => self.claims.remove(&token),
        };
    }

    /// Runs an instruction; `None` if it breaks a rule.
    fn run(&mut self, instr: &Instr) -> Option<()> {
        match instr {
            Instr::Init(mbarrier, count) => {
                let account = self.accounts.get_mut(mbarrier)?;
                let initialized = Account::initialized(*count)?;
                account.is_none().then(|| *account = Some(initialized))?;
            }
            Instr::Inval(mbarrier) => {
                let account = self.account(*mbarrier)?;
                if account.loaded || account.at_wait {
                    return None;
                }
                self.accounts.insert(*mbarrier, None);
            }
            Instr::Load(mbarrier, token, bytes) => {
                self.account(*mbarrier)?.load(*bytes)?;
                self.claim(*token, Some(vec![*mbarrier]));
            }
            Instr::Expect(mbarrier, bytes) => self.account(*mbarrier)?.expect(*bytes)?,
            Instr::Arrive(mbarrier) => self.account(*mbarrier)?.arrive()?,
            Instr::TryWait(mbarrier, parity) => {
                if self.account(*mbarrier)?.wait(*parity)? {
                    self.clock += 1;
                    self.landed.insert(*mbarrier, self.clock);
                }
            }
            Instr::Sync => self.accounts.values_mut().flatten().for_each(Account::sync),
            Instr::Idle(mbarrier) => {
                let account = self.accounts.get(mbarrier)?;
                let is_idle = account.is_none_or(|account| !account.loaded);
                is_idle.then_some(())?;
            }
            Instr::Await(tokens) => {
                let has_landed = |token: &TokenId| self.in_flight(*token).is_some_and(|on| on.is_empty());
                tokens.iter().all(has_landed).then_some(())?;
            }
            Instr::Join(token, of) => self.claim(*token, self.union(of)),
        }
        Some(())
    }

    /// Returns true if what `node` says follows after `edge`.
    fn implies(&self, edge: &Edge, node: &Node) -> bool {
        let mut binds = FxHashMap::default();
        for (token, of) in &edge.binds {
            binds.entry(*token).or_insert(of);
        }
        let bound = |token: &TokenId| match binds.get(token) {
            Some(of) => self.union(of),
            None => self.in_flight(*token),
        };
        let account_follows = |(mbarrier, account)| self.accounts.get(mbarrier) == Some(account);
        let claim_follows = |(token, on): &(_, Vec<_>)| {
            bound(token).is_some_and(|left| left.iter().all(|one| on.contains(one)))
        };
        let mut accounts = node
            .accounts
            .iter()
            .map(|(mbarrier, account)| (mbarrier, account));
        accounts.all(account_follows) && node.claims.iter().all(claim_follows)
    }
}

impl Account {
    fn initialized(count: u64) -> Option<Self> {
        (count > 0).then_some(Self {
            total: count,
            parity: false,
            arrivals: count,
            debt: 0,
            loaded: false,
            fresh: true,
            at_wait: false,
        })
    }

    fn load(&mut self, bytes: u64) -> Option<()> {
        let left = self.debt.checked_sub_unsigned(bytes)?;
        // Bytes that nobody expects could complete a phase while others are in flight.
        if self.arrivals == 0 && left < 0 {
            return None;
        }
        (self.debt, self.loaded) = (left, true);
        Some(())
    }

    fn expect(&mut self, bytes: u64) -> Option<()> {
        if self.arrivals == 0 {
            return None;
        }
        self.debt = self.debt.checked_add_unsigned(bytes)?;
        Some(())
    }

    fn arrive(&mut self) -> Option<()> {
        self.arrivals = self.arrivals.checked_sub(1)?;
        // If the next phase were complete, who is still at the wait for the last one would never pass.
        let is_wrong = self.arrivals == 0 && (self.debt < 0 || self.at_wait);
        (!is_wrong).then_some(())
    }

    /// Returns true if the phase is complete after the wait.
    fn wait(&mut self, parity: bool) -> Option<bool> {
        if self.fresh {
            return None;
        }
        self.at_wait = true;
        if self.arrivals > 0 {
            return (parity != self.parity).then_some(false);
        }
        if parity != self.parity || self.debt != 0 {
            return None;
        }
        (self.parity, self.arrivals, self.loaded) = (!self.parity, self.total, false);
        Some(true)
    }

    fn sync(&mut self) {
        (self.fresh, self.at_wait) = (false, false);
    }
}
