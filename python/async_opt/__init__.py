"""Exactly counted asynchronous copies for GPUs.

- :func:`compile` takes a kernel to PTX, :func:`run_pipeline` runs any passes, :func:`explain` says why each wait has its count.
- :func:`simulate` runs a kernel on the CPU and reports races.
- What the tools say is a :class:`Diagnostic`; errors among it are raised as :class:`Error`.

Each call is a process of its own, of an executable that is part of the package. So LLVM ends at most that process, and shares
nothing with another LLVM in this one.
"""

from ._compile import Entry, Ptx, compile, explain, memref_arguments, run_pipeline
from ._diagnostics import CrashError, Diagnostic, DiagnosticWarning, Error, Location, TimeoutExpired
from ._simulate import Finding, Instance, Report, Timeline, simulate
from ._tools import executable

__version__ = "0.1.0"

__all__ = [
    "CrashError",
    "Diagnostic",
    "DiagnosticWarning",
    "Entry",
    "Error",
    "Finding",
    "Instance",
    "Location",
    "Ptx",
    "Report",
    "Timeline",
    "TimeoutExpired",
    "compile",
    "executable",
    "explain",
    "memref_arguments",
    "run_pipeline",
    "simulate",
]
