// Our passes are in `--help` beside upstream's, with their options.

// RUN: async-opt --help | grep -e '--canonicalize ' -e '--gpux-tokens-to-groups' -e '--unroll-limit' | FileCheck %s

// CHECK: --canonicalize
// CHECK: --gpux-tokens-to-groups
// CHECK-NEXT: --unroll-limit=
