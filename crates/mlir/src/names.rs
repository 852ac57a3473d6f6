//! The names of upstream's operations and attributes, each written once.
//!
//! A module for each dialect has the full names of its operations, and [`attr`] those of attributes. A test checks
//! them against MLIR, so typos are caught. A crate with dialects of its own names what they have with [`operations`] and
//! [`attributes`].

pub use crate::{attributes, operations};

/// Defines a module of names for each dialect, and a list `OPERATIONS` of all of them.
#[macro_export]
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

/// Defines a module with the names of inherent attributes and of attributes that no operation defines (in TableGen at least),
/// and a list `ATTRIBUTES` of the inherent ones with operations that have them.
#[macro_export]
macro_rules! attributes {
    (
        $(#[$doc:meta])*
        $module:ident {
            $($constant:ident = $name:literal of [$($op:expr),*],)*
        }
        discardable {
            $($(#[$discardable_doc:meta])* $discardable:ident = $discardable_name:literal,)*
        }
    ) => {
        /// All inherent attributes that have a name here, each with operations that have one of this name.
        pub const ATTRIBUTES: &[(&str, &[&str])] = &[$(($name, &[$($op),*]),)*];

        $(#[$doc])*
        #[allow(missing_docs)] // Each is called what it is called in MLIR.
        pub mod $module {
            $(pub const $constant: &str = $name;)*
            $($(#[$discardable_doc])* pub const $discardable: &str = $discardable_name;)*
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
        ADDF = "addf",
        ADDI = "addi",
        ANDI = "andi",
        BITCAST = "bitcast",
        CEILDIVSI = "ceildivsi",
        CEILDIVUI = "ceildivui",
        CMPF = "cmpf",
        CMPI = "cmpi",
        CONSTANT = "constant",
        DIVF = "divf",
        DIVSI = "divsi",
        DIVUI = "divui",
        EXTF = "extf",
        EXTSI = "extsi",
        EXTUI = "extui",
        FLOORDIVSI = "floordivsi",
        FPTOSI = "fptosi",
        FPTOUI = "fptoui",
        INDEX_CAST = "index_cast",
        INDEX_CASTUI = "index_castui",
        MAXIMUMF = "maximumf",
        MAXNUMF = "maxnumf",
        MAXSI = "maxsi",
        MAXUI = "maxui",
        MINIMUMF = "minimumf",
        MINNUMF = "minnumf",
        MINSI = "minsi",
        MINUI = "minui",
        MULF = "mulf",
        MULI = "muli",
        NEGF = "negf",
        ORI = "ori",
        REMF = "remf",
        REMSI = "remsi",
        REMUI = "remui",
        SELECT = "select",
        SHLI = "shli",
        SHRSI = "shrsi",
        SHRUI = "shrui",
        SITOFP = "sitofp",
        SUBF = "subf",
        SUBI = "subi",
        TRUNCF = "truncf",
        TRUNCI = "trunci",
        UITOFP = "uitofp",
        XORI = "xori",
    }
    builtin "builtin" {
        MODULE = "module",
        UNREALIZED_CONVERSION_CAST = "unrealized_conversion_cast",
    }
    cf "cf" {
        ASSERT = "assert",
        BR = "br",
        COND_BR = "cond_br",
        SWITCH = "switch",
    }
    func "func" {
        CALL = "call",
        FUNC = "func",
    }
    gpu "gpu" {
        ALL_REDUCE = "all_reduce",
        BARRIER = "barrier",
        BLOCK_DIM = "block_dim",
        BLOCK_ID = "block_id",
        DYNAMIC_SHARED_MEMORY = "dynamic_shared_memory",
        FUNC = "func",
        GLOBAL_ID = "global_id",
        GRID_DIM = "grid_dim",
        LANE_ID = "lane_id",
        LAUNCH = "launch",
        LAUNCH_FUNC = "launch_func",
        MODULE = "module",
        NUM_SUBGROUPS = "num_subgroups",
        PRINTF = "printf",
        RETURN = "return",
        SHUFFLE = "shuffle",
        SUBGROUP_ID = "subgroup_id",
        SUBGROUP_MMA_LOAD_MATRIX = "subgroup_mma_load_matrix",
        SUBGROUP_MMA_STORE_MATRIX = "subgroup_mma_store_matrix",
        SUBGROUP_REDUCE = "subgroup_reduce",
        SUBGROUP_SIZE = "subgroup_size",
        THREAD_ID = "thread_id",
        WARP_EXECUTE_ON_LANE_0 = "warp_execute_on_lane_0",
    }
    index "index" {
        ADD = "add",
        AND = "and",
        BOOL_CONSTANT = "bool.constant",
        CASTS = "casts",
        CASTU = "castu",
        CEILDIVS = "ceildivs",
        CEILDIVU = "ceildivu",
        CMP = "cmp",
        CONSTANT = "constant",
        DIVS = "divs",
        DIVU = "divu",
        FLOORDIVS = "floordivs",
        MAXS = "maxs",
        MAXU = "maxu",
        MINS = "mins",
        MINU = "minu",
        MUL = "mul",
        OR = "or",
        REMS = "rems",
        REMU = "remu",
        SHL = "shl",
        SHRS = "shrs",
        SHRU = "shru",
        SUB = "sub",
        XOR = "xor",
    }
    linalg "linalg" {
    }
    llvm "llvm" {
        ADD = "add",
        ADDRSPACECAST = "addrspacecast",
        AND = "and",
        ASHR = "ashr",
        BITCAST = "bitcast",
        CALL = "call",
        CALL_INTRINSIC = "call_intrinsic",
        EXTRACTVALUE = "extractvalue",
        FADD = "fadd",
        FCMP = "fcmp",
        FDIV = "fdiv",
        FMUL = "fmul",
        FNEG = "fneg",
        FPEXT = "fpext",
        FPTOSI = "fptosi",
        FPTOUI = "fptoui",
        FPTRUNC = "fptrunc",
        FREM = "frem",
        FSUB = "fsub",
        GETELEMENTPTR = "getelementptr",
        ICMP = "icmp",
        INLINE_ASM = "inline_asm",
        INTR_CEIL = "intr.ceil",
        INTR_FABS = "intr.fabs",
        INTR_FLOOR = "intr.floor",
        INTR_FMA = "intr.fma",
        INTR_MAXIMUM = "intr.maximum",
        INTR_MAXNUM = "intr.maxnum",
        INTR_MINIMUM = "intr.minimum",
        INTR_MINNUM = "intr.minnum",
        INTR_RINT = "intr.rint",
        INTR_SMAX = "intr.smax",
        INTR_SMIN = "intr.smin",
        INTR_SQRT = "intr.sqrt",
        INTR_TRUNC = "intr.trunc",
        INTR_UMAX = "intr.umax",
        INTR_UMIN = "intr.umin",
        INTTOPTR = "inttoptr",
        LOAD = "load",
        LSHR = "lshr",
        MLIR_CONSTANT = "mlir.constant",
        MLIR_GLOBAL = "mlir.global",
        MLIR_POISON = "mlir.poison",
        MLIR_UNDEF = "mlir.undef",
        MUL = "mul",
        OR = "or",
        PTRTOINT = "ptrtoint",
        SDIV = "sdiv",
        SELECT = "select",
        SEXT = "sext",
        SHL = "shl",
        SITOFP = "sitofp",
        SREM = "srem",
        STORE = "store",
        SUB = "sub",
        TRUNC = "trunc",
        UDIV = "udiv",
        UITOFP = "uitofp",
        UREM = "urem",
        XOR = "xor",
        ZEXT = "zext",
    }
    math "math" {
        ABSF = "absf",
        ABSI = "absi",
        ACOS = "acos",
        ACOSH = "acosh",
        ASIN = "asin",
        ASINH = "asinh",
        ATAN = "atan",
        ATAN2 = "atan2",
        ATANH = "atanh",
        CBRT = "cbrt",
        CEIL = "ceil",
        CLAMPF = "clampf",
        COPYSIGN = "copysign",
        COS = "cos",
        COSH = "cosh",
        CTLZ = "ctlz",
        CTPOP = "ctpop",
        CTTZ = "cttz",
        ERF = "erf",
        ERFC = "erfc",
        EXP = "exp",
        EXP2 = "exp2",
        EXPM1 = "expm1",
        FLOOR = "floor",
        FMA = "fma",
        FPOWI = "fpowi",
        IPOWI = "ipowi",
        ISFINITE = "isfinite",
        ISINF = "isinf",
        ISNAN = "isnan",
        ISNORMAL = "isnormal",
        LOG = "log",
        LOG10 = "log10",
        LOG1P = "log1p",
        LOG2 = "log2",
        POWF = "powf",
        ROUND = "round",
        ROUNDEVEN = "roundeven",
        RSQRT = "rsqrt",
        SIN = "sin",
        SINH = "sinh",
        SQRT = "sqrt",
        TAN = "tan",
        TANH = "tanh",
        TRUNC = "trunc",
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
        MBARRIER_TEST_WAIT = "mbarrier.test.wait",
        MBARRIER_TRY_WAIT_PARITY = "mbarrier.try_wait.parity",
        MMA_SYNC = "mma.sync",
        TMA_ASYNC_LOAD = "tma.async.load",
        TMA_ASYNC_STORE = "tma.async.store",
        TMA_CREATE_DESCRIPTOR = "tma.create.descriptor",
        TMA_FENCE_DESCRIPTOR = "tma.fence.descriptor",
        TMA_PREFETCH_DESCRIPTOR = "tma.prefetch.descriptor",
    }
    nvvm "nvvm" {
        BARRIER = "barrier",
        BARRIER0 = "barrier0",
        BAR_WARP_SYNC = "bar.warp.sync",
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
        READ_PTX_SREG_CTAID_X = "read.ptx.sreg.ctaid.x",
        READ_PTX_SREG_CTAID_Y = "read.ptx.sreg.ctaid.y",
        READ_PTX_SREG_CTAID_Z = "read.ptx.sreg.ctaid.z",
        READ_PTX_SREG_LANEID = "read.ptx.sreg.laneid",
        READ_PTX_SREG_NCTAID_X = "read.ptx.sreg.nctaid.x",
        READ_PTX_SREG_NCTAID_Y = "read.ptx.sreg.nctaid.y",
        READ_PTX_SREG_NCTAID_Z = "read.ptx.sreg.nctaid.z",
        READ_PTX_SREG_NTID_X = "read.ptx.sreg.ntid.x",
        READ_PTX_SREG_NTID_Y = "read.ptx.sreg.ntid.y",
        READ_PTX_SREG_NTID_Z = "read.ptx.sreg.ntid.z",
        READ_PTX_SREG_NWARPID = "read.ptx.sreg.nwarpid",
        READ_PTX_SREG_TID_X = "read.ptx.sreg.tid.x",
        READ_PTX_SREG_TID_Y = "read.ptx.sreg.tid.y",
        READ_PTX_SREG_TID_Z = "read.ptx.sreg.tid.z",
        READ_PTX_SREG_WARPID = "read.ptx.sreg.warpid",
        READ_PTX_SREG_WARPSIZE = "read.ptx.sreg.warpsize",
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
        PARALLEL = "parallel",
        WHILE = "while",
        YIELD = "yield",
    }
    ub "ub" {
        POISON = "poison",
    }
    vector "vector" {
        BITCAST = "bitcast",
        BROADCAST = "broadcast",
        EXTRACT = "extract",
        EXTRACT_STRIDED_SLICE = "extract_strided_slice",
        FMA = "fma",
        FROM_ELEMENTS = "from_elements",
        GATHER = "gather",
        INSERT = "insert",
        INSERT_STRIDED_SLICE = "insert_strided_slice",
        LOAD = "load",
        MASKEDLOAD = "maskedload",
        REDUCTION = "reduction",
        SHAPE_CAST = "shape_cast",
        SHUFFLE = "shuffle",
        STORE = "store",
        TRANSFER_READ = "transfer_read",
        TRANSFER_WRITE = "transfer_write",
        TRANSPOSE = "transpose",
    }
}

attributes! {
    /// Attributes.
    attr {
        ADDR_SPACE = "addr_space" of [llvm::MLIR_GLOBAL],
        ALIGNMENT = "alignment" of [llvm::MLIR_GLOBAL, memref::ALLOC, memref::ALLOCA, memref::ASSUME_ALIGNMENT, memref::GLOBAL],
        CALLEE = "callee" of [func::CALL, llvm::CALL],
        CASES = "cases" of [scf::INDEX_SWITCH],
        CASE_VALUES = "case_values" of [cf::SWITCH],
        CLUSTER_SIZE = "cluster_size" of [gpu::SUBGROUP_REDUCE],
        CLUSTER_STRIDE = "cluster_stride" of [gpu::SUBGROUP_REDUCE],
        DIMENSION = "dimension" of [gpu::BLOCK_DIM, gpu::BLOCK_ID, gpu::GLOBAL_ID, gpu::GRID_DIM, gpu::THREAD_ID],
        ELEM_TYPE = "elem_type" of [llvm::GETELEMENTPTR],
        FUNCTION_TYPE = "function_type" of [func::FUNC, gpu::FUNC],
        GLOBAL_TYPE = "global_type" of [llvm::MLIR_GLOBAL],
        GROUP = "group" of [nvvm::CP_ASYNC_BULK_WAIT_GROUP, nvvm::WGMMA_WAIT_GROUP_SYNC_ALIGNED],
        INDEX_PREDICATE = "pred" of [index::CMP],
        INITIAL_VALUE = "initial_value" of [memref::GLOBAL],
        IN_BOUNDS = "in_bounds" of [vector::TRANSFER_READ, vector::TRANSFER_WRITE],
        KIND = "kind" of [memref::ATOMIC_RMW, nvvm::FENCE_PROXY, vector::REDUCTION],
        KNOWN_BLOCK_SIZE = "known_block_size" of [gpu::FUNC],
        KNOWN_GRID_SIZE = "known_grid_size" of [gpu::FUNC],
        LINKAGE = "linkage" of [llvm::MLIR_GLOBAL],
        MAPPING = "mapping" of [scf::FORALL],
        MASK = "mask" of [vector::SHUFFLE],
        MMA_SHAPE = "mmaShape" of [nvgpu::MMA_SYNC],
        MODE = "mode" of [gpu::SHUFFLE],
        MSG = "msg" of [cf::ASSERT],
        N = "n" of [nvvm::CP_ASYNC_WAIT_GROUP],
        NAME = "name" of [memref::GET_GLOBAL],
        NUM_TILES = "numTiles" of [nvgpu::LDMATRIX],
        NVGPU_BYPASS_L1 = "bypassL1" of [nvgpu::DEVICE_ASYNC_COPY],
        NVGPU_ELEMENTS = "dstElements" of [nvgpu::DEVICE_ASYNC_COPY],
        NVGPU_NUM_GROUPS = "numGroups" of [nvgpu::DEVICE_ASYNC_WAIT],
        OFFSETS = "offsets" of [vector::EXTRACT_STRIDED_SLICE, vector::INSERT_STRIDED_SLICE],
        OP = "op" of [gpu::ALL_REDUCE, gpu::SUBGROUP_REDUCE],
        OPERAND_SEGMENT_SIZES = "operandSegmentSizes" of [memref::SUBVIEW, nvgpu::DEVICE_ASYNC_COPY, nvgpu::TMA_ASYNC_LOAD, nvgpu::TMA_ASYNC_STORE, nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA, nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL, vector::TRANSFER_READ, vector::TRANSFER_WRITE],
        PERMUTATION = "permutation" of [memref::TRANSPOSE, vector::TRANSPOSE],
        PERMUTATION_MAP = "permutation_map" of [vector::TRANSFER_READ, vector::TRANSFER_WRITE],
        POSITION = "position" of [llvm::EXTRACTVALUE],
        PREDICATE = "predicate" of [arith::CMPF, arith::CMPI, llvm::FCMP, llvm::ICMP],
        RAW_CONSTANT_INDICES = "rawConstantIndices" of [llvm::GETELEMENTPTR],
        READ = "read" of [nvvm::CP_ASYNC_BULK_WAIT_GROUP],
        REASSOCIATION = "reassociation" of [memref::COLLAPSE_SHAPE, memref::EXPAND_SHAPE],
        ROUNDING_MODE = "roundingmode" of [arith::TRUNCF],
        SIZE = "size" of [nvvm::CP_ASYNC_SHARED_GLOBAL],
        SPACE = "space" of [nvvm::FENCE_PROXY],
        STATIC_LOWER_BOUND = "staticLowerBound" of [scf::FORALL],
        STATIC_OFFSETS = "static_offsets" of [memref::REINTERPRET_CAST, memref::SUBVIEW],
        STATIC_OUTPUT_SHAPE = "static_output_shape" of [memref::EXPAND_SHAPE],
        STATIC_POSITION = "static_position" of [vector::EXTRACT, vector::INSERT],
        STATIC_SIZES = "static_sizes" of [memref::REINTERPRET_CAST, memref::SUBVIEW],
        STATIC_STEP = "staticStep" of [scf::FORALL],
        STATIC_STRIDES = "static_strides" of [memref::REINTERPRET_CAST, memref::SUBVIEW],
        STATIC_UPPER_BOUND = "staticUpperBound" of [scf::FORALL],
        SYM_NAME = "sym_name" of [func::FUNC, memref::GLOBAL],
        SYM_VISIBILITY = "sym_visibility" of [memref::GLOBAL],
        TRANSPOSE = "transpose" of [nvgpu::LDMATRIX],
        TYPE = "type" of [memref::GLOBAL],
        UNSIGNED_CMP = "unsignedCmp" of [scf::FOR],
        VALUE = "value" of [arith::CONSTANT, index::BOOL_CONSTANT, index::CONSTANT, llvm::MLIR_CONSTANT],
        WORKGROUP_ATTRIB_ATTRS = "workgroup_attrib_attrs" of [gpu::FUNC],
    }
    discardable {
        /// On a barrier: the memory that it orders accesses of, in versions of MLIR that have that.
        ADDRESS_SPACES = "address_spaces",
        GPU_KERNEL = "gpu.kernel",
        GPU_KNOWN_BLOCK_SIZE = "gpu.known_block_size",
        GPU_KNOWN_GRID_SIZE = "gpu.known_grid_size",
        /// On a kernel, where its dialect is not known.
        KERNEL = "kernel",
        LLVM_ALIGN = "llvm.align",
        NVVM_KERNEL = "nvvm.kernel",
        /// On a `gpu.func`: how many buffers of the workgroup it declares.
        WORKGROUP_ATTRIBUTIONS = "workgroup_attributions",
    }
}
