//! Lowers `gpux.copy` (`cp.async`) by upstream's patterns.
//!
//! What a copy becomes depends on the types of its operands, its size and its cache hint, and on nothing else. A program
//! has many copies of few such **kinds**. So upstream's conversion lowers one copy per kind, whose operands are block
//! arguments: the **template**. Every copy of the kind is then the template's operations, cloned with its own operands in the
//! place of the arguments. That takes a fraction of the time of a dialect conversion over all copies.
//!
//! In a template, an operation without side effects that depends on a single argument (a cast of the memref to its
//! descriptor, the pointer in it, an index as an integer) is **shared**: one clone right after the definition of the
//! value serves all the copies that use it. One that depends on no argument (a stride) goes to the start of the body.
//! The **body** is that of the function around the copy, or of what else a copy may be in that is not a plain loop or
//! branch (a `gpu.launch`): nothing is shared across it, since whoever outlines it would have to pass descriptors.
//!
//! Cost: linear in the number of copies.

use async_dialects::names::gpux_attr;
use async_mlir::ir::{Block, Definition, Mapping, Op, OpBuilder, Value, index_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{DenseI64ArrayAttribute, StridedLayoutAttribute};
use async_mlir::melior::ir::r#type::MemRefType;
use async_mlir::melior::ir::{Attribute, Location, ShapedTypeLike, Type};
use async_mlir::names::{affine, attr, builtin, memref, nvgpu, scf};
use async_mlir::nvgpu::{copy_token, lower_copies};
use async_mlir::pass::PassError;
use async_mlir::types::DYNAMIC;
use rustc_hash::FxHashMap;

/// What copies become. It remembers what it has met.
pub(super) struct Copies<'c> {
    context: &'c Context,
    templates: Vec<CopyTemplate<'c>>,
    /// The template of the copy before, which is likely that of the next.
    latest: usize,
    /// A block looked at, and the body that it is in.
    body: Option<(Block<'c>, Body<'c>)>,
}

/// What a copy may share operations in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Body<'c> {
    /// The operation that it is the body of.
    owner: Op<'c>,
    entry: Block<'c>,
}

/// How the copies of a kind are lowered.
struct CopyTemplate<'c> {
    kind: Kind<'c>,
    /// The detached operation that has the template in it.
    holder: Op<'c>,
    arguments: Vec<Value<'c>>,
    /// The operations, in order, and who shares them.
    steps: Vec<(Op<'c>, Sharing)>,
    /// Maps values of the template to what stands for them in the copy lowered last.
    mapping: Mapping<'c>,
    /// The operands of that copy, and its body.
    mapped: Vec<Option<Value<'c>>>,
    mapped_body: Option<Body<'c>>,
    /// The results of shared operations, by what is shared and where.
    shared: FxHashMap<(Body<'c>, Sharing, Option<Value<'c>>), Vec<Value<'c>>>,
}

/// What the lowering of a copy depends on.
#[derive(PartialEq)]
struct Kind<'c> {
    elements: Option<Attribute<'c>>,
    bypass_l1: bool,
    operands: Vec<Type<'c>>,
}

/// For which copies an operation of a template is cloned once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sharing {
    /// For all in a body.
    Body,
    /// For those with the same value as operand number so.
    Operand(usize),
    /// For each its own.
    None,
}

impl<'c> Copies<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self {
            context,
            templates: Vec::new(),
            latest: 0,
            body: None,
        }
    }

    /// Puts the lowered copy in the place of `copy`. Discardable attributes are kept.
    pub fn lower(&mut self, copy: Op<'c>) -> Result<(), PassError<'c>> {
        let body = self.body_around(copy);
        let operands: Vec<Value> = copy.operands().collect();
        let kind = Kind {
            elements: copy.attr(gpux_attr::ELEMENTS),
            bypass_l1: copy.has_attr(gpux_attr::BYPASS_L1),
            operands: operands.iter().map(|operand| operand.ty()).collect(),
        };
        if self
            .templates
            .get(self.latest)
            .is_none_or(|template| template.kind != kind)
        {
            self.latest =
                if let Some(known) = self.templates.iter().position(|template| template.kind == kind) {
                    known
                } else {
                    self.templates.push(CopyTemplate::new(self.context, copy, kind)?);
                    self.templates.len() - 1
                };
        }
        self.templates[self.latest].instantiate(copy, &operands, body);
        copy.erase();
        Ok(())
    }

    /// The body that `copy` is in.
    fn body_around(&mut self, copy: Op<'c>) -> Body<'c> {
        let block = copy.block().expect("a copy is nested in the pass's operation");
        if let Some((known, body)) = self.body
            && known == block
        {
            return body;
        }
        let mut entry = block;
        let owner = loop {
            let region = entry.region().expect("a block around a copy is in a region");
            entry = region.first().expect("the region of a block has blocks");
            let owner = entry
                .parent_op()
                .expect("a copy is nested in the pass's operation");
            match (is_plain_control_flow(owner), owner.block()) {
                (true, Some(outer)) => entry = outer,
                _ => break owner,
            }
        };
        let body = Body { owner, entry };
        self.body = Some((block, body));
        body
    }
}

/// Returns true if values may be defined before `op` that only its regions use. Conservative: it knows the loops and
/// branches that copies are usually in.
fn is_plain_control_flow(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        affine::FOR | affine::IF | scf::EXECUTE_REGION | scf::FOR | scf::IF | scf::INDEX_SWITCH | scf::WHILE
    )
}

impl<'c> CopyTemplate<'c> {
    /// Has upstream lower a copy like `copy`.
    fn new(context: &'c Context, copy: Op<'c>, kind: Kind<'c>) -> Result<Self, PassError<'c>> {
        let location = copy.location();
        let arguments: Vec<_> = kind.operands.iter().map(|&ty| (ty, location)).collect();
        let block = Block::new(&arguments);
        let holder = OpBuilder::new(builtin::MODULE, location).regions(1).detached();
        holder.region(0).append(block);
        // From here on `drop` erases it.
        let mut template = Self {
            kind,
            holder,
            arguments: block.args().collect(),
            steps: Vec::new(),
            mapping: Mapping::new(),
            mapped: vec![None; arguments.len()],
            mapped_body: None,
            shared: FxHashMap::default(),
        };
        write_copy(context, copy, &template.arguments, block, location);
        if !lower_copies(holder) {
            return Err(PassError::new(
                copy,
                "has no lowering to NVVM between memrefs of these types",
            ));
        }
        template.find_steps(block);
        Ok(template)
    }

    /// Finds out who shares what. What nothing uses (upstream leaves a stand-in for the token) is no step.
    fn find_steps(&mut self, block: Block<'c>) {
        let mut of_result: FxHashMap<Value, Sharing> = FxHashMap::default();
        for (index, &argument) in self.arguments.iter().enumerate() {
            of_result.insert(argument, Sharing::Operand(index));
        }
        for op in block.ops() {
            let pure = op.is_pure();
            if pure && !op.has_uses() {
                continue;
            }
            let operands = op.operands().map(|operand| of_result[&operand]);
            let sharing = if pure {
                operands.fold(Sharing::Body, Sharing::and)
            } else {
                Sharing::None
            };
            for result in op.results() {
                of_result.insert(result, sharing);
            }
            self.steps.push((op, sharing));
        }
    }

    /// Clones the template before `copy`.
    fn instantiate(&mut self, copy: Op<'c>, operands: &[Value<'c>], body: Body<'c>) {
        let same_body = self.mapped_body == Some(body);
        if !same_body {
            self.share(Sharing::Body, None, body);
            self.mapped_body = Some(body);
        }
        for (index, &operand) in operands.iter().enumerate() {
            // Most copies have most of their operands in common with the one before.
            if !same_body || self.mapped[index] != Some(operand) {
                self.mapping.map(self.arguments[index], operand);
                self.share(Sharing::Operand(index), Some(operand), body);
                self.mapped[index] = Some(operand);
            }
        }
        let location = copy.location();
        for &(op, sharing) in &self.steps {
            if sharing == Sharing::None {
                let clone = op.clone_mapped(&mut self.mapping);
                clone.set_location(location);
                // What has no result is the transfer itself.
                if clone.num_results() == 0 {
                    clone.copy_discardable_attrs(copy);
                }
                clone.move_before(copy);
            }
        }
    }

    /// Has `mapping` lead to the operations with the sharing `sharing`, which are cloned if they are not there yet;
    /// `operand` is what they depend on.
    fn share(&mut self, sharing: Sharing, operand: Option<Value<'c>>, body: Body<'c>) {
        let key = (body, sharing, operand);
        let steps = self.steps.iter().filter(|(_, other)| *other == sharing);
        if let Some(known) = self.shared.get(&key) {
            let results = steps.flat_map(|(op, _)| op.results());
            for (result, &shared) in results.zip(known) {
                self.mapping.map(result, shared);
            }
            return;
        }
        let (mut place, location) = match operand {
            Some(operand) => (first_insertion_point_after(operand, body), operand.location()),
            None => (InsertionPoint::Start(body.entry), body.owner.location()),
        };
        // After what the whole body shares, which they may use.
        if operand.is_some()
            && place == InsertionPoint::Start(body.entry)
            && let Some(last) = self.shared[&(body, Sharing::Body, None)].last()
        {
            place = InsertionPoint::After(last.defining_op().expect("it is the result of a clone"));
        }
        let mut results = Vec::new();
        for &(op, _) in steps {
            let clone = op.clone_mapped(&mut self.mapping);
            clone.set_location(location);
            match place {
                InsertionPoint::Start(block) => block.prepend(clone),
                InsertionPoint::After(op) => clone.move_after(op),
            }
            place = InsertionPoint::After(clone);
            results.extend(clone.results());
        }
        self.shared.insert(key, results);
    }
}

impl Drop for CopyTemplate<'_> {
    fn drop(&mut self) {
        self.holder.erase();
    }
}

impl Sharing {
    /// What an operation shares whose operands share this and that.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Body, sharing) | (sharing, Self::Body) => sharing,
            _ if self == other => self,
            _ => Self::None,
        }
    }
}

/// Where to put an operation.
#[derive(Clone, Copy, PartialEq)]
enum InsertionPoint<'c> {
    Start(Block<'c>),
    After(Op<'c>),
}

/// The first place in `body` that has `value` above it.
fn first_insertion_point_after<'c>(value: Value<'c>, body: Body<'c>) -> InsertionPoint<'c> {
    let (block, place) = match value.definition() {
        Definition::Result(op, _) => (op.block(), InsertionPoint::After(op)),
        Definition::Argument(block, _) => (Some(block), InsertionPoint::Start(block)),
    };
    let around = block.and_then(Block::parent_op);
    if around.is_some_and(|around| body.owner.is_ancestor_of(around)) {
        place
    } else {
        InsertionPoint::Start(body.entry)
    }
}

/// Writes the `nvgpu` form of `copy`, with `operands` for its operands, to the end of `block`.
///
/// A copy in counted form has the operands source, its indices, destination, its indices, and perhaps a count.
fn write_copy<'c>(
    context: &'c Context,
    copy: Op<'c>,
    operands: &[Value<'c>],
    block: Block<'c>,
    location: Location<'c>,
) {
    let (source, rest) = access(operands);
    let (destination, count) = access(rest);
    let source = contiguous(context, source, block, location);
    let destination = contiguous(context, destination, block, location);

    let (from, from_indices) = source.split_at(1);
    let (to, to_indices) = destination.split_at(1);
    let elements = copy
        .int_attr(gpux_attr::ELEMENTS)
        .expect("a verified copy has its number of elements");
    let mut lowered = OpBuilder::new(nvgpu::DEVICE_ASYNC_COPY, location)
        .operand_groups(&[to, to_indices, from, from_indices, count])
        .results(&[copy_token(context)])
        .attr(attr::NVGPU_ELEMENTS, index_attr(context, elements));
    if copy.has_attr(gpux_attr::BYPASS_L1) {
        lowered = lowered.attr(attr::NVGPU_BYPASS_L1, Attribute::unit(context));
    }
    lowered.at_end(block);
}

/// Upstream's copy wants a contiguous innermost dimension, also where it copies a single element: that one is then
/// addressed as a buffer of rank 0. `access` is a buffer and its indices, and so is the result.
fn contiguous<'c>(
    context: &'c Context,
    access: &[Value<'c>],
    block: Block<'c>,
    location: Location<'c>,
) -> Vec<Value<'c>> {
    let ty = memref(access[0].ty());
    let (strides, _) = ty.strides_and_offset();
    if strides.last().is_none_or(|&stride| stride == 1) {
        return access.to_vec();
    }
    let rank = access.len() - 1;
    let layout = StridedLayoutAttribute::new(context, DYNAMIC, &[]);
    let element = MemRefType::new(ty.element(), &[], Some(layout.into()), ty.memory_space());
    let all = |value: i64| DenseI64ArrayAttribute::new(context, &vec![value; rank]).into();
    let (memref, offsets) = access.split_at(1);
    let view = OpBuilder::new(memref::SUBVIEW, location)
        .operand_groups(&[memref, offsets, &[], &[]])
        .results(&[element.into()])
        .attr(attr::STATIC_OFFSETS, all(DYNAMIC))
        .attr(attr::STATIC_SIZES, all(1))
        .attr(attr::STATIC_STRIDES, all(1))
        .at_end(block);
    vec![view.result(0)]
}

/// The type of a side of a copy.
fn memref(ty: Type<'_>) -> MemRefType<'_> {
    MemRefType::try_from(ty).expect("a verified copy is between memrefs")
}

/// Splits the operands into a memref with its indices and the rest.
fn access<'a, 'c>(operands: &'a [Value<'c>]) -> (&'a [Value<'c>], &'a [Value<'c>]) {
    let rank = memref(operands[0].ty()).rank();
    operands.split_at(1 + rank)
}
