package org.ligament;

/** How important a line in the run's log is. */
public enum LogLevel {
    /** For those who look for a fault. */
    DEBUG,
    /** What goes on. */
    INFO,
    /** What may be wrong. */
    WARNING,
    /** What is wrong. */
    ERROR,
    /** What cannot go on. */
    CRITICAL
}
