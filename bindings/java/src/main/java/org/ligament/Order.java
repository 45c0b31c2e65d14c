package org.ligament;

/**
 * The index that runs fastest in memory. Element (i, j) is the same for sender and receiver in either order,
 * and extents are given in the order of the indices. The order says only how the elements lie in memory.
 */
public enum Order {
    /** The last index runs fastest, as in C. The default. */
    ROW_MAJOR,
    /** The first index runs fastest, as in Fortran. */
    COLUMN_MAJOR
}
