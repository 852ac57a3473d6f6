//! Random kernels without races: copies to slots of a buffer, loads of a thread's own row and of the other warp's, stores, arithmetic;
//! and the awaits and barriers that these need, and a few more.

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
    is_written: bool,
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
        self.line("gpu.barrier");
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
        self.tiles[tile].is_written = true;
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

    fn step(&mut self) {
        let tile = self.draw(3);
        let value = self.value();
        match self.draw(12) {
            0..=3 => {
                self.overwrite(tile);
                let column = ["%c0", "%c8"][self.draw(2)];
                self.line(&format!(
                    "{value} = gpux.copy async %A[%i, {column}], %t[%s{tile}, %i, %c0], 8 : memref<64x16xf16> to {TILES}"
                ));
                self.tiles[tile].in_flight = Some(value);
            }
            4..=5 if self.tiles[tile].is_written => {
                self.wait(tile);
                self.line(&format!("{value} = memref.load %t[%s{tile}, %i, %c0] : {TILES}"));
                self.add_half(&value);
            }
            6..=7 if self.tiles[tile].is_written => {
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
    format!(
        "gpu.module @m {{
          gpu.func @k(%A: memref<64x16xf16>, %B: memref<64xf32>) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
            %t = memref.alloc() : {TILES}
            %c0 = arith.constant 0 : index
            %c8 = arith.constant 8 : index
            %c32 = arith.constant 32 : index
            %one = arith.constant 1.0 : f32
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
