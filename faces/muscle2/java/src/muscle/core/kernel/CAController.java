package muscle.core.kernel;

/** An instance that adds its ports itself, and whose work has any form. */
public abstract class CAController extends Instance {
    @Override
    protected abstract void addPortals();
}
