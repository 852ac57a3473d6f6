//===- Tool.cpp - The command line tools ----------------------------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/Tool.h"
#include "AsyncOpt-c/Dialects.h"
#include "AsyncOpt-c/MLIR/Pass.h"
#include "BytecodeProbe.h"
#include "FaultGuard.h"
#include "NestingLimit.h"
#include "Ptx.h"
#include "Upstream.h"
#ifdef ASYNC_OPT_INCLUDE_TESTS
#include "test/TestDialect.h"
#endif

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/IRDL/IR/IRDL.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/ParseUtilities.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace async_opt;

MlirStringRef asyncOptLLVMVersion(void) {
  return wrap(StringRef(LLVM_VERSION_STRING));
}

void asyncOptRegisterUpstreamPasses(void) {
  // MLIR's registry is global and not made for writers in parallel.
  static bool once = [] {
    registerUpstreamPasses();
    initializeDeviceTargets();
    return true;
  }();
  (void)once;
}

static void setVersionPrinter(StringRef tool, MlirStringRef version) {
  llvm::cl::SetVersionPrinter(
      [tool = tool.str(), version = unwrap(version).str()](raw_ostream &os) {
        os << tool << " " << version << " (built with LLVM "
           << LLVM_VERSION_STRING << ")\n";
      });
}

/// Opens an input and checks that it can be parsed on this stack; prints what
/// is wrong and returns null otherwise.
static std::unique_ptr<llvm::MemoryBuffer>
openInput(StringRef filename, const DialectRegistry &registry,
          size_t stackSize) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(filename, &message);
  if (!input) {
    llvm::errs() << message << "\n";
    return nullptr;
  }
  setFaultGuardInput(input->getBufferIdentifier());
  if (!checkNesting(*input, getNestingLimit(stackSize), llvm::errs()) ||
      !checkBytecode(*input, registry, llvm::errs()))
    return nullptr;
  return input;
}

//===----------------------------------------------------------------------===//
// async-opt
//===----------------------------------------------------------------------===//

/// Checks that a file for `--irdl-file` defines no dialect that is in
/// `registry`: MLIR would put it in its place, with parsers that fail without a
/// message. What else is wrong with the file, MLIR says.
static LogicalResult checkIrdlDialects(StringRef filename,
                                       const DialectRegistry &registry) {
  DialectRegistry irdlRegistry;
  irdlRegistry.insert<irdl::IRDLDialect>();
  MLIRContext context(irdlRegistry);
  llvm::SourceMgr sources;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler ignore(&context, [](Diagnostic &) {});
    module =
        parseSourceFile<ModuleOp>(filename, sources, ParserConfig(&context));
  }
  if (!module)
    return success();
  SourceMgrDiagnosticHandler handler(sources, &context);
  context.printOpOnDiagnostic(false);
  WalkResult result = module->walk([&](irdl::DialectOp dialect) {
    if (!registry.getDialectAllocator(dialect.getSymName()))
      return WalkResult::advance();
    dialect.emitOpError("defines a dialect '")
        << dialect.getSymName()
        << "', which this tool has already: give it another name";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Runs MLIR's driver. Where it fails without a message, gives one.
static LogicalResult runDriver(raw_ostream &output,
                               std::unique_ptr<llvm::MemoryBuffer> input,
                               DialectRegistry &registry,
                               const MlirOptMainConfig &config) {
  std::string name = input->getBufferIdentifier().str();
  uint64_t before = llvm::errs().tell();
  LogicalResult result =
      MlirOptMain(output, std::move(input), registry, config);
  if (failed(result) && llvm::errs().tell() == before) {
    llvm::errs() << name << ": error: failed, and MLIR does not say why\n";
    if (!config.getIrdlFile().empty())
      llvm::errs()
          << name
          << ": note: operations of a dialect of --irdl-file have no "
             "syntax of their own: write them as \"dialect.op\"(...)\n";
  }
  return result;
}

/// Writes the input and the pipeline to a file that `--run-reproducer` runs,
/// and says where it is. Input in several parts is not written.
static void writeReproducer(std::unique_ptr<llvm::MemoryBuffer> input,
                            DialectRegistry &registry,
                            const MlirOptMainConfig &config) {
  std::string text = input->getBuffer().str();
  MLIRContext context(registry);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  context.getDiagEngine().registerHandler([](Diagnostic &) {});
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  OwningOpRef<Operation *> op = parseSourceFileForTool(
      sources, ParserConfig(&context), !config.shouldUseExplicitModule());
  if (!op)
    return;
  PassManager passes(&context, (*op)->getName().getStringRef());
  llvm::SmallString<128> path;
  int file = -1;
  if (failed(config.setupPassPipeline(passes)) ||
      llvm::sys::fs::createTemporaryFile("async-opt-reproducer", "mlir", file,
                                         path))
    return;
  llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
  if (isBytecode(llvm::MemoryBufferRef(text, "")) ||
      StringRef(text).contains("{-#")) {
    os.close();
    makeReproducer(passes.getOpAnchorName(), passes.getPasses(), *op, path,
                   /*disableThreads=*/false, config.shouldVerifyPasses());
  } else {
    // As it was: not all that upstream prints can be parsed.
    std::string pipeline;
    llvm::raw_string_ostream stream(pipeline);
    passes.printAsTextualPipeline(stream);
    os << text << "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n"
       << "      pipeline: \"";
    llvm::printEscapedString(pipeline, os);
    os << "\",\n      disable_threading: false,\n      verify_each: "
       << (config.shouldVerifyPasses() ? "true" : "false")
       << "\n    }\n  }\n#-}\n";
  }
  llvm::errs() << path << ": note: input and options are kept here; "
               << "'async-opt --run-reproducer' runs it again\n";
}

static LogicalResult runOpt(int argc, char **argv, DialectRegistry &registry,
                            size_t stackSize) {
  auto [inputFilename, outputFilename] = registerAndParseCLIOptions(
      argc, argv, "async-opt: exact asynchronous copies for GPUs\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects()) {
    llvm::outs() << "Available Dialects: ";
    llvm::interleave(registry.getDialectNames(), llvm::outs(), ",");
    llvm::outs() << "\n";
    return success();
  }
  if (config.shouldListPasses()) {
    printRegisteredPasses();
    return success();
  }

  if (inputFilename == "-" &&
      llvm::sys::Process::FileDescriptorIsDisplayed(/*fd=*/0))
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to "
                    "interrupt)\n";
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInput(inputFilename, registry, stackSize);
  if (!input)
    return failure();

  if (!config.getIrdlFile().empty() &&
      failed(checkIrdlDialects(config.getIrdlFile(), registry)))
    return failure();

  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(outputFilename, &message);
  if (!output) {
    llvm::errs() << message << "\n";
    return failure();
  }
  // For a reproducer; files are read anew.
  std::string name = input->getBufferIdentifier().str();
  std::unique_ptr<llvm::MemoryBuffer> copy;
  if (inputFilename == "-")
    copy = llvm::MemoryBuffer::getMemBufferCopy(input->getBuffer(), name);
  if (failed(runDriver(output->os(), std::move(input), registry, config))) {
    if (asyncOptIsReproducerRequested() &&
        (copy || (copy = openInputFile(inputFilename))))
      writeReproducer(std::move(copy), registry, config);
    return failure();
  }
  output->keep();
  return success();
}

/// Registers all dialects that the tools know.
static void registerToolDialects(DialectRegistry &registry) {
  asyncOptRegisterAllDialects(wrap(&registry));
#ifdef ASYNC_OPT_INCLUDE_TESTS
  test::registerTestDialect(registry);
#endif
}

int asyncOptMlirOptMain(int argc, char **argv, MlirStringRef version,
                        size_t stackSize) {
  llvm::InitLLVM init(argc, argv);
  installFaultGuard();
  setWorkerStackSize(stackSize);
  setVersionPrinter("async-opt", version);
  asyncOptRegisterUpstreamPasses();
  DialectRegistry registry;
  registerToolDialects(registry);
  return asMainReturnCode(runOpt(argc, argv, registry, stackSize));
}

//===----------------------------------------------------------------------===//
// async-translate
//===----------------------------------------------------------------------===//

/// Parses what was read from a file and hands its module on, with the sources
/// that its locations are in; what is wrong is reported.
static LogicalResult withParsed(
    std::unique_ptr<llvm::MemoryBuffer> input, DialectRegistry &registry,
    llvm::function_ref<LogicalResult(ModuleOp, llvm::SourceMgr &)> work) {
  MLIRContext context(registry);
  // The modules here are large, and what is wrong with them is not inside.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  return module ? work(*module, sources) : failure();
}

/// The same for a file.
static LogicalResult withParsed(
    StringRef inputFilename, DialectRegistry &registry, size_t stackSize,
    llvm::function_ref<LogicalResult(ModuleOp, llvm::SourceMgr &)> work) {
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInput(inputFilename, registry, stackSize);
  return input ? withParsed(std::move(input), registry, work) : failure();
}

/// Writes the answer of a translation, which is there as a whole.
static LogicalResult writeOutput(StringRef filename, StringRef text) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(filename, &message);
  if (!output) {
    llvm::errs() << message << "\n";
    return failure();
  }
  output->os() << text;
  output->keep();
  return success();
}

static LogicalResult runTranslateToPtx(StringRef inputFilename,
                                       StringRef outputFilename,
                                       StringRef moduleName, size_t stackSize) {
  asyncOptRegisterUpstreamPasses();
  DialectRegistry registry;
  asyncOptRegisterAllDialects(wrap(&registry));
  std::string ptx;
  llvm::raw_string_ostream ptxStream(ptx);
  auto print = [&](ModuleOp module, llvm::SourceMgr &) {
    return printPtx(module, moduleName, ptxStream);
  };
  if (failed(withParsed(inputFilename, registry, stackSize, print)))
    return failure();
  return writeOutput(outputFilename, ptx);
}

/// Hands `work` a copy of `module` in `context`, to which it goes in its
/// generic form. Unless that context has all of its operations, it is not
/// verified.
static LogicalResult
inOtherContext(ModuleOp module, MLIRContext &context, llvm::SourceMgr &sources,
               llvm::function_ref<LogicalResult(ModuleOp)> work) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // With locations, so that whatever is wrong is shown in the source.
  module->print(stream,
                OpPrintingFlags().printGenericOpForm().enableDebugInfo());
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler handler(sources, &context);
  ParserConfig config(&context, !context.allowsUnregisteredDialects());
  OwningOpRef<ModuleOp> copy = parseSourceString<ModuleOp>(text, config);
  return copy ? work(*copy) : failure();
}

/// Registers all upstream dialects, `async` as well.
static void registerAllUpstreamDialects(DialectRegistry &registry) {
  registerUpstreamDialects(registry);
  registry.insert<mlir::async::AsyncDialect>();
}

/// Parses a module in upstream's `async`, and hands on what it is in ours.
static LogicalResult
withImported(std::unique_ptr<llvm::MemoryBuffer> input, DialectRegistry &ours,
             AsyncOptRewrite rewrite,
             llvm::function_ref<LogicalResult(ModuleOp)> work) {
  DialectRegistry theirs;
  registerAllUpstreamDialects(theirs);
  auto import = [&](ModuleOp module, llvm::SourceMgr &sources) {
    // Ours among them, once it is rewritten.
    module.getContext()->allowUnregisteredDialects();
    if (!rewrite(wrap(module.getOperation())))
      return failure();
    MLIRContext context(ours);
    return inOtherContext(module, context, sources, work);
  };
  return withParsed(std::move(input), theirs, import);
}

/// From upstream's `async` to ours.
static LogicalResult runImport(StringRef inputFilename,
                               StringRef outputFilename, size_t stackSize,
                               AsyncOptRewrite rewrite) {
  DialectRegistry ours;
  asyncOptRegisterAllDialects(wrap(&ours));
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInput(inputFilename, ours, stackSize);
  if (!input)
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto print = [&](ModuleOp module) {
    module->print(stream);
    stream << "\n";
    return success();
  };
  if (failed(withImported(std::move(input), ours, rewrite, print)))
    return failure();
  return writeOutput(outputFilename, text);
}

/// From our `async` to upstream's.
static LogicalResult runExport(StringRef inputFilename,
                               StringRef outputFilename, size_t stackSize,
                               AsyncOptRewrite rewrite) {
  DialectRegistry theirs, ours;
  registerAllUpstreamDialects(theirs);
  asyncOptRegisterAllDialects(wrap(&ours));
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto rewriteAndPrint = [&](ModuleOp module) {
    if (!rewrite(wrap(module.getOperation())) || failed(verify(module)))
      return failure();
    module->print(stream);
    stream << "\n";
    return success();
  };
  auto exportTo = [&](ModuleOp module, llvm::SourceMgr &sources) {
    MLIRContext context(theirs);
    context.allowUnregisteredDialects();
    return inOtherContext(module, context, sources, rewriteAndPrint);
  };
  if (failed(withParsed(inputFilename, ours, stackSize, exportTo)))
    return failure();
  return writeOutput(outputFilename, text);
}

int asyncOptTranslateMain(int argc, char **argv, MlirStringRef version,
                          size_t stackSize, AsyncOptRewrite importAsync,
                          AsyncOptRewrite exportAsync) {
  llvm::InitLLVM init(argc, argv);
  installFaultGuard();
  setWorkerStackSize(stackSize);
  setVersionPrinter("async-translate", version);

  static llvm::cl::OptionCategory category("async-translate options");
  enum class To { PTX, Ours, Theirs };
  static llvm::cl::opt<To> to(
      llvm::cl::desc("What to translate to:"), llvm::cl::Optional,
      llvm::cl::values(clEnumValN(To::PTX, "ptx", "The PTX of a GPU module"),
                       clEnumValN(To::Ours, "import-upstream-async",
                                  "Upstream's dialect async as ours"),
                       clEnumValN(To::Theirs, "export-upstream-async",
                                  "Our dialect async as upstream's")),
      llvm::cl::cat(category));
  static llvm::cl::opt<std::string> moduleName(
      "module", llvm::cl::desc("The GPU module, where there are several"),
      llvm::cl::value_desc("name"), llvm::cl::cat(category));
  static llvm::cl::opt<std::string> inputFilename(
      llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"),
      llvm::cl::cat(category));
  static llvm::cl::opt<std::string> outputFilename(
      "o", llvm::cl::desc("Output filename"), llvm::cl::value_desc("filename"),
      llvm::cl::init("-"), llvm::cl::cat(category));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "async-translate: from MLIR to PTX, and "
                                    "between the two dialects async\n");
  if (to.getNumOccurrences() == 0) {
    llvm::errs() << "nothing to translate to: give --ptx, "
                    "--import-upstream-async or --export-upstream-async\n";
    return EXIT_FAILURE;
  }
  switch (to) {
  case To::PTX:
    return asMainReturnCode(runTranslateToPtx(inputFilename, outputFilename,
                                              moduleName, stackSize));
  case To::Ours:
    return asMainReturnCode(
        runImport(inputFilename, outputFilename, stackSize, importAsync));
  case To::Theirs:
    return asMainReturnCode(
        runExport(inputFilename, outputFilename, stackSize, exportAsync));
  }
}

//===----------------------------------------------------------------------===//
// Upstream's other tools
//===----------------------------------------------------------------------===//

int asyncOptLspServerMain(int argc, char **argv, MlirStringRef version,
                          size_t stackSize) {
  installFaultGuard();
  setWorkerStackSize(stackSize);
  setVersionPrinter("async-lsp-server", version);
  // Editors call a buffer so that is not in a file yet.
  llvm::lsp::URIForFile::registerSupportedScheme("untitled");
  // Without that of our tests, which it would offer.
  DialectRegistry registry;
  asyncOptRegisterAllDialects(wrap(&registry));
  return asMainReturnCode(MlirLspServerMain(argc, argv, registry));
}

int asyncOptReduceMain(int argc, char **argv, MlirStringRef version,
                       size_t stackSize) {
  llvm::InitLLVM init(argc, argv);
  installFaultGuard();
  setWorkerStackSize(stackSize);
  setVersionPrinter("async-opt reduce", version);
  asyncOptRegisterUpstreamPasses();
  registerReducerPasses();
  DialectRegistry registry;
  registerToolDialects(registry);
  MLIRContext context(registry);
  LogicalResult result = mlirReduceMain(argc, argv, context);
  // Which MLIR does not say.
  if (failed(result))
    llvm::errs() << "async-opt reduce: nothing was reduced. If nothing above "
                    "says why, the test did not find the problem in the file "
                    "itself: it has to be executable, and end with exit code "
                    "1\n";
  return asMainReturnCode(result);
}

//===----------------------------------------------------------------------===//
// Tools in Rust
//===----------------------------------------------------------------------===//

/// Adds what is written as "PASS" or "PASS{OPTION=VALUE ...}", as the drivers
/// of mlir-opt do: a pass on functions needs no nesting. Anything else is text
/// of a pipeline, which MLIR takes as it is.
static LogicalResult addPasses(StringRef text, OpPassManager &pm) {
  auto [name, options] = text.split('{');
  const PassRegistryEntry *entry = PassPipelineInfo::lookup(name);
  if (!entry)
    entry = PassInfo::lookup(name);
  if (!entry)
    return parsePassPipeline(text, pm);
  options.consume_back("}");
  return entry->addToPipeline(pm, options, [](const Twine &message) {
    llvm::errs() << message << "\n";
    return failure();
  });
}

bool asyncOptWithModule(MlirStringRef path, intptr_t numPasses,
                        const MlirStringRef *passes, size_t stackSize,
                        AsyncOptRewrite importAsync,
                        bool (*callback)(MlirOperation, void *),
                        void *userData) {
  installFaultGuard();
  setWorkerStackSize(stackSize);
  asyncOptRegisterUpstreamPasses();
  DialectRegistry registry;
  registerToolDialects(registry);
  auto work = [&](ModuleOp module) {
    PassManager pm(module.getContext(), ModuleOp::getOperationName(),
                   OpPassManager::Nesting::Implicit);
    for (MlirStringRef text : ArrayRef(passes, numPasses))
      if (failed(addPasses(unwrap(text), pm)))
        return failure();
    return success(succeeded(pm.run(module)) &&
                   callback(wrap(module.getOperation()), userData));
  };
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInput(unwrap(path), registry, stackSize);
  if (!input)
    return false;
  if (input->getBuffer().contains("async.execute"))
    return succeeded(
        withImported(std::move(input), registry, importAsync, work));
  auto parsed = [&](ModuleOp module, llvm::SourceMgr &) {
    return work(module);
  };
  return succeeded(withParsed(std::move(input), registry, parsed));
}

/// Parses and verifies; returns null after it has emitted an error.
static Operation *parseBefore(Operation *other, StringRef text) {
  // It refers to symbols that it does not bring along, and its parent is not
  // there yet.
  ParserConfig config(other->getContext(), /*verifyAfterParse=*/false);
  OwningOpRef<Operation *> parsed =
      parseSourceString<Operation *>(text, config, "ir");
  if (!parsed)
    return nullptr;
  if (parsed->getName() != other->getName()) {
    emitError(parsed->getLoc()) << "this is no '" << other->getName() << "'";
    return nullptr;
  }
  Operation *op = parsed.release();
  other->getBlock()->getOperations().insert(other->getIterator(), op);
  if (succeeded(verify(op)))
    return op;
  op->erase();
  return nullptr;
}

MlirOperation asyncOptParseBefore(MlirOperation other, MlirStringRef text,
                                  size_t stackSize, MlirStringCallback callback,
                                  void *userData) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  Operation *op = nullptr;
  if (checkNesting(llvm::MemoryBufferRef(unwrap(text), "ir"),
                   getNestingLimit(stackSize), stream)) {
    ScopedDiagnosticHandler handler(
        unwrap(other)->getContext(), [&](Diagnostic &diagnostic) {
          // The first error is the cause of the others.
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              message.empty())
            stream << diagnostic.getLocation() << ": " << diagnostic;
          return success();
        });
    op = parseBefore(unwrap(other), unwrap(text));
  }
  if (!op)
    callback(wrap(StringRef(message).rtrim()), userData);
  return wrap(op);
}
