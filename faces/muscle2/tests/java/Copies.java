import muscle.core.kernel.DuplicationMapper;

/** Sends each message on all ports. */
public class Copies extends DuplicationMapper {}
