package org.ligament;

/** Unusual behaviour of an instance. */
public enum InstanceFlag {
    /**
     * Overlays of settings that come with messages are not applied, and the code reads them ({@link
     * Message#settings}). This is for components that serve several others with different settings.
     */
    DONT_APPLY_OVERLAY(1),

    /**
     * The code saves its state by {@link Instance#saveSnapshot(double, Object)}, and makes the calls that
     * belong to it in each pass ({@link Instance#resuming}).
     */
    USES_CHECKPOINT_API(2),

    /** The code keeps nothing from one pass of the reuse loop to the next. */
    KEEPS_NO_STATE_FOR_NEXT_USE(4),

    /** The code keeps something from one pass to the next, but can do without it when a run resumes. */
    STATE_NOT_REQUIRED_FOR_NEXT_USE(8);

    final long bit;

    InstanceFlag(long bit) {
        this.bit = bit;
    }
}
