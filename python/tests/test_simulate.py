from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import async_opt


def tiles(count: int) -> np.ndarray:
    return np.arange(count * 128, dtype=np.float32)


def test_arrays_are_changed_in_place(right: str) -> None:
    src, dst = tiles(2), np.zeros(256, np.float32)
    report = async_opt.simulate(right, [src, dst, 2])
    assert report.clean, report
    assert (dst.reshape(2, 128) == src.reshape(2, 128)[:, ::-1]).all()
    assert report.kernel == "reverse"
    assert (report.block, report.grid, report.runs) == ((128, 1, 1), (1, 1, 1), 1)
    assert report.findings == ()
    assert report.timeline is None


def test_views_are_changed_in_place(right: str) -> None:
    memory = np.full((2, 256), -1, np.float32)
    report = async_opt.simulate(right, [tiles(1), memory[1, ::2], 1])
    assert report.clean, report
    assert (memory[0] == -1).all() and (memory[1, 1::2] == -1).all()
    assert (memory[1, ::2] == tiles(1)[::-1]).all()


def test_arrays_that_cannot_be_written_to_stay(right: str) -> None:
    src = tiles(1)
    src.flags.writeable = False
    report = async_opt.simulate(right, {0: src, 1: "128:zero", 2: 1})
    assert report.clean, report


def test_race_is_a_finding(wait_after_barrier: str) -> None:
    report = async_opt.simulate(wait_after_barrier, [tiles(2), np.zeros(256, np.float32), 2])
    assert not report.clean
    race = report.findings[0]
    assert (race.kind, race.severity, race.cause) == ("RAW", "error", "barrier")
    assert race.at is not None and race.at.op == "memref.load"
    assert race.against is not None and race.against.op == "gpux.copy"
    assert race.location is not None
    assert "%x = memref.load" in wait_after_barrier.splitlines()[race.location.line - 1]
    # Names are those of the text.
    assert race.buffer == "workgroup buffer %tile"
    assert race.count is not None and race.count > 0
    assert any(note.startswith("help: put a gpu.barrier after the wait") for note in race.notes)
    assert race.raw["kind"] == "RAW"
    assert "not clean" in str(report)
    assert "RAW race" in report.text
    assert "<pre>" in report._repr_html_()


def test_timeline_is_a_picture_and_a_page(right: str) -> None:
    report = async_opt.simulate(right, [tiles(1), np.zeros(128, np.float32), 1], timeline=True, costs={"latency": 700})
    timeline = report.timeline
    assert timeline is not None
    assert timeline.cycles > 700
    assert timeline.stall == timeline.copies + timeline.barriers + timeline.mbarriers
    assert timeline._repr_svg_().startswith("<svg")
    assert timeline.html.startswith("<!DOCTYPE html>")
    assert "reverse in &lt;string&gt;" in timeline.html
    assert "srcdoc=" in timeline._repr_html_()
    assert "<svg" in report._repr_html_()


def test_other_form_that_waits_for_more(tokens: str) -> None:
    counted = async_opt.run_pipeline(tokens, "gpux-tokens-to-groups")
    args = [tiles(1), "128:zero", 1]
    assert async_opt.simulate(counted, args, refines=tokens).clean
    relaxed = counted.replace("<cp_async>, 0", "<cp_async>, 1")
    report = async_opt.simulate(relaxed, args, refines=tokens)
    assert not report.clean
    assert report.refines is not None and "may be in flight" in report.refines


INCREMENT = """
func.func @k(%a: memref<4x{type}>, %b: memref<4x{type}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%c0] : memref<4x{type}>
  memref.store %x, %b[%c1] : memref<4x{type}>
  return
}}
"""


@pytest.mark.parametrize(
    ("mlir", "numpy"),
    [("f16", "f2"), ("f64", "f8"), ("i8", "u1"), ("i16", "i2"), ("i32", "u4"), ("i64", "i8"), ("i1", "?"), ("bf16", "u2")],
)
def test_types(mlir: str, numpy: str) -> None:
    array = np.array([1, 0, 0, 0], numpy)
    report = async_opt.simulate(INCREMENT.format(type=mlir), [array, array])
    assert report.clean, report
    # One buffer, as the array is one.
    assert array.tolist() == [1, 1, 0, 0]


def test_types_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, 0, 0, 0], ml_dtypes.bfloat16)
    assert async_opt.simulate(INCREMENT.format(type="bf16"), [array, array]).clean
    assert array.tolist() == [1.5, 1.5, 0, 0]


def test_numbers_of_numpy_are_numbers() -> None:
    kernel = """
    func.func @k(%out: memref<f32>, %x: f32, %flag: i1) {
      %zero = arith.constant 0.0 : f32
      %y = arith.select %flag, %x, %zero : f32
      memref.store %y, %out[] : memref<f32>
      return
    }"""
    out = np.zeros((), np.float32)
    assert async_opt.simulate(kernel, [out, np.float32(1.25), np.bool_(True)]).clean
    assert out == 1.25


def test_arrays_that_overlap_are_refused(right: str) -> None:
    memory = tiles(2)
    with pytest.raises(ValueError, match="may overlap"):
        async_opt.simulate(right, [memory[:200], memory[100:], 1])


def test_other_arrays_are_refused(right: str) -> None:
    with pytest.raises(TypeError, match="argument 0 is a list"):
        async_opt.simulate(right, [[1.0], None, 1])


def test_wrong_type_is_an_error(right: str) -> None:
    with pytest.raises(async_opt.Error, match="argument 0"):
        async_opt.simulate(right, [np.zeros(128, np.int8), np.zeros(128, np.float32), 1])


def test_several_kernels_need_a_name() -> None:
    kernels = "func.func @a() { return }\nfunc.func @b() { return }"
    with pytest.raises(async_opt.Error, match="2 kernels: a, b"):
        async_opt.simulate(kernels)
    assert async_opt.simulate(kernels, kernel="b").kernel == "b"


def test_what_cannot_be_read_is_an_error() -> None:
    with pytest.raises(async_opt.Error) as caught:
        async_opt.simulate("func.func @f() {\n  nonsense\n}")
    assert caught.value.location == async_opt.Location("<string>", 2, 3)


@pytest.mark.parametrize("other", ["foo", Path("/nowhere.mlir")])
def test_other_form_that_cannot_be_read_is_an_error(right: str, other: object) -> None:
    with pytest.raises(async_opt.Error):
        async_opt.simulate(right, [None, None, 2], refines=other)


def test_numbers_are_not_forgotten(right: str) -> None:
    array = np.zeros(256, np.float32)
    with pytest.raises(async_opt.Error, match="argument 2 of reverse is missing: pass a number, or None for 0"):
        async_opt.simulate(right, [array, array.copy()])


def test_sizes_are_numbers(right: str) -> None:
    with pytest.raises(TypeError, match="'128' is a string"):
        async_opt.simulate(right, block="128")  # type: ignore[arg-type]
