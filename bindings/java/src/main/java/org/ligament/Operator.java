package org.ligament;

/** The moment of the execution loop in which a port is used. */
public enum Operator {
    /** Receives before the first step. */
    F_INIT(1),
    /** Sends during the steps. */
    O_I(2),
    /** Receives during the steps. */
    S(3),
    /** Sends after the last step. */
    O_F(4);

    final int number;

    Operator(int number) {
        this.number = number;
    }
}
