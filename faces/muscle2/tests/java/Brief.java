import java.io.Serializable;
import muscle.core.kernel.CAController;

/** Sends one text, and ends. */
public class Brief extends CAController {
    @Override
    protected void addPortals() {
        addEntrance("out", Serializable.class);
    }

    @Override
    protected void execute() {
        out("out").send("text");
    }
}
