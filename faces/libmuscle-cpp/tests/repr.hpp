// Values as the records of faces/libmuscle-python/tests/programs/record.py show them: as Python writes them.
#ifndef SHOWN_HPP
#define SHOWN_HPP

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <libmuscle/libmuscle.hpp>
#include <string>
#include <vector>

inline std::string repr(bool value) { return value ? "True" : "False"; }
inline std::string repr(std::int64_t value) { return std::to_string(value); }
inline std::string repr(std::string const &text) { return "'" + text + "'"; }

inline std::string repr(double value) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    char text[40];
    if (std::floor(value) == value && std::fabs(value) < 1e16) {
        std::snprintf(text, sizeof text, "%.1f", value);
        return text;
    }
    for (int digits = 1; digits < 18; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (std::strtod(text, nullptr) == value) break;
    }
    return text;
}

template <class T>
std::string repr(std::vector<T> const &items) {
    std::string text;
    for (auto const &item : items) text += (text.empty() ? "" : ", ") + repr(item);
    return "[" + text + "]";
}

inline std::string repr(ymmsl::SettingValue const &value) {
    if (value.is_a<std::string>()) return repr(value.as<std::string>());
    if (value.is_a<std::int64_t>()) return repr(value.as<std::int64_t>());
    if (value.is_a<double>()) return repr(value.as<double>());
    if (value.is_a<bool>()) return repr(value.as<bool>());
    if (value.is_a<std::vector<std::int64_t>>()) return repr(value.as<std::vector<std::int64_t>>());
    if (value.is_a<std::vector<double>>()) return repr(value.as<std::vector<double>>());
    return repr(value.as<std::vector<std::vector<double>>>());
}

inline std::string repr(ymmsl::Settings const &settings) {
    std::vector<std::string> entries;
    for (auto const &one : settings) {
        entries.push_back("(" + repr(static_cast<std::string>(one.first)) + ", " + repr(one.second) + ")");
    }
    std::sort(entries.begin(), entries.end());
    std::string text;
    for (auto const &entry : entries) text += (text.empty() ? "" : ", ") + entry;
    return "Settings([" + text + "])";
}

// The elements of a grid from a dimension on, as nested lists; `at` is the number of the first of them.
template <class T>
std::string elements(libmuscle::DataConstRef const &grid, std::size_t axis, std::size_t at) {
    auto const shape = grid.shape();
    if (axis == shape.size()) {
        T const element = grid.elements<T>()[at];
        if (std::is_same<T, bool>::value) return repr(element != T());
        if (std::is_floating_point<T>::value) return repr(static_cast<double>(element));
        return repr(static_cast<std::int64_t>(element));
    }
    std::size_t step = 1;
    bool const first = grid.storage_order() == libmuscle::StorageOrder::first_adjacent;
    for (std::size_t other = 0; other < shape.size(); ++other) {
        if (first ? other < axis : other > axis) step *= shape[other];
    }
    std::string text;
    for (std::size_t i = 0; i < shape[axis]; ++i) {
        text += (i > 0 ? ", " : "") + elements<T>(grid, axis + 1, at + i * step);
    }
    return "[" + text + "]";
}

template <class T>
std::string shown_grid(libmuscle::DataConstRef const &grid, std::string const &type) {
    std::string shape;
    for (std::size_t const extent : grid.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    if (grid.shape().size() == 1) shape += ",";
    bool const first = grid.storage_order() == libmuscle::StorageOrder::first_adjacent;
    return "Grid(" + type + " (" + shape + ") " + (first ? "F " : "C ") + elements<T>(grid, 0, 0) + " " +
           (grid.has_indexes() ? repr(grid.indexes()) : "None") + ")";
}

inline std::string repr(libmuscle::DataConstRef const &data) {
    if (data.is_nil()) return "None";
    if (data.is_a<bool>()) return repr(data.as<bool>());
    if (data.is_a<std::int64_t>()) return repr(data.as<std::int64_t>());
    if (data.is_a<double>()) return repr(data.as<double>());
    if (data.is_a<std::string>()) return repr(data.as<std::string>());
    if (data.is_a<ymmsl::Settings>()) return repr(data.as<ymmsl::Settings>());
    if (data.is_a_byte_array()) return "b'" + std::string(data.as_byte_array(), data.size()) + "'";
    if (data.is_a_grid_of<std::int32_t>()) return shown_grid<std::int32_t>(data, "int32");
    if (data.is_a_grid_of<std::int64_t>()) return shown_grid<std::int64_t>(data, "int64");
    if (data.is_a_grid_of<float>()) return shown_grid<float>(data, "float32");
    if (data.is_a_grid_of<double>()) return shown_grid<double>(data, "float64");
    if (data.is_a_grid_of<bool>()) return shown_grid<bool>(data, "bool");
    std::vector<std::string> items;
    for (std::size_t i = 0; i < data.size(); ++i) {
        items.push_back(data.is_a_list() ? repr(data[i]) : data.key(i) + ": " + repr(data.value(i)));
    }
    if (data.is_a_dict()) std::sort(items.begin(), items.end());
    std::string text;
    for (auto const &item : items) text += (text.empty() ? "" : ", ") + item;
    return data.is_a_list() ? "[" + text + "]" : "{" + text + "}";
}

#endif
