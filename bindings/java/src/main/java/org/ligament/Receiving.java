package org.ligament;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** The calls by which an {@link Instance} receives, and waits for messages. */
abstract class Receiving extends Sending {
    Receiving(long handle, boolean lent) {
        super(handle, lent);
    }

    /** Waits for the next message on a port. Close the message. */
    public Message receive(String port) {
        return receive(port, Instance.NO_SLOT, -1);
    }

    /** Waits for the next message on a slot of a vector port. Close the message. */
    public Message receive(String port, int slot) {
        return receive(port, slot, -1);
    }

    /** Waits for the next message on a port, at most for this time. */
    public Message receiveWithin(String port, Duration wait) {
        return receive(port, Instance.NO_SLOT, seconds(wait));
    }

    /** Waits for the next message on a slot of a vector port, at most for this time. */
    public Message receiveWithin(String port, Duration wait, int slot) {
        return receive(port, slot, seconds(wait));
    }

    private static double seconds(Duration wait) {
        return wait.isNegative() ? 0 : wait.getSeconds() + wait.getNano() * 1e-9;
    }

    private Message receive(String port, int slot, double timeout) {
        return receive(Native.RECEIVE, port, slot, timeout);
    }

    private Message receive(MethodHandle how, String port, int slot, double timeout) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch,
                (int) how.invokeExact(
                    handle, name(port), scratch.receive(slot, timeout), scratch.out, scratch.error));
            return new Message(Native.getLong(scratch.out), port);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Does the same as {@link #receive(String)}, and keeps the message's overlay of settings for {@link
     * Message#settings}. The overlay is not compared with the one in force. This is for codes that serve
     * several others with different settings. The overlay of an F_INIT message is already in force for the
     * pass, unless the instance was made with {@link InstanceFlag#DONT_APPLY_OVERLAY}. Close the message.
     */
    public Message receiveWithSettings(String port) {
        return receive(Native.RECEIVE_WITH_SETTINGS, port, Instance.NO_SLOT, -1);
    }

    /** Does the same on a slot of a vector port. */
    public Message receiveWithSettings(String port, int slot) {
        return receive(Native.RECEIVE_WITH_SETTINGS, port, slot, -1);
    }

    /** Does the same on a port, and waits at most for this time. */
    public Message receiveWithSettingsWithin(String port, Duration wait) {
        return receive(Native.RECEIVE_WITH_SETTINGS, port, Instance.NO_SLOT, seconds(wait));
    }

    /** Does the same on a slot of a vector port, and waits at most for this time. */
    public Message receiveWithSettingsWithin(String port, Duration wait, int slot) {
        return receive(Native.RECEIVE_WITH_SETTINGS, port, slot, seconds(wait));
    }

    /**
     * Waits for the next message on a port. Returns null if nothing is connected to the port, for inputs for
     * which the code has a value of its own. Close the message.
     */
    public Message receiveIfConnected(String port) {
        return receiveIfConnected(port, Instance.NO_SLOT);
    }

    /** Does the same for a slot of a vector port. */
    public Message receiveIfConnected(String port, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.RECEIVE_IF_CONNECTED.invokeExact(handle, name(port),
                    scratch.receive(slot, -1), scratch.out, scratch.error));
            long message = Native.getLong(scratch.out);
            return message == Native.NULL ? null : new Message(message, port);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Receives an array into an array of the caller, which gives the type and shape that must come. If another
     * array comes, the message is consumed nevertheless, and nothing is written.
     */
    public Times receiveInto(String port, Array into) {
        return receiveInto(port, into, Instance.NO_SLOT);
    }

    /** Does the same on a slot of a vector port. */
    public Times receiveInto(String port, Array into, int slot) {
        if (into.rawMemory().isReadOnly()) {
            throw new LigamentException.Usage("the array to receive into is read-only");
        }
        if (into.rawStrides() != null || !isReadable(into)) {
            try (Message message = receive(port, slot)) {
                message.array().copyTo(into);
                return message.times();
            }
        }
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            long described = scratch.array(into.dtype(), into.rawShape(), into.order(), null,
                    into.rawMemory().address() + into.offset(), Native.NULL, Native.NULL);
            check(scratch, (int) Native.RECEIVE_INTO.invokeExact(handle, name(port), scratch.receive(slot, -1),
                    described,
                    scratch.times, scratch.error));
            return Times.read(scratch.times);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Receives an array of one dimension into an array of the caller of the same length. */
    public Times receiveInto(String port, double[] into) {
        return receiveInto(port, Array.of(into), Instance.NO_SLOT);
    }

    /** True if a receive would return at once, with a message or because the conduit has ended. */
    public boolean poll(String port) {
        return poll(port, Instance.NO_SLOT);
    }

    /** Does the same for a slot of a vector port. */
    public boolean poll(String port, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.POLL.invokeExact(handle, name(port), scratch.receive(slot, -1),
                    scratch.out,
                    scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Waits until a message has arrived, or the conduit has ended. True if there is a message. */
    public boolean hasNext(String port) {
        return hasNext(-1, port, Instance.NO_SLOT);
    }

    /**
     * Does the same for a slot of a vector port. On an F_INIT port in the reuse loop, true if the message of
     * this pass has not been received yet.
     */
    public boolean hasNext(String port, int slot) {
        return hasNext(-1, port, slot);
    }

    /** Does the same, and waits at most for this time. */
    public boolean hasNextWithin(String port, Duration wait) {
        return hasNext(seconds(wait), port, Instance.NO_SLOT);
    }

    private boolean hasNext(double timeout, String port, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.HAS_NEXT.invokeExact(handle, name(port), scratch.receive(slot, timeout),
                    scratch.out, scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Waits until a message has arrived on one of several ports, and returns the port's index among them. A
     * conduit that has ended is ignored while another one may still have a message.
     */
    public int waitAny(String... ports) {
        return waitAny(-1, Arrays.stream(ports).map(PortSlot::new).toList());
    }

    /** Does the same for several ports and slots. */
    public int waitAny(List<PortSlot> ports) {
        return waitAny(-1, ports);
    }

    /** Does the same for several ports and slots, and waits at most for this time. */
    public int waitAnyWithin(List<PortSlot> ports, Duration wait) {
        return waitAny(seconds(wait), ports);
    }

    private int waitAny(double timeout, List<PortSlot> ports) {
        boolean first = enter();
        try (Arena arena = Arena.ofConfined()) {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.WAIT_ANY.invokeExact(handle, entries(ports, arena), (long) ports.size(),
                    scratch.receive(Instance.NO_SLOT, timeout), scratch.out, scratch.error));
            return (int) Native.getLong(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private static long entries(List<PortSlot> ports, Arena arena) {
        long entries = arena.allocate((long) Native.PORT_SLOT_SIZE * Math.max(1, ports.size()), 8).address();
        for (int i = 0; i < ports.size(); i++) {
            long entry = entries + (long) i * Native.PORT_SLOT_SIZE;
            int slot = ports.get(i).slot();
            Native.putLong(entry, Native.terminated(ports.get(i).port(), arena, "the port's name"));
            Native.putByte(entry + 8, Scratch.slot(slot));
            Native.putInt(entry + 12, slot);
        }
        return entries;
    }

    /**
     * Receives the first message that arrives on one of several ports. A conduit that has ended is ignored
     * while another one may still have a message. Close the result.
     */
    public Received receiveAny(String... ports) {
        return receiveAny(-1, Arrays.stream(ports).map(PortSlot::new).toList());
    }

    /** Does the same for several ports and slots. */
    public Received receiveAny(List<PortSlot> ports) {
        return receiveAny(-1, ports);
    }

    /** Does the same for several ports and slots, and waits at most for this time. */
    public Received receiveAnyWithin(List<PortSlot> ports, Duration wait) {
        return receiveAny(seconds(wait), ports);
    }

    private Received receiveAny(double timeout, List<PortSlot> ports) {
        boolean first = enter();
        try (Arena arena = Arena.ofConfined()) {
            Scratch scratch = Scratch.get();
            check(scratch,
                (int) Native.RECEIVE_ANY.invokeExact(handle, entries(ports, arena), (long) ports.size(),
                    scratch.receive(Instance.NO_SLOT, timeout), scratch.out, scratch.out2, scratch.error));
            int which = (int) Native.getLong(scratch.out);
            return new Received(which, new Message(Native.getLong(scratch.out2), ports.get(which).port()));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }
}
