// MUSCLE 2's calls in C++ over an instance of Ligament.
#include "muscle2/cppmuscle.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "session.hpp"

namespace muscle {

namespace {

// Variables in which MPIs and their launchers give a process its rank.
constexpr const char *RANKS[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"};

bool is_first_rank() {
    for (const char *name : RANKS) {
        if (const char *rank = std::getenv(name)) return std::atoi(rank) == 0;
    }
    return true;
}

[[noreturn]] void no_complex(const char *call) {
    throw muscle_exception(std::string(call) +
                           " of MUSCLE_COMPLEX is not there; send the array as MUSCLE_DOUBLE, or another type");
}

template <class T>
void send_array(Session &session, const std::string &port, ligament::Times times,
                std::pair<const void *, size_t> data) {
    const auto *elements = static_cast<const T *>(data.first);
    session.instance.send(port, times, ligament::ArrayRef<const T>(elements, {data.second}));
}

// A place for received elements: that of the caller with its room, or null.
struct Room {
    void *data;
    size_t count;
};

// Copies elements into a room, or into new memory if there is none. Sets `count` to their number.
void *placed(const std::string &port, Room room, std::pair<const void *, size_t> bytes, size_t width,
             size_t &count) {
    const size_t found = bytes.second / width;
    if (room.data != nullptr && found > room.count) {
        throw muscle_exception("the message on port " + port + " has " + std::to_string(found) +
                               " elements, and there is room for " + std::to_string(room.count) +
                               "; give more room, or NULL");
    }
    void *to = room.data != nullptr ? room.data : std::malloc(bytes.second > 0 ? bytes.second : 1);
    if (to == nullptr) throw muscle_exception("there is no memory for a message on port " + port);
    if (bytes.second > 0) std::memcpy(to, bytes.first, bytes.second);
    count = found;
    return to;
}

template <class T>
void *array_of(const std::string &port, const ligament::Message &message, Room room, size_t &count) {
    const std::vector<T> elements = message.as<std::vector<T>>();
    return placed(port, room, {elements.data(), elements.size() * sizeof(T)}, sizeof(T), count);
}

void *truths_of(const std::string &port, const ligament::Message &message, Room room, size_t &count) {
    std::vector<unsigned char> bytes;
    for (const bool truth : message.as<std::vector<bool>>()) bytes.push_back(truth ? 1 : 0);
    return placed(port, room, {bytes.data(), bytes.size()}, sizeof(bool), count);
}

void *text_of(const std::string &port, const ligament::Message &message, Room room, size_t &count) {
    const std::string text = message.as<std::string>();
    return placed(port, room, {text.c_str(), text.size() + 1}, 1, count);
}

void *bytes_of(const std::string &port, const ligament::Message &message, Room room, size_t &count) {
    const void *data;
    size_t size;
    if (lig_value_bytes(message.data().raw(), &data, &size, nullptr) != LIG_OK) {
        throw muscle_exception("the message on port " + port + " is not raw bytes; send it as MUSCLE_RAW");
    }
    return placed(port, room, {data, size}, 1, count);
}

ligament::LogLevel level_of(muscle_loglevel_t level) {
    switch (level) {
        case MUSCLE_LOG_SEVERE: return ligament::LogLevel::error;
        case MUSCLE_LOG_WARNING: return ligament::LogLevel::warning;
        case MUSCLE_LOG_INFO:
        case MUSCLE_LOG_CONFIG: return ligament::LogLevel::info;
        default: return ligament::LogLevel::debug;
    }
}

void log_line(muscle_loglevel_t level, const char *format, std::va_list arguments) {
    std::va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length < 0) return;
    std::vector<char> text(static_cast<size_t>(length) + 1);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    if (Session::slot() && env::is_main_processor) {
        guarded([&] { Session::slot()->instance.log(level_of(level), text.data()); });
    } else {
        std::fprintf(stderr, "%s\n", text.data());
    }
}

}  // namespace

bool env::is_main_processor = true;

muscle_error_t env::init(int *, char ***) {
    is_main_processor = is_first_rank();
    if (!is_main_processor) return MUSCLE_SUCCESS;
    if (Session::slot()) throw muscle_exception("init is called twice; call it once, before all other calls");
    guarded([] {
        auto session = std::make_unique<Session>();
        if (!session->instance.reuse_instance()) {
            throw muscle_exception("the conduits of the F_INIT ports have ended before the first message");
        }
        Session::slot() = std::move(session);
    });
    return MUSCLE_SUCCESS;
}

void env::finalize() {
    if (!is_main_processor) return;
    Session &session = Session::current("finalize");
    guarded([&] { session.instance.finish(); });
    Session::slot().reset();
}

bool env::will_stop() {
    Session &session = Session::current("will_stop");
    return guarded([&] { return session.times().will_stop(); });
}

void env::send(std::string entrance_name, const void *data, size_t count, muscle_datatype_t type) {
    if (!is_main_processor) return;
    Session &session = Session::current("send");
    const std::string port = in_model(entrance_name);
    guarded([&] {
        const auto [now, next] = session.times().sent(port);
        const ligament::Times times(now, next);
        switch (type) {
            case MUSCLE_DOUBLE: return send_array<double>(session, port, times, {data, count});
            case MUSCLE_FLOAT: return send_array<float>(session, port, times, {data, count});
            case MUSCLE_INT32: return send_array<std::int32_t>(session, port, times, {data, count});
            case MUSCLE_INT64: return send_array<std::int64_t>(session, port, times, {data, count});
            case MUSCLE_BOOLEAN: return send_array<bool>(session, port, times, {data, count});
            case MUSCLE_STRING:
                return session.instance.send(port, times, std::string(static_cast<const char *>(data)));
            case MUSCLE_RAW: return session.instance.send(port, times, ligament::Bytes{data, count});
            case MUSCLE_COMPLEX: no_complex("send");
        }
        throw muscle_exception("there is no type of MUSCLE with the number " + std::to_string(type));
    });
}

void env::sendDoubleVector(std::string entrance_name, const std::vector<double> &data) {
    send(std::move(entrance_name), data.data(), data.size(), MUSCLE_DOUBLE);
}

void *env::receive(std::string exit_name, void *data, size_t &count, muscle_datatype_t type) {
    if (!is_main_processor) return nullptr;
    Session &session = Session::current("receive");
    const std::string port = in_model(exit_name);
    return guarded([&]() -> void * {
        if (type == MUSCLE_COMPLEX) no_complex("receive");
        const ligament::Message message = session.instance.receive(port);
        session.times().received(port, message.timestamp(), message.times().next_timestamp);
        const Room room{data, count};
        switch (type) {
            case MUSCLE_DOUBLE: return array_of<double>(port, message, room, count);
            case MUSCLE_FLOAT: return array_of<float>(port, message, room, count);
            case MUSCLE_INT32: return array_of<std::int32_t>(port, message, room, count);
            case MUSCLE_INT64: return array_of<std::int64_t>(port, message, room, count);
            case MUSCLE_BOOLEAN: return truths_of(port, message, room, count);
            case MUSCLE_STRING: return text_of(port, message, room, count);
            case MUSCLE_RAW: return bytes_of(port, message, room, count);
            case MUSCLE_COMPLEX: break;
        }
        throw muscle_exception("there is no type of MUSCLE with the number " + std::to_string(type));
    });
}

std::vector<double> env::receiveDoubleVector(std::string exit_name) {
    size_t count = 0;
    auto *data = static_cast<double *>(receive(std::move(exit_name), nullptr, count, MUSCLE_DOUBLE));
    if (data == nullptr) return {};
    std::vector<double> made(data, data + count);
    free_data(data, MUSCLE_DOUBLE);
    return made;
}

void env::free_data(void *data, muscle_datatype_t) { std::free(data); }

std::string env::get_tmp_path() {
    Session::current("get_tmp_path");
    std::vector<char> path(4096);
    while (getcwd(path.data(), path.size()) == nullptr) {
        if (errno != ERANGE) throw muscle_exception("the working directory is not there", errno);
        path.resize(2 * path.size());
    }
    return path.data();
}

bool env::has_next(std::string exit_name) {
    Session &session = Session::current("has_next");
    return guarded([&] { return session.instance.has_next(in_model(exit_name)); });
}

std::string cxa::kernel_name() { return Session::current("kernel_name").instance.name(); }

std::string cxa::get_property(std::string name) {
    Session &session = Session::current("get_property");
    const auto found = guarded([&] { return session.setting(name); });
    if (!found) throw muscle_exception("there is no setting " + name + "; give it in the model file");
    return *found;
}

bool cxa::has_property(std::string name) {
    Session &session = Session::current("has_property");
    return guarded([&] { return session.setting(name).has_value(); });
}

std::string cxa::get_properties() {
    Session &session = Session::current("get_properties");
    return guarded([&] {
        std::string all;
        for (const std::string &name : session.instance.list_settings()) {
            all += name + " = " + session.setting(name).value_or("") + "\n";
        }
        return all;
    });
}

#define LIGAMENT_MUSCLE2_LOG(level)            \
    std::va_list arguments;                    \
    va_start(arguments, message);              \
    log_line(level, message, arguments);       \
    va_end(arguments)

void logger::log_message(muscle_loglevel_t level, const char *message, ...) { LIGAMENT_MUSCLE2_LOG(level); }
void logger::severe(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_SEVERE); }
void logger::warning(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_WARNING); }
void logger::info(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_INFO); }
void logger::config(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_CONFIG); }
void logger::fine(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_FINE); }
void logger::finer(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_FINER); }
void logger::finest(const char *message, ...) { LIGAMENT_MUSCLE2_LOG(MUSCLE_LOG_FINEST); }

}  // namespace muscle
