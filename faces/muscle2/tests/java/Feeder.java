import muscle.core.kernel.Submodel;

/** Sends numbers into a chain of mappers, and receives what comes out. */
public class Feeder extends Submodel {
    private int number;

    @Override
    protected void intermediateObservation() {
        out("number").send(++number);
    }

    @Override
    protected void solvingStep() {
        System.out.println(in("result").receive() + " " + in("late").hasNext() + " "
                + in("late").receive());
    }
}
