//! Affine maps, as functions of their operands.

use melior::ir::{Attribute, AttributeLike};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;

/// An affine expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Constant(i64),
    /// An operand of the map, dimensions before symbols.
    Operand(usize),
    /// An operator between two expressions.
    Binary(Operator, Box<[Expr; 2]>),
}

/// What affine expressions are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is what its name says.
pub enum Operator {
    Add,
    Mul,
    Mod,
    FloorDiv,
    CeilDiv,
}

/// The only result of the affine map `map`, and how many dimensions the map has; `None` if it has several results, or is no map.
fn single(map: Attribute<'_>) -> Option<(MlirAffineExpr, usize)> {
    let raw = map.to_raw();
    // SAFETY: a live attribute, which is a map with one result where that is asked.
    unsafe {
        if !mlirAttributeIsAAffineMap(raw) {
            return None;
        }
        let map = mlirAffineMapAttrGetValue(raw);
        if mlirAffineMapGetNumResults(map) != 1 {
            return None;
        }
        let dims = usize::try_from(mlirAffineMapGetNumDims(map)).ok()?;
        Some((mlirAffineMapGetResult(map, 0), dims))
    }
}

/// The only result of the affine map `map`; `None` if it has several, or is none.
#[must_use]
pub fn only_result(map: Attribute<'_>) -> Option<Expr> {
    let (result, dims) = single(map)?;
    // SAFETY: a live expression.
    unsafe { read(result, dims) }
}

/// The results of the affine map `map`; `None` if it is none.
#[must_use]
pub fn results(map: Attribute<'_>) -> Option<Vec<Expr>> {
    let raw = map.to_raw();
    // SAFETY: a live attribute, which is a map; its results have indices below their number.
    unsafe {
        if !mlirAttributeIsAAffineMap(raw) {
            return None;
        }
        let map = mlirAffineMapAttrGetValue(raw);
        let dims = usize::try_from(mlirAffineMapGetNumDims(map)).ok()?;
        let results = 0..mlirAffineMapGetNumResults(map);
        results
            .map(|i| read(mlirAffineMapGetResult(map, i), dims))
            .collect()
    }
}

/// Reads an expression; it is as deep as MLIR's own recursions over it.
///
/// # Safety
///
/// The expression is live.
unsafe fn read(expression: MlirAffineExpr, dims: usize) -> Option<Expr> {
    // SAFETY: a live expression, of the kind that was asked.
    unsafe {
        if mlirAffineExprIsAConstant(expression) {
            return Some(Expr::Constant(mlirAffineConstantExprGetValue(expression)));
        }
        if mlirAffineExprIsADim(expression) {
            let dim = usize::try_from(mlirAffineDimExprGetPosition(expression)).ok()?;
            return Some(Expr::Operand(dim));
        }
        if mlirAffineExprIsASymbol(expression) {
            let symbol = usize::try_from(mlirAffineSymbolExprGetPosition(expression)).ok()?;
            return Some(Expr::Operand(dims + symbol));
        }
        let operator = if mlirAffineExprIsAAdd(expression) {
            Operator::Add
        } else if mlirAffineExprIsAMul(expression) {
            Operator::Mul
        } else if mlirAffineExprIsAMod(expression) {
            Operator::Mod
        } else if mlirAffineExprIsAFloorDiv(expression) {
            Operator::FloorDiv
        } else if mlirAffineExprIsACeilDiv(expression) {
            Operator::CeilDiv
        } else {
            return None;
        };
        let left = read(mlirAffineBinaryOpExprGetLHS(expression), dims)?;
        let right = read(mlirAffineBinaryOpExprGetRHS(expression), dims)?;
        Some(Expr::Binary(operator, Box::new([left, right])))
    }
}

/// By how much the only result of the affine map `map` grows where operand `i`, dimensions before symbols, grows by `growth(i)`.
/// `None` if it has several results, if it does not grow evenly, or if that is not known of an operand that it depends on.
#[must_use]
pub fn growth(map: Attribute<'_>, growth: &dyn Fn(usize) -> Option<i64>) -> Option<i64> {
    let (result, dims) = single(map)?;
    // SAFETY: a live expression.
    unsafe { of_expression(result, dims, growth) }
}

/// The same of an expression; it is as deep as MLIR's own recursions over it.
///
/// # Safety
///
/// The expression is live.
unsafe fn of_expression(
    expression: MlirAffineExpr,
    dims: usize,
    growth: &dyn Fn(usize) -> Option<i64>,
) -> Option<i64> {
    // SAFETY: a live expression, of the kind that was asked.
    unsafe {
        if mlirAffineExprIsAConstant(expression) {
            return Some(0);
        }
        if mlirAffineExprIsADim(expression) {
            return growth(usize::try_from(mlirAffineDimExprGetPosition(expression)).ok()?);
        }
        if mlirAffineExprIsASymbol(expression) {
            let symbol = usize::try_from(mlirAffineSymbolExprGetPosition(expression)).ok()?;
            return growth(dims + symbol);
        }
        let sides = [
            mlirAffineBinaryOpExprGetLHS(expression),
            mlirAffineBinaryOpExprGetRHS(expression),
        ];
        let [left, right] = [
            of_expression(sides[0], dims, growth)?,
            of_expression(sides[1], dims, growth)?,
        ];
        if mlirAffineExprIsAAdd(expression) {
            return left.checked_add(right);
        }
        // MLIR keeps constant factors on the right.
        if mlirAffineExprIsAMul(expression) && mlirAffineExprIsAConstant(sides[1]) {
            return left.checked_mul(mlirAffineConstantExprGetValue(sides[1]));
        }
        (left == 0 && right == 0).then_some(0)
    }
}
