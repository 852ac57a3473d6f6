//! Changes the types of functions, and the operands of operations that have several lists of them.

use async_mlir::gpu::function_type;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::{ArrayAttribute, Attribute, DenseI32ArrayAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::names::attr;

/// What a function takes and returns.
pub(crate) struct Signature<'c> {
    pub(crate) inputs: Vec<Type<'c>>,
    pub(crate) results: Vec<Type<'c>>,
}

impl<'c> Signature<'c> {
    /// That of `function`; `None` if it is none.
    pub(crate) fn of(function: Op<'c>) -> Option<Self> {
        let ty = function_type(function)?;
        Some(Self {
            inputs: (0..ty.input_count()).filter_map(|i| ty.input(i).ok()).collect(),
            results: (0..ty.result_count()).filter_map(|i| ty.result(i).ok()).collect(),
        })
    }

    /// Makes it that of `function`. What is said of arguments and results in attributes stays with those that were there.
    pub(crate) fn set(&self, function: Op<'c>) {
        let context = function.context();
        let ty = FunctionType::new(context, &self.inputs, &self.results);
        function.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
        for (name, number) in [
            (attr::ARG_ATTRS, self.inputs.len()),
            (attr::RES_ATTRS, self.results.len()),
        ] {
            let Some(attributes) = function
                .attr(name)
                .and_then(|all| ArrayAttribute::try_from(all).ok())
            else {
                continue;
            };
            let nothing = Attribute::parse(context, "{}").expect("a dictionary");
            let attributes: Vec<_> = (0..number)
                .map(|i| attributes.element(i).unwrap_or(nothing))
                .collect();
            function.set_attr(name, ArrayAttribute::new(context, &attributes).into());
        }
    }
}

/// How many operands each list of `op` has.
pub(crate) fn operand_segments(op: Op<'_>) -> Vec<usize> {
    let sizes = op.attr(attr::OPERAND_SEGMENT_SIZES);
    let Some(sizes) = sizes.and_then(|sizes| DenseI32ArrayAttribute::try_from(sizes).ok()) else {
        return Vec::new();
    };
    let sizes = (0..sizes.len()).filter_map(|i| sizes.element(i).ok());
    sizes.map(|size| usize::try_from(size).unwrap_or(0)).collect()
}
