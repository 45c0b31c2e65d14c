package org.ligament;

import java.util.List;
import java.util.Map;

/**
 * A mapper is between submodels: it makes the messages on its O_F ports from those on its F_INIT ports. Extend
 * it with the ports and with {@link #map}, and call {@link Instance#runMapper}. This class does the reuse loop,
 * times, settings overlays and slots. A mapper is a {@link Submodel}, so {@link Instance#runLight} also takes
 * it.
 */
public abstract class Mapper extends Submodel {
    private final Map<Operator, List<String>> ports;
    private Inputs inputs;

    /** A mapper with the ports of the model. */
    protected Mapper() {
        ports = null;
    }

    /**
     * A mapper with the ports of this code, which must fit the model's; "name[]" is a vector port.
     *
     * @param inputs the names of the ports that receive (F_INIT)
     * @param outputs the names of the ports that send (O_F)
     */
    protected Mapper(List<String> inputs, List<String> outputs) {
        ports = Map.of(Operator.F_INIT, List.copyOf(inputs), Operator.O_F, List.copyOf(outputs));
    }

    /**
     * The flags of the instance. A run with checkpoints needs to know what the mapper keeps from one pass to
     * the next; a mapper that keeps something implements {@link SubmodelState}, too.
     */
    protected InstanceFlag[] flags() {
        return new InstanceFlag[0];
    }

    /** Makes the messages of a pass. It must send one on each slot of each connected port. */
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
