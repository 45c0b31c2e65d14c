package org.ligament;

import java.util.List;
import java.util.Map;

/**
 * A mapper stands between submodels: what comes on all its F_INIT ports becomes what goes out on its O_F ports.
 * Extend it with the ports and with {@link #map}, and call {@link Instance#runMapper}. The reuse loop, the
 * times, settings overlays and slots are done here. It is a {@link Submodel}, so {@link Instance#runLight}
 * takes it too.
 */
public abstract class Mapper extends Submodel {
    private final Map<Operator, List<String>> ports;
    private Inputs inputs;

    /** With the ports that the model gives it. */
    protected Mapper() {
        ports = null;
    }

    /**
     * With the ports that this code has, which must fit the model's; "name[]" is a vector port.
     *
     * @param inputs the names of those that receive (F_INIT)
     * @param outputs the names of those that send (O_F)
     */
    protected Mapper(List<String> inputs, List<String> outputs) {
        ports = Map.of(Operator.F_INIT, List.copyOf(inputs), Operator.O_F, List.copyOf(outputs));
    }

    /** Makes the messages of a pass: one is to be sent on each slot of each port that is connected. */
    public abstract void map(Inputs inputs, Outputs outputs) throws Exception;

    /** The ports by operator, or null for those of the model. */
    final Map<Operator, List<String>> ports() {
        return ports;
    }

    @Override
    public final void initialise(Instance instance) {
        inputs = new Inputs(instance);
    }

    @Override
    public final boolean isDone() {
        return true;
    }

    @Override
    public final void observe(Instance instance) {}

    @Override
    public final void solve(Instance instance) {}

    @Override
    public final void observeFinal(Instance instance) throws Exception {
        try (Inputs came = inputs) {
            inputs = null;
            Outputs outputs = new Outputs(instance, came.times());
            map(came, outputs);
            outputs.check();
        }
    }
}
