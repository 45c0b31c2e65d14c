import muscle.core.ConduitExitController;
import muscle.core.kernel.FanInMapper;
import muscle.core.model.Observation;

/** Adds the numbers of all ports. */
public class Sum extends FanInMapper<Integer> {
    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    protected void receiveAll() {
        int sum = 0;
        Observation<Integer> last = null;
        for (ConduitExitController exit : exits.values()) {
            last = exit.getExit().receiveObservation();
            sum += last.getData();
        }
        value = last.copyWithNewData(sum);
    }
}
