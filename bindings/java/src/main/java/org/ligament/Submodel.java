package org.ligament;

/**
 * A submodel, given by its operators and its end condition. It is for codes that do not want to write the loop.
 * Extend it and call {@link Instance#runSubmodel}. An exception of a function ends the whole run, with its
 * class, text and line as the reason, and {@code runSubmodel} throws it again.
 */
public abstract class Submodel {
    /** For classes that extend it. */
    protected Submodel() {}

    /** F_INIT: sets the state, from messages where there are any. */
    public void initialise(Instance instance) throws Exception {}

    /** Returns true if this pass is over; called before each step. */
    public abstract boolean isDone() throws Exception;

    /** O_I: sends the state. */
    public void observe(Instance instance) throws Exception {}

    /** S: advances the state by one step. */
    public abstract void solve(Instance instance) throws Exception;

    /** O_F: sends the final state. */
    public void observeFinal(Instance instance) throws Exception {}

    /** Frees the resources of the submodel when its instance is over. Called for light components. */
    public void close() throws Exception {}
}
