//===- AsyncOpt.h - async-opt in C++ programs -------------------*- C++ -*-===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration, the pipeline from tokens to PTX, and PTX as text. Passes have
// no constructors of their own: `mlir::parsePassPipeline` makes them from their
// flags, such as "gpux-tokens-to-groups{form-groups=false}".
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_ASYNCOPT_H
#define ASYNCOPT_ASYNCOPT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace asyncopt {

/// Adds `gpux` to `registry`, and `async` unless upstream's dialect of that
/// name is there: then `gpux` uses that one, which gets the operations that it
/// lacks. So call it after `mlir::registerAllDialects`. It also adds upstream's
/// extensions and translations to LLVM IR, without which nothing can be
/// lowered. As with MLIR's own registration, another dialect named `gpux` or
/// `async` ends the process.
void registerDialects(mlir::DialectRegistry &registry);

/// Adds every dialect of upstream but its `async`, with extensions, interfaces
/// and translations to LLVM IR, and then ours. Ends the process if `registry`
/// already has upstream's `async`.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Adds every pass and pipeline of async-opt to MLIR's global registry, and the
/// passes of upstream that `buildLowerToNVVMPipeline` uses. Those that are
/// there already stay. Call it from one thread, before passes run.
void registerAllPasses();

/// The options of `gpux-lower-to-nvvm`, with their defaults. They are explained
/// in docs/Passes/lower-to-nvvm.md.
struct LowerToNVVMOptions {
  /// The GPU, sm_80 or newer.
  std::string chip = "sm_80";
  /// PTX versions such as "+ptx83"; empty: what the chip needs.
  std::string features;
  /// Of LLVM and ptxas, 0 to 3.
  int64_t optLevel = 3;
  /// "llvm" stops at the llvm dialect, "isa" makes PTX, "bin" a cubin.
  std::string format = "isa";
  /// The folder of a CUDA toolkit; empty: the one that is found.
  std::string toolkit;
  /// Pipelines loops that ask for it, and packs workgroup memory.
  bool pipeline = false;
  /// The stages of loops that do not say how many they want, up to 64. If it
  /// is not 0, loops are pipelined whether or not `pipeline` is set.
  int64_t numStages = 0;
  /// As in async-pipeline, where memory does not suffice: "error" or others.
  std::string memory = "error";
  /// As in async-pipeline: "peel" or "predicate".
  std::string epilogue = "peel";
  /// As in async-pipeline: "guard" or "branch".
  std::string shortTrips = "branch";
  /// As in async-pipeline.
  bool computedSlots = false;
  /// Moves copies, awaits and barriers as gpux-schedule does for the chip.
  bool schedule = false;
  /// As in gpux-tokens-to-mbarriers.
  std::string war = "barrier";
  bool fenceReads = false;
  bool roundRings = false;
  /// As in gpux-tokens-to-groups.
  bool formGroups = true;
  bool balance = true;
  bool dropImplied = true;
  int64_t unrollLimit = 8;
  int64_t maxPadding = 4;
  /// Checks what each pass wrote, by code of its own.
  bool verifyResult = true;
  /// Warns of what is most likely a mistake.
  bool lint = true;
};

/// Appends the passes from token form to PTX to `manager`, which is for
/// modules; host code stays as it is. Registers all passes first. Fails, with a
/// message to `errors`, where options make no sense (an unknown chip).
llvm::LogicalResult
buildLowerToNVVMPipeline(mlir::OpPassManager &manager,
                         const LowerToNVVMOptions &options = {},
                         llvm::raw_ostream &errors = llvm::errs());

/// Prints the PTX of the `gpu.binary` or `gpu.module` of `module` that is
/// called `name`, or of the only one if `name` is empty. A `gpu.module` needs a
/// target, and is compiled to PTX on the way. `module` stays as it is. Fails,
/// with a diagnostic, where there is no PTX or a choice to make.
llvm::LogicalResult emitPTX(mlir::ModuleOp module, llvm::raw_ostream &os,
                            llvm::StringRef name = {});

} // namespace asyncopt

#endif // ASYNCOPT_ASYNCOPT_H
