from __future__ import annotations

from async_opt import Diagnostic, Location
from async_opt._diagnostics import parse


def test_notes_belong_to_what_they_follow() -> None:
    said = """\
k.mlir:3:5: error: first
    %x = foo
    ^
k.mlir:1:1: note: see this
module {
^
k.mlir:9:2: remark: second
"""
    first, second = parse(said)
    assert (first.severity, first.message, first.source) == ("error", "first", "    %x = foo")
    assert first.location == Location("k.mlir", 3, 5)
    assert first.notes == (Diagnostic("note", "see this", Location("k.mlir", 1, 1), "module {"),)
    assert second == Diagnostic("remark", "second", Location("k.mlir", 9, 2))


def test_messages_have_several_lines() -> None:
    (one,) = parse("k.mlir:1:2: error: a\n  b\n line\n ^\n")
    assert one.message == "a\n  b"
    assert one.source == " line"


def test_places_may_be_unknown() -> None:
    one, two, three = parse('<unknown>:0: error: loc("x"): a\nkernel.mlir: error: b\nwarning: c\n')
    assert [one.location, two.location, three.location] == [None] * 3
    assert [one.message, two.message, three.message] == ['loc("x"): a', "b", "c"]


def test_text_is_what_was_read() -> None:
    said = "k.mlir:1:2: error: a\n\tline\n\t^\nk.mlir:2:1: note: b"
    (one,) = parse(said)
    assert str(one) == said


def test_what_is_no_diagnostic_is_left_out() -> None:
    assert parse("PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: x\n") == ()


def test_location_may_have_colons_in_its_file() -> None:
    assert Location.parse("a:b.mlir:3:4") == Location("a:b.mlir", 3, 4)
    assert Location.parse("loc(unknown)") is None
