//! Builds operations of the `llvm` dialect, and calls of the runtime, for host code.

pub(crate) mod rt;
mod values;

use async_dialects::types::{is_token, token};
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, int_attr, str_attr};
use async_mlir::llvm::{AddressSpace, converted, internal_linkage, pointer};
use async_mlir::location::position;
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{FlatSymbolRefAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::{FunctionType, IntegerType};
use async_mlir::melior::ir::{Attribute, Location, Type};
use async_mlir::names::{attr, builtin, cf, func, llvm};
use async_mlir::pass::PassError;
use async_mlir::types::{known_type, memref_shape, vector_rank, vector_shape};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// Returns true if `ty` is a vector, or has elements that are, of a length that the hardware chooses: nothing here knows its size.
pub(crate) fn is_scalable(ty: Type<'_>) -> bool {
    let ty = memref_shape(ty).map_or(ty, |shape| shape.element);
    vector_shape(ty).is_some() && vector_rank(ty).is_none()
}

/// Where operations are put.
#[derive(Clone, Copy)]
pub(crate) enum At<'c> {
    /// Before an operation.
    Before(Op<'c>),
    /// At the end of a block.
    End(Block<'c>),
}

/// Builds operations in one module, and declares what they need there.
pub(crate) struct LlvmBuilder<'c> {
    module: Op<'c>,
    names: RefCell<FxHashSet<String>>,
    /// Symbols that the module has had from the beginning.
    given: FxHashMap<String, Op<'c>>,
    /// Those that are functions of the runtime, but of another type than the one here.
    misdeclared: RefCell<FxHashMap<Op<'c>, Type<'c>>>,
    /// The last number that was appended to each base of names.
    numbers: RefCell<FxHashMap<String, usize>>,
    strings: RefCell<FxHashMap<String, String>>,
    shared: RefCell<FxHashMap<String, String>>,
    types: RefCell<FxHashMap<Type<'c>, Option<Type<'c>>>>,
    /// `!llvm.ptr`.
    pub(crate) ptr: Type<'c>,
    /// `!async.token`.
    pub(crate) token: Type<'c>,
}

impl<'c> LlvmBuilder<'c> {
    pub(crate) fn new(module: Op<'c>) -> Self {
        let ops = module.regions().flat_map(Region::blocks).flat_map(Block::ops);
        let symbols = ops.filter_map(|op| Some((op.str_attr(attr::SYM_NAME)?.to_owned(), op)));
        let given: FxHashMap<_, _> = symbols.collect();
        Self {
            module,
            names: RefCell::new(given.keys().cloned().collect()),
            given,
            misdeclared: RefCell::default(),
            numbers: RefCell::default(),
            strings: RefCell::default(),
            shared: RefCell::default(),
            types: RefCell::default(),
            ptr: pointer(module.context(), AddressSpace::Generic),
            token: token(module.context()),
        }
    }

    pub(crate) fn context(&self) -> &'c Context {
        self.module.context()
    }

    pub(crate) fn int(&self, bits: u32) -> Type<'c> {
        IntegerType::new(self.context(), bits).into()
    }

    /// What `ty` is in the `llvm` dialect, a token being a pointer; `None` if it has no counterpart there.
    pub(crate) fn lowered(&self, ty: Type<'c>) -> Option<Type<'c>> {
        if is_token(ty) {
            return Some(self.ptr);
        }
        *self.types.borrow_mut().entry(ty).or_insert_with(|| converted(ty))
    }

    /// A name that no other symbol of the module has, and that starts with `base`.
    pub(crate) fn unused_name(&self, base: &str) -> String {
        let mut names = self.names.borrow_mut();
        let mut numbers = self.numbers.borrow_mut();
        let mut name = base.to_owned();
        while !names.insert(name.clone()) {
            let number = numbers.entry(base.to_owned()).or_insert(0);
            *number += 1;
            name = format!("{base}_{number}");
        }
        name
    }

    /// The name of a symbol that is made with the first that asks for it.
    pub(crate) fn shared(&self, base: &str, make: impl FnOnce(&str)) -> String {
        self.shared_as(base, base, make)
    }

    /// The same, where `key` tells symbols apart whose names start alike.
    pub(crate) fn shared_as(&self, key: &str, base: &str, make: impl FnOnce(&str)) -> String {
        let known = self.shared.borrow().get(key).cloned();
        known.unwrap_or_else(|| {
            let name = self.unused_name(base);
            make(&name);
            self.shared.borrow_mut().insert(key.to_owned(), name.clone());
            name
        })
    }

    /// Reserves `name` for a symbol; returns false if another has it.
    pub(crate) fn reserve_name(&self, name: &str) -> bool {
        self.names.borrow_mut().insert(name.to_owned())
    }

    /// Calls a function of the runtime. A result is of type `result`, a token or a pointer also where the function has the other.
    pub(crate) fn call(
        &self,
        name: &str,
        operands: &[Value<'c>],
        result: Option<Type<'c>>,
        location: Location<'c>,
        at: At<'c>,
    ) -> Op<'c> {
        let is_new = self.reserve_name(name);
        if is_new || self.given.contains_key(name) {
            let lower = |ty: Type<'c>| if is_token(ty) { self.ptr } else { ty };
            let inputs: Vec<Type> = operands.iter().map(|operand| lower(operand.ty())).collect();
            let results: Vec<Type> = result.into_iter().map(lower).collect();
            let ty = FunctionType::new(self.context(), &inputs, &results);
            if is_new {
                self.declare(name, ty);
            } else {
                self.expect_declaration(name, ty);
            }
        }
        let results: Vec<Type> = result.into_iter().collect();
        let call = OpBuilder::new(func::CALL, location)
            .operands(operands)
            .results(&results)
            .attr(
                attr::CALLEE,
                FlatSymbolRefAttribute::new(self.context(), name).into(),
            );
        put(call, at)
    }

    /// Notes that a function of the runtime has type `ty`, for [`Self::check_declarations`].
    pub(crate) fn expect_declaration(&self, name: &str, ty: FunctionType<'c>) {
        if let Some(symbol) = self.given.get(name)
            && !(symbol.is(func::FUNC) && function_type(*symbol).map(Type::from) == Some(ty.into()))
        {
            self.misdeclared.borrow_mut().insert(*symbol, ty.into());
        }
    }

    /// Fails if the module itself declares a function of the runtime that was called, and not as it is.
    pub(crate) fn check_declarations(&self) -> Result<(), PassError<'c>> {
        let misdeclared = self.misdeclared.borrow();
        let first = misdeclared
            .iter()
            .min_by_key(|(symbol, _)| symbol.str_attr(attr::SYM_NAME));
        first.map_or(Ok(()), |(symbol, ty)| {
            let name = symbol.str_attr(attr::SYM_NAME).unwrap_or_default();
            let message = format!("'{name}' is a function of the runtime, and not declared as it is");
            let help = format!("drop it, or declare it as 'func.func private @{name}' of type {ty}");
            Err(PassError::new(*symbol, message).note(*symbol, help))
        })
    }

    fn declare(&self, name: &str, ty: FunctionType<'c>) {
        let Some(body) = self.module.region(0).first() else {
            return;
        };
        OpBuilder::new(func::FUNC, Location::unknown(self.context()))
            .attr(attr::SYM_NAME, str_attr(self.context(), name))
            .attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into())
            .attr(attr::SYM_VISIBILITY, str_attr(self.context(), "private"))
            .regions(1)
            .at_start(body);
    }

    /// Appends an internal `llvm.func` without blocks to the module.
    pub(crate) fn function(&self, name: &str, ty: &str, location: Location<'c>) -> Op<'c> {
        let function = OpBuilder::new(llvm::FUNC, location)
            .attr(attr::SYM_NAME, str_attr(self.context(), name))
            .attr(
                attr::FUNCTION_TYPE,
                TypeAttribute::new(known_type(self.context(), ty)).into(),
            )
            .attr(attr::LINKAGE, internal_linkage(self.context()))
            .regions(1)
            .detached();
        if let Some(body) = self.module.region(0).first() {
            body.append(function);
        }
        function
    }

    /// A constant of the module with an initializer, which the caller fills in.
    pub(crate) fn global(
        &self,
        name: &str,
        ty: Type<'c>,
        value: Option<Attribute<'c>>,
        location: Location<'c>,
    ) -> Op<'c> {
        let mut global = OpBuilder::new(llvm::MLIR_GLOBAL, location)
            .attr(attr::SYM_NAME, str_attr(self.context(), name))
            .attr(attr::GLOBAL_TYPE, TypeAttribute::new(ty).into())
            .attr(attr::LINKAGE, internal_linkage(self.context()))
            .attr(attr::ADDR_SPACE, int_attr(self.context(), 32, 0))
            .attr(attr::CONSTANT, Attribute::unit(self.context()))
            .regions(1);
        if let Some(value) = value {
            global = global.attr(attr::VALUE, value);
        }
        let global = global.detached();
        if let Some(body) = self.module.region(0).first() {
            body.prepend(global);
        }
        global
    }

    /// A pointer to `text`, with a null byte at its end.
    pub(crate) fn string(&self, text: &str, location: Location<'c>, at: At<'c>) -> Value<'c> {
        let name = self.string_symbol(text);
        self.address_of(&name, location, at)
    }

    fn string_symbol(&self, text: &str) -> String {
        let known = self.strings.borrow().get(text).cloned();
        known.unwrap_or_else(|| {
            let name = self.unused_name("asyncopt_string");
            let array = known_type(self.context(), &format!("!llvm.array<{} x i8>", text.len() + 1));
            let value = str_attr(self.context(), &format!("{text}\0"));
            self.global(&name, array, Some(value), Location::unknown(self.context()));
            self.strings.borrow_mut().insert(text.to_owned(), name.clone());
            name
        })
    }

    /// A pointer to the text of `location`, or null if it says no place in a file.
    pub(crate) fn location(&self, location: Location<'c>, at: At<'c>) -> Value<'c> {
        match position(location) {
            Some(position) => self.string(&position.to_string(), location, at),
            None => self.null(location, at),
        }
    }

    /// The symbol of the text that traces show for the task `run`: its name, and where it is from.
    pub(crate) fn task_name(&self, run: &str, location: Location<'c>) -> String {
        let place = position(location).map_or(String::new(), |position| format!(" {position}"));
        self.string_symbol(&format!("{run}{place}"))
    }
}

/// An operation with one result.
fn one_result<'c>(op: OpBuilder<'c>, ty: Type<'c>, at: At<'c>) -> Value<'c> {
    put(op.results(&[ty]), at).result(0)
}

/// An operation without attributes.
pub(crate) fn op<'c>(
    name: &str,
    operands: &[Value<'c>],
    types: &[Type<'c>],
    location: Location<'c>,
    at: At<'c>,
) -> Op<'c> {
    put(
        OpBuilder::new(name, location).operands(operands).results(types),
        at,
    )
}

/// `value` as something of type `ty`, which is what it is lowered to, or the other way around.
pub(crate) fn cast<'c>(value: Value<'c>, ty: Type<'c>, location: Location<'c>, at: At<'c>) -> Value<'c> {
    if value.ty() == ty {
        return value;
    }
    one_result(
        OpBuilder::new(builtin::UNREALIZED_CONVERSION_CAST, location).operands(&[value]),
        ty,
        at,
    )
}

pub(crate) fn put<'c>(op: OpBuilder<'c>, at: At<'c>) -> Op<'c> {
    match at {
        At::Before(other) => op.before(other),
        At::End(block) => op.at_end(block),
    }
}

/// Ends `block` by going to `to`.
pub(crate) fn branch<'c>(block: Block<'c>, to: Block<'c>, location: Location<'c>) {
    OpBuilder::new(cf::BR, location).successors(&[to]).at_end(block);
}

/// Ends `block` by going to one of two others, without operands.
pub(crate) fn branch_if<'c>(
    block: Block<'c>,
    condition: Value<'c>,
    [yes, no]: [Block<'c>; 2],
    location: Location<'c>,
) {
    OpBuilder::new(cf::COND_BR, location)
        .operand_groups(&[&[condition], &[], &[]])
        .successors(&[yes, no])
        .at_end(block);
}
