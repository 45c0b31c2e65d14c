// One participant in a run: what it writes, reads and waits for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ligament/ligament.hpp>

#include "mapping.hpp"
#include "plan.hpp"

namespace precice::impl {

// Values at the begin of a window, and samples within it at equal distances.
struct WindowValues {
    std::vector<double> begin;
    std::vector<std::vector<double>> samples;
};

// Values after a step, and its end as the time since the window's begin.
struct Step {
    double time = 0.0;
    std::vector<double> values;
};

struct Window {
    double begin = 0.0;
    double end = 0.0;
    double length() const { return end - begin; }
};

// The calls come in this order: new, meshes and initial values, initialize, steps, finalize.
class Session {
public:
    Session(std::string name, int rank, int size);

    void initialize();
    void advance(double step);
    void finalize();
    // Ends the whole run with a reason.
    void fail(const std::string &reason) { instance_->error_shutdown(reason); }

    int mesh_dimensions(const std::string &mesh) const;
    int data_dimensions(const std::string &mesh, const std::string &data) const;
    bool is_ongoing() const;
    bool is_complete() const;
    double max_step() const;
    bool needs_initial_data() const;
    bool takes_checkpoint();
    bool restores_checkpoint();

    // Adds points, and returns the number of the first of them.
    int add_points(const std::string &mesh, const double *coordinates, std::size_t count);
    int point_count(const std::string &mesh) const;
    // Says which points of a received mesh the program asks for.
    void set_region(const std::string &mesh, const double *bounds, std::size_t count);
    // The points of a received mesh in its region. Before initialize there are none.
    std::vector<int> accessed(const std::string &mesh) const;
    const double *coordinates(const std::string &mesh, int id) const {
        return points(mesh).at(static_cast<std::size_t>(id));
    }
    // Checks the corners of cells that no mapping needs.
    void check_corners(const std::string &mesh, std::size_t corners, const int *ids, std::size_t count);
    // Adds edges, triangles or quads, by their number of corners.
    void add_cells(const std::string &mesh, std::size_t corners, const int *ids, std::size_t count);
    bool needs_cells(const std::string &mesh) const;
    // Checks that there is a mesh of this name.
    void check_mesh(const std::string &mesh) const { points(mesh); }

    void write(const DataOnMesh &place, const int *ids, std::size_t count, const double *values);
    void read(const DataOnMesh &place, const int *ids, std::size_t count, double time, double *values) const;

private:
    enum class State { made, coupling, over };

    void check_initialized(const std::string &call) const;
    const Points &points(const std::string &mesh) const;
    Points &own_points(const std::string &mesh);
    void check_access(const std::string &mesh) const;
    void send_mesh(const Points &own);
    void receive_mesh(Points &points);
    // The points on which a mapping projects have cells, or the log says that they have none.
    void warn_of_cells(const Mapping &mapping);
    void check_ids(const std::string &mesh, const int *ids, std::size_t count) const;
    std::vector<double> &buffer(const DataOnMesh &place);
    std::vector<const Exchange *> exchanges_from() const;
    std::vector<const Exchange *> exchanges_to() const;
    void exchange_meshes();
    void send(const std::string &port, double time, const std::vector<double> &values, std::size_t width);
    void send_window(const Exchange &exchange, double time);
    // Sends a number to the participants that receive no data, so that they see the windows.
    void send_clocks(double time);
    bool maps(const std::string &direction, const std::string &source, const std::string &target) const;
    // The mesh on which this participant writes the data of an exchange.
    std::string written_mesh(const Exchange &exchange) const;
    // The meshes and data on which it reads those of an exchange.
    std::vector<DataOnMesh> read_places(const Exchange &exchange) const;
    std::vector<double> mapped(const Mapping &wanted, const std::vector<double> &values, std::size_t width);
    std::vector<double> on_exchange_mesh(const Exchange &exchange);
    std::vector<double> on_local_mesh(const Exchange &exchange, const std::string &mesh,
                                      const std::vector<double> &values);
    // Receives the values of a window; nothing after the last one.
    std::optional<Window> receive();
    std::optional<Window> receive_clock();
    void keep(const Exchange &exchange, const ligament::Message &message);
    void begin_window(std::optional<Window> window);

    std::string name_;
    std::unique_ptr<ligament::Instance> instance_;
    std::unique_ptr<Plan> plan_;
    const Role *role_ = nullptr;
    std::map<std::string, Points> points_;
    std::map<DataOnMesh, std::vector<double>> written_;
    std::map<DataOnMesh, WindowValues> came_;
    std::map<std::string, Weights> weights_;
    // The steps of the window for each exchange, by its key. The first one is the window's begin.
    std::map<std::string, std::vector<Step>> steps_;
    std::optional<Window> window_;
    double done_ = 0.0;
    State state_ = State::made;
    bool is_complete_ = false;
    bool saves_ = false;
    bool restores_ = false;
};

}  // namespace precice::impl
