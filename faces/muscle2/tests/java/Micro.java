import muscle.core.kernel.Submodel;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** A micro model: is restarted for each table. */
public class Micro extends Submodel {
    private double value;
    private int passes;

    @Override
    protected Timestamp init(Timestamp previousOrigin) {
        Observation<double[][]> found = this.<double[][]>in("table").receiveObservation();
        value = found.getData()[0][0] + found.getData()[1][0];
        return found.getTimestamp();
    }

    @Override
    protected void solvingStep() {
        value++;
    }

    @Override
    protected void finalObservation() {
        out("sum").send(value);
    }

    @Override
    protected boolean endCondition() {
        return willStop();
    }

    @Override
    protected boolean restartSubmodel() {
        passes++;
        return in("table").hasNext();
    }

    @Override
    public void afterExecute() {
        System.out.println(passes + " passes");
    }
}
