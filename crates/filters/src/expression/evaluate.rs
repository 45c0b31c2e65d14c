//! The stack machine that evaluates an expression. It runs the program over one block of elements at a
//! time, so that the stack stays in the nearest cache.

use super::{Binary, Function, Operation};
use crate::numbers::{Float, NumberBuffer, Real};
use crate::sums;
use ligament_wire::ArrayOrder;
use std::borrow::Cow;

/// Number of elements in a block. A block of doubles has 2 KiB.
const BLOCK_LEN: usize = 256;

type ElementBlock = [f64; BLOCK_LEN];

/// The stack of blocks. It is reused for each message.
#[derive(Debug)]
pub(super) struct Machine {
    stack: Vec<ElementBlock>,
}

/// The position of a block in its array, and the time of the message.
struct BlockPosition<'a> {
    first: usize,
    shape: &'a [u64],
    order: ArrayOrder,
    time: f64,
}

impl Machine {
    /// Makes a machine whose stack is deep enough for `program`.
    pub fn for_program(program: &[Operation]) -> Machine {
        let (mut depth, mut deepest) = (0usize, 0);
        for operation in program {
            match operation {
                Operation::X | Operation::T | Operation::Index(_) | Operation::Constant(_) => depth += 1,
                Operation::Apply(_) | Operation::CombineRight(..) | Operation::CombineLeft(..) => {}
                Operation::Combine(_) => depth -= 1,
                Operation::Choose => depth -= 2,
            }
            deepest = deepest.max(depth);
        }
        Machine { stack: vec![[0.0; BLOCK_LEN]; deepest] }
    }

    /// Applies the program to each number. Owned elements are changed in place.
    pub fn run(
        &mut self,
        program: &[Operation],
        numbers: NumberBuffer<'_>,
        time: f64,
    ) -> NumberBuffer<'static> {
        let NumberBuffer { real, frame } = numbers;
        let real = match real {
            Real::F64(elements) => Real::F64(self.all(program, elements, &frame.shape, frame.order, time)),
            Real::F32(elements) => Real::F32(self.all(program, elements, &frame.shape, frame.order, time)),
        };
        NumberBuffer { real, frame }
    }

    fn all<'b, T: Float>(
        &mut self,
        program: &[Operation],
        elements: Cow<'_, [T]>,
        shape: &[u64],
        order: ArrayOrder,
        time: f64,
    ) -> Cow<'b, [T]> {
        let place = |block: usize| BlockPosition { first: block * BLOCK_LEN, shape, order, time };
        Cow::Owned(match elements {
            Cow::Owned(mut ours) => {
                for (i, block) in ours.chunks_mut(BLOCK_LEN).enumerate() {
                    let made = self.block(program, block, &place(i));
                    block.iter_mut().zip(made).for_each(|(x, &y)| *x = T::from_f64(y));
                }
                ours
            }
            Cow::Borrowed(theirs) => {
                let mut all = Vec::with_capacity(theirs.len());
                for (i, block) in theirs.chunks(BLOCK_LEN).enumerate() {
                    let made = self.block(program, block, &place(i));
                    all.extend(made[..block.len()].iter().map(|&y| T::from_f64(y)));
                }
                all
            }
        })
    }

    fn block<T: Float>(
        &mut self,
        program: &[Operation],
        elements: &[T],
        place: &BlockPosition<'_>,
    ) -> &ElementBlock {
        let mut depth = 0;
        for &operation in program {
            let (below, free) = self.stack.split_at_mut(depth);
            match operation {
                Operation::X => free[0].iter_mut().zip(elements).for_each(|(x, element)| *x = element.to_f64()),
                Operation::T => free[0].fill(place.time),
                Operation::Constant(constant) => free[0].fill(constant),
                Operation::Index(axis) => place.indices(axis, &mut free[0][..elements.len()]),
                Operation::Apply(function) => apply(function, &mut below[depth - 1]),
                Operation::CombineRight(binary, constant) => {
                    combine(binary, &mut below[depth - 1], &Right(constant));
                }
                Operation::CombineLeft(constant, binary) => {
                    combine(binary, &mut below[depth - 1], &LeftConstant(constant));
                }
                Operation::Combine(binary) => {
                    let (left, right) = below.split_at_mut(depth - 1);
                    combine(binary, &mut left[depth - 2], &UpperBlock(&right[0]));
                }
                Operation::Choose => {
                    let (condition, ways) = below[depth - 3..].split_at_mut(1);
                    for (i, x) in condition[0].iter_mut().enumerate() {
                        let way = if *x != 0.0 { ways[0][i] } else { ways[1][i] };
                        *x = if x.is_nan() { *x } else { way };
                    }
                }
            }
            match operation {
                Operation::X | Operation::T | Operation::Index(_) | Operation::Constant(_) => depth += 1,
                Operation::Combine(_) => depth -= 1,
                Operation::Choose => depth -= 2,
                Operation::Apply(_) | Operation::CombineRight(..) | Operation::CombineLeft(..) => {}
            }
        }
        &self.stack[0]
    }
}

impl BlockPosition<'_> {
    /// Writes the index along `axis` of each element of the block.
    fn indices(&self, axis: usize, to: &mut [f64]) {
        let faster = match self.order {
            ArrayOrder::RowMajor => &self.shape[axis + 1..],
            ArrayOrder::ColumnMajor => &self.shape[..axis],
        };
        let step = faster.iter().product::<u64>() as usize;
        let extent = self.shape[axis] as usize;
        for (i, index) in to.iter_mut().enumerate() {
            *index = ((self.first + i) / step % extent) as f64;
        }
    }
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// Returns the truth value of a comparison, or NaN if one of the compared numbers is NaN.
#[inline(always)]
fn compared(a: f64, b: f64, holds: bool) -> f64 {
    if a.is_nan() | b.is_nan() {
        f64::NAN
    } else {
        truth(holds)
    }
}

/// Computes `a and b`. A false operand makes the result false, even if the other operand is NaN (Kleene,
/// 1952).
fn both(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        0.0
    } else {
        compared(a, b, true)
    }
}

/// Computes `a or b`. A true operand makes the result true, even if the other operand is NaN.
fn either(a: f64, b: f64) -> f64 {
    let holds = |x: f64| x != 0.0 && !x.is_nan();
    if holds(a) || holds(b) {
        1.0
    } else {
        compared(a, b, false)
    }
}

/// The second operand of a binary operation. The first operand is a block on the stack.
trait Operand {
    fn join(&self, value: f64, i: usize, operation: impl Fn(f64, f64) -> f64) -> f64;
}

/// The second operand is a constant on the right.
struct Right(f64);
/// The second operand is a constant on the left.
struct LeftConstant(f64);
/// The second operand is the next higher block on the stack, on the right.
struct UpperBlock<'a>(&'a ElementBlock);

impl Operand for Right {
    #[inline(always)]
    fn join(&self, value: f64, _: usize, operation: impl Fn(f64, f64) -> f64) -> f64 {
        operation(value, self.0)
    }
}

impl Operand for LeftConstant {
    #[inline(always)]
    fn join(&self, value: f64, _: usize, operation: impl Fn(f64, f64) -> f64) -> f64 {
        operation(self.0, value)
    }
}

impl Operand for UpperBlock<'_> {
    #[inline(always)]
    fn join(&self, value: f64, i: usize, operation: impl Fn(f64, f64) -> f64) -> f64 {
        operation(value, self.0[i])
    }
}

/// Applies a binary operation to a block. Each operation has its own loop, which the compiler turns into
/// vector instructions.
fn combine(binary: Binary, values: &mut ElementBlock, with: &impl Operand) {
    macro_rules! each {
        ($operation:expr) => {
            for (i, a) in values.iter_mut().enumerate() {
                *a = with.join(*a, i, $operation);
            }
        };
    }
    match binary {
        Binary::Add => each!(|a, b| a + b),
        Binary::Subtract => each!(|a, b| a - b),
        Binary::Multiply => each!(|a, b| a * b),
        Binary::Divide => each!(|a, b| a / b),
        Binary::Power => each!(power),
        Binary::Min => each!(sums::min),
        Binary::Max => each!(sums::max),
        Binary::Atan2 => each!(f64::atan2),
        Binary::Less => each!(|a, b| compared(a, b, a < b)),
        Binary::LessOrEqual => each!(|a, b| compared(a, b, a <= b)),
        Binary::Greater => each!(|a, b| compared(a, b, a > b)),
        Binary::GreaterOrEqual => each!(|a, b| compared(a, b, a >= b)),
        Binary::Equal => each!(|a, b| compared(a, b, a == b)),
        Binary::NotEqual => each!(|a, b| compared(a, b, a != b)),
        Binary::And => each!(both),
        Binary::Or => each!(either),
    }
}

/// Computes a power. Squares and cubes are the most common powers, so they are computed by multiplication.
fn power(a: f64, b: f64) -> f64 {
    match b {
        2.0 => a * a,
        3.0 => a * a * a,
        _ => a.powf(b),
    }
}

fn apply(function: Function, values: &mut ElementBlock) {
    macro_rules! each {
        ($operation:expr) => {
            values.iter_mut().for_each(|a| *a = $operation(*a))
        };
    }
    match function {
        Function::Negate => each!(|a: f64| -a),
        Function::Not => each!(|a| compared(a, a, a == 0.0)),
        Function::IsNan => each!(|a: f64| truth(a.is_nan())),
        Function::Abs => each!(f64::abs),
        Function::Sqrt => each!(f64::sqrt),
        Function::Exp => each!(f64::exp),
        Function::Log => each!(f64::ln),
        Function::Log10 => each!(f64::log10),
        Function::Sin => each!(f64::sin),
        Function::Cos => each!(f64::cos),
        Function::Tan => each!(f64::tan),
        Function::Asin => each!(f64::asin),
        Function::Acos => each!(f64::acos),
        Function::Atan => each!(f64::atan),
        Function::Sinh => each!(f64::sinh),
        Function::Cosh => each!(f64::cosh),
        Function::Tanh => each!(f64::tanh),
        Function::Floor => each!(f64::floor),
        Function::Ceil => each!(f64::ceil),
        // NumPy also rounds halves to the even neighbour.
        Function::Round => each!(f64::round_ties_even),
    }
}
