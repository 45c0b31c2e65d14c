package org.ligament;

/** The importance of a line in the run's log. */
public enum LogLevel {
    /** Details for the search for a fault. */
    DEBUG,
    /** The progress of the code. */
    INFO,
    /** A possible mistake. */
    WARNING,
    /** A mistake. */
    ERROR,
    /** An error after which the code cannot go on. */
    CRITICAL
}
