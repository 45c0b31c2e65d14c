import eu.mapperproject.jmml.util.numerical.ScaleFactor;
import eu.mapperproject.jmml.util.numerical.SIUnit;
import java.util.List;
import java.util.Objects;
import muscle.core.ConduitEntrance;
import muscle.core.ConduitExit;
import muscle.core.CxADescription;
import muscle.core.Scale;
import muscle.core.kernel.CAController;
import muscle.core.model.Distance;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** The calls that the other programs do not have. It sends to itself. */
public class Calls extends CAController {
    private ConduitEntrance<Double> out;
    private ConduitExit<Double> in;
    private boolean isSetUp;

    private static void equal(Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    @Override
    protected void beforeSetup() {
        isSetUp = entrances.isEmpty();
    }

    @Override
    protected void addPortals() {
        out = addEntrance("out", Double.class);
        in = addExit("in", Double.class);
    }

    @Override
    protected void execute() {
        equal(isSetUp, true);
        scales();
        settings();
        times();
        units();
        System.out.println(infoText().contains("[out]") + " " + out + " " + in);
    }

    private void scales() {
        Scale scale = getScale();
        equal(List.of(scale.getDt(), scale.getOmegaT(), scale.getDx(0), scale.getOmegaX(0),
                scale.getDimensions()),
                List.of(new Distance(0.5), new Distance(60),
                        new Distance(2000, ScaleFactor.Dimension.SPACE), new Distance(8), 1));
        setScale(new Scale(new Distance(2), new Distance(7), new Distance(1), new Distance(3)));
        equal(getScale().getDx(1), new Distance(3));
        equal(getScale().equals(new Scale(new Distance(2), new Distance(7), new Distance(1), new Distance(3))),
                true);
    }

    private void settings() {
        equal(getIntProperty("number"), 12);
        equal(getIntProperty("digits"), 34);
        equal(getDoubleProperty("number"), 12.0);
        equal(getDoubleProperty("digits"), 34.0);
        equal(getBooleanProperty("yes"), true);
        equal(getPathProperty("file").getName(), "heat.dat");
        equal(getRawProperty("number"), 12L);
        equal(getProperty("list"), "1.0 2.5");
        equal(getGlobalProperty("number") + getGlobalIntProperty("number") + getGlobalDoubleProperty("digits")
                + getGlobalBooleanProperty("yes") + getGlobalPathProperty("file").getName(),
                "121234.0trueheat.dat");
        equal(hasInstanceProperty("number") && hasGlobalProperty("number"), true);
        equal(CxADescription.ONLY.getIntProperty("calls:number"), 12);
        equal(CxADescription.ONLY.hasProperty("other:number"), false);
    }

    /** Sends with times of each form. The step was 0.5 s when the port was added. */
    private void times() {
        out.send(1.0);
        received("t=0.0 s t=0.5 s 1.0");
        out.send(2.0, new Timestamp(3));
        received("t=3.0 s t=3.5 s 2.0");
        equal(willStop(), false);
        out.setDt(new Distance(2));
        out.send(3.0);
        received("t=3.5 s t=5.5 s 3.0");
        out.send(4.0, new Timestamp(6), new Timestamp(6.5));
        received("t=6.0 s t=6.5 s 4.0");
        out.send(new Observation<>(5.0, new Timestamp(6.75), null));
        received("t=6.75 s null 5.0");
        out.send(6.0, new Timestamp(6.875), new Timestamp(7));
        equal(in.hasNext() && in.ready(), true);
        equal(in.receive(), 6.0);
        equal(willStop(), true);
        out.close();
    }

    private void received(String expected) {
        Observation<Double> found = in.receiveObservation();
        equal(found.getTimestamp() + " " + found.getNextTimestamp() + " " + found.getData(), expected);
        equal(found.hasNull(), false);
    }

    private void units() {
        Timestamp time = Timestamp.valueOf("2 min");
        equal(time.add(Distance.valueOf("500 ms")).subtract(Distance.ONE).doubleValue(), 119.5);
        equal(time.distance(Timestamp.ZERO), new Distance(120));
        equal(Timestamp.max(time, Timestamp.ZERO).multiply(2).divide(4), Timestamp.min(new Timestamp(60),
                time));
        equal(Distance.valueOf("1 year").doubleValue(), 31536000.0);
        equal(Distance.valueOf("2e-3 km").getDimension(), ScaleFactor.Dimension.SPACE);
        equal(Distance.valueOf("2e-3 km").mult(3).div(2).doubleValue(), 3.0);
        equal(SIUnit.valueOf("3 hours").doubleValue(ScaleFactor.MINUTE), 180.0);
        equal(SIUnit.valueOf("8 bits").add(SIUnit.valueOf("1 kB")).sub(SIUnit.valueOf("1 B")).doubleValue(),
                1000.0);
        equal(new Observation<>(1, time, null).copyWithNewTimestamps(Timestamp.ZERO, time).toString(),
                "Observation<t=0.0 s,type=Integer>");
    }
}
