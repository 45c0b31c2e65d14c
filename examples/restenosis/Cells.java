// Smooth muscle cells over weeks. In each slow step they send their places, and receive the state of blood and
// drug there. This file is the coupling; Tissue.java is the biology. Lengths in mm, times in days, stresses in
// Pa.

import java.util.List;
import java.util.Map;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Times;

public final class Cells {
    public static void main(String[] args) {
        try (Instance instance = new Instance(
                Map.of(Operator.O_I, List.of("tissue"), Operator.S, List.of("shear", "drug")))) {
            while (instance.reuseInstance()) {
                simulate(instance);
            }
        }
    }

    private static void simulate(Instance instance) {
        double length = instance.getSettingDouble("length");
        double outer = instance.getSettingDouble("radius") + instance.getSettingDouble("wall");
        double dt = instance.getSettingDouble("dt");
        int relaxations = instance.getSettingInt("relaxations");
        Tissue.Rules rules = new Tissue.Rules(
                instance.getSettingDouble("cycle"),
                instance.getSettingDouble("shear_limit"),
                instance.getSettingDouble("drug_limit"),
                instance.getSettingInt("neighbours"),
                instance.getSettingDouble("stent"));
        Tissue tissue = new Tissue(
                length,
                instance.getSettingDouble("radius"),
                instance.getSettingDouble("wall"),
                instance.getSettingDouble("cell_radius"),
                rules,
                instance.getSettingLong("seed"));

        long steps = Math.round(instance.getSettingDouble("t_max") / dt);
        for (long step = 0; step <= steps; step++) {
            Times times = step < steps ? Times.of(step * dt, (step + 1) * dt) : Times.of(step * dt);
            instance.send("tissue", times, Array.of(tissue.table(), tissue.count(), 3));
            try (Message shear = instance.receive("shear"); Message drug = instance.receive("drug")) {
                ArrayView friction = shear.array();
                ArrayView concentration = drug.array();
                if (step < steps) { // what comes last is for those who look on
                    tissue.live(dt, along(friction, length), inWall(concentration, length, outer), relaxations);
                }
            }
        }
    }

    /** Values that are the same at all distances from the axis, for each layer of the vessel. */
    private static Tissue.Field along(ArrayView values, double length) {
        double layer = length / values.shape(0);
        return (z, r) -> values.getDouble(index(z / layer, values.shape(0)));
    }

    /** The contents of each cell of a grid [r, z] of squares, which ends at the outer radius. */
    private static Tissue.Field inWall(ArrayView values, double length, double outer) {
        double h = length / values.shape(1);
        return (z, r) -> values.getDouble(
                index(values.shape(0) - (outer - r) / h, values.shape(0)), index(z / h, values.shape(1)));
    }

    private static long index(double place, long size) {
        return Math.clamp((long) place, 0, size - 1);
    }
}
