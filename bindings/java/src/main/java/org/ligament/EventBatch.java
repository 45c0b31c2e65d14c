package org.ligament;

import java.util.Arrays;

/**
 * Events, each with a time and an id.
 *
 * @param times the times, in the unit of the model's times
 * @param ids as many ids
 */
public record EventBatch(double[] times, int[] ids) {
    /** Returns these events together with others. */
    EventBatch with(double[] otherTimes, int[] otherIds) {
        if (ids.length == 0) {
            return new EventBatch(otherTimes, otherIds);
        }
        double[] allTimes = Arrays.copyOf(times, times.length + otherTimes.length);
        int[] allIds = Arrays.copyOf(ids, ids.length + otherIds.length);
        System.arraycopy(otherTimes, 0, allTimes, times.length, otherTimes.length);
        System.arraycopy(otherIds, 0, allIds, ids.length, otherIds.length);
        return new EventBatch(allTimes, allIds);
    }
}
