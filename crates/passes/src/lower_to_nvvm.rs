//! `--gpux-lower-to-nvvm`: the pipeline from token form to PTX.

mod toolkit;

use crate::async_pipeline::{EPILOGUES, MEMORY, SHORT_TRIPS};
use crate::tokens_to_mbarriers::WARS;
use crate::utils::chip::{check_features, sm_of};
use crate::utils::verify_result::{VERIFY_RESULT, verify_result};
use async_mlir::names::gpu;
use async_mlir::pipeline::{OptionInfo, PassList, Pipeline, PipelineInfo, PipelineOptions};
use toolkit::Toolkit;

/// The pipeline.
pub struct LowerToNvvm;

impl Pipeline for LowerToNvvm {
    const INFO: PipelineInfo = PipelineInfo {
        flag: "gpux-lower-to-nvvm",
        summary: "lowers gpu.modules from token form to PTX; host code stays as it is",
        description: include_str!("lower_to_nvvm/description.md"),
        options: &[
            OptionInfo::string("chip", "sm_80", "the GPU, sm_80 or newer"),
            OptionInfo::string(
                "features",
                "",
                "target features; empty: +ptx80, +ptx83 for sm_90, or what a newer chip needs",
            ),
            OptionInfo::int("opt-level", 3, "LLVM's and ptxas's optimization level, 0 to 3"),
            OptionInfo::choice(
                "format",
                "isa",
                &[
                    ("llvm", "stop at the llvm dialect"),
                    ("isa", "PTX"),
                    ("bin", "cubin, by ptxas"),
                ],
                "what to produce",
            ),
            OptionInfo::string(
                "toolkit",
                "",
                "the folder of a CUDA toolkit, with libdevice (and ptxas for format=bin); empty: that of CUDA_ROOT, CUDA_HOME or CUDA_PATH, \
                 that of the ptxas on the PATH, or a usual one such as /usr/local/cuda",
            ),
            OptionInfo::bool(
                "pipeline",
                false,
                "unroll short affine loops, pipeline loops that ask for it and pack workgroup memory first",
            ),
            OptionInfo::int(
                "num-stages",
                0,
                "as in async-pipeline; other than 0, it means pipeline=true, too",
            ),
            OptionInfo::choice("memory", "error", MEMORY, "as in async-pipeline"),
            OptionInfo::choice("epilogue", "peel", EPILOGUES, "as in async-pipeline"),
            OptionInfo::choice("short-trips", "branch", SHORT_TRIPS, "as in async-pipeline"),
            OptionInfo::bool("computed-slots", false, "as in async-pipeline"),
            OptionInfo::bool(
                "schedule",
                false,
                "move copies, awaits and barriers as gpux-schedule does for this chip",
            ),
            OptionInfo::choice("war", "barrier", WARS, "as in gpux-tokens-to-mbarriers"),
            OptionInfo::bool("fence-reads", false, "as in gpux-tokens-to-mbarriers"),
            OptionInfo::bool("round-rings", false, "as in gpux-tokens-to-mbarriers"),
            OptionInfo::bool("form-groups", true, "as in gpux-tokens-to-groups"),
            OptionInfo::bool("balance", true, "as in gpux-tokens-to-groups"),
            OptionInfo::bool("drop-implied", true, "as in gpux-tokens-to-groups"),
            OptionInfo::int("unroll-limit", 8, "as in gpux-tokens-to-groups"),
            OptionInfo::int("max-padding", 4, "as in gpux-tokens-to-groups"),
            OptionInfo::bool(
                "lint",
                true,
                "warn of what is most likely a mistake, see gpux-lint",
            ),
            VERIFY_RESULT,
        ],
    };

    fn passes(options: &PipelineOptions) -> Result<PassList, String> {
        let chip = options.str("chip");
        let sm = sm_of(chip)?;
        check_features(options.str("features"))?;
        let features = match options.str("features") {
            // LLVM's own choice is the oldest PTX version that has the chip.
            "" if sm > 90 => "",
            // The fence of tensor maps that the host has copied (nvgpu.tma.fence.descriptor) is of PTX 8.3.
            "" if sm == 90 => "+ptx83",
            "" => "+ptx80",
            given => given,
        };
        let level = options.int("opt-level");
        if !(0..=3).contains(&level) {
            return Err(format!("opt-level is {level}, but must be 0 to 3"));
        }
        let format = options.str("format");
        let toolkit = Toolkit::find(options.str("toolkit"))?;
        if format == "bin" {
            toolkit.check_ptxas()?;
        }
        // The user of the llvm dialect links it later.
        let libdevice = if format == "llvm" {
            Libdevice::Later
        } else {
            Libdevice::of(&toolkit)?
        };

        let level = level.to_string();
        let mut target = vec![("chip", chip), ("O", &*level)];
        if !features.is_empty() {
            target.push(("features", features));
        }

        // Kernels inside of gpu.launch get a gpu.module, which is all that the rest looks at: host code
        // stays as it is.
        let passes = PassList::new().pass("gpu-kernel-outlining");
        let passes = if options.bool("pipeline") || options.int("num-stages") != 0 {
            pipelined(passes, options)
        } else {
            passes
        };
        let passes = passes
            .nest(gpu::MODULE, device_passes(options, &libdevice))
            // Except for what it passes to kernels.
            .pass("gpux-lower-launches")
            // Last before the binary, so that all passes before are the same for all chips.
            .pass_with("nvvm-attach-target", &target);
        let toolkit = toolkit
            .folder
            .map(|folder| quote(&folder.to_string_lossy()))
            .transpose()?;
        let mut binary = vec![("format", format)];
        binary.extend(toolkit.as_deref().map(|toolkit| ("toolkit", toolkit)));
        Ok(if format == "llvm" {
            passes
        } else {
            passes.pass_with("gpu-module-to-binary", &binary)
        })
    }
}

/// Adds what makes pipelines of plain loops.
fn pipelined(passes: PassList, options: &PipelineOptions) -> PassList {
    // First: operations with a stage are those of the loop's own body, and tokens are followed inside of functions.
    let unroll = [("unroll-factor", "-1"), ("unroll-full-threshold", "16")];
    let bodies = PassList::new()
        .pass_with("affine-loop-unroll", &unroll)
        // Loops and accesses of affine become those that analyses know.
        .pass("lower-affine")
        // What is put into vectors of fragments at constant places is taken from there.
        .pass("canonicalize");
    let computed_slots = options.bool("computed-slots").to_string();
    let device = PassList::new()
        .pass("gpux-inline-calls")
        .nest(gpu::FUNC, bodies)
        // Without guards, as is the default here, all rounds of a pipeline are straight-line code.
        .pass_with(
            "async-pipeline",
            &[
                ("chip", options.str("chip")),
                ("memory", options.str("memory")),
                ("epilogue", options.str("epilogue")),
                ("short-trips", options.str("short-trips")),
                ("num-stages", &options.int("num-stages").to_string()),
                ("computed-slots", &computed_slots),
                ("insert-barriers", "false"),
                verify_result(options),
            ],
        );
    passes
        .nest(gpu::MODULE, device)
        // It needs all versions of buffers, and sets how much memory launches ask for.
        .pass_with("gpux-pack-workgroup-memory", &[verify_result(options)])
        // Last: buffers that share bytes need barriers between them, too.
        .pass_with("gpux-insert-barriers", &[verify_result(options)])
}

/// What a `gpu.module` goes through to get to the `llvm` dialect.
fn device_passes(options: &PipelineOptions, libdevice: &Libdevice) -> PassList {
    let boolean = |name| if options.bool(name) { "true" } else { "false" };
    let libdevice = match libdevice {
        Libdevice::Later => vec![("libdevice", "true")],
        Libdevice::Missing { searched } => vec![("libdevice", "false"), ("searched", searched)],
    };
    // First: tokens are followed inside of functions.
    let passes = PassList::new().pass("gpux-inline-calls");
    let passes = if options.bool("lint") {
        // Next: it is about what was written, and where.
        passes.pass("gpux-lint")
    } else {
        passes
    };
    // While an allocation still stands once for each buffer: peeling makes copies of it.
    let passes = passes.pass("gpux-allocs-to-globals");
    let passes = if options.bool("schedule") {
        // While tokens say what completes: counts are worked out for the order that this leaves.
        let schedule = [("chip", options.str("chip")), verify_result(options)];
        passes.pass_with("gpux-schedule", &schedule)
    } else {
        passes
    };
    passes
        // Next: it reads structured control flow, and the barriers that it makes are seen by what follows.
        .pass_with(
            "gpux-tokens-to-mbarriers",
            &[
                ("war", options.str("war")),
                ("fence-reads", boolean("fence-reads")),
                ("round-rings", boolean("round-rings")),
                verify_result(options),
            ],
        )
        // Next: what is left of tokens is of one role each, so it is counted for each role alone.
        .pass_with("gpux-split-roles", &[verify_result(options)])
        // While control flow is structured, too; everything below knows no tokens.
        .pass_with(
            "gpux-tokens-to-groups",
            &[
                ("form-groups", boolean("form-groups")),
                ("balance", boolean("balance")),
                ("drop-implied", boolean("drop-implied")),
                ("unroll-limit", &options.int("unroll-limit").to_string()),
                ("max-padding", &options.int("max-padding").to_string()),
                verify_result(options),
            ],
        )
        // While views of buffers are still there to be looked through.
        .pass_with("gpux-to-nvvm", &[("chip", options.str("chip"))])
        // Before the types of memrefs are converted: it makes accesses to them, and loops.
        .pass("convert-nvgpu-to-nvvm")
        // Transfers of n-D vectors, unrolled: loops over vectors would put them into local memory.
        .pass_with("convert-vector-to-scf", &[("full-unroll", "true")])
        // All else that LLVM's vectors can't do; the loads and stores that this leaves are converted with the memrefs.
        .pass("expand-vectors")
        // Its loops are scf's, so before those go.
        .pass("lower-affine")
        .pass("convert-scf-to-cf")
        // Subviews and reshapes become arithmetic on strides; in affine.apply, hence the next one.
        .pass("expand-strided-metadata")
        .pass("lower-affine")
        // Everything that is left, at once, because it is the only conversion that knows GPU address spaces.
        .pass("convert-gpu-to-nvvm")
        // What has no intrinsic in LLVM becomes inline PTX; it wants converted types.
        .pass("convert-nvvm-to-llvm")
        // Casts between a type and itself converted meet here and go.
        .pass("reconcile-unrealized-casts")
        .pass("canonicalize")
        .pass("cse")
        // On what is left after dead code is gone.
        .pass_with("legalize-for-ptx", &libdevice)
}

/// Whether CUDA's device library will be linked.
enum Libdevice {
    Later,
    /// It is not to be found in `searched`, quoted.
    Missing {
        searched: String,
    },
}

impl Libdevice {
    fn of(toolkit: &Toolkit) -> Result<Self, String> {
        if toolkit.folder.is_some() {
            return Ok(Self::Later);
        }
        let searched: Vec<_> = toolkit
            .searched
            .iter()
            .map(|folder| folder.to_string_lossy())
            .collect();
        // It is only for a message.
        let searched = searched.join(", ").replace(['{', '}', '\'', '"'], "?");
        Ok(Self::Missing {
            searched: quote(&searched)?,
        })
    }
}

/// `value`, such that a textual pipeline takes it for one value.
fn quote(value: &str) -> Result<String, String> {
    if value.contains(['{', '}', '\'', '"']) {
        return Err(format!(
            "toolkit is {value}, but braces and quotes in it can't be passed on"
        ));
    }
    Ok(if value.contains([' ', ',']) {
        format!("{{{value}}}")
    } else {
        value.to_owned()
    })
}
