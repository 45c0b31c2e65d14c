package org.ligament;

/**
 * How many processes an instance is, and how many threads each of them has; 0 if that is not said. One of the
 * processes joins the run, for all of them. While it computes, who waits for it does not spin on its cores;
 * unless this is said, the model's {@code resources:} tell how many they are.
 *
 * @param ranks processes, as MPI starts them
 * @param threads of each of them
 */
public record Parallelism(int ranks, int threads) {
    /** Refuses numbers below 0. */
    public Parallelism {
        if (ranks < 0 || threads < 0) {
            throw new LigamentException.Usage("an instance cannot have " + ranks + " ranks and " + threads
                    + " threads");
        }
    }
}
