// The driver in C++. It receives messages, rebuilds them, and sends them on; README.md describes the ways. With
// the argument "threads", each port has a thread of its own. The threads take turns with the instance, and read
// their messages at the same time.
#include <ligament/ligament.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

using ligament::ArrayRef, ligament::ArrayView, ligament::Extents, ligament::Instance, ligament::Kind;
using ligament::Message, ligament::Order, ligament::Times, ligament::Value, ligament::ValueView;

// Held by the thread that uses the instance.
static std::mutex turn;

template <class Function>
decltype(auto) in_turn(Function function) {
    const std::lock_guard<std::mutex> lock(turn);
    return function();
}

template <class Data>
void send(Instance &instance, const std::string &out, const Times &times, Data &&data) {
    in_turn([&] { instance.send(out, times, std::forward<Data>(data)); });
}

// Calls `function` with a value of the C++ type for `dtype`.
template <class Function>
void with_type(lig_dtype dtype, Function function) {
    switch (dtype) {
        case LIG_BOOL: return function(bool());
        case LIG_INT8: return function(std::int8_t());
        case LIG_INT16: return function(std::int16_t());
        case LIG_INT32: return function(std::int32_t());
        case LIG_INT64: return function(std::int64_t());
        case LIG_UINT8: return function(std::uint8_t());
        case LIG_UINT16: return function(std::uint16_t());
        case LIG_UINT32: return function(std::uint32_t());
        case LIG_UINT64: return function(std::uint64_t());
        case LIG_FLOAT32: return function(float());
        case LIG_FLOAT64: return function(double());
        case LIG_COMPLEX64: return function(std::complex<float>());
        case LIG_COMPLEX128: return function(std::complex<double>());
        default: throw std::runtime_error("an element type that is unknown");
    }
}

// An array of elements. It replaces std::vector, because a vector of bool has no data().
template <class T>
struct Own {
    std::unique_ptr<T[]> data;
    Extents shape;
    std::size_t count;
    explicit Own(const Extents &extents, std::size_t factor = 1) : shape(extents), count(1) {
        for (const std::size_t extent : shape) count *= factor * extent;
        data = std::make_unique<T[]>(count);
    }
};

// Copies a view's elements to places that are `strides` elements apart.
template <class T>
void spread(const ArrayView<T> &view, T *to, const std::vector<std::size_t> &strides) {
    std::vector<std::size_t> index(view.ndim());
    for (std::size_t left = view.size(); left > 0; --left) {
        std::int64_t from = 0;
        std::size_t into = 0;
        for (std::size_t i = 0; i < index.size(); ++i) {
            from += static_cast<std::int64_t>(index[i]) * view.stride(i);
            into += index[i] * strides[i];
        }
        std::memcpy(static_cast<void *>(to + into), static_cast<const char *>(view.raw().data) + from,
                    sizeof(T));
        for (std::size_t i = index.size(); i-- > 0;) {
            if (++index[i] < view.extent(i)) break;
            index[i] = 0;
        }
    }
}

// Returns the distance between neighbours in each dimension, in elements.
std::vector<std::size_t> steps(const Extents &shape, Order order, std::size_t factor = 1) {
    std::vector<std::size_t> strides(shape.size());
    std::size_t step = 1;
    for (std::size_t n = 0; n < shape.size(); ++n) {
        const std::size_t i = order == Order::row_major ? shape.size() - 1 - n : n;
        strides[i] = factor * step;
        step *= factor * shape[i];
    }
    return strides;
}

template <class T>
Own<T> copied(const ArrayView<T> &view) {
    Own<T> own(view.shape());
    spread(view, own.data.get(), steps(view.shape(), view.order()));
    return own;
}

Value rebuilt(ValueView value) {
    Value made;
    switch (value.kind()) {
        case Kind::none: return nullptr;
        case Kind::boolean: return value.as<bool>();
        case Kind::integer: return value.as<std::int64_t>();
        case Kind::large_integer: return value.as<std::uint64_t>();
        case Kind::number: return value.as<double>();
        case Kind::complex: return value.as<std::complex<double>>();
        case Kind::string: return value.as<std::string>();
        case Kind::bytes: return value.as<ligament::Bytes>();
        case Kind::list:
            made = Value::list();
            for (std::size_t i = 0; i < value.size(); ++i) made.append(rebuilt(value.at(i)));
            return made;
        case Kind::map:
            made = Value::map();
            for (std::size_t i = 0; i < value.size(); ++i)
                made.set(std::string(value.key(i)), rebuilt(value.at(i)));
            return made;
        case Kind::array:
            with_type(value.dtype(), [&](auto element) {
                const auto view = value.array<decltype(element)>();
                const auto own = copied(view);
                ArrayRef<const decltype(element)> array(own.data.get(), own.shape, view.order());
                std::vector<std::string> names;
                for (std::size_t i = 0; i < view.ndim(); ++i) names.push_back(value.array_name(i));
                if (!names.empty() && !names[0].empty()) array.with_names(names);
                if (const auto unit = value.array_unit()) array.with_unit(*unit);
                made = Value(array);
            });
            return made;
        case Kind::settings: break;
    }
    throw std::runtime_error("settings, where a value was to come");
}

template <class T>
Value as_list(const std::vector<T> &items) {
    Value list = Value::list();
    for (const auto &item : items) {
        if constexpr (std::is_arithmetic_v<T>) list.append(item);
        else list.append(as_list(item));
    }
    return list;
}

Value setting(Instance &instance, const std::string &name, const std::string &type) {
    if (type == "bool") return instance.get_setting_as<bool>(name);
    if (type == "int") return instance.get_setting_as<std::int64_t>(name);
    if (type == "float") return instance.get_setting_as<double>(name);
    if (type == "string") return instance.get_setting_as<std::string>(name);
    if (type == "int_list") return as_list(instance.get_setting_as<std::vector<std::int64_t>>(name));
    if (type == "float_list") return as_list(instance.get_setting_as<std::vector<double>>(name));
    return as_list(instance.get_setting_as<std::vector<std::vector<double>>>(name));
}

// Makes the wrong call, and returns the name of the status and the text of the error.
Value mistake(Instance &instance, const std::string &call, const std::string &port, const std::string &out) {
    std::vector<double> five(5);
    std::vector<std::int32_t> integers(3);
    const std::map<std::string, std::function<void()>> calls{
        {"send_unknown_port", [&] { instance.send("nowhere", 0.0, nullptr); }},
        {"receive_unknown_port", [&] { instance.receive("nowhere"); }},
        {"send_on_receiving_port", [&] { instance.send(port, 0.0, nullptr); }},
        {"setting_unset", [&] { instance.get_setting_as<double>("absent"); }},
        {"setting_type", [&] { instance.get_setting_as<double>("text"); }},
        {"into_wrong_shape", [&] { instance.receive_into(port, five); }},
        {"into_wrong_type", [&] { instance.receive_into(port, integers); }},
        {"array_wrong_shape", [&] { const Message came = instance.receive(port); came.array<double>({4}); }},
        {"array_wrong_type", [&] { const Message came = instance.receive(port); came.array<std::int32_t>(); }},
        {"send_not_a_time", [&] { instance.send(out, std::nan(""), nullptr); }},
    };
    try {
        calls.at(call)();
    } catch (const ligament::Error &error) {
        return Value::map().set("status", lig_status_name(error.status())).set("text", error.what());
    }
    return Value::map().set("status", "none").set("text", "");
}

std::string text(ValueView how, const char *key) { return how.at(key).as<std::string>(); }

// Sends a rebuilt message in the way that the case asks for.
void send_made(Instance &instance, const std::string &out, ValueView how, const Message &message) {
    const std::string way = text(how, "way");
    if (way == "value" || way == "any") return send(instance, out, message.times(), rebuilt(message.data()));
    if (way == "default") {
        const Message otherwise =
            in_turn([&] { return instance.receive("nothing", Message(0.0, "nothing came")); });
        Value both =
            Value::map().set("came", rebuilt(message.data())).set("otherwise", rebuilt(otherwise.data()));
        return send(instance, out, message.times(), both);
    }
    if (way == "setting") {
        const Value value = in_turn([&] { return setting(instance, text(how, "name"), text(how, "type")); });
        return send(instance, out, message.times(), value);
    }
    with_type(message.data().dtype(), [&](auto element) {
        using T = decltype(element);
        const auto view = message.array<T>();
        if (way == "strided") {
            const Own<T> roomy(view.shape(), 2);
            const auto strides = steps(view.shape(), Order::row_major, 2);
            spread(view, roomy.data.get(), strides);
            std::vector<std::int64_t> bytes;
            for (const std::size_t stride : strides)
                bytes.push_back(static_cast<std::int64_t>(stride * sizeof(T)));
            send(instance, out, message.times(),
                 ArrayRef<const T>(roomy.data.get(), view.shape()).with_strides(bytes));
        } else if (way == "loan") {
            auto loan = in_turn([&] { return instance.loan<T>(view.shape(), view.order()); });
            spread(view, loan.data(), steps(view.shape(), view.order()));
            send(instance, out, message.times(), std::move(loan));
        } else {
            const auto own = copied(view);
            send(instance, out, message.times(), ArrayRef<const T>(own.data.get(), own.shape, view.order()));
        }
    });
}

// Receives into an array of this program, and sends the array.
void pass_into(Instance &instance, const std::string &port, const std::vector<std::string> &outs,
               ValueView how) {
    lig_dtype dtype = LIG_BOOL;
    while (text(how, "dtype") != lig_dtype_name(dtype)) dtype = static_cast<lig_dtype>(dtype + 1);
    std::vector<std::size_t> extents;
    for (std::size_t i = 0; i < how.at("shape").size(); ++i)
        extents.push_back(how.at("shape").at(i).as<std::size_t>());
    const Order order = text(how, "order") == "F" ? Order::column_major : Order::row_major;
    with_type(dtype, [&](auto element) {
        const Own<decltype(element)> own{Extents(extents)};
        const ArrayRef<decltype(element)> array(own.data.get(), own.shape, order);
        const Times times = in_turn([&] { return instance.receive_into(port, array); });
        for (const auto &out : outs) send(instance, out, times, array);
    });
}

// Receives on a port, and sends on each `O_F` port that belongs to this port.
void pass(Instance &instance, const std::string &port, const std::vector<std::string> &outs, ValueView how) {
    const std::string way = text(how, "way");
    if (way == "into") return pass_into(instance, port, outs, how);
    if (way == "error") {
        const std::string call = text(how, "call");
        const Value answer = in_turn([&] {
            if (call.rfind("into_", 0) != 0 && call.rfind("array_", 0) != 0) instance.receive(port);
            return mistake(instance, call, port, outs.at(0));
        });
        for (const auto &out : outs) send(instance, out, 0.0, answer);
        return;
    }
    const Message message = in_turn([&] {
        return way == "any"       ? instance.receive_any({port}).second
               : way == "default" ? instance.receive(port, Message(0.0, nullptr))
                                  : instance.receive(port);
    });
    for (const auto &out : outs) send_made(instance, out, how, message);
}

int main(int argc, char **argv) {
    const bool in_threads = argc > 1 && std::string(argv[1]) == "threads";
    Instance instance;
    auto ports = instance.list_ports();
    const auto receiving = ports[ligament::Operator::F_INIT], sending = ports[ligament::Operator::O_F];
    while (instance.reuse_instance()) {
        const Message told = instance.receive("how");
        std::vector<std::thread> threads;
        for (const auto &port : receiving) {
            if (port == "how") continue;
            std::vector<std::string> outs;
            for (const auto &out : sending) {
                if (out.rfind(port + "_", 0) == 0) outs.push_back(out);
            }
            const auto job = [&instance, &told, &port, outs] { pass(instance, port, outs, told.data()); };
            if (in_threads) {
                threads.emplace_back(job);
            } else {
                job();
            }
        }
        for (std::thread &thread : threads) thread.join();
    }
}
