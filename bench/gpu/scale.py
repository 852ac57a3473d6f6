"""The copy kernels of sm_80, dst = alpha * src: what it must be, and how fast it is."""

import array
import random

from cuda import Buffer, Failure, memref
from timing import measure, table, time_rows

SCALE, SCALE_RAGGED = "scale", "scale_ragged"  # the kernels' entry points

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
    guard = 4096  # bytes past the end that must stay as they are
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
        raise Failure(f"wrong result: {kernel.name}, {kernel.label}: stores past the end of {count} elements")


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
