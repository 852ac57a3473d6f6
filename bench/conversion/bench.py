#!/usr/bin/env python3
"""Times async-opt from token form to NVVM beside a stock mlir-opt on the counted form of the same program.

Both start from text and end where no gpux or nvgpu operation is left. README.md says what is measured and how.

Needs Python 3.9 and nothing else.

Exit status: 0 when both tools did their work, 1 otherwise. How fast they did it changes nothing about it.
"""

import argparse
import datetime
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Kernels that call libdevice need the one beside ptxas, which tools/setup installs.
os.environ["PATH"] = os.pathsep.join((str(ROOT / ".venv/bin"), os.environ["PATH"]))
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
LARGE = 100_000  # copies; larger programs are run once
SMALL = 100  # functions, and copies in each, where small functions are measured without what a process does once
DEPTH = 4  # groups in flight in the rolling window
OUR_PASSES = ("gpux-tokens-to-groups", "gpux-to-nvvm")
UPSTREAM_PASSES = ("ConvertNVGPUToNVVMPass",)
CHECK = "(A) Check"  # what --mlir-timing calls the check of what a pass wrote
GLOBAL = "memref<1024xf32>"
SHARED = "memref<1024xf32, #gpu.address_space<workgroup>>"


class Failure(Exception):
    """A tool did not do what it is measured at."""


# The programs. Each is written once, for either form.


class Tokens:
    """Token form: what async-opt reads."""

    token = "!async.token"

    def copy(self, name):
        return f"{name} = gpux.copy async %src[%i], %dst[%i], 4 : {GLOBAL} to {SHARED}\n"

    def wait(self, tokens, _count):
        return f"async.await {', '.join(tokens)}\n"

    def nothing(self, name):
        return f"{name} = async.ready\n"


class Counted:
    """Counted form: what upstream reads."""

    token = "!nvgpu.device.async.token"

    def copy(self, name):
        return (
            f"{name}_copy = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : {GLOBAL} to {SHARED}\n"
            f"{name} = nvgpu.device_async_create_group {name}_copy\n"
        )

    def wait(self, tokens, count):
        return f"nvgpu.device_async_wait {tokens[-1]} {{numGroups = {count} : i32}}\n"

    def nothing(self, name):
        return f"{name} = nvgpu.device_async_create_group\n"


def window(form, copies):
    """A rolling window: every copy is awaited when four more have been issued."""
    for k in range(copies):
        yield form.copy(f"%t{k}")
        if k >= DEPTH:
            yield form.wait([f"%t{k - DEPTH}"], DEPTH)


def nest(form, copies):
    """Loop nests of four copies each, which carry two tokens through both loops."""
    both = f"({form.token}, {form.token})"
    for k in range(copies // 4):
        yield form.copy(f"%a{k}") + form.copy(f"%b{k}")
        yield f"%o{k}:2 = scf.for %j{k} = %c0 to %i step %c1 iter_args(%x = %a{k}, %y = %b{k}) -> {both} {{\n"
        yield f"%n:2 = scf.for %l = %c0 to %i step %c1 iter_args(%u = %x, %v = %y) -> {both} {{\n"
        yield form.copy("%c") + form.wait(["%u"], 2)
        yield f"scf.yield %v, %c : {form.token}, {form.token}\n}}\n"
        yield form.copy("%d") + form.wait(["%n#0"], 2)
        yield f"scf.yield %n#1, %d : {form.token}, {form.token}\n}}\n"
        yield form.wait([f"%o{k}#0", f"%o{k}#1"], 0)


def branches(form, copies):
    """Copies under a condition, in a rolling window; without the condition there is an empty group."""
    for k in range(copies):
        yield f"%t{k} = scf.if %p -> {form.token} {{\n"
        yield form.copy("%c") + f"scf.yield %c : {form.token}\n}} else {{\n"
        yield form.nothing("%r") + f"scf.yield %r : {form.token}\n}}\n"
        if k >= DEPTH:
            yield form.wait([f"%t{k - DEPTH}"], DEPTH)


SHAPES = {"window": window, "nest": nest, "branches": branches}


def write_program(path, shape, form, copies, functions=1):
    with open(path, "w", encoding="utf-8") as file:
        for k in range(functions):
            file.write(f"func.func @kernel{k}(%src: {GLOBAL}, %dst: {SHARED}, %i: index, %p: i1) {{\n")
            file.write("%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n")
            file.writelines(SHAPES[shape](form, copies))
            file.write("return\n}\n")


# The tools.


class Tool:
    """A tool, the option that has it convert, and the passes that count."""

    def __init__(self, name, binary, form, pipeline, passes):
        self.name, self.binary, self.form, self.pipeline, self.passes = name, binary, form, pipeline, passes

    def run(self, arguments):
        """Runs the tool; returns its stderr and what the kernel says of it."""
        with tempfile.TemporaryFile("w+") as stderr:
            process = subprocess.Popen([self.binary, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            text = stderr.read()
        if process.returncode != 0:
            raise Failure(f"{self.name} exited with {process.returncode}: {text[:2000]}")
        return text, usage

    def measure(self, program, *options):
        """Returns the seconds in the passes that count, the peak memory in MB, the seconds in the last of them, and the check of what the first
        wrote as a share of the rest of its time."""
        text, usage = self.run([program, self.pipeline, "--mlir-timing", *options, "-o", os.devnull])
        timers = list(wall_times(text))
        names = [name for name, _ in timers]
        missing = [name for name in self.passes if name not in names]
        if missing:
            raise Failure(f"{self.name} says nothing of {missing[0]}:\n{text[:2000]}")
        seconds = [timers[names.index(name)][1] for name in self.passes]
        below, check = (timers + [("", 0)])[names.index(self.passes[0]) + 1]
        share = check / (seconds[0] - check) if below == CHECK else 0
        return sum(seconds), usage.ru_maxrss / 1024, seconds[-1], share

    def check(self, program, copies):
        """Checks that the passes that count leave nothing to do."""
        result = subprocess.run(
            [self.binary, program, self.pipeline], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise Failure(f"{self.name} exited with {result.returncode}: {result.stderr[:2000]}")
        left = re.search(r"\b(gpux|nvgpu|async)\.\w+", re.sub(r"\bnvvm\.[\w.]+", "", result.stdout))
        if left:
            raise Failure(f"{self.name} leaves a {left[0]}")
        lowered = result.stdout.count("nvvm.cp.async.shared.global")
        if lowered != copies:
            raise Failure(f"{self.name} makes {lowered} copies of {copies}")

    def version(self):
        """The version of LLVM it is built with."""
        text = subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"LLVM (?:version )?([\d.]+)", text)
        return version[1] if version else "unknown"


def wall_times(timing):
    """Yields each name in what --mlir-timing prints, with its seconds: with threads there is a column of user time before them."""
    for line in timing.splitlines():
        found = re.match(r"(?:\s*[\d.]+ \([^)]*\))*?\s*([\d.]+) \([^)]*\)\s+(\S.*)$", line)
        if found:
            yield found[2], float(found[1])


def tools(arguments):
    ours = f"--pass-pipeline=builtin.module(func.func({OUR_PASSES[0]}),gpux-to-nvvm)"
    theirs = "--pass-pipeline=builtin.module(convert-nvgpu-to-nvvm)"
    return (
        Tool("async-opt", arguments.async_opt, Tokens(), ours, OUR_PASSES),
        Tool("mlir-opt", arguments.mlir_opt, Counted(), theirs, UPSTREAM_PASSES),
    )


# The measurement.


def alternate(measure, repetitions):
    """Calls `measure(0)` and `measure(1)` in turn, so that what else the machine does hits both alike."""
    rounds = [(measure(0), measure(1)) for _ in range(repetitions)]
    return [list(side) for side in zip(*rounds)]


def middle(values):
    """The interquartile mean: --mlir-timing tells tenths of milliseconds, which a median would be rounded to."""
    values = sorted(values)
    dropped = len(values) // 4 if len(values) >= 8 else (len(values) - 1) // 2
    return statistics.mean(values[dropped : len(values) - dropped])


def measure_shape(pair, shape, sizes, repetitions, folder):
    """Returns rows of size, both times, their ratio, both peaks, the seconds of our last pass, the percentage by which the check makes our first
    pass longer, and the runs."""
    rows = []
    for size in sizes:
        programs = [folder / f"{tool.name}.mlir" for tool in pair]
        for tool, program in zip(pair, programs):
            write_program(program, shape, tool.form, size)
            if size == SIZES[0]:
                tool.check(program, size)
        # What takes milliseconds needs more repetitions to be told from noise, and what takes minutes none.
        times = 8 * repetitions if size <= 1_000 else repetitions if size <= LARGE else 1
        ours, theirs = alternate(lambda side: pair[side].measure(programs[side]), times)
        seconds = [middle(run[0] for run in side) for side in (ours, theirs)]
        ratio = seconds[0] / seconds[1]
        memory = [statistics.median(run[1] for run in side) for side in (ours, theirs)]
        lowering = middle(run[2] for run in ours)
        check = 100 * middle(run[3] for run in ours)
        rows.append((size, *seconds, ratio, *memory, lowering, check, times))
        note = f"{shape}, {size} copies: {seconds[0]:.3f} s to {seconds[1]:.3f} s, ratio {ratio:.2f}"
        print(note, file=sys.stderr, flush=True)
    return rows


def measure_small(pair, shapes, repetitions, folder):
    """Returns rows of a shape, the milliseconds that each tool takes for a small function among many, and their ratio."""
    rows = []
    for shape in shapes:
        programs = [folder / f"{tool.name}.mlir" for tool in pair]
        for tool, program in zip(pair, programs):
            write_program(program, shape, tool.form, SMALL, SMALL)
        # One thread: mlir-opt's pass is one of the module, and ours one of each function.
        measure = lambda side: pair[side].measure(programs[side], "--mlir-disable-threading")[0] * 1000 / SMALL
        ours, theirs = alternate(measure, repetitions)
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        rows.append((shape, statistics.median(ours), statistics.median(theirs), ratio))
        print(f"{shape}, small functions: ratio {ratio:.2f}", file=sys.stderr, flush=True)
    return rows


def measure_start(pair, repetitions, folder):
    """Returns the milliseconds that each tool takes for an empty module."""
    empty = folder / "empty.mlir"
    empty.write_text("module {}\n", encoding="utf-8")

    def start(side):
        begin = time.monotonic()
        pair[side].run([empty, "-o", os.devnull])
        return time.monotonic() - begin

    sides = alternate(start, 4 * repetitions)
    return [1000 * statistics.median(side) for side in sides]


def options_of(example):
    """The options that the header of an example gives `async-opt`, up to PTX."""
    text = example.read_text(encoding="utf-8")
    found = re.search(r"async-opt \S+ (.*--gpux-lower-to-nvvm.*) \| async-translate --ptx", text)
    if not found:
        raise Failure(f"{example.name} does not say how it is lowered")
    return shlex.split(found[1])


def measure_examples(arguments, folder):
    """Returns rows of an example's name, the milliseconds that each tool takes for it, from text to PTX, and those in checks."""
    lower = Tool("async-opt", arguments.async_opt, None, None, ())
    translate = Tool("async-translate", arguments.async_translate, None, None, ())
    lowered = folder / "lowered.mlir"

    def seconds(tool, command):
        begin = time.monotonic()
        tool.run(command)
        return time.monotonic() - begin

    def checked(command):
        # MLIR times no check of a function that has a thread of its own.
        text, _ = lower.run([*command, "--mlir-timing", "--mlir-disable-threading"])
        return sum(seconds for name, seconds in wall_times(text) if name == CHECK)

    rows = []
    for example in sorted((ROOT / "examples").glob("*.mlir")):
        options = options_of(example)
        command = [example, *options, "-o", lowered]
        runs = [
            (seconds(lower, command), seconds(translate, [lowered, "--ptx", "-o", os.devnull]), checked(command))
            for _ in range(arguments.repetitions)
        ]
        rows.append((example.name, *(1000 * statistics.median(side) for side in zip(*runs))))
    return rows


# The report.


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---:"] * len(header)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def growth(rows, column):
    """How the time of each row compares to that of the row before, per copy."""
    yield "-"
    for before, row in zip(rows, rows[1:]):
        yield f"{row[column] / before[column] / (row[0] / before[0]):.2f}"


def format_shape(shape, rows):
    header = ["copies", "async-opt", "of it lowering", "check", "mlir-opt", "ratio", "growth", "mlir-opt's", "peak", "mlir-opt's", "ratio", "runs"]
    cells = [
        [
            f"{size:,}".replace(",", " "),
            f"{ours:.4f} s",
            f"{lowering:.4f} s",
            f"{check:.0f} %",
            f"{theirs:.4f} s",
            f"**{ratio:.2f}**",
            ours_growth,
            theirs_growth,
            f"{ours_memory:.0f} MB",
            f"{theirs_memory:.0f} MB",
            f"{ours_memory / theirs_memory:.2f}",
            str(times),
        ]
        for (size, ours, theirs, ratio, ours_memory, theirs_memory, lowering, check, times), ours_growth, theirs_growth in zip(
            rows, growth(rows, 1), growth(rows, 2)
        )
    ]
    return f"### {shape}: {SHAPES[shape].__doc__.rstrip('.').lower()}\n\n{table(header, cells)}\n"


def format_small(rows):
    header = ["shape", "async-opt", "mlir-opt", "ratio"]
    cells = [[shape, f"{ours:.2f} ms", f"{theirs:.2f} ms", f"**{ratio:.2f}**"] for shape, ours, theirs, ratio in rows]
    title = f"### small functions: each of {SMALL} functions with {SMALL} copies, in one process on one thread"
    return f"{title}\n\n{table(header, cells)}\n"


def format_examples(rows):
    header = ["example", "async-opt", "async-translate", "both", "of it checks", "mlir-opt"]
    # No stock tool reads tokens, so that there is nothing beside them.
    cells = [
        [
            name,
            f"{lowering:.0f} ms",
            f"{translation:.0f} ms",
            f"{lowering + translation:.0f} ms",
            f"{checks:.1f} ms, {100 * checks / (lowering + translation):.0f} %",
            "-",
        ]
        for name, lowering, translation, checks in rows
    ]
    return f"### examples: from text to PTX\n\n{table(header, cells)}\n"


def cpu_model():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown CPU"
    model = re.search(r"model name\s*:\s*(.*)", text)
    return model[1] if model else "unknown CPU"


def format_report(pair, start, shapes, small, examples, loads):
    cores = len(os.sched_getaffinity(0))
    quiet = max(loads) < cores
    lines = [
        f"## {datetime.date.today().isoformat()}",
        "",
        f"{cpu_model()}, {cores} cores; async-opt on LLVM {pair[0].version()}, mlir-opt of LLVM {pair[1].version()}.",
        f"Load average {loads[0]:.1f} at the start, {loads[1]:.1f} at the end: "
        + (
            "the machine was otherwise idle."
            if quiet
            else "**other jobs ran on the machine**, so absolute times are too long; the ratios are of runs in turn."
        ),
        "",
        f"Start-up with an empty module: async-opt {start[0]:.0f} ms, mlir-opt {start[1]:.0f} ms, "
        f"ratio {start[0] / start[1]:.2f}.",
        "",
    ]
    tables = [format_shape(shape, rows) for shape, rows in shapes.items()]
    tables.append(format_small(small))
    if examples:
        tables.append(format_examples(examples))
    return "\n".join(lines) + "\n" + "\n".join(tables)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    prefix = os.environ.get("MLIR_SYS_220_PREFIX", "/usr/lib/llvm-22")
    ours = os.environ.get("ASYNC_OPT", ROOT / "target/release/async-opt")
    parser.add_argument("--async-opt", default=ours, help="a release build of ours (default: ASYNC_OPT, or target/release)")
    parser.add_argument("--mlir-opt", default=f"{prefix}/bin/mlir-opt", help="the stock mlir-opt")
    translate = os.environ.get("ASYNC_TRANSLATE", ROOT / "target/release/async-translate")
    parser.add_argument("--async-translate", default=translate, help="likewise (default: ASYNC_TRANSLATE, or target/release)")
    parser.add_argument("--max", type=int, default=100_000, help="the most copies, up to 1000000 (see README.md)")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of each tool up to 100000 copies (one above)")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="only this shape (may be repeated), and no examples")
    parser.add_argument("--record", action="store_true", help="write the tables to RESULTS.md")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    pair = tools(arguments)
    binaries = {tool.name: tool.binary for tool in pair} | {"async-translate": arguments.async_translate}
    for name, binary in binaries.items():
        if not os.access(binary, os.X_OK):
            raise Failure(f"no {name} at {binary}: run `cargo build --release --workspace`, or tools/setup for mlir-opt")
    sizes = [size for size in SIZES if size <= arguments.max]
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        start = measure_start(pair, arguments.repetitions, folder)
        shapes = {}
        for shape in arguments.shape or SHAPES:
            some = [size for size in sizes if size <= LARGE]
            shapes[shape] = measure_shape(pair, shape, some, arguments.repetitions, folder)
        small = measure_small(pair, shapes, arguments.repetitions, folder)
        examples = [] if arguments.shape else measure_examples(arguments, folder)
        # Last: what takes gigabytes leaves little memory in large pages for what comes next.
        for shape, rows in shapes.items():
            some = [size for size in sizes if size > LARGE]
            rows.extend(measure_shape(pair, shape, some, arguments.repetitions, folder))
    text = format_report(pair, start, shapes, small, examples, (before, os.getloadavg()[0]))
    print(text)
    if arguments.record:
        title = "# Conversion time beside upstream's\n\nWritten by `bench.py --record`; README.md says what the columns are.\n\n"
        (HERE / "RESULTS.md").write_text(title + text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
