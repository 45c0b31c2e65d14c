// Parts of the calls of the modules `libmuscle` and `libmuscle_mpi`.
#ifndef LIGAMENT_FACE_FORTRAN_LIBMUSCLE_CALLS_HPP
#define LIGAMENT_FACE_FORTRAN_LIBMUSCLE_CALLS_HPP

#include <limits>
#include <libmuscle/libmuscle.hpp>

#include "calls.hpp"

namespace face_fortran {

using libmuscle::Data;
using libmuscle::DataConstRef;
using libmuscle::Instance;
using libmuscle::InstanceFlags;
using libmuscle::Message;
using libmuscle::Optional;
using libmuscle::PortsDescription;
using libmuscle::StorageOrder;
using ymmsl::Operator;
using ymmsl::Settings;

template <class T>
bool value_is(DataConstRef const &data) {
    return data.is_a<T>();
}

// `char` has no sign on some machines.
template <>
inline bool value_is<std::int8_t>(DataConstRef const &data) {
    return data.is_a<int>();
}

// A value of this type. Throws std::runtime_error if the data is something else, or does not fit.
template <class T>
T value_as(DataConstRef const &data) {
    return data.as<T>();
}

template <>
inline std::int8_t value_as<std::int8_t>(DataConstRef const &data) {
    int const number = data.as<int>();
    if (number < std::numeric_limits<std::int8_t>::min() || number > std::numeric_limits<std::int8_t>::max()) {
        throw std::runtime_error("the data is the integer " + std::to_string(number) +
                                 ", which does not fit the type of 8 bits that was asked for");
    }
    return static_cast<std::int8_t>(number);
}

template <class Type, class T>
Type grid(Array<T> const &array, std::vector<std::string> const &names) {
    return Type::grid(array.elements, array.shape, names, StorageOrder::first_adjacent);
}

// Copies the elements of a grid to the caller's array. Throws std::runtime_error if the grid has other
// elements, or another shape.
template <class T>
void give_elements(DataConstRef const &grid, Array<T> const &array) {
    T const *const elements = grid.elements<T>();
    auto const shape = grid.shape();
    if (shape != array.shape) {
        throw std::runtime_error("the grid has the shape " + shown(shape) + ", but the array has " +
                                 shown(array.shape));
    }
    std::size_t const size = array.size();
    if (grid.storage_order() == StorageOrder::first_adjacent) {
        std::copy(elements, elements + size, array.elements);
        return;
    }
    // The last index of the grid runs fastest: `index` counts in that order, and `at` is its place in Fortran.
    std::vector<std::size_t> index(shape.size()), step(shape.size(), 1);
    for (std::size_t axis = 1; axis < shape.size(); ++axis) step[axis] = step[axis - 1] * shape[axis - 1];
    std::size_t at = 0;
    for (std::size_t number = 0; number < size; ++number) {
        array.elements[at] = elements[number];
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            at += step[axis];
            if (++index[axis] < shape[axis]) break;
            at -= step[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

inline std::vector<char> bytes_of(DataConstRef const &data) {
    char const *const bytes = data.as_byte_array();
    return {bytes, bytes + data.size()};
}

inline Data byte_array(std::vector<char> const &bytes) {
    Data made = Data::byte_array(bytes.size());
    std::copy(bytes.begin(), bytes.end(), made.as_byte_array());
    return made;
}

// An item of a list, by number from 1. Throws std::runtime_error if this is no list, std::out_of_range if it
// is too short.
template <class Type>
Type item(Type &data, std::size_t number) {
    if (!data.is_a_list()) return data[std::size_t{0}];  // says what the data is
    return data[position(number, data.size(), "list")];
}

// The number of entries of a dict. Throws std::runtime_error if this is no dict.
inline std::size_t entries(DataConstRef const &data) {
    if (!data.is_a_dict()) data.key(0);  // says what the data is
    return data.size();
}

inline std::string index_of(DataConstRef const &grid, std::size_t number) {
    auto const names = grid.indexes();
    return names[position(number, names.size(), "names of the grid's indexes")];
}

// Throws std::domain_error if there is no such operator of a port.
inline Operator operator_of(int number) {
    auto const found = static_cast<Operator>(number);
    if (!ymmsl::allows_sending(found) && !ymmsl::allows_receiving(found)) {
        throw std::domain_error(
            "a port has one of the operators YMMSL_Operator_F_INIT, _O_I, _S and _O_F, not " +
            std::to_string(number));
    }
    return found;
}

inline std::vector<std::string> ports_of(PortsDescription const &ports, int number) {
    auto const found = ports.find(operator_of(number));
    return found == ports.end() ? std::vector<std::string>() : found->second;
}

inline std::string port_of(PortsDescription const &ports, int op, std::size_t number) {
    auto const names = ports_of(ports, op);
    return names[position(number, names.size(), "description of ports")];
}

// The instance of a program with these words on its command line.
template <class... Ranks>
Instance instance_of(std::vector<std::string> const &words, PortsDescription const *ports, int flags,
                     Ranks... ranks) {
    std::vector<char const *> pointers;
    for (std::string const &word : words) pointers.push_back(word.c_str());
    pointers.push_back(nullptr);
    auto const set = static_cast<InstanceFlags>(flags);
    int const count = static_cast<int>(words.size());
    if (!ports) return Instance(count, pointers.data(), set, ranks...);
    return Instance(count, pointers.data(), *ports, set, ranks...);
}

}  // namespace face_fortran

#endif
