#!/usr/bin/env python3
"""Runs the kernels of examples/ on a GPU, checks what they compute, and measures what their exact waits are worth.

Every kernel runs twice: as async-opt lowers it, and with nothing under way while it waits. For the kernels of sm_80 that
is every `cp.async.wait_group` of the PTX set to 0; for those of sm_90, an await in the source right after each load, copy
and store. The GEMMs run beside the library's (cuBLAS), copies beside the driver's device-to-device copy. README.md says how
to run it.

Needs Python 3.9 and nothing else: the CUDA driver and cuBLAS are called through ctypes.

Exit status: 0 when every result is right, and also (with a message) where there is no GPU; 1 otherwise.
"""

import argparse
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys

import attention
import gemm
import loops
import scale
import tiles
from cuda import Cuda, Failure, Kernel, NoGpu, entry_point

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The examples, and what they are lowered for. Code for sm_90a runs on capability 9.0, and on no other.
EXAMPLES = {
    "gemm_sm80": "sm_80",
    "double_buffered_copy": "sm_80",
    "predicated_copy": "sm_80",
    "stencil": "sm_80",
    "gather": "sm_80",
    "linear_attention": "sm_80",
    "linalg_matmul": "sm_80",
    "gemm_sm90": "sm_90a",
    "gemm_wgmma": "sm_90a",
    "gemm_wgmma_roles": "sm_90a",
    "attention_wgmma": "sm_90a",
    "tma_reduction": "sm_90a",
    "mixed_pointwise": "sm_90a",
}
# Options that an example is written for.
OPTIONS = dict.fromkeys(["gemm_wgmma", "gemm_wgmma_roles"], "computed-slots=true round-rings=true")
AT_ONCE = ".at-once.ptx"  # what the name of a kernel without pipelining ends with
NOT_MEASURED = "Not yet measured."


# ---------------------------------------------------------------------------------------------------------------------
# From .mlir to PTX
# ---------------------------------------------------------------------------------------------------------------------


def tool(name):
    """The command line that runs one of our tools: $ASYNC_OPT or the like, else the one that cargo builds."""
    path = os.environ.get(name.upper().replace("-", "_")) or (None if shutil.which("cargo") else shutil.which(name))
    return [path] if path else ["cargo", "run", "--release", "-q", "-p", "async-tools", "--bin", name, "--"]


def run_tool(command, text=None):
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
    except OSError as error:
        raise Failure(f"can't run {command[0]}: {error}") from error
    if done.returncode:
        raise Failure(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout


def lower(source, chip, more=""):
    # A transform script, if there is one, says how to pipeline.
    script = "transform.with_named_sequence" in source
    before = ["--transform-interpreter", "--gpu-kernel-outlining", "--transform-interpreter=entry-point=pipeline"] if script else []
    options = f"chip={chip} format=isa pipeline={'false' if script else 'true'} {more}".rstrip()
    binary = run_tool(tool("async-opt") + ["-", *before, f"--gpux-lower-to-nvvm={options}"], source)
    return run_tool(tool("async-translate") + ["--ptx"], binary)


def lower_example(example):
    """The PTX of an example, and that of the example without pipelining."""
    source, chip = (ROOT / "examples" / f"{example}.mlir").read_text(), EXAMPLES[example]
    if example == "linalg_matmul":
        source = gemm.with_size(source)
    more = OPTIONS.get(example, "")
    ptx = lower(source, chip, more)
    return ptx, with_every_wait_0(ptx) if chip == "sm_80" else lower(with_every_await_at_once(source), chip, more)


def waits(ptx):
    return [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx)]


def with_every_wait_0(ptx):
    return re.sub(r"(cp\.async\.wait_group\s+)\d+", r"\g<1>0", ptx)


def with_every_await_at_once(source):
    """Awaits the asynchronous operations of `source` right after them, those of lines in a row together.

    A store is awaited until its buffer has been read. A plain loop does that once it has no stages.
    """
    if "async.stage" in source or "async.num_stages" in source:
        return re.sub(r"(, )?async\.(stage|order|num_stages) = \d+", "", source)
    line = r"^( *)(%\w+)(?:, %\w+)? = gpux\.(?:tma_load|tma_store|copy) async .*\n"

    def awaited(match):
        tokens = [token for _, token in re.findall(line, match.group(), re.M)]
        return f"{match.group()}{match.group(1)}async.await {', '.join(tokens)}\n"

    return re.sub(f"(?:{line})+", awaited, source, flags=re.M)


def is_for_sm90(ptx):
    return ".target sm_90a" in ptx


def summary(ptx):
    """How a kernel waits."""
    bytes_of_mbarriers = sum(map(int, re.findall(r"\.b8 __mbarrier\w*\[(\d+)\]", ptx)))
    parts = [f"{bytes_of_mbarriers // 8} mbarriers"] if bytes_of_mbarriers else []
    if counts := waits(ptx):
        parts.append("waits " + ", ".join(map(str, counts)))
    return ", ".join(parts)


# ---------------------------------------------------------------------------------------------------------------------
# The run
# ---------------------------------------------------------------------------------------------------------------------


def read_ptx(path):
    """The PTX in a file, and that of the kernel without pipelining: from the file beside it, or made of the first.

    There is no way to make it of PTX for sm_90: then it is left out.
    """
    ptx, beside = path.read_text(), path.with_name(path.stem + AT_ONCE)
    if beside.exists():
        return ptx, beside.read_text()
    return ptx, None if is_for_sm90(ptx) else with_every_wait_0(ptx)


def load(cuda, ptx, at_once):
    """The kernel as it was lowered, and without pipelining."""
    shared = gemm.SHARED.get(entry_point(ptx), 0)
    kernels = [Kernel(cuda, ptx, summary(ptx), shared)]
    if at_once:
        kernels.append(Kernel(cuda, at_once, "every wait at once", shared))
    print(f"{kernels[0].name}: {kernels[0].label}; {kernels[0].registers} registers, {kernels[0].local_bytes} bytes spilled")
    return kernels


RUNS = {
    gemm.SM80: gemm.run_gemm,
    gemm.SM90: gemm.run_gemm,
    gemm.WGMMA: gemm.run_gemm,
    gemm.ROLES: gemm.run_gemm,
    gemm.LINALG: gemm.run_linalg,
    scale.SCALE: scale.run_scale,
    scale.SCALE_RAGGED: scale.run_scale,
    loops.STENCIL: loops.run_loop,
    loops.GATHER: loops.run_loop,
    loops.ATTENTION: loops.run_loop,
    attention.ATTENTION: attention.run_attention,
    tiles.REDUCTION: tiles.run_tiles,
    tiles.POINTWISE: tiles.run_tiles,
}


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


def emit(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        ptx, at_once = lower_example(example)
        (folder / f"{example}.ptx").write_text(ptx)
        (folder / (example + AT_ONCE)).write_text(at_once)
        print(f"{folder / example}.ptx: {summary(ptx)}")


def main():
    options = parse_options()
    if options.emit:
        emit(options.emit)
        return
    cuda = Cuda()
    print(f"{cuda.name}, sm_{cuda.capability[0]}{cuda.capability[1]}, {cuda.multiprocessors} multiprocessors, "
          f"driver for CUDA {cuda.version}")
    texts = map(read_ptx, options.ptx) if options.ptx else map(lower_example, EXAMPLES)
    tables = []
    for ptx, at_once in texts:
        run = RUNS.get(entry_point(ptx))
        if not run:
            raise Failure(f"kernel `{entry_point(ptx)}` is none of {', '.join(RUNS)}")
        if is_for_sm90(ptx) and cuda.capability != (9, 0):
            print(f"{entry_point(ptx)}: skipped, for it needs capability 9.0")
            continue
        tables += run(cuda, load(cuda, ptx, at_once), options)
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
