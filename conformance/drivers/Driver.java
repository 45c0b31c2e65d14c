// The driver in Java. It receives messages, rebuilds them, and sends them on; README.md describes the ways.

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
import org.ligament.Value;

public final class Driver {
    static Object rebuilt(Value value) {
        return switch (value.kind()) {
            case NONE -> null;
            case BOOL -> value.asBoolean();
            case INT -> value.asLong();
            case UINT -> value.asBigInteger();
            case FLOAT -> value.asDouble();
            case COMPLEX -> value.asComplex();
            case STRING -> value.asString();
            case BYTES -> value.asBytes();
            case LIST -> {
                List<Object> list = new ArrayList<>();
                for (long i = 0; i < value.size(); i++) {
                    list.add(rebuilt(value.at(i)));
                }
                yield list;
            }
            case MAP -> {
                Map<String, Object> map = new LinkedHashMap<>();
                for (long i = 0; i < value.size(); i++) {
                    map.put(value.key(i), rebuilt(value.at(i)));
                }
                yield map;
            }
            case ARRAY -> value.array().copy();
            case SETTINGS -> value.toObject();
        };
    }

    /** Returns the same elements as every second element of an array with twice the length in each
     * dimension. */
    static Array strided(ArrayView view, Arena arena) {
        long[] roomy = view.shape();
        long bytes = view.dtype().size();
        for (int i = 0; i < roomy.length; i++) {
            roomy[i] *= 2;
            bytes *= roomy[i];
        }
        var memory = arena.allocate(Math.max(1, bytes), 16);
        long[] strides = Array.of(view.dtype(), memory, roomy).order(view.order()).strides();
        for (int i = 0; i < strides.length; i++) {
            strides[i] *= 2;
        }
        Array section = Array.of(view.dtype(), memory, view.shape()).order(view.order()).strides(strides);
        view.copyTo(section);
        return section;
    }

    static Object setting(Instance instance, String name, String type) {
        return switch (type) {
            case "bool" -> instance.getSettingBoolean(name);
            case "int" -> instance.getSettingLong(name);
            case "float" -> instance.getSettingDouble(name);
            case "string" -> instance.getSettingString(name);
            case "int_list" -> listed(instance.getSettingLongs(name));
            case "float_list" -> listed(instance.getSettingDoubles(name));
            default -> {
                List<Object> rows = new ArrayList<>();
                for (double[] row : instance.getSettingGrid(name)) {
                    rows.add(listed(row));
                }
                yield rows;
            }
        };
    }

    static List<Object> listed(long[] numbers) {
        List<Object> list = new ArrayList<>();
        for (long number : numbers) {
            list.add(number);
        }
        return list;
    }

    static List<Object> listed(double[] numbers) {
        List<Object> list = new ArrayList<>();
        for (double number : numbers) {
            list.add(number);
        }
        return list;
    }

    /** Makes the wrong call, and returns the status and text of the error in Java. */
    static Map<String, Object> mistake(Instance instance, String call, String port, String out) {
        try {
            switch (call) {
                case "send_unknown_port" -> instance.send("nowhere", 0.0, null);
                case "receive_unknown_port" -> instance.receive("nowhere");
                case "send_on_receiving_port" -> instance.send(port, 0.0, null);
                case "setting_unset" -> instance.getSettingDouble("absent");
                case "setting_type" -> instance.getSettingDouble("text");
                case "into_wrong_shape" -> instance.receiveInto(port, new double[5]);
                case "into_wrong_type" -> instance.receiveInto(port, Array.of(new int[3]));
                case "array_wrong_shape" -> {
                    try (Message came = instance.receive(port)) {
                        came.array(DType.FLOAT64, 4);
                    }
                }
                case "array_wrong_type" -> {
                    try (Message came = instance.receive(port)) {
                        came.array(DType.INT32);
                    }
                }
                case "send_not_a_time" -> instance.send(out, Double.NaN, null);
                default -> { }
            }
        } catch (LigamentException mistake) {
            return Map.of("status", mistake.statusName(), "text", mistake.getMessage());
        }
        return Map.of("status", "none", "text", "");
    }

    static Array into(Value how) {
        List<Object> extents = how.at("shape").asList();
        long[] shape = extents.stream().mapToLong(extent -> (long) extent).toArray();
        DType type = DType.of(how.at("dtype").asString());
        long bytes = type.size();
        for (long extent : shape) {
            bytes *= extent;
        }
        Order order = how.at("order").asString().equals("F") ? Order.COLUMN_MAJOR : Order.ROW_MAJOR;
        return Array.of(type, Arena.ofAuto().allocate(Math.max(1, bytes), 16), shape).order(order);
    }

    static Message received(Instance instance, String way, String port) {
        return switch (way) {
            case "any" -> instance.receiveAny(port).message();
            case "default" -> instance.receiveIfConnected(port);
            default -> instance.receive(port);
        };
    }

    static void handle(Instance instance, Value how, String port, List<String> outs) {
        String way = how.at("way").asString();
        if (way.equals("into")) {
            Array own = into(how);
            Times times = instance.receiveInto(port, own);
            outs.forEach(out -> instance.send(out, times, own));
            return;
        }
        if (way.equals("error")) {
            String call = how.at("call").asString();
            if (!call.startsWith("into_") && !call.startsWith("array_")) {
                instance.receive(port).close();
            }
            Map<String, Object> said = mistake(instance, call, port, outs.get(0));
            outs.forEach(out -> instance.send(out, 0.0, said));
            return;
        }
        try (Message message = received(instance, way, port); Arena arena = Arena.ofConfined()) {
            for (String out : outs) {
                instance.send(out, message.times(), switch (way) {
                    case "value", "any" -> rebuilt(message.value());
                    case "default" -> {
                        try (Message none = instance.receiveIfConnected("nothing")) {
                            Object otherwise = none == null ? "nothing came" : rebuilt(none.value());
                            Map<String, Object> both = new LinkedHashMap<>();
                            both.put("came", rebuilt(message.value()));
                            both.put("otherwise", otherwise);
                            yield both;
                        }
                    }
                    case "loan" -> {
                        Loan loan = instance.loanLike(message.array());
                        loan.copyFrom(message.array());
                        yield loan;
                    }
                    case "strided" -> strided(message.array(), arena);
                    case "setting" -> setting(instance, how.at("name").asString(), how.at("type").asString());
                    default -> message.array().copy();
                });
            }
        }
    }

    public static void main(String[] arguments) {
        try (Instance instance = new Instance()) {
            while (instance.reuseInstance()) {
                try (Message how = instance.receive("how")) {
                    for (String port : instance.listPorts(Operator.F_INIT)) {
                        if (!port.equals("how")) {
                            handle(instance, how.value(), port, instance.listPorts(Operator.O_F).stream()
                                    .filter(out -> out.startsWith(port + "_")).toList());
                        }
                    }
                }
            }
        }
    }
}
