package muscle.exception;

/** A call failed. */
public class MUSCLERuntimeException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public MUSCLERuntimeException(String text) {
        super(text);
    }

    public MUSCLERuntimeException(String text, Throwable cause) {
        super(text, cause);
    }
}
