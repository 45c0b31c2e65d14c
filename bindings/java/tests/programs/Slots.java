import java.util.List;
import java.util.Map;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.PortSlot;
import org.ligament.Times;

/**
 * Vector ports that are joined to vector ports: the sender sets the length in each round, and the receiver
 * learns it.
 */
public final class Slots {
    static final int[] LENGTHS = {3, 1, 5};

    static void send(Instance instance, String port, int round, int slot) {
        double number = 10.0 * round + slot;
        if (slot % 3 == 0) {
            instance.send(port, Times.of(round), number, slot);
        } else if (slot % 3 == 1) {
            instance.send(port, round, new double[] {number}, slot);
        } else {
            Loan loan = instance.loan(DType.FLOAT64, 1);
            loan.setDouble(number, 0);
            instance.send(port, round, loan, slot);
        }
    }

    static void expect(Instance instance, String port, int round, int slot) {
        try (Message message = instance.receive(port, slot)) {
            double number = slot % 3 == 0 ? message.asDouble() : message.array().getDouble(0);
            Check.holds(number == 10.0 * round + slot && message.timestamp() == round);
        }
    }

    static void deal(Instance instance, int round) {
        int length = LENGTHS[round];
        instance.setPortLength("deal", length);
        Check.equal(instance.getPortLength("deal"), length);
        Check.fails(LigamentException.Usage.class, "set_port_length()", () ->
                instance.send("deal", 0.0, 0.0, length));
        for (int slot = length - 1; slot >= 0; slot--) {
            send(instance, "deal", round, slot);
        }
        Check.equal(instance.waitAny(List.of(new PortSlot("back", 0), new PortSlot("back", 1))), 0);
        for (int slot = 0; slot < length; slot++) {
            expect(instance, "back", round, slot);
        }
        Check.equal(instance.getPortLength("back"), length);
    }

    static void play(Instance instance, int round) {
        expect(instance, "deal", round, 0);
        int length = instance.getPortLength("deal");
        Check.equal(length, LENGTHS[round]);
        for (int slot = 1; slot < length; slot++) {
            Check.holds(instance.poll("deal", slot));
            expect(instance, "deal", round, slot);
        }
        instance.setPortLength("back", length);
        for (int slot = 0; slot < length; slot++) {
            send(instance, "back", round, slot);
        }
    }

    public static void main(String[] arguments) {
        boolean deals = arguments[0].equals("dealer");
        try (Instance instance = new Instance(deals
                ? Map.of(Operator.O_I, List.of("deal[]"), Operator.S, List.of("back[]"))
                : Map.of(Operator.S, List.of("deal[]"), Operator.O_I, List.of("back[]")))) {
            Check.holds(instance.isResizable("deal") && instance.getPortLength("deal") == 0);
            Check.holds(instance.reuseInstance());
            for (int round = 0; round < 3; round++) {
                if (deals) {
                    deal(instance, round);
                } else {
                    play(instance, round);
                }
            }
            if (!deals) {
                Check.fails(LigamentException.Closed.class, "dealer.deal", () -> instance.receive("deal", 0));
            }
            Check.holds(!instance.reuseInstance());
        }
    }
}
