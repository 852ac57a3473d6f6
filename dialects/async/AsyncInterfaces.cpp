//===- AsyncInterfaces.cpp - What asynchronous operations mean -----------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "async/AsyncInterfaces.h"

using namespace mlir;

// The home of its vtable.
async_opt::async::GroupQueue::~GroupQueue() = default;

#include "async/AsyncInterfaces.cpp.inc"
