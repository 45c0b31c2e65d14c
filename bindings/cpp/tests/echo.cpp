// A micro model that takes every value apart, puts it together again, and sends it back.
#include "tree.hpp"

using ligament::Kind, ligament::Operator;

template <class T>
bool rebuilt_array(ValueView value, Value &made) {
    if (value.dtype() != ligament::detail::dtype_of<T>()) return false;
    const auto view = value.array<T>();
    ArrayRef<const T> array(reinterpret_cast<const T *>(view.data()), view.shape(), view.order());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < view.ndim() && !value.array_name(i).empty(); ++i) names.push_back(value.array_name(i));
    if (!names.empty()) array.with_names(names);
    if (const auto unit = value.array_unit()) array.with_unit(*unit);
    made = Value(array);
    return true;
}

template <class... T>
Value rebuilt_array_of(ValueView value, Types<T...>) {
    Value made;
    HOLDS((rebuilt_array<T>(value, made) || ...));
    return made;
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
            for (std::size_t i = 0; i < value.size(); ++i) made.set(std::string(value.key(i)), rebuilt(value.at(i)));
            return made;
        case Kind::array: return rebuilt_array_of(value, AllTypes());
        case Kind::settings: return value.copy();
    }
    return made;
}

int main() {
    ligament::Instance instance({{Operator::F_INIT, {"in"}}, {Operator::O_F, {"out"}}});
    while (instance.reuse_instance()) {
        const ligament::Message message = instance.receive("in");
        instance.send("out", ligament::Message(message.times(), rebuilt(message.data())));
    }
}
