"""C = A * B: what it must be, and how fast it is."""

import operator
import random
import re
import struct

from cuda import Buffer, CuBlas, Failure, TensorMap, memref
from timing import measure, table, time_rows

# The kernels' entry points.
SM80, SM90, LINALG = "gemm_f16_sm80", "gemm_f16_sm90", "matmul_kernel"
WGMMA, ROLES = "gemm_wgmma", "gemm_wgmma_roles"
SHARED = {SM80: 65536, SM90: 65536, WGMMA: 196608, ROLES: 196608}  # bytes of dynamic shared memory
LINALG_SIZE = 4096  # of each dimension: `linalg_matmul.mlir` says its sizes in its types

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


def dot_products(a, b, column, k, positions):
    """Yields the exact elements of A*B at `positions`, for matrices of small integers; `column` says where in B one is."""
    a, b = memoryview(a).cast("H"), memoryview(b).cast("H")
    rows, columns = {}, {}
    for i, j in positions:
        if i not in rows:
            rows[i] = [SMALL[x] for x in a[i * k:(i + 1) * k]]
        if j not in columns:
            columns[j] = [SMALL[x] for x in b[column(j)]]
        yield sum(map(operator.mul, rows[i], columns[j]))


def first_difference(got, expected, kind):
    """Compares data of a `struct` kind by value (so -0 is 0); returns None or where they first differ and how often."""
    if got == expected:
        return None
    form = f"<{len(got) // struct.calcsize(kind)}{kind}"
    pairs = enumerate(zip(struct.unpack(form, got), struct.unpack(form, expected)))
    bad = [(at, x, y) for at, (x, y) in pairs if x != y]
    return (*bad[0], len(bad)) if bad else None


def with_size(source):
    """`linalg_matmul.mlir` with the sizes that are measured."""
    return re.sub(r"memref<\d+x\d+x(f16|f32)>", rf"memref<{LINALG_SIZE}x{LINALG_SIZE}x\1>", source)


def divisor_up_to(number, limit):
    return max(d for d in range(1, limit + 1) if number % d == 0)


class GemmProblem:
    """A, B and C of one size on the device."""

    kind = "e"  # of C's elements, as `struct` says it

    def __init__(self, cuda, name, m, n, k):
        if name == SM80 and (m % 128 or n % 128 or k % 32 or k < 96 or min(m, n) < 128):
            raise Failure(f"size {m}x{n}x{k}: M and N are multiples of 128, K is one of 32 and at least 96")
        if min(m, n, k) < 1 or n % 8 or k % 8:
            raise Failure(f"size {m}x{n}x{k}: N and K are multiples of 8")
        self.cuda, self.name, self.m, self.n, self.k = cuda, name, m, n, k
        rows, columns = -(-m // 128), -(-n // 128)
        band = divisor_up_to(rows, 8)
        self.grid = band, columns, rows // band

    def __enter__(self):
        self.a, self.b = Buffer(self.cuda, 2 * self.m * self.k), Buffer(self.cuda, 2 * self.k * self.n)
        self.c = Buffer(self.cuda, struct.calcsize(self.kind) * self.m * self.n)
        self.maps = []
        if self.name == SM90:
            # As the types of the kernel's arguments say.
            self.maps = [
                TensorMap(self.cuda, self.a, TensorMap.F16, self.m, self.k, (128, 32), swizzle=64, promotion=128),
                TensorMap(self.cuda, self.b, TensorMap.F16, self.k, self.n, (32, 64), swizzle=128, promotion=128),
                TensorMap(self.cuda, self.c, TensorMap.F16, self.m, self.n, (128, 64), swizzle=128)]
        return self

    def __exit__(self, *_):
        for buffer in (self.a, self.b, self.c, *self.maps):
            buffer.__exit__()

    def fill(self, values):
        a, b = values(self.m * self.k, seed=1), values(self.k * self.n, seed=2)
        self.a.write(a)
        self.b.write(b)
        return a, b

    def bind(self, kernel):
        if self.name == SM90:
            return kernel.bind(self.grid, [tensor.address for tensor in self.maps] + [self.k])
        arguments = (memref(self.a.address, self.m, self.k) + memref(self.b.address, self.k, self.n)
                     + memref(self.c.address, self.m, self.n))
        return kernel.bind(self.grid, arguments)

    def bind_library(self, library):
        return library.bind(self.a, self.b, self.c, self.m, self.n, self.k, self.kind)

    def column(self, j):
        """Where the elements of a column of B are."""
        return slice(j, None, self.n)

    def result(self, launch):
        self.c.poison()
        launch()
        self.cuda.synchronize()
        return self.c.read()


class LinalgProblem(GemmProblem):
    """The same for `linalg_matmul.mlir`, which adds to a C of fp32."""

    kind = "f"

    def __init__(self, cuda, name, m, n, k):
        super().__init__(cuda, name, m, n, k)
        self.grid = n // 64, m // 64, 1

    def bind(self, kernel):
        # In the order in which the outlined launch uses them.
        return kernel.bind(self.grid, memref(self.c.address, self.m, self.n) + memref(self.a.address, self.m, self.k)
                           + memref(self.b.address, self.k, self.n))

    def result(self, launch):
        self.c.write(bytes(self.c.size))
        launch()
        self.cuda.synchronize()
        return self.c.read()


class WgmmaProblem(GemmProblem):
    """The same for `gemm_wgmma.mlir` and `gemm_wgmma_roles.mlir`: B is column-major, C of fp32."""

    kind = "f"

    def __init__(self, cuda, name, m, n, k):
        super().__init__(cuda, name, m, n, k)
        self.grid = -(-m // 128), -(-n // 256), 1

    def __enter__(self):
        super().__enter__()
        self.maps = [
            TensorMap(self.cuda, self.a, TensorMap.F16, self.m, self.k, (128, 64), swizzle=128, promotion=128),
            TensorMap(self.cuda, self.b, TensorMap.F16, self.n, self.k, (256, 64), swizzle=128, promotion=128),
            TensorMap(self.cuda, self.c, TensorMap.F32, self.m, self.n, (128, 256))]
        return self

    def bind(self, kernel):
        return kernel.bind(self.grid, [tensor.address for tensor in self.maps] + [self.k])

    def bind_library(self, library):
        return library.bind(self.a, self.b, self.c, self.m, self.n, self.k, self.kind, b_by_columns=True)

    def column(self, j):
        return slice(j * self.k, (j + 1) * self.k)


PROBLEMS = {SM80: GemmProblem, SM90: GemmProblem, LINALG: LinalgProblem, WGMMA: WgmmaProblem, ROLES: WgmmaProblem}


def check_gemm(cuda, kernels, library, m, n, k, full):
    """Compares the kernels with the library, and all of them with the CPU: every element, or a sample of them."""
    with PROBLEMS[kernels[0].name](cuda, kernels[0].name, m, n, k) as problem:
        a, b = problem.fill(small_integers)
        rng = random.Random(3)
        positions = [(i, j) for i in range(m) for j in range(n)] if full else (
            [(0, 0), (m - 1, n - 1)] + [(rng.randrange(m), rng.randrange(n)) for _ in range(300)])
        expected = dict(zip(positions, dot_products(a, b, problem.column, k, positions)))
        kind, size = f"<{problem.kind}", struct.calcsize(problem.kind)
        results = {kernel.label: problem.result(problem.bind(kernel)) for kernel in kernels}
        if library:
            results[library.label] = problem.result(problem.bind_library(library))
        for label, data in results.items():
            for (i, j), value in expected.items():
                got, = struct.unpack_from(kind, data, size * (i * n + j))
                if got != value:
                    raise Failure(f"wrong result: GEMM {m}x{n}x{k}, {label}: C[{i}, {j}] is {got}, not {value}")
        reference = results[library.label] if library else results[kernels[0].label]
        for label, data in results.items():
            if difference := first_difference(data, reference, problem.kind):
                at, got, value, count = difference
                raise Failure(f"wrong result: GEMM {m}x{n}x{k}, {label}: {count} elements differ, the first is "
                              f"C[{at // n}, {at % n}], {got}, not {value}")
    how = "every element" if full else f"{len(positions)} elements"
    print(f"  right: {kernels[0].name} {m}x{n}x{k}: {how} against the CPU" + (f", all against {library.label}" if library else ""))


def measure_gemm(cuda, kernels, library, m, n, k, samples):
    with PROBLEMS[kernels[0].name](cuda, kernels[0].name, m, n, k) as problem:
        problem.fill(random_values)
        launches = {kernel.label: problem.bind(kernel) for kernel in kernels}
        if library:
            launches[library.label] = problem.bind_library(library)
        times = measure(cuda, launches, samples)
    others = [f"speed ÷ {label}" for label in list(times)[1:]]
    header = [f"`{kernels[0].name}` {m}×{n}×{k}", "ms", "min–max", "TFLOP/s", *others]
    return table(header, time_rows(times, 2 * m * n * k / 1e9))


def run_gemm(cuda, kernels, options):
    library = CuBlas.find()
    if not library:
        print("  no cuBLAS found: checked against the CPU only, no library time")
    check_gemm(cuda, kernels, library, 128, 128, 96, full=True)
    check_gemm(cuda, kernels, library, 256, 384, 160, full=True)
    if kernels[0].name in (SM90, WGMMA, ROLES):  # sizes that no tile divides, and a single tile
        check_gemm(cuda, kernels, library, 136, 72, 40, full=True)
        check_gemm(cuda, kernels, library, 300, 136, 168, full=True)
        check_gemm(cuda, kernels, library, 1, 8, 8, full=True)
    tables = []
    for m, n, k in options.size:
        check_gemm(cuda, kernels, library, m, n, k, full=False)
        if not options.check_only:
            tables.append(measure_gemm(cuda, kernels, library, m, n, k, options.samples))
    return tables


def run_linalg(cuda, kernels, options):
    library, size = CuBlas.find(), (LINALG_SIZE,) * 3
    check_gemm(cuda, kernels, library, *size, full=False)
    return [] if options.check_only else [measure_gemm(cuda, kernels, library, *size, options.samples)]
