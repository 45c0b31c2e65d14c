// The ranks of an instance with MPI. One of them, the root, speaks for all.
#ifndef LIGAMENT_FACE_MPI_RANKS_HPP
#define LIGAMENT_FACE_MPI_RANKS_HPP

#include <ligament_mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ligament/ligament.hpp>
#include <memory>
#include <string>

#include "call.hpp"

namespace libmuscle {
namespace face {

static_assert(static_cast<int>(Call::create) == LIG_MPI_CREATE, "");
static_assert(static_cast<int>(Call::reuse) == LIG_MPI_REUSE, "");
static_assert(static_cast<int>(Call::receive) == LIG_MPI_RECEIVE, "");
static_assert(static_cast<int>(Call::resuming) == LIG_MPI_RESUMING, "");
static_assert(static_cast<int>(Call::should_init) == LIG_MPI_SHOULD_INIT, "");
static_assert(static_cast<int>(Call::should_save_snapshot) == LIG_MPI_SHOULD_SAVE_SNAPSHOT, "");
static_assert(static_cast<int>(Call::should_save_final_snapshot) == LIG_MPI_SHOULD_SAVE_FINAL_SNAPSHOT, "");

class Ranks {
public:
    // All ranks of the communicator make it together. Throws std::runtime_error if there is no such root.
    Ranks(MPI_Comm communicator, int root) {
        int rank, size;
        MPI_Comm_rank(communicator, &rank);
        MPI_Comm_size(communicator, &size);
        if (root < 0 || root >= size) {
            throw std::runtime_error("the root of an instance is one of its " + std::to_string(size) +
                                     " ranks, which count from 0, not " + std::to_string(root));
        }
        // Rank 0 speaks for a Ligament instance, so the root comes first.
        MPI_Comm ordered;
        MPI_Comm_split(communicator, 0, rank == root ? 0 : rank + 1, &ordered);
        lig_mpi_instance *made = nullptr;
        lig_error error{};
        const lig_status status = lig_mpi_ranks_create(ordered, &made, &error);
        MPI_Comm_free(&ordered);
        if (status != LIG_OK) ligament::detail::fail(status, error.message);
        all_.reset(made);
    }

    bool is_root() const noexcept { return all_->rank == 0; }

    // Makes the root's instance. Ligament takes only rank 0 of the program for the speaker of all ranks, and
    // knows the ranks by this variable; MUSCLE 3 lets the program choose the root.
    template <class Function>
    void speak(Function function) const {
        char const *ranks = std::getenv(RANKS_VARIABLE);
        std::string const value = ranks ? ranks : "";
        unsetenv(RANKS_VARIABLE);
        try {
            function();
        } catch (...) {
            if (ranks) setenv(RANKS_VARIABLE, value.c_str(), 1);
            throw;
        }
        if (ranks) setenv(RANKS_VARIABLE, value.c_str(), 1);
    }

    // Makes a call on the root, and returns its answer on all ranks. An exception of the root is thrown on all.
    template <class Function>
    bool together(Call call, char const *port, Function function) {
        lig_mpi_outcome outcome{};
        lig_error error{};
        std::exception_ptr thrown;
        lig_mpi_enter(all_.get(), static_cast<int>(call), port, 0);
        if (is_root()) {
            try {
                outcome.again = function() ? 1 : 0;
            } catch (ligament::Error const &failure) {
                thrown = std::current_exception();
                outcome.status = failure.status();
                std::snprintf(error.message, sizeof error.message, "%s", failure.what());
            } catch (std::exception const &failure) {
                thrown = std::current_exception();
                outcome.status = LIG_ERR_UNEXPECTED;
                std::snprintf(error.message, sizeof error.message, "%s", failure.what());
            }
        }
        const lig_status status = lig_mpi_share(all_.get(), &outcome, &error);
        if (thrown) std::rethrow_exception(thrown);
        if (status != LIG_OK) ligament::detail::fail(status, error.message);
        return outcome.again != 0;
    }

    // Gives the root's bytes to all ranks, which call this together.
    void give(std::string &bytes) {
        unsigned long long size = bytes.size();
        MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG_LONG, 0, all_->comm);
        bytes.resize(size);
        for (std::size_t at = 0; at < bytes.size(); at += PIECE) {
            const std::size_t count = std::min(PIECE, bytes.size() - at);
            MPI_Bcast(&bytes[at], static_cast<int>(count), MPI_BYTE, 0, all_->comm);
        }
    }

private:
    static constexpr char const *RANKS_VARIABLE = "LIGAMENT_RANKS";
    static constexpr std::size_t PIECE = std::size_t{1} << 30;  // MPI counts in int

    struct Release {
        void operator()(lig_mpi_instance *all) const noexcept {
            // This rank has an exception and the others do not, so they will not come to the end together.
            if (all->goes_on && std::uncaught_exceptions() > 0) return;
            lig_mpi_release(all);
        }
    };
    std::unique_ptr<lig_mpi_instance, Release> all_;
};

}  // namespace face
}  // namespace libmuscle

#endif
