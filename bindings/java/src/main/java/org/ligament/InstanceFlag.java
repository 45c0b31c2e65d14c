package org.ligament;

/** What an instance can be made to do otherwise than usual. */
public enum InstanceFlag {
    /**
     * Overlays of settings that come with messages are handed over ({@link Message#settings}) instead of being
     * applied: for components that serve others with different settings.
     */
    DONT_APPLY_OVERLAY(1);

    final long bit;

    InstanceFlag(long bit) {
        this.bit = bit;
    }
}
