// Of upstream, all is there but its dialect `async`, whose name is ours, and the passes that load it. What a stock
// `mlir-opt` has beyond that is for its own tests.

// RUN: mlir-opt --list-passes | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort -u > %t.theirs
// RUN: async-opt --list-passes | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort -u > %t.ours
// RUN: comm -23 %t.theirs %t.ours | grep -v -e '^--test-' -e '-test' > %t.missing
// RUN: FileCheck %s --input-file=%t.missing

// CHECK: --async-func-to-async-runtime
// CHECK-NEXT: --async-parallel-for
// CHECK-NEXT: --async-runtime-policy-based-ref-counting
// CHECK-NEXT: --async-runtime-ref-counting
// CHECK-NEXT: --async-runtime-ref-counting-opt
// CHECK-NEXT: --async-to-async-runtime
// CHECK-NEXT: --convert-async-to-llvm
// CHECK-NEXT: --gpu-async-region
// CHECK-NOT: --{{[a-z]}}

// RUN: mlir-opt --show-dialects | tr ',' '\n' | sed 's/.*: //' | grep -v '^test' | sort > %t.theirs
// RUN: async-opt --show-dialects | tr ',' '\n' | sed 's/.*: //' | sort > %t.ours
// RUN: comm -23 %t.theirs %t.ours | count 0
