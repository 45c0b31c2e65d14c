#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <precice/Exceptions.hpp>

namespace precice::impl {

namespace {

// The part of a window by which a time step may miss the window's end.
constexpr double SLACK = 1e-9;
constexpr const char *PLAN = "precice_plan";

std::string quoted(const std::string &name) {
    return "\"" + name + "\"";
}

std::unique_ptr<ligament::Instance> joined(const std::string &name) {
    try {
        return std::make_unique<ligament::Instance>();
    } catch (const ligament::RegistrationError &error) {
        throw Error(quoted(name) + " does not take part in a run: " + error.what() +
                    "; make a model of the configuration by precice-to-ligament, and start it by ligament run");
    }
}

std::string plan_text(const ligament::Instance &instance) {
    const auto settings = instance.list_settings();
    if (std::find(settings.begin(), settings.end(), PLAN) == settings.end()) {
        throw Error("the model has no setting \"precice_plan\", which has the configuration; make the model by "
                    "precice-to-ligament");
    }
    return instance.get_setting_as<std::string>(PLAN);
}

// Refuses values that are no numbers. `which` says whose they are.
void check_finite(const double *values, std::size_t count, const std::string &which) {
    const auto lost = std::count_if(values, values + count, [](double value) { return !std::isfinite(value); });
    if (lost > 0) {
        throw Error(std::to_string(lost) + " of " + std::to_string(count) + " " + which +
                    " are NaN or infinite");
    }
}

template <class Map>
std::vector<std::string> names_of(const Map &map) {
    std::vector<std::string> names;
    for (const auto &entry : map) names.push_back(entry.first);
    return names;
}

bool contains(const std::vector<DataOnMesh> &places, const DataOnMesh &place) {
    return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

Session::Session(std::string name, int rank, int size) : name_(std::move(name)) {
    if (rank != 0 || size != 1) {
        throw Error("the participant " + quoted(name_) + " has " + std::to_string(size) +
                    " processes; a face for parallel participants is not there: take 0 and 1");
    }
    instance_ = joined(name_);
    plan_ = std::make_unique<Plan>(plan_text(*instance_));
    const auto found = plan_->roles.find(name_);
    if (found == plan_->roles.end()) {
        throw Error("the configuration has no participant " + quoted(name_) + "; it has " +
                    listed(names_of(plan_->roles)));
    }
    role_ = &found->second;
    const auto add = [&](const std::string &mesh) {
        points_[mesh] = {mesh, static_cast<std::size_t>(plan_->meshes.at(mesh).dimensions), {}, {}};
    };
    for (const auto &mesh : role_->provided) add(mesh);
    for (const auto &entry : role_->received) add(entry.first);
}

void Session::initialize() {
    if (state_ != State::made) throw Error("initialize() was called before; call it once");
    if (!instance_->reuse_instance()) throw Error("the run has ended before the coupling began");
    state_ = State::coupling;
    exchange_meshes();
    for (const Exchange *one : exchanges_from()) {
        auto values = on_exchange_mesh(*one);
        if (!one->is_initialized) values.assign(values.size(), 0.0);
        const auto width = static_cast<std::size_t>(plan_->width(one->data, one->mesh));
        send("initial_" + one->key, 0.0, values, width);
        steps_[one->key] = {{0.0, values}};
        send_window(*one, 0.0);
    }
    send_clocks(0.0);
    // Values that a time step does not write are 0 in it.
    written_.clear();
    for (const Exchange *one : exchanges_to()) {
        const ligament::Message message = instance_->receive("initial_" + one->key);
        for (const auto &place : read_places(*one)) {
            const auto values = on_local_mesh(*one, place.second, message.array<double>().to_vector());
            came_[place] = {values, {values}};
        }
    }
    begin_window(receive());
}

void Session::advance(double step) {
    check_initialized("advance");
    if (!window_) throw Error("advance() was called after the last window; ask isCouplingOngoing()");
    if (saves_ || restores_) {
        const std::string call = saves_ ? "requiresWritingCheckpoint" : "requiresReadingCheckpoint";
        throw Error(call + "() was not called before advance(); an implicit scheme needs both in each step");
    }
    const double most = max_step(), length = window_->length();
    if (!(step > 0.0 && step <= most + SLACK * length)) {
        throw Error("advance(" + shown(step) + "): the time step must be above 0 and at most " + shown(most) +
                    ", what is left of the window; ask getMaxTimeStepSize()");
    }
    done_ += step;
    is_complete_ = false;
    const bool is_last = length - done_ <= SLACK * length;
    for (const Exchange *one : exchanges_from()) {
        if (is_last || one->samples > 1) steps_[one->key].push_back({done_, on_exchange_mesh(*one)});
    }
    written_.clear();
    if (!is_last) return;
    for (const Exchange *one : exchanges_from()) send_window(*one, window_->end);
    send_clocks(window_->end);
    const auto next = receive();
    if (next && next->begin == window_->begin) {
        for (auto &steps : steps_) steps.second.resize(1);
        done_ = 0.0;
        restores_ = true;
        saves_ = false;
        return;
    }
    is_complete_ = true;
    for (auto &steps : steps_) steps.second = {{0.0, steps.second.back().values}};
    begin_window(next);
}

void Session::finalize() {
    if (state_ == State::over) throw Error("finalize() was called before; call it once");
    if (state_ == State::coupling && !window_) instance_->reuse_instance();
    state_ = State::over;
    instance_->finish();
}

int Session::mesh_dimensions(const std::string &mesh) const {
    return static_cast<int>(points(mesh).dimensions);
}

int Session::data_dimensions(const std::string &mesh, const std::string &data) const {
    check_mesh(mesh);
    if (!plan_->vectors.count(data)) {
        throw Error("there are no data " + quoted(data) + "; there are " + listed(names_of(plan_->vectors)));
    }
    return plan_->width(data, mesh);
}

bool Session::is_ongoing() const {
    check_initialized("isCouplingOngoing");
    return window_.has_value();
}

bool Session::is_complete() const {
    check_initialized("isTimeWindowComplete");
    return is_complete_;
}

double Session::max_step() const {
    check_initialized("getMaxTimeStepSize");
    return window_ ? window_->length() - done_ : 0.0;
}

bool Session::needs_initial_data() const {
    if (state_ != State::made) throw Error("requiresInitialData() belongs before initialize()");
    const auto sent = exchanges_from();
    return std::any_of(sent.begin(), sent.end(), [](const Exchange *one) { return one->is_initialized; });
}

bool Session::takes_checkpoint() {
    check_initialized("requiresWritingCheckpoint");
    return std::exchange(saves_, false);
}

bool Session::restores_checkpoint() {
    check_initialized("requiresReadingCheckpoint");
    return std::exchange(restores_, false);
}

int Session::add_points(const std::string &mesh, const double *coordinates, std::size_t count) {
    Points &own = own_points(mesh);
    if (count % own.dimensions != 0) {
        throw Error(std::to_string(count) + " coordinates are given for the mesh " + quoted(mesh) +
                    ", which has " + std::to_string(own.dimensions) + " for each point");
    }
    check_finite(coordinates, count, "coordinates for the mesh " + quoted(mesh));
    if (own.count() + count / own.dimensions > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw Error("the mesh " + quoted(mesh) + " has more vertices than an int counts");
    }
    const int first = static_cast<int>(own.count());
    own.coordinates.insert(own.coordinates.end(), coordinates, coordinates + count);
    return first;
}

int Session::point_count(const std::string &mesh) const {
    const Points &known = points(mesh);
    return static_cast<int>(known.region.empty() ? known.count() : known.accessed().size());
}

void Session::check_access(const std::string &mesh) const {
    points(mesh);
    if (role_->accessed.count(mesh) == 0) {
        throw Error(quoted(name_) + " has no access to the points of the mesh " + quoted(mesh) +
                    "; give <receive-mesh> the attribute api-access=\"true\"");
    }
}

void Session::set_region(const std::string &mesh, const double *bounds, std::size_t count) {
    check_access(mesh);
    if (state_ != State::made) throw Error("setMeshAccessRegion() belongs before initialize()");
    Points &known = points_.at(mesh);
    if (!known.region.empty()) {
        throw Error("setMeshAccessRegion(" + quoted(mesh) + ") was called before; call it once");
    }
    bool is_region = count == 2 * known.dimensions;
    for (std::size_t i = 0; is_region && i < count; i += 2) is_region = bounds[i] <= bounds[i + 1];
    if (!is_region) {
        throw Error("setMeshAccessRegion(" + quoted(mesh) +
                    "): the least and the greatest coordinate along each of " +
                    std::to_string(known.dimensions) + " axes are wanted, in turns");
    }
    known.region.assign(bounds, bounds + count);
}

std::vector<int> Session::accessed(const std::string &mesh) const {
    check_access(mesh);
    check_initialized("getMeshVertexIDsAndCoordinates");
    const Points &known = points(mesh);
    if (known.region.empty()) {
        throw Error("the mesh " + quoted(mesh) +
                    " has no region yet; call setMeshAccessRegion() before initialize()");
    }
    return known.accessed();
}

std::vector<int> Points::accessed() const {
    std::vector<int> inside;
    for (std::size_t i = 0; i < count(); ++i) {
        bool is_inside = true;
        for (std::size_t axis = 0; axis < dimensions; ++axis) {
            const double place = at(i)[axis];
            is_inside = is_inside && region[2 * axis] <= place && place <= region[2 * axis + 1];
        }
        if (is_inside) inside.push_back(static_cast<int>(i));
    }
    return inside;
}

void Session::add_cells(const std::string &mesh, std::size_t corners, const int *ids, std::size_t count) {
    check_corners(mesh, corners, ids, count);
    Points &own = own_points(mesh);
    if (corners == 2) own.cells.edges.insert(own.cells.edges.end(), ids, ids + count);
    if (corners == 3) own.cells.triangles.insert(own.cells.triangles.end(), ids, ids + count);
    for (std::size_t i = 0; corners == 4 && i < count; i += 4) {
        add_quad(own, {ids[i], ids[i + 1], ids[i + 2], ids[i + 3]});
    }
}

void Session::check_corners(const std::string &mesh, std::size_t corners, const int *ids, std::size_t count) {
    own_points(mesh);
    check_ids(mesh, ids, count);
    if (count % corners != 0) {
        throw Error(std::to_string(count) + " vertices are given for cells of the mesh " + quoted(mesh) +
                    ", and each cell has " + std::to_string(corners));
    }
}

bool Session::needs_cells(const std::string &mesh) const {
    check_mesh(mesh);
    return plan_->meshes.at(mesh).has_cells;
}

void Session::write(const DataOnMesh &place, const int *ids, std::size_t count, const double *values) {
    const auto &[data, mesh] = place;
    if (!contains(role_->written, place)) {
        throw Error(quoted(name_) + " does not write " + quoted(data) + " on " + quoted(mesh) +
                    "; see <write-data>");
    }
    check_ids(mesh, ids, count);
    const auto width = static_cast<std::size_t>(plan_->width(data, mesh));
    check_finite(values, count * width, "values of writeData(" + quoted(mesh) + ", " + quoted(data) + ")");
    std::vector<double> &held = buffer(place);
    for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(values + i * width, width, held.begin() + static_cast<std::ptrdiff_t>(width) * ids[i]);
    }
}

void Session::read(const DataOnMesh &place, const int *ids, std::size_t count, double time,
                   double *values) const {
    const auto &[data, mesh] = place;
    check_initialized("readData");
    if (!contains(role_->read, place)) {
        throw Error(quoted(name_) + " does not read " + quoted(data) + " on " + quoted(mesh) +
                    "; see <read-data>");
    }
    check_ids(mesh, ids, count);
    const double left = max_step(), length = window_ ? window_->length() : 0.0;
    if (!(time >= -SLACK * length && time <= left + SLACK * length)) {
        throw Error("readData(" + quoted(mesh) + ", " + quoted(data) + "): the time " + shown(time) +
                    " is not between 0 and " + shown(left) + ", what is left of the window");
    }
    const WindowValues &held = came_.at(place);
    const auto samples = static_cast<double>(held.samples.size());
    const double position = length > 0.0 ? samples * (done_ + time) / length : samples;
    const double after = std::min(std::max(std::ceil(position), 1.0), samples);
    const auto &end = held.samples[static_cast<std::size_t>(after) - 1];
    const auto &begin = after > 1.0 ? held.samples[static_cast<std::size_t>(after) - 2] : held.begin;
    const double share = position - after + 1.0;
    const auto width = static_cast<std::size_t>(plan_->width(data, mesh));
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t c = 0; c < width; ++c) {
            const std::size_t from = static_cast<std::size_t>(ids[i]) * width + c;
            values[i * width + c] = share < 1.0 ? begin[from] + (end[from] - begin[from]) * share : end[from];
        }
    }
}

void Session::check_initialized(const std::string &call) const {
    if (state_ == State::coupling) return;
    throw Error(call + "() was called " + (state_ == State::made ? "before initialize()" : "after finalize()"));
}

const Points &Session::points(const std::string &mesh) const {
    const auto found = points_.find(mesh);
    if (found == points_.end()) {
        throw Error(quoted(name_) + " has no mesh " + quoted(mesh) + "; it has " + listed(names_of(points_)));
    }
    return found->second;
}

Points &Session::own_points(const std::string &mesh) {
    if (state_ != State::made)
        throw Error("the mesh " + quoted(mesh) + " cannot be changed after initialize()");
    const auto &provided = role_->provided;
    if (std::find(provided.begin(), provided.end(), mesh) == provided.end()) {
        throw Error(quoted(name_) + " does not provide the mesh " + quoted(mesh) + "; see <provide-mesh>");
    }
    return points_.at(mesh);
}

void Session::check_ids(const std::string &mesh, const int *ids, std::size_t count) const {
    const int have = static_cast<int>(points(mesh).count());
    const auto beyond = [&](int id) { return id < 0 || id >= have; };
    if (std::any_of(ids, ids + count, beyond)) {
        throw Error("the mesh " + quoted(mesh) + " has " + std::to_string(have) +
                    " vertices, and one of the ids is beyond them");
    }
}

std::vector<double> &Session::buffer(const DataOnMesh &place) {
    std::vector<double> &held = written_[place];
    held.resize(points(place.second).count() *
                static_cast<std::size_t>(plan_->width(place.first, place.second)));
    return held;
}

// The exchanges in which this participant sends: one for all receivers of data on a mesh.
std::vector<const Exchange *> Session::exchanges_from() const {
    std::vector<const Exchange *> found;
    for (const Exchange &one : plan_->exchanges) {
        const auto same = [&](const Exchange *other) { return other->key == one.key; };
        if (one.sender == name_ && std::none_of(found.begin(), found.end(), same)) found.push_back(&one);
    }
    return found;
}

std::vector<const Exchange *> Session::exchanges_to() const {
    std::vector<const Exchange *> found;
    for (const Exchange &one : plan_->exchanges) {
        if (one.receiver == name_) found.push_back(&one);
    }
    return found;
}

void Session::exchange_meshes() {
    for (const auto &mesh : role_->provided) {
        const auto wanted = [&](const auto &other) {
            const auto found = other.second.received.find(mesh);
            return found != other.second.received.end() && found->second == name_;
        };
        if (std::none_of(plan_->roles.begin(), plan_->roles.end(), wanted)) continue;
        send_mesh(points_.at(mesh));
    }
    for (const auto &entry : role_->received) {
        receive_mesh(points_.at(entry.first));
    }
}

// Sends the points of a mesh, or a map with its cells too if a mapping projects on it.
void Session::send_mesh(const Points &own) {
    const MeshKind &kind = plan_->meshes.at(own.mesh);
    const std::string port = "mesh_" + kind.port;
    if (!kind.has_cells) {
        send(port, 0.0, own.coordinates, own.dimensions);
        return;
    }
    const auto cells = [](const std::vector<std::int64_t> &corners, std::size_t each) {
        return ligament::Value(
            ligament::ArrayRef<const std::int64_t>(corners.data(), {corners.size() / each, each}));
    };
    const ligament::ArrayRef<const double> points(own.coordinates.data(), {own.count(), own.dimensions});
    instance_->send(port, 0.0,
                    ligament::Value::map()
                        .set("points", ligament::Value(points))
                        .set("edges", cells(own.cells.edges, 2))
                        .set("triangles", cells(own.cells.triangles, 3)));
}

void Session::receive_mesh(Points &points) {
    const MeshKind &kind = plan_->meshes.at(points.mesh);
    const ligament::Message message = instance_->receive("mesh_" + kind.port);
    if (!kind.has_cells) {
        points.coordinates = message.array<double>().to_vector();
        return;
    }
    const auto data = message.data();
    points.coordinates = data.at("points").array<double>().to_vector();
    points.cells.edges = data.at("edges").array<std::int64_t>().to_vector();
    points.cells.triangles = data.at("triangles").array<std::int64_t>().to_vector();
}

void Session::warn_of_cells(const Mapping &mapping) {
    if (mapping.basis.function != PROJECTION) return;
    const Points &mesh = points(mapping.is_conservative ? mapping.target : mapping.source);
    if (!mesh.cells.edges.empty() || !mesh.cells.triangles.empty()) return;
    instance_->log(ligament::LogLevel::warning,
                   "the mesh " + quoted(mesh.mesh) + " has no edges and no triangles, so the mapping from " +
                       quoted(mapping.source) + " to " + quoted(mapping.target) + " takes nearest vertices");
}

void Session::send(const std::string &port, double time, const std::vector<double> &values, std::size_t width) {
    const ligament::ArrayRef<const double> array(values.data(), {values.size() / width, width});
    instance_->send(port, time, array);
}

// Sends the samples of a window, which are interpolated between the ends of steps.
void Session::send_window(const Exchange &exchange, double time) {
    const auto &steps = steps_.at(exchange.key);
    const auto width = static_cast<std::size_t>(plan_->width(exchange.data, exchange.mesh));
    const std::string port = "write_" + exchange.key;
    if (exchange.samples == 1) {
        send(port, time, steps.back().values, width);
        return;
    }
    const std::size_t all = steps.back().values.size();
    std::vector<double> made;
    made.reserve(exchange.samples * all);
    std::size_t after = std::min<std::size_t>(1, steps.size() - 1);
    for (std::size_t sample = 1; sample <= exchange.samples; ++sample) {
        const double wanted =
            steps.back().time * static_cast<double>(sample) / static_cast<double>(exchange.samples);
        while (after + 1 < steps.size() && steps[after].time < wanted * (1.0 - SLACK)) ++after;
        const Step &one = steps[after > 0 ? after - 1 : 0], &other = steps[after];
        const double length = other.time - one.time;
        const double share = length > 0.0 ? std::min((wanted - one.time) / length, 1.0) : 1.0;
        for (std::size_t i = 0; i < all; ++i) {
            made.push_back(one.values[i] + (other.values[i] - one.values[i]) * share);
        }
    }
    const ligament::ArrayRef<const double> array(made.data(), {exchange.samples, all / width, width});
    instance_->send(port, time, array);
}

void Session::send_clocks(double time) {
    for (const Clock &one : plan_->clocks) {
        if (one.sender == name_) instance_->send("write_" + one.key, time, 0.0);
    }
}

bool Session::maps(const std::string &direction, const std::string &source, const std::string &target) const {
    return std::any_of(role_->mappings.begin(), role_->mappings.end(), [&](const Mapping &one) {
        return one.direction == direction && one.source == source && one.target == target;
    });
}

std::string Session::written_mesh(const Exchange &exchange) const {
    std::string mesh;
    for (const auto &place : role_->written) {
        if (place.first != exchange.data) continue;
        if (place.second == exchange.mesh) return exchange.mesh;
        if (mesh.empty() && maps("write", place.second, exchange.mesh)) mesh = place.second;
    }
    return mesh;
}

std::vector<DataOnMesh> Session::read_places(const Exchange &exchange) const {
    std::vector<DataOnMesh> places;
    for (const auto &place : role_->read) {
        if (place.first != exchange.data) continue;
        if (place.second == exchange.mesh || maps("read", exchange.mesh, place.second)) places.push_back(place);
    }
    return places;
}

std::vector<double> Session::mapped(const Mapping &wanted, const std::vector<double> &values,
                                    std::size_t width) {
    if (wanted.source == wanted.target) return values;
    const auto same = [&](const Mapping &one) {
        return one.direction == wanted.direction && one.source == wanted.source && one.target == wanted.target;
    };
    const auto found = std::find_if(role_->mappings.begin(), role_->mappings.end(), same);
    if (found == role_->mappings.end()) {
        throw Error(quoted(name_) + " needs a " + wanted.direction + " mapping from " + quoted(wanted.source) +
                    " to " + quoted(wanted.target) +
                    ", and has none; add <mapping:nearest-neighbor direction=" + quoted(wanted.direction) +
                    " …>");
    }
    const std::string key = wanted.direction + "\t" + wanted.source + "\t" + wanted.target;
    auto held = weights_.find(key);
    if (held == weights_.end()) {
        warn_of_cells(*found);
        held = weights_.emplace(key, Weights(*found, points(wanted.source), points(wanted.target))).first;
    }
    return held->second.apply(values, width);
}

// The written data, on the mesh of an exchange.
std::vector<double> Session::on_exchange_mesh(const Exchange &exchange) {
    const std::string local = written_mesh(exchange);
    const auto width = static_cast<std::size_t>(plan_->width(exchange.data, exchange.mesh));
    return mapped({"write", local, exchange.mesh, false, {}}, buffer({exchange.data, local}), width);
}

std::vector<double> Session::on_local_mesh(const Exchange &exchange, const std::string &mesh,
                                           const std::vector<double> &values) {
    const auto width = static_cast<std::size_t>(plan_->width(exchange.data, exchange.mesh));
    return mapped({"read", exchange.mesh, mesh, false, {}}, values, width);
}

std::optional<Window> Session::receive() {
    std::optional<Window> window;
    const auto received = exchanges_to();
    if (received.empty()) return receive_clock();
    for (const Exchange *one : received) {
        const ligament::Message message = instance_->receive("read_" + one->key);
        window.reset();
        if (message.has_next_timestamp()) window = Window{message.timestamp(), message.next_timestamp()};
        keep(*one, message);
    }
    return window;
}

std::optional<Window> Session::receive_clock() {
    const auto own = [&](const Clock &one) { return one.receiver == name_; };
    const auto clock = std::find_if(plan_->clocks.begin(), plan_->clocks.end(), own);
    if (clock == plan_->clocks.end()) {
        throw Error(quoted(name_) +
                    " takes part in no <exchange>, so it has no windows; add one, or take the participant out "
                    "of the configuration");
    }
    const ligament::Message message = instance_->receive("read_" + clock->key);
    if (!message.has_next_timestamp()) return std::nullopt;
    return Window{message.timestamp(), message.next_timestamp()};
}

void Session::keep(const Exchange &exchange, const ligament::Message &message) {
    const bool goes_on = window_ && message.timestamp() == window_->begin && message.has_next_timestamp();
    const bool is_second = plan_->is_serial() && plan_->firsts.count(name_) == 0;
    const std::vector<double> values = message.array<double>().to_vector();
    const std::size_t each = values.size() / exchange.samples;
    for (const auto &place : read_places(exchange)) {
        WindowValues &held = came_[place];
        std::vector<std::vector<double>> samples;
        for (std::size_t i = 0; i < exchange.samples; ++i) {
            const auto from = values.begin() + static_cast<std::ptrdiff_t>(i * each);
            const std::vector<double> sample(from, from + static_cast<std::ptrdiff_t>(each));
            samples.push_back(on_local_mesh(exchange, place.second, sample));
        }
        // The second participant gets new values at once. All others first get those of the last window.
        if (!goes_on) held.begin = is_second ? held.samples.back() : samples.back();
        if (!goes_on && !is_second && !plan_->is_implicit()) samples.assign(exchange.samples, held.begin);
        held.samples = std::move(samples);
    }
}

void Session::begin_window(std::optional<Window> window) {
    window_ = window;
    done_ = 0.0;
    saves_ = window_ && plan_->is_implicit();
}

}  // namespace precice::impl
