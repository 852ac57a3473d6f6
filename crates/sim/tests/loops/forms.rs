//! The forms that a loop can load its tiles in.

use proptest::prelude::*;

/// How tiles come to workgroup memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Copies with tokens.
    Tokens,
    /// Loads and stores, of which the pass makes copies.
    Plain,
    /// Upstream's copies, groups and waits; true if the waits have a count.
    Nvgpu(bool),
    /// Loads by the tensor memory accelerator.
    Tma,
}

pub fn random_form() -> impl Strategy<Value = Form> {
    prop_oneof![
        2 => Just(Form::Tokens),
        1 => Just(Form::Plain),
        1 => any::<bool>().prop_map(Form::Nvgpu),
        1 => Just(Form::Tma),
    ]
}

impl Form {
    /// What loads buffer `b`, and what awaits that; `{}` stands for attributes.
    pub fn load(self, b: usize) -> (Vec<String>, Vec<String>) {
        match self {
            Self::Tokens => (
                vec![format!(
                    "%token{b} = gpux.copy async %in[%from], %b{b}[%t], 1 {{}} : memref<?xi32> to !Tile"
                )],
                vec![format!("async.await %token{b} {{}}")],
            ),
            Self::Plain => (
                vec![
                    format!("%loaded{b} = memref.load %in[%from] {{}} : memref<?xi32>"),
                    format!("memref.store %loaded{b}, %b{b}[%t] {{}} : !Tile"),
                ],
                Vec::new(),
            ),
            Self::Nvgpu(counts) => {
                let count = if counts { "{numGroups = 0 : i32}" } else { "{}" };
                (
                    vec![
                        format!(
                            "%copy{b} = nvgpu.device_async_copy %in[%from], %b{b}[%t], 1 {{}} : memref<?xi32> to !Tile"
                        ),
                        format!("%token{b} = nvgpu.device_async_create_group %copy{b} {{}}"),
                    ],
                    vec![format!("nvgpu.device_async_wait %token{b} {count}")],
                )
            }
            Self::Tma => (
                vec![format!(
                    "%token{b} = gpux.tma_load async %map[%tile], %b{b} {{}} : !Map, !Tile"
                )],
                vec![format!("async.await %token{b} {{}}")],
            ),
        }
    }

    /// The same, but the copy is of as many elements as `%count` says, if there is such a copy, or of none unless `%odd`.
    pub fn load_masked(self, b: usize) -> (Vec<String>, Vec<String>) {
        if self == Self::Plain {
            let load = "memref.load %in[%from]";
            let transfer = match b % 3 {
                0 => vec![format!(
                    "scf.if %odd {{
  %u = {load} : memref<?xi32>
  memref.store %u, %b{b}[%t] : !Tile
}} else {{
  memref.store %zero, %b{b}[%t] : !Tile
}} {{}}"
                )],
                1 => vec![
                    format!(
                        "%loaded{b} = scf.if %odd -> i32 {{
  %u = {load} : memref<?xi32>
  scf.yield %u : i32
}} else {{
  scf.yield %zero : i32
}} {{}}"
                    ),
                    format!("memref.store %loaded{b}, %b{b}[%t] {{}} : !Tile"),
                ],
                _ => vec![
                    format!("%all{b} = {load} {{}} : memref<?xi32>"),
                    format!("%loaded{b} = arith.select %odd, %all{b}, %zero {{}} : i32"),
                    format!("memref.store %loaded{b}, %b{b}[%t] {{}} : !Tile"),
                ],
            };
            return (transfer, Vec::new());
        }
        let (mut transfer, awaits) = self.load(b);
        for line in &mut transfer {
            *line = line.replace("[%t], 1 {}", "[%t], 1, %count {}");
        }
        (transfer, awaits)
    }

    /// What loads buffer `b` by a loop that does nothing else.
    pub fn load_halo(self, b: usize) -> (Vec<String>, Vec<String>) {
        let each = "scf.for %x = %t to %staged step %c16";
        let from = "%behind = arith.addi %tile, %x : index";
        match self {
            Self::Plain => (
                vec![format!(
                    "{each} {{
  {from}
  %u = memref.load %other[%behind] : memref<?xi32>
  memref.store %u, %b{b}[%x] : !Halo
}} {{}}"
                )],
                Vec::new(),
            ),
            Self::Nvgpu(_) => (
                vec![
                    format!(
                        "{each} {{
  {from}
  %u = nvgpu.device_async_copy %other[%behind], %b{b}[%x], 1 : memref<?xi32> to !Halo
}} {{}}"
                    ),
                    format!("%token{b} = nvgpu.device_async_create_group {{group}}"),
                ],
                vec![format!("nvgpu.device_async_wait %token{b} {{}}")],
            ),
            Self::Tokens | Self::Tma => (
                vec![format!(
                    "%token{b} = {each} iter_args(%others = %none) -> (!async.token) {{
  {from}
  %u = gpux.copy async %other[%behind], %b{b}[%x], 1 : memref<?xi32> to !Halo
  %all = async.join %others, %u
  scf.yield %all : !async.token
}} {{}}"
                )],
                vec![format!("async.await %token{b} {{}}")],
            ),
        }
    }

    /// What loads buffer `b` under a condition, in several statements.
    pub fn load_if(self, b: usize, condition: &str) -> Vec<String> {
        if matches!(self, Self::Nvgpu(_)) {
            return vec![
                format!(
                    "scf.if %{condition} {{\n  %u = nvgpu.device_async_copy %other[%from], %x{b}[%t], 1 : memref<?xi32> to !Tile\n}} {{}}"
                ),
                format!("%tokenx{b} = nvgpu.device_async_create_group {{group}}"),
                format!("nvgpu.device_async_wait %tokenx{b} {{}}"),
            ];
        }
        vec![
            format!(
                "%tokenx{b} = scf.if %{condition} -> !async.token {{\n  %u = gpux.copy async %other[%from], %x{b}[%t], 1 : memref<?xi32> to !Tile\n  scf.yield %u : !async.token\n}} else {{\n  %u = async.ready\n  scf.yield %u : !async.token\n}} {{}}"
            ),
            format!("async.await %tokenx{b} {{}}"),
        ]
    }

    /// The passes that make the pipeliner's input of it, where it does not do so itself.
    pub fn before(self) -> &'static str {
        match self {
            Self::Nvgpu(false) => "gpux-groups-to-tokens,",
            _ => "",
        }
    }

    /// The passes that translate its tokens.
    pub fn counting(self) -> &'static str {
        match self {
            Self::Tma => "gpux-tokens-to-mbarriers,gpux-tokens-to-groups",
            _ => "gpux-tokens-to-groups",
        }
    }
}
