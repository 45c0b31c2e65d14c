// Values of settings.
#include "ymmsl/settings.hpp"

#include <limits>
#include <ostream>
#include <stdexcept>
#include <typeinfo>

#include "cast_error.hpp"

namespace ymmsl {

namespace {

template <class T>
void write_list(std::ostream &out, std::vector<T> const &items) {
    out << "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out << ", ";
        out << items[i];
    }
    out << "]";
}

}  // namespace

SettingValue::SettingValue(std::string const &value) : kind_(Kind::string), string_(value) {}
SettingValue::SettingValue(char const *value) : kind_(Kind::string), string_(value) {}
SettingValue::SettingValue(int value) : kind_(Kind::integer), integer_(value) {}
SettingValue::SettingValue(std::int64_t value) : kind_(Kind::integer), integer_(value) {}
SettingValue::SettingValue(double value) : kind_(Kind::number), number_(value) {}
SettingValue::SettingValue(bool value) : kind_(Kind::truth), integer_(value ? 1 : 0) {}
SettingValue::SettingValue(std::initializer_list<double> value) : kind_(Kind::numbers), numbers_(value) {}
SettingValue::SettingValue(std::vector<std::int64_t> const &value) : kind_(Kind::integers), integers_(value) {}
SettingValue::SettingValue(std::vector<double> const &value) : kind_(Kind::numbers), numbers_(value) {}
SettingValue::SettingValue(std::initializer_list<std::vector<double>> const &value)
    : kind_(Kind::table), table_(value) {}
SettingValue::SettingValue(std::vector<std::vector<double>> const &value) : kind_(Kind::table), table_(value) {}

SettingValue &SettingValue::operator=(SettingValue &&other) noexcept {
    SettingValue taken(std::move(other));
    swap(taken);
    return *this;
}

void SettingValue::swap(SettingValue &other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(integer_, other.integer_);
    std::swap(number_, other.number_);
    string_.swap(other.string_);
    integers_.swap(other.integers_);
    numbers_.swap(other.numbers_);
    table_.swap(other.table_);
}

bool SettingValue::operator==(SettingValue const &other) const {
    return kind_ == other.kind_ && integer_ == other.integer_ && number_ == other.number_ &&
           string_ == other.string_ && integers_ == other.integers_ && numbers_ == other.numbers_ &&
           table_ == other.table_;
}

std::string SettingValue::kind_name() const {
    switch (kind_) {
        case Kind::nothing: return "nothing";
        case Kind::string: return "a text";
        case Kind::integer: return "the integer " + std::to_string(integer_);
        case Kind::number: return "a number";
        case Kind::truth: return "a truth value";
        case Kind::integers: return "a list of integers";
        case Kind::numbers: return "a list of numbers";
        default: return "a list of lists of numbers";
    }
}

void SettingValue::check(bool fits, char const *wanted) const {
    if (!fits) throw face::CastError("the value of a setting is " + kind_name() + ", not " + wanted);
}

template <>
bool SettingValue::is_a<std::string>() const {
    return kind_ == Kind::string;
}
template <>
bool SettingValue::is_a<std::int64_t>() const {
    return kind_ == Kind::integer;
}
template <>
bool SettingValue::is_a<int>() const {
    return kind_ == Kind::integer && integer_ >= std::numeric_limits<int>::min() &&
           integer_ <= std::numeric_limits<int>::max();
}
template <>
bool SettingValue::is_a<double>() const {
    return kind_ == Kind::number;
}
template <>
bool SettingValue::is_a<bool>() const {
    return kind_ == Kind::truth;
}
template <>
bool SettingValue::is_a<std::vector<std::int64_t>>() const {
    return kind_ == Kind::integers;
}
template <>
bool SettingValue::is_a<std::vector<double>>() const {
    return kind_ == Kind::numbers;
}
template <>
bool SettingValue::is_a<std::vector<std::vector<double>>>() const {
    return kind_ == Kind::table;
}

template <>
std::string SettingValue::as() const {
    check(is_a<std::string>(), "a text");
    return string_;
}
template <>
std::int64_t SettingValue::as() const {
    check(is_a<std::int64_t>(), "an integer");
    return integer_;
}
template <>
int SettingValue::as() const {
    check(is_a<int>(), "an integer of 32 bits");
    return static_cast<int>(integer_);
}
template <>
double SettingValue::as() const {
    // A whole number that a double holds is given, too.
    constexpr std::int64_t MAX_EXACT = std::int64_t{1} << 53;
    if (kind_ == Kind::integer && -MAX_EXACT <= integer_ && integer_ <= MAX_EXACT) {
        return static_cast<double>(integer_);
    }
    check(is_a<double>(), "a number");
    return number_;
}
template <>
bool SettingValue::as() const {
    check(is_a<bool>(), "a truth value");
    return integer_ != 0;
}
template <>
std::vector<std::int64_t> SettingValue::as() const {
    check(is_a<std::vector<std::int64_t>>(), "a list of integers");
    return integers_;
}
template <>
std::vector<double> SettingValue::as() const {
    check(is_a<std::vector<double>>(), "a list of numbers");
    return numbers_;
}
template <>
std::vector<std::vector<double>> SettingValue::as() const {
    check(is_a<std::vector<std::vector<double>>>(), "a list of lists of numbers");
    return table_;
}

std::ostream &operator<<(std::ostream &out, SettingValue const &value) {
    if (value.is_a<std::string>()) return out << '"' << value.as<std::string>() << '"';
    if (value.is_a<std::int64_t>()) return out << value.as<std::int64_t>();
    if (value.is_a<double>()) return out << value.as<double>();
    if (value.is_a<bool>()) return out << (value.as<bool>() ? "true" : "false");
    if (value.is_a<std::vector<std::int64_t>>()) write_list(out, value.as<std::vector<std::int64_t>>());
    else if (value.is_a<std::vector<double>>()) write_list(out, value.as<std::vector<double>>());
    else if (value.is_a<std::vector<std::vector<double>>>()) {
        auto const table = value.as<std::vector<std::vector<double>>>();
        out << "[";
        for (std::size_t i = 0; i < table.size(); ++i) {
            if (i > 0) out << ", ";
            write_list(out, table[i]);
        }
        out << "]";
    }
    return out;
}

SettingValue const &Settings::at(Reference const &setting) const {
    auto const found = store_.find(setting);
    if (found == store_.end()) {
        throw std::out_of_range("there is no setting \"" + static_cast<std::string>(setting) +
                                "\"; ask contains() first");
    }
    return found->second;
}

std::ostream &operator<<(std::ostream &out, Settings const &settings) {
    char const *between = "";
    out << "Settings(";
    for (auto const &setting : settings) {
        out << between << setting.first << ": " << setting.second;
        between = ", ";
    }
    return out << ")";
}

}  // namespace ymmsl
