import org.ligament.Array;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Times;

/** One of three workers, which answers each task of the boss. */
public final class Worker {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance()) {
            Check.holds(instance.reuseInstance());
            Check.equal(instance.index().length, 1);
            int offset;
            try (Message task = instance.receive("in")) {
                offset = task.asInt();
            }
            Check.equal(offset, 10 * instance.index()[0]);

            // A loan is given back, and another one is sent.
            Loan unused = instance.loan(DType.FLOAT64, 40, 50);
            unused.close();
            unused.close();
            Check.fails(LigamentException.Usage.class, "the loan is closed", unused::segment);
            Loan loan = instance.loan(DType.FLOAT64, 40, 50);
            var memory = loan.segment();
            var buffer = loan.asDoubleBuffer();
            for (int i = 0; i < 40; i++) {
                for (int j = 0; j < 50; j++) {
                    loan.setDouble(offset + 50 * i + j, i, j);
                }
            }
            Check.fails(IndexOutOfBoundsException.class, "index 40", () -> loan.setDouble(0, 40, 0));
            Check.fails(LigamentException.Usage.class, "float64, not int32", loan::asIntBuffer);
            instance.send("out", 0.0, loan);
            // A loan that was sent belongs to the receiver: no reference leads to its memory any more.
            Check.fails(IllegalStateException.class, "closed", () -> memory.fill((byte) 0));
            Check.fails(IllegalStateException.class, "closed", () -> buffer.put(0, 1));
            Check.fails(LigamentException.Usage.class, "the loan is closed", () ->
                    instance.send("out", 0.0, loan));

            int[] columns = new int[8];
            Times times = instance.receiveInto("in", Array.of(columns, 4, 2));
            Check.equal(times, Times.of(2));
            long sum = 0;
            for (int element : columns) {
                sum += element;
            }
            instance.send("out", 0.0, sum);
            instance.send("out", 3.0, new float[] {0, 1, 2, 3, 4});
            Check.holds(!instance.reuseInstance());
        }
    }
}
