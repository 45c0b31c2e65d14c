import java.nio.file.Files;
import java.nio.file.Path;
import org.ligament.Instance;
import org.ligament.Message;

/** Java: does the same as ping.c. */
public final class Ping {
    private static void give(Instance instance, double[] data) {
        instance.send("out", 0.0, data.length == 0 ? null : data);
    }

    private static void take(Instance instance, int count) {
        try (Message message = instance.receive("in")) {
            if (count > 0 && message.array().length() != count) {
                throw new IllegalStateException("another length");
            }
        }
    }

    private static void play(Instance instance, boolean first, double[] data, long[] times) {
        for (int i = 0; i < times.length; i++) {
            if (first) {
                long began = System.nanoTime();
                give(instance, data);
                take(instance, data.length);
                times[i] = System.nanoTime() - began;
            } else {
                take(instance, data.length);
                give(instance, data);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]) / Double.BYTES;
        long[] times = new long[Integer.parseInt(args[2])];
        double[] data = new double[count];
        try (Instance instance = new Instance()) {
            while (instance.reuseInstance()) {
                play(instance, args[0].equals("a"), data, times);
            }
        }
        if (args[0].equals("a")) {
            StringBuilder text = new StringBuilder();
            for (long time : times) {
                text.append(time).append('\n');
            }
            Files.writeString(Path.of(args[3]), text);
        }
    }
}
