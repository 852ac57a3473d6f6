//! Converts each operation of `gpu` to one of `gpux`, and tokens to tokens.

use crate::utils::signature::{Signature, operand_segments};
use crate::utils::tokens::await_before;
use async_dialects::names::{async_, gpux, gpux_attr};
use async_dialects::registry::has_upstream_async;
use async_dialects::types::token;
use async_mlir::gpu::{MemorySpace, is_gpu_token};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr, gpu, memref};
use async_mlir::pass::PassError;

/// Returns true if `op` is an operation that is turned into another one.
pub(super) fn is_known(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        gpu::ALLOC | gpu::DEALLOC | gpu::LAUNCH_FUNC | gpu::MEMCPY | gpu::MEMSET | gpu::WAIT
    )
}

/// Returns true if `op` uses its operands once its dependencies are complete, and the host does nothing with them before.
fn starts_later(op: Op<'_>) -> bool {
    is_known(op)
        || matches!(
            op.name(),
            gpux::DEALLOC | gpux::MEMSET | gpux::TRANSFER | gpux::ASYNC_LAUNCH
        )
}

/// Converts all operations in `module`.
pub(super) fn convert(module: Op<'_>) -> Result<(), PassError<'_>> {
    let token = token(module.context());
    for op in module.self_and_nested() {
        let arguments = op
            .regions()
            .flat_map(Region::blocks)
            .flat_map(|block| block.args().collect::<Vec<_>>());
        for value in op
            .results()
            .chain(arguments)
            .filter(|value| is_gpu_token(value.ty()))
        {
            value.set_type(token);
        }
        if let Some(mut signature) = Signature::of(op) {
            let types = signature.inputs.iter_mut().chain(&mut signature.results);
            let tokens: Vec<_> = types.filter(|ty| is_gpu_token(**ty)).collect();
            if !tokens.is_empty() {
                for ty in tokens {
                    *ty = token;
                }
                signature.set(op);
            }
        }
    }
    let mut ops = module.self_and_nested();
    ops.retain(|op| is_known(*op));
    ops.into_iter().try_for_each(|op| Host::of(op, token).convert())
}

/// An operation of the host, with its operands in groups.
struct Host<'c> {
    op: Op<'c>,
    token: Type<'c>,
    dependencies: Vec<Value<'c>>,
    operands: Vec<Value<'c>>,
    /// True if it returns a token.
    asynchronous: bool,
}

impl<'c> Host<'c> {
    fn of(op: Op<'c>, token: Type<'c>) -> Self {
        let (all, operands): (Vec<Value>, Vec<Value>) =
            op.operands().partition(|operand| operand.ty() == token);
        let mut dependencies: Vec<Value> = Vec::new();
        for token in all {
            if !dependencies.contains(&token) {
                dependencies.push(token);
            }
        }
        Self {
            op,
            token,
            dependencies,
            operands,
            asynchronous: op.results().any(|result| result.ty() == token),
        }
    }

    fn convert(self) -> Result<(), PassError<'c>> {
        match self.op.name() {
            gpu::WAIT => self.wait(),
            gpu::ALLOC => return self.alloc(),
            gpu::DEALLOC => {
                let new = self.start(gpux::DEALLOC, &[&self.operands]);
                self.finish(new, None);
            }
            gpu::MEMSET => {
                let (dst, value) = (self.operands[0], self.operands[1]);
                if MemorySpace::of(dst.ty()) != Some(MemorySpace::Global) {
                    let message = "sets memory of the host: no 'gpu.alloc' in this module allocates it";
                    return Err(PassError::new(self.op, message).note(self.op, "set it with linalg.fill"));
                }
                let new = self.start(gpux::MEMSET, &[&[value], &[dst]]);
                self.finish(new, None);
            }
            gpu::MEMCPY => return self.memcpy(),
            _ => return self.launch(),
        }
        Ok(())
    }

    /// A builder of what takes the place of the operation, with dependencies.
    fn start(&self, name: &str, groups: &[&[Value<'c>]]) -> OpBuilder<'c> {
        OpBuilder::new(name, self.op.location())
            .operands(&self.dependencies)
            .operands(&groups.concat())
    }

    /// Puts `new`, which returns a token after `value`, in the place of the operation; awaits the token if that returns none.
    fn finish(&self, new: OpBuilder<'c>, value: Option<Type<'c>>) {
        let values: Vec<Type> = value.into_iter().collect();
        let new = new.results(&values).results(&[self.token]).before(self.op);
        new.copy_discardable_attrs(self.op);
        self.replace(new, values.len());
    }

    /// Has `new`, whose token is after `values` other results, be used in the place of the operation.
    fn replace(&self, new: Op<'c>, values: usize) {
        let mut results: Vec<Value> = new.results().take(values).collect();
        if self.asynchronous {
            results.push(new.result(values));
        } else {
            await_before(self.op, &[new.result(values)]);
        }
        self.op.replace_with(&results);
    }

    /// A wait with a token is a join, and one without is an await.
    fn wait(self) {
        if self.asynchronous {
            let name = if self.dependencies.is_empty() {
                async_::READY
            } else {
                async_::JOIN
            };
            self.finish(self.start(name, &[]), None);
        } else {
            if !self.dependencies.is_empty() {
                await_before(self.op, &self.dependencies);
            }
            self.op.erase();
        }
    }

    /// What host and device share is memory of the host that the device can access.
    fn alloc(self) -> Result<(), PassError<'c>> {
        let ty = self.op.result(0).ty();
        if operand_segments(self.op)
            .last()
            .is_some_and(|symbols| *symbols > 0)
        {
            let message = "allocates memory with a layout, and 'gpux.alloc' has none";
            return Err(PassError::new(self.op, message)
                .note(self.op, "allocate a contiguous buffer, and take a view of it"));
        }
        let name = if self.op.has_attr(attr::HOST_SHARED) {
            gpux::HOST_ALLOC
        } else {
            gpux::ALLOC
        };
        let new = OpBuilder::new(name, self.op.location())
            .operand_groups(&[&self.dependencies, &self.operands])
            .results(&[ty, self.token])
            .before(self.op);
        new.copy_discardable_attrs(self.op);
        // In gpu, the pointer is there at once, and the host may make views of it; in gpux, once the token is complete.
        let mut users = self.op.result(0).uses().into_iter().map(|used| used.owner);
        if self.asynchronous && users.any(|user| !starts_later(user)) {
            await_before(self.op, &[new.result(1)]);
        }
        self.replace(new, 1);
        Ok(())
    }

    /// Within the host's memory, a copy is a task of the host.
    fn memcpy(self) -> Result<(), PassError<'c>> {
        let (dst, src) = (self.operands[0], self.operands[1]);
        let on_host = |value: Value<'c>| MemorySpace::of(value.ty()).is_none();
        if !on_host(dst) || !on_host(src) {
            let groups: [&[Value]; 3] = [&self.dependencies, &[src], &[dst]];
            let new = OpBuilder::new(gpux::TRANSFER, self.op.location())
                .operand_groups(&groups)
                .attr(gpux_attr::RESULT_SEGMENT_SIZES, result_sizes(self.op));
            self.finish(new, None);
            return Ok(());
        }
        if has_upstream_async(self.op) {
            let message = "copies within the host's memory, which takes a region of our dialect 'async', and here is upstream's";
            return Err(PassError::new(self.op, message).note(self.op, "run this pass in async-opt"));
        }
        let location = self.op.location();
        let body = Block::new(&[]);
        OpBuilder::new(memref::COPY, location)
            .operands(&[src, dst])
            .at_end(body);
        OpBuilder::new(async_::YIELD, location).at_end(body);
        let region = self
            .start(async_::REGION, &[])
            .results(&[self.token])
            .regions(1)
            .before(self.op);
        region.region(0).append(body);
        region.copy_discardable_attrs(self.op);
        self.replace(region, 0);
        Ok(())
    }

    fn launch(self) -> Result<(), PassError<'c>> {
        let mut rest = self.op.operands();
        let mut groups: Vec<Vec<Value>> = operand_segments(self.op)
            .into_iter()
            .map(|size| rest.by_ref().take(size).collect())
            .collect();
        let [_, sizes @ .., dynamic, arguments, object] = groups.as_mut_slice() else {
            return Err(PassError::new(self.op, "has operands that can't be told apart"));
        };
        if !object.is_empty() {
            let message = "takes a stream object, which can't be imported";
            return Err(PassError::new(self.op, message).note(self.op, "say with tokens what it comes after"));
        }
        let mut sizes: Vec<Vec<Value>> = sizes.chunks(3).map(<[Vec<Value>]>::concat).collect();
        let index = Type::index(self.op.context());
        let mut casts: Vec<(Value, Value)> = Vec::new();
        for size in sizes.iter_mut().flatten().filter(|size| size.ty() != index) {
            let known = casts.iter().find(|(from, _)| from == size).map(|(_, to)| *to);
            let to = known.unwrap_or_else(|| {
                OpBuilder::new(arith::INDEX_CAST, self.op.location())
                    .operands(&[*size])
                    .results(&[index])
                    .before(self.op)
                    .result(0)
            });
            casts.push((*size, to));
            *size = to;
        }
        let [blocks, threads, clusters] = sizes.as_slice() else {
            return Err(PassError::new(self.op, "has operands that can't be told apart"));
        };
        let Some(kernel) = self.op.attr(attr::KERNEL) else {
            return Err(PassError::new(self.op, "launches no kernel"));
        };
        let groups: [&[Value]; 6] = [&self.dependencies, clusters, blocks, threads, dynamic, arguments];
        let new = OpBuilder::new(gpux::ASYNC_LAUNCH, self.op.location())
            .operand_groups(&groups)
            .attr(attr::KERNEL, kernel);
        self.finish(new, None);
        Ok(())
    }
}

/// A transfer has no value here, but a token.
fn result_sizes(op: Op<'_>) -> async_mlir::melior::ir::Attribute<'_> {
    async_mlir::melior::ir::attribute::DenseI32ArrayAttribute::new(op.context(), &[0, 1]).into()
}
