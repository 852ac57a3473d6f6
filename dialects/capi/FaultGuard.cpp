//===- FaultGuard.cpp - End fatal errors with a message -------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FaultGuard.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/// What messages name as the place: a buffer that needs no allocation, as it is
/// read when memory has run out or from a signal handler.
static char input[512] = "<input>";

/// Ends the process with "INPUT: error: REASON". Calls only what is safe in a
/// signal handler.
[[noreturn]] static void fail(const char *reason) {
  for (const char *part :
       {static_cast<const char *>(input), ": error: ", reason, "\n"}) {
    [[maybe_unused]] ssize_t written =
        write(STDERR_FILENO, part, std::strlen(part));
  }
  _exit(EXIT_FAILURE);
}

static void handleFatalError(void *, const char *reason, bool) {
  // Someone wants to write a reproducer first: let LLVM go on to abort.
  if (llvm::CrashRecoveryContext::GetCurrent())
    return;
  fail(reason);
}

static void handleTermination() {
  fail("cannot be processed: out of memory, or a size that no memory holds");
}

//===----------------------------------------------------------------------===//
// Stack overflow
//===----------------------------------------------------------------------===//

#ifdef __GLIBC__

/// Where the guarded stack ends, and who gets the faults that are not ours.
static uintptr_t stackEnd;
static struct sigaction previousHandler;

/// How far from the end of the stack a fault is taken for an overflow: a
/// function with a large frame may step well past the guard page.
static constexpr uintptr_t kSlack = 1 << 20;

static void handleFault(int signal, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (address + kSlack < stackEnd || address > stackEnd + kSlack) {
    // Back to the previous handler: the instruction faults again, for it.
    sigaction(signal, &previousHandler, nullptr);
    return;
  }
  fail("nests deeper than this tool's stack can hold");
}

static void catchStackOverflow() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  void *low;
  size_t size;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    stackEnd = reinterpret_cast<uintptr_t>(low);
    // LLVM and Rust both give this thread a stack for signals to run on.
    struct sigaction action = {};
    action.sa_sigaction = handleFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previousHandler);
  }
  pthread_attr_destroy(&attributes);
}

#else

static void catchStackOverflow() {}

#endif

void async_opt::installFaultGuard() {
  llvm::install_fatal_error_handler(handleFatalError);
  llvm::install_bad_alloc_error_handler(handleFatalError);
  std::set_terminate(handleTermination);
  catchStackOverflow();
  // Rust has this signal ignored, so that a reader who leaves early would be an
  // error to report; a filter like this one just ends.
  signal(SIGPIPE, SIG_DFL);
}

void async_opt::setFaultGuardInput(llvm::StringRef filename) {
  size_t length = std::min(filename.size(), sizeof(input) - 1);
  std::memcpy(input, filename.data(), length);
  input[length] = '\0';
}
