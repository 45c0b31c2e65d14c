// The micro model: a heater with a thermostat under a part of the plate. It gets the temperatures of all cells,
// and answers with the heating of each.

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.ligament.ArrayView;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Order;

public final class Heater {
    public static void main(String[] args) {
        Map<Operator, List<String>> ports = Map.of(
                Operator.F_INIT, List.of("temperature"), Operator.O_F, List.of("heating"));
        try (Instance instance = new Instance(ports)) {
            while (instance.reuseInstance()) {
                double target = instance.getSettingDouble("target");
                double power = instance.getSettingDouble("power");
                try (Message message = instance.receive("temperature")) {
                    ArrayView temperature = message.array();
                    Loan heating = instance.loan(
                            DType.FLOAT64, Order.COLUMN_MAJOR, temperature.shape(0), temperature.shape(1));
                    heat(temperature, heating.segment(), target, power);
                    instance.send("heating", message.timestamp(), heating);
                }
            }
        }
    }

    /**
     * Reads the temperatures in place, and writes the heating, column by column, into memory that the plate
     * reads.
     */
    private static void heat(ArrayView temperature, MemorySegment heating, double target, double power) {
        long nX = temperature.shape(0);
        long nY = temperature.shape(1);
        // The heater lies under the quarter of the plate where both x and y are small.
        heating.fill((byte) 0);
        for (long y = 0; y < nY / 2; y++) {
            for (long x = 0; x < nX / 2; x++) {
                double added = power * Math.max(0, target - temperature.getDouble(x, y));
                heating.setAtIndex(ValueLayout.JAVA_DOUBLE, x + nX * y, added);
            }
        }
    }
}
