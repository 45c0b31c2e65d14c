package org.ligament;

import java.util.Locale;

/**
 * The type of an array's elements. A type that Java lacks is stored by its bits: an element of UINT8 is a
 * {@code byte}.
 */
public enum DType {
    /** One byte: 0 is false, any other value is true. */
    BOOL(1, 1),
    /** A {@code byte}. */
    INT8(2, 1),
    /** A {@code short}. */
    INT16(3, 2),
    /** An {@code int}. */
    INT32(4, 4),
    /** A {@code long}. */
    INT64(5, 8),
    /** The bits are in a {@code byte}. */
    UINT8(6, 1),
    /** The bits are in a {@code short}. */
    UINT16(7, 2),
    /** The bits are in an {@code int}. */
    UINT32(8, 4),
    /** The bits are in a {@code long}. */
    UINT64(9, 8),
    /** A {@code float}. */
    FLOAT32(10, 4),
    /** A {@code double}. */
    FLOAT64(11, 8),
    /** Two {@code float}: real and imaginary part. */
    COMPLEX64(12, 8),
    /** Two {@code double}: real and imaginary part. */
    COMPLEX128(13, 16);

    final int number;
    private final int size;
    private final String text;

    private static final DType[] BY_NUMBER = new DType[14];

    static {
        for (DType type : values()) {
            BY_NUMBER[type.number] = type;
        }
    }

    DType(int number, int size) {
        this.number = number;
        this.size = size;
        this.text = name().toLowerCase(Locale.ROOT);
    }

    /** The size of an element in bytes. */
    public int size() {
        return size;
    }

    /** True if an element consists of two numbers. */
    public boolean isComplex() {
        return this == COMPLEX64 || this == COMPLEX128;
    }

    /** The size in bytes of the number in an element: for a complex element, of each of its two parts. */
    int partSize() {
        return isComplex() ? size / 2 : size;
    }

    /** The type with a name as NumPy has it, such as "float64". */
    public static DType of(String name) {
        for (DType type : values()) {
            if (type.text.equals(name)) {
                return type;
            }
        }
        throw new LigamentException.Usage("there is no element type \"" + name + "\"");
    }

    static DType of(int number) {
        if (number < 1 || number >= BY_NUMBER.length) {
            throw new LigamentException.Unexpected("the elements are of a type (" + number
                    + ") that this version does not "
                    + "know; a newer one is needed");
        }
        return BY_NUMBER[number];
    }

    /** The name as NumPy has it, such as "float64". */
    @Override
    public String toString() {
        return text;
    }
}
