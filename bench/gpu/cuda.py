"""The CUDA driver and cuBLAS, through ctypes."""

import ctypes
import ctypes.util
import glob
import os
import re
import sys


class NoGpu(Exception):
    """There is nothing here to run on."""


class Failure(Exception):
    """The run can't go on; the message says why."""


Handle, DevicePtr, Int, Float = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_float
Unsigned, Size, Pointer = ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p

DRIVER_CALLS = {
    "cuInit": (Unsigned,),
    "cuDriverGetVersion": (Pointer,),
    "cuDeviceGetCount": (Pointer,),
    "cuDeviceGet": (Pointer, Int),
    "cuDeviceGetName": (Pointer, Int, Int),
    "cuDeviceGetAttribute": (Pointer, Int, Int),
    "cuDevicePrimaryCtxRetain": (Pointer, Int),
    "cuCtxSetCurrent": (Handle,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (Pointer, Pointer, Unsigned, Pointer, Pointer),
    "cuModuleGetFunction": (Pointer, Handle, ctypes.c_char_p),
    "cuFuncGetAttribute": (Pointer, Int, Handle),
    "cuFuncSetAttribute": (Handle, Int, Int),
    "cuMemAlloc_v2": (Pointer, Size),
    "cuMemFree_v2": (DevicePtr,),
    "cuMemsetD8_v2": (DevicePtr, ctypes.c_ubyte, Size),
    "cuMemcpyHtoD_v2": (DevicePtr, Pointer, Size),
    "cuMemcpyDtoH_v2": (Pointer, DevicePtr, Size),
    "cuMemcpyDtoDAsync_v2": (DevicePtr, DevicePtr, Size, Handle),
    "cuTensorMapEncodeTiled": (Pointer, Int, Unsigned) + (Pointer,) * 5 + (Int,) * 4,
    "cuLaunchKernel": (Handle,) + (Unsigned,) * 7 + (Handle, Pointer, Pointer),
    "cuEventCreate": (Pointer, Unsigned),
    "cuEventRecord": (Handle, Handle),
    "cuEventSynchronize": (Handle,),
    "cuEventElapsedTime": (Pointer, Handle, Handle),
}
ATTRIBUTE_MULTIPROCESSORS, ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR = 16, 75, 76
FUNCTION_LOCAL_BYTES, FUNCTION_REGISTERS, FUNCTION_MAX_DYNAMIC_SHARED = 3, 4, 8
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6


class Cuda:
    """The first GPU, through the driver's own interface; every call is checked."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NoGpu("the CUDA driver (libcuda.so.1) is not installed") from error
        self.functions = {}
        for name, arguments in DRIVER_CALLS.items():
            function = getattr(self.driver, name)
            function.argtypes, function.restype = arguments, Int
            self.functions[name] = function
        if status := self.functions["cuInit"](0):
            raise NoGpu(f"the CUDA driver does not start ({self.error(status)})")
        if self.get(Int, "cuDeviceGetCount") == 0:
            raise NoGpu("the CUDA driver sees none")
        device = self.get(Int, "cuDeviceGet", 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), device)
        self.name = name.value.decode()
        attribute = lambda which: self.get(Int, "cuDeviceGetAttribute", which, device)
        self.capability = attribute(ATTRIBUTE_MAJOR), attribute(ATTRIBUTE_MINOR)
        if self.capability < (8, 0):
            raise NoGpu(f"{self.name} is of capability {self.capability[0]}.{self.capability[1]}, older than 8.0")
        self.multiprocessors = attribute(ATTRIBUTE_MULTIPROCESSORS)
        version = self.get(Int, "cuDriverGetVersion")
        self.version = f"{version // 1000}.{version % 1000 // 10}"
        self.call("cuCtxSetCurrent", self.get(Handle, "cuDevicePrimaryCtxRetain", device))

    def error(self, status):
        text = ctypes.c_char_p()
        self.driver.cuGetErrorString(Int(status), ctypes.byref(text))
        return (text.value or b"unknown error").decode()

    def call(self, name, *arguments):
        if status := self.functions[name](*arguments):
            raise Failure(f"{name}: {self.error(status)} ({status})")

    def get(self, kind, name, *arguments):
        """Calls a function that returns its result through its first argument."""
        result = kind()
        self.call(name, ctypes.byref(result), *arguments)
        return result.value

    def synchronize(self):
        self.call("cuCtxSynchronize")


class Buffer:
    """Device memory; freed at the end of its `with` block."""

    def __init__(self, cuda, size):
        self.cuda, self.size = cuda, size
        self.address = cuda.get(DevicePtr, "cuMemAlloc_v2", size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cuda.call("cuMemFree_v2", self.address)

    def write(self, data):
        source = (ctypes.c_char * len(data)).from_buffer(bytearray(data))
        self.cuda.call("cuMemcpyHtoD_v2", self.address, source, len(data))

    def poison(self):
        """Fills the buffer with 0xff: not-a-number in fp16 and fp32, so that what is never written shows."""
        self.cuda.call("cuMemsetD8_v2", self.address, 0xFF, self.size)

    def read(self):
        data = bytearray(self.size)
        self.cuda.call("cuMemcpyDtoH_v2", (ctypes.c_char * self.size).from_buffer(data), self.address, self.size)
        return bytes(data)


def entry_point(ptx):
    match = re.search(r"\.entry\s+(\w+)", ptx)
    if not match:
        raise Failure("no kernel in the PTX (no `.entry`)")
    return match.group(1)


class TensorMap:
    """What the tensor memory accelerator knows of a row-major matrix, in device memory: kernels take a pointer to it.

    The host copies it there, and the kernels fence it: README.md says why. Freed at the end of its `with` block.
    """

    BYTES, ALIGNMENT = 128, 64
    F16, F32 = 6, 7  # of CUtensorMapDataType
    SWIZZLE = {None: 0, 32: 1, 64: 2, 128: 3}  # bytes -> CUtensorMapSwizzle
    L2_PROMOTION = {None: 0, 64: 1, 128: 2, 256: 3}  # bytes -> CUtensorMapL2promotion

    def __init__(self, cuda, buffer, kind, rows, columns, box, swizzle=None, promotion=None):
        size = {self.F16: 2, self.F32: 4}[kind]
        room = ctypes.create_string_buffer(self.BYTES + self.ALIGNMENT)
        start = -ctypes.addressof(room) % self.ALIGNMENT
        # Innermost dimension first; the innermost stride is that of the elements.
        sizes, strides = (ctypes.c_uint64 * 2)(columns, rows), (ctypes.c_uint64 * 1)(columns * size)
        boxes, steps = (ctypes.c_uint32 * 2)(box[1], box[0]), (ctypes.c_uint32 * 2)(1, 1)
        cuda.call("cuTensorMapEncodeTiled", ctypes.addressof(room) + start, kind, 2, buffer.address, sizes, strides,
                  boxes, steps, 0, self.SWIZZLE[swizzle], self.L2_PROMOTION[promotion], 0)
        self.buffer = Buffer(cuda, self.BYTES)
        self.buffer.write(room.raw[start:start + self.BYTES])
        self.address = self.buffer.address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.buffer.__exit__()


class Kernel:
    """A kernel that the driver has compiled from PTX."""

    def __init__(self, cuda, ptx, label, shared=0):
        self.cuda, self.label, self.shared, self.name = cuda, label, shared, entry_point(ptx)
        head = re.search(r"\.entry\s+\w+\s*\((.*?)\)", ptx, re.S).group(1)
        kinds = {"f32": Float, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64, "b64": ctypes.c_uint64}
        self.parameters = [kinds[kind] for kind in re.findall(r"\.param\s+\.(\w+)", head)]
        # `known_block_size` of the kernel.
        self.block = int(re.search(r"\.maxntid\s+(\d+), 1, 1", ptx).group(1))
        log = ctypes.create_string_buffer(8192)
        options = (Int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (Pointer * 2)(ctypes.addressof(log), len(log))
        try:
            module = cuda.get(Handle, "cuModuleLoadDataEx", ctypes.c_char_p(ptx.encode()), 2, options, values)
        except Failure as failure:
            raise Failure(f"the driver refuses the PTX of {self.name}: {failure}\n{log.value.decode()}") from failure
        self.function = cuda.get(Handle, "cuModuleGetFunction", module, self.name.encode())
        if shared:
            cuda.call("cuFuncSetAttribute", self.function, FUNCTION_MAX_DYNAMIC_SHARED, shared)
        self.registers = cuda.get(Int, "cuFuncGetAttribute", FUNCTION_REGISTERS, self.function)
        self.local_bytes = cuda.get(Int, "cuFuncGetAttribute", FUNCTION_LOCAL_BYTES, self.function)

    def bind(self, grid, arguments):
        """Returns a function that launches the kernel once on `arguments`."""
        if len(arguments) != len(self.parameters):
            raise Failure(f"{self.name} has {len(self.parameters)} parameters where {len(arguments)} were expected")
        values = [kind(value) for kind, value in zip(self.parameters, arguments)]
        pointers = (Pointer * len(values))(*(ctypes.addressof(value) for value in values))

        def launch(values=values):  # holds on to what `pointers` points to
            self.cuda.call("cuLaunchKernel", self.function, *grid, self.block, 1, 1, self.shared, None, pointers, None)

        return launch


def memref(address, *sizes):
    """A memref descriptor as kernel arguments: base, aligned base, offset, sizes, strides (row-major)."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return [address, address, 0, *sizes, *strides]


class CuBlas:
    """The library's GEMM on the same buffers: fp16 in, fp16 or fp32 out, fp32 accumulation."""

    R_16F, COMPUTE_32F, DEFAULT_ALGORITHM = 2, 68, -1
    TYPES = {"e": R_16F, "f": 0}  # `struct`'s kinds -> cudaDataType
    DISALLOW_REDUCED_PRECISION_REDUCTION = 16

    def __init__(self, library):
        self.library = library
        library.cublasGemmEx.argtypes = (
            (Handle,) + (Int,) * 5 + (Pointer,) + (Pointer, Int, Int) * 2 + (Pointer,) + (Pointer, Int, Int) + (Int, Int))
        self.handle = Handle()
        self.call("cublasCreate_v2", ctypes.byref(self.handle))
        version = Int()
        self.call("cublasGetVersion_v2", self.handle, ctypes.byref(version))
        self.label = f"cuBLAS {version.value // 10000}.{version.value // 100 % 100}.{version.value % 100}"
        self.call("cublasSetMathMode", self.handle, self.DISALLOW_REDUCED_PRECISION_REDUCTION)

    @classmethod
    def find(cls):
        """The first cuBLAS that loads, or None: the loader's, a toolkit's, or the one of a Python package."""
        folders = [f"{root}/lib64" for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if root]
        names = [ctypes.util.find_library("cublas"), "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"]
        for path in filter(None, sys.path):
            folders += [f"{path}/nvidia/*/lib", f"{path}/torch/lib"]
        for folder in folders:
            names += sorted(glob.glob(f"{folder}/libcublas.so*"), reverse=True)
        for name in filter(None, names):
            try:
                if os.path.isabs(name):  # what it depends on lies beside it, where the loader may not look
                    for companion in glob.glob(f"{os.path.dirname(name)}/libcublasLt.so*"):
                        ctypes.CDLL(companion, mode=ctypes.RTLD_GLOBAL)
                return cls(ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL))
            except (OSError, Failure):  # not here, or not for this driver: the next one
                continue
        return None

    def call(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise Failure(f"{name}: cuBLAS status {status}")

    def bind(self, a, b, c, m, n, k, kind, b_by_columns=False):
        # cuBLAS is column-major: it sees the transposes, and C^T = B^T * A^T needs no transposition, unless B is column-major, too.
        one, zero = Float(1), Float(0)

        def launch():
            self.call("cublasGemmEx", self.handle, int(b_by_columns), 0, n, m, k, ctypes.addressof(one),
                      b.address, self.R_16F, k if b_by_columns else n, a.address, self.R_16F, k, ctypes.addressof(zero),
                      c.address, self.TYPES[kind], n, self.COMPUTE_32F, self.DEFAULT_ALGORITHM)

        return launch
