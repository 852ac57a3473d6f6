//! Operations: what they are made of.

use super::{Block, Op, Region, Value, context_of, count, position};
use crate::ffi;
use melior::ir::attribute::{BoolAttribute, IntegerAttribute};
use melior::{
    Context,
    ir::{Attribute, AttributeLike, Location, OperationRef, operation::OperationLike},
};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::fmt;

impl<'c> Op<'c> {
    /// The context.
    #[must_use]
    pub fn context(self) -> &'c Context {
        // SAFETY: a live operation has a context, and it outlives `'c`.
        unsafe { context_of(mlirOperationGetContext(self.to_raw())) }
    }

    /// The full name, such as `gpux.copy`.
    #[must_use]
    pub fn name(self) -> &'c str {
        // SAFETY: names are interned in the context.
        unsafe { ffi::str_from_raw(mlirIdentifierStr(mlirOperationGetName(self.to_raw()))) }
    }

    /// The namespace of the dialect, such as `gpux`.
    #[must_use]
    pub fn dialect(self) -> &'c str {
        let name = self.name();
        // The first few bytes: no search that is made for long texts.
        let end = name.bytes().position(|byte| byte == b'.');
        end.map_or(name, |end| &name[..end])
    }

    /// Returns true if this operation has the full name `name`.
    #[must_use]
    pub fn is(self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns true if this operation is a function of any dialect.
    #[must_use]
    pub fn is_function(self) -> bool {
        // Of most operations, the first tells.
        // SAFETY: a live operation.
        self.num_regions() > 0 && unsafe { ffi::asyncOptOperationIsFunction(self.to_raw()) }
    }

    /// Returns true if this operation has no side effects and may be executed speculatively.
    #[must_use]
    pub fn is_pure(self) -> bool {
        // SAFETY: a live operation.
        unsafe { ffi::asyncOptOperationIsPure(self.to_raw()) }
    }

    /// What the results of this operation are other views of, if it does nothing but make views.
    #[must_use]
    pub fn view_source(self) -> Option<Value<'c>> {
        // SAFETY: a live operation; null means that it makes no views.
        unsafe {
            let source = ffi::asyncOptOperationGetViewSource(self.to_raw());
            (!source.ptr.is_null()).then(|| Value::from_raw(source))
        }
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
            let name = mlirIdentifierStr(mlirOperationGetName(self.to_raw()));
            mlirContextIsRegisteredOperation(mlirOperationGetContext(self.to_raw()), name)
        }
    }

    /// Where the operation came from.
    #[must_use]
    pub fn location(self) -> Location<'c> {
        // SAFETY: a live operation.
        unsafe { Location::from_raw(mlirOperationGetLocation(self.to_raw())) }
    }

    /// Sets where the operation came from.
    pub fn set_location(self, location: Location<'c>) {
        // SAFETY: a live operation, and a location of its context.
        unsafe { mlirOperationSetLocation(self.to_raw(), location.to_raw()) }
    }

    /// The same operation as melior's type, for melior's APIs.
    #[must_use]
    pub fn as_melior<'a>(self) -> OperationRef<'c, 'a>
    where
        'c: 'a,
    {
        // SAFETY: a live operation.
        unsafe { OperationRef::from_raw(self.to_raw()) }
    }

    // Operands, results, regions, successors.

    /// How many operands there are.
    #[must_use]
    pub fn num_operands(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumOperands(self.to_raw()) })
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
        unsafe { Value::from_raw(mlirOperationGetOperand(self.to_raw(), position(index))) }
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
        unsafe { mlirOperationSetOperand(self.to_raw(), position(index), value.to_raw()) }
    }

    /// Replaces all operands; their number may change.
    ///
    /// Operations with several groups of operands also count them in an attribute, which is left as it is.
    pub fn set_operands(self, values: &[Value<'c>]) {
        let raw: Vec<_> = values.iter().map(|value| value.to_raw()).collect();
        // SAFETY: live values, in an array of that length.
        unsafe { mlirOperationSetOperands(self.to_raw(), position(raw.len()), raw.as_ptr()) }
    }

    /// How many results there are.
    #[must_use]
    pub fn num_results(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumResults(self.to_raw()) })
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
        unsafe { Value::from_raw(mlirOperationGetResult(self.to_raw(), position(index))) }
    }

    /// The results.
    pub fn results(self) -> impl ExactSizeIterator<Item = Value<'c>> + DoubleEndedIterator + Clone {
        (0..self.num_results()).map(move |index| self.result(index))
    }

    /// How many regions there are.
    #[must_use]
    pub fn num_regions(self) -> usize {
        // SAFETY: a live operation.
        count(unsafe { mlirOperationGetNumRegions(self.to_raw()) })
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
        unsafe { Region::from_raw(mlirOperationGetRegion(self.to_raw(), position(index))) }
    }

    /// The regions.
    pub fn regions(self) -> impl ExactSizeIterator<Item = Region<'c>> + Clone {
        (0..self.num_regions()).map(move |index| self.region(index))
    }

    /// The blocks that a terminator may branch to.
    pub fn successors(self) -> impl ExactSizeIterator<Item = Block<'c>> + Clone {
        // SAFETY: a live operation.
        let number = count(unsafe { mlirOperationGetNumSuccessors(self.to_raw()) });
        (0..number).map(move |index| {
            // SAFETY: the index is in range.
            unsafe { Block::from_raw(mlirOperationGetSuccessor(self.to_raw(), position(index))) }
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
        unsafe { mlirOperationSetSuccessor(self.to_raw(), position(index), block.to_raw()) }
    }

    // Attributes.

    /// The attribute `name`, inherent or discardable.
    #[must_use]
    pub fn attr(self, name: &str) -> Option<Attribute<'c>> {
        // SAFETY: a live operation; null means that there is none.
        unsafe {
            Attribute::from_option_raw(mlirOperationGetAttributeByName(
                self.to_raw(),
                ffi::string_ref(name),
            ))
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
        let attribute = self.attr(name)?.to_raw();
        // SAFETY: a live attribute, which is a string where its value is asked for. The context has the characters. (melior's
        // getter takes an empty string for one of at least one character.)
        unsafe {
            mlirAttributeIsAString(attribute).then(|| ffi::str_from_raw(mlirStringAttrGetValue(attribute)))
        }
    }

    /// Sets the attribute `name`: the inherent one if the operation has one of this name, else a discardable one.
    pub fn set_attr(self, name: &str, attribute: Attribute<'c>) {
        // SAFETY: a live operation, and an attribute of its context.
        unsafe { mlirOperationSetAttributeByName(self.to_raw(), ffi::string_ref(name), attribute.to_raw()) }
    }

    /// Removes the attribute `name`; returns false if there was none.
    pub fn remove_attr(self, name: &str) -> bool {
        // SAFETY: a live operation.
        unsafe { mlirOperationRemoveAttributeByName(self.to_raw(), ffi::string_ref(name)) }
    }

    /// All attributes, inherent and discardable.
    #[must_use]
    pub fn attrs(self) -> Vec<(&'c str, Attribute<'c>)> {
        // SAFETY: a live operation.
        let number = count(unsafe { mlirOperationGetNumAttributes(self.to_raw()) });
        (0..number)
            .map(|index| {
                // SAFETY: the index is in range, and names are interned in the context.
                unsafe {
                    let named = mlirOperationGetAttribute(self.to_raw(), position(index));
                    (
                        ffi::str_from_raw(mlirIdentifierStr(named.name)),
                        Attribute::from_raw(named.attribute),
                    )
                }
            })
            .collect()
    }

    /// The discardable attributes: those that are not part of the operation's definition.
    #[must_use]
    pub fn discardable_attrs(self) -> Vec<(&'c str, Attribute<'c>)> {
        // SAFETY: a live operation.
        let number = count(unsafe { mlirOperationGetNumDiscardableAttributes(self.to_raw()) });
        (0..number)
            .map(|index| {
                // SAFETY: the index is in range, and names are interned in the context.
                unsafe {
                    let named = mlirOperationGetDiscardableAttribute(self.to_raw(), position(index));
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
                    self.to_raw(),
                    ffi::string_ref(name),
                    attribute.to_raw(),
                );
            }
        }
    }
}

impl fmt::Display for Op<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::new();
        // SAFETY: a live operation; the callback gets the pointer to `text`.
        unsafe { mlirOperationPrint(self.to_raw(), Some(ffi::collect_text), (&raw mut text).cast()) };
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Op<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Op({self})")
    }
}

impl<'c, 'a> From<OperationRef<'c, 'a>> for Op<'c> {
    fn from(op: OperationRef<'c, 'a>) -> Self {
        // SAFETY: melior's reference is to a live operation.
        unsafe { Op::from_raw(OperationLike::to_raw(&op)) }
    }
}
