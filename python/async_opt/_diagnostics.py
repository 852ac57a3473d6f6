"""What MLIR prints on standard error, as objects."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Optional, Sequence

# `file:line:column: severity: message`; without a place where MLIR knows none.
_HEADER = re.compile(
    r"(?:(?P<file>[^\n]*?):(?P<line>\d+)(?::(?P<column>\d+))?: |(?P<input>[^\s:][^\n:]*): )?"
    r"(?P<severity>error|warning|remark|note): (?P<message>.*)"
)
_CARET = re.compile(r"[ \t]*[~^][ \t~^]*")


@dataclass(frozen=True)
class Location:
    """A place in a file. Text that was passed as a string is the file `<string>`.

    `line` and `column` count from 1.
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @staticmethod
    def parse(text: str) -> Optional[Location]:
        """`file:line:column`, or None if `text` is something else, such as `loc(unknown)`."""
        match = re.fullmatch(r"(.*):(\d+):(\d+)", text)
        return Location(match[1], int(match[2]), int(match[3])) if match else None


@dataclass(frozen=True)
class Diagnostic:
    """An error, a warning or a remark, with its notes."""

    severity: str
    """`error`, `warning`, `remark` or `note`."""
    message: str
    location: Optional[Location] = None
    """None where MLIR knows no place in a file."""
    source: Optional[str] = None
    """The line of the file at `location`, if it could be read."""
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        lines = [f"{place}{self.severity}: {self.message}"]
        if self.source is not None:
            lines.append(self.source)
            if self.location:
                # Tabs stay, so that the caret is below its column.
                before = self.source[: self.location.column - 1]
                lines.append(re.sub(r"[^\t]", " ", before) + "^")
        return "\n".join([*lines, *map(str, self.notes)])


class Error(Exception):
    """A tool has refused its input. The message is what it said."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        """What it said, in order: errors, warnings and remarks."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors alone."""
        return tuple(one for one in self.diagnostics if one.severity == "error")

    @property
    def location(self) -> Optional[Location]:
        """Where the first error is."""
        return next((error.location for error in self.errors), None)


class CrashError(Error):
    """A tool has not come to an end: a signal has ended it. That is a bug in the tool, or in LLVM; please report it."""


class TimeoutExpired(Error):
    """A tool has not come to an end in the time that it was given, and was ended."""


class DiagnosticWarning(UserWarning):
    """What a tool has warned of."""


@dataclass
class _Open:
    """A diagnostic whose lines are being read."""

    severity: str
    location: Optional[Location]
    lines: list[str]
    source: Optional[str] = None
    notes: list[Diagnostic] = field(default_factory=list)

    def close(self) -> Diagnostic:
        # MLIR ends what it prints of an operation with a blank line.
        message = "\n".join(self.lines).rstrip()
        return Diagnostic(self.severity, message, self.location, self.source, tuple(self.notes))


def parse(text: str) -> tuple[Diagnostic, ...]:
    """The diagnostics in what a tool has printed on standard error.

    Lines before the first are no diagnostic, and left out.
    """
    groups: list[list[_Open]] = []
    for line in text.splitlines():
        header = _HEADER.fullmatch(line)
        if header:
            one = _open(header)
            # A note belongs to what it follows.
            if one.severity == "note" and groups:
                groups[-1].append(one)
            else:
                groups.append([one])
        elif groups:
            last = groups[-1][-1]
            if _CARET.fullmatch(line) and len(last.lines) > 1 and last.source is None:
                last.source = last.lines.pop()
            else:
                last.lines.append(line)
    diagnostics = []
    for main, *notes in groups:
        main.notes = [note.close() for note in notes]
        diagnostics.append(main.close())
    return tuple(diagnostics)


def _open(header: re.Match[str]) -> _Open:
    location = None
    message = header["message"]
    if header["column"]:
        location = Location(header["file"], int(header["line"]), int(header["column"]))
    return _Open(header["severity"], location, [message])
