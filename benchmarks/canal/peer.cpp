// The same duct as one MPI program of two ranks. Each exchanges the five populations that leave it. `pack`
// copies them by hand into one message, `types` lets MPI do so by a derived type, and `overlap` packs by hand
// and computes the other points while the message travels. The environment has the duct's numbers of points.
#include <mpi.h>

#include <cstring>
#include <exception>
#include <iostream>

#include "steps.hpp"

namespace {

std::size_t points_along(const char *axis) {
    const char *text = std::getenv(axis);
    if (!text) throw std::runtime_error(std::string(axis) + " is not set");
    return std::strtoull(text, nullptr, 10);
}

class Rank {
public:
    Rank(int rank, const std::array<std::size_t, 3> &shape)
        : rank_(rank), block_({shape[0] / 2, shape[1], shape[2]}, 1, ends(rank)) {
        const auto begin = static_cast<std::uint64_t>(rank) * (shape[0] / 2);
        const lattice::Point end = block_.own().end;
        for (std::ptrdiff_t x = 0; x < end[0]; ++x) {
            for (std::ptrdiff_t y = 0; y < end[1]; ++y) {
                for (std::ptrdiff_t z = 0; z < end[2]; ++z) {
                    const std::uint64_t row = (begin + static_cast<std::uint64_t>(x)) * shape[1];
                    const std::uint64_t number = (row + static_cast<std::uint64_t>(y)) * shape[2] +
                                                 static_cast<std::uint64_t>(z);
                    block_.start({x, y, z}, 1 + 0.01 * (lattice::random(number) - 0.5));
                }
            }
        }
        block_.reflect(block_.own());
        for (int i = 1; i < lattice::populations; ++i) {
            if (lattice::velocity[i][0] == (rank == 0 ? 1 : -1)) leaving_.push_back(i);
            if (lattice::velocity[i][0] == (rank == 0 ? -1 : 1)) coming_.push_back(i);
        }
        face_ = static_cast<std::size_t>(end[1] * end[2]);
        out_.resize(leaving_.size() * face_);
        in_.resize(coming_.size() * face_);
        own_x_ = rank == 0 ? end[0] - 1 : 0;
        ghost_x_ = rank == 0 ? end[0] : -1;
    }

    lattice::Block &block() { return block_; }

    void exchange_packed(bool next) {
        begin_packed(next);
        end_packed(next);
    }
    void begin_packed(bool next) {
        MPI_Irecv(in_.data(), static_cast<int>(in_.size()), MPI_DOUBLE, 1 - rank_, 0, MPI_COMM_WORLD,
                  &requests_[0]);
        const lattice::Point end = block_.own().end;
        const auto row = static_cast<std::size_t>(end[2]);
        double *to = out_.data();
        for (int i : leaving_) {
            for (std::ptrdiff_t y = 0; y < end[1]; ++y, to += row) {
                std::memcpy(to, array(i, next) + block_.place(own_x_, y, 0), row * sizeof(double));
            }
        }
        MPI_Isend(out_.data(), static_cast<int>(out_.size()), MPI_DOUBLE, 1 - rank_, 0, MPI_COMM_WORLD,
                  &requests_[1]);
    }
    void end_packed(bool next) {
        MPI_Wait(&requests_[0], MPI_STATUS_IGNORE);
        const lattice::Point end = block_.own().end;
        const auto row = static_cast<std::size_t>(end[2]);
        const double *from = in_.data();
        for (int i : coming_) {
            for (std::ptrdiff_t y = 0; y < end[1]; ++y, from += row) {
                std::memcpy(array(i, next) + block_.place(ghost_x_, y, 0), from, row * sizeof(double));
            }
        }
        MPI_Wait(&requests_[1], MPI_STATUS_IGNORE);
    }
    void exchange_typed() {
        if (out_type_ == MPI_DATATYPE_NULL) {
            out_type_ = face_type(leaving_, own_x_);
            in_type_ = face_type(coming_, ghost_x_);
        }
        MPI_Irecv(block_.next(0), 1, in_type_, 1 - rank_, 0, MPI_COMM_WORLD, &requests_[0]);
        MPI_Isend(block_.next(0), 1, out_type_, 1 - rank_, 0, MPI_COMM_WORLD, &requests_[1]);
        MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
    }
    void step(const lattice::Fluid &fluid, const std::string &way) {
        lattice::Box inner = block_.own();
        if (way == "overlap") {
            lattice::Box layer = inner;
            layer.begin[0] = own_x_, layer.end[0] = own_x_ + 1;
            rank_ == 0 ? inner.end[0] -= 1 : inner.begin[0] += 1;
            block_.step(fluid, layer);
            begin_packed(true);
            block_.step(fluid, inner);
            end_packed(true);
        } else {
            block_.step(fluid, inner);
            way == "types" ? exchange_typed() : exchange_packed(true);
        }
        block_.swap();
    }

private:
    int rank_;
    lattice::Block block_;
    std::vector<int> leaving_, coming_;
    std::size_t face_;
    std::ptrdiff_t own_x_, ghost_x_;
    std::vector<double> out_, in_;
    MPI_Request requests_[2];
    MPI_Datatype out_type_ = MPI_DATATYPE_NULL, in_type_ = MPI_DATATYPE_NULL;

    static lattice::Ends ends(int rank) { return {{{rank == 0, rank == 1}, {true, true}, {true, true}}}; }
    double *array(int i, bool next) { return next ? block_.next(i) : block_.now(i); }

    // The points of a face in the arrays of some populations, from the first array on.
    MPI_Datatype face_type(const std::vector<int> &populations, std::ptrdiff_t x) {
        const lattice::Point end = block_.own().end;
        const auto row = static_cast<int>(block_.place(0, 1, 0) - block_.place(0, 0, 0));
        MPI_Datatype face, all;
        MPI_Type_vector(static_cast<int>(end[1]), static_cast<int>(end[2]), row, MPI_DOUBLE, &face);
        std::vector<int> lengths(populations.size(), 1);
        std::vector<MPI_Aint> places;
        std::vector<MPI_Datatype> faces(populations.size(), face);
        for (int i : populations) {
            const std::ptrdiff_t place = block_.next(i) - block_.next(0) + block_.place(x, 0, 0);
            places.push_back(static_cast<MPI_Aint>(place) * static_cast<MPI_Aint>(sizeof(double)));
        }
        const auto count = static_cast<int>(populations.size());
        MPI_Type_create_struct(count, lengths.data(), places.data(), faces.data(), &all);
        MPI_Type_commit(&all);
        return all;
    }
};

}  // namespace

int main(int count, char **words) {
    MPI_Init(&count, &words);
    try {
        const steps::Arguments arguments(count, words);
        int rank, ranks;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        if (ranks != 2) throw std::runtime_error("this program has two ranks");
        steps::keep_to(arguments.cores.at(static_cast<std::size_t>(rank)));
        Rank own(rank, {points_along("DUCT_X"), points_along("DUCT_Y"), points_along("DUCT_Z")});
        const lattice::Fluid fluid(steps::viscosity, steps::acceleration);
        own.exchange_packed(false);
        steps::run(arguments, static_cast<std::size_t>(rank), own.block(),
                   [&](long) { own.step(fluid, arguments.way); });
    } catch (const std::exception &error) {
        std::cerr << "peer: " << error.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
