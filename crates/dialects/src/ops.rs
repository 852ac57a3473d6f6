//! Typed wrappers of our operations for melior, generated from the same `.td` files as the C++ classes.

melior::dialect! {
    name: "async",
    files: ["async/AsyncOps.td"],
    include_directory_env_vars: ["ASYNC_OPT_DIALECTS"],
}

melior::dialect! {
    name: "gpux",
    files: ["gpux/GpuxOps.td"],
    include_directory_env_vars: ["ASYNC_OPT_DIALECTS"],
}
