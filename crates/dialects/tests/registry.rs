//! Registration of our dialects, and the names in them.
#![allow(missing_docs)]

use async_dialects::names;
use async_dialects::registry::{register_all_dialects, register_dialects, register_dialects_beside_upstream};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::registry::unknown_names;

#[test]
fn names_are_those_of_the_dialects() {
    let registry = DialectRegistry::new();
    // Upstream's, too: one of ours is an operation of its `transform`.
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    context.load_all_available_dialects();
    let unknown = unknown_names(&context, names::OPERATIONS, names::ATTRIBUTES);
    assert!(unknown.is_empty(), "the dialects do not know {unknown:?}");
    let wrong = unknown_names(&context, &["gpux.cpoy"], &[("queue", &[names::gpux::COPY])]);
    assert_eq!(wrong, ["gpux.cpoy", "queue of gpux.copy"]);
}

#[test]
fn upstreams_async_gets_what_it_lacks() {
    let registry = DialectRegistry::new();
    async_mlir::melior::utility::register_all_dialects(&registry);
    register_dialects_beside_upstream(&registry).unwrap();
    let context = Context::new_with_registry(&registry, false);
    context.load_all_available_dialects();
    let common = [
        names::async_::AWAIT,
        names::async_::READY,
        names::async_::JOIN,
        names::transform::ASYNC_PIPELINE,
    ];
    let unknown = unknown_names(&context, &common, &[]);
    assert!(unknown.is_empty(), "the dialects do not know {unknown:?}");
    let execute = names::upstream_async::EXECUTE;
    let wrong = unknown_names(&context, &[execute, names::async_::REGION], &[]);
    assert_eq!(wrong, [names::async_::REGION]);
}

#[test]
fn our_async_comes_where_upstreams_is_not() {
    let registry = DialectRegistry::new();
    register_dialects_beside_upstream(&registry).unwrap();
    let context = Context::new_with_registry(&registry, false);
    context.load_all_available_dialects();
    let ours = [names::async_::REGION, names::gpux::COPY];
    assert!(unknown_names(&context, &ours, &[]).is_empty());
}

#[test]
fn registering_twice_is_harmless() {
    let registry = DialectRegistry::new();
    register_dialects(&registry).unwrap();
    register_dialects(&registry).unwrap();
    register_all_dialects(&registry);
}

#[test]
fn upstreams_async_dialect_is_a_conflict_and_no_crash() {
    let registry = DialectRegistry::new();
    async_mlir::melior::utility::register_all_dialects(&registry);
    let error = register_dialects(&registry).unwrap_err().to_string();
    assert!(error.contains("already has another dialect"), "{error}");
}
