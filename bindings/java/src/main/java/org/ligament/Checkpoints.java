package org.ligament;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The calls by which an {@link Instance} saves its state and resumes from it. */
abstract class Checkpoints extends Receiving {
    private static final long TIMES_BYTES = 24;

    Checkpoints(long handle, boolean lent) {
        super(handle, lent);
    }

    private boolean answer(MethodHandle question) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) question.invokeExact(handle, scratch.out, scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * True in the first pass after the run was resumed: the code then calls {@link #loadSnapshot}. It is the
     * first call in each pass of a code with {@link InstanceFlag#USES_CHECKPOINT_API}. The order of the calls
     * in a pass is: resuming, {@link #shouldInit}, in each step {@link #shouldSaveSnapshot}, and at the end
     * {@link #shouldSaveFinalSnapshot}. A call in another order throws {@link LigamentException.Usage}, whose
     * text names the next call.
     */
    public boolean resuming() {
        return answer(Native.RESUMING);
    }

    /** The message that was saved, if {@link #resuming} has returned true. Close the message. */
    public Message loadSnapshot() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.LOAD_SNAPSHOT.invokeExact(handle, scratch.out, scratch.error));
            return new Message(Native.getLong(scratch.out), null);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * True if the code must receive its F_INIT messages and set its state; false if the state was saved within
     * a pass, which now goes on.
     */
    public boolean shouldInit() {
        return answer(Native.SHOULD_INIT);
    }

    /**
     * True if the code must save its state now, by {@link #saveSnapshot(double, Object)}. Call it once in each
     * step, after the messages of the step, with the model time in s.
     */
    public boolean shouldSaveSnapshot(double time) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.SHOULD_SAVE_SNAPSHOT.invokeExact(handle, time, scratch.out,
                    scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Saves the code's state: a value as {@code send} takes it, but no {@link Loan}. A full disk costs this
     * checkpoint; the run goes on, and its log says so.
     */
    public void saveSnapshot(double timestamp, Object state) {
        save(Native.SAVE_SNAPSHOT, Times.of(timestamp), state);
    }

    /** Saves the code's state, with a next time. */
    public void saveSnapshot(Times times, Object state) {
        save(Native.SAVE_SNAPSHOT, times, state);
    }

    /**
     * True if the code must save its state at the end of a pass, by {@link #saveFinalSnapshot(double, Object)}.
     * It is the last call of each pass, and waits for the F_INIT messages of the next pass, whose time decides.
     */
    public boolean shouldSaveFinalSnapshot() {
        return answer(Native.SHOULD_SAVE_FINAL_SNAPSHOT);
    }

    /** Saves the code's state at the end of a pass, as {@link #saveSnapshot(double, Object)} does. */
    public void saveFinalSnapshot(double timestamp, Object state) {
        save(Native.SAVE_FINAL_SNAPSHOT, Times.of(timestamp), state);
    }

    /** Saves the code's state at the end of a pass, with a next time. */
    public void saveFinalSnapshot(Times times, Object state) {
        save(Native.SAVE_FINAL_SNAPSHOT, times, state);
    }

    private void save(MethodHandle how, Times times, Object state) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined(); Builder builder = new Builder()) {
            MemorySegment saved = arena.allocate(TIMES_BYTES, 8);
            Native.putDouble(saved.address(), times.timestamp());
            Native.putDouble(saved.address() + 8, times.next());
            Native.putByte(saved.address() + 16, (byte) (times.hasNextTimestamp() ? 1 : 0));
            check(scratch, (int) how.invokeExact(handle, saved.address(), builder.value(state), scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * A directory for files of the code's own beside the message of a checkpoint. Between {@link
     * #shouldSaveSnapshot} (or the final one) and the save it is the directory of the checkpoint that is being
     * made, and exists. Between {@link #resuming} and {@link #shouldInit} it is that of the checkpoint from
     * which the run resumes, which is missing if the code has made no files.
     */
    public Path snapshotDirectory() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.SNAPSHOT_DIRECTORY.invokeExact(handle, scratch.out, scratch.error));
            return Path.of(Native.text(Native.getLong(scratch.out)));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }
}
