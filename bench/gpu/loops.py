"""The plain loops of sm_80 that aren't a GEMM: what they must compute, and how fast they are.

`stencil` weighs neighbors along the rows of an image, `sum_of_rows` adds rows that indices choose, `linear_attention` sums
(q . k) * v.
"""

import array
import random

from cuda import Buffer, Failure, memref
from timing import measure, table, time_rows

STENCIL, GATHER, ATTENTION = "stencil", "sum_of_rows", "linear_attention"  # the kernels' entry points
GUARD = 4096  # bytes past the end that must stay as they are
PATTERN = 4099  # floats; large inputs repeat after so many, which is no multiple of a tile


def small_integers(count, seed):
    """Floats that are integers from -2 to 2, so that every sum and product here is exact, in any order."""
    rng = random.Random(seed)
    pattern = array.array("f", (rng.randrange(-2, 3) for _ in range(PATTERN)))
    return (pattern * (count // PATTERN + 1))[:count]


class Stencil:
    """out[y, x] = sum over d of weights[d] * in[y, x + d]"""

    checked = [(1, 4, 1), (2, 512, 3), (3, 513, 5), (7, 1100, 129), (64, 2000, 9)]

    def __init__(self, rows, columns, taps):
        self.rows, self.columns, self.taps = rows, columns, taps
        self.width = columns + taps - 1
        self.grid = -(-columns // 512)
        self.what = f"{rows}×{columns} floats, {taps} weights"
        self.inputs = [small_integers(rows * self.width, 1), small_integers(taps, 2)]
        self.outputs = rows * columns
        self.rate = "GB/s", 4 * rows * (columns + self.width) / 1e6

    def arguments(self, inputs, out):
        return memref(inputs[0], self.rows, self.width) + memref(inputs[1], self.taps) + memref(out, self.rows, self.columns)

    def expected(self):
        image, weights = self.inputs
        starts = (y * self.width + x for y in range(self.rows) for x in range(self.columns))
        return [sum(w * image[start + d] for d, w in enumerate(weights)) for start in starts]


class Gather:
    """out[b] = sum over i of table[indices[b, i]], rows of 512 floats"""

    checked = [(5, 1, 0), (5, 1, 1), (7, 2, 2), (100, 3, 3), (64, 9, 4), (300, 40, 33)]

    def __init__(self, rows, bags, chosen):
        self.rows, self.bags, self.chosen = rows, bags, chosen
        self.grid = bags
        self.what = f"{bags} bags of {chosen} of {rows} rows"
        rng = random.Random(3)
        indices = array.array("q", (rng.randrange(rows) for _ in range(bags * chosen)))
        self.inputs = [small_integers(rows * 512, 1), indices]
        self.outputs = bags * 512
        self.rate = "GB/s", bags * ((4 * 512 + 8) * chosen + 4 * 512) / 1e6

    def arguments(self, inputs, out):
        return memref(inputs[0], self.rows, 512) + memref(inputs[1], self.bags, self.chosen) + memref(out, self.bags, 512)

    def expected(self):
        values, indices = self.inputs
        bags = (indices[bag * self.chosen:(bag + 1) * self.chosen] for bag in range(self.bags))
        return [sum(values[512 * row + column] for row in bag) for bag in bags for column in range(512)]


class Attention:
    """out[i] = sum over j of (q[i] . k[j]) * v[j], heads of 32 floats"""

    checked = [(128, 16), (128, 32), (256, 48), (384, 64), (256, 272)]

    def __init__(self, queries, keys):
        self.queries, self.keys = queries, keys
        self.grid = queries // 128
        self.what = f"{queries} queries, {keys} keys"
        self.inputs = [small_integers(32 * count, seed) for seed, count in enumerate((queries, keys, keys))]
        self.outputs = 32 * queries
        self.rate = "TFLOP/s", 4 * 32 * queries * keys / 1e9

    def arguments(self, inputs, out):
        rows = self.queries, self.keys, self.keys
        return [x for address, count in zip((*inputs, out), (*rows, self.queries)) for x in memref(address, count, 32)]

    def expected(self):
        # K^T V first, which is as exact: the sums are of integers.
        q, k, v = self.inputs
        both = [[sum(k[32 * j + a] * v[32 * j + b] for j in range(self.keys)) for b in range(32)] for a in range(32)]
        return [sum(q[32 * i + a] * both[a][b] for a in range(32)) for i in range(self.queries) for b in range(32)]


PROBLEMS = {STENCIL: Stencil, GATHER: Gather, ATTENTION: Attention}
# Two blocks for each multiprocessor, and eight.
MEASURED = {
    STENCIL: lambda blocks: (512, 512 * blocks, 9),
    GATHER: lambda blocks: (1 << 17, blocks, 1 << 9),
    ATTENTION: lambda blocks: (128 * blocks, 4096),
}


class OnDevice:
    """Inputs and output of a problem on the device."""

    def __init__(self, cuda, problem):
        self.cuda, self.problem = cuda, problem

    def __enter__(self):
        # An empty buffer has an address, too.
        self.inputs = [Buffer(self.cuda, max(16, data.itemsize * len(data))) for data in self.problem.inputs]
        for buffer, data in zip(self.inputs, self.problem.inputs):
            if data:
                buffer.write(data.tobytes())
        self.out = Buffer(self.cuda, 4 * self.problem.outputs + GUARD)
        return self

    def __exit__(self, *_):
        for buffer in (*self.inputs, self.out):
            buffer.__exit__()

    def bind(self, kernel):
        arguments = self.problem.arguments([buffer.address for buffer in self.inputs], self.out.address)
        return kernel.bind((self.problem.grid, 1, 1), arguments)


def check_loop(cuda, kernels, size):
    problem = PROBLEMS[kernels[0].name](*size)
    expected = array.array("f", problem.expected())
    for kernel in kernels:
        with OnDevice(cuda, problem) as data:
            data.out.poison()
            data.bind(kernel)()
            cuda.synchronize()
            result = data.out.read()
        got = array.array("f", result[:4 * problem.outputs])
        if got != expected:
            at = next(i for i, (x, y) in enumerate(zip(got, expected)) if not x == y)
            raise Failure(f"wrong result: {kernel.name}, {kernel.label}, {problem.what}: element {at} is {got[at]}, "
                          f"not {expected[at]}")
        if result[4 * problem.outputs:] != b"\xff" * GUARD:
            raise Failure(f"wrong result: {kernel.name}, {kernel.label}, {problem.what}: stores past the end")


def measure_loop(cuda, kernels, size, samples):
    problem = PROBLEMS[kernels[0].name](*size)
    with OnDevice(cuda, problem) as data:
        times = measure(cuda, {kernel.label: data.bind(kernel) for kernel in kernels}, samples)
    unit, rate = problem.rate
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    return table([f"`{kernels[0].name}`, {problem.what}", "ms", "min–max", unit, *others], time_rows(times, rate))


def run_loop(cuda, kernels, options):
    name = kernels[0].name
    sizes = PROBLEMS[name].checked
    for size in sizes:
        check_loop(cuda, kernels, size)
    print(f"  right: {name}: every element of {len(sizes)} sizes")
    if options.check_only:
        return []
    return [measure_loop(cuda, kernels, MEASURED[name](blocks * cuda.multiprocessors), options.samples) for blocks in (2, 8)]
