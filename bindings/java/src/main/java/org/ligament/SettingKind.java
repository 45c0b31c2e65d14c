package org.ligament;

/** What a setting is. */
public enum SettingKind {
    /** True or false. */
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
