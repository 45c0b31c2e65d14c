// Smooth muscle cells in the wall of a vessel, each an agent: a disc in the plane of z (along the vessel,
// periodic) and r (from its axis). Cells that overlap push each other away; cells that are injured and free to
// do so divide. Nothing here knows of coupling. Lengths in mm, times in days.

import java.util.Arrays;
import java.util.SplittableRandom;

final class Tissue {
    /** The conditions of a cell at a place. */
    interface Field {
        double at(double z, double r);
    }

    /**
     * When cells divide.
     *
     * @param cycle how long a cell needs from one division to the next
     * @param shear friction of the blood above which cells rest, since the vessel's lining is at work there
     * @param drug concentration above which cells rest
     * @param neighbours as many of them tell a cell to rest
     * @param stent half of the length of the vessel's middle that the stent has injured
     */
    record Rules(double cycle, double shear, double drug, int neighbours, double stent) {}

    /** Cells are neighbours if their distance is at most this many times the one at which discs touch. */
    private static final double NEAR = 1.3;

    private final double length;
    private final double outer;
    private final double size;
    private final Rules rules;
    private final SplittableRandom random;
    private double[] z = new double[0];
    private double[] r = new double[0];
    private double[] clock = new double[0]; // parts of its cycle that a cell has gone through
    private int count;

    // The cells of each box: its first cell, and for each cell the next one of the same box.
    private final int along;
    private final int across;
    private final double box;
    private final int[] first;
    private int[] next = new int[0];

    /** Makes a healthy wall around a lumen, with cells packed as closely as discs can be. */
    Tissue(double length, double radius, double wall, double size, Rules rules, long seed) {
        this.length = length;
        this.outer = radius + wall;
        this.size = size;
        this.rules = rules;
        this.random = new SplittableRandom(seed);
        along = (int) (length / (2 * NEAR * size));
        box = length / along;
        across = (int) (outer / box) + 1;
        first = new int[along * across];
        int columns = (int) Math.round(length / (2 * size));
        int rows = (int) ((wall / size - 2) / Math.sqrt(3)) + 1;
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                double place = (column + row % 2 / 2.0) * length / columns;
                add(place, radius + size * (1 + row * Math.sqrt(3)), random.nextDouble());
            }
        }
    }

    int count() {
        return count;
    }

    /** All cells, a row of z, r and radius for each. */
    double[] table() {
        double[] table = new double[3 * count];
        for (int i = 0; i < count; i++) {
            table[3 * i] = z[i];
            table[3 * i + 1] = r[i];
            table[3 * i + 2] = size;
        }
        return table;
    }

    /**
     * Advances time: cells that may grow do so, and divide when they are through; then all cells move to their
     * places.
     */
    void live(double dt, Field shear, Field drug, int relaxations) {
        findBoxes();
        for (int i = 0, before = count; i < before; i++) {
            boolean grows = shear.at(z[i], r[i]) < rules.shear
                    && drug.at(z[i], r[i]) < rules.drug
                    && neighbours(i) < rules.neighbours;
            if (grows) {
                clock[i] += dt / rules.cycle * injury(z[i]);
            }
            if (clock[i] >= 1) {
                clock[i] = 0;
                double direction = 2 * Math.PI * random.nextDouble();
                // The two daughter cells have different cycle times.
                double time = 0.4 * random.nextDouble() - 0.2;
                add(z[i] + size * Math.cos(direction), r[i] + size * Math.sin(direction), time);
            }
        }
        for (int i = 0; i < relaxations; i++) {
            relax();
        }
    }

    /**
     * Returns how much the stent has injured the vessel: most in the middle, and not at all beyond its ends.
     */
    private double injury(double place) {
        double part = (place - length / 2) / rules.stent;
        return Math.abs(part) < 1 ? Math.pow(Math.cos(Math.PI / 2 * part), 2) : 0;
    }

    /**
     * Moves each cell out of those that it overlaps. The blood presses it outwards, up to the outer radius of
     * the vessel.
     */
    private void relax() {
        final double press = 0.002 * size;
        final double give = 0.2;
        findBoxes();
        double[] moveZ = new double[count];
        double[] moveR = new double[count];
        for (int i = 0; i < count; i++) {
            final int cell = i;
            forNear(i, other -> {
                double distanceZ = around(z[cell] - z[other]);
                double distanceR = r[cell] - r[other];
                double distance = Math.hypot(distanceZ, distanceR);
                if (distance < 2 * size && distance > 0) {
                    double push = give * (2 * size - distance) / distance;
                    moveZ[cell] += push * distanceZ;
                    moveR[cell] += push * distanceR;
                }
            });
        }
        for (int i = 0; i < count; i++) {
            z[i] = within(z[i] + moveZ[i]);
            r[i] = Math.min(r[i] + moveR[i] + press, outer - size);
        }
    }

    private int neighbours(int cell) {
        int[] found = {0};
        forNear(cell, other -> {
            if (Math.hypot(around(z[cell] - z[other]), r[cell] - r[other]) < 2 * NEAR * size) {
                found[0]++;
            }
        });
        return found[0];
    }

    private void add(double atZ, double atR, double time) {
        if (count == z.length) {
            int more = Math.max(1024, 2 * count);
            z = Arrays.copyOf(z, more);
            r = Arrays.copyOf(r, more);
            clock = Arrays.copyOf(clock, more);
            next = new int[more];
        }
        z[count] = within(atZ);
        r[count] = Math.min(atR, outer - size);
        clock[count] = time;
        count++;
    }

    private void findBoxes() {
        Arrays.fill(first, -1);
        for (int i = 0; i < count; i++) {
            int place = boxAlong(i) * across + boxAcross(i);
            next[i] = first[place];
            first[place] = i;
        }
    }

    /** Calls with each other cell in the boxes around that of a cell. */
    private void forNear(int cell, java.util.function.IntConsumer visit) {
        for (int i = boxAlong(cell) - 1; i <= boxAlong(cell) + 1; i++) {
            int column = Math.floorMod(i, along) * across;
            int last = Math.min(across - 1, boxAcross(cell) + 1);
            for (int j = Math.max(0, boxAcross(cell) - 1); j <= last; j++) {
                for (int other = first[column + j]; other >= 0; other = next[other]) {
                    if (other != cell) {
                        visit.accept(other);
                    }
                }
            }
        }
    }

    private int boxAlong(int cell) {
        return Math.min((int) (z[cell] / box), along - 1);
    }

    private int boxAcross(int cell) {
        return Math.clamp((int) (r[cell] / box), 0, across - 1);
    }

    /** Returns a place along the vessel, which is periodic. */
    private double within(double place) {
        return place - length * Math.floor(place / length);
    }

    /** Returns the shorter way around. */
    private double around(double distance) {
        return distance - length * Math.rint(distance / length);
    }
}
