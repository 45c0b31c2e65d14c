package org.ligament;

/**
 * A port to wait for, and its slot if it is a vector port.
 *
 * @param port the port's name
 * @param slot the slot, or {@link Instance#NO_SLOT}
 */
public record PortSlot(String port, int slot) {
    /** A port that is not a vector port. */
    public PortSlot(String port) {
        this(port, Instance.NO_SLOT);
    }
}
