//! The passes from Rust, as README.md shows it.
#![allow(missing_docs)]

use async_dialects::registry::register_all_dialects;
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use std::error::Error;

fn count_groups(source: &str) -> Result<String, Box<dyn Error>> {
    async_passes::register_all(); // once per process

    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, true);

    let mut module = Module::parse(&context, source).ok_or("the source has errors")?;
    let passes = PassManager::new(&context);
    let pipeline = "builtin.module(gpu.module(gpu.func(gpux-tokens-to-groups{unroll-limit=0})))";
    parse_pass_pipeline(passes.as_operation_pass_manager(), pipeline)?;
    passes.run(&mut module)?;
    Ok(module.as_operation().to_string())
}

#[test]
fn a_kernel_is_counted() {
    let counted =
        count_groups(include_str!("../../../test/Integration/readme.mlir")).expect("the example is right");
    for wait in ["<cp_async>, 2", "<cp_async>, 1", "<cp_async>, 0"] {
        assert!(counted.contains(&format!("gpux.wait_group {wait}")), "{counted}");
    }
}
