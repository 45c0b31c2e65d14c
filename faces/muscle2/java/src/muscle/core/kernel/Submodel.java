package muscle.core.kernel;

import muscle.core.ConduitEntranceController;
import muscle.core.ConduitExitController;
import muscle.core.TimeSteps;
import muscle.core.model.Distance;
import muscle.core.model.Timestamp;
import muscle.exception.MUSCLERuntimeException;

/**
 * An instance in the parts of the submodel execution loop: init, then as long as there is no end condition
 * intermediateObservation and solvingStep, then finalObservation; and again if it is to be restarted.
 */
public abstract class Submodel extends Instance {
    private TimeSteps clock;
    private Distance step;

    @Override
    protected void execute() {
        do {
            begin();
            while (!isAtEnd()) {
                operationsAllowed = SEND;
                intermediateObservation();
                operationsAllowed = RECV;
                solvingStep();
                setSteps(getScale().getDt());
                clock.advance();
            }
            observeEnd();
            operationsAllowed = RECV;
        } while (restartSubmodel());
    }

    private void begin() {
        step = getScale().getDt();
        operationsAllowed = RECV;
        originTime = init(originTime);
        clock = new TimeSteps(originTime.doubleValue(), step.doubleValue());
        for (ConduitExitController<?> exit : exits.values()) {
            exit.resetTime(originTime);
        }
        for (ConduitEntranceController<?> entrance : entrances.values()) {
            entrance.resetTime(originTime);
        }
        setSteps(getScale().getDt());
    }

    private boolean isAtEnd() {
        operationsAllowed = RECV;
        return endCondition();
    }

    /** A port that has not sent yet announces its next message for the end of the next pass. */
    private void observeEnd() {
        Distance total = getScale().getOmegaT();
        if (!Double.isInfinite(total.doubleValue())) {
            entrances.values().stream().filter(entrance -> entrance.getSITime().equals(originTime))
                    .forEach(entrance -> entrance.getEntrance().setDt(total));
            step = total;
        }
        operationsAllowed = SEND;
        finalObservation();
        setSteps(getScale().getDt());
    }

    /** Changes the step of all ports if it differs. A port keeps one that the program gave it until then. */
    private void setSteps(Distance other) {
        clock.setStep(other.doubleValue());
        if (other.equals(step)) {
            return;
        }
        step = other;
        for (ConduitEntranceController<?> entrance : entrances.values()) {
            entrance.getEntrance().setDt(other);
        }
    }

    /**
     * Begins a pass, and returns the time at which it begins. It may receive.
     *
     * @param previousOrigin the time at which the pass before began; null in the first one
     */
    protected Timestamp init(Timestamp previousOrigin) {
        if (previousOrigin == null) {
            return Timestamp.ZERO;
        }
        Distance total = getScale().getOmegaT();
        if (Double.isInfinite(total.doubleValue())) {
            throw new MUSCLERuntimeException("submodel " + getLocalName()
                    + " is restarted, and has no total time; "
                    + "give the setting T, or return the time of its begin in init");
        }
        return previousOrigin.add(total);
    }

    /** Sends what the state of a step shows. */
    protected void intermediateObservation() {}

    /** Does a step. It may receive. */
    protected void solvingStep() {}

    /** Sends the result of a pass. */
    protected void finalObservation() {}

    /** True if a pass ends: by default, what willStop says. */
    protected boolean endCondition() {
        return willStop();
    }

    /** True if another pass begins. It may receive. */
    protected boolean restartSubmodel() {
        return false;
    }

    /** The time of the step. */
    protected Timestamp getCurrentTime() {
        return new Timestamp(clock.now());
    }

    @Override
    public boolean willStop() {
        return super.willStop() || isEnd(getCurrentTime());
    }
}
