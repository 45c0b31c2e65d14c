// The contents of Data: their names, and Ligament's values made of them and the other way round.
#include "node.hpp"

namespace libmuscle {
namespace face {

namespace {

// Deeper lists and dicts are taken for ones that contain themselves.
constexpr std::size_t MAX_DEPTH = 100;

template <class... Cases>
struct Cases_ : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Cases_(Cases...) -> Cases_<Cases...>;

ligament::Value made(Node const &node, std::size_t depth);

ligament::Value made_list(List const &list, std::size_t depth) {
    ligament::Value value = ligament::Value::list();
    for (Item const &item : list) value.append(made(*item, depth + 1));
    return value;
}

ligament::Value made_map(Dict const &dict, std::size_t depth) {
    ligament::Value value = ligament::Value::map();
    for (auto const &entry : dict.entries) {
        if (entry.first.find('\0') != std::string::npos) {
            throw std::runtime_error("a key of a dict to be sent has a zero byte in it");
        }
        value.set(entry.first, made(*entry.second, depth + 1));
    }
    return value;
}

ligament::Value made(Node const &node, std::size_t depth) {
    if (depth > MAX_DEPTH) {
        throw std::runtime_error("data to be sent has lists or dicts within each other, more than " +
                                 std::to_string(MAX_DEPTH) + " deep; does one contain itself?");
    }
    return std::visit(
        Cases_{[](std::monostate) { return ligament::Value(); },
               [&](std::shared_ptr<List> const &list) { return made_list(*list, depth); },
               [&](std::shared_ptr<Dict> const &dict) { return made_map(*dict, depth); },
               [](std::shared_ptr<Bytes> const &bytes) {
                   return ligament::Value(ligament::Bytes{bytes->size ? bytes->data : "", bytes->size});
               },
               [](std::shared_ptr<Grid> const &grid) { return grid->value.copy(); },
               [](std::shared_ptr<ymmsl::Settings const> const &settings) {
                   return settings_to_ligament(*settings);
               },
               [](Other const &other) { return other->copy(); },
               [](auto const &plain) { return ligament::Value(plain); }},
        node.value);
}

ligament::Value setting_to_ligament(ymmsl::SettingValue const &setting) {
    if (setting.is_a<std::string>()) return setting.as<std::string>();
    if (setting.is_a<std::int64_t>()) return setting.as<std::int64_t>();
    if (setting.is_a<double>()) return setting.as<double>();
    if (setting.is_a<bool>()) return setting.as<bool>();
    if (setting == ymmsl::SettingValue()) throw std::runtime_error("a setting to be sent has no value");
    ligament::Value list = ligament::Value::list();
    if (setting.is_a<std::vector<std::int64_t>>()) {
        for (std::int64_t const number : setting.as<std::vector<std::int64_t>>()) list.append(number);
    } else if (setting.is_a<std::vector<double>>()) {
        for (double const number : setting.as<std::vector<double>>()) list.append(number);
    } else {
        for (auto const &row : setting.as<std::vector<std::vector<double>>>()) {
            ligament::Value numbers = ligament::Value::list();
            for (double const number : row) numbers.append(number);
            list.append(std::move(numbers));
        }
    }
    return list;
}

double number_of(ligament::ValueView const &value) {
    if (value.kind() == ligament::Kind::integer) return static_cast<double>(value.as<std::int64_t>());
    return value.as<double>();
}

ymmsl::SettingValue list_from_ligament(ligament::ValueView const &list) {
    bool integers = list.size() > 0, rows = list.size() > 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        integers = integers && list.at(i).kind() == ligament::Kind::integer;
        rows = rows && list.at(i).kind() == ligament::Kind::list;
    }
    if (integers) {
        std::vector<std::int64_t> numbers;
        for (std::size_t i = 0; i < list.size(); ++i) numbers.push_back(list.at(i).as<std::int64_t>());
        return numbers;
    }
    if (rows) {
        std::vector<std::vector<double>> table(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            auto const row = list.at(i);
            for (std::size_t j = 0; j < row.size(); ++j) table[i].push_back(number_of(row.at(j)));
        }
        return table;
    }
    std::vector<double> numbers;
    for (std::size_t i = 0; i < list.size(); ++i) numbers.push_back(number_of(list.at(i)));
    return numbers;
}

ymmsl::SettingValue setting_from_ligament(ligament::ValueView const &value) {
    switch (value.kind()) {
        case ligament::Kind::boolean: return value.as<bool>();
        case ligament::Kind::integer: return value.as<std::int64_t>();
        case ligament::Kind::string: return value.as<std::string>();
        case ligament::Kind::list: return list_from_ligament(value);
        default: return value.as<double>();
    }
}

std::shared_ptr<Bytes> bytes_from_ligament(ligament::ValueView const &value) {
    auto bytes = std::make_shared<Bytes>();
    bytes->received = std::make_shared<ligament::Value>(value.copy());
    auto const there = bytes->received->view().as<ligament::Bytes>();
    bytes->data = static_cast<char const *>(there.data);
    bytes->size = there.size;
    return bytes;
}

std::shared_ptr<List> items_from_ligament(ligament::ValueView const &value) {
    auto list = std::make_shared<List>();
    for (std::size_t i = 0; i < value.size(); ++i) list->push_back(from_ligament(value.at(i)));
    return list;
}

std::shared_ptr<Dict> dict_from_ligament(ligament::ValueView const &value) {
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i < value.size(); ++i) {
        dict->entries.emplace_back(std::string(value.key(i)), from_ligament(value.at(i)));
    }
    return dict;
}

// The number of bytes of an element.
std::size_t width(lig_array_view const &view) { return lig_dtype_size(view.dtype); }

// True if a byte of an array of truth values is neither 0 nor 1, which C++ does not allow in a bool.
bool has_other_truths(lig_array_view const &view) {
    if (view.dtype != LIG_BOOL) return false;
    auto const *bytes = static_cast<unsigned char const *>(view.data);
    return std::any_of(bytes, bytes + view.length, [](unsigned char byte) { return byte > 1; });
}

}  // namespace

Item Dict::find(std::string const &key) const {
    for (auto const &entry : entries) {
        if (entry.first == key) return entry.second;
    }
    return nullptr;
}

Grid::Grid(ligament::Value array) : value(std::move(array)) {
    ligament::detail::call(lig_value_array, value.raw(), &view);
    if (!view.contiguous) {
        packed.resize(static_cast<std::size_t>(view.length) * width(view));
        std::vector<std::uint64_t> index(view.ndim, 0);
        for (std::size_t i = 0; i < view.length; ++i) {
            char const *from = static_cast<char const *>(view.data);
            for (std::size_t axis = 0; axis < view.ndim; ++axis) {
                from += static_cast<std::int64_t>(index[axis]) * view.strides[axis];
            }
            std::memcpy(packed.data() + i * width(view), from, width(view));
            for (std::size_t axis = view.ndim; axis-- > 0;) {
                if (++index[axis] < view.shape[axis]) break;
                index[axis] = 0;
            }
        }
        view.order = LIG_ROW_MAJOR;
    } else if (has_other_truths(view)) {
        auto const *bytes = static_cast<char const *>(view.data);
        packed.assign(bytes, bytes + view.length);
    }
    if (view.dtype == LIG_BOOL) {
        for (char &byte : packed) byte = byte != 0;
    }
}

void const *Grid::elements() { return packed.empty() ? view.data : packed.data(); }

bool Grid::has_names() const {
    for (std::uint32_t axis = 0; axis < view.ndim; ++axis) {
        if (!value.view().array_name(axis).empty()) return true;
    }
    return false;
}

std::string Node::name() const {
    return std::visit(
        Cases_{[](std::monostate) { return std::string("nil"); },
               [](bool) { return std::string("a truth value"); },
               [](std::int64_t number) { return "the integer " + std::to_string(number); },
               [](std::uint64_t number) { return "the integer " + std::to_string(number); },
               [](double number) { return "the number " + std::to_string(number); },
               [](std::string const &) { return std::string("a text"); },
               [](std::shared_ptr<List> const &) { return std::string("a list"); },
               [](std::shared_ptr<Dict> const &) { return std::string("a dict"); },
               [](std::shared_ptr<Bytes> const &) { return std::string("a byte array"); },
               [](std::shared_ptr<Grid> const &grid) {
                   return std::string("a grid of ") + lig_dtype_name(grid->view.dtype);
               },
               [](std::shared_ptr<ymmsl::Settings const> const &) { return std::string("settings"); },
               [](Other const &) { return std::string("a value that libmuscle has no type for"); }},
        value);
}

void Node::refuse(std::string const &wanted) const {
    throw std::runtime_error("the data is " + name() + ", not " + wanted + "; ask for its type first (is_a)");
}

ligament::Value to_ligament(Node const &node) { return made(node, 0); }

Item from_ligament(ligament::ValueView const &value) {
    auto node = std::make_shared<Node>();
    switch (value.kind()) {
        case ligament::Kind::none: break;
        case ligament::Kind::boolean: node->value = value.as<bool>(); break;
        case ligament::Kind::integer: node->value = value.as<std::int64_t>(); break;
        case ligament::Kind::large_integer: node->value = value.as<std::uint64_t>(); break;
        case ligament::Kind::number: node->value = value.as<double>(); break;
        case ligament::Kind::string: node->value = value.as<std::string>(); break;
        case ligament::Kind::bytes: node->value = bytes_from_ligament(value); break;
        case ligament::Kind::list: node->value = items_from_ligament(value); break;
        case ligament::Kind::map: node->value = dict_from_ligament(value); break;
        case ligament::Kind::array: node->value = std::make_shared<Grid>(value.copy()); break;
        case ligament::Kind::settings: {
            ligament::Value const map = value.settings();
            node->value = std::make_shared<ymmsl::Settings const>(settings_from_ligament(map.view()));
            break;
        }
        default: node->value = std::make_shared<ligament::Value>(value.copy());
    }
    return node;
}

ligament::Value settings_to_ligament(ymmsl::Settings const &settings) {
    ligament::Value map = ligament::Value::map();
    for (auto const &setting : settings) {
        map.set(static_cast<std::string>(setting.first), setting_to_ligament(setting.second));
    }
    return ligament::Value::settings(map);
}

ymmsl::Settings settings_from_ligament(ligament::ValueView const &map) {
    ymmsl::Settings settings;
    for (std::size_t i = 0; i < map.size(); ++i) {
        settings[std::string(map.key(i))] = setting_from_ligament(map.at(i));
    }
    return settings;
}

}  // namespace face
}  // namespace libmuscle
