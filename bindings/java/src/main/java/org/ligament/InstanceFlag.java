package org.ligament;

/** Unusual behaviour of an instance. */
public enum InstanceFlag {
    /**
     * Overlays of settings that come with messages are not applied, and the code reads them ({@link
     * Message#settings}). This is for components that serve several others with different settings.
     */
    DONT_APPLY_OVERLAY(1);

    final long bit;

    InstanceFlag(long bit) {
        this.bit = bit;
    }
}
