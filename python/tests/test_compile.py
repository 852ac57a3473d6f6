from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from pathlib import Path

import numpy
import pytest

import async_opt


def test_compile_makes_ptx(right: str) -> None:
    ptx = async_opt.compile(right, chip="sm_80")
    assert ".target sm_80" in ptx.text
    assert "cp.async.wait_group" in ptx.text
    assert bytes(ptx).endswith(b"\0")
    entry = ptx.entry
    assert entry.name == "reverse"
    # Two memrefs of rank 1, and a number.
    assert entry.parameters == 11
    assert entry.block == (128, 1, 1)
    assert entry.dynamic_shared_memory == 0


def test_options_are_those_of_the_pass(tokens: str) -> None:
    plain = async_opt.compile(tokens).text
    pipelined = async_opt.compile(tokens, num_stages=3).text
    assert plain.count("cp.async.commit_group") < pipelined.count("cp.async.commit_group")
    with pytest.raises(async_opt.Error, match="no_such|no-such"):
        async_opt.compile(tokens, no_such=1)


# 64 KB of workgroup memory are more than a kernel gets without asking.
LARGE = """
gpu.module @m {
  gpu.func @large(%src: memref<?xf32>, %dst: memref<?xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %buffer = memref.alloc() : memref<16384xf32, #gpu.address_space<workgroup>>
    %t = gpu.thread_id x
    %x = memref.load %src[%t] : memref<?xf32>
    memref.store %x, %buffer[%t] : memref<16384xf32, #gpu.address_space<workgroup>>
    %y = memref.load %buffer[%t] : memref<16384xf32, #gpu.address_space<workgroup>>
    memref.store %y, %dst[%t] : memref<?xf32>
    gpu.return
  }
}
"""


def test_dynamic_shared_memory_is_known() -> None:
    assert async_opt.compile(LARGE, pipeline=True).entry.dynamic_shared_memory == 65536


def test_errors_have_locations(right: str) -> None:
    wrong = right.replace("gpux.wait_group <cp_async>, 0", "gpux.wait_group <cp_async>, -1")
    with pytest.raises(async_opt.Error) as caught:
        async_opt.compile(wrong)
    error = caught.value
    line = wrong.splitlines().index("      gpux.wait_group <cp_async>, -1") + 1
    assert error.location is not None
    assert (error.location.file, error.location.line) == ("<string>", line)
    assert error.errors[0].source == "      gpux.wait_group <cp_async>, -1"
    assert f"<string>:{line}:" in str(error)


def test_files_keep_their_names(tmp_path: Path) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text("func.func @f() {\n  nonsense\n}\n")
    with pytest.raises(async_opt.Error) as caught:
        async_opt.run_pipeline(file, "canonicalize")
    assert caught.value.location == async_opt.Location(str(file), 2, 3)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(async_opt.Error, match="No such file"):
        async_opt.run_pipeline(tmp_path / "none.mlir", "canonicalize")


def test_warnings_are_warnings(tokens: str) -> None:
    forgotten = tokens.replace("async.await %copy\n", "\n")
    with pytest.warns(async_opt.DiagnosticWarning):
        ptx = async_opt.compile(forgotten)
    assert any(one.severity == "warning" for one in ptx.diagnostics)


def test_run_pipeline_needs_no_module_around(tokens: str) -> None:
    counted = async_opt.run_pipeline(tokens, "gpux-tokens-to-groups{unroll-limit=0}")
    assert "gpux.wait_group <cp_async>, 0" in counted
    assert counted == async_opt.run_pipeline(tokens, "builtin.module(gpux-tokens-to-groups{unroll-limit=0})")
    with pytest.raises(async_opt.Error, match="does not refer to a registered pass"):
        async_opt.run_pipeline(tokens, "no-such-pass")


def test_explain_says_why(tokens: str) -> None:
    remarks = async_opt.explain(tokens)
    assert {one.severity for one in remarks} == {"remark"}
    (wait,) = (one for one in remarks if one.message.startswith("wait_group <cp_async>, 0"))
    assert wait.location is not None
    assert wait.notes


def test_end_by_a_signal_is_an_exception(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    crash = tmp_path / "async-tools"
    crash.write_text("#!/bin/sh\necho 'kernel.mlir:1:1: error: last words' >&2\nkill -ABRT $$\n")
    crash.chmod(0o755)
    monkeypatch.setattr("async_opt._tools.executable", lambda: str(crash))
    with pytest.raises(async_opt.CrashError, match=signal.SIGABRT.name) as caught:
        async_opt.run_pipeline("module {}", "canonicalize")
    assert caught.value.diagnostics[0].message == "last words"


def test_timeout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "async-tools"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr("async_opt._tools.executable", lambda: str(slow))
    with pytest.raises(async_opt.TimeoutExpired, match="0.2 seconds") as caught:
        async_opt.run_pipeline("module {}", "canonicalize", timeout=0.2)
    assert isinstance(caught.value, async_opt.Error)


class DeviceArray:
    """What CuPy and PyTorch have."""

    def __init__(self, shape: tuple[int, ...], strides: "tuple[int, ...] | None") -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
        }


def test_memref_is_several_arguments() -> None:
    assert async_opt.memref_arguments(DeviceArray((4, 8), None), 7) == [4096, 4096, 0, 4, 8, 8, 1, 7]
    assert async_opt.memref_arguments(DeviceArray((4, 8), (4, 16))) == [4096, 4096, 0, 4, 8, 1, 4]
    assert async_opt.memref_arguments(DeviceArray((), None)) == [4096, 4096, 0]


TYPED = """
gpu.module @m {
  gpu.func @typed(%a: memref<4x8xf32>, %n: index, %i: i32, %j: i8, %x: f32, %y: f64, %h: f16) kernel {
    gpu.return
  }
}
"""


def test_arguments_are_packed_as_parameters_are() -> None:
    entry = async_opt.compile(TYPED).entry
    assert entry.parameter_types == ("u64",) * 8 + ("u32", "u8", "f32", "f64", "b8[2]")
    assert entry.parameters == len(entry.parameter_types)
    array = DeviceArray((4, 8), None)
    packed = entry.pack(array, 5, -1, ctypes.c_int8(-2), 0.5, 0.25, numpy.float16(1))
    assert [one.value for one in packed[:8]] == [4096, 4096, 0, 4, 8, 8, 1, 5]
    # An i32 is 4 bytes, and an f32 is one.
    assert [bytes(one) for one in packed[8:]] == [
        b"\xff\xff\xff\xff",
        b"\xfe",
        numpy.float32(0.5).tobytes(),
        numpy.float64(0.25).tobytes(),
        numpy.float16(1).tobytes(),
    ]


def test_arguments_that_do_not_fit_are_refused() -> None:
    entry = async_opt.compile(TYPED).entry
    array, rest = DeviceArray((4, 8), None), (1, 0.5, 0.25, numpy.float16(1))
    with pytest.raises(TypeError, match="typed has 13 parameters, and these arguments are 12"):
        entry.pack(array, 5, *rest)
    with pytest.raises(TypeError, match=r"parameter 8 of typed is an integer \(u32\), and this is a float"):
        entry.pack(array, 5, 1.5, *rest)
    with pytest.raises(OverflowError, match="parameter 8 of typed has 32 bits"):
        entry.pack(array, 5, 1 << 32, *rest)
    with pytest.raises(TypeError, match="is 2 bytes, and this float32 is 4"):
        entry.pack(array, 5, 1, 1, 0.5, 0.25, numpy.float32(1))


@pytest.mark.parametrize("tool", ["async-opt", "async-translate", "async-sim", "async-verify", "async-lsp-server"])
def test_tools_are_commands(tool: str) -> None:
    import sys

    command = Path(sys.executable).parent / tool
    if not command.exists():
        pytest.skip("the package is not installed here")
    printed = subprocess.run([command, "--help"], stdout=subprocess.PIPE, text=True, check=True, env=os.environ).stdout
    assert "--" in printed


@pytest.mark.parametrize("options", [{"num_stages": "three"}, {"pipeline": "yes"}])
def test_wrong_values_of_options_are_named(tokens: str, options: dict) -> None:
    (value,) = options.values()
    with pytest.raises(async_opt.Error, match=value):
        async_opt.compile(tokens, **options)


def test_features_are_a_list(tokens: str) -> None:
    assert ".version 8.3" in async_opt.compile(tokens, features=["+ptx83"]).text


def test_features_that_do_not_exist_are_named(tokens: str) -> None:
    with pytest.raises(async_opt.Error, match="bogus"):
        async_opt.compile(tokens, features="bogus")


def test_what_compile_makes_is_no_option(tokens: str) -> None:
    with pytest.raises(TypeError, match="no option 'format'"):
        async_opt.compile(tokens, format="llvm")


def test_several_modules_need_a_name(right: str) -> None:
    aliases, module = right.split("gpu.module", 1)
    with pytest.raises(async_opt.Error, match="module=") as caught:
        async_opt.compile(f"{aliases}gpu.module{module}gpu.module{module.replace('@kernels', '@others')}")
    assert len(str(caught.value)) < 300
