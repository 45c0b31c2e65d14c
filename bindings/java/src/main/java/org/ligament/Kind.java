package org.ligament;

/** The kind of a value. */
public enum Kind {
    /** Nothing. */
    NONE,
    /** A truth value. */
    BOOL,
    /** An integer that fits {@code long}. */
    INT,
    /** An integer above {@code Long.MAX_VALUE}. */
    UINT,
    /** A number. */
    FLOAT,
    /** A complex number. */
    COMPLEX,
    /** Text. */
    STRING,
    /** Bytes. */
    BYTES,
    /** A list of values. */
    LIST,
    /** Values by name. */
    MAP,
    /** An array. */
    ARRAY,
    /** Settings. */
    SETTINGS
}
