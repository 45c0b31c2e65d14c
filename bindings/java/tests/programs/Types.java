import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Order;
import org.ligament.Times;

/**
 * Sends arrays of every type, of 0 to 4 dimensions, in both orders and in every form, to an echo and receives
 * them again.
 */
public final class Types {
    static final long[][] SHAPES = {{}, {7}, {0}, {3, 5}, {2, 3, 4}, {2, 1, 3, 2}, {40, 0, 3}};
    static final Random RANDOM = new Random(5);

    static byte[] bytes(DType type, long[] shape) {
        long length = type.size();
        for (long extent : shape) {
            length *= extent;
        }
        byte[] bytes = new byte[(int) length];
        RANDOM.nextBytes(bytes);
        for (int i = 0; type == DType.BOOL && i < bytes.length; i++) {
            bytes[i] &= 1;
        }
        return bytes;
    }

    /** Makes an array on the heap, in Java's type for it. */
    static Object elements(DType type, byte[] bytes) {
        MemorySegment from = MemorySegment.ofArray(bytes);
        return switch (type) {
            case BOOL -> {
                boolean[] truths = new boolean[bytes.length];
                for (int i = 0; i < truths.length; i++) {
                    truths[i] = bytes[i] != 0;
                }
                yield truths;
            }
            case INT8, UINT8 -> bytes;
            case INT16, UINT16 -> from.toArray(ValueLayout.JAVA_SHORT_UNALIGNED);
            case INT32, UINT32 -> from.toArray(ValueLayout.JAVA_INT_UNALIGNED);
            case INT64, UINT64 -> from.toArray(ValueLayout.JAVA_LONG_UNALIGNED);
            case FLOAT32, COMPLEX64 -> from.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
            case FLOAT64, COMPLEX128 -> from.toArray(ValueLayout.JAVA_DOUBLE_UNALIGNED);
        };
    }

    static void same(ArrayView view, DType type, long[] shape, Order order, byte[] wanted) {
        Check.holds(view.dtype() == type && view.isContiguous());
        Check.equal(view.shape(), shape);
        if (shape.length > 1 && view.length() > 0) {
            Check.equal(view.order(), order);
        }
        Check.equal(view.segment().toArray(ValueLayout.JAVA_BYTE), wanted);
    }

    static void back(Instance instance, DType type, long[] shape, Order order, byte[] wanted) {
        try (Message message = instance.receive("in")) {
            same(message.array(), type, shape, order, wanted);
        }
    }

    /** The same elements with doubled strides in every dimension, in memory of the needed size. */
    static Array spread(Arena arena, Array dense, boolean native_) {
        long[] shape = dense.shape();
        long[] wide = shape.clone();
        long total = dense.dtype().size();
        for (int i = 0; i < wide.length; i++) {
            wide[i] *= 2;
            total *= wide[i];
        }
        MemorySegment memory = native_ ? arena.allocate(Math.max(1, total), 16)
                : MemorySegment.ofArray(new byte[(int) total]);
        Array all = Array.of(dense.dtype(), memory, wide).order(dense.order());
        long[] strides = all.strides();
        for (int i = 0; i < strides.length; i++) {
            strides[i] *= 2;
        }
        return Array.of(dense.dtype(), memory, shape).order(dense.order()).strides(strides);
    }

    static void put(Array target, Array source) {
        copy(target, source, new long[source.shape().length], 0);
    }

    static void copy(Array target, Array source, long[] index, int dimension) {
        if (dimension == index.length) {
            long to = 0;
            long from = 0;
            for (int i = 0; i < index.length; i++) {
                to += index[i] * target.strides()[i];
                from += index[i] * source.strides()[i];
            }
            MemorySegment.copy(source.memory(), from, target.memory(), to, source.dtype().size());
            return;
        }
        for (index[dimension] = 0; index[dimension] < source.shape()[dimension]; index[dimension]++) {
            copy(target, source, index, dimension + 1);
        }
    }

    static void one(Instance instance, DType type, long[] shape, Order order) {
        byte[] bytes = bytes(type, shape);
        Array heap = Array.of(type, elements(type, bytes), shape).order(order);
        instance.send("out", 0.0, heap);
        back(instance, type, shape, order, bytes);
        try (Arena arena = Arena.ofConfined(); Arena shared = Arena.ofShared()) {
            for (Arena each : List.of(arena, shared)) {
                MemorySegment memory = each.allocate(Math.max(1, bytes.length), 16);
                MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
                instance.send("out", 0.0, Array.of(type, memory, shape).order(order));
                back(instance, type, shape, order, bytes);
            }
            for (boolean nativeMemory : List.of(true, false)) {
                Array spread = spread(arena, heap, nativeMemory);
                put(spread, heap);
                instance.send("out", 0.0, spread);
                back(instance, type, shape, order, bytes);
            }
            // Receives into memory of the caller, also in the other order and with gaps.
            Order other = order == Order.ROW_MAJOR ? Order.COLUMN_MAJOR : Order.ROW_MAJOR;
            for (Order into : List.of(order, other)) {
                Array onHeap = Array.of(type, elements(type, new byte[bytes.length]), shape).order(into);
                Array inMemory = Array.of(type, arena.allocate(Math.max(1, bytes.length), 16),
                        shape).order(into);
                Array apart = spread(arena, onHeap, true);
                for (Array target : List.of(onHeap, inMemory, apart)) {
                    instance.send("out", Times.of(1, 2), heap);
                    Check.equal(instance.receiveInto("in", target), Times.of(1, 2));
                    instance.send("out", 0.0, target);
                    try (Message message = instance.receive("in")) {
                        Array copy = Array.of(type, elements(type, new byte[bytes.length]), shape).order(order);
                        message.array().copyTo(copy);
                        Check.equal(copy.memory().toArray(ValueLayout.JAVA_BYTE), bytes);
                    }
                }
            }
        }
        try (Loan loan = instance.loan(type, order, shape)) {
            Check.holds(loan.segment().address() % 64 == 0);
            loan.copyFrom(heap);
            instance.send("out", 0.0, loan);
            back(instance, type, shape, order, bytes);
        }
    }

    /** Sends Java's own arrays by themselves, and reads them as what they are. */
    static void plain(Instance instance) {
        double[] d = {1, -0.0, Double.NaN};
        instance.send("out", 0.0, d);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toDoubleArray(), d);
            Check.equal(m.array().asDoubleBuffer().get(0), 1.0);
            Check.holds(m.array().asDoubleBuffer().isReadOnly() && m.array().segment().isReadOnly());
            Check.equal(m.as(double[].class), d);
        }
        float[] f = {1, 2};
        instance.send("out", 0.0, f);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toFloatArray(), f);
        }
        long[] l = {Long.MIN_VALUE, 3};
        instance.send("out", 0.0, l);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toLongArray(), l);
            Check.equal(m.array().getLong(0), Long.MIN_VALUE);
        }
        int[] i = {-1, 3};
        instance.send("out", 0.0, i);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toIntArray(), i);
        }
        short[] s = {-1, 3};
        instance.send("out", 0.0, s);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toShortArray(), s);
        }
        boolean[] b = {true, false};
        instance.send("out", 0.0, b);
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toBooleanArray(), b);
            Check.equal(m.array().getBoolean(0), true);
        }
        instance.send("out", 0.0, Array.of(DType.UINT8, new byte[] {-1}, 1));
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().getLong(0), 255L);
            Check.equal(m.array().getDouble(0), 255.0);
            Check.equal(m.array().toByteArray(), new byte[] {-1});
        }
        instance.send("out", 0.0, Array.of(DType.UINT64, new long[] {-1}, 1));
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().getDouble(0), 0x1p64);
        }
        instance.send("out", 0.0, Array.of(DType.COMPLEX128, new double[] {1, 2, 3, 4}, 2));
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().getComplex(1), new org.ligament.Complex(3, 4));
            Check.equal(m.array().toDoubleArray(), new double[] {1, 2, 3, 4});
            Check.fails(LigamentException.Unexpected.class, "complex128", () -> m.array().getDouble(0));
        }
        instance.send("out", 0.0, new double[][] {{1, 2, 3}, {4, 5, 6}});
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toDoubleArray2D(), new double[][] {{1, 2, 3}, {4, 5, 6}});
        }
        java.nio.DoubleBuffer buffer = java.nio.ByteBuffer.allocateDirect(32).order(
                java.nio.ByteOrder.nativeOrder())
                .asDoubleBuffer();
        buffer.put(0, 9).put(1, 8).put(2, 7).put(3, 6).position(1);
        instance.send("out", 0.0, Array.of(DType.FLOAT64, buffer, 3));
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toDoubleArray(), new double[] {8, 7, 6});
        }
        Check.fails(LigamentException.Usage.class, "BIG_ENDIAN", () -> Array.of(DType.FLOAT64,
                java.nio.ByteBuffer.allocateDirect(32).asDoubleBuffer(), 3));
        // Sends elements backwards, by negative strides, in Java's memory and in native memory.
        double[] up = {0, 1, 2, 3, 4, 5};
        instance.send("out", 0.0, Array.of(DType.FLOAT64, up, 3).section(40, -16));
        try (Message m = instance.receive("in")) {
            Check.equal(m.array().toDoubleArray(), new double[] {5, 3, 1});
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, up);
            instance.send("out", 0.0, Array.of(DType.FLOAT64, memory, 3).section(40, -16));
            try (Message m = instance.receive("in")) {
                Check.equal(m.array().toDoubleArray(), new double[] {5, 3, 1});
            }
        }
        // Sends elements that are not aligned, and elements that are only two bytes apart.
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment odd = arena.allocate(25, 8).asSlice(1);
            MemorySegment.copy(up, 1, odd, ValueLayout.JAVA_DOUBLE_UNALIGNED, 0, 3);
            instance.send("out", 0.0, Array.of(DType.FLOAT64, odd, 3));
            odd.fill((byte) 0);
            instance.receiveInto("in", Array.of(DType.FLOAT64, odd, 3));
            Check.equal(odd.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, 16), 3.0);
            instance.send("out", 0.0, Array.of(DType.INT32, arena.allocate(16), 3).strides(2));
            try (Message m = instance.receive("in")) {
                Check.equal(m.array().toIntArray(), new int[3]);
            }
        }
        // Sends an array that does not fit the small memory.
        double[] large = RANDOM.doubles(20_000).toArray();
        for (Object each : List.of(large, Array.of(large, 100, 200),
                Array.of(large, 100, 200).order(Order.COLUMN_MAJOR))) {
            instance.send("out", 0.0, each);
            try (Message m = instance.receive("in")) {
                Check.equal(m.array().segment().toArray(ValueLayout.JAVA_DOUBLE), large);
            }
        }
        double[] into = new double[large.length];
        instance.send("out", 0.0, large);
        instance.receiveInto("in", into);
        Check.equal(into, large);
        // An array that does not fit is an error, and no element is written.
        for (Array wrong : List.of(Array.of(new double[3]), Array.of(new float[2]))) {
            instance.send("out", 0.0, new double[] {1, 2});
            Check.fails(LigamentException.Unexpected.class, "asked for", () ->
                    instance.receiveInto("in", wrong));
        }
    }

    public static void main(String[] arguments) {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("out"), Operator.S,
                List.of("in")))) {
            while (instance.reuseInstance()) {
                for (DType type : DType.values()) {
                    for (long[] shape : SHAPES) {
                        for (Order order : Order.values()) {
                            one(instance, type, shape, order);
                        }
                    }
                }
                plain(instance);
            }
        }
    }
}
