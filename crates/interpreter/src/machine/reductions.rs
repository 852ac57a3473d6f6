//! Reductions over the threads of a warp or block.

use super::warp::Together;
use super::{Machine, Reason, WARP};
use crate::code::{Reg, WarpReduce};
use crate::scalar;
use crate::value::Value;
use std::collections::BTreeMap;

impl Machine<'_> {
    /// All lanes of a cluster get what the numbers of all make, in the order of the lanes.
    pub(super) fn warp_reduce(&mut self, lanes: &[usize], reduce: &WarpReduce) -> Together<()> {
        let mut sums: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        for &t in lanes {
            let fail = |reason| (t, reason);
            let numbers = self.numbers(t, reduce.value).map_err(fail)?;
            let Some(sum) = sums.get_mut(&reduce.cluster.of(t % WARP)) else {
                sums.insert(reduce.cluster.of(t % WARP), numbers);
                continue;
            };
            for (sum, number) in sum.iter_mut().zip(numbers) {
                let next = scalar::eval(reduce.f, reduce.elem, [*sum, number, 0])
                    .map_err(|error| fail(error.into()))?;
                *sum = next.ok_or_else(|| fail(Reason::Poison))?;
            }
        }
        for &t in lanes {
            let is_vector = matches!(self.value(t, reduce.value), Ok(Value::Vector(_)));
            let result = match sums[&reduce.cluster.of(t % WARP)].as_slice() {
                [number] if !is_vector => Value::Bits(*number),
                numbers => Value::Vector(numbers.into()),
            };
            self.set(t, reduce.to, result);
        }
        Ok(())
    }

    /// Thread 0 gets a vector of what all threads of the block bring.
    pub(super) fn gather_block(&mut self, to: Reg, value: Reg) -> Together<()> {
        let threads = 0..self.threads.len();
        let numbers = threads.map(|t| self.bits(t, value).map_err(|reason| (t, reason)));
        let numbers = numbers.collect::<Result<_, _>>()?;
        self.set(0, to, Value::Vector(numbers));
        Ok(())
    }

    /// All threads of the block get what thread 0 has.
    pub(super) fn share(&mut self, to: Reg, from: Reg) {
        let value = self.threads[0].regs[from.0 as usize].clone();
        for t in 0..self.threads.len() {
            self.set(t, to, value.clone());
        }
    }
}
