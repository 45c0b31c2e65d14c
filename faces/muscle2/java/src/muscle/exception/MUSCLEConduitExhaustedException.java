package muscle.exception;

/** No more messages come on a conduit. */
public class MUSCLEConduitExhaustedException extends MUSCLERuntimeException {
    private static final long serialVersionUID = 1;

    public MUSCLEConduitExhaustedException(String text) {
        super(text);
    }

    public MUSCLEConduitExhaustedException(String text, Throwable cause) {
        super(text, cause);
    }
}
