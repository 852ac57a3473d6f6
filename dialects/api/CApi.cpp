//===- CApi.cpp - Pipelines on modules and text, and PTX, in C ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/AsyncOpt.h"
#include "AsyncOpt/AsyncOpt.h"
#include "capi/NestingLimit.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// The usual stack of a thread.
static constexpr size_t kStackSize = size_t(8) << 20;

static LogicalResult runPipeline(ModuleOp module, StringRef pipeline) {
  asyncopt::registerAllPasses();
  PassManager manager(module.getContext());
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (failed(parsePassPipeline(pipeline, manager, stream)))
    // At the place alone: the module has nothing to do with it.
    return emitError(module.getLoc(), StringRef(errors).rtrim());
  return manager.run(module);
}

MlirLogicalResult asyncOptRunPipeline(MlirModule module,
                                      MlirStringRef pipeline) {
  return wrap(runPipeline(unwrap(module), unwrap(pipeline)));
}

static LogicalResult emitPTX(ModuleOp module, StringRef name,
                             llvm::raw_ostream &os) {
  // Only a complete answer is handed out.
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(asyncopt::emitPTX(module, stream, name)))
    return failure();
  os << text;
  return success();
}

MlirLogicalResult asyncOptEmitPTX(MlirModule module, MlirStringRef name,
                                  MlirStringCallback onText, void *userData) {
  mlir::detail::CallbackOstream os(onText, userData);
  return wrap(emitPTX(unwrap(module), unwrap(name), os));
}

namespace {
/// Hands on each diagnostic, with its notes, as one text.
class TextDiagnosticHandler final : public SourceMgrDiagnosticHandler {
public:
  using Callback = llvm::function_ref<void(StringRef)>;

  TextDiagnosticHandler(llvm::SourceMgr &sources, MLIRContext *context,
                        Callback callback)
      : SourceMgrDiagnosticHandler(sources, context, stream), stream(text),
        callback(callback) {
    setHandler([this](Diagnostic &diagnostic) {
      emitDiagnostic(diagnostic);
      this->callback(text);
      text.clear();
    });
  }

private:
  std::string text;
  llvm::raw_string_ostream stream;
  Callback callback;
};
} // namespace

static LogicalResult
compileText(StringRef source, StringRef pipeline, bool ptx,
            llvm::raw_ostream &os,
            llvm::function_ref<void(StringRef)> onDiagnostic) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(source, "<input>");
  if (isBytecode(*buffer)) {
    onDiagnostic("<input>: error: is bytecode, but text is needed\n");
    return failure();
  }
  std::string nesting;
  llvm::raw_string_ostream nestingStream(nesting);
  if (!async_opt::checkNesting(*buffer, async_opt::getNestingLimit(kStackSize),
                               nestingStream)) {
    onDiagnostic(nesting);
    return failure();
  }

  DialectRegistry registry;
  asyncopt::registerAllDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  TextDiagnosticHandler handler(sources, &context, onDiagnostic);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module || failed(runPipeline(*module, pipeline)))
    return failure();
  if (ptx)
    return emitPTX(*module, /*name=*/{}, os);
  module->print(os);
  os << "\n";
  return success();
}

MlirLogicalResult asyncOptCompileText(MlirStringRef source,
                                      MlirStringRef pipeline, bool ptx,
                                      MlirStringCallback onText,
                                      MlirStringCallback onDiagnostic,
                                      void *userData) {
  mlir::detail::CallbackOstream os(onText, userData);
  auto diagnose = [&](StringRef text) {
    if (onDiagnostic)
      onDiagnostic(wrap(text), userData);
  };
  return wrap(compileText(unwrap(source), unwrap(pipeline), ptx, os, diagnose));
}
