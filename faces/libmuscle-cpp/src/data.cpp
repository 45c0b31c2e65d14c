// Data and DataConstRef.
#include "libmuscle/data.hpp"

#include <cmath>
#include <stdexcept>

#include "node.hpp"

namespace libmuscle {

using face::Bytes;
using face::Dict;
using face::Grid;
using face::Item;
using face::List;
using face::Node;
using ymmsl::Settings;
using ymmsl::SettingValue;

namespace {

template <class T>
Item node_of(T value) {
    auto node = std::make_shared<Node>();
    node->value = std::move(value);
    return node;
}

template <class T>
Item integer(T value) {
    if constexpr (std::is_unsigned_v<T>) {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return node_of(static_cast<std::uint64_t>(value));
        }
    }
    return node_of(static_cast<std::int64_t>(value));
}

// A copy of a node: of a single value, or one that shares a list and the like.
Item copy_of(Node const &node) { return std::make_shared<Node>(node); }

template <class T>
T const &shared(Node const &node, char const *wanted) {
    auto const *found = node.get_if<std::shared_ptr<T>>();
    if (!found) node.refuse(wanted);
    return **found;
}

template <class Number>
Item list_node(std::vector<Number> const &numbers) {
    auto list = std::make_shared<List>();
    for (Number const number : numbers) list->push_back(node_of(number));
    return node_of(std::move(list));
}

Item setting_node(SettingValue const &value) {
    if (value.is_a<std::string>()) return node_of(value.as<std::string>());
    if (value.is_a<std::int64_t>()) return node_of(value.as<std::int64_t>());
    if (value.is_a<double>()) return node_of(value.as<double>());
    if (value.is_a<bool>()) return node_of(value.as<bool>());
    if (value.is_a<std::vector<std::int64_t>>()) return list_node(value.as<std::vector<std::int64_t>>());
    if (value.is_a<std::vector<double>>()) return list_node(value.as<std::vector<double>>());
    if (!value.is_a<std::vector<std::vector<double>>>()) return std::make_shared<Node>();
    auto rows = std::make_shared<List>();
    for (auto const &row : value.as<std::vector<std::vector<double>>>()) rows->push_back(list_node(row));
    return node_of(std::move(rows));
}

template <class T>
bool all_are(List const &list) {
    return std::all_of(list.begin(), list.end(), [](Item const &item) { return item->get_if<T>(); });
}

template <class T>
std::vector<T> copied(List const &list) {
    std::vector<T> values;
    for (Item const &item : list) values.push_back(*item->get_if<T>());
    return values;
}

// The data as the value of a setting, if it can be one.
Optional<SettingValue> as_setting(Node const &node) {
    if (auto const *text = node.get_if<std::string>()) return SettingValue(*text);
    if (auto const *number = node.get_if<std::int64_t>()) return SettingValue(*number);
    if (auto const *number = node.get_if<double>()) return SettingValue(*number);
    if (auto const *truth = node.get_if<bool>()) return SettingValue(*truth);
    auto const *found = node.get_if<std::shared_ptr<List>>();
    if (!found) return {};
    List const &list = **found;
    // An empty list could be one of integers just as well.
    if (all_are<double>(list)) return SettingValue(copied<double>(list));
    if (all_are<std::int64_t>(list)) return SettingValue(copied<std::int64_t>(list));
    std::vector<std::vector<double>> rows;
    for (Item const &item : list) {
        auto const *row = item->get_if<std::shared_ptr<List>>();
        if (!row || !all_are<double>(**row)) return {};
        rows.push_back(copied<double>(**row));
    }
    return SettingValue(rows);
}

bool fits_float(double number) {
    return !std::isfinite(number) || static_cast<double>(static_cast<float>(number)) == number;
}

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
T as_integer(Node const &node) {
    auto const *number = node.get_if<std::int64_t>();
    auto const *large = node.get_if<std::uint64_t>();
    if (!number && !large) node.refuse("an integer");
    bool const fits = number ? static_cast<std::int64_t>(static_cast<T>(*number)) == *number &&
                                   (std::is_signed_v<T> || *number >= 0)
                             : std::is_unsigned_v<T> && sizeof(T) == sizeof *large;
    if (!fits) {
        throw std::runtime_error("the data is " + node.name() + ", which does not fit the type of " +
                                 std::to_string(8 * sizeof(T)) + " bits that was asked for");
    }
    return number ? static_cast<T>(*number) : static_cast<T>(*large);
}

std::size_t checked(std::size_t index, std::size_t size, char const *what) {
    if (index >= size) {
        throw std::out_of_range(std::string(what) + " has no item " + std::to_string(index) + "; it has " +
                                std::to_string(size));
    }
    return index;
}

}  // namespace

DataConstRef::DataConstRef() : node_(std::make_shared<Node>()) {}
DataConstRef::DataConstRef(bool value) : node_(node_of(value)) {}
DataConstRef::DataConstRef(char const *value) : node_(node_of(std::string(value))) {}
DataConstRef::DataConstRef(std::string const &value) : node_(node_of(value)) {}
DataConstRef::DataConstRef(int value) : node_(integer(value)) {}
DataConstRef::DataConstRef(long value) : node_(integer(value)) {}
DataConstRef::DataConstRef(long long value) : node_(integer(value)) {}
DataConstRef::DataConstRef(unsigned int value) : node_(integer(value)) {}
DataConstRef::DataConstRef(unsigned long value) : node_(integer(value)) {}
DataConstRef::DataConstRef(unsigned long long value) : node_(integer(value)) {}
DataConstRef::DataConstRef(float value) : node_(node_of(static_cast<double>(value))) {}
DataConstRef::DataConstRef(double value) : node_(node_of(value)) {}
DataConstRef::DataConstRef(SettingValue const &value) : node_(setting_node(value)) {}
DataConstRef::DataConstRef(Settings const &settings)
    : node_(node_of(std::make_shared<Settings const>(settings))) {}

template <typename Element>
Item DataConstRef::grid_of(Element const *data, std::vector<std::size_t> const &shape,
                           std::vector<std::string> const &indexes, StorageOrder order) {
    if (!indexes.empty() && indexes.size() != shape.size()) {
        throw std::runtime_error("a grid has an index name for each dimension: there are " +
                                 std::to_string(shape.size()) + " dimensions and " +
                                 std::to_string(indexes.size()) + " names");
    }
    ligament::ArrayRef<Element const> array(data, ligament::Extents(shape),
                                            order == StorageOrder::first_adjacent
                                                ? ligament::Order::column_major
                                                : ligament::Order::row_major);
    if (!indexes.empty()) array.with_names(indexes);
    return node_of(std::make_shared<Grid>(ligament::Value(array)));
}

Item DataConstRef::empty_dict() { return node_of(std::make_shared<Dict>()); }

Item DataConstRef::empty_list(std::size_t size) {
    auto list = std::make_shared<List>(size);
    for (Item &item : *list) item = std::make_shared<Node>();
    return node_of(std::move(list));
}

void DataConstRef::put(Node &dict, std::string const &key, DataConstRef const &value) {
    auto &entries = (*dict.get_if<std::shared_ptr<Dict>>())->entries;
    for (auto &entry : entries) {
        if (entry.first == key) {
            entry.second = copy_of(*value.node_);
            return;
        }
    }
    entries.emplace_back(key, copy_of(*value.node_));
}

void DataConstRef::append(Node &list, DataConstRef const &item) {
    (*list.get_if<std::shared_ptr<List>>())->push_back(copy_of(*item.node_));
}

DataConstRef DataConstRef::nils(std::size_t size) { return DataConstRef(empty_list(size)); }

template <typename T>
bool DataConstRef::is_a() const {
    Node const &node = *node_;
    if constexpr (std::is_same_v<T, float>) {
        return node.get_if<double>() && fits_float(*node.get_if<double>());
    } else if constexpr (is_integer<T>) {
        auto const *number = node.get_if<std::int64_t>();
        return (number && (std::is_signed_v<T> || *number >= 0)) || node.get_if<std::uint64_t>();
    } else if constexpr (std::is_same_v<T, SettingValue>) {
        return as_setting(node).is_set();
    } else if constexpr (std::is_same_v<T, Settings>) {
        return node.get_if<std::shared_ptr<Settings const>>();
    } else {
        return node.get_if<T>();
    }
}

template <typename T>
T DataConstRef::as() const {
    Node const &node = *node_;
    if constexpr (std::is_same_v<T, float>) {
        double const number = as<double>();
        if (!fits_float(number)) node.refuse("a number that a float can hold");
        return static_cast<float>(number);
    } else if constexpr (is_integer<T>) {
        return as_integer<T>(node);
    } else if constexpr (std::is_same_v<T, SettingValue>) {
        auto const setting = as_setting(node);
        if (!setting.is_set()) node.refuse("the value of a setting");
        return setting.get();
    } else if constexpr (std::is_same_v<T, Settings>) {
        return shared<Settings const>(node, "settings");
    } else {
        T const *value = node.get_if<T>();
        if (!value) {
            node.refuse(std::is_same_v<T, bool> ? "a truth value"
                                                : std::is_same_v<T, double> ? "a number" : "a text");
        }
        return *value;
    }
}

#define LIGAMENT_FACE_TYPE(T)                     \
    template bool DataConstRef::is_a<T>() const; \
    template T DataConstRef::as<T>() const
LIGAMENT_FACE_TYPE(bool);
LIGAMENT_FACE_TYPE(std::string);
LIGAMENT_FACE_TYPE(char);
LIGAMENT_FACE_TYPE(short);
LIGAMENT_FACE_TYPE(int);
LIGAMENT_FACE_TYPE(long);
LIGAMENT_FACE_TYPE(long long);
LIGAMENT_FACE_TYPE(unsigned char);
LIGAMENT_FACE_TYPE(unsigned short);
LIGAMENT_FACE_TYPE(unsigned int);
LIGAMENT_FACE_TYPE(unsigned long);
LIGAMENT_FACE_TYPE(unsigned long long);
LIGAMENT_FACE_TYPE(float);
LIGAMENT_FACE_TYPE(double);
LIGAMENT_FACE_TYPE(SettingValue);
LIGAMENT_FACE_TYPE(Settings);
#undef LIGAMENT_FACE_TYPE

bool DataConstRef::is_nil() const { return node_->get_if<std::monostate>(); }
bool DataConstRef::is_a_dict() const { return node_->get_if<std::shared_ptr<Dict>>(); }
bool DataConstRef::is_a_list() const { return node_->get_if<std::shared_ptr<List>>(); }
bool DataConstRef::is_a_byte_array() const { return node_->get_if<std::shared_ptr<Bytes>>(); }

template <typename Element>
bool DataConstRef::is_a_grid_of() const {
    auto const *grid = node_->get_if<std::shared_ptr<Grid>>();
    return grid && (*grid)->view.dtype == ligament::detail::dtype_of<Element>();
}

template <typename Element>
Element const *DataConstRef::elements() const {
    if (!is_a_grid_of<Element>()) {
        node_->refuse(std::string("a grid of ") + lig_dtype_name(ligament::detail::dtype_of<Element>()));
    }
    return static_cast<Element const *>((*node_->get_if<std::shared_ptr<Grid>>())->elements());
}

#define LIGAMENT_FACE_ELEMENT(T)                                                                 \
    template Item DataConstRef::grid_of<T>(T const *, std::vector<std::size_t> const &,         \
                                           std::vector<std::string> const &, StorageOrder);     \
    template bool DataConstRef::is_a_grid_of<T>() const;                                        \
    template T const *DataConstRef::elements<T>() const
LIGAMENT_FACE_ELEMENT(int);
LIGAMENT_FACE_ELEMENT(long);
LIGAMENT_FACE_ELEMENT(long long);
LIGAMENT_FACE_ELEMENT(float);
LIGAMENT_FACE_ELEMENT(double);
LIGAMENT_FACE_ELEMENT(bool);
#undef LIGAMENT_FACE_ELEMENT

std::size_t DataConstRef::size() const {
    if (auto const *list = node_->get_if<std::shared_ptr<List>>()) return (*list)->size();
    if (auto const *dict = node_->get_if<std::shared_ptr<Dict>>()) return (*dict)->entries.size();
    if (auto const *bytes = node_->get_if<std::shared_ptr<Bytes>>()) return (*bytes)->size;
    auto const *grid = node_->get_if<std::shared_ptr<Grid>>();
    if (!grid) node_->refuse("a list, dict, grid or byte array, which have a size");
    return static_cast<std::size_t>((*grid)->view.length);
}

char const *DataConstRef::as_byte_array() const { return shared<Bytes>(*node_, "a byte array").data; }

DataConstRef DataConstRef::operator[](std::string const &key) const {
    Item found = shared<Dict>(*node_, "a dict").find(key);
    if (!found) throw std::out_of_range("the dict has no key \"" + key + "\"");
    return DataConstRef(std::move(found));
}

std::string DataConstRef::key(std::size_t index) const {
    auto const &entries = shared<Dict>(*node_, "a dict").entries;
    return entries[checked(index, entries.size(), "the dict")].first;
}

DataConstRef DataConstRef::value(std::size_t index) const {
    auto const &entries = shared<Dict>(*node_, "a dict").entries;
    return DataConstRef(entries[checked(index, entries.size(), "the dict")].second);
}

DataConstRef DataConstRef::operator[](std::size_t index) const {
    List const &list = shared<List>(*node_, "a list");
    return DataConstRef(list[checked(index, list.size(), "the list")]);
}

std::vector<std::size_t> DataConstRef::shape() const {
    lig_array_view const &view = shared<Grid>(*node_, "a grid").view;
    return std::vector<std::size_t>(view.shape, view.shape + view.ndim);
}

StorageOrder DataConstRef::storage_order() const {
    return shared<Grid>(*node_, "a grid").view.order == LIG_COLUMN_MAJOR ? StorageOrder::first_adjacent
                                                                         : StorageOrder::last_adjacent;
}

bool DataConstRef::has_indexes() const { return shared<Grid>(*node_, "a grid").has_names(); }

std::vector<std::string> DataConstRef::indexes() const {
    Grid const &grid = shared<Grid>(*node_, "a grid");
    if (!grid.has_names()) {
        throw std::runtime_error("the grid has no names of its indexes; ask has_indexes() first");
    }
    std::vector<std::string> names;
    for (std::uint32_t axis = 0; axis < grid.view.ndim; ++axis) {
        names.push_back(grid.value.view().array_name(axis));
    }
    return names;
}

Data &Data::operator=(Data const &other) {
    node_->value = other.node_->value;
    return *this;
}

Data Data::byte_array(std::size_t size) {
    auto bytes = std::make_shared<Bytes>();
    bytes->own.resize(size);
    bytes->data = bytes->own.data();
    bytes->size = size;
    return Data(node_of(std::move(bytes)));
}

Data Data::byte_array(char const *buffer, std::size_t size) {
    auto bytes = std::make_shared<Bytes>();
    bytes->data = buffer;
    bytes->size = size;
    return Data(node_of(std::move(bytes)));
}

Data Data::operator[](std::string const &key) {
    Item found = shared<Dict>(*node_, "a dict").find(key);
    if (!found) {
        found = std::make_shared<Node>();
        (*node_->get_if<std::shared_ptr<Dict>>())->entries.emplace_back(key, found);
    }
    return Data(std::move(found));
}

Data Data::value(std::size_t index) const {
    auto const &entries = shared<Dict>(*node_, "a dict").entries;
    return Data(entries[checked(index, entries.size(), "the dict")].second);
}

Data Data::operator[](std::size_t index) {
    List const &list = shared<List>(*node_, "a list");
    return Data(list[checked(index, list.size(), "the list")]);
}

char *Data::as_byte_array() {
    shared<Bytes>(*node_, "a byte array");
    Bytes &bytes = **node_->get_if<std::shared_ptr<Bytes>>();
    if (bytes.received) {  // the memory of a received message is read-only, and may have other readers
        bytes.own.assign(bytes.data, bytes.data + bytes.size);
        bytes.data = bytes.own.data();
        bytes.received.reset();
    }
    return const_cast<char *>(bytes.data);
}

}  // namespace libmuscle
