// Three ranks that are one instance, whose root is the last one: `ranks FOLDER`. Each multiplies its part of
// what the root receives by a setting.
#include <algorithm>
#include <fstream>
#include <libmuscle/libmuscle.hpp>
#include <typeinfo>
#include <ymmsl/ymmsl.hpp>

#include "check.hpp"

using libmuscle::Data;
using libmuscle::Instance;
using libmuscle::Message;
using ymmsl::Operator;

static void work(int argc, char *argv[]) {
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int const root = ranks - 1;
    Instance instance(argc, argv, {{Operator::F_INIT, {"in", "unconnected"}}, {Operator::O_F, {"out"}}},
                      MPI_COMM_WORLD, root);
    if (rank != root) CHECK_THROWS(instance.is_connected("in"), std::runtime_error, "a call of the root rank");
    while (instance.reuse_instance()) {
        auto const factors = instance.get_setting_as<std::vector<double>>("factors");
        CHECK(instance.get_setting_as<std::string>("text") == "a text");
        CHECK(instance.get_setting_as<bool>("truth"));
        CHECK(instance.get_setting_as<std::vector<std::vector<double>>>("table")[1][0] == 3.0);
        CHECK(instance.get_setting_as<int>("whole") == 3 && instance.get_setting_as<double>("real") == 0.5);
        CHECK(instance.get_setting_as<std::vector<std::int64_t>>("wholes")[1] == 2);
        CHECK_THROWS(instance.get_setting("unset"), std::out_of_range, "is not set");
        CHECK(instance.list_settings().size() >= 7);
        CHECK_THROWS(instance.receive("nowhere"), std::logic_error, "\"nowhere\"");  // on all ranks alike
        Message const otherwise = instance.receive("unconnected", Message(7.0, Data(1)));
        CHECK((otherwise.timestamp() == 7.0) == (rank == root));
        Message const got = instance.receive("in");
        std::vector<double> all(static_cast<std::size_t>(ranks));
        if (rank == root) std::copy_n(got.data().elements<double>(), ranks, all.begin());
        else CHECK(got.data().is_nil());
        double part;
        MPI_Scatter(all.data(), 1, MPI_DOUBLE, &part, 1, MPI_DOUBLE, root, MPI_COMM_WORLD);
        part *= factors[static_cast<std::size_t>(rank)];
        MPI_Gather(&part, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, root, MPI_COMM_WORLD);
        instance.send("out", Message(got.timestamp(), Data::grid(all.data(), {all.size()})));
    }
    std::ofstream(std::string(argv[1]) + "/" + std::to_string(rank)) << failures << "\n";
}

int main(int argc, char *argv[]) {
    MPI_Init(&argc, &argv);
    work(argc, argv);
    MPI_Finalize();
    return failures != 0;
}
