//! Makes operations, anew or as copies.

use super::{Block, Op, Value, context_of, position};
use crate::ffi;
use crate::names::attr;
use melior::{
    Context,
    ir::{Attribute, AttributeLike, Identifier, Location, Type, TypeLike, attribute::DenseI32ArrayAttribute},
};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::marker::PhantomData;

/// Which values and blocks stand for which in a clone.
pub struct Mapping<'c> {
    pub(super) raw: ffi::AsyncOptMapping,
    context: PhantomData<&'c Context>,
}

impl<'c> Mapping<'c> {
    /// A mapping of everything to itself.
    #[must_use]
    pub fn new() -> Self {
        Self {
            // SAFETY: makes a mapping that `drop` destroys.
            raw: unsafe { ffi::asyncOptMappingCreate() },
            context: PhantomData,
        }
    }

    /// Has `to` stand for `from`.
    pub fn map(&mut self, from: Value<'c>, to: Value<'c>) {
        // SAFETY: a live mapping and live values.
        unsafe { ffi::asyncOptMappingMap(self.raw, from.to_raw(), to.to_raw()) }
    }

    /// What stands for `from`: itself if nothing else was said.
    #[must_use]
    pub fn lookup(&self, from: Value<'c>) -> Value<'c> {
        // SAFETY: a live mapping and a live value.
        unsafe { Value::from_raw(ffi::asyncOptMappingLookup(self.raw, from.to_raw())) }
    }

    /// What stands for the block `from`: itself if nothing else was said.
    #[must_use]
    pub fn lookup_block(&self, from: Block<'c>) -> Block<'c> {
        // SAFETY: a live mapping and a live block.
        unsafe { Block::from_raw(ffi::asyncOptMappingLookupBlock(self.raw, from.to_raw())) }
    }
}

impl Default for Mapping<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed once.
        unsafe { ffi::asyncOptMappingDestroy(self.raw) }
    }
}

/// Makes an operation from its name and parts.
///
/// Nothing is checked here but that the operation can be made at all; the verifier runs after each pass.
#[must_use = "an operation is made by one of the methods that place it"]
pub struct OpBuilder<'c> {
    name: String,
    location: Location<'c>,
    operands: Vec<Value<'c>>,
    results: Results<'c>,
    attributes: Vec<(String, Attribute<'c>)>,
    regions: usize,
    successors: Vec<Block<'c>>,
}

enum Results<'c> {
    Types(Vec<Type<'c>>),
    Inferred,
}

impl<'c> OpBuilder<'c> {
    /// An operation of the full name `name`, with nothing to it yet.
    pub fn new(name: &str, location: Location<'c>) -> Self {
        Self {
            name: name.to_owned(),
            location,
            operands: Vec::new(),
            results: Results::Types(Vec::new()),
            attributes: Vec::new(),
            regions: 0,
            successors: Vec::new(),
        }
    }

    /// Adds operands.
    pub fn operands(mut self, operands: &[Value<'c>]) -> Self {
        self.operands.extend_from_slice(operands);
        self
    }

    /// Adds operands in groups, and the attribute that says how many each group has.
    pub fn operand_groups(self, groups: &[&[Value<'c>]]) -> Self {
        // SAFETY: a live location has a context.
        let context = unsafe { context_of(mlirLocationGetContext(self.location.to_raw())) };
        let sizes: Vec<i32> = groups
            .iter()
            .map(|group| i32::try_from(group.len()).expect("an operation has few operands"))
            .collect();
        let sizes = DenseI32ArrayAttribute::new(context, &sizes).into();
        self.operands(&groups.concat())
            .attr(attr::OPERAND_SEGMENT_SIZES, sizes)
    }

    /// Adds results of these types.
    pub fn results(mut self, types: &[Type<'c>]) -> Self {
        match &mut self.results {
            Results::Types(all) => all.extend_from_slice(types),
            Results::Inferred => self.results = Results::Types(types.to_vec()),
        }
        self
    }

    /// Has the operation infer the types of its results.
    pub fn infer_results(mut self) -> Self {
        self.results = Results::Inferred;
        self
    }

    /// Adds an attribute: an inherent one if the operation has one of this name, else a discardable one.
    pub fn attr(mut self, name: &str, attribute: Attribute<'c>) -> Self {
        self.attributes.push((name.to_owned(), attribute));
        self
    }

    /// Adds empty regions, to be filled once the operation is there.
    pub fn regions(mut self, number: usize) -> Self {
        self.regions += number;
        self
    }

    /// Adds successors.
    pub fn successors(mut self, blocks: &[Block<'c>]) -> Self {
        self.successors.extend_from_slice(blocks);
        self
    }

    /// Makes the operation, detached.
    ///
    /// # Panics
    ///
    /// If the types of the results can't be inferred from the operands; likewise for the methods that also place it.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub fn detached(self) -> Op<'c> {
        // SAFETY: a live location has a context.
        let context = unsafe { context_of(mlirLocationGetContext(self.location.to_raw())) };
        let operands: Vec<_> = self.operands.iter().map(|value| value.to_raw()).collect();
        let successors: Vec<_> = self.successors.iter().map(|block| block.to_raw()).collect();
        let attributes: Vec<_> = self
            .attributes
            .iter()
            .map(|(name, attribute)| MlirNamedAttribute {
                name: Identifier::new(context, name).to_raw(),
                attribute: attribute.to_raw(),
            })
            .collect();
        // SAFETY: the state points at arrays that live until the operation is made, which copies them and takes over
        // the regions.
        let op = unsafe {
            let mut state = mlirOperationStateGet(ffi::string_ref(&self.name), self.location.to_raw());
            mlirOperationStateAddOperands(&raw mut state, position(operands.len()), operands.as_ptr());
            mlirOperationStateAddSuccessors(&raw mut state, position(successors.len()), successors.as_ptr());
            mlirOperationStateAddAttributes(&raw mut state, position(attributes.len()), attributes.as_ptr());
            let regions: Vec<_> = (0..self.regions).map(|_| mlirRegionCreate()).collect();
            mlirOperationStateAddOwnedRegions(&raw mut state, position(regions.len()), regions.as_ptr());
            match &self.results {
                Results::Types(types) => {
                    let types: Vec<_> = types.iter().map(Type::to_raw).collect();
                    mlirOperationStateAddResults(&raw mut state, position(types.len()), types.as_ptr());
                    mlirOperationCreate(&raw mut state)
                }
                Results::Inferred => {
                    mlirOperationStateEnableResultTypeInference(&raw mut state);
                    mlirOperationCreate(&raw mut state)
                }
            }
        };
        // SAFETY: not null, so it was made.
        unsafe { Op::from_option_raw(op) }
            .unwrap_or_else(|| panic!("cannot infer the results of `{}`", self.name))
    }

    /// Makes the operation right before `other`.
    pub fn before(self, other: Op<'c>) -> Op<'c> {
        let op = self.detached();
        op.move_before(other);
        op
    }

    /// Makes the operation right after `other`.
    pub fn after(self, other: Op<'c>) -> Op<'c> {
        let op = self.detached();
        op.move_after(other);
        op
    }

    /// Makes the operation at the end of `block`.
    pub fn at_end(self, block: Block<'c>) -> Op<'c> {
        let op = self.detached();
        block.append(op);
        op
    }

    /// Makes the operation at the start of `block`.
    pub fn at_start(self, block: Block<'c>) -> Op<'c> {
        let op = self.detached();
        block.prepend(op);
        op
    }
}
