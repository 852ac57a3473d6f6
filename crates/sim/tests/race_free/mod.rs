//! Random kernels without races: copies to slots of a buffer, some of which wait for others, loads of a thread's own row and of the other
//! warp's, stores, loops that write a part of a row, shuffles, arithmetic; and the awaits and barriers that these need, and a few more: of the
//! block, by number, and of a warp.

use super::random::Random;

/// What writes a kernel.
struct Writer {
    state: Random,
    text: String,
    values: usize,
    /// The running sum.
    sum: String,
    tiles: [Tile; 3],
}

#[derive(Clone, Default)]
struct Tile {
    /// How many columns have been written, from the first one on.
    columns: usize,
    in_flight: Option<String>,
    /// All threads see what it holds.
    is_visible: bool,
    /// The other warp has read it since the last barrier.
    is_read_elsewhere: bool,
}

const TILES: &str = "memref<3x64x8xf16, #gpu.address_space<workgroup>>";

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.state.below(below)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    fn wait(&mut self, tile: usize) {
        if let Some(token) = self.tiles[tile].in_flight.take() {
            self.line(&format!("async.await {token}"));
        }
    }

    fn barrier(&mut self) {
        let barrier = [
            "gpu.barrier",
            "nvvm.barrier id = %one_i number_of_threads = %threads",
        ][self.draw(2)];
        self.line(barrier);
        for tile in &mut self.tiles {
            tile.is_visible = tile.in_flight.is_none();
            tile.is_read_elsewhere = false;
        }
    }

    /// Before all threads' rows of a tile are overwritten.
    fn overwrite(&mut self, tile: usize) {
        self.wait(tile);
        if self.tiles[tile].is_read_elsewhere {
            self.barrier();
        }
        self.tiles[tile].is_visible = false;
        self.tiles[tile].columns = self.tiles[tile].columns.max(1);
    }

    fn add(&mut self, value: &str) {
        let sum = self.value();
        let line = format!("{sum} = arith.addf {}, {value} : f32", self.sum);
        self.line(&line);
        self.sum = sum;
    }

    fn add_half(&mut self, value: &str) {
        let wide = self.value();
        self.line(&format!("{wide} = arith.extf {value} : f16 to f32"));
        self.add(&wide);
    }

    /// Copies a row, perhaps once other copies are complete.
    fn copy(&mut self, tile: usize, value: String) {
        self.overwrite(tile);
        let others: Vec<String> = self
            .tiles
            .iter()
            .filter_map(|tile| tile.in_flight.clone())
            .collect();
        let after = match self.draw(3) {
            0 if !others.is_empty() => format!(" [{}]", others.join(", ")),
            _ => String::new(),
        };
        let column = ["%c0", "%c8"][self.draw(2)];
        self.line(&format!(
            "{value} = gpux.copy async{after} %A[%i, {column}], %t[%s{tile}, %i, %c0], 8 : memref<64x16xf16> to {TILES}"
        ));
        self.tiles[tile].in_flight = Some(value);
        self.tiles[tile].columns = 8;
    }

    /// A loop that writes some elements of a thread's own row, and reads one in each iteration. Its variable has few bits.
    fn inner_loop(&mut self, tile: usize, value: &str) {
        self.overwrite(tile);
        let (width, read) = (["i4", "i8", "i16", "i64"][self.draw(4)], self.draw(8));
        let (from, trips) = (self.draw(3), self.draw(5));
        let number = self.values;
        let sum = self.sum.clone();
        for (name, constant) in [("from", from), ("to", from + trips), ("by", 1)] {
            self.line(&format!("%{name}{number} = arith.constant {constant} : {width}"));
        }
        self.line(&format!(
            "{value} = scf.for %k{number} = %from{number} to %to{number} step %by{number} iter_args(%a = {sum}) -> (f32) : {width} {{
%at = arith.index_castui %k{number} : {width} to index
%half = arith.truncf %a : f32 to f16
memref.store %half, %t[%s{tile}, %i, %at] : {TILES}
%read = memref.load %t[%s{tile}, %i, %r{read}] : {TILES}
%wide = arith.extf %read : f16 to f32
%next = arith.addf %a, %wide : f32
scf.yield %next : f32
}}"
        ));
        value.clone_into(&mut self.sum);
    }

    /// A value of another thread of the warp, or a barrier of the warp.
    fn of_warp(&mut self, value: &str) {
        if self.draw(2) == 0 {
            return self.line("nvvm.bar.warp.sync %all : i32");
        }
        let line = format!(
            "{value}, %valid{} = gpu.shuffle xor {}, %one_i, %width : f32",
            self.values, self.sum
        );
        self.line(&line);
        self.add(value);
    }

    fn step(&mut self) {
        let tile = self.draw(3);
        let value = self.value();
        match self.draw(15) {
            0..=3 => self.copy(tile, value),
            4..=5 if self.tiles[tile].columns > 0 => {
                self.wait(tile);
                self.line(&format!("{value} = memref.load %t[%s{tile}, %i, %c0] : {TILES}"));
                self.add_half(&value);
            }
            6..=7 if self.tiles[tile].columns > 0 => {
                self.wait(tile);
                if !self.tiles[tile].is_visible {
                    self.barrier();
                }
                self.line(&format!("{value} = memref.load %t[%s{tile}, %j, %c0] : {TILES}"));
                self.tiles[tile].is_read_elsewhere = true;
                self.add_half(&value);
            }
            8 => {
                self.overwrite(tile);
                let line = format!("{value} = arith.truncf {} : f32 to f16", self.sum);
                self.line(&line);
                self.line(&format!("memref.store {value}, %t[%s{tile}, %i, %c0] : {TILES}"));
            }
            9 => {
                self.line(&format!("{value} = memref.load %A[%i, %c8] : memref<64x16xf16>"));
                self.add_half(&value);
            }
            10 => self.barrier(),
            11 | 12 => self.of_warp(&value),
            13 if self.tiles[tile].columns == 8 => self.inner_loop(tile, &value),
            _ => {
                for _ in 0..self.draw(40) {
                    self.add("%one");
                }
            }
        }
    }
}

/// A random kernel of two warps without a race.
pub fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        state: Random(seed),
        text: String::new(),
        values: 0,
        sum: "%one".to_owned(),
        tiles: std::array::from_fn(|_| Tile::default()),
    };
    (0..30).for_each(|_| writer.step());
    (0..3).for_each(|tile| writer.wait(tile));
    // Slots that can be told apart, and slots that can't.
    let slots = if seed.is_multiple_of(2) {
        "%s0 = arith.constant 0 : index
         %s1 = arith.constant 1 : index
         %s2 = arith.constant 2 : index"
    } else {
        "%c1 = arith.constant 1 : index
         %c6 = arith.constant 6 : index
         %s0 = arith.shrui %i, %c6 : index
         %s1 = arith.addi %s0, %c1 : index
         %s2 = arith.addi %s1, %c1 : index"
    };
    let columns: Vec<String> = (0..8)
        .map(|r| format!("%r{r} = arith.constant {r} : index"))
        .collect();
    let columns = columns.join("\n");
    format!(
        "gpu.module @m {{
          gpu.func @k(%A: memref<64x16xf16>, %B: memref<64xf32>) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
            %t = memref.alloc() : {TILES}
            %c0 = arith.constant 0 : index
            %c8 = arith.constant 8 : index
            %c32 = arith.constant 32 : index
            %one = arith.constant 1.0 : f32
            %one_i = arith.constant 1 : i32
            %all = arith.constant -1 : i32
            %width = arith.constant 32 : i32
            %threads = arith.constant 64 : i32
            {columns}
            %i = gpu.thread_id x
            %j = arith.xori %i, %c32 : index
            {}
            {}
            memref.store {}, %B[%i] : memref<64xf32>
            gpu.return
          }}
        }}",
        slots, writer.text, writer.sum
    )
}
