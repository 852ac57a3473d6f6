"""Attention on the tensor cores of sm_90, `attention_wgmma.mlir`: what it must compute, and how fast it is."""

import math
import operator
import random
import struct

from cuda import Buffer, Failure, TensorMap, memref
from gemm import random_values
from timing import measure, table, time_rows

ATTENTION = "attention"  # the kernel's entry point
HEAD = 64  # numbers of a query, a key or a value
TILE = 64  # queries of a block, and keys that are loaded at a time
CHECKED = [(64, 64), (128, 192), (192, 512)]
# The kernel multiplies values by probabilities in fp16, and the sum of these is 1.
TOLERANCE = 4e-3


class AttentionProblem:
    """Q, K, V and the output of one size on the device."""

    def __init__(self, cuda, queries, keys):
        if queries % TILE or keys % TILE or min(queries, keys) < TILE:
            raise Failure(f"{queries} queries, {keys} keys: both are multiples of {TILE}")
        self.cuda, self.queries, self.keys = cuda, queries, keys
        self.what = f"{queries} queries, {keys} keys"

    def __enter__(self):
        rows = self.queries, self.keys, self.keys
        self.inputs = [Buffer(self.cuda, 2 * HEAD * count) for count in rows]
        self.out = Buffer(self.cuda, 4 * HEAD * self.queries)
        self.maps = [TensorMap(self.cuda, buffer, TensorMap.F16, count, HEAD, (TILE, HEAD), swizzle=128, promotion=128)
                     for buffer, count in zip(self.inputs, rows)]
        return self

    def __exit__(self, *_):
        for buffer in (*self.inputs, self.out, *self.maps):
            buffer.__exit__()

    def fill(self, values):
        data = [values(HEAD * count, seed) for seed, count in enumerate((self.queries, self.keys, self.keys))]
        for buffer, of_it in zip(self.inputs, data):
            buffer.write(of_it)
        return data

    def bind(self, kernel):
        arguments = [tensor.address for tensor in self.maps] + memref(self.out.address, self.queries, HEAD) + [self.keys]
        return kernel.bind((self.queries // TILE, 1, 1), arguments)


def halves_around_0(count, seed):
    """fp16 values from -1 to 1."""
    rng = random.Random(seed)
    return struct.pack(f"<{count}e", *(rng.uniform(-1, 1) for _ in range(count)))


def expected(q, k, v, query):
    """The exact output of a query."""
    def row(data, number):
        return struct.unpack_from(f"<{HEAD}e", data, 2 * HEAD * number)

    keys, asked = range(len(k) // (2 * HEAD)), row(q, query)
    scores = [sum(a * b for a, b in zip(asked, row(k, j))) / math.sqrt(HEAD) for j in keys]
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    total = sum(weights)
    values = [row(v, j) for j in keys]
    return [sum(map(operator.mul, weights, column)) / total for column in zip(*values)]


def check(cuda, kernels, queries, keys):
    with AttentionProblem(cuda, queries, keys) as problem:
        q, k, v = problem.fill(halves_around_0)
        for kernel in kernels:
            problem.out.poison()
            problem.bind(kernel)()
            cuda.synchronize()
            got = problem.out.read()
            for query in range(0, queries, 7):
                row = struct.unpack_from(f"<{HEAD}f", got, 4 * HEAD * query)
                for at, (x, y) in enumerate(zip(row, expected(q, k, v, query))):
                    if not abs(x - y) <= TOLERANCE:
                        raise Failure(f"wrong result: {kernel.name}, {kernel.label}, {problem.what}: "
                                      f"out[{query}, {at}] is {x}, not {y}")


def measure_attention(cuda, kernels, queries, keys, samples):
    with AttentionProblem(cuda, queries, keys) as problem:
        problem.fill(random_values)
        times = measure(cuda, {kernel.label: problem.bind(kernel) for kernel in kernels}, samples)
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    header = [f"`{kernels[0].name}`, {problem.what}", "ms", "min–max", "TFLOP/s", *others]
    return table(header, time_rows(times, 4 * HEAD * queries * keys / 1e9))


def run_attention(cuda, kernels, options):
    for size in CHECKED:
        check(cuda, kernels, *size)
    print(f"  right: {kernels[0].name}: every seventh query of {len(CHECKED)} sizes")
    if options.check_only:
        return []
    # Four blocks for each multiprocessor, and sixteen.
    sizes = [(TILE * blocks * cuda.multiprocessors, 4096) for blocks in (4, 16)]
    return [measure_attention(cuda, kernels, *size, options.samples) for size in sizes]
