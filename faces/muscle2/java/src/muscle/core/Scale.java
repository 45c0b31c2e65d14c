package muscle.core;

import eu.mapperproject.jmml.util.numerical.ScaleFactor.Dimension;
import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import muscle.core.model.Distance;

/** The scales of an instance: time step and total time, and for each dimension of space a step and a size. */
public class Scale implements Serializable {
    private static final long serialVersionUID = 1;

    private final Distance step;
    private final Distance total;
    private final Distance[] spaceSteps;
    private final Distance[] spaceSizes;

    /** Scales with steps in space, m. */
    public Scale(Distance step, Distance total, Distance... spaceSteps) {
        this(step, total, List.of(spaceSteps));
    }

    /** Scales with steps in space, m. */
    public Scale(Distance step, Distance total, List<Distance> spaceSteps) {
        this(step, total, spaceSteps, List.of());
    }

    /** Scales with steps and sizes in space, m. A time step is above 0 s. */
    public Scale(Distance step, Distance total, List<Distance> spaceSteps, List<Distance> spaceSizes) {
        if (!(step.doubleValue() > 0.0)) {
            throw new IllegalArgumentException("the time step dt is " + step.doubleValue()
                    + " s, and must be above 0");
        }
        this.step = step.withDimension(Dimension.TIME);
        this.total = total.withDimension(Dimension.TIME);
        this.spaceSteps = spaceSteps.toArray(new Distance[0]);
        this.spaceSizes = spaceSizes == null ? new Distance[0] : spaceSizes.toArray(new Distance[0]);
    }

    /** The time step. */
    public Distance getDt() {
        return step;
    }

    /** The total time. It is infinite if neither T nor max_timesteps is set. */
    public Distance getOmegaT() {
        return total;
    }

    /** The step in a dimension of space. */
    public Distance getDx(int index) {
        return spaceSteps[Objects.checkIndex(index, spaceSteps.length)];
    }

    /** The size in a dimension of space. */
    public Distance getOmegaX(int index) {
        return spaceSizes[Objects.checkIndex(index, spaceSizes.length)];
    }

    /** The number of dimensions of space that have a step. */
    public int getDimensions() {
        return spaceSteps.length;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Scale scale && step.equals(scale.step) && total.equals(scale.total)
                && List.of(spaceSteps).equals(List.of(scale.spaceSteps));
    }

    @Override
    public int hashCode() {
        return Objects.hash(step, total, List.of(spaceSteps));
    }

    @Override
    public String toString() {
        return "dt: " + step + ", T: " + total + ", dx: " + List.of(spaceSteps);
    }
}
