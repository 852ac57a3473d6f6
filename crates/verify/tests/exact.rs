//! A certificate is the one that its code has: nothing in it can be changed.
#![allow(missing_docs)]

mod flatten;
#[path = "../../tokenflow/tests/oracle/mod.rs"]
mod oracle;
mod spoil;

use async_verify::groups::record::{RecordedNode, certificate_of, nodes_of};
use async_verify::groups::{Code, check, check_exact, infer};
use flatten::flatten;
use oracle::generate::{Style, any_program, config, long};
use oracle::lower::{PLAIN, lower};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use spoil::{places, spoiled};
use tokenflow::Options;

/// Looks at nodes as `async-verify` does.
fn is_accepted(code: &Code, nodes: &Value) -> bool {
    let Ok(nodes) = Vec::<RecordedNode>::deserialize(nodes) else {
        return false;
    };
    let certificate = certificate_of(&nodes);
    check(code, &certificate).is_ok() && check_exact(code, &certificate).is_ok()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn nothing_can_be_changed(
        recipe in prop_oneof![
            any_program(Style::Tokens),
            any_program(Style::Mixed),
            any_program(Style::Stores),
            long(Style::Tokens),
        ],
        plain in any::<bool>(),
        first in 0_usize..64,
    ) {
        let options = if plain { PLAIN } else { Options::default() };
        let lowered = lower(&recipe.program(), &options);
        let code = flatten(&lowered.program, &lowered.emitted);
        let certificate = infer(&code);
        let nodes = nodes_of(&certificate);
        prop_assert_eq!(&certificate_of(&nodes), &certificate);
        let exact = check_exact(&code, &certificate);
        prop_assert!(exact.is_ok(), "{exact:?}\n{code:#?}\n{certificate:#?}");
        let nodes = serde_json::to_value(nodes).expect("numbers are JSON");
        // Of the longest, some.
        let all = places(&nodes);
        for at in (first % all.div_ceil(200).max(1)..all).step_by(all.div_ceil(200).max(1)) {
            for other in spoiled(&nodes, at) {
                prop_assert!(!is_accepted(&code, &other), "place {at} of\n{nodes}\n{other}\n{code:#?}");
            }
        }
    }
}
