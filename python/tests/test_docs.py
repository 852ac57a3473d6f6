"""What `docs/python.md` shows is what happens.

Its Python blocks are run one after the other, and print what the text block below says. A line `…` stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^(<!-- needs a GPU -->\n)?```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def is_shown(shown: str, actual: str) -> bool:
    lines = [re.escape(line.strip()) for line in shown.splitlines() if line.strip()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == "…" else line for line in lines)
    return re.fullmatch(pattern, "\n".join(line.strip() for line in actual.splitlines() if line.strip())) is not None


def test_page_shows_what_happens() -> None:
    page = PAGE.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    printed, blocks = "", 0
    for match in BLOCK.finditer(page):
        needs_gpu, kind, text = match.groups()
        where = f"{PAGE}:{page.count(chr(10), 0, match.start()) + 2}"
        code = compile("\n" * 0 + text, where, "exec") if kind == "python" else None
        if kind == "text":
            assert is_shown(text, printed), f"{where}: printed is\n{printed}"
            printed = ""
        elif not needs_gpu:
            assert code is not None
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed = output.getvalue()
            blocks += 1
    assert blocks > 8


def test_left_out_lines() -> None:
    assert is_shown("a\n…\nc\n", "a\nb\nb\nc\n")
    assert is_shown("a\n…\n", "a\nb\n")
    assert not is_shown("a\n…\nc\n", "a\nb\n")
    assert not is_shown("a\n", "a\nb\n")
