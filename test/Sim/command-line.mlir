// What the command line asks for and can't have is said, and nothing is left out silently.
//
// RUN: not async-sim %s --arg 7=1 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not async-sim %s --arg 18446744073709551615=1 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not async-sim %s --arg 1=2 --arg 1=3 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not async-sim %s --arg 1=1.5 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not async-sim %s --arg 1=5000000000 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not async-sim %s --runs=0 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: not async-sim %s --cost bytes-per-cycle=0 2>&1 | FileCheck %s --check-prefix=COST
// RUN: not async-sim %s --out 1=x.npy 2>&1 | FileCheck %s --check-prefix=OUT
// RUN: async-sim %s --seed=18446744073709551615 --schedule=random --runs=2 --arg 1=4294967295 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: async-sim %s 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: async-sim %s --arg 0=ramp --out 0=%t.npy && async-sim %s --arg 0=%t.npy --print | FileCheck %s --check-prefix=NPY
// RUN: async-sim %s --arg 0=%t.npy --json | FileCheck %s --check-prefix=JSON
// RUN: sed -e "s/2xf32/2xi32/g" %s | not async-sim --arg 0=%t.npy 2>&1 | FileCheck %s --check-prefix=TYPE

// INDEX: async-sim: --arg {{[0-9]+}}=…: the kernel has 2 parameters, counted from 0
// TWICE: async-sim: --arg 1=… is given twice
// INTEGER: async-sim: argument 1: the parameter is an integer, and 1.5 is none
// LARGE: async-sim: argument 1: 5000000000 has more than 32 bits
// RUNS: error: invalid value '0' for '--runs <RUNS>'
// COST: without any bytes per cycle no copy lands
// OUT: async-sim: --out 1: k has no argument of this number that is a buffer
// SEED: k: clean (1 run, which stands for every schedule, of 1 block of 1 thread
// DEFAULT: note: argument 1 of k is taken to be 0: --arg 1=… says otherwise

// What a view shows is written and printed row by row, whatever its strides.
// NPY: k: clean
// NPY: argument 0: 0 1 8 9 16 17

// JSON: "block": [
// JSON: "clean": true
// JSON: "findings": []
// JSON: "kernel": "k"

// TYPE: async-sim: argument 0: the file has numbers of type <f4, and this takes <i4 or <u4
func.func @k(%m: memref<3x2xf32, strided<[8, 1]>>, %n: i32) {
  return
}
