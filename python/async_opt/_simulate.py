"""Running kernels on the CPU."""

from __future__ import annotations

import html
import json
import numbers
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

from ._diagnostics import Diagnostic, Error, Location, parse
from ._tools import Source, failure, run, source_file, without_folder


# What the tool says of a number that it was not told.
_TAKEN = re.compile(r"argument (\d+) of (\S+) is taken to be ([^:]+):")


@dataclass(frozen=True)
class Instance:
    """An operation, as one thread has executed it."""

    op: str
    """The name of the operation, such as `memref.load`."""
    location: Optional[Location]
    thread: int
    """In its block, linear."""
    block: int
    """In the grid, linear."""
    loops: tuple[tuple[str, int], ...]
    """The loops around, outermost first, each with its iteration, counted from 0."""

    def __str__(self) -> str:
        iterations = "".join(f", iteration {iteration} of {loop}" for loop, iteration in self.loops)
        return f"{self.op} at {self.location}, thread {self.thread} of block {self.block}{iterations}"


@dataclass(frozen=True)
class Finding:
    """What is wrong: two accesses that nothing orders, say. `docs/async-sim/reports.md` lists the kinds."""

    kind: str
    """`RAW`, `WAR`, `WAW`, `uninitialized-read`, `deadlock`, …"""
    severity: str
    """`error`, or `note` for what does no harm."""
    cause: str
    """What kind of mistake it is: `wait`, `barrier`, `slot`, `fence`, …"""
    message: str
    advice: Optional[str]
    """How to fix it."""
    at: Optional[Instance]
    """The operation that completes the race, or is wrong by itself."""
    against: Optional[Instance]
    """The other operation of a race."""
    last_wait: Optional[Instance]
    """Where a wait is missing or leaves too much in flight: the last one before `at`."""
    buffer: Optional[str]
    bytes: Optional[tuple[int, int]]
    """The first and the last byte of the first occurrence, in `buffer`."""
    count: Optional[int]
    """How many bytes have collided in all."""
    raw: Mapping[str, Any]
    """All that `async-sim --json` says of it."""

    @property
    def location(self) -> Optional[Location]:
        """Where `at` is."""
        return self.at.location if self.at else None

    @property
    def notes(self) -> tuple[str, ...]:
        """The rest, in words: the other operation, the last wait, the advice."""
        notes = [f"against {self.against}"] if self.against else []
        notes += [f"last wait: {self.last_wait}"] if self.last_wait else []
        notes += [f"help: {self.advice}"] if self.advice else []
        return tuple(notes)

    def __str__(self) -> str:
        op = f"{self.at.op} " if self.at else ""
        return f"{self.location}: {self.severity}: {self.kind}: {op}{self.message}"


@dataclass(frozen=True)
class Timeline:
    """When the warps of the first block run and wait, in the cycles of a simple model."""

    cycles: int
    stall: int
    """How long the warps wait, in total: the sum of the three below."""
    copies: int
    barriers: int
    mbarriers: int
    svg: str
    """A picture."""
    html: str
    """A page to look around in, which needs nothing else."""

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return (
            '<iframe style="width: 100%; height: 480px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )


@dataclass(frozen=True)
class Report:
    """What has come of a kernel's run."""

    kernel: str
    clean: bool
    """True if nothing is wrong; notes don't count."""
    findings: tuple[Finding, ...]
    """All, one for each pair of operations and kind. `text` groups them by cause."""
    text: str
    """The report for people."""
    printed: str
    """What the kernel has printed, by `gpu.printf`."""
    runs: int
    all_runs: bool
    """False if an exhaustive search was cut off."""
    instructions: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    refines: Optional[str]
    """With `refines`: how the kernel waits for less than the other form, or None if it does not."""
    timeline: Optional[Timeline]
    diagnostics: tuple[Diagnostic, ...]
    """What the tool has said besides, such as which arguments it has made up."""

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        picture = self.timeline.svg if self.timeline else ""
        return f"<pre>{html.escape(self.text)}</pre>{picture}"


Argument = Union[None, int, float, bool, str, Any]


def simulate(
    text: Source,
    args: Union[Sequence[Argument], Mapping[int, Argument]] = (),
    *,
    kernel: Optional[str] = None,
    block: Union[None, int, Sequence[int]] = None,
    grid: Union[None, int, Sequence[int]] = None,
    dynamic_workgroup: Optional[int] = None,
    schedule: str = "late",
    runs: Optional[int] = None,
    seed: int = 0,
    strict_proxies: bool = False,
    budget: Optional[int] = None,
    refines: Optional[Source] = None,
    timeline: bool = False,
    costs: Optional[Mapping[str, int]] = None,
    timeout: Optional[float] = None,
) -> Report:
    """Runs a kernel on the CPU, thread by thread, and reports races, deadlocks and other mistakes.

    `args` are by position, or by number. Each is

    - a NumPy array, whose contents are those of the kernel's buffer, before and, unless it can't be written to, after the run
      (the last run, if there are several). The same array twice is one buffer. For `bf16` and `f8`, use the types of `ml_dtypes`, or
      integers of that width;
    - a number or a bool;
    - a string, as the tool takes it: `"random"`, `"128x64:ramp"`, `"zero"`, `"file.npy"`, `"@0"` for the buffer of argument 0;
    - None, for the tool's default: random contents, the integer 0, the number 1. Where some arguments are passed, numbers have to be.

    `kernel` is needed where there are several. `refines` is another form of the kernel, which must not wait for more than this
    one. `timeline` draws one, at `costs` in cycles. The other parameters are options of `async-sim`, which `docs/async-sim.md` has.

    Raises Error if the kernel can't be read or run. Findings are no exception: look at `clean`.
    """
    options = ["--json", f"--schedule={schedule}", f"--seed={seed}"]
    values = {
        "kernel": kernel,
        "block": _sizes(block),
        "grid": _sizes(grid),
        "dynamic-workgroup": dynamic_workgroup,
        "runs": runs,
        "budget": budget,
    }
    options += [f"--{name}={value}" for name, value in values.items() if value is not None]
    options += ["--strict-proxies"] if strict_proxies else []
    options += [f"--cost={name}={cycles}" for name, cycles in (costs or {}).items()]
    with tempfile.TemporaryDirectory(prefix="async-opt-") as name:
        folder = Path(name)
        given = dict(args) if isinstance(args, Mapping) else dict(enumerate(args))
        arrays = _Arrays(folder, given)
        options += arrays.options
        drawings = [folder / "timeline.svg", folder / "timeline.html"]
        if timeline:
            options += [f"--timeline={drawing}" for drawing in drawings]
        if refines is not None:
            options.append(f"--refines={source_file(refines, folder, '<refines>')}")
        code, output, said = run("async-sim", options, text, timeout, folder)
        reports = json.loads(output) if output else []
        # What is clean has no exit code but 0, unless something could not be done.
        if not reports or code != 0 and all(report["clean"] and _refusal(report) is None for report in reports):
            raise failure("async-sim", code, said)
        if len(reports) > 1:
            names = ", ".join(report["kernel"] for report in reports)
            raise Error(f"there are {len(reports)} kernels: {names}; `kernel` says which to run")
        diagnostics = parse(said)
        if given:
            _check_given(given, diagnostics)
        arrays.read_back()
        pictures = [without_folder(one.read_text("utf-8"), folder) for one in drawings] if timeline else None
    return _report(reports[0], pictures, diagnostics)


def _check_given(args: Mapping[int, Argument], diagnostics: Sequence[Diagnostic]) -> None:
    """Raises Error if some arguments were passed, and a number was not."""
    for diagnostic in diagnostics:
        missing = _TAKEN.match(diagnostic.message)
        if missing and int(missing[1]) not in args:
            raise Error(
                f"argument {missing[1]} of {missing[2]} is missing: pass a number, or None for {missing[3]}", diagnostics
            )


class _Arrays:
    """Arguments, and the files that arrays are in while a kernel runs."""

    def __init__(self, folder: Path, args: Mapping[int, Argument]) -> None:
        self.options: list[str] = []
        self.outputs: list[tuple[Any, Path]] = []
        self.first: list[tuple[int, Any]] = []
        for index, value in args.items():
            if value is not None:
                self.options += ["--arg", f"{index}={self._value(folder, index, value)}"]

    def _value(self, folder: Path, index: int, value: Argument) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return "true" if value else "false"
        if isinstance(value, numbers.Integral):
            return str(int(value))
        if isinstance(value, numbers.Real):
            return repr(float(value))
        return self._array(folder, index, value)

    def _array(self, folder: Path, index: int, array: Any) -> str:
        try:
            import numpy
        except ImportError:
            numpy = None  # type: ignore[assignment]
        if numpy is None or not isinstance(array, numpy.ndarray):
            raise TypeError(
                f"argument {index} is a {type(array).__name__}: pass a NumPy array (of a tensor on the CPU: `tensor.numpy()`), a "
                "number, a string or None"
            )
        for other, known in self.first:
            if known is array:
                shape = "x".join(map(str, array.shape))
                return f"{shape}:@{other}" if shape else f"@{other}"
            if numpy.may_share_memory(known, array):
                raise ValueError(
                    f"arguments {other} and {index} may overlap in memory: pass the same array twice for one buffer, or a copy"
                )
        self.first.append((index, array))
        source = folder / f"{index}.npy"
        numpy.save(source, numpy.array(_plain(array), order="C"), allow_pickle=False)
        if array.flags.writeable:
            target = folder / f"{index}.out.npy"
            self.options += ["--out", f"{index}={target}"]
            self.outputs.append((array, target))
        return str(source)

    def read_back(self) -> None:
        """Puts what the kernel has left into the arrays."""
        for array, path in self.outputs:
            import numpy

            if path.exists():
                _plain(array)[...] = numpy.load(path).view(_plain(array).dtype).reshape(array.shape)


def _plain(array: Any) -> Any:
    """A view with numbers that a `.npy` file has: `ml_dtypes` has types that NumPy has not."""
    if array.dtype.kind == "V" and array.dtype.itemsize <= 2:
        return array.view({1: "u1", 2: "<u2"}[array.dtype.itemsize])
    return array


def _sizes(sizes: Union[None, int, Sequence[int]]) -> Optional[str]:
    if isinstance(sizes, str):
        raise TypeError(f"{sizes!r} is a string: pass numbers, such as (128, 1, 1)")
    return None if sizes is None else ",".join(map(str, [sizes] if isinstance(sizes, int) else sizes))


def _instance(data: Optional[Mapping[str, Any]]) -> Optional[Instance]:
    if data is None:
        return None
    loops = tuple((loop["loop"], loop["iteration"]) for loop in data["loops"])
    return Instance(data["op"], Location.parse(data["location"]), data["thread"], data["block"], loops)


def _finding(data: Mapping[str, Any]) -> Finding:
    touched = data.get("bytes")
    return Finding(
        kind=data["kind"],
        severity=data["severity"],
        cause=data["cause"],
        message=data["message"],
        advice=data.get("advice"),
        at=_instance(data["at"]),
        against=_instance(data.get("against")),
        last_wait=_instance(data.get("last_wait")),
        buffer=data.get("buffer"),
        bytes=(touched[0], touched[1]) if touched else None,
        count=data.get("count"),
        raw=data,
    )


def _refusal(data: Mapping[str, Any]) -> Optional[str]:
    """What keeps the kernel from refining the other form, if anything does."""
    return (data.get("refines") or {}).get("message")


def _report(data: Mapping[str, Any], pictures: Optional[Sequence[str]], said: tuple[Diagnostic, ...]) -> Report:
    timeline = None
    if pictures is not None and data["cycles"] is not None:
        timeline = Timeline(data["cycles"], data["stall"], **data["waits"], svg=pictures[0], html=pictures[1])
    refines = _refusal(data)
    return Report(
        kernel=data["kernel"],
        clean=data["clean"] and refines is None,
        findings=tuple(map(_finding, data["findings"])),
        text=data["report"] + (f"{refines}\n" if refines else ""),
        printed=data["printed"],
        runs=data["runs"],
        all_runs=data["all_runs"],
        instructions=data["instructions"],
        grid=tuple(data["grid"]),
        block=tuple(data["block"]),
        refines=refines,
        timeline=timeline,
        diagnostics=said,
    )
