package org.ligament;

/**
 * The functions of a submodel whose state belongs to checkpoints: a class extends {@link Submodel} and
 * implements this. Its instance has the flag {@link InstanceFlag#USES_CHECKPOINT_API}, and the library makes
 * the other calls for checkpoints.
 */
public interface SubmodelState {
    /** The model time that the state has reached, s; it decides when to save. Asked after each step. */
    double modelTime() throws Exception;

    /**
     * Saves the state by one call of {@link Instance#saveSnapshot(double, Object)}. Called after a step, or
     * after observeFinal.
     */
    void save(Instance instance) throws Exception;

    /**
     * Sets the state from the message that {@link Instance#loadSnapshot} returns. If the state was saved
     * between two passes, initialise follows; otherwise the pass goes on.
     */
    void restore(Instance instance) throws Exception;
}
