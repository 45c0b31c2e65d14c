package org.ligament;

/**
 * Which index runs fastest in memory. Element (i, j) is the same for sender and receiver in either order, and
 * extents are given in the order of the indices: the order says only how the elements lie.
 */
public enum Order {
    /** The last one, as in C. The default. */
    ROW_MAJOR,
    /** The first one, as in Fortran. */
    COLUMN_MAJOR
}
