package muscle.exception;

/** Data is of another type than the program expects, or of one that cannot be sent. */
public class MUSCLEDatatypeException extends MUSCLERuntimeException {
    private static final long serialVersionUID = 1;

    public MUSCLEDatatypeException(String text) {
        super(text);
    }

    public MUSCLEDatatypeException(String text, Throwable cause) {
        super(text, cause);
    }
}
