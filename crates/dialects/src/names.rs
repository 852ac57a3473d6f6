//! The names of our operations and attributes, each written once.
//!
//! What upstream's dialects have is in [`async_mlir::names`], also the names of attributes that ours share with them.

use async_mlir::names::{attributes, operations};

operations! {
    async_ "async" {
        AWAIT = "await",
        CALL = "call",
        FUNC = "func",
        JOIN = "join",
        READY = "ready",
        REGION = "region",
        YIELD = "yield",
    }
    gpux "gpux" {
        ALLOC = "alloc",
        ASYNC_LAUNCH = "async_launch",
        BULK_LOAD = "bulk_load",
        BULK_STORE = "bulk_store",
        COMMIT_GROUP = "commit_group",
        COPY = "copy",
        DEALLOC = "dealloc",
        ELECT = "elect",
        HOST_ALLOC = "host_alloc",
        MEMSET = "memset",
        READ_FRAGMENT = "read_fragment",
        SET_FLAG = "set_flag",
        TMA_LOAD = "tma_load",
        TMA_STORE = "tma_store",
        TRANSFER = "transfer",
        WAIT_FLAG = "wait_flag",
        WAIT_GROUP = "wait_group",
        WGMMA = "wgmma",
        WRITE_FRAGMENT = "write_fragment",
    }
    transform "transform" {
        ASYNC_PIPELINE = "async.pipeline",
    }
}

/// Operations of upstream's dialect `async` that ours lacks.
pub mod upstream_async {
    /// Adds a token or value to a group.
    pub const ADD_TO_GROUP: &str = "async.add_to_group";
    /// Waits for a group.
    pub const AWAIT_ALL: &str = "async.await_all";
    /// Makes a group.
    pub const CREATE_GROUP: &str = "async.create_group";
    /// Its regions.
    pub const EXECUTE: &str = "async.execute";
    /// How many threads run tasks.
    pub const NUM_WORKER_THREADS: &str = "async.runtime.num_worker_threads";
    /// What ends its functions.
    pub const RETURN: &str = "async.return";
    /// What ends regions.
    pub const YIELD: &str = "async.yield";
    /// What the names begin with of operations that all of these are lowered to.
    pub const LOW_LEVEL: [&str; 2] = ["async.coro.", "async.runtime."];
}

attributes! {
    /// Attributes of operations of `async` and `gpux`.
    gpux_attr {
        BYPASS_L1 = "bypass_l1" of [gpux::COPY],
        CALLEE = (async_mlir::names::attr::CALLEE) of [async_::CALL],
        DEVICE = "device" of [async_::REGION],
        ELEMENTS = "elements" of [gpux::COPY],
        FROM = "from" of [gpux::SET_FLAG, gpux::WAIT_FLAG],
        FUNCTION_TYPE = (async_mlir::names::attr::FUNCTION_TYPE) of [async_::FUNC],
        ID = "id" of [gpux::SET_FLAG, gpux::WAIT_FLAG],
        ISSUER = "issuer" of [gpux::BULK_LOAD, gpux::TMA_LOAD],
        KERNEL_SYMBOL = "kernel" of [gpux::ASYNC_LAUNCH],
        OPERAND_SEGMENT_SIZES = (async_mlir::names::attr::OPERAND_SEGMENT_SIZES) of [gpux::BULK_LOAD, gpux::COPY, gpux::TMA_LOAD, gpux::TMA_STORE],
        PENDING = "pending" of [gpux::WAIT_GROUP],
        QUEUE = "queue" of [gpux::COMMIT_GROUP, gpux::WAIT_GROUP],
        READ = (async_mlir::names::attr::READ) of [gpux::WAIT_GROUP],
        SYM_NAME = (async_mlir::names::attr::SYM_NAME) of [async_::FUNC],
        TO = "to" of [gpux::SET_FLAG, gpux::WAIT_FLAG],
        TRANSPOSE_A = "transpose_a" of [gpux::WGMMA],
        TRANSPOSE_B = "transpose_b" of [gpux::WGMMA],
        WARP = "warp" of [gpux::ELECT],
    }
    discardable {
        /// On a loop: its pipeline goes on from one iteration of the loop around it to the next.
        ACROSS_ROUNDS = "async.across_rounds",
        /// On a loop: the stages whose transfers are asynchronous.
        ASYNC_STAGES = "async.async_stages",
        /// On a `gpu.module`: what its dynamic memory of the workgroup is aligned to.
        DYNAMIC_ALIGNMENT = "gpux.dynamic_alignment",
        /// On an operation: the engine that it runs on.
        ENGINE = "async.engine",
        /// On a `nvgpu.device_async_create_group` of no copies: with no attribute, what it prints is read as having an operand.
        EMPTY = "empty",
        /// On the kernel of a pipelined loop, while a transform script still has to find it.
        KERNEL = "async.kernel",
        /// On an operation: cycles until its results are there.
        LATENCY = "async.latency",
        /// On a loop: how many stages its body is to have.
        NUM_STAGES = "async.num_stages",
        /// On an operation: cycles until its engine takes the next one.
        OCCUPANCY = "async.occupancy",
        /// On an operation of a loop: its place among the others.
        ORDER = "async.order",
        /// On an operation: the numbers of the operands whose memory it reads.
        READS = "async.reads",
        /// On a `gpux.transfer`: how many results each list has. (MLIR does not list it among inherent attributes.)
        RESULT_SEGMENT_SIZES = "resultSegmentSizes",
        /// On a function: the last value that it returns says whether something has failed.
        RETURNS_STATUS = "async.returns_status",
        /// On a kernel: its warps have roles, and loops that they share are to be split.
        ROLES = "gpux.roles",
        /// On an operation of a loop: its stage.
        STAGE = "async.stage",
        /// On an operation: the numbers of the operands whose memory it writes.
        WRITES = "async.writes",
    }
}
