//===- RustPass.cpp - Passes and pipelines written outside C++ ------------===//
//
// Part of async-opt, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncOpt-c/MLIR/Pass.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/Support/Threading.h"

#include <atomic>

using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

struct OptionDescriptor {
  explicit OptionDescriptor(const AsyncOptOption &option)
      : name(unwrap(option.name)), description(unwrap(option.description)),
        kind(option.kind), boolDefault(option.boolDefault),
        intDefault(option.intDefault),
        stringDefault(unwrap(option.stringDefault)) {}

  std::string name, description;
  AsyncOptOptionKind kind;
  bool boolDefault;
  int64_t intDefault;
  std::string stringDefault;
};

/// The options of one pass or pipeline instance. `Parent` owns the list that
/// MLIR parses, prints and clones.
template <template <typename> class Option> class OptionSet {
public:
  template <typename Parent>
  OptionSet(Parent &parent, ArrayRef<OptionDescriptor> descriptors) {
    for (const OptionDescriptor &option : descriptors) {
      Slot slot;
      auto description = llvm::cl::desc(option.description);
      switch (option.kind) {
      case AsyncOptOptionBool:
        slot.boolean =
            std::make_unique<Option<bool>>(parent, option.name, description,
                                           llvm::cl::init(option.boolDefault));
        break;
      case AsyncOptOptionInt:
        slot.integer = std::make_unique<Option<int64_t>>(
            parent, option.name, description,
            llvm::cl::init(option.intDefault));
        break;
      case AsyncOptOptionString:
        slot.string = std::make_unique<Option<std::string>>(
            parent, option.name, description,
            llvm::cl::init(option.stringDefault));
        break;
      }
      slots.push_back(std::move(slot));
    }
  }

  bool getBool(intptr_t index) const { return *slots[index].boolean; }
  int64_t getInt(intptr_t index) const { return *slots[index].integer; }
  StringRef getString(intptr_t index) const {
    return slots[index].string->getValue();
  }

private:
  /// One of the three is set.
  struct Slot {
    std::unique_ptr<Option<bool>> boolean;
    std::unique_ptr<Option<int64_t>> integer;
    std::unique_ptr<Option<std::string>> string;
  };
  SmallVector<Slot> slots;
};

template <typename T> using PassOption = Pass::Option<T>;
template <typename T>
using PipelineOption = mlir::detail::PassOptions::Option<T>;

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// What was registered, once per pass. Lives as long as the process, as MLIR's
/// registry does.
struct PassDescriptor {
  explicit PassDescriptor(const AsyncOptPassInfo &info)
      : argument(unwrap(info.argument)), description(unwrap(info.description)),
        anchor(info.anchor), run(info.run) {
    for (MlirStringRef name :
         llvm::ArrayRef(info.anchorNames, info.numAnchorNames))
      anchorNames.push_back(unwrap(name).str());
    for (const AsyncOptOption &option :
         llvm::ArrayRef(info.options, info.numOptions))
      options.emplace_back(option);
    for (const AsyncOptStatistic &statistic :
         llvm::ArrayRef(info.statistics, info.numStatistics))
      statistics.emplace_back(unwrap(statistic.name),
                              unwrap(statistic.description));
    dependentDialects.assign(info.dependentDialects,
                             info.dependentDialects +
                                 info.numDependentDialects);
  }

  /// The one operation name that the pass is anchored on, if it is one.
  std::optional<StringRef> getOpName() const {
    if (anchor == AsyncOptAnchorNames && anchorNames.size() == 1)
      return StringRef(anchorNames.front());
    return std::nullopt;
  }

  std::string argument, description;
  AsyncOptAnchor anchor;
  std::vector<std::string> anchorNames;
  std::vector<OptionDescriptor> options;
  std::vector<std::pair<std::string, std::string>> statistics;
  std::vector<MlirDialectHandle> dependentDialects;
  bool (*run)(AsyncOptPass, MlirOperation);
  SelfOwningTypeID typeID;
};

/// The check of what a pass has written, which is timed as an analysis is.
struct Check {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Check)
};

class RustPass : public Pass {
public:
  explicit RustPass(const PassDescriptor &descriptor)
      : Pass(descriptor.typeID, descriptor.getOpName()), descriptor(descriptor),
        options(*this, descriptor.options) {
    for (const auto &[name, description] : descriptor.statistics)
      statistics.push_back(
          std::make_unique<Statistic>(this, name.c_str(), description.c_str()));
  }

  StringRef getName() const override { return descriptor.argument; }
  StringRef getArgument() const override { return descriptor.argument; }
  StringRef getDescription() const override { return descriptor.description; }

  void getDependentDialects(DialectRegistry &registry) const override {
    for (MlirDialectHandle dialect : descriptor.dependentDialects)
      mlirDialectHandleInsertDialect(dialect, wrap(&registry));
  }

  bool canScheduleOn(RegisteredOperationName name) const override {
    if (descriptor.anchor == AsyncOptAnchorNames)
      return llvm::is_contained(descriptor.anchorNames, name.getStringRef());
    return true;
  }

  std::unique_ptr<Pass> clonePass() const override {
    // Pass::clone then copies the option values.
    return std::make_unique<RustPass>(descriptor);
  }

  void runOnOperation() override {
    Operation *root = getOperation();
    thread = llvm::get_threadid();
    if (descriptor.anchor != AsyncOptAnchorFunctions ||
        isa<FunctionOpInterface>(root)) {
      if (!run(root))
        signalPassFailure();
      return;
    }

    // `--flag` on a module: every function inside, as if the pipeline had
    // named the nesting.
    SmallVector<Operation *> functions;
    root->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
      functions.push_back(function);
      return WalkResult::skip();
    });
    if (failed(failableParallelForEach(
            root->getContext(), functions,
            [&](Operation *function) { return success(run(function)); })))
      signalPassFailure();
  }

  /// MLIR's timing keeps a stack of timers for each thread, and has none for
  /// one that did not start a pass.
  void timeCheck(bool start) {
    PassInstrumentor *instrumentor = getAnalysisManager().getPassInstrumentor();
    if (!instrumentor || llvm::get_threadid() != thread)
      return;
    if (start)
      instrumentor->runBeforeAnalysis("Check", TypeID::get<Check>(),
                                      getOperation());
    else
      instrumentor->runAfterAnalysis("Check", TypeID::get<Check>(),
                                     getOperation());
  }

  OptionSet<PassOption> &getOptions() { return options; }
  Statistic &getStatistic(intptr_t index) { return *statistics[index]; }

private:
  bool run(Operation *op) {
    return descriptor.run(AsyncOptPass{this}, wrap(op));
  }

  const PassDescriptor &descriptor;
  OptionSet<PassOption> options;
  /// The thread that runs the pass.
  uint64_t thread = 0;
  std::vector<std::unique_ptr<Statistic>> statistics;
};

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

struct PipelineDescriptor {
  explicit PipelineDescriptor(const AsyncOptPipelineInfo &info)
      : build(info.build), userData(info.userData) {
    for (const AsyncOptOption &option :
         llvm::ArrayRef(info.options, info.numOptions))
      options.emplace_back(option);
  }

  std::vector<OptionDescriptor> options;
  decltype(AsyncOptPipelineInfo::build) build;
  const void *userData;
};

struct PipelineOptions : public PassPipelineOptions<PipelineOptions> {
  explicit PipelineOptions(const PipelineDescriptor &descriptor)
      : options(*this, descriptor.options) {}

  OptionSet<PipelineOption> options;
};

} // namespace

static RustPass &unwrap(AsyncOptPass pass) {
  return *static_cast<RustPass *>(pass.ptr);
}

static const OptionSet<PipelineOption> &
unwrap(AsyncOptPipelineOptions options) {
  return static_cast<const PipelineOptions *>(options.ptr)->options;
}

//===----------------------------------------------------------------------===//
// C API
//===----------------------------------------------------------------------===//

void asyncOptRegisterPass(const AsyncOptPassInfo *info) {
  // A pass that is there already stays: MLIR ends the process when a second
  // class of passes claims a flag.
  if (mlir::PassInfo::lookup(unwrap(info->argument)))
    return;
  auto *descriptor = new PassDescriptor(*info);
  registerPass(
      [descriptor] { return std::make_unique<RustPass>(*descriptor); });
}

bool asyncOptPassGetBool(AsyncOptPass pass, intptr_t index) {
  return unwrap(pass).getOptions().getBool(index);
}

int64_t asyncOptPassGetInt(AsyncOptPass pass, intptr_t index) {
  return unwrap(pass).getOptions().getInt(index);
}

MlirStringRef asyncOptPassGetString(AsyncOptPass pass, intptr_t index) {
  return wrap(unwrap(pass).getOptions().getString(index));
}

void asyncOptPassAddStatistic(AsyncOptPass pass, intptr_t index,
                              uint64_t delta) {
  unwrap(pass).getStatistic(index) += delta;
}

void asyncOptPassTimeCheck(AsyncOptPass pass, bool start) {
  unwrap(pass).timeCheck(start);
}

bool asyncOptMayUseThreads(MlirContext context) {
  return unwrap(context)->isMultithreadingEnabled();
}

void asyncOptRegisterPipeline(const AsyncOptPipelineInfo *info) {
  if (mlir::PassPipelineInfo::lookup(unwrap(info->argument)))
    return;
  auto *descriptor = new PipelineDescriptor(*info);

  auto build =
      [descriptor](OpPassManager &pm, StringRef text,
                   function_ref<LogicalResult(const Twine &)> onError) {
        std::string errors;
        llvm::raw_string_ostream errorStream(errors);
        PipelineOptions options(*descriptor);
        if (failed(options.parseFromString(text, errorStream)))
          return onError(StringRef(errors).rtrim());

        std::string answer;
        auto emit = [](MlirStringRef emitted, void *data) {
          *static_cast<std::string *>(data) = unwrap(emitted).str();
        };
        if (!descriptor->build(AsyncOptPipelineOptions{&options},
                               descriptor->userData, emit, &answer))
          return onError(answer);
        if (failed(parsePassPipeline(answer, pm, errorStream)))
          return onError(StringRef(errors).rtrim());
        return success();
      };
  auto visitOptions =
      [descriptor](
          function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(PipelineOptions(*descriptor));
      };
  registerPassPipeline(unwrap(info->argument), unwrap(info->description), build,
                       visitOptions);
}

bool asyncOptPipelineGetBool(AsyncOptPipelineOptions options, intptr_t index) {
  return unwrap(options).getBool(index);
}

int64_t asyncOptPipelineGetInt(AsyncOptPipelineOptions options,
                               intptr_t index) {
  return unwrap(options).getInt(index);
}

MlirStringRef asyncOptPipelineGetString(AsyncOptPipelineOptions options,
                                        intptr_t index) {
  return wrap(unwrap(options).getString(index));
}

static std::atomic<bool> reproducerRequested = false;

void asyncOptRequestReproducer(void) { reproducerRequested = true; }

bool asyncOptIsReproducerRequested(void) { return reproducerRequested; }
