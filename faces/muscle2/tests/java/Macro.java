import muscle.core.kernel.Submodel;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** A macro model: sends a table in each step, and receives what the micro model makes of it. */
public class Macro extends Submodel {
    private double[][] table;

    @Override
    protected Timestamp init(Timestamp previousOrigin) {
        table = new double[][] {{2, 1}, {3, 2}};
        return super.init(previousOrigin);
    }

    @Override
    protected void intermediateObservation() {
        out("table").send(table);
    }

    @Override
    protected void solvingStep() {
        Observation<Double> found = this.<Double>in("sum").receiveObservation();
        table[0][0] = found.getData();
        System.out.println(getCurrentTime() + ": " + table[0][0] + " at " + found.getTimestamp() + ", next "
                + found.getNextTimestamp());
    }

    @Override
    protected void finalObservation() {
        System.out.println("end " + getCurrentTime());
    }
}
