// What the test of the package asks beside the documented programs.
#include "AsyncOpt-c/AsyncOpt.h"
#include "AsyncOpt/AsyncOpt.h"
#include "gpux/Gpux.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"

#include <iostream>

/// Of the second library in Rust: 1 + ... + n, by a thread; -1 if that panics,
/// which it does for n = 0.
extern "C" int64_t secondSum(int64_t n);

static int failures = 0;
static void check(bool holds, const char *what) {
  if (holds)
    return;
  std::cerr << "failed: " << what << "\n";
  ++failures;
}

static std::string print(const mlir::OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  manager.printAsTextualPipeline(stream);
  return text;
}

/// The defaults of the options are those of the flag.
static void checkDefaults() {
  mlir::OpPassManager built("builtin.module"), parsed("builtin.module");
  check(succeeded(asyncopt::buildLowerToNVVMPipeline(built)),
        "the pipeline can be built");
  check(succeeded(mlir::parsePassPipeline("gpux-lower-to-nvvm", parsed)),
        "the pipeline can be parsed");
  check(print(built) == print(parsed), "defaults in C++ are those of the flag");
}

static void checkErrors() {
  mlir::OpPassManager manager("builtin.module");
  std::string message;
  llvm::raw_string_ostream stream(message);
  asyncopt::LowerToNVVMOptions options;
  options.chip = "sm_42";
  check(failed(asyncopt::buildLowerToNVVMPipeline(manager, options, stream)),
        "an unknown chip is refused");
  check(message.find("sm_42") != std::string::npos,
        "the message names the chip");
  message.clear();
  options = {};
  options.toolkit = "/a{b";
  check(failed(asyncopt::buildLowerToNVVMPipeline(manager, options, stream)),
        "a brace is refused");
  check(message.find("toolkit") != std::string::npos,
        "the message names the option");
}

/// MLIR finds a trait by its name where the linker has not made one symbol of
/// all that stand for it, and compilers spell names differently: this one's
/// spelling is used if it is the first to ask.
static void checkTraits() {
  (void)mlir::TypeID::get<mlir::OpTrait::IsTerminator>();
  mlir::DialectRegistry registry;
  asyncopt::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f() {
      %done = async.region {
        async.yield
      }
      async.await %done
      return
    })",
                                                        &context);
  check(bool(module), "a module with our dialect async can be parsed");
  if (!module)
    return;
  int terminators = 0, yields = 0;
  module->walk([&](mlir::Operation *op) {
    terminators += op->hasTrait<mlir::OpTrait::IsTerminator>();
    yields += mlir::isa<async_opt::async::YieldOp>(op);
  });
  check(terminators == 2, "our yield and upstream's return are terminators");
  check(yields == 1, "operations have the classes of the headers");
  check(succeeded(mlir::verify(*module)), "the module can be verified");

  MlirStringRef pipeline =
      mlirStringRefCreateFromCString("func.func(gpux-tokens-to-groups)");
  check(
      mlirLogicalResultIsSuccess(asyncOptRunPipeline(wrap(*module), pipeline)),
      "a pipeline runs on a module");
  check(failed(asyncopt::emitPTX(*module, llvm::nulls())),
        "a module without kernels has no PTX");
}

/// A host that registers upstream's dialects and ours, and nothing else.
static void checkExtensions() {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  asyncopt::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    gpu.module @kernels {
      gpu.func @k(%src: memref<?xf32>, %n: index) kernel {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          %x = memref.load %src[%i] : memref<?xf32>
          %y = math.absf %x : f32
          memref.store %y, %src[%i] : memref<?xf32>
        }
        gpu.return
      }
    })",
                                                        &context);
  check(bool(module), "a kernel can be parsed beside upstream's dialects");
  if (!module)
    return;
  mlir::PassManager manager(&context);
  check(succeeded(asyncopt::buildLowerToNVVMPipeline(manager)) &&
            succeeded(manager.run(*module)) &&
            succeeded(asyncopt::emitPTX(*module, llvm::nulls())),
        "extensions come with our dialects");
}

static int calls = 0;
static std::string told;
static void tell(MlirStringRef text, void *) {
  ++calls;
  told.assign(text.data, text.length);
}
static void ignore(MlirStringRef, void *) {}

/// In C, an error and its notes are one call.
static void checkDiagnostics() {
  auto string = mlirStringRefCreateFromCString;
  MlirLogicalResult result = asyncOptCompileText(
      string("func.func @f() {\n  gpux.commit_group <cp_async>\n  "
             "gpux.wait_group <cp_async>, -1\n  return\n}\n"),
      string("canonicalize"), /*ptx=*/false, ignore, tell, nullptr);
  check(mlirLogicalResultIsFailure(result) && calls == 1 &&
            told.find("<input>:3:3: error:") == 0 &&
            told.find("note: see current operation") != std::string::npos,
        "a diagnostic comes whole, with its notes");
}

int main() {
  check(secondSum(4) == 10, "the second library works");
  checkDefaults();
  checkErrors();
  checkTraits();
  checkExtensions();
  checkDiagnostics();
  check(secondSum(0) == -1, "the second library catches its panics");
  return failures;
}
