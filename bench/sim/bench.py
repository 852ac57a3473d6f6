#!/usr/bin/env python3
"""Times async-sim on programs of growing length: its cost is to be linear in the instructions that it runs.

README.md says what is measured.

Needs Python 3.9 and nothing else.

Exit status: 0 when the tool ran all programs clean, 1 otherwise. How fast it was changes nothing about it.
"""

import argparse
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEPS = (16, 64, 256, 1024)
K_STEPS = (4, 16, 64)
BLOCKS = (4, 64, 1024, 16384, 40960)

WINDOW = """
!Global = memref<?xf32>
!Slots = memref<3x128xf32, #gpu.address_space<workgroup>>
gpu.module @bench {
  gpu.func @window(%src: !Global, %dst: memref<128xf32>, %steps: index) workgroup(%slots: !Slots) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %ready = async.ready
    %t = gpu.thread_id x
    %sum, %rest:2 = scf.for %i = %c0 to %steps step %c1 iter_args(%s = %zero, %x = %ready, %y = %ready)
        -> (f32, !async.token, !async.token) {
      %row = arith.muli %i, %c128 : index
      %from = arith.addi %row, %t : index
      %slot = arith.remui %i, %c3 : index
      %z = gpux.copy async %src[%from], %slots[%slot, %t], 1 : !Global to !Slots
      async.await %x
      %old = arith.addi %i, %c1 : index
      %read = arith.remui %old, %c3 : index
      %there = arith.cmpi uge, %i, %c2 : index
      %next = scf.if %there -> (f32) {
        %v = memref.load %slots[%read, %t] : !Slots
        %added = arith.addf %s, %v : f32
        scf.yield %added : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %next, %y, %z : f32, !async.token, !async.token
    }
    async.await %rest#0, %rest#1
    memref.store %sum, %dst[%t] : memref<128xf32>
    gpu.return
  }
}
"""

ADD = """
!Global = memref<?xf32>
gpu.module @bench {
  gpu.func @add(%a: !Global, %b: !Global, %c: !Global) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %block = gpu.block_id x
    %t = gpu.thread_id x
    %c256 = arith.constant 256 : index
    %first = arith.muli %block, %c256 : index
    %i = arith.addi %first, %t : index
    %x = memref.load %a[%i] : !Global
    %y = memref.load %b[%i] : !Global
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : !Global
    gpu.return
  }
}
"""


class Failure(Exception):
    """The tool did not do what it is measured at."""


def measure(command, runs):
    """Instructions, the median of the seconds, and the largest resident set in MB."""
    seconds, instructions, peak = [], 0, 0
    for _ in range(runs):
        with tempfile.TemporaryFile("w+") as output:
            start = time.perf_counter()
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            seconds.append(time.perf_counter() - start)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read()
        found = re.search(r": clean \(.*, (\d+) instructions\)", text)
        if process.returncode or not found:
            raise Failure(f"{' '.join(command)}\n{text}")
        instructions, peak = int(found.group(1)), usage.ru_maxrss // 1024
    return instructions, statistics.median(seconds), peak


def rows(tool, folder, runs):
    window = pathlib.Path(folder) / "window.mlir"
    window.write_text(WINDOW)
    for steps in STEPS:
        arguments = ["--arg", f"0={128 * steps}:random", "--arg", f"2={steps}"]
        yield ("window", steps, *measure([tool, str(window), *arguments], runs))
    add = pathlib.Path(folder) / "add.mlir"
    add.write_text(ADD)
    for blocks in BLOCKS:
        buffers = [part for i in range(3) for part in ("--arg", f"{i}={256 * blocks}:random")]
        yield ("add", blocks, *measure([tool, str(add), f"--grid={blocks}", *buffers], runs))
    gemm = str(ROOT / "bench" / "gpu" / "reference" / "gemm_sm80.mlir")
    for steps in K_STEPS:
        k = 32 * steps
        sizes = [f"0=128x{k}:random", f"1={k}x128:random", "2=128x128:zero"]
        arguments = [part for size in sizes for part in ("--arg", size)]
        yield ("gemm", steps, *measure([tool, gemm, "--dynamic-workgroup=65536", *arguments], runs))
    sizes = ["0=512x512:random", "1=512x512:random", "2=512x512:zero"]
    arguments = [part for size in sizes for part in ("--arg", size)]
    yield ("gemm 512", 16, *measure([tool, gemm, "--dynamic-workgroup=65536", "--grid=4,4", *arguments], runs))


def report(lines):
    text = ["| program | steps or blocks | instructions | time | per instruction | peak |", "|---|---:|---:|---:|---:|---:|"]
    for program, steps, instructions, seconds, peak in lines:
        each = seconds / instructions * 1e9
        text.append(
            f"| {program} | {steps} | {instructions:,} | {seconds:.3f} s | {each:.0f} ns | {peak} MB |"
        )
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "target" / "release" / "async-sim"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="write RESULTS.md")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            text = report(list(rows(options.tool, folder, options.runs)))
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(text)
    if options.record:
        load = os.getloadavg()[0]
        head = "# How long async-sim takes\n\nWritten by `bench.py --record`; README.md says what the columns are.\n"
        date = f"\n## {datetime.date.today()}\n\n{os.cpu_count()} cores, load average {load:.1f} at the end.\n\n"
        (HERE / "RESULTS.md").write_text(head + date + text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
