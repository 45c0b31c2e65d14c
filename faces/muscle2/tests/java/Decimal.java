import muscle.core.kernel.Mapper;
import muscle.core.model.Observation;

/** Multiplies a number by 10. */
public class Decimal extends Mapper {
    private Observation<Integer> message;

    @Override
    protected void receiveAll() {
        message = this.<Integer>in("in").receiveObservation();
    }

    @Override
    protected void sendAll() {
        out("out").send(message.copyWithNewData(10 * message.getData()));
        out("late").send(message.getTimestamp().doubleValue());
    }
}
