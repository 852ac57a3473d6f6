//===- Pipelines.cpp - From tokens to PTX ---------------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt/AsyncOpt.h"
#include "capi/Ptx.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace {
/// Writes options as a textual pipeline has them.
class OptionText {
public:
  void add(StringRef name, bool value) {
    addText(name, value ? "true" : "false");
  }
  void add(StringRef name, int64_t value) {
    addText(name, std::to_string(value));
  }
  /// Keeps `value` in one piece; what can't be is noted as `invalid`.
  void add(StringRef name, const std::string &value) {
    if (value.find_first_of("{}'\"") != std::string::npos)
      invalid = name.str();
    // An option can't be set to nothing, which is what it is without being set.
    if (!value.empty())
      addText(name, value.find_first_of(" ,") == std::string::npos
                        ? value
                        : "{" + value + "}");
  }

  std::string text;
  std::string invalid;

private:
  void addText(StringRef name, StringRef value) {
    text += (text.empty() ? "" : " ") + name.str() + "=" + value.str();
  }
};
} // namespace

LogicalResult
asyncopt::buildLowerToNVVMPipeline(OpPassManager &manager,
                                   const LowerToNVVMOptions &options,
                                   llvm::raw_ostream &errors) {
  registerAllPasses();
  OptionText text;
  text.add("chip", options.chip);
  text.add("features", options.features);
  text.add("opt-level", options.optLevel);
  text.add("format", options.format);
  text.add("toolkit", options.toolkit);
  text.add("pipeline", options.pipeline);
  text.add("num-stages", options.numStages);
  text.add("memory", options.memory);
  text.add("epilogue", options.epilogue);
  text.add("short-trips", options.shortTrips);
  text.add("computed-slots", options.computedSlots);
  text.add("schedule", options.schedule);
  text.add("war", options.war);
  text.add("fence-reads", options.fenceReads);
  text.add("round-rings", options.roundRings);
  text.add("form-groups", options.formGroups);
  text.add("balance", options.balance);
  text.add("drop-implied", options.dropImplied);
  text.add("unroll-limit", options.unrollLimit);
  text.add("max-padding", options.maxPadding);
  text.add("verify-result", options.verifyResult);
  text.add("lint", options.lint);
  if (!text.invalid.empty()) {
    errors << "braces and quotes in the option '" << text.invalid
           << "' of gpux-lower-to-nvvm can't be passed on\n";
    return failure();
  }
  return parsePassPipeline("gpux-lower-to-nvvm{" + text.text + "}", manager,
                           errors);
}

LogicalResult asyncopt::emitPTX(ModuleOp module, llvm::raw_ostream &os,
                                StringRef name) {
  return async_opt::printPtx(module, name, os);
}
