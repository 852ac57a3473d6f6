#!/usr/bin/env python3
"""Runs the kernels of examples/ on a GPU, checks what they compute, and measures what their exact waits are worth.

Every kernel runs twice: as async-opt lowers it, and with every `cp.async.wait_group` of its PTX set to 0. The GEMM runs
beside the library's (cuBLAS), the copy kernels beside the driver's device-to-device copy. README.md says how to run it.

Needs Python 3.9 and nothing else: the CUDA driver and cuBLAS are called through ctypes.

Exit status: 0 when every result is right, and also (with a message) where there is no GPU; 1 otherwise.
"""

import argparse
import array
import ctypes
import ctypes.util
import datetime
import glob
import operator
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLES = ("gemm_sm80", "double_buffered_copy", "predicated_copy")
GEMM, SCALE, SCALE_RAGGED = "gemm_f16_sm80", "scale", "scale_ragged"  # the kernels' entry points
BLOCK = 128  # threads of a block, in each of the kernels
NOT_MEASURED = "Not yet measured."


class NoGpu(Exception):
    """There is nothing here to run on."""


class Failure(Exception):
    """The run can't go on; the message says why."""


# ---------------------------------------------------------------------------------------------------------------------
# From .mlir to PTX
# ---------------------------------------------------------------------------------------------------------------------


def tool(name):
    """The command line that runs one of our tools: $ASYNC_OPT or the like, else the one that cargo builds."""
    path = os.environ.get(name.upper().replace("-", "_")) or (None if shutil.which("cargo") else shutil.which(name))
    return [path] if path else ["cargo", "run", "--release", "-q", "-p", name, "--"]


def run_tool(command, text=None):
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
    except OSError as error:
        raise Failure(f"can't run {command[0]}: {error}") from error
    if done.returncode:
        raise Failure(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout


def lower(example):
    source = ROOT / "examples" / f"{example}.mlir"
    binary = run_tool(tool("async-opt") + [str(source), "--gpux-lower-to-nvvm=chip=sm_80 format=isa"])
    return run_tool(tool("async-translate") + ["--ptx"], binary)


def waits(ptx):
    return [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx)]


def with_every_wait_0(ptx):
    return re.sub(r"(cp\.async\.wait_group\s+)\d+", r"\g<1>0", ptx)


def entry_point(ptx):
    match = re.search(r"\.entry\s+(\w+)", ptx)
    if not match:
        raise Failure("no kernel in the PTX (no `.entry`)")
    return match.group(1)


# ---------------------------------------------------------------------------------------------------------------------
# The CUDA driver and cuBLAS
# ---------------------------------------------------------------------------------------------------------------------

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


class Kernel:
    """A kernel that the driver has compiled from PTX."""

    def __init__(self, cuda, ptx, label, shared=0):
        self.cuda, self.label, self.shared, self.name = cuda, label, shared, entry_point(ptx)
        head = re.search(r"\.entry\s+\w+\s*\((.*?)\)", ptx, re.S).group(1)
        kinds = {"f32": Float, "u64": ctypes.c_uint64, "b64": ctypes.c_uint64}
        self.parameters = [kinds[kind] for kind in re.findall(r"\.param\s+\.(\w+)", head)]
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
            self.cuda.call("cuLaunchKernel", self.function, *grid, BLOCK, 1, 1, self.shared, None, pointers, None)

        return launch


def memref(address, *sizes):
    """A memref descriptor as kernel arguments: base, aligned base, offset, sizes, strides (row-major)."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return [address, address, 0, *sizes, *strides]


class CuBlas:
    """The library's GEMM on the same buffers: fp16 in and out, fp32 accumulation."""

    R_16F, COMPUTE_32F, DEFAULT_ALGORITHM = 2, 68, -1
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

    def bind(self, a, b, c, m, n, k):
        # cuBLAS is column-major: it sees the transposes, and C^T = B^T * A^T needs no transposition.
        one, zero = Float(1), Float(0)

        def launch():
            self.call("cublasGemmEx", self.handle, 0, 0, n, m, k, ctypes.addressof(one),
                      b.address, self.R_16F, n, a.address, self.R_16F, k, ctypes.addressof(zero),
                      c.address, self.R_16F, n, self.COMPUTE_32F, self.DEFAULT_ALGORITHM)

        return launch


# ---------------------------------------------------------------------------------------------------------------------
# Data, and what the results must be
# ---------------------------------------------------------------------------------------------------------------------

SMALL = {0x0000: 0, 0x3C00: 1, 0xBC00: -1, 0x4000: 2, 0xC000: -2}  # fp16 bits -> value


def small_integers(count, seed):
    """fp16 values from -2 to 2: every sum that a GEMM makes of them is exact, in any order, and so is its fp16."""
    high = bytes(list(SMALL)[byte % len(SMALL)] >> 8 for byte in range(256))
    data = bytearray(2 * count)
    data[1::2] = random.Random(seed).randbytes(count).translate(high)
    return bytes(data)


def random_values(count, seed):
    """fp16 values of both signs from 0.5 to 1 with random mantissas: idle bits would save power, and so gain clock."""
    high = bytes((byte & 0x83) | 0x38 for byte in range(256))
    rng = random.Random(seed)
    data = bytearray(2 * count)
    data[0::2], data[1::2] = rng.randbytes(count), rng.randbytes(count).translate(high)
    return bytes(data)


def dot_products(a, b, n, k, positions):
    """Yields the exact elements of A*B at `positions`, for matrices of small integers."""
    a, b = memoryview(a).cast("H"), memoryview(b).cast("H")
    rows, columns = {}, {}
    for i, j in positions:
        if i not in rows:
            rows[i] = [SMALL[x] for x in a[i * k:(i + 1) * k]]
        if j not in columns:
            columns[j] = [SMALL[x] for x in b[j::n]]
        yield sum(map(operator.mul, rows[i], columns[j]))


def first_difference(got, expected):
    """Compares fp16 data by value (so -0 is 0); returns None or where they first differ and in how many elements."""
    if got == expected:
        return None
    form = f"<{len(got) // 2}e"
    pairs = enumerate(zip(struct.unpack(form, got), struct.unpack(form, expected)))
    bad = [(at, x, y) for at, (x, y) in pairs if x != y]
    return (*bad[0], len(bad)) if bad else None


def divisor_up_to(number, limit):
    return max(d for d in range(1, limit + 1) if number % d == 0)


class GemmProblem:
    """A, B and C of one size on the device."""

    def __init__(self, cuda, m, n, k):
        if m % 128 or n % 128 or k % 32 or k < 96 or min(m, n) < 128:
            raise Failure(f"size {m}x{n}x{k}: M and N are multiples of 128, K is one of 32 and at least 96")
        self.cuda, self.m, self.n, self.k = cuda, m, n, k
        band = divisor_up_to(m // 128, 8)
        self.grid = band, n // 128, m // 128 // band

    def __enter__(self):
        self.a, self.b = Buffer(self.cuda, 2 * self.m * self.k), Buffer(self.cuda, 2 * self.k * self.n)
        self.c = Buffer(self.cuda, 2 * self.m * self.n)
        return self

    def __exit__(self, *_):
        for buffer in (self.a, self.b, self.c):
            buffer.__exit__()

    def fill(self, values):
        a, b = values(self.m * self.k, seed=1), values(self.k * self.n, seed=2)
        self.a.write(a)
        self.b.write(b)
        return a, b

    def bind(self, kernel):
        arguments = (memref(self.a.address, self.m, self.k) + memref(self.b.address, self.k, self.n)
                     + memref(self.c.address, self.m, self.n))
        return kernel.bind(self.grid, arguments)

    def bind_library(self, library):
        return library.bind(self.a, self.b, self.c, self.m, self.n, self.k)

    def result(self, launch):
        self.c.poison()
        launch()
        self.cuda.synchronize()
        return self.c.read()


def check_gemm(cuda, kernels, library, m, n, k, full):
    """Compares the kernels with the library, and all of them with the CPU: every element, or a sample of them."""
    with GemmProblem(cuda, m, n, k) as problem:
        a, b = problem.fill(small_integers)
        rng = random.Random(3)
        positions = [(i, j) for i in range(m) for j in range(n)] if full else (
            [(0, 0), (m - 1, n - 1)] + [(rng.randrange(m), rng.randrange(n)) for _ in range(300)])
        expected = dict(zip(positions, dot_products(a, b, n, k, positions)))
        results = {kernel.label: problem.result(problem.bind(kernel)) for kernel in kernels}
        if library:
            results[library.label] = problem.result(problem.bind_library(library))
        for label, data in results.items():
            for (i, j), value in expected.items():
                got, = struct.unpack_from("<e", data, 2 * (i * n + j))
                if got != value:
                    raise Failure(f"wrong result: GEMM {m}x{n}x{k}, {label}: C[{i}, {j}] is {got}, not {value}")
        reference = results[library.label] if library else results[kernels[0].label]
        for label, data in results.items():
            if difference := first_difference(data, reference):
                at, got, value, count = difference
                raise Failure(f"wrong result: GEMM {m}x{n}x{k}, {label}: {count} elements differ, the first is "
                              f"C[{at // n}, {at % n}], {got}, not {value}")
    how = "every element" if full else f"{len(positions)} elements"
    print(f"  right: GEMM {m}x{n}x{k}: {how} against the CPU" + (f", all against {library.label}" if library else ""))


ALPHA = 1.5
PATTERN = 4099  # floats; the copy kernels' data repeats after so many, which is no multiple of a tile


def scale_data(count):
    """Returns `count` floats and what `scale` makes of them; with 12 mantissa bits the product by 1.5 is exact."""
    rng = random.Random(4)
    source = array.array("f", (rng.randrange(-4095, 4096) / 64 for _ in range(PATTERN)))
    scaled = array.array("f", (ALPHA * x for x in source))
    repeat = lambda data: (data.tobytes() * (count // PATTERN + 1))[:4 * count]
    return repeat(source), repeat(scaled)


def bind_scale(kernel, source, target, count, blocks):
    return kernel.bind((blocks, 1, 1), memref(source.address, count) + memref(target.address, count) + [ALPHA])


def check_scale(cuda, kernel, count, blocks):
    data, expected = scale_data(count)
    guard = 4096  # bytes behind the end that must stay as they are
    with Buffer(cuda, len(data)) as source, Buffer(cuda, len(data) + guard) as target:
        source.write(data)
        target.poison()
        bind_scale(kernel, source, target, count, blocks)()
        cuda.synchronize()
        result = target.read()
    if result[:len(data)] != expected:
        at = next(i for i in range(0, len(data), 4) if result[i:i + 4] != expected[i:i + 4]) // 4
        raise Failure(f"wrong result: {kernel.name}, {kernel.label}: element {at} of {count} ({blocks} blocks)")
    if result[len(data):] != b"\xff" * guard:
        raise Failure(f"wrong result: {kernel.name}, {kernel.label}: stores behind the end of {count} elements")


# ---------------------------------------------------------------------------------------------------------------------
# Timing
# ---------------------------------------------------------------------------------------------------------------------


def measure(cuda, launches, samples):
    """Times each of `launches` (label -> function) in turn, round by round, so that a change of clock hits all alike.

    Returns label -> the samples in milliseconds for one launch.
    """
    start, end = (cuda.get(Handle, "cuEventCreate", 0) for _ in range(2))

    def elapsed(launch, repeat):
        cuda.call("cuEventRecord", start, None)
        for _ in range(repeat):
            launch()
        cuda.call("cuEventRecord", end, None)
        cuda.call("cuEventSynchronize", end)
        return cuda.get(Float, "cuEventElapsedTime", start, end) / repeat

    for launch in launches.values():
        elapsed(launch, 3)
    repeat = {label: max(1, min(1000, round(20 / max(elapsed(launch, 5), 1e-3)))) for label, launch in launches.items()}
    times = {label: [] for label in launches}
    for turn in range(samples + 1):
        for label, launch in launches.items():
            time = elapsed(launch, repeat[label])
            if turn:  # the first round warms up
                times[label].append(time)
    return times


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def time_rows(times, rate):
    """One row a label: median time, its spread, the rate that `rate` makes of it, the speed relative to the others."""
    median = {label: statistics.median(samples) for label, samples in times.items()}
    rows = []
    for label, samples in times.items():
        ratios = [f"{median[other] / median[label]:.2f}" for other in list(times)[1:]]
        spread = f"{min(samples):.4f}–{max(samples):.4f}"
        rows.append([label, f"{median[label]:.4f}", spread, f"{rate / median[label]:.1f}", *ratios])
    return rows


def measure_gemm(cuda, kernels, library, m, n, k, samples):
    with GemmProblem(cuda, m, n, k) as problem:
        problem.fill(random_values)
        launches = {kernel.label: problem.bind(kernel) for kernel in kernels}
        if library:
            launches[library.label] = problem.bind_library(library)
        times = measure(cuda, launches, samples)
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    header = [f"GEMM {m}×{n}×{k}", "ms", "min–max", "TFLOP/s", *others]
    return table(header, time_rows(times, 2 * m * n * k / 1e9))


def measure_scale(cuda, kernels, count, blocks, samples):
    with Buffer(cuda, 4 * count) as source, Buffer(cuda, 4 * count) as target:
        source.write(scale_data(count)[0])
        launches = {kernel.label: bind_scale(kernel, source, target, count, blocks) for kernel in kernels}
        copy = (target.address, source.address, 4 * count, None)
        launches["driver's copy"] = lambda: cuda.call("cuMemcpyDtoDAsync_v2", *copy)
        times = measure(cuda, launches, samples)
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    header = [f"`{kernels[0].name}`, {count} floats, {blocks} blocks", "ms", "min–max", "GB/s", *others]
    return table(header, time_rows(times, 8 * count / 1e6))


# ---------------------------------------------------------------------------------------------------------------------
# The run
# ---------------------------------------------------------------------------------------------------------------------


def load(cuda, ptx):
    """The kernel as it was lowered, and with every wait 0."""
    shared = 65536 if entry_point(ptx) == GEMM else 0
    exact = "waits " + ", ".join(map(str, waits(ptx)))
    kernels = [Kernel(cuda, ptx, exact, shared), Kernel(cuda, with_every_wait_0(ptx), "every wait 0", shared)]
    print(f"{kernels[0].name}: {exact}; {kernels[0].registers} registers, {kernels[0].local_bytes} bytes spilled")
    return kernels


def run_gemm(cuda, kernels, options):
    library = CuBlas.find()
    if not library:
        print("  no cuBLAS found: checked against the CPU only, no library time")
    check_gemm(cuda, kernels, library, 128, 128, 96, full=True)
    check_gemm(cuda, kernels, library, 256, 384, 160, full=True)
    tables = []
    for m, n, k in options.size:
        check_gemm(cuda, kernels, library, m, n, k, full=False)
        if not options.check_only:
            tables.append(measure_gemm(cuda, kernels, library, m, n, k, options.samples))
    return tables


def run_scale(cuda, kernels, options):
    ragged = kernels[0].name == SCALE_RAGGED
    sizes = [(512, 1), (1024, 1), (512 * 7, 2), (512 * 3, 3), (512 * 4001, 4 * cuda.multiprocessors)]
    if ragged:
        sizes += [(4, 1), (508, 3), (512 * 6 + 260, 2), (512 * 4001 + 4, 4 * cuda.multiprocessors)]
    for kernel in kernels:
        for count, blocks in sizes:
            check_scale(cuda, kernel, count, blocks)
    print(f"  right: {kernels[0].name}: every element of {len(sizes)} sizes")
    if options.check_only:
        return []
    count = (1 << 26) - (1204 if ragged else 0)
    return [measure_scale(cuda, kernels, count, blocks * cuda.multiprocessors, options.samples) for blocks in (2, 8)]


RUNS = {GEMM: run_gemm, SCALE: run_scale, SCALE_RAGGED: run_scale}


def record(cuda, tables):
    path = HERE / "RESULTS.md"
    kept = path.read_text().replace(NOT_MEASURED + "\n", "")
    title = f"## {cuda.name}, driver for CUDA {cuda.version}, {datetime.date.today()}"
    path.write_text(kept.rstrip() + "\n\n" + "\n\n".join([title, *tables]) + "\n")
    print(f"\nrecorded in {path.relative_to(ROOT)}")


def matrix_size(text):
    match = re.fullmatch(r"(\d+)(?:x(\d+)x(\d+))?", text)
    if not match:
        raise argparse.ArgumentTypeError("write MxNxK, or one number for all three")
    m, n, k = match.groups()
    return int(m), int(n or m), int(k or m)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ptx", action="append", type=pathlib.Path, metavar="FILE",
                        help="run the kernel of this PTX file instead of lowering examples/ (may be repeated)")
    parser.add_argument("--emit", type=pathlib.Path, metavar="DIR",
                        help="only write the PTX of examples/ there (needs no GPU)")
    parser.add_argument("--size", action="append", type=matrix_size, metavar="MxNxK",
                        help="a GEMM size, may be repeated (default: 4096 and 8192)")
    parser.add_argument("--samples", type=int, default=20, help="timed rounds (default: 20)")
    parser.add_argument("--check-only", action="store_true", help="check the results, time nothing")
    parser.add_argument("--record", action="store_true", help="append the tables to RESULTS.md")
    options = parser.parse_args()
    options.size = options.size or [(4096,) * 3, (8192,) * 3]
    return options


def main():
    options = parse_options()
    if options.emit:
        options.emit.mkdir(parents=True, exist_ok=True)
        for example in EXAMPLES:
            path = options.emit / f"{example}.ptx"
            path.write_text(lower(example))
            print(f"{path}: waits {', '.join(map(str, waits(path.read_text())))}")
        return
    cuda = Cuda()
    print(f"{cuda.name}, sm_{cuda.capability[0]}{cuda.capability[1]}, {cuda.multiprocessors} multiprocessors, "
          f"driver for CUDA {cuda.version}")
    texts = [path.read_text() for path in options.ptx] if options.ptx else [lower(example) for example in EXAMPLES]
    tables = []
    for ptx in texts:
        run = RUNS.get(entry_point(ptx))
        if not run:
            raise Failure(f"kernel `{entry_point(ptx)}` is none of {', '.join(RUNS)}")
        tables += run(cuda, load(cuda, ptx), options)
    for text in tables:
        print("\n" + text)
    if options.record and tables:
        record(cuda, tables)


if __name__ == "__main__":
    try:
        main()
    except NoGpu as reason:
        print(f"no GPU found: {reason}. Nothing was run.")
    except (Failure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
