package muscle.core.kernel;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import muscle.core.ConduitEntrance;
import muscle.core.ConduitEntranceController;
import muscle.core.ConduitExit;
import muscle.core.ConduitExitController;
import muscle.core.Portal;
import muscle.core.Scale;
import muscle.core.Session;
import muscle.core.Settings;
import muscle.core.TimeSteps;
import muscle.core.model.Distance;
import muscle.core.model.Timestamp;
import muscle.exception.IgnoredException;
import muscle.exception.MUSCLERuntimeException;

/** An instance: its ports, its scales, and the parts of its life. */
public abstract class RawInstance extends Module {
    /** The ports that send, by name. */
    @SuppressWarnings("rawtypes")
    protected final Map<String, ConduitEntranceController> entrances = new LinkedHashMap<>();
    /** The ports that receive, by name. */
    @SuppressWarnings("rawtypes")
    protected final Map<String, ConduitExitController> exits = new LinkedHashMap<>();
    /** The time at which the instance began, or began again. */
    protected Timestamp originTime;
    /** The time at which the whole model ends. It is infinite without max_timesteps. */
    protected Timestamp maxTime;

    private Scale scale;
    private boolean addsPortals;

    /**
     * Runs the class that {@code java} was started with, which inherits this function.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Start.runStartedClass(arguments);
    }

    /** Called before the ports are added. */
    protected void beforeSetup() {}

    /** Adds the ports, by addEntrance and addExit. */
    protected abstract void addPortals();

    /** The work of the instance. */
    protected abstract void execute();

    /** Called after execute. */
    public void afterExecute() {}

    @Override
    public final void beforeExecute() {
        beforeSetup();
    }

    final void connectPortals() {
        addsPortals = true;
        addPortals();
        addsPortals = false;
    }

    /** Adds a port that receives data of a class. */
    protected <T extends Serializable> ConduitExit<T> addExit(String portName, Class<T> dataClass) {
        checkAdding(portName, exits);
        ConduitExitController<T> exit = new ConduitExitController<>(Session.current(), portName, dataClass,
                origin());
        exits.put(portName, exit);
        return exit.getExit();
    }

    /** Adds a port that sends data of a class. Its messages are a time step of the scale apart. */
    protected <T extends Serializable> ConduitEntrance<T> addEntrance(String portName, Class<T> dataClass) {
        checkAdding(portName, entrances);
        Distance step = getScale() == null ? Distance.ZERO : getScale().getDt();
        ConduitEntranceController<T> entrance = new ConduitEntranceController<>(Session.current(), portName,
                origin(), step);
        entrances.put(portName, entrance);
        return entrance.getEntrance();
    }

    /** Same as addEntrance, because each send returns as soon as the data is copied. */
    protected <T extends Serializable> ConduitEntrance<T> addAsynchronousEntrance(String portName,
            Class<T> dataClass) {
        return addEntrance(portName, dataClass);
    }

    /** Same as addEntrance: the data is copied. */
    protected <T extends Serializable> ConduitEntrance<T> addSharedDataEntrance(String portName,
            Class<T> dataClass) {
        return addEntrance(portName, dataClass);
    }

    private void checkAdding(String portName, Map<String, ?> ports) {
        if (!addsPortals) {
            throw new IgnoredException("port " + portName + " is added outside of addPortals; add it there");
        }
        if (ports.containsKey(portName)) {
            throw new MUSCLERuntimeException("port " + portName + " of " + getLocalName() + " is added twice");
        }
    }

    private Timestamp origin() {
        return originTime == null ? Timestamp.ZERO : originTime;
    }

    /**
     * The scales: what setScale was given, or those of the settings dt, T, dx, dy, dz, lX, lY and lZ and their
     * defaults. Without a setting, dt is 1 s, and T is infinite.
     */
    public Scale getScale() {
        if (scale == null) {
            Settings settings = Session.current().settings();
            Distance step = settings.duration("dt", "default_dt").orElse(Distance.ONE);
            Distance none = new Distance(Double.POSITIVE_INFINITY);
            Distance total = settings.duration("T", "default_T")
                    .or(() -> settings.duration("max_timesteps", "max_timesteps")).orElse(none);
            List<Distance> steps = new ArrayList<>();
            List<Distance> sizes = new ArrayList<>();
            for (String axis : List.of("x", "y", "z")) {
                settings.scale("d" + axis, "default_d" + axis).ifPresent(steps::add);
                String size = "l" + axis.toUpperCase();
                settings.scale(size, "default_" + size).ifPresent(sizes::add);
            }
            scale = new Scale(step, total, steps, sizes);
        }
        return scale;
    }

    /** Sets the scales. */
    protected void setScale(Scale scale) {
        this.scale = scale;
    }

    /** True if a port has reached the total time after the origin, or max_timesteps. */
    public boolean willStop() {
        for (Portal portal : portals()) {
            if (isEnd(portal.getSITime())) {
                return true;
            }
        }
        return false;
    }

    private List<Portal> portals() {
        List<Portal> portals = new ArrayList<>(entrances.values());
        portals.addAll(exits.values());
        return portals;
    }

    /** True if a time is at the end of this instance or of the model, up to a small part of a step. */
    final boolean isEnd(Timestamp time) {
        if (maxTime == null) {
            Settings settings = Session.current().settings();
            Optional<Distance> setting = settings.duration("max_timesteps", "max_timesteps");
            maxTime = Timestamp.ZERO.add(setting.orElse(new Distance(Double.POSITIVE_INFINITY)));
        }
        Scale known = getScale();
        double end = maxTime.doubleValue();
        double step = known == null ? 0.0 : known.getDt().doubleValue();
        if (known != null && known.getOmegaT() != null) {
            end = Math.min(end, origin().add(known.getOmegaT()).doubleValue());
        }
        return TimeSteps.isReached(time.doubleValue(), end, step);
    }

    /** The names of the instance and of its ports. */
    public String infoText() {
        return getLocalName() + " conduit entrances (out): " + entrances.keySet() + "\n\t\t  " + getLocalName()
                + " conduit exits (in): " + exits.keySet();
    }
}
