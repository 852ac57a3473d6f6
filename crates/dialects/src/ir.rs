//! Handles to MLIR's IR, made for rewriting it.
//!
//! [`Op`], [`Value`], [`Block`] and [`Region`] are copyable handles, as the pointers in C++ MLIR are, and bound to the
//! lifetime `'c` of their context. Attributes, types and locations are melior's.
//!
//! MLIR owns the IR: an operation lives until it, or what it is nested in, is erased. As in C++, a handle must not be
//! used after that; [`Op::erase`] and [`Block::erase`] check that nothing in the IR still refers to what goes, but
//! handles can't be checked. Melior's own types (a second lifetime for the owner, exclusive references for changes)
//! cannot rule this out either, and make rewrites that hold several operations at once impossible to write.

use crate::ffi;
use melior::{
    Context, ContextRef,
    ir::{
        Attribute, AttributeLike, Identifier, Location, OperationRef, Type, TypeLike,
        attribute::{BoolAttribute, IntegerAttribute, StringAttribute},
        operation::OperationLike,
    },
};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::{
    collections::BTreeMap,
    ffi::c_void,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    sync::{Mutex, PoisonError},
};

/// Defines a handle around one of MLIR's pointers.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'c> {
            raw: $raw,
            context: PhantomData<&'c Context>,
        }

        impl $name<'_> {
            /// Wraps a raw object.
            ///
            /// # Safety
            ///
            /// `raw` must be valid, and of a context that outlives the handle.
            #[must_use]
            pub unsafe fn from_raw(raw: $raw) -> Self {
                Self { raw, context: PhantomData }
            }

            #[allow(dead_code)] // Not every handle comes from a nullable pointer.
            unsafe fn from_option_raw(raw: $raw) -> Option<Self> {
                // SAFETY: not null here; the rest is the caller's promise.
                (!raw.ptr.is_null()).then(|| unsafe { Self::from_raw(raw) })
            }

            /// The raw object.
            #[must_use]
            pub fn to_raw(self) -> $raw {
                self.raw
            }
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                // MLIR's C API compares these objects by address, too.
                std::ptr::eq(self.raw.ptr, other.raw.ptr)
            }
        }

        impl Eq for $name<'_> {}

        impl Hash for $name<'_> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.raw.ptr.hash(state);
            }
        }
    };
}

handle!(
    /// An operation.
    Op,
    MlirOperation
);
handle!(
    /// A result of an operation or an argument of a block.
    Value,
    MlirValue
);
handle!(
    /// A block.
    Block,
    MlirBlock
);
handle!(
    /// A region of an operation.
    Region,
    MlirRegion
);

/// The context that `raw` points at.
///
/// melior's way from a `ContextRef` to a `&Context` points at the `ContextRef` itself, and dangles as soon as that goes.
/// So the `ContextRef` is made once for each context here, and never freed: a pointer's worth of memory.
///
/// # Safety
///
/// `raw` must be valid for `'c`.
unsafe fn context_of<'c>(raw: MlirContext) -> &'c Context {
    struct Wrapper(&'static ContextRef<'static>);
    // SAFETY: the wrapper is only ever read, and what it points at may be used from any thread, as MLIR's contexts may.
    unsafe impl Send for Wrapper {}
    static WRAPPERS: Mutex<BTreeMap<usize, Wrapper>> = Mutex::new(BTreeMap::new());
    let mut wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let wrapper = wrappers
        .entry(raw.ptr.addr())
        // SAFETY: not null, as the caller promises.
        .or_insert_with(|| Wrapper(Box::leak(Box::new(unsafe { ContextRef::from_raw(raw) }))));
    // SAFETY: the wrapper lives forever, and the context for `'c`.
    unsafe { wrapper.0.to_ref() }
}

/// An integer attribute of a known width.
#[must_use]
pub fn int_attr(context: &Context, bits: u32, value: i64) -> Attribute<'_> {
    IntegerAttribute::new(melior::ir::r#type::IntegerType::new(context, bits).into(), value).into()
}

/// An attribute of type `index`.
#[must_use]
pub fn index_attr(context: &Context, value: i64) -> Attribute<'_> {
    IntegerAttribute::new(Type::index(context), value).into()
}

/// A string attribute.
#[must_use]
pub fn str_attr<'c>(context: &'c Context, value: &str) -> Attribute<'c> {
    StringAttribute::new(context, value).into()
}

/// A boolean attribute.
#[must_use]
pub fn bool_attr(context: &Context, value: bool) -> Attribute<'_> {
    BoolAttribute::new(context, value).into()
}

impl<'c> Op<'c> {
    /// The context.
    #[must_use]
    pub fn context(self) -> &'c Context {
        // SAFETY: a live operation has a context, and it outlives `'c`.
        unsafe { context_of(mlirOperationGetContext(self.raw)) }
    }

    /// The full name, such as `gpux.copy`.
    #[must_use]
    pub fn name(self) -> &'c str {
        // SAFETY: names are interned in the context.
        unsafe { ffi::str_from_raw(mlirIdentifierStr(mlirOperationGetName(self.raw))) }
    }

    /// Returns true if this operation has the full name `name`.
    #[must_use]
    pub fn is(self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns true if this operation is a function of any dialect.
    #[must_use]
    pub fn is_function(self) -> bool {
        // SAFETY: a live operation.
        unsafe { ffi::asyncOptOperationIsFunction(self.raw) }
    }

    /// Returns true if this operation has no side effects and may be executed speculatively.
    #[must_use]
    pub fn is_pure(self) -> bool {
        // SAFETY: a live operation.
        unsafe { ffi::asyncOptOperationIsPure(self.raw) }
    }

    /// Returns true if this operation ends its block, by its kind (it may be misplaced).
    #[must_use]
    pub fn is_terminator(self) -> bool {
        self.next().is_none() && self.block().and_then(Block::terminator) == Some(self)
    }

    /// Returns true if the dialect of this operation is known, and has it.
    #[must_use]
    pub fn is_registered(self) -> bool {
        // SAFETY: a live operation.
        unsafe {
            let name = mlirIdentifierStr(mlirOperationGetName(self.raw));
            mlirContextIsRegisteredOperation(mlirOperationGetContext(self.raw), name)
        }
    }

    /// Where the operation came from.
    #[must_use]
    pub fn location(self) -> Location<'c> {
        // SAFETY: a live operation.
        unsafe { Location::from_raw(mlirOperationGetLocation(self.raw)) }
    }

    /// Sets where the operation came from.
    pub fn set_location(self, location: Location<'c>) {
        // SAFETY: a live operation, and a location of its context.
        unsafe { mlirOperationSetLocation(self.raw, location.to_raw()) }
    }

    /// The same operation as melior's type, for melior's APIs.
    #[must_use]
    pub fn as_melior<'a>(self) -> OperationRef<'c, 'a>
    where
        'c: 'a,
    {
        // SAFETY: a live operation.
        unsafe { OperationRef::from_raw(self.raw) }
    }

    // Operands, results, regions, successors.

    /// How many operands there are.
    #[must_use]
    pub fn num_operands(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumOperands(self.raw) })
    }

    /// The operand at `index`.
    ///
    /// # Panics
    ///
    /// If there is none; likewise for the other accessors by index.
    #[must_use]
    pub fn operand(self, index: usize) -> Value<'c> {
        assert!(
            index < self.num_operands(),
            "`{}` has no operand {index}",
            self.name()
        );
        // SAFETY: the index is in range.
        unsafe { Value::from_raw(mlirOperationGetOperand(self.raw, position(index))) }
    }

    /// The operands.
    pub fn operands(self) -> impl ExactSizeIterator<Item = Value<'c>> + DoubleEndedIterator + Clone {
        (0..self.num_operands()).map(move |index| self.operand(index))
    }

    /// Replaces the operand at `index`.
    pub fn set_operand(self, index: usize, value: Value<'c>) {
        assert!(
            index < self.num_operands(),
            "`{}` has no operand {index}",
            self.name()
        );
        // SAFETY: the index is in range.
        unsafe { mlirOperationSetOperand(self.raw, position(index), value.raw) }
    }

    /// Replaces all operands; their number may change.
    ///
    /// Operations with several groups of operands also count them in an attribute, which is left as it is.
    pub fn set_operands(self, values: &[Value<'c>]) {
        let raw: Vec<_> = values.iter().map(|value| value.raw).collect();
        // SAFETY: live values, in an array of that length.
        unsafe { mlirOperationSetOperands(self.raw, position(raw.len()), raw.as_ptr()) }
    }

    /// How many results there are.
    #[must_use]
    pub fn num_results(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumResults(self.raw) })
    }

    /// The result at `index`.
    #[must_use]
    pub fn result(self, index: usize) -> Value<'c> {
        assert!(
            index < self.num_results(),
            "`{}` has no result {index}",
            self.name()
        );
        // SAFETY: the index is in range.
        unsafe { Value::from_raw(mlirOperationGetResult(self.raw, position(index))) }
    }

    /// The results.
    pub fn results(self) -> impl ExactSizeIterator<Item = Value<'c>> + DoubleEndedIterator + Clone {
        (0..self.num_results()).map(move |index| self.result(index))
    }

    /// How many regions there are.
    #[must_use]
    pub fn num_regions(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumRegions(self.raw) })
    }

    /// The region at `index`.
    #[must_use]
    pub fn region(self, index: usize) -> Region<'c> {
        assert!(
            index < self.num_regions(),
            "`{}` has no region {index}",
            self.name()
        );
        // SAFETY: the index is in range.
        unsafe { Region::from_raw(mlirOperationGetRegion(self.raw, position(index))) }
    }

    /// The regions.
    pub fn regions(self) -> impl ExactSizeIterator<Item = Region<'c>> + Clone {
        (0..self.num_regions()).map(move |index| self.region(index))
    }

    /// The blocks that a terminator may branch to.
    pub fn successors(self) -> impl ExactSizeIterator<Item = Block<'c>> + Clone {
        // SAFETY: a live operation.
        let number = count(unsafe { mlirOperationGetNumSuccessors(self.raw) });
        (0..number).map(move |index| {
            // SAFETY: the index is in range.
            unsafe { Block::from_raw(mlirOperationGetSuccessor(self.raw, position(index))) }
        })
    }

    /// Replaces the successor at `index`.
    pub fn set_successor(self, index: usize, block: Block<'c>) {
        assert!(
            index < self.successors().len(),
            "`{}` has no successor {index}",
            self.name()
        );
        // SAFETY: the index is in range.
        unsafe { mlirOperationSetSuccessor(self.raw, position(index), block.raw) }
    }

    // Attributes.

    /// The attribute `name`, inherent or discardable.
    #[must_use]
    pub fn attr(self, name: &str) -> Option<Attribute<'c>> {
        // SAFETY: a live operation; null means that there is none.
        unsafe {
            Attribute::from_option_raw(mlirOperationGetAttributeByName(self.raw, ffi::string_ref(name)))
        }
    }

    /// Returns true if there is an attribute `name`.
    #[must_use]
    pub fn has_attr(self, name: &str) -> bool {
        self.attr(name).is_some()
    }

    /// The integer (or index) attribute `name`, or `None` if there is none or it is of another kind.
    #[must_use]
    pub fn int_attr(self, name: &str) -> Option<i64> {
        let attribute = IntegerAttribute::try_from(self.attr(name)?).ok()?;
        Some(attribute.value())
    }

    /// The boolean attribute `name`, or `None` if there is none or it is of another kind.
    #[must_use]
    pub fn bool_attr(self, name: &str) -> Option<bool> {
        Some(BoolAttribute::try_from(self.attr(name)?).ok()?.value())
    }

    /// The string attribute `name`, or `None` if there is none or it is of another kind.
    #[must_use]
    pub fn str_attr(self, name: &str) -> Option<&'c str> {
        Some(StringAttribute::try_from(self.attr(name)?).ok()?.value())
    }

    /// Sets the attribute `name`: the inherent one if the operation has one of this name, else a discardable one.
    pub fn set_attr(self, name: &str, attribute: Attribute<'c>) {
        // SAFETY: a live operation, and an attribute of its context.
        unsafe { mlirOperationSetAttributeByName(self.raw, ffi::string_ref(name), attribute.to_raw()) }
    }

    /// Removes the attribute `name`; returns false if there was none.
    pub fn remove_attr(self, name: &str) -> bool {
        // SAFETY: a live operation.
        unsafe { mlirOperationRemoveAttributeByName(self.raw, ffi::string_ref(name)) }
    }

    /// The discardable attributes: those that are not part of the operation's definition.
    #[must_use]
    pub fn discardable_attrs(self) -> Vec<(&'c str, Attribute<'c>)> {
        // SAFETY: a live operation.
        let number = count(unsafe { mlirOperationGetNumDiscardableAttributes(self.raw) });
        (0..number)
            .map(|index| {
                // SAFETY: the index is in range, and names are interned in the context.
                unsafe {
                    let named = mlirOperationGetDiscardableAttribute(self.raw, position(index));
                    (
                        ffi::str_from_raw(mlirIdentifierStr(named.name)),
                        Attribute::from_raw(named.attribute),
                    )
                }
            })
            .collect()
    }

    /// Sets on this operation each discardable attribute of `other`.
    pub fn copy_discardable_attrs(self, other: Op<'c>) {
        for (name, attribute) in other.discardable_attrs() {
            // SAFETY: a live operation, and an attribute of its context.
            unsafe {
                mlirOperationSetDiscardableAttributeByName(
                    self.raw,
                    ffi::string_ref(name),
                    attribute.to_raw(),
                );
            }
        }
    }

    // Place.

    /// The block around this operation, if it is in one.
    #[must_use]
    pub fn block(self) -> Option<Block<'c>> {
        // SAFETY: a live operation; null means detached.
        unsafe { Block::from_option_raw(mlirOperationGetBlock(self.raw)) }
    }

    /// The operation around this one.
    #[must_use]
    pub fn parent(self) -> Option<Op<'c>> {
        self.block()?.parent_op()
    }

    /// The operations around this one, from the inside out.
    pub fn ancestors(self) -> impl Iterator<Item = Op<'c>> {
        std::iter::successors(self.parent(), |op| op.parent())
    }

    /// Returns true if `self` is `op` or an operation around it.
    #[must_use]
    pub fn is_ancestor_of(self, op: Op<'c>) -> bool {
        // SAFETY: live operations.
        unsafe { ffi::asyncOptOperationIsAncestor(self.raw, op.raw) }
    }

    /// The next operation in the block.
    #[must_use]
    pub fn next(self) -> Option<Op<'c>> {
        // The C API reads the list node of a detached operation, which has no next.
        self.block()?;
        // SAFETY: a live operation; null means that it is the last.
        unsafe { Op::from_option_raw(mlirOperationGetNextInBlock(self.raw)) }
    }

    /// The previous operation in the block.
    #[must_use]
    pub fn prev(self) -> Option<Op<'c>> {
        let block = self.block()?;
        if block.first() == Some(self) {
            return None;
        }
        // SAFETY: a live operation that is not the first of its block.
        unsafe { Op::from_option_raw(ffi::asyncOptOperationGetPrev(self.raw)) }
    }

    /// Returns true if this operation comes before `other`, which must be in the same block.
    #[must_use]
    pub fn is_before_in_block(self, other: Op<'c>) -> bool {
        assert!(
            self.block() == other.block(),
            "operations of different blocks have no order"
        );
        // SAFETY: live operations of one block.
        unsafe { mlirOperationIsBeforeInBlock(self.raw, other.raw) }
    }

    /// Moves the operation right before `other`.
    pub fn move_before(self, other: Op<'c>) {
        let block = other
            .block()
            .expect("a place is right before an operation in a block");
        // SAFETY: live operations, `other` in `block`. What has no block yet is handed over to it.
        unsafe {
            if self.block().is_some() {
                mlirOperationMoveBefore(self.raw, other.raw);
            } else {
                mlirBlockInsertOwnedOperationBefore(block.raw, other.raw, self.raw);
            }
        }
    }

    /// Moves the operation right after `other`.
    pub fn move_after(self, other: Op<'c>) {
        let block = other
            .block()
            .expect("a place is right after an operation in a block");
        // SAFETY: live operations, `other` in `block`. What has no block yet is handed over to it.
        unsafe {
            if self.block().is_some() {
                mlirOperationMoveAfter(self.raw, other.raw);
            } else {
                mlirBlockInsertOwnedOperationAfter(block.raw, other.raw, self.raw);
            }
        }
    }

    /// Moves the operation to the end of `block`.
    pub fn move_to_end(self, block: Block<'c>) {
        if self.block().is_none() {
            block.append(self);
        } else {
            // SAFETY: a live operation in a block, and a live block.
            unsafe { ffi::asyncOptOperationMoveToEnd(self.raw, block.raw) }
        }
    }

    /// Takes the operation out of its block; it must be put into another one, or erased.
    pub fn detach(self) {
        // SAFETY: a live operation.
        unsafe { mlirOperationRemoveFromParent(self.raw) }
    }

    /// Clones the operation with its regions; the clone is detached.
    #[must_use]
    pub fn clone_detached(self) -> Op<'c> {
        // SAFETY: a live operation.
        unsafe { Op::from_raw(mlirOperationClone(self.raw)) }
    }

    /// Clones the operation with its regions, with operands replaced as `mapping` says; adds what stands for what to
    /// `mapping`. The clone is detached.
    #[must_use]
    pub fn clone_mapped(self, mapping: &mut Mapping<'c>) -> Op<'c> {
        // SAFETY: a live operation and mapping.
        unsafe { Op::from_raw(ffi::asyncOptOperationClone(self.raw, mapping.raw)) }
    }

    /// Returns true if a result of this operation has a use.
    #[must_use]
    pub fn has_uses(self) -> bool {
        self.results().any(Value::has_uses)
    }

    /// Makes all uses of this operation's results use `values` instead.
    pub fn replace_uses_with(self, values: &[Value<'c>]) {
        assert_eq!(
            self.num_results(),
            values.len(),
            "a value for each result of `{}`",
            self.name()
        );
        for (result, &value) in self.results().zip(values) {
            result.replace_all_uses_with(value);
        }
    }

    /// Makes all uses of this operation's results use `values` instead, and erases it.
    pub fn replace_with(self, values: &[Value<'c>]) {
        self.replace_uses_with(values);
        self.erase();
    }

    /// Erases the operation and all that is nested in it.
    ///
    /// # Panics
    ///
    /// If a result still has a use.
    pub fn erase(self) {
        assert!(
            !self.has_uses(),
            "`{}` is erased while its results are in use",
            self.name()
        );
        // SAFETY: a live operation that nothing uses; MLIR drops the uses among what is nested in it.
        unsafe {
            if self.block().is_some() {
                mlirOperationRemoveFromParent(self.raw);
            }
            mlirOperationDestroy(self.raw);
        }
    }

    /// Runs the verifier; what it finds is emitted as diagnostics.
    #[must_use]
    pub fn verify(self) -> bool {
        // SAFETY: a live operation.
        unsafe { mlirOperationVerify(self.raw) }
    }

    // Nested operations.

    /// Calls `visit` on this operation and then on all that is nested in it, outside in, in program order.
    ///
    /// `visit` may change the operation, move or erase it, or insert others before it; but must leave what follows it
    /// in its block in place. Operations that it erases are not entered if it returns [`Walk::Skip`].
    pub fn walk(self, mut visit: impl FnMut(Op<'c>) -> Walk) -> Walk {
        self.walk_inner(&mut visit)
    }

    fn walk_inner(self, visit: &mut impl FnMut(Op<'c>) -> Walk) -> Walk {
        match visit(self) {
            Walk::Advance => {}
            Walk::Skip => return Walk::Advance,
            Walk::Stop => return Walk::Stop,
        }
        for region in self.regions() {
            for block in region.blocks() {
                let mut current = block.first();
                while let Some(op) = current {
                    current = op.next();
                    if op.walk_inner(visit) == Walk::Stop {
                        return Walk::Stop;
                    }
                }
            }
        }
        Walk::Advance
    }

    /// This operation and all that is nested in it, outside in, in program order.
    #[must_use]
    pub fn nested(self) -> Vec<Op<'c>> {
        let mut ops = Vec::new();
        self.walk(|op| {
            ops.push(op);
            Walk::Advance
        });
        ops
    }
}

/// How a walk goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Walk {
    /// Into what is nested in the operation.
    Advance,
    /// Past what is nested in the operation.
    Skip,
    /// Not at all.
    Stop,
}

impl fmt::Display for Op<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::new();
        // SAFETY: a live operation; the callback gets the pointer to `text`.
        unsafe { mlirOperationPrint(self.raw, Some(collect), (&raw mut text).cast()) };
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Op<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Op({self})")
    }
}

/// A use of a value: operand `index` of `owner`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Use<'c> {
    /// The operation that uses the value.
    pub owner: Op<'c>,
    /// Which of its operands the value is.
    pub index: usize,
}

impl<'c> Value<'c> {
    /// The type.
    #[must_use]
    pub fn ty(self) -> Type<'c> {
        // SAFETY: a live value.
        unsafe { Type::from_raw(mlirValueGetType(self.raw)) }
    }

    /// Changes the type.
    pub fn set_type(self, ty: Type<'c>) {
        // SAFETY: a live value, and a type of its context.
        unsafe { mlirValueSetType(self.raw, ty.to_raw()) }
    }

    /// Where the value came from.
    #[must_use]
    pub fn location(self) -> Location<'c> {
        // SAFETY: a live value.
        unsafe { Location::from_raw(mlirValueGetLocation(self.raw)) }
    }

    /// The context.
    #[must_use]
    pub fn context(self) -> &'c Context {
        // SAFETY: a live value.
        unsafe { context_of(mlirValueGetContext(self.raw)) }
    }

    /// Where the value is defined.
    #[must_use]
    pub fn definition(self) -> Definition<'c> {
        // SAFETY: a live value is one or the other.
        unsafe {
            if mlirValueIsAOpResult(self.raw) {
                Definition::Result(
                    Op::from_raw(mlirOpResultGetOwner(self.raw)),
                    count(mlirOpResultGetResultNumber(self.raw)),
                )
            } else {
                Definition::Argument(
                    Block::from_raw(mlirBlockArgumentGetOwner(self.raw)),
                    count(mlirBlockArgumentGetArgNumber(self.raw)),
                )
            }
        }
    }

    /// The operation that this value is a result of; `None` for block arguments.
    #[must_use]
    pub fn defining_op(self) -> Option<Op<'c>> {
        match self.definition() {
            Definition::Result(op, _) => Some(op),
            Definition::Argument(..) => None,
        }
    }

    /// The integer that this value is known to hold: it is a constant.
    #[must_use]
    pub fn as_constant_int(self) -> Option<i64> {
        let mut constant = 0;
        // SAFETY: a live value, and a place to write to.
        unsafe { ffi::asyncOptValueGetConstantInt(self.raw, &raw mut constant) }.then_some(constant)
    }

    /// Returns true if anything uses the value.
    #[must_use]
    pub fn has_uses(self) -> bool {
        // SAFETY: a live value.
        unsafe { !mlirOpOperandIsNull(mlirValueGetFirstUse(self.raw)) }
    }

    /// The uses, in no particular order; a copy, so that they may be changed on the way.
    #[must_use]
    pub fn uses(self) -> Vec<Use<'c>> {
        let mut uses = Vec::new();
        // SAFETY: a live value's list of uses, which nobody changes during the loop.
        unsafe {
            let mut operand = mlirValueGetFirstUse(self.raw);
            while !mlirOpOperandIsNull(operand) {
                uses.push(Use {
                    owner: Op::from_raw(mlirOpOperandGetOwner(operand)),
                    index: mlirOpOperandGetOperandNumber(operand) as usize,
                });
                operand = mlirOpOperandGetNextUse(operand);
            }
        }
        uses
    }

    /// Makes all uses of this value use `other` instead.
    pub fn replace_all_uses_with(self, other: Value<'c>) {
        // SAFETY: live values.
        unsafe { mlirValueReplaceAllUsesOfWith(self.raw, other.raw) }
    }

    /// Makes all uses of this value that `filter` accepts use `other` instead.
    pub fn replace_uses_if(self, other: Value<'c>, mut filter: impl FnMut(Use<'c>) -> bool) {
        for found in self.uses() {
            if filter(found) {
                found.owner.set_operand(found.index, other);
            }
        }
    }
}

/// Where a value is defined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Definition<'c> {
    /// The result of an operation at an index.
    Result(Op<'c>, usize),
    /// The argument of a block at an index.
    Argument(Block<'c>, usize),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::new();
        // SAFETY: a live value; the callback gets the pointer to `text`.
        unsafe { mlirValuePrint(self.raw, Some(collect), (&raw mut text).cast()) };
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Value({self})")
    }
}

impl<'c> Block<'c> {
    /// A detached block with arguments. It must be put into a region, or erased.
    #[must_use]
    pub fn new(arguments: &[(Type<'c>, Location<'c>)]) -> Self {
        let types: Vec<_> = arguments.iter().map(|(ty, _)| ty.to_raw()).collect();
        let locations: Vec<_> = arguments.iter().map(|(_, location)| location.to_raw()).collect();
        // SAFETY: two arrays of that length.
        unsafe {
            Self::from_raw(mlirBlockCreate(
                position(types.len()),
                types.as_ptr(),
                locations.as_ptr(),
            ))
        }
    }

    /// How many arguments there are.
    #[must_use]
    pub fn num_args(self) -> usize {
        // SAFETY: a live block.
        count(unsafe { mlirBlockGetNumArguments(self.raw) })
    }

    /// The argument at `index`.
    #[must_use]
    pub fn arg(self, index: usize) -> Value<'c> {
        assert!(index < self.num_args(), "the block has no argument {index}");
        // SAFETY: the index is in range.
        unsafe { Value::from_raw(mlirBlockGetArgument(self.raw, position(index))) }
    }

    /// The arguments.
    pub fn args(self) -> impl ExactSizeIterator<Item = Value<'c>> + DoubleEndedIterator + Clone {
        (0..self.num_args()).map(move |index| self.arg(index))
    }

    /// Appends an argument.
    pub fn add_arg(self, ty: Type<'c>, location: Location<'c>) -> Value<'c> {
        // SAFETY: a live block, and a type and a location of its context.
        unsafe { Value::from_raw(mlirBlockAddArgument(self.raw, ty.to_raw(), location.to_raw())) }
    }

    /// Erases the argument at `index`; branches to the block are left as they are.
    ///
    /// # Panics
    ///
    /// If it still has a use.
    pub fn erase_arg(self, index: usize) {
        assert!(
            !self.arg(index).has_uses(),
            "block argument {index} is erased while in use"
        );
        // SAFETY: the index is in range, and nothing uses the argument.
        unsafe {
            mlirBlockEraseArgument(
                self.raw,
                u32::try_from(index).expect("fits what MLIR counts with"),
            );
        }
    }

    /// The first operation.
    #[must_use]
    pub fn first(self) -> Option<Op<'c>> {
        // SAFETY: a live block; null means that it is empty.
        unsafe { Op::from_option_raw(mlirBlockGetFirstOperation(self.raw)) }
    }

    /// The terminator: the last operation, if it is one (or of a dialect that nobody knows).
    #[must_use]
    pub fn terminator(self) -> Option<Op<'c>> {
        // SAFETY: a live block.
        let known = unsafe { Op::from_option_raw(mlirBlockGetTerminator(self.raw)) };
        known.or_else(|| self.ops().pop().filter(|last| !last.is_registered()))
    }

    /// The operations; a copy, so that the block may be changed on the way.
    #[must_use]
    pub fn ops(self) -> Vec<Op<'c>> {
        std::iter::successors(self.first(), |op| op.next()).collect()
    }

    /// Puts a detached operation at the end.
    pub fn append(self, op: Op<'c>) {
        assert!(op.block().is_none(), "`{}` is already in a block", op.name());
        // SAFETY: a live block takes over a detached operation.
        unsafe { mlirBlockAppendOwnedOperation(self.raw, op.raw) }
    }

    /// Puts a detached operation at the start.
    pub fn prepend(self, op: Op<'c>) {
        assert!(op.block().is_none(), "`{}` is already in a block", op.name());
        // SAFETY: a live block takes over a detached operation.
        unsafe { mlirBlockInsertOwnedOperation(self.raw, 0, op.raw) }
    }

    /// The region around the block.
    #[must_use]
    pub fn region(self) -> Option<Region<'c>> {
        // SAFETY: a live block; null means detached.
        unsafe { Region::from_option_raw(mlirBlockGetParentRegion(self.raw)) }
    }

    /// The operation around the block.
    #[must_use]
    pub fn parent_op(self) -> Option<Op<'c>> {
        // SAFETY: a live block; null means detached.
        unsafe { Op::from_option_raw(mlirBlockGetParentOperation(self.raw)) }
    }

    /// The next block in the region.
    #[must_use]
    pub fn next(self) -> Option<Block<'c>> {
        // SAFETY: a live block; null means that it is the last.
        unsafe { Block::from_option_raw(mlirBlockGetNextInRegion(self.raw)) }
    }

    /// The blocks that branch here, once for each branch.
    #[must_use]
    pub fn predecessors(self) -> Vec<Block<'c>> {
        // SAFETY: a live block.
        let number = count(unsafe { mlirBlockGetNumPredecessors(self.raw) });
        (0..number)
            .map(|index| {
                // SAFETY: the index is in range.
                unsafe { Block::from_raw(mlirBlockGetPredecessor(self.raw, position(index))) }
            })
            .collect()
    }

    /// Moves `op` and what follows it to a new block right after this one, and returns that. Neither is given a branch.
    pub fn split_before(self, op: Op<'c>) -> Block<'c> {
        assert!(
            op.block() == Some(self),
            "`{}` is not in the block that is split",
            op.name()
        );
        // SAFETY: a live operation in this block.
        unsafe { Block::from_raw(ffi::asyncOptBlockSplitBefore(op.raw)) }
    }

    /// Moves all operations of this block to the end of `other`.
    pub fn move_ops_to(self, other: Block<'c>) {
        assert!(self != other, "a block can't be appended to itself");
        // SAFETY: live blocks, and two of them.
        unsafe { ffi::asyncOptBlockMoveOperations(self.raw, other.raw) }
    }

    /// Takes the block out of its region; it must be put into another one, or erased.
    pub fn detach(self) {
        // SAFETY: a live block.
        unsafe { mlirBlockDetach(self.raw) }
    }

    /// Erases the block and all that is in it.
    ///
    /// # Panics
    ///
    /// If a branch still leads to it.
    pub fn erase(self) {
        assert!(
            self.predecessors().is_empty(),
            "a block is erased while a branch leads to it"
        );
        if self.region().is_some() {
            self.detach();
        }
        // SAFETY: a detached block.
        unsafe { mlirBlockDestroy(self.raw) }
    }
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Block({:p})", self.raw.ptr)
    }
}

impl<'c> Region<'c> {
    /// The first block: the entry.
    #[must_use]
    pub fn first(self) -> Option<Block<'c>> {
        // SAFETY: a live region; null means that it is empty.
        unsafe { Block::from_option_raw(mlirRegionGetFirstBlock(self.raw)) }
    }

    /// The blocks; a copy, so that the region may be changed on the way.
    #[must_use]
    pub fn blocks(self) -> Vec<Block<'c>> {
        std::iter::successors(self.first(), |block| block.next()).collect()
    }

    /// Puts a detached block at the end.
    pub fn append(self, block: Block<'c>) {
        assert!(block.region().is_none(), "the block is already in a region");
        // SAFETY: a live region takes over a detached block.
        unsafe { mlirRegionAppendOwnedBlock(self.raw, block.raw) }
    }

    /// Puts a detached block right after `after`, which must be in this region.
    pub fn insert_after(self, after: Block<'c>, block: Block<'c>) {
        assert!(
            after.region() == Some(self),
            "the block to insert after is in another region"
        );
        assert!(block.region().is_none(), "the block is already in a region");
        // SAFETY: a live region takes over a detached block.
        unsafe { mlirRegionInsertOwnedBlockAfter(self.raw, after.raw, block.raw) }
    }

    /// Erases what is in this region, and moves the blocks of `other` here.
    pub fn take_body(self, other: Region<'c>) {
        assert!(self != other, "a region can't take its own body");
        // SAFETY: two live regions.
        unsafe { mlirRegionTakeBody(self.raw, other.raw) }
    }

    /// Appends clones of this region's blocks to `other`, as [`Op::clone_mapped`] does.
    pub fn clone_into(self, other: Region<'c>, mapping: &mut Mapping<'c>) {
        assert!(self != other, "a region can't be cloned into itself");
        // SAFETY: two live regions and a live mapping.
        unsafe { ffi::asyncOptRegionCloneInto(self.raw, other.raw, mapping.raw) }
    }
}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Region({:p})", self.raw.ptr)
    }
}

/// Which values and blocks stand for which in a clone.
pub struct Mapping<'c> {
    raw: ffi::AsyncOptMapping,
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
        unsafe { ffi::asyncOptMappingMap(self.raw, from.raw, to.raw) }
    }

    /// What stands for `from`: itself if nothing else was said.
    #[must_use]
    pub fn lookup(&self, from: Value<'c>) -> Value<'c> {
        // SAFETY: a live mapping and a live value.
        unsafe { Value::from_raw(ffi::asyncOptMappingLookup(self.raw, from.raw)) }
    }

    /// What stands for the block `from`: itself if nothing else was said.
    #[must_use]
    pub fn lookup_block(&self, from: Block<'c>) -> Block<'c> {
        // SAFETY: a live mapping and a live block.
        unsafe { Block::from_raw(ffi::asyncOptMappingLookupBlock(self.raw, from.raw)) }
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
        let operands: Vec<_> = self.operands.iter().map(|value| value.raw).collect();
        let successors: Vec<_> = self.successors.iter().map(|block| block.raw).collect();
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

impl<'c, 'a> From<OperationRef<'c, 'a>> for Op<'c> {
    fn from(op: OperationRef<'c, 'a>) -> Self {
        // SAFETY: melior's reference is to a live operation.
        unsafe { Op::from_raw(OperationLike::to_raw(&op)) }
    }
}

unsafe extern "C" fn collect(text: MlirStringRef, data: *mut c_void) {
    ffi::collect_text(text, data);
}

/// What MLIR counts is never negative.
fn count(number: isize) -> usize {
    usize::try_from(number).expect("MLIR counts from zero")
}

/// Nothing in memory is longer than `isize::MAX`.
fn position(index: usize) -> isize {
    isize::try_from(index).expect("an index of something in memory")
}
