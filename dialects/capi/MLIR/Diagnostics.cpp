//===- Diagnostics.cpp - C API to emit diagnostics ------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Diagnostics.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

static void finish(InFlightDiagnostic diagnostic, const AsyncOptNote *notes,
                   intptr_t numNotes) {
  for (const AsyncOptNote &note : llvm::ArrayRef(notes, numNotes)) {
    std::optional<Location> location;
    if (!mlirLocationIsNull(note.location))
      location = unwrap(note.location);
    diagnostic.attachNote(location) << unwrap(note.message);
  }
  diagnostic.report();
}

void asyncOptEmitAtLocation(MlirLocation location,
                            MlirDiagnosticSeverity severity,
                            MlirStringRef message, const AsyncOptNote *notes,
                            intptr_t numNotes) {
  Location loc = unwrap(location);
  switch (severity) {
  case MlirDiagnosticError:
    return finish(emitError(loc) << unwrap(message), notes, numNotes);
  case MlirDiagnosticWarning:
    return finish(emitWarning(loc) << unwrap(message), notes, numNotes);
  case MlirDiagnosticNote:
  case MlirDiagnosticRemark:
    return finish(emitRemark(loc) << unwrap(message), notes, numNotes);
  }
}

void asyncOptEmitAtOperation(MlirOperation op, MlirDiagnosticSeverity severity,
                             MlirStringRef message, const AsyncOptNote *notes,
                             intptr_t numNotes) {
  Operation *operation = unwrap(op);
  switch (severity) {
  case MlirDiagnosticError:
    return finish(operation->emitOpError(unwrap(message)), notes, numNotes);
  case MlirDiagnosticWarning:
    return finish(operation->emitWarning() << "'" << operation->getName()
                                           << "' op " << unwrap(message),
                  notes, numNotes);
  case MlirDiagnosticNote:
  case MlirDiagnosticRemark:
    return finish(operation->emitRemark(unwrap(message)), notes, numNotes);
  }
}

bool asyncOptOperationVerifyQuietly(MlirOperation op,
                                    MlirStringCallback callback,
                                    void *userData) {
  Operation *operation = unwrap(op);
  // Passes of other threads may emit something meanwhile.
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(
      operation->getContext(), [&](Diagnostic &diagnostic) {
        if (llvm::get_threadid() != thread)
          return failure();
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
          std::string message = diagnostic.str();
          callback(wrap(StringRef(message)), userData);
        }
        return success();
      });
  return succeeded(verify(operation, /*verifyRecursively=*/false));
}
