package org.ligament;

/**
 * The number of processes that are one instance together, and of threads of each process; 0 if not given. One
 * of the processes joins the run for all. While the instance computes, instances that wait for it do not spin
 * on its cores. Without these numbers, those under {@code resources:} in the model count.
 *
 * @param ranks number of processes, as MPI starts them
 * @param threads number of threads of each process
 */
public record Parallelism(int ranks, int threads) {
    /** Refuses negative numbers. */
    public Parallelism {
        if (ranks < 0 || threads < 0) {
            throw new LigamentException.Usage("an instance cannot have " + ranks + " ranks and " + threads
                    + " threads");
        }
    }
}
