//! The names of operations and attributes, each written once.
//!
//! A module for each dialect has the full names of its operations, and [`attr`] those of attributes. A test asks MLIR
//! whether there are operations of these names, and whether they have the attributes: a slip of the pen is found there.

/// Defines a module of names for each dialect.
macro_rules! operations {
    ($($module:ident $namespace:literal { $($constant:ident = $name:literal,)* })*) => {
        $(
            #[doc = concat!("Operations of `", $namespace, "`.")]
            #[allow(missing_docs)] // Each is called what it is called in MLIR.
            pub mod $module {
                /// What the dialect is called.
                pub const NAMESPACE: &str = $namespace;
                $(pub const $constant: &str = concat!($namespace, ".", $name);)*
            }
        )*

        /// All operations that have a name here.
        pub const OPERATIONS: &[&str] = &[$($($module::$constant,)*)*];
    };
}

/// Defines the names of inherent attributes, with operations that have them.
macro_rules! attributes {
    ($($constant:ident = $name:literal of [$($op:expr),*],)*) => {
        /// All inherent attributes that have a name here, each with operations that have one of this name.
        pub const ATTRIBUTES: &[(&str, &[&str])] = &[$(($name, &[$($op),*]),)*];

        /// Attributes.
        #[allow(missing_docs)] // Each is called what it is called in MLIR.
        pub mod attr {
            $(pub const $constant: &str = $name;)*

            // Attributes that no operation defines, in TableGen at least.

            /// On a barrier: the memory that it orders accesses of, in versions of MLIR that have that.
            pub const ADDRESS_SPACES: &str = "address_spaces";
            /// On a `gpu.module`: what its dynamic memory of the workgroup is aligned to.
            pub const DYNAMIC_ALIGNMENT: &str = "gpux.dynamic_alignment";
            pub const GPU_KERNEL: &str = "gpu.kernel";
            pub const GPU_KNOWN_BLOCK_SIZE: &str = "gpu.known_block_size";
            /// On a kernel, where its dialect is not known.
            pub const KERNEL: &str = "kernel";
            pub const LLVM_ALIGN: &str = "llvm.align";
            pub const NVVM_KERNEL: &str = "nvvm.kernel";
            /// On a `gpu.func`: how many buffers of the workgroup it declares.
            pub const WORKGROUP_ATTRIBUTIONS: &str = "workgroup_attributions";
        }
    };
}

operations! {
    affine "affine" {
        FOR = "for",
        IF = "if",
        LOAD = "load",
        VECTOR_LOAD = "vector_load",
        YIELD = "yield",
    }
    arith "arith" {
        ADDI = "addi",
        CEILDIVUI = "ceildivui",
        CMPI = "cmpi",
        CONSTANT = "constant",
        DIVSI = "divsi",
        DIVUI = "divui",
        INDEX_CAST = "index_cast",
        MAXSI = "maxsi",
        MULI = "muli",
        REMSI = "remsi",
        REMUI = "remui",
        SELECT = "select",
        SUBI = "subi",
    }
    async_ "async" {
        AWAIT = "await",
        CALL = "call",
        FUNC = "func",
        JOIN = "join",
        READY = "ready",
        REGION = "region",
    }
    builtin "builtin" {
        MODULE = "module",
        UNREALIZED_CONVERSION_CAST = "unrealized_conversion_cast",
    }
    cf "cf" {
        ASSERT = "assert",
    }
    func "func" {
        FUNC = "func",
    }
    gpu "gpu" {
        ALL_REDUCE = "all_reduce",
        BARRIER = "barrier",
        BLOCK_DIM = "block_dim",
        DYNAMIC_SHARED_MEMORY = "dynamic_shared_memory",
        FUNC = "func",
        GLOBAL_ID = "global_id",
        LANE_ID = "lane_id",
        LAUNCH = "launch",
        LAUNCH_FUNC = "launch_func",
        MODULE = "module",
        PRINTF = "printf",
        RETURN = "return",
        SHUFFLE = "shuffle",
        SUBGROUP_ID = "subgroup_id",
        SUBGROUP_MMA_LOAD_MATRIX = "subgroup_mma_load_matrix",
        SUBGROUP_MMA_STORE_MATRIX = "subgroup_mma_store_matrix",
        SUBGROUP_REDUCE = "subgroup_reduce",
        THREAD_ID = "thread_id",
        WARP_EXECUTE_ON_LANE_0 = "warp_execute_on_lane_0",
    }
    gpux "gpux" {
        BULK_LOAD = "bulk_load",
        BULK_STORE = "bulk_store",
        COMMIT_GROUP = "commit_group",
        COPY = "copy",
        ELECT = "elect",
        TMA_LOAD = "tma_load",
        TMA_STORE = "tma_store",
        WAIT_GROUP = "wait_group",
    }
    index "index" {
    }
    linalg "linalg" {
    }
    llvm "llvm" {
        ADDRSPACECAST = "addrspacecast",
        CALL = "call",
        GETELEMENTPTR = "getelementptr",
        INLINE_ASM = "inline_asm",
        INTR_CEIL = "intr.ceil",
        INTR_FABS = "intr.fabs",
        INTR_FLOOR = "intr.floor",
        INTR_FMA = "intr.fma",
        INTR_RINT = "intr.rint",
        INTR_SQRT = "intr.sqrt",
        INTR_TRUNC = "intr.trunc",
        INTTOPTR = "inttoptr",
        LOAD = "load",
        MLIR_GLOBAL = "mlir.global",
        STORE = "store",
    }
    math "math" {
    }
    memref "memref" {
        ALLOC = "alloc",
        ALLOCA = "alloca",
        ALLOCA_SCOPE = "alloca_scope",
        ASSUME_ALIGNMENT = "assume_alignment",
        ATOMIC_RMW = "atomic_rmw",
        CAST = "cast",
        COLLAPSE_SHAPE = "collapse_shape",
        DEALLOC = "dealloc",
        DIM = "dim",
        EXPAND_SHAPE = "expand_shape",
        EXTRACT_ALIGNED_POINTER_AS_INDEX = "extract_aligned_pointer_as_index",
        EXTRACT_STRIDED_METADATA = "extract_strided_metadata",
        GET_GLOBAL = "get_global",
        GLOBAL = "global",
        LOAD = "load",
        MEMORY_SPACE_CAST = "memory_space_cast",
        PREFETCH = "prefetch",
        REINTERPRET_CAST = "reinterpret_cast",
        RESHAPE = "reshape",
        STORE = "store",
        SUBVIEW = "subview",
        TRANSPOSE = "transpose",
        VIEW = "view",
    }
    nvgpu "nvgpu" {
        DEVICE_ASYNC_COPY = "device_async_copy",
        DEVICE_ASYNC_CREATE_GROUP = "device_async_create_group",
        DEVICE_ASYNC_WAIT = "device_async_wait",
        LDMATRIX = "ldmatrix",
        MBARRIER_ARRIVE = "mbarrier.arrive",
        MBARRIER_ARRIVE_EXPECT_TX = "mbarrier.arrive.expect_tx",
        MBARRIER_CREATE = "mbarrier.create",
        MBARRIER_GET = "mbarrier.get",
        MBARRIER_INIT = "mbarrier.init",
        MBARRIER_TRY_WAIT_PARITY = "mbarrier.try_wait.parity",
        MMA_SYNC = "mma.sync",
        TMA_ASYNC_LOAD = "tma.async.load",
        TMA_ASYNC_STORE = "tma.async.store",
        TMA_CREATE_DESCRIPTOR = "tma.create.descriptor",
        TMA_FENCE_DESCRIPTOR = "tma.fence.descriptor",
        TMA_PREFETCH_DESCRIPTOR = "tma.prefetch.descriptor",
    }
    nvvm "nvvm" {
        BAR_WARP_SYNC = "bar.warp.sync",
        BARRIER = "barrier",
        BARRIER0 = "barrier0",
        CP_ASYNC_BULK_COMMIT_GROUP = "cp.async.bulk.commit.group",
        CP_ASYNC_BULK_GLOBAL_SHARED_CTA = "cp.async.bulk.global.shared.cta",
        CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL = "cp.async.bulk.shared.cluster.global",
        CP_ASYNC_BULK_TENSOR_GLOBAL_SHARED_CTA = "cp.async.bulk.tensor.global.shared.cta",
        CP_ASYNC_BULK_TENSOR_REDUCE = "cp.async.bulk.tensor.reduce",
        CP_ASYNC_BULK_WAIT_GROUP = "cp.async.bulk.wait_group",
        CP_ASYNC_COMMIT_GROUP = "cp.async.commit.group",
        CP_ASYNC_MBARRIER_ARRIVE = "cp.async.mbarrier.arrive",
        CP_ASYNC_SHARED_GLOBAL = "cp.async.shared.global",
        CP_ASYNC_WAIT_GROUP = "cp.async.wait.group",
        ELECT_SYNC = "elect.sync",
        FENCE_MBARRIER_INIT = "fence.mbarrier.init",
        FENCE_PROXY = "fence.proxy",
        INLINE_PTX = "inline_ptx",
        MBARRIER_EXPECT_TX = "mbarrier.expect_tx",
        MBARRIER_INVAL = "mbarrier.inval",
        READ_PTX_SREG_LANEID = "read.ptx.sreg.laneid",
        READ_PTX_SREG_TID_X = "read.ptx.sreg.tid.x",
        READ_PTX_SREG_TID_Y = "read.ptx.sreg.tid.y",
        READ_PTX_SREG_TID_Z = "read.ptx.sreg.tid.z",
        READ_PTX_SREG_WARPID = "read.ptx.sreg.warpid",
        WGMMA_COMMIT_GROUP_SYNC_ALIGNED = "wgmma.commit.group.sync.aligned",
        WGMMA_WAIT_GROUP_SYNC_ALIGNED = "wgmma.wait.group.sync.aligned",
    }
    scf "scf" {
        CONDITION = "condition",
        EXECUTE_REGION = "execute_region",
        FOR = "for",
        FORALL = "forall",
        IF = "if",
        INDEX_SWITCH = "index_switch",
        WHILE = "while",
        YIELD = "yield",
    }
    ub "ub" {
        POISON = "poison",
    }
    vector "vector" {
        GATHER = "gather",
        LOAD = "load",
        MASKEDLOAD = "maskedload",
        STORE = "store",
        TRANSFER_READ = "transfer_read",
    }
}

attributes! {
    ADDR_SPACE = "addr_space" of [llvm::MLIR_GLOBAL],
    ALIGNMENT = "alignment" of [llvm::MLIR_GLOBAL, memref::ALLOC, memref::ALLOCA, memref::GLOBAL],
    BYPASS_L1 = "bypass_l1" of [gpux::COPY],
    CALLEE = "callee" of [llvm::CALL],
    DIMENSION = "dimension" of [gpu::BLOCK_DIM, gpu::THREAD_ID],
    ELEMENTS = "elements" of [gpux::COPY],
    FUNCTION_TYPE = "function_type" of [async_::FUNC, func::FUNC, gpu::FUNC],
    GLOBAL_TYPE = "global_type" of [llvm::MLIR_GLOBAL],
    GROUP = "group" of [nvvm::CP_ASYNC_BULK_WAIT_GROUP, nvvm::WGMMA_WAIT_GROUP_SYNC_ALIGNED],
    INITIAL_VALUE = "initial_value" of [memref::GLOBAL],
    KIND = "kind" of [nvvm::FENCE_PROXY],
    KNOWN_BLOCK_SIZE = "known_block_size" of [gpu::FUNC],
    LINKAGE = "linkage" of [llvm::MLIR_GLOBAL],
    N = "n" of [nvvm::CP_ASYNC_WAIT_GROUP],
    NAME = "name" of [memref::GET_GLOBAL],
    NVGPU_BYPASS_L1 = "bypassL1" of [nvgpu::DEVICE_ASYNC_COPY],
    NVGPU_ELEMENTS = "dstElements" of [nvgpu::DEVICE_ASYNC_COPY],
    NVGPU_PENDING = "numGroups" of [nvgpu::DEVICE_ASYNC_WAIT],
    OPERAND_SEGMENT_SIZES = "operandSegmentSizes" of [gpux::BULK_LOAD, gpux::TMA_LOAD, memref::SUBVIEW, nvgpu::DEVICE_ASYNC_COPY, nvgpu::TMA_ASYNC_LOAD, nvgpu::TMA_ASYNC_STORE, nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA, nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL],
    PENDING = "pending" of [gpux::WAIT_GROUP],
    PERMUTATION_MAP = "permutation_map" of [vector::TRANSFER_READ],
    PREDICATE = "predicate" of [arith::CMPI],
    QUEUE = "queue" of [gpux::COMMIT_GROUP, gpux::WAIT_GROUP],
    READ = "read" of [gpux::WAIT_GROUP, nvvm::CP_ASYNC_BULK_WAIT_GROUP],
    SPACE = "space" of [nvvm::FENCE_PROXY],
    STATIC_OFFSETS = "static_offsets" of [memref::SUBVIEW],
    STATIC_SIZES = "static_sizes" of [memref::SUBVIEW],
    STATIC_STRIDES = "static_strides" of [memref::SUBVIEW],
    SYM_NAME = "sym_name" of [async_::FUNC, func::FUNC, memref::GLOBAL],
    SYM_VISIBILITY = "sym_visibility" of [memref::GLOBAL],
    TYPE = "type" of [memref::GLOBAL],
    UNSIGNED_CMP = "unsignedCmp" of [scf::FOR],
    VALUE = "value" of [arith::CONSTANT],
    WORKGROUP_ATTRIB_ATTRS = "workgroup_attrib_attrs" of [gpu::FUNC],
}
