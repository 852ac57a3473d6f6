#!/usr/bin/env python3
"""Runs whole programs on a GPU with `async-opt run --device=cuda`, and compares what they print with the interpreter's (--device=host).

Without a GPU, it says so and exits with 0; it exits with 1 if a program fails, or prints something else. Programs given as arguments are run in
the place of those that the repository has.
"""

import os
import pathlib
import re
import subprocess
import sys

from cuda import Cuda, Failure, NoGpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = [
    ROOT / "crates/runtime/tests/mlir/add-one.mlir",
    *(ROOT / f"test/Run/rfc-program-{number}.mlir" for number in (1, 2, 3)),
]


def async_opt():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return os.environ.get("ASYNC_OPT", str(target / "debug/async-opt"))


def run(program, device):
    """What a program prints, without addresses, and what it reports; the census has to be clean."""
    environment = {**os.environ, "ASYNCOPT_CENSUS": "1"}
    command = [async_opt(), "run", str(program), f"--device={device}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    printed = re.sub(r"base@ = 0x[0-9a-f]+", "base@ = …", done.stdout)
    clean = done.returncode == 0 and "0 tokens, 0 tasks" in done.stderr and "0 device allocations" in done.stderr
    return printed, clean, done.stderr


def main():
    try:
        gpu = Cuda()
    except NoGpu as reason:
        print(f"no GPU found: {reason}")
        return 0
    print(f"{gpu.name}, CUDA {gpu.version}")
    wrong = 0
    for program in [pathlib.Path(argument) for argument in sys.argv[1:]] or PROGRAMS:
        expected, there, why_there = run(program, "host")
        printed, here, why = run(program, "cuda")
        good = there and here and printed == expected
        wrong += not good
        print(f"{program.name}: {'equal' if good else 'WRONG'}")
        if not good:
            print(f"on the host:\n{expected}{why_there}\non the GPU:\n{printed}{why}")
    return int(wrong > 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"programs.py: {failure}")
