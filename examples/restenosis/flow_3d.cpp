// The flow solver. It receives the radius of the lumen, computes until the flow is steady, and sends the
// friction at the wall. This file is the coupling; blood.hpp is the physics. Lengths in mm, times of the flow
// in s, stresses in Pa.
#include <ligament/mpi.hpp>

#include "blood.hpp"

// Gives all ranks a setting, which rank 0 has.
static double setting(ligament::mpi::Instance &all, const char *name) {
    double value = 0;
    if (all.root()) value = all.root()->get_setting_as<double>(name);
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, all.comm());
    return value;
}

static std::vector<double> times(double factor, std::vector<double> values) {
    for (double &value : values) value *= factor;
    return values;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    {
        using ligament::Operator;
        ligament::mpi::Instance all(
            {{Operator::F_INIT, {"lumen"}}, {Operator::O_F, {"shear", "resistance", "section"}}});
        const int length = int(setting(all, "nodes_along")), width = int(setting(all, "nodes_across"));
        Blood blood(all.comm(), width, length, setting(all, "tau"));

        // Conversion from lattice units to mm, s, mm^3/s and Pa.
        const double dx = setting(all, "length") / length;
        const double dt = blood.viscosity() * dx * dx / setting(all, "viscosity");
        const double flow_rate = setting(all, "flow_rate");
        const double pascal = setting(all, "density") * std::pow(1e-3 * dx / dt, 2);

        int steps = int(setting(all, "steps_first"));
        while (all.reuse_instance()) {
            std::vector<double> lumen(length);
            const ligament::Times when = all.receive_into("lumen", lumen);   // on all ranks
            blood.set_wall(times(1 / dx, lumen));
            for (int step = 0; step < steps; step++) blood.step(flow_rate * dt / (dx * dx * dx));
            steps = int(setting(all, "steps"));   // from now on it begins with the flow as it was

            const std::vector<double> shear = times(pascal, blood.wall_shear());
            const std::vector<double> section = times(dx / dt, blood.section());
            if (ligament::Instance *instance = all.root()) {
                instance->send("shear", when, shear);
                instance->send("resistance", when, pascal * blood.pressure_drop() / flow_rate);
                const ligament::Extents shape{std::size_t(length), std::size_t(width)};
                instance->send("section", when, ligament::ArrayRef(section.data(), shape));
            }
        }
    }
    MPI_Finalize();
}
