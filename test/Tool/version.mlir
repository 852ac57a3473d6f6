// The version names the LLVM that the tool was built with.

// RUN: async-opt --version | FileCheck %s
// RUN: async-translate --version | FileCheck %s

// CHECK: async-{{opt|translate}} {{[0-9]+\.[0-9]+\.[0-9]+}} (built with LLVM 22.
