import java.util.logging.Level;
import muscle.core.ConduitEntrance;
import muscle.core.ConduitExit;
import muscle.core.kernel.CAController;

/** A source in Java: does what the source in C++ does. */
public class Source extends CAController {
    private ConduitEntrance<double[]> level;
    private ConduitExit<double[]> answer;

    @Override
    protected void addPortals() {
        level = addEntrance("level-out", double[].class);
        answer = addExit("answer", double[].class);
        addEntrance("floats", float[].class);
        addEntrance("ints", int[].class);
        addAsynchronousEntrance("longs", long[].class);
        addSharedDataEntrance("truths", boolean[].class);
        addEntrance("text", String.class);
        addEntrance("raw", byte[].class);
    }

    @Override
    protected void execute() {
        System.out.println(getLocalName() + " " + getProperty("dt") + " " + getProperty("cell-size") + " "
                + (hasProperty("nothing") ? 1 : 0) + " " + getProperty("is_wet"));
        log("step 1 of source");
        log("100 % wet", Level.WARNING);
        getLogger().severe("severe");
        getLogger().log(Level.FINE, "fine {0}", 1);
        int step = 0;
        for (; !willStop(); step++) {
            level.send(new double[] {step, 0.5});
            double[] values = answer.receive();
            System.out.println(values.length + ":" + Math.round(values[0]));
        }
        out("floats").send(new float[] {1.5f, -2.5f});
        out("ints").send(new int[] {1, 2, 3});
        out("longs").send(new long[] {Long.MIN_VALUE, Long.MAX_VALUE});
        out("truths").send(new boolean[] {true, false});
        out("text").send("h\u00f6he");
        out("raw").send(new byte[] {0, 1, 2});
        boolean isOwn = getTmpPath().contains("source");
        boolean isRead = getDoubleProperty("cell-size") == 2.0;
        System.out.println(step + " steps " + (isOwn ? 1 : 0) + (isRead ? 1 : 0));
    }
}
