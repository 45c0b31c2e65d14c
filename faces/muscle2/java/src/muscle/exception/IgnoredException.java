package muscle.exception;

/** A port is added outside of addPortals. */
public class IgnoredException extends MUSCLERuntimeException {
    private static final long serialVersionUID = 1;

    public IgnoredException(String text) {
        super(text);
    }

    public IgnoredException(String text, Throwable cause) {
        super(text, cause);
    }
}
