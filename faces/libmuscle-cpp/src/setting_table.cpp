// All settings of an instance as bytes. Both ends are ranks of one program, so numbers are as in memory.
#include "setting_table.hpp"

#include <cstring>

namespace libmuscle {
namespace face {

using ymmsl::SettingValue;

namespace {

class Writer {
public:
    std::string bytes;

    template <class Number>
    void number(Number value) {
        bytes.append(reinterpret_cast<char const *>(&value), sizeof value);
    }
    void text(std::string const &value) {
        number(value.size());
        bytes += value;
    }
    template <class Number>
    void list(std::vector<Number> const &values) {
        number(values.size());
        for (Number const value : values) number(value);
    }
};

class Reader {
public:
    explicit Reader(std::string const &bytes) : bytes_(bytes) {}

    bool ended() const { return at_ == bytes_.size(); }
    template <class Number>
    Number number() {
        Number value;
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::string text() {
        auto const size = number<std::size_t>();
        at_ += size;
        return bytes_.substr(at_ - size, size);
    }
    template <class Number>
    std::vector<Number> list() {
        std::vector<Number> values(number<std::size_t>());
        for (Number &value : values) value = number<Number>();
        return values;
    }

private:
    std::string const &bytes_;
    std::size_t at_ = 0;
};

void write(Writer &writer, SettingValue const &value) {
    if (value.is_a<std::string>()) {
        writer.number('s');
        writer.text(value.as<std::string>());
    } else if (value.is_a<std::int64_t>()) {
        writer.number('i');
        writer.number(value.as<std::int64_t>());
    } else if (value.is_a<double>()) {
        writer.number('d');
        writer.number(value.as<double>());
    } else if (value.is_a<bool>()) {
        writer.number('b');
        writer.number(value.as<bool>());
    } else if (value.is_a<std::vector<std::int64_t>>()) {
        writer.number('I');
        writer.list(value.as<std::vector<std::int64_t>>());
    } else if (value.is_a<std::vector<double>>()) {
        writer.number('D');
        writer.list(value.as<std::vector<double>>());
    } else {
        auto const table = value.as<std::vector<std::vector<double>>>();
        writer.number('T');
        writer.number(table.size());
        for (auto const &row : table) writer.list(row);
    }
}

SettingValue read(Reader &reader) {
    switch (reader.number<char>()) {
        case 's': return reader.text();
        case 'i': return reader.number<std::int64_t>();
        case 'd': return reader.number<double>();
        case 'b': return reader.number<bool>();
        case 'I': return reader.list<std::int64_t>();
        case 'D': return reader.list<double>();
        default: {
            std::vector<std::vector<double>> table(reader.number<std::size_t>());
            for (auto &row : table) row = reader.list<double>();
            return table;
        }
    }
}

}  // namespace

std::string to_bytes(SettingTable const &table) {
    Writer writer;
    for (auto const &setting : table) {
        writer.text(setting.first);
        write(writer, setting.second);
    }
    return std::move(writer.bytes);
}

SettingTable from_bytes(std::string const &bytes) {
    SettingTable table;
    for (Reader reader(bytes); !reader.ended();) {
        std::string name = reader.text();
        table[std::move(name)] = read(reader);
    }
    return table;
}

}  // namespace face
}  // namespace libmuscle
