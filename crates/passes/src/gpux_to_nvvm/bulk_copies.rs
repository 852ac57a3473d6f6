//! Lowers block-wide loads and stores in issued form: bulk copies (`cp.async.bulk`, also of tensors).
//!
//! | operation                           | becomes                                                                  |
//! |-------------------------------------|--------------------------------------------------------------------------|
//! | `gpux.tma_load`, `gpux.tma_store`   | an `nvgpu.tma.async.load` or `.store` per box, on subviews of the memref |
//! | `gpux.bulk_load`, `gpux.bulk_store` | `nvvm.cp.async.bulk.*` on pointers                                       |
//!
//! `nvgpu` has a tensor's coordinates innermost first, and `gpux` its indices outermost first.

use super::buffer_alignment::BufferAligner;
use crate::utils::alignment::{COPY_ALIGNMENT, tile_alignment};
use crate::utils::builders::constant;
use async_dialects::names::gpux;
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::llvm::{AddressSpace, pointer};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{DenseI64ArrayAttribute, StridedLayoutAttribute};
use async_mlir::melior::ir::r#type::{IntegerType, MemRefType};
use async_mlir::melior::ir::{Location, ShapedTypeLike, Type};
use async_mlir::names::{arith, attr, llvm, memref, nvgpu, nvvm};
use async_mlir::nvgpu::tensor_map;
use async_mlir::types::{DYNAMIC, Shape, bit_width, memory_space, memref_layout, memref_shape};

/// Lowers loads and stores.
pub(super) struct BulkCopies<'c> {
    context: &'c Context,
    index: Type<'c>,
    i32: Type<'c>,
    i64: Type<'c>,
    generic: Type<'c>,
    global: Type<'c>,
    shared: Type<'c>,
    cluster: Type<'c>,
}

/// One box of a tile.
struct TileBox<'c> {
    memref: Value<'c>,
    /// Innermost first.
    coordinates: Vec<Value<'c>>,
}

impl<'c> BulkCopies<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self {
            context,
            index: Type::index(context),
            i32: IntegerType::new(context, 32).into(),
            i64: IntegerType::new(context, 64).into(),
            generic: pointer(context, AddressSpace::Generic),
            global: pointer(context, AddressSpace::Global),
            shared: pointer(context, AddressSpace::Shared),
            cluster: pointer(context, AddressSpace::Cluster),
        }
    }

    /// Puts the lowered operation in the place of `op`, and aligns the buffer that it touches.
    pub fn lower(&self, op: Op<'c>, aligner: &mut BufferAligner<'c>) {
        match op.name() {
            gpux::TMA_LOAD => self.tma_load(op, aligner),
            gpux::TMA_STORE => self.tma_store(op, aligner),
            gpux::BULK_LOAD => self.bulk_load(op, aligner),
            _ => self.bulk_store(op, aligner),
        }
        op.erase();
    }

    // Operands: the descriptor, the indices, the destination, the ring and its slot.
    fn tma_load(&self, op: Op<'c>, aligner: &mut BufferAligner<'c>) {
        let operands: Vec<Value> = op.operands().collect();
        let [tensor, indices @ .., memref, ring, slot] = &operands[..] else {
            unreachable!("a verified load in issued form has a slot of a ring");
        };
        aligner.align(op, *memref, tile_alignment(*tensor));
        for tile in self.tiles(op, *tensor, indices, *memref) {
            // No mask for several blocks, and no predicate.
            let operands: [&[Value]; 7] = [
                &[tile.memref],
                &[*ring],
                &[*tensor],
                &tile.coordinates,
                &[*slot],
                &[],
                &[],
            ];
            transfer(nvgpu::TMA_ASYNC_LOAD, op, &operands);
        }
    }

    // Operands: the source, the descriptor, the indices.
    fn tma_store(&self, op: Op<'c>, aligner: &mut BufferAligner<'c>) {
        let operands: Vec<Value> = op.operands().collect();
        let [memref, tensor, indices @ ..] = &operands[..] else {
            unreachable!("a verified store has a source and a tensor");
        };
        aligner.align(op, *memref, tile_alignment(*tensor));
        for tile in self.tiles(op, *tensor, indices, *memref) {
            // No predicate.
            let operands: [&[Value]; 4] = [&[tile.memref], &[*tensor], &tile.coordinates, &[]];
            transfer(nvgpu::TMA_ASYNC_STORE, op, &operands);
        }
    }

    // Operands: source, destination, the ring and its slot.
    fn bulk_load(&self, op: Op<'c>, aligner: &mut BufferAligner<'c>) {
        let [src, dst, ring, slot] = [0, 1, 2, 3].map(|i| op.operand(i));
        aligner.align(op, dst, COPY_ALIGNMENT);
        let (from, to) = (self.global_pointer(op, src), self.shared_pointer(op, dst));
        let barrier = OpBuilder::new(nvgpu::MBARRIER_GET, op.location())
            .operands(&[ring, slot])
            .results(&[self.i32])
            .before(op);
        let barrier = cast(llvm::INTTOPTR, op, barrier.result(0), self.shared);
        // Into memory of the cluster, which that of the block is part of: PTX has had this form from the first.
        let to = cast(llvm::ADDRSPACECAST, op, to, self.cluster);
        let bytes = self.bytes(op, dst);
        // No mask for several blocks, and no cache hint.
        let operands: [&[Value]; 6] = [&[to], &[from], &[barrier], &[bytes], &[], &[]];
        transfer(nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL, op, &operands);
    }

    // Operands: source, destination.
    fn bulk_store(&self, op: Op<'c>, aligner: &mut BufferAligner<'c>) {
        let [src, dst] = [0, 1].map(|i| op.operand(i));
        aligner.align(op, src, COPY_ALIGNMENT);
        let (from, to) = (self.shared_pointer(op, src), self.global_pointer(op, dst));
        let bytes = self.bytes(op, src);
        // No cache hint, and no mask of bytes.
        let operands: [&[Value]; 5] = [&[to], &[from], &[bytes], &[], &[]];
        transfer(nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA, op, &operands);
    }

    // Tiles.

    /// Cuts `memref` into the boxes of `tensor`, along the outermost dimension that is not 1.
    fn tiles(
        &self,
        op: Op<'c>,
        tensor: Value<'c>,
        indices: &[Value<'c>],
        memref: Value<'c>,
    ) -> Vec<TileBox<'c>> {
        let tile = tensor_map(tensor.ty())
            .expect("a verified tensor has a descriptor")
            .tile;
        let (sizes, of_tile) = (static_sizes(memref.ty()), static_sizes(tile));
        let cut = sizes.iter().position(|&size| size != 1).unwrap_or(0);
        let coordinates = |indices: &[Value<'c>]| indices.iter().rev().copied().collect();
        if sizes == of_tile {
            return vec![TileBox {
                memref,
                coordinates: coordinates(indices),
            }];
        }
        let starts = (0..sizes[cut] / of_tile[cut]).map(|i| i * of_tile[cut]);
        let tiles = starts.map(|start| {
            let mut indices = indices.to_vec();
            if start != 0 {
                let start = self.constant(op, start);
                indices[cut] = OpBuilder::new(arith::ADDI, op.location())
                    .operands(&[indices[cut], start])
                    .results(&[self.index])
                    .before(op)
                    .result(0);
            }
            TileBox {
                memref: self.tile_view(op, memref, &of_tile, cut, start),
                coordinates: coordinates(&indices),
            }
        });
        tiles.collect()
    }

    /// The view of `sizes` elements that begins at `start` in dimension `cut`.
    fn tile_view(&self, op: Op<'c>, memref: Value<'c>, sizes: &[i64], cut: usize, start: i64) -> Value<'c> {
        let ty = MemRefType::try_from(memref.ty()).expect("a tile is a memref");
        let layout = memref_layout(memref.ty()).expect("a verified tile has strides");
        let strides: Vec<i64> = layout.strides.iter().map(|s| s.unwrap_or(DYNAMIC)).collect();
        let offset = layout.offset.zip(layout.strides[cut]);
        let offset = offset.map_or(DYNAMIC, |(offset, stride)| offset + start * stride);
        let layout = StridedLayoutAttribute::new(self.context, offset, &strides);
        let view = MemRefType::new(
            ty.element(),
            sizes,
            Some(layout.into()),
            memory_space(memref.ty()),
        );
        let array = |values: &[i64]| DenseI64ArrayAttribute::new(self.context, values).into();
        let mut offsets = vec![0; sizes.len()];
        offsets[cut] = start;
        OpBuilder::new(memref::SUBVIEW, op.location())
            .operand_groups(&[&[memref], &[], &[], &[]])
            .results(&[view.into()])
            .attr(attr::STATIC_OFFSETS, array(&offsets))
            .attr(attr::STATIC_SIZES, array(sizes))
            .attr(attr::STATIC_STRIDES, array(&vec![1; sizes.len()]))
            .before(op)
            .result(0)
    }

    fn constant(&self, op: Op<'c>, value: i64) -> Value<'c> {
        constant(op.location(), self.index, value).before(op).result(0)
    }

    // Contiguous memory.

    /// How many bytes `memref` has, as the hardware takes it.
    fn bytes(&self, op: Op<'c>, memref: Value<'c>) -> Value<'c> {
        let bytes = static_sizes(memref.ty()).iter().product::<i64>() * element_bytes(memref.ty());
        constant(op.location(), self.i32, bytes).before(op).result(0)
    }

    fn shared_pointer(&self, op: Op<'c>, memref: Value<'c>) -> Value<'c> {
        cast(llvm::INTTOPTR, op, self.address(op, memref), self.shared)
    }

    fn global_pointer(&self, op: Op<'c>, memref: Value<'c>) -> Value<'c> {
        let address = self.address(op, memref);
        if memory_space(memref.ty()).is_some() {
            return cast(llvm::INTTOPTR, op, address, self.global);
        }
        // Without a memory space it is a generic pointer.
        let generic = cast(llvm::INTTOPTR, op, address, self.generic);
        cast(llvm::ADDRSPACECAST, op, generic, self.global)
    }

    /// The address of the first element of `memref`.
    fn address(&self, op: Op<'c>, memref: Value<'c>) -> Value<'c> {
        let (location, index) = (op.location(), self.index);
        let name = memref::EXTRACT_ALIGNED_POINTER_AS_INDEX;
        let mut address = cast(name, op, memref, index);
        let layout = memref_layout(memref.ty()).expect("a verified bulk copy has strides");
        if layout.offset != Some(0) {
            let bytes = self.constant(op, element_bytes(memref.ty()));
            let offset = match layout.offset {
                Some(offset) => self.constant(op, offset),
                None => offset(op, memref),
            };
            let operate = |name, operands: [Value<'c>; 2], location: Location<'c>| {
                OpBuilder::new(name, location)
                    .operands(&operands)
                    .results(&[index])
                    .before(op)
                    .result(0)
            };
            let offset = operate(arith::MULI, [offset, bytes], location);
            address = operate(arith::ADDI, [address, offset], location);
        }
        cast(arith::INDEX_CAST, op, address, self.i64)
    }
}

/// Makes the transfer itself, with its operands in groups. Discardable attributes of `op` are kept.
fn transfer<'c>(name: &str, op: Op<'c>, operands: &[&[Value<'c>]]) {
    OpBuilder::new(name, op.location())
        .operand_groups(operands)
        .before(op)
        .copy_discardable_attrs(op);
}

/// The offset of the first element of `memref`, which only the running program knows.
fn offset<'c>(op: Op<'c>, memref: Value<'c>) -> Value<'c> {
    OpBuilder::new(memref::EXTRACT_STRIDED_METADATA, op.location())
        .operands(&[memref])
        .infer_results()
        .before(op)
        .result(1)
}

fn cast<'c>(name: &str, op: Op<'c>, value: Value<'c>, ty: Type<'c>) -> Value<'c> {
    OpBuilder::new(name, op.location())
        .operands(&[value])
        .results(&[ty])
        .before(op)
        .result(0)
}

/// The sizes of a memref of static shape.
fn static_sizes(ty: Type<'_>) -> Vec<i64> {
    let Shape { sizes, .. } = memref_shape(ty).expect("a verified transfer is of memrefs");
    let sizes = sizes.into_iter();
    sizes
        .map(|size| size.expect("a verified transfer has a static shape"))
        .collect()
}

/// The bytes of an element of a memref.
fn element_bytes(ty: Type<'_>) -> i64 {
    let Shape { element, .. } = memref_shape(ty).expect("a verified transfer is of memrefs");
    bit_width(element).map_or(1, |bits| i64::from(bits / 8))
}
