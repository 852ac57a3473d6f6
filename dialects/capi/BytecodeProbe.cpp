//===- BytecodeProbe.cpp - Read damaged bytecode safely -------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BytecodeProbe.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

/// What reading may take: far above what any honest file of this size needs.
static constexpr rlim_t kBaseSeconds = 10;
static constexpr rlim_t kBytesPerSecond = 1 << 20;
static constexpr rlim_t kBaseMemory = rlim_t(8) << 30;
static constexpr rlim_t kMemoryPerByte = 1024;

static void limit(int resource, rlim_t value) {
  struct rlimit limits;
  if (getrlimit(resource, &limits) != 0)
    return;
  limits.rlim_cur = std::min(limits.rlim_max, value);
  setrlimit(resource, &limits);
}

/// The exit code of a child that could not read the file and has said why.
static constexpr int kReported = 3;

/// Reads and verifies `buffer`, in a process that may die of it. Exits with
/// success if it was read, or with `kReported`.
[[noreturn]] static void readInChild(llvm::MemoryBufferRef buffer,
                                     const DialectRegistry &registry) {
  // Die at once, leaving no core, and without a word but the diagnostics.
  for (int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP})
    signal(fatal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, kBaseSeconds + buffer.getBufferSize() / kBytesPerSecond);
  limit(RLIMIT_AS, kBaseMemory + buffer.getBufferSize() * kMemoryPerByte);
  int terminal = dup(STDERR_FILENO);
  close(STDERR_FILENO);

  std::string diagnostics;
  llvm::raw_string_ostream stream(diagnostics);
  // A place to point at; there are no lines to show.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer("", buffer.getBufferIdentifier()),
      llvm::SMLoc());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // Which operations may be there is for the parent to say.
  context.allowUnregisteredDialects();
  SourceMgrDiagnosticHandler handler(sources, &context, stream);
  Block block;
  if (succeeded(readBytecodeFile(buffer, &block, ParserConfig(&context))))
    _exit(EXIT_SUCCESS);
  [[maybe_unused]] ssize_t written =
      write(terminal, diagnostics.data(), diagnostics.size());
  // The heap may be damaged, so nothing is freed.
  _exit(kReported);
}

bool async_opt::checkBytecode(llvm::MemoryBufferRef buffer,
                              const DialectRegistry &registry,
                              llvm::raw_ostream &errors) {
  if (!isBytecode(buffer))
    return true;
  pid_t child = fork();
  if (child == 0)
    readInChild(buffer, registry);
  int status = 0;
  // Without a child there is nothing to learn; read and hope.
  if (child < 0 || waitpid(child, &status, 0) != child)
    return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
    return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kReported)
    return false;
  errors << buffer.getBufferIdentifier()
         << ":0:0: error: malformed bytecode: it cannot be read\n";
  return false;
}
