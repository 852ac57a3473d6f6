#!/usr/bin/env python3
"""Times the host runtime and MLIR's own, libmlir_async_runtime.so, on the same graphs of tasks.

README.md says what is measured.

Needs Python 3.9, a C compiler, and `cargo build --release -p async-runtime`.

Exit status: 0 when all programs ran, 1 otherwise. How fast they were changes nothing about it.
"""

import argparse
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LLVM = pathlib.Path("/usr/lib/llvm-22/lib")
# Case, tasks, nanoseconds of work (about), cores; upstream's stack overflows in chains of 200,000.
ROWS = [
    ("independent", 1_000_000, 0, 2),
    ("independent", 1_000_000, 0, 1),
    ("start-await", 100_000, 0, 2),
    ("start-await", 100_000, 0, 1),
    ("chain", 50_000, 0, 2),
    ("chain", 50_000, 0, 1),
    ("fan", 50_000, 0, 2),
    ("fan", 50_000, 0, 1),
    ("independent", 20_000, 20_000, 2),
    ("independent", 20_000, 20_000, 1),
]


def build(folder):
    """Compiles the driver for each runtime."""
    release = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release"
    driver = str(HERE / "bench.c")
    ours, theirs = folder / "ours", folder / "theirs"
    include = ["-I", str(ROOT / "crates/runtime/include")]
    subprocess.run(["cc", "-O2", *include, driver, "-o", ours, f"-L{release}", f"-Wl,-rpath,{release}", "-lasyncopt_rt"], check=True)
    upstream = ["-DUPSTREAM", driver, "-o", theirs, f"-L{LLVM}", f"-Wl,-rpath,{LLVM}", "-l:libmlir_async_runtime.so"]
    subprocess.run(["cc", "-O2", *upstream], check=True)
    return ours, theirs


def run(program, case, tasks, work, cores):
    """Nanoseconds for each task. Both runtimes start a worker for each core that they may use."""
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:cores])
    command = ["taskset", "-c", cpus, str(program), case, str(tasks), str(work)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--record", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    lines = ["| graph | tasks | work | cores | ours | MLIR's | ours is | times |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        programs = build(pathlib.Path(folder))
        for row in ROWS:
            case, tasks, work, cores = row
            # In turns, so that both see the same machine.
            pairs = [[run(program, *row) for program in programs] for _ in range(arguments.rounds)]
            ours, theirs = (statistics.median(times) for times in zip(*pairs))
            ratios = sorted(b / a for a, b in pairs)
            ratio, spread = statistics.median(ratios), f"{ratios[0]:.1f} to {ratios[-1]:.1f}"
            about = f"{work / 1000:.0f} µs" if work else "none"
            lines.append(f"| {case} | {tasks:,} | {about} | {cores} | {ours:,.0f} ns | {theirs:,.0f} ns | {ratio:.1f}× as fast | {spread} |")
            print(lines[-1], flush=True)
    if arguments.record:
        load = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end, {arguments.rounds} rounds."
        text = "# What a task costs\n\nWritten by `bench.py --record`; README.md says what the columns are.\n\n"
        text += f"## {datetime.date.today()}\n\n{load}\n\n" + "\n".join(lines) + "\n"
        (HERE / "RESULTS.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
