//! `--legalize-for-ptx`: rewrites symbols, addresses and library calls as `ptxas` needs them.
//!
//! **Condition.** Device code in the `llvm` dialect.
//!
//! **Effect.**
//!
//! - Dynamic shared memory is an external symbol, `.extern .shared` in PTX. Upstream makes it an internal one of size
//!   zero, which `ptxas` lays out as one byte among the others: static buffers would lie on top of it. It is aligned to
//!   what `gpux.dynamic_alignment` of the module says, if that is more than upstream's 16 bytes.
//! - Every buffer says its alignment. Of one that does not, LLVM assumes 16 where it merges loads, but writes the
//!   alignment of the element type into the PTX.
//! - An address in memory of the block that becomes one in memory of the cluster stays as it is, in 32 bits: `.shared::cta` is a part of
//!   `.shared::cluster` (PTX ISA, "Shared State Space"). LLVM would make a generic address on the way, of 64 bits.
//! - Calls of CUDA's device library that are a single instruction (`fma`, `sqrt`, …) are that instruction, and need no
//!   library.
//!
//! **Refusals.** With `libdevice=false`, any other call of that library, which nothing would resolve: `ptxas` would find
//! out, without saying where in the program it comes from.

use async_dialects::names::gpux_attr;
use async_mlir::ir::{Op, OpBuilder, Value, int_attr};
use async_mlir::llvm::{AddressSpace, array_size, external_linkage, pointer};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::{StringAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{attr, gpu, llvm};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo};
use async_mlir::types::symbol;

/// The most that LLVM's back end assumes of a buffer that does not say its alignment.
const ASSUMED_ALIGNMENT: i64 = 16;

/// The pass.
pub struct LegalizeForPtx;

impl Pass for LegalizeForPtx {
    const INFO: PassInfo = PassInfo {
        description: "Makes dynamic shared memory an external symbol (`.extern .shared`), aligned to what \
                      `gpux.dynamic_alignment` of the module says, aligns buffers that do not say \
                      their alignment to the 16 bytes that LLVM assumes of them, keeps addresses in memory of the block \
                      short where they become addresses in memory of the cluster, and replaces calls of CUDA's device \
                      library by an instruction where there is one. With `libdevice=false`, refuses other calls of it, \
                      at the operation that they come from.",
        anchor: Anchor::Ops(&[gpu::MODULE]),
        options: &[
            OptionInfo::bool("libdevice", true, "CUDA's device library is linked later"),
            OptionInfo::string(
                "searched",
                "",
                "the folders in which a toolkit with that library was looked for, for the message",
            ),
        ],
        dependent_dialects: &[Dialect::LLVM],
        ..PassInfo::new(
            "legalize-for-ptx",
            "gives the symbols of device code what the assembler needs to know",
        )
    };

    fn run<'c>(module: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let external = external_linkage(module.context());
        let alignment = int_attr(module.context(), 64, ASSUMED_ALIGNMENT);
        let dynamic = module.int_attr(gpux_attr::DYNAMIC_ALIGNMENT);
        module.remove_attr(gpux_attr::DYNAMIC_ALIGNMENT);
        for op in module.self_and_nested() {
            if is_dynamic_shared_memory(op) {
                op.set_attr(attr::LINKAGE, external);
                if let Some(dynamic) = dynamic.filter(|dynamic| op.int_attr(attr::ALIGNMENT) < Some(*dynamic))
                {
                    op.set_attr(attr::ALIGNMENT, int_attr(module.context(), 64, dynamic));
                }
            }
            if op.is(llvm::MLIR_GLOBAL) && !op.has_attr(attr::ALIGNMENT) {
                op.set_attr(attr::ALIGNMENT, alignment);
            }
            if let Some(address) = address_in_block(op) {
                let [narrow, wide] = [32, 64].map(|bits| IntegerType::new(op.context(), bits).into());
                let cast = |name, value: Value<'c>, ty| {
                    OpBuilder::new(name, op.location())
                        .operands(&[value])
                        .results(&[ty])
                        .before(op)
                        .result(0)
                };
                let number = cast(llvm::PTRTOINT, address, wide);
                let text = |text| StringAttribute::new(op.context(), text).into();
                // LLVM would make a mask of a conversion, and of that one of the alignment, which costs an instruction.
                let number = OpBuilder::new(llvm::INLINE_ASM, op.location())
                    .operands(&[number])
                    .results(&[narrow])
                    .attr(attr::ASM_STRING, text("cvt.u32.u64 $0, $1;"))
                    .attr(attr::CONSTRAINTS, text("=r,l"))
                    .before(op);
                let number = cast(llvm::ZEXT, number.result(0), wide);
                op.replace_with(&[cast(llvm::INTTOPTR, number, op.result(0).ty())]);
                continue;
            }
            let Some(function) = library_function(op) else {
                continue;
            };
            if let Some(intrinsic) = instruction(function) {
                let operands: Vec<_> = op.operands().collect();
                let types: Vec<_> = op.results().map(Value::ty).collect();
                let new = OpBuilder::new(intrinsic, op.location())
                    .operands(&operands)
                    .results(&types)
                    .before(op);
                new.copy_discardable_attrs(op);
                op.replace_with(&[new.result(0)]);
            } else if !cx.bool("libdevice") {
                return Err(missing(op, function, cx.str("searched")));
            }
        }
        Ok(())
    }
}

/// What to say of a call of `function` by `op`, where nothing links it.
fn missing<'c>(op: Op<'c>, function: &str, searched: &str) -> PassError<'c> {
    let searched = match searched {
        "" => String::new(),
        folders => format!(" (there is none in {folders})"),
    };
    let message = format!("needs {function} of CUDA's device library, which is not linked{searched}");
    let help = "give toolkit=<folder>, a CUDA toolkit with nvvm/libdevice/libdevice.10.bc in it, set CUDA_HOME, or add the \
                ptxas of such a toolkit to the PATH; the Python package nvidia-cuda-nvcc-cu12 has both";
    PassError::new(op, message).note(op, help)
}

/// The address in memory of the block that `op` makes an address in memory of the cluster of, perhaps by way of a generic one.
fn address_in_block(op: Op<'_>) -> Option<Value<'_>> {
    let [shared, cluster, generic] = [AddressSpace::Shared, AddressSpace::Cluster, AddressSpace::Generic]
        .map(|space| pointer(op.context(), space));
    if !op.is(llvm::ADDRSPACECAST) || op.result(0).ty() != cluster {
        return None;
    }
    let from = op.operand(0);
    let way = from
        .defining_op()
        .filter(|way| way.is(llvm::ADDRSPACECAST) && from.ty() == generic);
    let address = way.map_or(from, |way| way.operand(0));
    (address.ty() == shared).then_some(address)
}

/// Returns true if `op` is the symbol that upstream makes for `gpu.dynamic_shared_memory`: an array of no elements in
/// shared memory.
fn is_dynamic_shared_memory(op: Op<'_>) -> bool {
    let is_empty =
        |ty: Attribute| TypeAttribute::try_from(ty).is_ok_and(|ty| array_size(ty.value()) == Some(0));
    op.is(llvm::MLIR_GLOBAL)
        && op.int_attr(attr::ADDR_SPACE) == Some(AddressSpace::Shared.number())
        && op.attr(attr::GLOBAL_TYPE).is_some_and(is_empty)
}

/// The name of the function of CUDA's device library that `op` calls.
fn library_function(op: Op<'_>) -> Option<&str> {
    let callee = op.attr(attr::CALLEE).filter(|_| op.is(llvm::CALL))?;
    let name = symbol(callee)?;
    name.starts_with("__nv_").then_some(name)
}

/// The intrinsic that is one instruction of PTX and does what `function` does, to the last bit.
fn instruction(function: &str) -> Option<&'static str> {
    Some(match function {
        "__nv_ceil" | "__nv_ceilf" => llvm::INTR_CEIL,
        "__nv_fabs" | "__nv_fabsf" => llvm::INTR_FABS,
        "__nv_floor" | "__nv_floorf" => llvm::INTR_FLOOR,
        "__nv_fma" | "__nv_fmaf" => llvm::INTR_FMA,
        "__nv_rint" | "__nv_rintf" => llvm::INTR_RINT,
        "__nv_sqrt" | "__nv_sqrtf" => llvm::INTR_SQRT,
        "__nv_trunc" | "__nv_truncf" => llvm::INTR_TRUNC,
        _ => return None,
    })
}
