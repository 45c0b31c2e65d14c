// Blood that flows through a vessel: the lattice Boltzmann method D3Q19 with one relaxation time, for many MPI
// ranks. Nothing here knows of coupling. Everything is in lattice units: nodes and steps are 1 apart, and the
// density is 1.
//
// The vessel is round and periodic along z, and its radius may differ from layer to layer. Each rank has some
// layers, and one more on either side from its neighbours. The liquid is incompressible (He and Luo, 1997), the
// wall lies where it is between the nodes (Bouzidi, Firdaouss and Lallemand, 2001), and a force along z keeps
// the flow rate as it should be.
#pragma once

#include <mpi.h>

#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

class Blood {
public:
    // A box of `width` by `width` by `length` nodes with the vessel in its middle; it is still at rest, and
    // without a wall.
    Blood(MPI_Comm comm, int width, int length, double tau)
        : comm_(comm), width_(width), length_(length), plane_(width * width), tau_(tau) {
        if (width > ROW) throw std::invalid_argument("the vessel is too wide: at most 256 nodes");
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &ranks_);
        first_ = begin_of(rank_);
        layers_ = begin_of(rank_ + 1) - first_;
        size_ = (layers_ + 2) * plane_;
        now_.resize(DIRECTIONS * size_);
        next_.resize(DIRECTIONS * size_);
        is_fluid_.resize(size_);
        MPI_Type_vector(CROSSING, plane_, size_, MPI_DOUBLE, &crossing_);
        MPI_Type_commit(&crossing_);
    }
    ~Blood() { MPI_Type_free(&crossing_); }
    Blood(const Blood &) = delete;
    Blood &operator=(const Blood &) = delete;

    double viscosity() const { return (tau_ - 0.5) / 3; }
    // The fall of the pressure over the whole vessel. The force replaces it, since the vessel is periodic.
    double pressure_drop() const { return force_ * length_; }

    // Sets the radius of the wall for each layer of the vessel. Liquid that stays inside keeps its state.
    void set_wall(const std::vector<double> &radius) {
        radius_ = radius;
        for (int n = 0; n < size_; n++) {
            const bool was = is_fluid_[n];
            is_fluid_[n] = inside(n) > 0;
            if (is_fluid_[n] && !was)
                for (int d = 0; d < DIRECTIONS; d++) now_[at(d, n)] = 0;
        }
        rows_.clear();
        links_.clear();
        double nodes = 0;
        for (int n = plane_; n < size_ - plane_; n++) {
            if (!is_fluid_[n]) continue;
            if (!is_fluid_[n - 1]) rows_.push_back({n, 0});
            rows_.back().count++;
            nodes++;
            for (int d = 0; d < DIRECTIONS; d++)
                if (!is_fluid_[n + offset(d)]) links_.push_back(link(n, d));
        }
        nodes_ = sum(nodes);
    }

    // Makes one step at a flow rate (nodes^3 per step).
    void step(double flow_rate) {
        double momentum = 0;
        for (const Row &row : rows_) momentum += collide_and_stream(row);
        momentum = sum(momentum);
        exchange();
        for (const Link &link : links_)
            next_[link.into] = link.weight[0] * next_[link.from[0]] + link.weight[1] * next_[link.from[1]];
        std::swap(now_, next_);
        // The force makes up for the momentum that the walls took in the last step, and for half of the missing
        // flow. This converges without long oscillations. Half a step of the force belongs to the velocity.
        const double drag = started_ ? before_ - momentum : 0;
        const double missing = flow_rate * length_ - momentum - nodes_ * force_ / 2;
        before_ = momentum + nodes_ * force_;
        force_ = (drag + missing / 2) / nodes_;
        started_ = true;
    }

    // Returns the friction at the wall of each layer, on rank 0: the slope at the wall of the profile (1 - s)
    // (a + b s), s = (r/R)^2, that fits the layer best.
    std::vector<double> wall_shear() const {
        std::vector<double> shear(layers_);
        for (int k = 0; k < layers_; k++) {
            const double R = radius_[first_ + k];
            double pp = 0, pq = 0, qq = 0, pu = 0, qu = 0;
            for (int n = (k + 1) * plane_; n < (k + 2) * plane_; n++) {
                if (!is_fluid_[n]) continue;
                const double s = std::pow(from_axis(n) / R, 2), p = 1 - s, q = p * s, u = velocity(n);
                pp += p * p, pq += p * q, qq += q * q, pu += p * u, qu += q * u;
            }
            const double a_and_b = (pu * (qq - pq) + qu * (pp - pq)) / (pp * qq - pq * pq);
            shear[k] = viscosity() * 2 * a_and_b / R;
        }
        return gather(shear, 1);
    }

    // Returns the velocity along the vessel in a plane through its axis, on rank 0: a row for each layer.
    std::vector<double> section() const {
        std::vector<double> found;
        for (int k = 1; k <= layers_; k++)
            for (int x = 0; x < width_; x++) {
                // The axis lies between two rows, if the width is even.
                const int here = k * plane_ + x, below = (width_ - 1) / 2 * width_, above = width_ / 2 * width_;
                found.push_back((velocity(here + below) + velocity(here + above)) / 2);
            }
        return gather(found, width_);
    }

private:
    struct Direction {
        int x, y, z;
    };
    // A row of neighbouring nodes of the liquid.
    struct Row {
        int begin, count;
    };
    // A population that comes back from the wall: a weighted sum of two others.
    struct Link {
        int into, from[2];
        double weight[2];
    };
    static constexpr int DIRECTIONS = 19, CROSSING = 5, LAST_CROSSING = 2 * CROSSING, ROW = 256;
    // The first directions cross to the next layer; then come their opposites in the same order; 10 is at rest;
    // then come pairs of opposites.
    static constexpr std::array<Direction, DIRECTIONS> C{{
        {0, 0, 1}, {1, 0, 1}, {-1, 0, 1}, {0, 1, 1}, {0, -1, 1},
        {0, 0, -1}, {-1, 0, -1}, {1, 0, -1}, {0, -1, -1}, {0, 1, -1},
        {0, 0, 0},
        {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {1, 1, 0}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},
    }};

    static constexpr int opposite(int d) {
        if (d < LAST_CROSSING) return (d + CROSSING) % LAST_CROSSING;
        return d == 10 ? d : ((d - 11) ^ 1) + 11;
    }
    static constexpr double weight(int d) {
        const int length = C[d].x * C[d].x + C[d].y * C[d].y + C[d].z * C[d].z;
        return length == 0 ? 1.0 / 3 : length == 1 ? 1.0 / 18 : 1.0 / 36;
    }

    int begin_of(int rank) const { return int(long(length_) * rank / ranks_); }
    int offset(int d) const { return C[d].z * plane_ + C[d].y * width_ + C[d].x; }
    // The index of the population of a direction at a node.
    int at(int d, int n) const { return d * size_ + n; }

    double from_axis(int n) const {
        const double middle = (width_ - 1) / 2.0;
        return std::hypot(n % width_ - middle, n % plane_ / width_ - middle);
    }
    // Returns the distance of a node from the wall; negative outside.
    double inside(int n) const { return radius_[(first_ + n / plane_ - 1 + length_) % length_] - from_axis(n); }

    // The velocity along z.
    double velocity(int n) const {
        if (!is_fluid_[n]) return 0;
        double u = force_ / 2;
        for (int d = 0; d < LAST_CROSSING; d++) u += C[d].z * now_[at(d, n)];
        return u;
    }

    // Populations relax to the equilibrium of their node, and move to the next one, even if it is in the wall.
    // Returns their momentum along z before. They are stored as differences from those of a liquid at rest.
    double collide_and_stream(Row row) {
        double density[ROW] = {}, x[ROW] = {}, y[ROW] = {}, z[ROW] = {};
        for (int d = 0; d < DIRECTIONS; d++) {
            const double *f = &now_[at(d, row.begin)];
            for (int i = 0; i < row.count; i++) {
                density[i] += f[i];
                x[i] += C[d].x * f[i];
                y[i] += C[d].y * f[i];
                z[i] += C[d].z * f[i];
            }
        }
        for (int d = 0; d < DIRECTIONS; d++) {
            const double *f = &now_[at(d, row.begin)];
            double *to = &next_[at(d, row.begin + offset(d))];
            const double rate = 1 / tau_, push = 3 * weight(d) * C[d].z * force_;
            for (int i = 0; i < row.count; i++) {
                const double along = C[d].x * x[i] + C[d].y * y[i] + C[d].z * z[i];
                const double square = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
                const double equilibrium =
                    weight(d) * (density[i] + 3 * along + 4.5 * along * along - 1.5 * square);
                to[i] = f[i] + rate * (equilibrium - f[i]) + push;
            }
        }
        return std::accumulate(z, z + row.count, 0.0);
    }

    // Exchanges the populations that have moved to layers of the neighbours.
    void exchange() {
        const int above = (rank_ + 1) % ranks_, below = (rank_ + ranks_ - 1) % ranks_, top = layers_ * plane_;
        double *up = &next_[at(0, 0)], *down = &next_[at(CROSSING, 0)];
        MPI_Sendrecv(up + top + plane_, 1, crossing_, above, 0, up + plane_, 1, crossing_, below, 0, comm_,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(down, 1, crossing_, below, 1, down + top, 1, crossing_, above, 1, comm_,
                     MPI_STATUS_IGNORE);
    }

    // Between node n and the next node in direction d, the wall is at the part q of the way. All needed
    // populations have moved already: the one that met the wall is in the wall, and the others of this formula
    // do not cross it.
    Link link(int n, int d) const {
        const int back = opposite(d), into = at(back, n), met = at(d, n + offset(d)), behind = n - offset(d);
        const double q = inside(n) / (inside(n) - inside(n + offset(d)));
        if (!is_fluid_[behind]) return {into, {met, met}, {1, 0}};   // as if the wall lay halfway
        if (q < 0.5) return {into, {met, at(d, n)}, {2 * q, 1 - 2 * q}};
        return {into, {met, at(back, behind)}, {1 / (2 * q), 1 - 1 / (2 * q)}};
    }

    double sum(double own) const {
        double all;
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, comm_);
        return all;
    }

    // Gathers all layers on rank 0.
    std::vector<double> gather(const std::vector<double> &own, int each) const {
        std::vector<int> counts, places;
        for (int rank = 0; rank < ranks_; rank++) {
            places.push_back(each * begin_of(rank));
            counts.push_back(each * begin_of(rank + 1) - places.back());
        }
        std::vector<double> all(rank_ == 0 ? each * length_ : 0);
        MPI_Gatherv(own.data(), int(own.size()), MPI_DOUBLE, all.data(), counts.data(), places.data(),
                    MPI_DOUBLE, 0, comm_);
        return all;
    }

    MPI_Comm comm_;
    MPI_Datatype crossing_;
    int rank_, ranks_, width_, length_, plane_, first_, layers_, size_;
    double tau_, nodes_ = 0, force_ = 0, before_ = 0;
    bool started_ = false;
    std::vector<double> radius_, now_, next_;
    std::vector<char> is_fluid_;
    std::vector<Row> rows_;
    std::vector<Link> links_;
};
