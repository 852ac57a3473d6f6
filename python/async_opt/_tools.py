"""Running the tools."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional, Sequence, Union

from ._diagnostics import CrashError, Diagnostic, Error, TimeoutExpired, parse

Source = Union[str, "os.PathLike[str]"]
"""MLIR as a string, or the path of a file with it."""


def executable() -> str:
    """The path of the executable that has all tools.

    It is the one in this package. A package that was installed without it, from the sources, uses `async-tools` of the `PATH`.
    """
    inside = Path(__file__).parent / "async-tools"
    if inside.is_file():
        return str(inside)
    found = shutil.which("async-tools")
    if found is None:
        raise FileNotFoundError(
            f"there is no {inside}, and no async-tools on the PATH: install the wheel of async-opt, or build the executable "
            "with `cargo build --release -p async-tools`"
        )
    return found


def run(
    tool: str,
    arguments: Sequence[str],
    source: Source,
    timeout: Optional[float] = None,
    folder: Optional[Path] = None,
) -> tuple[int, str, str]:
    """Runs `tool` on `source`; returns the exit code, and what is on standard output and standard error.

    Text is put into a file of a temporary `folder`, since `async-sim` looks names up in it. What is printed does not have the
    path of the folder.

    Raises CrashError if a signal has ended the tool, and TimeoutExpired after `timeout` seconds.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="async-opt-") as name:
            return run(tool, arguments, source, timeout, Path(name))
    path = source_file(source, folder, "<string>")
    try:
        result = subprocess.run(
            # The executable goes by the name that it is called by.
            [tool, path, *arguments],
            executable=executable(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutExpired(f"{tool} has not ended after {timeout} seconds") from None
    output, said = without_folder(result.stdout, folder), without_folder(result.stderr, folder)
    if result.returncode < 0:
        signal_name = signal.Signals(-result.returncode).name
        raise CrashError(f"{tool} was ended by {signal_name}:\n{said}", parse(said))
    return result.returncode, output, said


def source_file(source: Source, folder: Path, name: str) -> str:
    """The path of a file with `source`: its own, or of a new one in `folder`."""
    if not isinstance(source, str):
        return os.fspath(source)
    path = folder / name
    path.write_text(source, "utf-8")
    return str(path)


def without_folder(text: str, folder: Path) -> str:
    """Removes a temporary folder from the paths that a tool has printed."""
    return text.replace(f"{folder}{os.sep}", "")


def run_checked(
    tool: str, arguments: Sequence[str], source: Source, timeout: Optional[float] = None
) -> tuple[str, tuple[Diagnostic, ...]]:
    """Runs `tool`; returns its output and its diagnostics. Raises Error if it fails."""
    code, output, said = run(tool, arguments, source, timeout)
    if code != 0:
        raise failure(tool, code, said)
    return output, parse(said)


def failure(tool: str, code: int, said: str) -> Error:
    """What to raise for a tool that has ended with an exit code other than 0."""
    diagnostics = parse(said)
    errors = [one for one in diagnostics if one.severity == "error"]
    # An option that has a wrong value is named in a line before the error, which is empty.
    is_told = all(one.message for one in errors)
    message = "\n".join(map(str, errors if is_told else ())) or said.strip() or f"{tool} has ended with the exit code {code}"
    return Error(message, diagnostics)


def _become(tool: str) -> None:
    path = executable()
    os.execv(path, [tool, *sys.argv[1:]])


def run_opt() -> None:
    """The command `async-opt`."""
    _become("async-opt")


def run_translate() -> None:
    """The command `async-translate`."""
    _become("async-translate")


def run_sim() -> None:
    """The command `async-sim`."""
    _become("async-sim")


def run_verify() -> None:
    """The command `async-verify`."""
    _become("async-verify")


def run_lsp_server() -> None:
    """The command `async-lsp-server`."""
    _become("async-lsp-server")
