#!/usr/bin/env bash
# Compiles a program in the LLVM dialect ahead of time, and runs it. tools/tests/run.rs calls this.
#
#   ahead-of-time.sh PROGRAM.mlir PREFIX FOLDER    with lib/libasyncopt_rt.so in PREFIX; writes to FOLDER
set -euo pipefail
program=$(realpath "$1") prefix=$2
cd "$3"

mlir-translate --mlir-to-llvmir "$program" -o program.ll
opt -O2 -mtriple="$(cc -dumpmachine)" program.ll -o program.bc
llc -O2 -relocation-model=pic -filetype=obj program.bc -o program.o
cc program.o -L "$prefix/lib" -lasyncopt_rt -Wl,-rpath,"$prefix/lib" -o program
./program
