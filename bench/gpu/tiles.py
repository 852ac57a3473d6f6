"""The kernels of sm_90 that stream tiles: what they must compute, and how fast they are.

`copy_and_sum` copies a matrix and adds up its columns; `multiply_add` computes a * b + c of three.
"""

import random
import struct

from cuda import Buffer, Failure, TensorMap, memref
from timing import measure, table, time_rows

REDUCTION, POINTWISE = "copy_and_sum", "multiply_add"  # the kernels' entry points
BOXES = {REDUCTION: (32, 64), POINTWISE: (16, 64)}
PATTERN = 4099  # floats; the data repeats after so many, which is no multiple of a tile
GUARD = 4096  # bytes past the end that must stay as they are


def values(count, seed):
    """Floats of so few bits that every sum and product here is exact, in any order."""
    rng = random.Random(seed)
    pattern = [float(rng.randrange(-15, 16)) for _ in range(PATTERN)]
    return (pattern * (count // PATTERN + 1))[:count]


def packed(floats):
    return struct.pack(f"<{len(floats)}f", *floats)


class Matrices:
    """The operands of one of the kernels on the device: as many matrices of one size as it has, inputs first."""

    def __init__(self, cuda, name, rows, columns, bands):
        if columns % 4:
            raise Failure(f"{columns} columns: rows are multiples of 16 bytes")
        self.cuda, self.name, self.rows, self.columns, self.bands = cuda, name, rows, columns, bands
        self.count = rows * columns

    def __enter__(self):
        inputs = 1 if self.name == REDUCTION else 3
        self.inputs = [Buffer(self.cuda, 4 * self.count) for _ in range(inputs)]
        self.output = Buffer(self.cuda, 4 * self.count + GUARD)
        self.sums = Buffer(self.cuda, 4 * self.columns * self.bands + GUARD)
        mapped = [self.inputs[0]] + ([self.output] if self.name == POINTWISE else [])
        self.maps = [TensorMap(self.cuda, buffer, TensorMap.F32, self.rows, self.columns, BOXES[self.name])
                     for buffer in mapped]
        return self

    def __exit__(self, *_):
        for buffer in (*self.inputs, self.output, self.sums, *self.maps):
            buffer.__exit__()

    def bind(self, kernel):
        size = self.rows, self.columns
        if self.name == REDUCTION:
            arguments = ([self.maps[0].address] + memref(self.output.address, *size)
                         + memref(self.sums.address, self.bands, self.columns))
        else:
            arguments = ([self.maps[0].address] + memref(self.inputs[1].address, *size)
                         + memref(self.inputs[2].address, *size) + [self.maps[1].address])
        return kernel.bind((-(-self.columns // 64), self.bands, 1), arguments)


def compare(kernel, what, result, expected):
    expected = packed(expected)
    if result[:len(expected)] != expected:
        at = next(i for i in range(0, len(expected), 4) if result[i:i + 4] != expected[i:i + 4])
        got, right = (struct.unpack_from("<f", data, at)[0] for data in (result, expected))
        raise Failure(f"wrong result: {kernel.name}, {kernel.label}: {what}: element {at // 4} is {got}, not {right}")
    if result[len(expected):] != b"\xff" * GUARD:
        raise Failure(f"wrong result: {kernel.name}, {kernel.label}: {what}: stores past the end")


def check(cuda, kernel, rows, columns, bands):
    with Matrices(cuda, kernel.name, rows, columns, bands) as matrices:
        data = [values(rows * columns, seed) for seed in range(len(matrices.inputs))]
        for buffer, floats in zip(matrices.inputs, data):
            buffer.write(packed(floats))
        matrices.output.poison()
        matrices.sums.poison()
        matrices.bind(kernel)()
        cuda.synchronize()
        output, sums = matrices.output.read(), matrices.sums.read()
    what = f"{rows}x{columns}, {bands} bands"
    if kernel.name == POINTWISE:
        compare(kernel, what, output, [a * b + c for a, b, c in zip(*data)])
        return
    compare(kernel, what, output, data[0])
    expected = [0.0] * (bands * columns)
    for row in range(rows):
        band = row // BOXES[REDUCTION][0] % bands
        for column in range(columns):
            expected[band * columns + column] += data[0][row * columns + column]
    compare(kernel, f"sums of {what}", sums, expected)


def measure_tiles(cuda, kernels, rows, columns, bands, samples):
    name = kernels[0].name
    with Matrices(cuda, name, rows, columns, bands) as matrices:
        for seed, buffer in enumerate(matrices.inputs):
            buffer.write(packed(values(PATTERN, seed)) * (matrices.count // PATTERN))
        launches = {kernel.label: matrices.bind(kernel) for kernel in kernels}
        # As much memory traffic as the kernel's: a copy reads one matrix and writes one.
        copies = [(matrices.output.address, buffer.address, 4 * matrices.count, None) for buffer in matrices.inputs[:2]]

        def copy():
            for arguments in copies:
                cuda.call("cuMemcpyDtoDAsync_v2", *arguments)

        launches["driver's copies" if len(copies) > 1 else "driver's copy"] = copy
        times = measure(cuda, launches, samples)
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    header = [f"`{name}`, {rows}×{columns} floats, {bands} bands", "ms", "min–max", "GB/s", *others]
    return table(header, time_rows(times, 4 * (len(copies) * 2) * rows * columns / 1e6))


def run_tiles(cuda, kernels, options):
    sizes = [(2, 4, 1), (2, 4, 3), (16, 64, 1), (100, 132, 2), (333, 260, 5), (1000, 516, 3)]
    for kernel in kernels:
        for size in sizes:
            check(cuda, kernel, *size)
    print(f"  right: {kernels[0].name}: every element of {len(sizes)} sizes")
    if options.check_only:
        return []
    rows, columns = 8192, 8192
    blocks = columns // 64
    return [measure_tiles(cuda, kernels, rows, columns, max(1, share * cuda.multiprocessors // blocks), options.samples)
            for share in (1, 4)]
