#!/usr/bin/env python3
"""Compares what becomes of loops that copy tiles: waits, block barriers, memory, and simulated time.

README.md says what is compared. All figures are computed, so that they are the same on any machine.

Needs Python 3.9 and nothing else.

Exit status: 0 when async-opt's form of every loop runs clean and computes what the plain loop does, 1 otherwise.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VECTOR = "12288:random"
RESULT = "12288:zero"

# The arguments of each loop, and the numbers of those that it writes.
LOOPS = {
    "copy": ([VECTOR, RESULT], [1]),
    "axpy": ([VECTOR, VECTOR, RESULT], [2]),
    "mirror": ([VECTOR, RESULT], [1]),
    "dynamic": ([VECTOR, RESULT, "12288"], [1]),
    "masked": (["12002:random", RESULT], [1]),
    "two_groups": ([VECTOR, VECTOR, RESULT, RESULT], [2, 3]),
    "two_consumers": ([VECTOR, RESULT, RESULT], [1, 2]),
    "gather": (["24x512:random", "ramp", "512:zero"], [2]),
    "attention": (["512:random", VECTOR, VECTOR, "512:zero"], [3]),
    "stencil": (["24x520:random", "9:random", "24x512:zero"], [2]),
    "gemm": (["64x384:random", "384x32:random", "zero"], [2]),
    "store": ([VECTOR, RESULT], [1]),
}

# Upstream's way: a version of each buffer for every copy in flight, then its pipeliner.
UPSTREAM = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %buffers = transform.structured.match ops{["memref.alloc"]} in %root
      : (!transform.any_op) -> !transform.op<"memref.alloc">
    %versions = transform.memref.multibuffer %buffers {factor = 3 : i64, skip_analysis}
      : (!transform.op<"memref.alloc">) -> !transform.any_op
    %loop = transform.structured.match ops{["scf.for"]} attributes {async.num_stages = 4 : i64} in %root
      : (!transform.any_op) -> !transform.any_op
    %pipelined = transform.nvgpu.pipeline_shared_memory_copies failures(propagate) %loop {OPTIONS}
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
BYTES = {"f16": 2, "f32": 4, "i8": 1}


class Failure(Exception):
    """A tool did not do what it is asked for."""


class Refused(Exception):
    """Upstream does not pipeline the loop, and says why."""


@dataclasses.dataclass
class Form:
    """What is known of a form of a loop."""

    in_loop: list
    after: list
    barriers: int
    memory: int
    cycles: int = 0
    stalls: int = 0
    right: bool = True


class Tools:
    def __init__(self, options):
        self.async_opt = find("async-opt", options.tools)
        self.async_sim = find("async-sim", options.tools)
        prefix = os.environ.get("MLIR_SYS_220_PREFIX", "/usr/lib/llvm-22")
        self.mlir_opt = options.mlir_opt or f"{prefix}/bin/mlir-opt"


def find(name, folder):
    """A tool: in `folder`, on the PATH, or where cargo leaves it."""
    places = [folder] if folder else [None, ROOT / "target/release", ROOT / "target/debug"]
    for place in places:
        found = shutil.which(name, path=place and str(place))
        if found:
            return found
    raise Failure(f"no {name}: run `cargo build --release -p async-tools --bins`, or name its folder with --tools")


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def optimize(tool, source, *flags):
    status, text, errors = run(tool, source, *flags)
    if status:
        raise Failure(f"{source} {' '.join(flags)}\n{errors}")
    return text


# The forms of a loop. Each is text that async-sim runs.


def plain(tools, source, _folder):
    """As it is written: every copy is awaited where it is issued."""
    if "gpux.copy async" in source.read_text(encoding="utf-8"):
        return optimize(tools.async_opt, source, "--gpux-insert-barriers", "--gpux-tokens-to-groups")
    return optimize(tools.async_opt, source)


def exact(tools, source, _folder):
    """Pipelined and counted by async-opt."""
    return optimize(tools.async_opt, source, "--gpux-groups-to-tokens", "--async-pipeline", "--gpux-tokens-to-groups")


def wait_zero(tools, source, folder):
    """The same, but each wait waits for everything."""
    return re.sub(r"(wait_group <\w+>), \d+", r"\1, 0", exact(tools, source, folder))


def upstream(tools, source, folder):
    """Pipelined and counted by the stock mlir-opt."""
    if "gpux." in source.read_text(encoding="utf-8"):
        raise Refused("not asked, since nvgpu has no asynchronous store of a buffer")
    reasons = []
    # Conditions of copies, or else an epilogue: not every operation can be made conditional.
    for options in ("depth = 3", "depth = 3, peel_epilogue"):
        script = folder / "script.mlir"
        script.write_text(UPSTREAM.replace("OPTIONS", options), encoding="utf-8")
        library = f"--transform-preload-library=transform-library-paths={script}"
        status, text, errors = run(tools.mlir_opt, source, library, "--transform-interpreter", "--canonicalize", "--cse")
        if not status:
            return text
        error = re.search(r"error: (.*)", errors)
        if not error:
            raise Failure(f"{source}: {errors}")
        reasons.append(f"`{error[1].strip()}`")
    raise Refused(reasons[0])


FORMS = {"plain": plain, "wait 0": wait_zero, "mlir-opt": upstream, "async-opt": exact}


def count(text):
    """The waits in the pipelined loop and after it, the barriers in it, and the bytes of workgroup memory."""
    around, depth_of_waits = [], None
    events = []
    for line in text.splitlines():
        code = line.strip()
        if code.startswith("}"):
            around.pop()
        loops = sum(around)
        wait = re.search(r"gpux.wait_group <(\w+)>, (\d+)", code)
        if wait:
            events.append((loops, ("bulk " if wait[1] == "bulk" else "") + wait[2]))
        elif "nvgpu.device_async_wait" in code:
            groups = re.search(r"numGroups = (\d+)", code)
            events.append((loops, groups[1] if groups else "0"))
        elif code.startswith("gpu.barrier"):
            events.append((loops, None))
        if code.endswith("{"):
            around.append("scf.for" in code)
    in_loop = [what for loops, what in events if loops and what is not None]
    last = max((i for i, (loops, _) in enumerate(events) if loops), default=-1)
    after = [what for _, what in events[last + 1 :] if what is not None]
    barriers = sum(1 for loops, what in events if loops and what is None)
    return Form(in_loop, after, barriers, workgroup_bytes(text))


def workgroup_bytes(text):
    total = 0
    for shape in re.findall(r"memref\.alloc\(\).* : memref<([\dx]+x\w+), #gpu\.address_space<workgroup>>", text):
        *sizes, element = shape.split("x")
        bytes_ = BYTES[element]
        for size in sizes:
            bytes_ *= int(size)
        total += bytes_
    return total


def simulate(tools, name, text, folder):
    """Runs a form; returns cycles, the cycles that warps wait, whether it is clean, and what it leaves in memory."""
    arguments, results = LOOPS[name]
    path = folder / "form.mlir"
    path.write_text(text, encoding="utf-8")
    flags = ["--trace", os.devnull]
    for i, value in enumerate(arguments):
        flags += ["--arg", f"{i}={value}"]
    for i in results:
        flags += ["--out", f"{i}={folder / f'{i}.npy'}"]
    status, printed, errors = run(tools.async_sim, path, *flags)
    found = re.search(r": (\d+) cycles?; warps wait (\d+):", printed)
    if not found:
        raise Failure(f"{name}: {printed}{errors}")
    memory = [(folder / f"{i}.npy").read_bytes() for i in results]
    return int(found[1]), int(found[2]), status == 0, memory


def compare(tools, name, folder):
    """All forms of a loop; a reason where there is none."""
    source = HERE / "loops" / f"{name}.mlir"
    forms, meant = {}, None
    for form, make in FORMS.items():
        try:
            text = make(tools, source, folder)
        except Refused as refused:
            forms[form] = str(refused)
            continue
        found = count(text)
        found.cycles, found.stalls, clean, memory = simulate(tools, name, text, folder)
        meant = meant or memory
        found.right = clean and memory == meant
        forms[form] = found
    return forms


def table(title, loops, cell):
    lines = [f"### {title}", "", "| loop | " + " | ".join(FORMS) + " |", "|---" + "|---:" * len(FORMS) + "|"]
    for name, forms in loops.items():
        cells = ["–" if isinstance(form, str) else cell(form) + ("" if form.right else " (wrong)") for form in forms.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def waits(form):
    return ", ".join(form.in_loop) + (" / " + ", ".join(form.after) if form.after else "")


def report(loops):
    parts = [
        table("Groups that waits leave in flight: in the loop / after it", loops, waits),
        table("Block barriers in the loop, and bytes of workgroup memory", loops, lambda form: f"{form.barriers}, {form.memory}"),
        table("Cycles of the block, and cycles that its warps wait", loops, lambda form: f"{form.cycles}, {form.stalls}"),
    ]
    refused = [(name, form) for name, forms in loops.items() for form in forms.values() if isinstance(form, str)]
    if refused:
        lines = "".join(f"- {name}: {why}\n" for name, why in refused)
        parts.append(f"### Loops that mlir-opt leaves, and what it says\n\n{lines}")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", help="the folder of async-opt and async-sim (default: the PATH, or what cargo has built)")
    parser.add_argument("--mlir-opt", help="the stock mlir-opt (default: that of LLVM 22)")
    parser.add_argument("--loop", action="append", choices=LOOPS, help="only this loop (may be repeated)")
    parser.add_argument("--record", action="store_true", help="write the tables to RESULTS.md")
    options = parser.parse_args()
    try:
        tools = Tools(options)
        with tempfile.TemporaryDirectory() as folder:
            loops = {name: compare(tools, name, pathlib.Path(folder)) for name in options.loop or LOOPS}
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = report(loops)
    print(text)
    if options.record:
        head = "# Pipelined loops, side by side\n\nWritten by `bench.py --record`; README.md says what is compared.\n\n"
        (HERE / "RESULTS.md").write_text(head + text, encoding="utf-8")
    return 0 if all(forms["async-opt"].right for forms in loops.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
