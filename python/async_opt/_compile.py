"""Passes, and PTX."""

from __future__ import annotations

import ctypes
import operator
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence, Union

from ._diagnostics import Diagnostic, DiagnosticWarning, Error
from ._tools import Source, failure, run, run_checked

# What --gpux-pack-workgroup-memory says of memory that a launch has to ask for.
_DYNAMIC = re.compile(r"packs .* of dynamic workgroup memory: launch the kernel with (\d+) bytes")
_NAME = re.compile(r"@([\w$.-]+)")
_ENTRY = re.compile(r"^\.visible \.entry ([\w$.]+)\((.*?)\)(.*?)^\{(.*?)^\}", re.MULTILINE | re.DOTALL)
# Its type, and its size where it is an array of bytes.
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,\[]*(?:\[(\d+)\])?")
_SHARED = re.compile(r"^\s*\.extern \.shared .*? ([\w$.]+)\[\];", re.MULTILINE)
_THREADS = re.compile(r"\.(?:max|req)ntid (\d+)(?:, (\d+))?(?:, (\d+))?")


_FLOATS = {"f32": ctypes.c_float, "f64": ctypes.c_double}


@dataclass(frozen=True)
class Entry:
    """A kernel in PTX."""

    name: str
    parameters: int
    """How many parameters it has. A memref is several: see :func:`memref_arguments`."""
    block: Optional[tuple[int, int, int]]
    """The threads of a block, if the kernel says how many (`known_block_size`)."""
    dynamic_shared_memory: Optional[int]
    """The bytes of dynamic shared memory that a launch has to ask for. None if the kernel uses such memory and does not say how
    much: it is `gpu.dynamic_shared_memory` of the source."""
    parameter_types: tuple[str, ...] = field(default=(), repr=False)
    """The types of the parameters in PTX: `u64`, `u32`, `f32`, …; `b8[16]` for what is passed as so many bytes."""

    def pack(self, *arguments: Any) -> list[Any]:
        """The arguments of a launch as `ctypes` objects, each of the type that its parameter has.

        An array on a GPU is what :func:`memref_arguments` makes of it. A number becomes what the parameter is, such as a `c_uint32`
        for an `i32` and a `c_float` for an `f32`. What is passed as bytes (an `f16`, a vector) is an object that holds as many, such
        as `numpy.float16(1)`.

        Raises TypeError if there are more or fewer than the kernel has or one does not fit its parameter, and OverflowError if
        a number is too large for it.
        """
        flat = memref_arguments(*arguments)
        if len(flat) != len(self.parameter_types):
            raise TypeError(
                f"{self.name} has {len(self.parameter_types)} parameters, and these arguments are {len(flat)} (a memref of rank n "
                "is 3 + 2 n)"
            )
        return [self._pack(index, value) for index, value in enumerate(flat)]

    def _pack(self, index: int, value: Any) -> Any:
        kind = self.parameter_types[index]
        what = f"parameter {index} of {self.name}"
        if kind.endswith("]"):
            size = int(kind[kind.index("[") + 1 : -1])
            data = memoryview(value).tobytes()
            if len(data) != size:
                raise TypeError(f"{what} is {size} bytes, and this {type(value).__name__} is {len(data)}")
            return (ctypes.c_uint8 * size).from_buffer_copy(data)
        number = getattr(value, "value", value)
        if kind in _FLOATS:
            return _FLOATS[kind](float(number))
        try:
            number = operator.index(number)
        except TypeError:
            raise TypeError(f"{what} is an integer ({kind}), and this is a {type(value).__name__}") from None
        bits = int(kind[1:])
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            raise OverflowError(f"{what} has {bits} bits, and {number} needs more")
        return getattr(ctypes, f"c_uint{bits}")(number)


@dataclass(frozen=True)
class Ptx:
    """PTX of a GPU module."""

    text: str
    entries: tuple[Entry, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Warnings and remarks."""

    def __str__(self) -> str:
        return self.text

    def __bytes__(self) -> bytes:
        """The text as the CUDA driver takes it: it ends with a zero."""
        return self.text.encode() + b"\0"

    @property
    def entry(self) -> Entry:
        """The only kernel there is. Raises ValueError if there are several."""
        if len(self.entries) != 1:
            names = ", ".join(entry.name for entry in self.entries)
            raise ValueError(f"there are {len(self.entries)} kernels: {names or 'none is a kernel'}")
        return self.entries[0]


def compile(
    text: Source,
    chip: str = "sm_80",
    *,
    pipeline: bool = False,
    module: Optional[str] = None,
    timeout: Optional[float] = None,
    **options: Union[str, int, bool, Sequence[str]],
) -> Ptx:
    """Lowers a kernel to PTX.

    `pipeline` makes pipelines of plain loops first. `module` names one GPU module where there are several. `options` are those
    of `--gpux-lower-to-nvvm`, with `_` for `-`: `num_stages=3`, `lint=False`, `features=["+ptx83"]`. What is warned of is also a DiagnosticWarning.

    Raises Error, with locations, if the kernel can't be lowered.
    """
    if "format" in options:
        raise TypeError("compile() makes PTX: there is no option 'format'")
    settings: dict[str, Any] = {"chip": chip, "format": "isa", "pipeline": pipeline, **options}
    written = " ".join(f"{name.replace('_', '-')}={_option(value)}" for name, value in settings.items())
    # Bytecode would be quicker, but is no text.
    lowered, diagnostics = run_checked("async-opt", [f"--gpux-lower-to-nvvm={written}"], text, timeout)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), DiagnosticWarning, stacklevel=2)
    choice = [f"--module={module}"] if module is not None else []
    code, ptx, said = run("async-translate", ["--ptx", *choice], lowered, timeout)
    if code != 0:
        # Places and text are those of the lowered module, which nobody has written.
        found = [one.message.splitlines()[0] for one in failure("async-translate", code, said).errors]
        raise Error("\n".join(found).replace("--module=<name>", "module=") or said.strip())
    return Ptx(ptx, _entries(ptx, diagnostics), diagnostics)


def _option(value: Union[str, int, bool, Sequence[str]]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ",".join(value)


def _entries(ptx: str, diagnostics: tuple[Diagnostic, ...]) -> tuple[Entry, ...]:
    dynamic = set(_SHARED.findall(ptx))
    sizes = dict(filter(None, map(_dynamic_size, diagnostics)))
    entries = []
    for name, parameters, directives, body in _ENTRY.findall(ptx):
        threads = _THREADS.search(directives)
        block = tuple(int(size or 1) for size in threads.groups()) if threads else None
        uses_dynamic = any(re.search(rf"(?<![\w$.]){re.escape(symbol)}(?![\w$.])", body) for symbol in dynamic)
        types = tuple(f"{kind}[{size}]" if size else kind for kind, size in _PARAMETER.findall(parameters))
        entries.append(
            Entry(name, len(types), block, sizes.get(name) if uses_dynamic else 0, types)  # type: ignore[arg-type]
        )
    return tuple(entries)


def _dynamic_size(diagnostic: Diagnostic) -> Optional[tuple[str, int]]:
    """The kernel that a remark is at, and the bytes that it names."""
    size = _DYNAMIC.match(diagnostic.message)
    name = _NAME.search(diagnostic.source or "")
    return (name[1], int(size[1])) if size and name else None


def run_pipeline(text: Source, pipeline: str, *, timeout: Optional[float] = None) -> str:
    """Runs passes, and returns the module that they leave.

    `pipeline` is in MLIR's syntax, such as `gpux-tokens-to-groups{unroll-limit=0},canonicalize`. The `builtin.module(…)` around
    it may be left out. Warnings become DiagnosticWarning.

    Raises Error, with locations, if a pass fails or there is no such pass.
    """
    if not isinstance(pipeline, str):
        raise TypeError(f"the pipeline is a {type(pipeline).__name__}: pass a string, such as 'canonicalize,cse'")
    if not re.match(r"\s*(builtin\.module|any)\s*\(", pipeline):
        pipeline = f"builtin.module({pipeline})"
    output, diagnostics = run_checked("async-opt", [f"--pass-pipeline={pipeline}"], text, timeout)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), DiagnosticWarning, stacklevel=2)
    return output


def explain(text: Source, *, timeout: Optional[float] = None) -> tuple[Diagnostic, ...]:
    """Says for each commit and each await of a kernel in token form why it is what it is.

    The remarks are those of `--gpux-tokens-to-mbarriers=explain` and `--gpux-tokens-to-groups=explain`: which copies are in a
    group, which copies a wait is for, and an execution on which a larger count would be wrong.
    """
    passes = ["--gpux-tokens-to-mbarriers=explain", "--gpux-tokens-to-groups=explain"]
    _, diagnostics = run_checked("async-opt", passes, text, timeout)
    return diagnostics


def memref_arguments(*arguments: Any) -> list[Any]:
    """The arguments of a launch: each array is what a memref is in PTX, and all else stays.

    A memref of rank n is 3 + 2 n parameters of 8 bytes: the pointer twice, the offset 0, n sizes and n strides (in elements).
    Arrays are whatever has `__cuda_array_interface__`: those of CuPy and Numba, and PyTorch's tensors on a GPU. An `index` or
    `i64` is an `int`. What numbers of other sizes have to be, the library that launches says (CuPy: `numpy.int32(8)`);
    :meth:`Entry.pack` knows from the kernel.
    """
    flat: list[Any] = []
    for argument in arguments:
        interface = getattr(argument, "__cuda_array_interface__", None)
        if interface is None:
            flat.append(argument)
            continue
        shape, strides = interface["shape"], interface.get("strides")
        pointer = interface["data"][0]
        flat += [pointer, pointer, 0, *shape]
        if strides is None:
            step = 1
            steps = []
            for size in reversed(shape):
                steps.append(step)
                step *= size
            flat += reversed(steps)
        else:
            itemsize = int(re.sub(r"\D", "", interface["typestr"]))
            flat += [stride // itemsize for stride in strides]
    return flat
