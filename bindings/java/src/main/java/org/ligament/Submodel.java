package org.ligament;

/**
 * A submodel by its operators and its end condition, for codes that would rather not write the loop themselves.
 * Extend it and call {@link Instance#runSubmodel}. What a function throws ends the whole run with its class,
 * text and line as the reason, and comes out of {@code runSubmodel}.
 */
public abstract class Submodel {
    /** For those who extend it. */
    protected Submodel() {}

    /** F_INIT: sets the state, from messages where there are any. */
    public void initialise(Instance instance) throws Exception {}

    /** Whether this pass is over; asked before each step. */
    public abstract boolean isDone() throws Exception;

    /** O_I: shows the state to others. */
    public void observe(Instance instance) throws Exception {}

    /** S: advances the state by one step. */
    public abstract void solve(Instance instance) throws Exception;

    /** O_F: shows the final state. */
    public void observeFinal(Instance instance) throws Exception {}

    /** The instance is over: frees what the submodel holds. Called for light components. */
    public void close() throws Exception {}
}
