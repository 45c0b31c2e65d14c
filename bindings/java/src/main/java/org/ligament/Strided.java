package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Shapes, strides in bytes, and copies from one arrangement of elements to another. */
final class Strided {
    private Strided() {}

    /** Returns the number of elements of an array of this shape. */
    static long length(long[] shape) {
        long length = 1;
        for (long extent : shape) {
            length = Math.multiplyExact(length, extent);
        }
        return length;
    }

    /** Refuses an impossible shape. */
    static void check(long[] shape) {
        if (shape.length > Native.MAX_DIMS) {
            throw new LigamentException.Usage("an array has at most " + Native.MAX_DIMS + " dimensions, not "
                    + shape.length);
        }
        for (long extent : shape) {
            if (extent < 0) {
                throw new LigamentException.Usage("the extent " + extent + " is negative, in "
                        + Arrays.toString(shape));
            }
        }
        try {
            Math.multiplyExact(length(shape), 16);
        } catch (ArithmeticException overflow) {
            throw new LigamentException.Usage("no array can have the shape " + Arrays.toString(shape));
        }
    }

    /** Returns the strides of elements that lie next to each other. */
    static long[] dense(long[] shape, Order order, long size) {
        long[] strides = new long[shape.length];
        long stride = size;
        for (int i = 0; i < shape.length; i++) {
            int dimension = order == Order.COLUMN_MAJOR ? i : shape.length - 1 - i;
            strides[dimension] = stride;
            stride *= Math.max(1, shape[dimension]);
        }
        return strides;
    }

    /** Returns the offset of the lowest element from element 0, in bytes: 0 or less. */
    static long lowest(long[] shape, long[] strides) {
        long low = 0;
        for (int i = 0; i < shape.length; i++) {
            if (strides[i] < 0) {
                low = Math.addExact(low, Math.multiplyExact(strides[i], shape[i] - 1));
            }
        }
        return low;
    }

    /** Returns the offset of the end of the highest element from element 0, in bytes. */
    static long highest(long[] shape, long[] strides, long size) {
        long high = size;
        for (int i = 0; i < shape.length; i++) {
            if (strides[i] > 0) {
                high = Math.addExact(high, Math.multiplyExact(strides[i], shape[i] - 1));
            }
        }
        return high;
    }

    /** Copies an array to another memory. In both memories, element 0 is at an offset. */
    static void copy(MemorySegment from, long fromOffset, long[] fromStrides, MemorySegment to, long toOffset,
            long[] toStrides, long[] shape, int size) {
        long length = length(shape);
        if (length == 0) {
            return;
        }
        if (sameDense(fromStrides, toStrides, shape, size)) {
            MemorySegment.copy(from, fromOffset, to, toOffset, length * size);
            return;
        }
        // The innermost loop is over the dimension that runs fastest in the target.
        Integer[] nesting = new Integer[shape.length];
        Arrays.setAll(nesting, i -> i);
        Arrays.sort(nesting, (a, b) -> Long.compare(Math.abs(toStrides[b]), Math.abs(toStrides[a])));
        new Copy(from, fromStrides, to, toStrides, shape, size, nesting).at(0, fromOffset, toOffset);
    }

    private static boolean sameDense(long[] one, long[] other, long[] shape, int size) {
        return dense(one, shape, size) && Arrays.equals(one, other);
    }

    private static boolean dense(long[] strides, long[] shape, int size) {
        return Arrays.equals(strides, dense(shape, Order.ROW_MAJOR, size))
                || Arrays.equals(strides, dense(shape, Order.COLUMN_MAJOR, size));
    }

    private record Copy(MemorySegment from, long[] fromStrides, MemorySegment to, long[] toStrides,
            long[] shape, int size,
            Integer[] nesting) {
        void at(int depth, long source, long target) {
            if (depth == nesting.length) {
                MemorySegment.copy(from, source, to, target, size);
                return;
            }
            int dimension = nesting[depth];
            long sourceStride = fromStrides[dimension];
            long targetStride = toStrides[dimension];
            if (depth < nesting.length - 1) {
                for (long i = 0; i < shape[dimension]; i++) {
                    at(depth + 1, source + i * sourceStride, target + i * targetStride);
                }
                return;
            }
            long count = shape[dimension];
            if (sourceStride == size && targetStride == size) {
                MemorySegment.copy(from, source, to, target, count * size);
                return;
            }
            switch (size) {
                case 1 -> {
                    for (long i = 0; i < count; i++) {
                        to.set(JAVA_BYTE, target + i * targetStride,
                                from.get(JAVA_BYTE, source + i * sourceStride));
                    }
                }
                case 2 -> {
                    for (long i = 0; i < count; i++) {
                        to.set(JAVA_SHORT_UNALIGNED, target + i * targetStride,
                                from.get(JAVA_SHORT_UNALIGNED, source + i * sourceStride));
                    }
                }
                case 4 -> {
                    for (long i = 0; i < count; i++) {
                        to.set(JAVA_INT_UNALIGNED, target + i * targetStride,
                                from.get(JAVA_INT_UNALIGNED, source + i * sourceStride));
                    }
                }
                default -> {
                    for (long i = 0; i < count; i++) {
                        for (long part = 0; part < size; part += 8) {
                            to.set(JAVA_LONG_UNALIGNED, target + i * targetStride + part,
                                    from.get(JAVA_LONG_UNALIGNED, source + i * sourceStride + part));
                        }
                    }
                }
            }
        }
    }

    /** Describes indices for people. */
    static long offset(long[] shape, long[] strides, long... index) {
        if (index.length != shape.length) {
            throw new IndexOutOfBoundsException("an array with " + shape.length + " dimensions was asked with "
                    + index.length + " indices");
        }
        long offset = 0;
        for (int i = 0; i < index.length; i++) {
            offset += checked(index[i], i, shape) * strides[i];
        }
        return offset;
    }

    static long checked(long index, int dimension, long[] shape) {
        if (index < 0 || index >= shape[dimension]) {
            throw new IndexOutOfBoundsException("index " + index + " of dimension " + dimension
                    + " is not in 0 to "
                    + (shape[dimension] - 1));
        }
        return index;
    }
}
