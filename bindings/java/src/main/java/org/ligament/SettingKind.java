package org.ligament;

/** The type of a setting. */
public enum SettingKind {
    /** A truth value. */
    BOOL,
    /** An integer. */
    INT,
    /** A number. */
    FLOAT,
    /** Text. */
    STRING,
    /** A list of integers. */
    INT_LIST,
    /** A list of numbers. */
    FLOAT_LIST,
    /** A list of lists of numbers. */
    FLOAT_GRID
}
