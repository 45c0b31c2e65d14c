import java.math.BigInteger;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.Complex;
import org.ligament.DType;
import org.ligament.Kind;
import org.ligament.LigamentException;
import org.ligament.Order;
import org.ligament.Value;

/** One value that contains every kind of value, the same as in the C and C++ tests: builds it and checks it. */
final class Tree {
    private Tree() {}

    static final BigInteger MAX_UINT64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    /** Two elements whose bytes all have the number of the type; those of a truth value are 1. */
    static byte[] pattern(DType type) {
        byte[] bytes = new byte[2 * type.size()];
        Arrays.fill(bytes, (byte) (type == DType.BOOL ? 1 : type.ordinal() + 1));
        return bytes;
    }

    static Map<String, Object> build() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("list", Arrays.asList(null, true, Long.MIN_VALUE, MAX_UINT64, -0.1, new Complex(1.5, -2.5),
                "Größe\0x",
                new byte[] {0, 1, -1}, List.of(), Map.of()));
        for (DType type : DType.values()) {
            map.put("array " + (type.ordinal() + 1),
                    Array.of(type, java.nio.ByteBuffer.wrap(pattern(type)), 2));
        }
        map.put("grid", Array.of(new double[] {0, 1, 2, 3, 4, 5}, 3, 2).order(Order.COLUMN_MAJOR).names("x",
                "y")
                .unit("mol/m³"));
        return map;
    }

    static void check(Value map) {
        Value list = map.at("list");
        Check.equal(list.size(), 10L);
        Check.holds(list.at(0).isNone());
        Check.holds(list.at(1).asBoolean());
        Check.equal(list.at(2).asLong(), Long.MIN_VALUE);
        Check.fails(LigamentException.Unexpected.class, "does not fit", () -> list.at(2).asInt());
        Check.equal(list.at(3).asBigInteger(), MAX_UINT64);
        Check.fails(LigamentException.Unexpected.class, "18446744073709551615", () -> list.at(3).asLong());
        Check.equal(list.at(4).asDouble(), -0.1);
        Check.equal(list.at(5).asComplex(), new Complex(1.5, -2.5));
        Check.equal(list.at(6).asString(), "Größe\0x");
        Check.equal(list.at(7).asBytes(), new byte[] {0, 1, -1});
        Check.holds(list.at(8).kind() == Kind.LIST && list.at(8).size() == 0);
        Check.holds(list.at(9).kind() == Kind.MAP && list.at(9).keys().isEmpty());
        Check.fails(LigamentException.Usage.class, "no item 10", () -> list.at(10));

        for (DType type : DType.values()) {
            ArrayView view = map.at("array " + (type.ordinal() + 1)).array();
            Check.holds(view.dtype() == type && view.ndim() == 1 && view.length() == 2 && view.isContiguous());
            byte[] bytes = new byte[2 * type.size()];
            view.asByteBuffer().get(bytes);
            Check.equal(bytes, pattern(type));
        }
        ArrayView odd = map.at("array 2").array();
        Check.fails(LigamentException.Unexpected.class, "int8, not float64", odd::toDoubleArray);
        Check.equal(odd.unit(), null);
        ArrayView grid = map.at("grid").array();
        Check.equal(grid.shape(), new long[] {3, 2});
        Check.holds(grid.order() == Order.COLUMN_MAJOR && grid.getDouble(1, 0) == 1
                && grid.getDouble(2, 1) == 5);
        Check.equal(grid.toDoubleArray(), new double[] {0, 3, 1, 4, 2, 5});
        Check.equal(grid.toDoubleArray2D(), new double[][] {{0, 3}, {1, 4}, {2, 5}});
        Check.fails(IndexOutOfBoundsException.class, "index 3 of dimension 0", () -> grid.getDouble(3, 0));
        Check.fails(IndexOutOfBoundsException.class, "1 indices", () -> grid.getDouble(0));
        Check.equal(grid.names(), new String[] {"x", "y"});
        Check.equal(grid.unit(), "mol/m³");
        Check.fails(LigamentException.Unexpected.class, "no key \"absent\"", () -> map.at("absent"));
        Check.holds(map.find("absent") == null && map.key(0).equals("list"));
    }
}
