//! What a kernel may be launched with.

use crate::code::Code;
use crate::machine::Launch;

/// What `async-sim` lets a thread run.
const BUDGET: u64 = 1 << 24;
/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

/// Checks what a kernel is launched with: blocks, threads of a block, blocks of a cluster, bytes of dynamic workgroup memory.
///
/// # Errors
///
/// A message that goes on from the name of the kernel.
pub fn checked(
    code: &Code,
    [grid, block, cluster]: [[i64; 3]; 3],
    workgroup_bytes: i64,
) -> Result<Launch, String> {
    let dimensions = |of: [i64; 3], what: &str| -> Result<[u32; 3], String> {
        let mut dimensions = [1; 3];
        for (to, from) in dimensions.iter_mut().zip(of) {
            let size = u32::try_from(from).ok().filter(|size| *size > 0);
            *to = size.ok_or_else(|| {
                format!(
                    "it is launched with {what} of {of:?}, and each is 1 to {}",
                    u32::MAX
                )
            })?;
        }
        Ok(dimensions)
    };
    let (grid, block) = (dimensions(grid, "a grid")?, dimensions(block, "blocks")?);
    let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
    if product(block) > 1024 {
        return Err(format!(
            "it is launched with blocks of {block:?} threads, and 1024 is the most"
        ));
    }
    if product(grid).saturating_mul(product(block)) > u128::from(u32::MAX) {
        return Err(format!(
            "it is launched with more threads than the interpreter counts, {}",
            u32::MAX
        ));
    }
    if cluster.iter().any(|&size| size > 1) {
        return Err("it is launched with clusters, which the interpreter does not know".into());
    }
    let known = [("a grid", code.grid, grid), ("blocks", code.block, block)];
    for (what, known, given) in known {
        if let Some(known) = known.filter(|known| *known != given) {
            return Err(format!(
                "it is launched with {what} of {given:?}, and says itself that it is for {known:?}"
            ));
        }
    }
    let dynamic_workgroup = usize::try_from(workgroup_bytes).unwrap_or(usize::MAX);
    let buffers = code.workgroup.iter().filter_map(|decl| decl.view.span_bytes());
    if buffers.fold(dynamic_workgroup, usize::saturating_add) > MAX_WORKGROUP {
        return Err(format!(
            "it has more than {MAX_WORKGROUP} bytes of workgroup memory"
        ));
    }
    Ok(Launch {
        grid,
        block,
        dynamic_workgroup,
        budget: BUDGET,
    })
}
