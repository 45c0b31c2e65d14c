package muscle.core;

import java.io.Serializable;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.stream.Stream;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;
import muscle.exception.MUSCLEConduitExhaustedException;
import muscle.exception.MUSCLEDatatypeException;
import muscle.exception.MUSCLERuntimeException;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.LogLevel;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Times;

/** This program's part in a run: its instance of Ligament. The calls of MUSCLE 2 stand on it. */
public final class Session {
    private static volatile Session current;

    private final Instance instance = new Instance();
    private final Settings settings = new Settings(instance);

    private Session() {}

    /** Joins the run that has started this program, and waits for the messages of F_INIT ports. */
    public static Session open() {
        Session session = new Session();
        current = session;
        if (!session.instance.reuseInstance()) {
            throw new MUSCLEConduitExhaustedException("the conduits of the F_INIT ports have ended before the "
                    + "first message");
        }
        return session;
    }

    /** The session of this program. */
    public static Session current() {
        Session session = current;
        if (session == null) {
            throw new IllegalStateException("this program has not joined a run; start it by a model file");
        }
        return session;
    }

    /** The name that a port or setting of MUSCLE 2 has in a model file, where {@code -} is {@code _}. */
    public static String inModel(String name) {
        return name.replace('-', '_');
    }

    /** The name of the instance. */
    public String name() {
        return instance.name();
    }

    /** The settings. */
    public Settings settings() {
        return settings;
    }

    /** The names of the ports that send. */
    public List<String> sendingPorts() {
        return Stream.of(Operator.O_I, Operator.O_F).flatMap(operator -> instance.listPorts(operator).stream())
                .toList();
    }

    /** The names of the ports that receive. */
    public List<String> receivingPorts() {
        return Stream.of(Operator.F_INIT, Operator.S).flatMap(operator -> instance.listPorts(operator).stream())
                .toList();
    }

    String sendingPort(String port) {
        return port("sends", sendingPorts(), port);
    }

    String receivingPort(String port) {
        return port("receives", receivingPorts(), port);
    }

    private String port(String direction, List<String> ports, String port) {
        if (!ports.contains(inModel(port))) {
            String known = ports.isEmpty() ? "none" : String.join(", ", ports);
            throw new IllegalArgumentException("instance " + name() + " has no port " + port + " that "
                    + direction + " in the model file; there are " + known);
        }
        return inModel(port);
    }

    void send(String port, Observation<?> message) {
        if (message == null || message.getTimestamp() == null) {
            throw new IllegalArgumentException("the message on port " + port
                    + " has no time; give it a Timestamp");
        }
        double time = message.getTimestamp().doubleValue();
        Timestamp next = message.getNextTimestamp();
        // An infinite time of the next message says that the sender does not know it.
        Times times = next == null || Double.isInfinite(next.doubleValue()) ? Times.of(time)
                : Times.of(time, next.doubleValue());
        Object data = Data.toLigament(message.getData(), "the data for port " + port + " of " + name());
        calling(() -> {
            instance.send(port, times, data);
            return null;
        });
    }

    <T extends Serializable> Observation<T> receive(String port, Class<T> dataClass) {
        return calling(() -> {
            try (Message message = instance.receive(port)) {
                String what = "the message on port " + port + " of " + name();
                T data = dataClass.cast(Data.fromLigament(message.value(), dataClass, what));
                OptionalDouble next = message.nextTimestamp();
                return new Observation<>(data, new Timestamp(message.timestamp()),
                        next.isPresent() ? new Timestamp(next.getAsDouble()) : null);
            }
        });
    }

    boolean isReady(String port) {
        return calling(() -> instance.poll(port));
    }

    boolean hasNext(String port) {
        return calling(() -> instance.hasNext(port));
    }

    /** Calls Ligament, and turns its exceptions into those of MUSCLE 2. */
    private static <R> R calling(Supplier<R> call) {
        try {
            return call.get();
        } catch (LigamentException.Closed end) {
            throw new MUSCLEConduitExhaustedException(end.getMessage(), end);
        } catch (LigamentException.Unexpected other) {
            throw new MUSCLEDatatypeException(other.getMessage(), other);
        } catch (LigamentException other) {
            throw new MUSCLERuntimeException(other.getMessage(), other);
        }
    }

    /** Writes a line into the run's log. A line of a second thread may go to the standard error output. */
    public void log(Level level, String text) {
        LogLevel importance = level.intValue() >= Level.SEVERE.intValue() ? LogLevel.ERROR
                : level.intValue() >= Level.WARNING.intValue() ? LogLevel.WARNING
                : level.intValue() >= Level.CONFIG.intValue() ? LogLevel.INFO : LogLevel.DEBUG;
        try {
            instance.log(importance, text);
        } catch (LigamentException.Usage otherThread) {
            System.err.println(text);
        }
    }

    /** Ends all conduits on which this instance sends, and signs off. */
    public void finish() {
        instance.finish();
        instance.close();
    }

    /** Ends the whole run; the reason is shown to the user. */
    public void fail(String why) {
        try {
            instance.errorShutdown(why);
        } catch (LigamentException isOver) {
            // The run ends already. The exit status says that this instance has failed.
        }
    }
}
