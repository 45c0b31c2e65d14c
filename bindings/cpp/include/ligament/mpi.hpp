// One instance for all ranks of an MPI program. Include it beside ligament.hpp, where MPI (mpi.h) is installed.
#ifndef LIGAMENT_MPI_HPP
#define LIGAMENT_MPI_HPP

#include <ligament_mpi.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "ligament.hpp"

namespace ligament::mpi {

// An instance that all ranks of a communicator form together. Rank 0 speaks for it. The functions here are
// collective: all ranks call them together, and all get the same result or throw the same error. Rank 0 makes
// all other calls, through root(). While rank 0 waits for a message, the other ranks sleep, and let MPI make
// progress from time to time. Destroy it on all ranks, before MPI_Finalize unless the instance is over. A rank
// whose call differs from rank 0's ends the program (ligament_mpi.h).
class Instance {
public:
    // Joins the run, with the ports of the model. Throws RegistrationError.
    explicit Instance(MPI_Comm comm = MPI_COMM_WORLD) { join(comm, [] { return ligament::Instance(); }); }
    // Does the same, with the ports of this code, which must fit the model's.
    explicit Instance(const Ports &ports, MPI_Comm comm = MPI_COMM_WORLD, Flags flags = {}) {
        join(comm, [&] { return ligament::Instance(ports, flags); });
    }
    // Does the same, with ports that are written in the call; `{}` stands for no port at all.
    explicit Instance(std::initializer_list<Ports::value_type> ports, MPI_Comm comm = MPI_COMM_WORLD,
                      Flags flags = {})
        : Instance(Ports(ports), comm, flags) {}

    // The instance, for all calls that are not collective; null on all ranks but 0.
    ligament::Instance *root() noexcept { return own_ ? &*own_ : nullptr; }
    // The communicator of all ranks, which belongs to the instance.
    MPI_Comm comm() const noexcept { return ranks_->comm; }
    // This rank.
    int rank() const noexcept { return ranks_->rank; }

    // True if the code is to go through its execution loop once more.
    bool reuse_instance() {
        enter(LIG_MPI_REUSE);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->reuse_instance(); }).again != 0;
    }

    // True if settings have changed, on all ranks alike; see ligament::Instance::steer. The time is rank 0's.
    // Rank 0 reads the settings again, and tells the other ranks the values that they need.
    bool steer(double time) {
        enter(LIG_MPI_STEER);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->steer(time); }).again != 0;
    }

    // Receives a message on rank 0; the other ranks get none.
    std::optional<Message> receive(Name port, Slot slot = {}) {
        std::optional<Message> message;
        enter(LIG_MPI_RECEIVE, port.text);
        together([&](lig_mpi_outcome &) { message.emplace(own_->receive(port, slot)); });
        return message;
    }

    // Receives an array into the array of each rank. All have the same type and shape.
    template <class T>
    Times receive_into(Name port, const ArrayRef<T> &into, Slot slot = {}) {
        into.lend(
            [&](const lig_array *array) { enter(LIG_MPI_RECEIVE_INTO, port.text, lig_mpi_bytes(array)); });
        const lig_mpi_outcome outcome = together([&](lig_mpi_outcome &told) {
            const Times times = own_->receive_into(port, into, slot);
            told.times.timestamp = times.timestamp;
            told.times.has_next_timestamp = times.next_timestamp.has_value();
            told.times.next_timestamp = times.next_timestamp.value_or(0.0);
        });
        into.lend([&](const lig_array *array) { lig_mpi_give_to_all(ranks_.get(), array); });
        return Times(outcome.times);
    }

    // Does the same for an array of one dimension, of the length of the vectors.
    template <class T>
    Times receive_into(Name port, std::vector<T> &into, Slot slot = {}) {
        return receive_into(port, ArrayRef<T>(into.data(), {into.size()}), slot);
    }

    // The calls for checkpoints, as those of ligament::Instance. True or false is the same on all ranks; the
    // time is rank 0's.
    bool resuming() {
        enter(LIG_MPI_RESUMING);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->resuming(); }).again != 0;
    }
    // Loads the saved message on rank 0; the other ranks get none. Rank 0 gives them what they need of it.
    std::optional<Message> load_snapshot() {
        std::optional<Message> message;
        enter(LIG_MPI_LOAD_SNAPSHOT);
        together([&](lig_mpi_outcome &) { message.emplace(own_->load_snapshot()); });
        return message;
    }
    bool should_init() {
        enter(LIG_MPI_SHOULD_INIT);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->should_init(); }).again != 0;
    }
    bool should_save_snapshot(double time) {
        enter(LIG_MPI_SHOULD_SAVE_SNAPSHOT);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->should_save_snapshot(time); })
                   .again != 0;
    }
    // Saves rank 0's state; that of the other ranks is not looked at. Rank 0 gathers their parts before, or
    // they write files of their own in snapshot_directory().
    template <class Data>
    void save_snapshot(Times times, const Data &state) {
        enter(LIG_MPI_SAVE_SNAPSHOT);
        together([&](lig_mpi_outcome &) { own_->save_snapshot(times, state); });
    }
    bool should_save_final_snapshot() {
        enter(LIG_MPI_SHOULD_SAVE_FINAL_SNAPSHOT);
        return together([&](lig_mpi_outcome &outcome) { outcome.again = own_->should_save_final_snapshot(); })
                   .again != 0;
    }
    // Saves rank 0's state at the end of a pass.
    template <class Data>
    void save_final_snapshot(Times times, const Data &state) {
        enter(LIG_MPI_SAVE_FINAL_SNAPSHOT);
        together([&](lig_mpi_outcome &) { own_->save_final_snapshot(times, state); });
    }
    // The directory for files of the code's own, the same on all ranks.
    std::string snapshot_directory() {
        std::string own;
        const char *directory;
        lig_error error{};
        enter(LIG_MPI_SNAPSHOT_DIRECTORY);
        together([&](lig_mpi_outcome &) { own = own_->snapshot_directory(); });
        const lig_status status = lig_mpi_give_directory(ranks_.get(), own.c_str(), &directory, &error);
        if (status != LIG_OK) detail::fail(status, error.message);
        return directory;
    }

    // Ends the instance.
    void finish() {
        enter(LIG_MPI_FINISH);
        together([&](lig_mpi_outcome &) { own_->finish(); });
    }

private:
    struct Release {
        void operator()(lig_mpi_instance *ranks) const noexcept {
            // This rank has an exception and the others do not, so they will not come to the end together. A
            // mark tells MPI_Finalize.
            if (ranks->goes_on && std::uncaught_exceptions() > 0) return;
            lig_mpi_release(ranks);
        }
    };

    template <class Make>
    void join(MPI_Comm comm, Make make) {
        lig_mpi_instance *ranks = nullptr;
        lig_error error{};
        const lig_status status = lig_mpi_ranks_create(comm, &ranks, &error);
        if (status != LIG_OK) detail::fail(status, error.message);
        ranks_.reset(ranks);
        enter(LIG_MPI_CREATE);
        together([&](lig_mpi_outcome &) {
            own_.emplace(make());
            if (own_->ranks() == 1) return;
            own_->error_shutdown(LIG_MPI_EACH_RANK);
            own_.reset();
            detail::fail(LIG_ERR_USAGE, LIG_MPI_EACH_RANK);
        });
    }

    // Enters a collective call.
    void enter(std::int32_t call, const char *port = nullptr, std::uint64_t bytes = 0) {
        lig_mpi_enter(ranks_.get(), call, port, bytes);
    }

    // Makes rank 0's call, and tells all ranks the result. Another exception than ligament::Error is thrown on
    // rank 0, and becomes a PanicError on the others.
    template <class Call>
    lig_mpi_outcome together(Call call) {
        lig_mpi_outcome outcome{};
        lig_error error{};
        std::exception_ptr other;
        if (ranks_->rank == 0) {
            const auto failed = [&](lig_status status, const char *text) {
                outcome.status = status;
                std::snprintf(error.message, sizeof error.message, "%s", text);
            };
            try {
                call(outcome);
            } catch (const Error &thrown) {
                failed(thrown.status(), thrown.what());
            } catch (...) {
                other = std::current_exception();
                failed(LIG_ERR_PANIC, "rank 0 met an error that is none of Ligament's");
            }
        }
        const lig_status status = lig_mpi_share(ranks_.get(), &outcome, &error);
        if (other) std::rethrow_exception(other);
        if (status != LIG_OK) detail::fail(status, error.message);
        return outcome;
    }

    std::unique_ptr<lig_mpi_instance, Release> ranks_;
    std::optional<ligament::Instance> own_;
};

}  // namespace ligament::mpi

#endif
