# The lit tests: `cargo test -p async-tools --test lit` runs them, with what it has built.

import os

import lit.formats

config.name = "async-opt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)

root = os.path.dirname(config.test_source_root)
profile = os.environ.get("ASYNC_OPT_PROFILE", "debug")
target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
llvm = os.environ.get("MLIR_SYS_220_PREFIX", "/usr/lib/llvm-22")
config.test_exec_root = os.path.join(target, "lit")

# Ours, then what tools/setup installs.
paths = [os.path.join(target, profile), os.path.join(root, ".venv", "bin"), os.path.join(llvm, "bin")]
config.environment["PATH"] = os.pathsep.join(paths + [os.environ["PATH"]])
