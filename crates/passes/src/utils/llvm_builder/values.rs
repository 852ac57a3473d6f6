//! Operations of one result: constants, addresses, members of structs, and what is in memory.

use super::{At, LlvmBuilder, cast, one_result, put};
use async_dialects::types::is_token;
use async_mlir::arith::Predicate;
use async_mlir::ir::{OpBuilder, Value};
use async_mlir::melior::ir::attribute::{
    DenseI32ArrayAttribute, DenseI64ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, TypeAttribute,
};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, llvm};

impl<'c> LlvmBuilder<'c> {
    pub(crate) fn address_of(&self, name: &str, location: Location<'c>, at: At<'c>) -> Value<'c> {
        let symbol = FlatSymbolRefAttribute::new(self.context(), name).into();
        one_result(
            OpBuilder::new(llvm::MLIR_ADDRESSOF, location).attr(attr::GLOBAL_NAME, symbol),
            self.ptr,
            at,
        )
    }

    /// A null pointer, which is also a token that is complete.
    pub(crate) fn null(&self, location: Location<'c>, at: At<'c>) -> Value<'c> {
        one_result(OpBuilder::new(llvm::MLIR_ZERO, location), self.ptr, at)
    }

    pub(crate) fn constant(&self, bits: u32, number: i64, location: Location<'c>, at: At<'c>) -> Value<'c> {
        let ty = self.int(bits);
        let value = IntegerAttribute::new(ty, number).into();
        one_result(
            OpBuilder::new(llvm::MLIR_CONSTANT, location).attr(attr::VALUE, value),
            ty,
            at,
        )
    }

    /// Something of type `ty` that nobody looks at.
    pub(crate) fn poison(&self, ty: Type<'c>, location: Location<'c>, at: At<'c>) -> Value<'c> {
        if is_token(ty) || ty == self.ptr {
            return self.null(location, at);
        }
        let Some(lowered) = self.lowered(ty) else {
            return self.null(location, at);
        };
        let poison = one_result(OpBuilder::new(llvm::MLIR_POISON, location), lowered, at);
        cast(poison, ty, location, at)
    }

    pub(crate) fn element(
        &self,
        pointer: Value<'c>,
        ty: Type<'c>,
        indices: &[i32],
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        let indices = DenseI32ArrayAttribute::new(self.context(), indices).into();
        let op = OpBuilder::new(llvm::GETELEMENTPTR, location)
            .operands(&[pointer])
            .attr(attr::RAW_CONSTANT_INDICES, indices)
            .attr(attr::ELEM_TYPE, TypeAttribute::new(ty).into());
        one_result(op, self.ptr, at)
    }

    /// The address so many bytes after `pointer`.
    pub(crate) fn offset(
        &self,
        pointer: Value<'c>,
        bytes: Value<'c>,
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        // In MLIR's numbers, an index that is an operand.
        let indices = DenseI32ArrayAttribute::new(self.context(), &[i32::MIN]).into();
        let op = OpBuilder::new(llvm::GETELEMENTPTR, location)
            .operands(&[pointer, bytes])
            .attr(attr::RAW_CONSTANT_INDICES, indices)
            .attr(attr::ELEM_TYPE, TypeAttribute::new(self.int(8)).into());
        one_result(op, self.ptr, at)
    }

    /// `value` with `part` at `position`.
    pub(crate) fn insert(
        &self,
        value: Value<'c>,
        part: Value<'c>,
        position: &[i64],
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        let position = DenseI64ArrayAttribute::new(self.context(), position).into();
        let op = OpBuilder::new(llvm::INSERTVALUE, location)
            .operands(&[value, part])
            .attr(attr::POSITION, position);
        one_result(op, value.ty(), at)
    }

    /// The member of type `ty` at `position` of `value`.
    pub(crate) fn extract(
        &self,
        value: Value<'c>,
        position: usize,
        ty: Type<'c>,
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        let position = i64::try_from(position).expect("a type has few members");
        let position = DenseI64ArrayAttribute::new(self.context(), &[position]).into();
        let op = OpBuilder::new(llvm::EXTRACTVALUE, location)
            .operands(&[value])
            .attr(attr::POSITION, position);
        one_result(op, ty, at)
    }

    pub(crate) fn pointer_to_int(&self, pointer: Value<'c>, location: Location<'c>, at: At<'c>) -> Value<'c> {
        one_result(
            OpBuilder::new(llvm::PTRTOINT, location).operands(&[pointer]),
            self.int(64),
            at,
        )
    }

    /// What is at `pointer`, as something of type `ty`: loaded in the lowered type, and cast.
    pub(crate) fn load(
        &self,
        pointer: Value<'c>,
        ty: Type<'c>,
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        let loaded = if is_token(ty) {
            ty
        } else {
            self.lowered(ty).unwrap_or(ty)
        };
        let value = one_result(
            OpBuilder::new(llvm::LOAD, location).operands(&[pointer]),
            loaded,
            at,
        );
        cast(value, ty, location, at)
    }

    /// Stores `value` in its lowered type.
    pub(crate) fn store(&self, value: Value<'c>, pointer: Value<'c>, location: Location<'c>, at: At<'c>) {
        let value = match self.lowered(value.ty()) {
            Some(lowered) if !is_token(value.ty()) => cast(value, lowered, location, at),
            _ => value,
        };
        put(
            OpBuilder::new(llvm::STORE, location).operands(&[value, pointer]),
            at,
        );
    }

    /// `value == number`.
    pub(crate) fn equals(
        &self,
        value: Value<'c>,
        number: i64,
        location: Location<'c>,
        at: At<'c>,
    ) -> Value<'c> {
        let bits = if value.ty() == self.int(64) { 64 } else { 32 };
        let number = self.constant(bits, number, location, at);
        let predicate = Predicate::Equal.attribute(self.context());
        let compare = OpBuilder::new(arith::CMPI, location)
            .operands(&[value, number])
            .attr(attr::PREDICATE, predicate);
        one_result(compare, self.int(1), at)
    }
}
