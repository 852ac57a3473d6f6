//! Certificates of mbarriers: random pipelines have one, and nothing in it can be another.
//!
//! `proven.rs` has them beside the checker that is extracted from its proof.
#![allow(missing_docs)]

#[path = "rings/generate.rs"]
mod rings;
mod spoil;

use async_verify::mbarriers::certificate::{Account, Node};
use async_verify::mbarriers::record::{RecordedNode, invariant_of, nodes_of};
use async_verify::mbarriers::{
    Certificate, Code, Invariant, Outcome, check, check_certificate, check_invariant,
};
use proptest::prelude::*;
use rings::{changes, pipelines};
use serde::Deserialize;
use serde_json::Value;
use spoil::{places, spoiled as spoiled_json};

/// A random pipeline, perhaps with a change, and what is known of it.
fn checked() -> impl Strategy<Value = (Code, Invariant, Outcome)> {
    let changes = proptest::collection::vec(changes(), 0..2);
    (pipelines(), changes).prop_filter_map("has none", |(pipeline, changes)| {
        let mut draft = pipeline.draft();
        for change in &changes {
            change.apply(&mut draft);
        }
        let code = draft.code();
        let (invariant, outcome) = check(&code).ok()?;
        Some((code, invariant, outcome))
    })
}

fn certificates() -> impl Strategy<Value = Certificate> {
    checked().prop_filter_map("has none", |(_, _, outcome)| outcome.certificate)
}

/// Looks at nodes as `async-verify` does.
fn is_accepted(code: &Code, nodes: &Value) -> bool {
    let nodes = Vec::<RecordedNode>::deserialize(nodes);
    let invariant = nodes.ok().and_then(|nodes| invariant_of(&nodes));
    invariant.is_some_and(|invariant| check_invariant(code, &invariant).is_ok())
}

/// All that an account can be mistaken for by one number.
fn others(account: Account) -> impl Iterator<Item = Option<Account>> {
    let changes: [fn(&mut Account); 9] = [
        |account| account.total += 1,
        |account| account.parity = !account.parity,
        |account| account.arrivals += 1,
        |account| account.arrivals = account.arrivals.saturating_sub(1),
        |account| account.debt += 1,
        |account| account.debt -= 1,
        |account| account.loaded = !account.loaded,
        |account| account.fresh = !account.fresh,
        |account| account.at_wait = !account.at_wait,
    ];
    let changed = changes.into_iter().map(move |change| {
        let mut account = account;
        change(&mut account);
        Some(account)
    });
    let is_other = move |other: &Option<Account>| *other != Some(account);
    changed.chain([None]).filter(is_other)
}

/// Changes of a node that others lead to, each of which makes it one that does not follow, or from which others don't.
fn spoiled(node: &Node, certificate: &Certificate) -> Vec<Node> {
    let mut all = Vec::new();
    for (i, (mbarrier, account)) in node.accounts.iter().enumerate() {
        let initialized = Account {
            total: 1,
            parity: false,
            arrivals: 1,
            debt: 0,
            loaded: false,
            fresh: true,
            at_wait: false,
        };
        let others = account.map_or_else(|| vec![Some(initialized)], |known| others(known).collect());
        for other in others {
            let mut node = node.clone();
            node.accounts[i] = (*mbarrier, other);
            all.push(node);
        }
    }
    for (i, (_, on)) in node.claims.iter().enumerate() {
        for j in 0..on.len() {
            let mut node = node.clone();
            node.claims[i].1.remove(j);
            all.push(node);
        }
    }
    for i in 0..node.successors.len() {
        for other in (0..=u32::try_from(certificate.nodes.len()).expect("few nodes"))
            .filter(|other| *other != node.successors[i])
        {
            let mut node = node.clone();
            node.successors[i] = other;
            all.push(node);
        }
        let mut node = node.clone();
        node.successors.remove(i);
        all.push(node);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
    ) })]

    #[test]
    fn nothing_in_a_certificate_can_be_another(certificate in certificates()) {
        prop_assert_eq!(check_certificate(&certificate), Ok(()));
        for (i, node) in certificate.nodes.iter().enumerate() {
            for other in spoiled(node, &certificate) {
                let mut spoiled = certificate.clone();
                spoiled.nodes[i] = other;
                prop_assert!(check_certificate(&spoiled).is_err(), "node {}: {:#?}", i, spoiled);
            }
        }
        let without_entry = Certificate { nodes: Vec::new(), ..certificate.clone() };
        prop_assert!(check_certificate(&without_entry).is_err());
    }

    #[test]
    fn nothing_in_an_invariant_can_be_another((code, invariant, outcome) in checked(), first in 0_usize..64) {
        let nodes = nodes_of(&invariant);
        let again = invariant_of(&nodes);
        prop_assert_eq!(again.as_ref(), Some(&invariant));
        prop_assert_eq!(check_invariant(&code, &invariant), Ok(outcome));
        let nodes = serde_json::to_value(nodes).expect("numbers are JSON");
        // Of the longest, some.
        let step = places(&nodes).div_ceil(200).max(1);
        for at in (first % step..places(&nodes)).step_by(step) {
            for other in spoiled_json(&nodes, at) {
                prop_assert!(!is_accepted(&code, &other), "place {} of\n{}\n{}\n{:#?}", at, nodes, other, code);
            }
        }
    }
}
