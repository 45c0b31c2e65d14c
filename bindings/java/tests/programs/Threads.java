import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.ligament.ArrayView;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Value;

/**
 * Several threads use one instance, messages and loans; and a wait is interrupted. The echo answers each
 * message.
 */
public final class Threads {
    /** A wait with a time limit is no deadlock, although no message comes. */
    static final Duration LONG = Duration.ofHours(1);

    static void elsewhere(Check.Action action) throws Exception {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (Throwable failed) {
                thrown.set(failed);
            }
        }, "elsewhere");
        thread.start();
        thread.join();
        if (thrown.get() != null) {
            throw new AssertionError(thrown.get());
        }
    }

    /**
     * A thread waits for a message that does not come, until it is interrupted. Another thread cannot use the
     * instance meanwhile.
     */
    static void interrupt(Instance instance) throws Exception {
        CountDownLatch waits = new CountDownLatch(1);
        AtomicReference<Throwable> ended = new AtomicReference<>();
        Thread waiter = new Thread(() -> {
            try {
                // The library calls the check only while it waits, so from then on the thread waits.
                instance.setInterruptCheck(() -> {
                    waits.countDown();
                    return false;
                });
                instance.receiveWithin("in", LONG).close();
            } catch (Throwable thrown) {
                ended.set(thrown);
                if (!Thread.currentThread().isInterrupted()) {
                    ended.set(new AssertionError("the thread is interrupted no more"));
                }
            }
        }, "waiter");
        waiter.start();
        waits.await();
        Check.fails(LigamentException.Usage.class, "used by the thread waiter", () ->
                instance.send("out", 0.0, 1));
        Check.fails(LigamentException.Usage.class, "used by the thread waiter", instance::close);
        waiter.interrupt();
        waiter.join();
        Check.fails(LigamentException.Interrupted.class, "the thread was interrupted", () -> {
            throw ended.get();
        });

        instance.setInterruptCheck(() -> {
            throw new IllegalStateException("enough");
        });
        Check.fails(IllegalStateException.class, "enough", () -> instance.receiveWithin("in", LONG));
        instance.setInterruptCheck(() -> {
            instance.isConnected("in");
            return false;
        });
        Check.fails(LigamentException.Usage.class, "neither an interrupt check", () ->
                instance.receiveWithin("in", LONG));
        instance.setInterruptCheck(() -> true);
        Check.fails(LigamentException.Interrupted.class, "", () -> instance.receiveWithin("in", LONG));
        instance.setInterruptCheck(null);
    }

    /**
     * Four threads make calls at once. Each call succeeds, or is refused because another one is in progress.
     */
    static void race(Instance instance) throws Exception {
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int call = 0; call < 5000; call++) {
                    try {
                        Check.holds(instance.isConnected("out") && instance.name().equals("macro"));
                    } catch (LigamentException.Usage refused) {
                        if (!refused.getMessage().contains("used by the thread")) {
                            wrong.set(refused);
                        }
                    } catch (Throwable thrown) {
                        wrong.set(thrown);
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (wrong.get() != null) {
            throw new AssertionError(wrong.get());
        }
    }

    static void messages(Instance instance) throws Exception {
        instance.send("out", 1.0, Map.of("a", new double[20_000]));
        Message message = instance.receive("in");
        Value value = message.value();
        ArrayView view = value.at("a").array();
        MemorySegment memory = view.segment();
        var buffer = view.asDoubleBuffer();
        elsewhere(() -> {
            Check.fails(WrongThreadException.class, "", () -> view.getDouble(0));
            Check.fails(WrongThreadException.class, "", () -> buffer.get(0));
            Check.fails(LigamentException.Usage.class,
                    "belongs to the thread main, not to elsewhere; call handOver()",
                    message::value);
            Check.fails(LigamentException.Usage.class, "handOver()", value::kind);
            Check.fails(LigamentException.Usage.class, "handOver()", message::close);
        });
        message.handOver();
        Check.fails(IllegalStateException.class, "closed", () -> memory.get(ValueLayout.JAVA_DOUBLE, 0));
        elsewhere(() -> {
            Check.equal(message.value().at("a").array().getDouble(19_999), 0.0);
            // From here on, the object belongs to this thread.
            message.handOver();
        });
        Check.equal(value.at("a").array().getDouble(0), 0.0);
        elsewhere(() -> Check.fails(LigamentException.Usage.class, "belongs to", message::value));
        message.handOver();
        elsewhere(message::close);
        Check.fails(LigamentException.Usage.class, "is closed", message::value);
    }

    static void loans(Instance instance) throws Exception {
        Loan loan = instance.loan(DType.FLOAT64, 100_000);
        MemorySegment memory = loan.segment();
        elsewhere(() -> Check.fails(LigamentException.Usage.class, "belongs to", loan::segment));
        loan.handOver();
        Check.fails(IllegalStateException.class, "closed", () -> memory.fill((byte) 0));
        elsewhere(() -> {
            loan.segment().fill((byte) 0);
            loan.setDouble(7, 99_999);
            // Any thread may use the instance, one at a time.
            instance.send("out", 1.0, loan);
        });
        try (Message message = instance.receive("in")) {
            Check.equal(message.array().getDouble(99_999), 7.0);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Instance instance = new Instance(Map.of(Operator.O_I, List.of("out"), Operator.S, List.of("in")));
        Check.holds(instance.reuseInstance());
        interrupt(instance);
        race(instance);
        messages(instance);
        loans(instance);
        // A loan that is left open ends with the instance: no reference leads to its memory any more.
        Loan left = instance.loan(DType.INT32, 3);
        MemorySegment memory = left.segment();
        instance.send("out", 1.0, new int[100_000]);
        Message message = instance.receive("in");
        Check.holds(!instance.reuseInstance());
        instance.close();
        Check.fails(IllegalStateException.class, "closed", () -> memory.fill((byte) 0));
        left.close();
        Check.fails(LigamentException.Usage.class, "closed", left::segment);
        // A message may be read, and be closed by any thread, after the instance has ended.
        message.handOver();
        elsewhere(() -> {
            Check.equal(message.array().length(), 100_000L);
            message.close();
        });
    }
}
