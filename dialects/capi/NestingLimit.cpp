//===- NestingLimit.cpp - Refuse input that nests too deep ----------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestingLimit.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/SourceMgr.h"

#include <algorithm>
#include <pthread.h>

using namespace llvm;

/// What one level may cost. The hungriest recursions measured take a third of
/// this.
static constexpr size_t kStackPerLevel = 48 * 1024;

size_t async_opt::getNestingLimit(size_t stackSize) {
  return std::max<size_t>(stackSize / kStackPerLevel, 64);
}

/// Returns the first place in `source` where brackets nest deeper than `limit`,
/// or null.
///
/// `<` and `>` are also (parts of) operators, so they are counted on their own
/// and never below zero; a wrong guess moves the limit by one, no more.
static const char *findExcessiveNesting(StringRef source, size_t limit) {
  size_t brackets = 0, angles = 0;
  for (const char *at = source.begin(), *end = source.end(); at != end; ++at) {
    switch (*at) {
    case '"':
      // A string, in which a backslash hides the next character.
      for (++at; at != end && *at != '"' && *at != '\n'; ++at)
        if (*at == '\\' && at + 1 != end)
          ++at;
      if (at == end)
        return nullptr;
      break;
    case '/':
      if (at + 1 == end || at[1] != '/')
        break;
      at = std::find(at, end, '\n');
      if (at == end)
        return nullptr;
      break;
    case '(':
    case '[':
    case '{':
      ++brackets;
      break;
    case ')':
    case ']':
    case '}':
      brackets -= brackets != 0;
      break;
    case '<':
      ++angles;
      break;
    case '>':
      // Not `->`, and not the comparison `>=`.
      if (at != source.begin() && at[-1] == '-')
        break;
      if (at + 1 != end && at[1] == '=')
        break;
      angles -= angles != 0;
      break;
    }
    if (brackets + angles > limit)
      return at;
  }
  return nullptr;
}

bool async_opt::checkNesting(MemoryBufferRef buffer, size_t limit,
                             raw_ostream &errors) {
  if (mlir::isBytecode(buffer))
    return true;
  const char *place = findExcessiveNesting(buffer.getBuffer(), limit);
  if (!place)
    return true;
  SourceMgr sources;
  sources.AddNewSourceBuffer(
      MemoryBuffer::getMemBuffer(buffer, /*RequiresNullTerminator=*/false),
      SMLoc());
  // The line may be as long as the file; say where it is, and don't show it.
  auto [line, column] = sources.getLineAndColumn(SMLoc::getFromPointer(place));
  errors << buffer.getBufferIdentifier() << ":" << line << ":" << column
         << ": error: nesting deeper than " << limit
         << " levels is not supported\n";
  return false;
}

void async_opt::setWorkerStackSize(size_t stackSize) {
#ifdef __GLIBC__
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return;
  if (pthread_attr_setstacksize(&attributes, stackSize) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}
