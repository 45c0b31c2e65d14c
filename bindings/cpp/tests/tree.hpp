// One value that contains every kind of value, the same as in the C tests: builds it and checks it.
#ifndef TREE_HPP
#define TREE_HPP

#include "check.hpp"

using namespace std::string_literals;
using ligament::ArrayRef, ligament::Value, ligament::ValueView;

// Two elements whose bytes all have the number of the type.
template <class T>
struct Pattern {
    T elements[2];
    Pattern() {
        const int dtype = ligament::detail::dtype_of<T>();
        std::memset(static_cast<void *>(elements), dtype == LIG_BOOL ? 1 : dtype, sizeof elements);
    }
    static std::string key() {
        return "array " + std::to_string(static_cast<int>(ligament::detail::dtype_of<T>()));
    }
};

template <class... T>
struct Types {};
using AllTypes = Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>>;

template <class... T>
void put_arrays(Value &map, Types<T...>) {
    (map.set(Pattern<T>::key(), Value(ArrayRef<const T>(Pattern<T>().elements, {2}))), ...);
}

template <class T>
void check_array(ValueView value) {
    const Pattern<T> wanted;
    const auto view = value.array<T>();
    HOLDS(view.size() == 2 && view.ndim() == 1 && view.contiguous());
    HOLDS(std::memcmp(view.data(), wanted.elements, sizeof wanted.elements) == 0);
}

template <class... T>
void check_arrays(ValueView map, Types<T...>) {
    (check_array<T>(map.at(Pattern<T>::key())), ...);
}

inline Value build_tree() {
    const char bytes[] = {0, 1, '\377'};
    Value map = Value::map().set(
        "list", Value::list(nullptr, true, std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::uint64_t>::max(), -0.1, std::complex<double>(1.5, -2.5),
                            "Größe\0x"s, ligament::Bytes{bytes, 3}, Value::list(), Value::map()));
    put_arrays(map, AllTypes());
    const double grid[] = {0, 1, 2, 3, 4, 5};
    map.set("grid",
            ArrayRef(grid, {3, 2}, ligament::Order::column_major).with_names({"x", "y"}).with_unit("mol/m³"));
    return map;
}

inline void check_tree(ValueView map) {
    const ValueView list = map.at("list");
    HOLDS(list.size() == 10);
    HOLDS(list.at(0).is_none());
    HOLDS(list.at(1).as<bool>());
    HOLDS(list.at(2).as<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
    throws<ligament::UnexpectedError>("does not fit", [&] { list.at(2).as<std::int32_t>(); });
    HOLDS(list.at(3).as<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
    throws<ligament::UnexpectedError>("does not fit", [&] { list.at(3).as<std::int64_t>(); });
    HOLDS(list.at(4).as<double>() == -0.1);
    HOLDS(list.at(5).as<std::complex<double>>() == std::complex<double>(1.5, -2.5));
    HOLDS(list.at(6).as<std::string>() == "Größe\0x"s);
    const auto bytes = list.at(7).as<ligament::Bytes>();
    HOLDS(bytes.size == 3 && std::memcmp(bytes.data, "\0\1\377", 3) == 0);
    HOLDS(list.at(8).kind() == ligament::Kind::list && list.at(8).size() == 0);
    HOLDS(list.at(9).kind() == ligament::Kind::map);
    throws<ligament::UsageError>("no item 10", [&] { list.at(10); });

    check_arrays(map, AllTypes());
    throws<ligament::UnexpectedError>("where an array of float64 was expected",
                                      [&] { map.at("array 2").array<double>(); });
    HOLDS(!map.at("array 2").array_unit());
    const ValueView grid = map.at("grid");
    const auto view = grid.array<double>();
    HOLDS(view.shape() == ligament::Extents{3, 2} && view.order() == ligament::Order::column_major);
    HOLDS(view(1, 0) == 1 && view.at(2, 1) == 5 && view[3] == 3);
    HOLDS(view.to_vector() == std::vector<double>{0, 3, 1, 4, 2, 5});
    throws<std::out_of_range>("index 3 of dimension 0", [&] { view.at(3, 0); });
    throws<std::out_of_range>("1 indices", [&] { view.at(0); });
    HOLDS(grid.array_name(1) == "y" && grid.array_unit() == "mol/m³");
    throws<ligament::UnexpectedError>("no key \"absent\"", [&] { map.at("absent"); });
    HOLDS(!map.find("absent") && map.key(0) == "list");
}

#endif
