// Data of messages: nil, truth values, numbers, texts, bytes, grids, settings, and lists and dicts of them.
#ifndef LIGAMENT_FACE_LIBMUSCLE_DATA_HPP
#define LIGAMENT_FACE_LIBMUSCLE_DATA_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ymmsl/ymmsl.hpp"

namespace libmuscle {

namespace face {
struct Node;
struct Access;
}  // namespace face

// The index of a grid along which neighbours lie next to each other in memory: the first one as in Fortran, or
// the last one as in C.
enum class StorageOrder { first_adjacent, last_adjacent };

// Data for reading. Copies refer to the same data, which lives as long as one of them.
class DataConstRef {
public:
    // Nil.
    DataConstRef();
    DataConstRef(bool value);
    DataConstRef(char const *value);
    DataConstRef(std::string const &value);
    DataConstRef(int value);
    DataConstRef(long value);
    DataConstRef(long long value);
    DataConstRef(unsigned int value);
    DataConstRef(unsigned long value);
    DataConstRef(unsigned long long value);
    DataConstRef(float value);
    DataConstRef(double value);
    DataConstRef(::ymmsl::SettingValue const &value);
    DataConstRef(::ymmsl::Settings const &settings);

    DataConstRef(DataConstRef const &) = default;
    DataConstRef(DataConstRef &&) = default;
    DataConstRef &operator=(DataConstRef const &) = delete;
    DataConstRef &operator=(DataConstRef &&) = delete;

    // A grid: a copy of `data`, which has as many elements as the product of `shape` says. The elements are
    // std::int32_t, std::int64_t, float, double or bool. `indexes` has a name for each dimension, or is empty.
    // Throws std::runtime_error if the numbers of names and dimensions differ.
    template <typename Element>
    static DataConstRef grid(Element const *data, std::vector<std::size_t> const &shape,
                             std::vector<std::string> const &indexes = {},
                             StorageOrder storage_order = StorageOrder::last_adjacent);
    // A dict of keys and values in turn: dict("a", 1, "b", 2.0).
    template <typename... Items>
    static DataConstRef dict(Items const &...items);
    // A list of these items.
    template <typename... Items>
    static DataConstRef list(Items const &...items);
    // A list of so many nils.
    static DataConstRef nils(std::size_t size);

    // Refers to the data of another one from now on.
    void reseat(DataConstRef const &target) { node_ = target.node_; }

    // True if this is a T: bool, std::string, an integer type or char (an integer; for unsigned types, one of
    // at least 0), double, float (a number that a float can hold), SettingValue, or Settings.
    template <typename T>
    bool is_a() const;
    bool is_nil() const;
    bool is_a_dict() const;
    bool is_a_list() const;
    template <typename Element>
    bool is_a_grid_of() const;
    bool is_a_byte_array() const;

    // The value as one of the types of is_a. Throws std::runtime_error if it is something else, or an integer
    // that does not fit.
    template <typename T>
    T as() const;
    // The number of items of a list or dict, of elements of a grid, or of bytes. Throws std::runtime_error.
    std::size_t size() const;
    // The bytes, valid as long as the data. Throws std::runtime_error if there are none.
    char const *as_byte_array() const;

    // The value under a key of a dict. Throws std::runtime_error if this is no dict, std::out_of_range if there
    // is no such key.
    DataConstRef operator[](std::string const &key) const;
    // A key of a dict and its value, by number. Throws as operator[].
    std::string key(std::size_t index) const;
    DataConstRef value(std::size_t index) const;
    // An item of a list. Throws std::runtime_error if this is no list, std::out_of_range if it is too short.
    DataConstRef operator[](std::size_t index) const;

    // The extent of each dimension of a grid, the order of its elements, and the names of its dimensions. All
    // throw std::runtime_error if this is no grid, and indexes() if it has no names.
    std::vector<std::size_t> shape() const;
    StorageOrder storage_order() const;
    bool has_indexes() const;
    std::vector<std::string> indexes() const;
    // The elements of a grid in the order of storage_order(), valid as long as the data. Throws
    // std::runtime_error if this is no grid of such elements.
    template <typename Element>
    Element const *elements() const;

protected:
    friend struct face::Access;

    explicit DataConstRef(std::shared_ptr<face::Node> node) : node_(std::move(node)) {}
    static std::shared_ptr<face::Node> empty_dict();
    static std::shared_ptr<face::Node> empty_list(std::size_t size = 0);
    template <typename Element>
    static std::shared_ptr<face::Node> grid_of(Element const *data, std::vector<std::size_t> const &shape,
                                               std::vector<std::string> const &indexes, StorageOrder order);
    static void put(face::Node &dict, std::string const &key, DataConstRef const &value);
    static void append(face::Node &list, DataConstRef const &item);

    static void put_all(face::Node &) {}
    template <typename Value, typename... Items>
    static void put_all(face::Node &dict, std::string const &key, Value const &value, Items const &...items) {
        put(dict, key, value);
        put_all(dict, items...);
    }
    static void append_all(face::Node &) {}
    template <typename Item, typename... Items>
    static void append_all(face::Node &list, Item const &item, Items const &...items) {
        append(list, item);
        append_all(list, items...);
    }
    template <typename... Items>
    static std::shared_ptr<face::Node> dict_of(Items const &...items) {
        static_assert(sizeof...(items) % 2 == 0, "a dict is made of keys and values in turn");
        std::shared_ptr<face::Node> made = empty_dict();
        put_all(*made, items...);
        return made;
    }
    template <typename... Items>
    static std::shared_ptr<face::Node> list_of(Items const &...items) {
        std::shared_ptr<face::Node> made = empty_list();
        append_all(*made, items...);
        return made;
    }

    std::shared_ptr<face::Node> node_;
};

template <typename Element>
DataConstRef DataConstRef::grid(Element const *data, std::vector<std::size_t> const &shape,
                                std::vector<std::string> const &indexes, StorageOrder storage_order) {
    return DataConstRef(grid_of(data, shape, indexes, storage_order));
}

template <typename... Items>
DataConstRef DataConstRef::dict(Items const &...items) {
    return DataConstRef(dict_of(items...));
}

template <typename... Items>
DataConstRef DataConstRef::list(Items const &...items) {
    return DataConstRef(list_of(items...));
}

// Data that can be changed. Copies refer to the same data, so a change by one of them is seen by all.
class Data : public DataConstRef {
public:
    using DataConstRef::DataConstRef;
    Data() = default;
    Data(Data const &) = default;

    // Changes the data to which this and its copies refer: a copy of a single value, or the same list, dict,
    // grid or bytes as the other one.
    Data &operator=(Data const &other);

    // As those of DataConstRef.
    template <typename Element>
    static Data grid(Element const *data, std::vector<std::size_t> const &shape,
                     std::vector<std::string> const &indexes = {},
                     StorageOrder storage_order = StorageOrder::last_adjacent) {
        return Data(grid_of(data, shape, indexes, storage_order));
    }
    template <typename... Items>
    static Data dict(Items const &...items) {
        return Data(dict_of(items...));
    }
    template <typename... Items>
    static Data list(Items const &...items) {
        return Data(list_of(items...));
    }
    static Data nils(std::size_t size) { return Data(empty_list(size)); }
    // Bytes that are all 0, to be filled through as_byte_array().
    static Data byte_array(std::size_t size);
    // The caller's bytes, which are not copied: they must live, unchanged, as long as the data.
    static Data byte_array(char const *buffer, std::size_t size);

    // The value under a key of a dict; it is added as nil if there is no such key. Throws std::runtime_error.
    Data operator[](std::string const &key);
    Data value(std::size_t index) const;
    // An item of a list, as operator[] of DataConstRef.
    Data operator[](std::size_t index);
    // The bytes, for writing. Throws std::runtime_error.
    char *as_byte_array();
    using DataConstRef::as_byte_array;
    using DataConstRef::operator[];

private:
    explicit Data(std::shared_ptr<face::Node> node) : DataConstRef(std::move(node)) {}
};

}  // namespace libmuscle

#endif
