// Values of settings, and settings by name.
#ifndef LIGAMENT_FACE_YMMSL_SETTINGS_HPP
#define LIGAMENT_FACE_YMMSL_SETTINGS_HPP

#include <cstdint>
#include <initializer_list>
#include <unordered_map>

#include "ymmsl/identity.hpp"

namespace ymmsl {

// The value of a setting, or nothing.
class SettingValue {
public:
    SettingValue() = default;
    SettingValue(std::string const &value);
    SettingValue(char const *value);
    SettingValue(int value);
    SettingValue(std::int64_t value);
    SettingValue(double value);
    SettingValue(bool value);
    SettingValue(std::initializer_list<double> value);
    SettingValue(std::vector<std::int64_t> const &value);
    SettingValue(std::vector<double> const &value);
    SettingValue(std::initializer_list<std::vector<double>> const &value);
    SettingValue(std::vector<std::vector<double>> const &value);

    SettingValue(SettingValue const &) = default;
    SettingValue &operator=(SettingValue const &) = default;
    // The other value holds nothing afterwards.
    SettingValue(SettingValue &&other) noexcept { swap(other); }
    SettingValue &operator=(SettingValue &&other) noexcept;

    // True if both the types and the values are the same.
    bool operator==(SettingValue const &other) const;
    bool operator!=(SettingValue const &other) const { return !(*this == other); }

    // True if the value is of the type T: std::string, int (if it fits), std::int64_t, double, bool,
    // std::vector<std::int64_t>, std::vector<double>, or std::vector<std::vector<double>>.
    template <typename T>
    bool is_a() const;

    // The value; a whole number also as a double, if that holds it. Throws an exception that is a
    // std::bad_cast, and whose text names both types, if it is of another type.
    template <typename T>
    T as() const;

private:
    enum class Kind { nothing, string, integer, number, truth, integers, numbers, table };

    void swap(SettingValue &other) noexcept;
    // Throws if the value is of another kind.
    void check(bool fits, char const *wanted) const;
    std::string kind_name() const;

    Kind kind_ = Kind::nothing;
    std::int64_t integer_ = 0;  // of a truth value too
    double number_ = 0.0;
    std::string string_;
    std::vector<std::int64_t> integers_;
    std::vector<double> numbers_;
    std::vector<std::vector<double>> table_;
};

std::ostream &operator<<(std::ostream &out, SettingValue const &value);

// Settings by name.
class Settings {
    using Store = std::unordered_map<Reference, SettingValue>;

public:
    using const_iterator = Store::const_iterator;

    bool operator==(Settings const &other) const { return store_ == other.store_; }
    bool operator!=(Settings const &other) const { return store_ != other.store_; }
    std::size_t size() const noexcept { return store_.size(); }
    bool empty() const noexcept { return store_.empty(); }
    bool contains(Reference const &setting) const { return store_.count(setting) != 0; }
    // The value of a setting. Throws std::out_of_range if it is not set.
    SettingValue const &at(Reference const &setting) const;
    // The value of a setting, which is added if it is missing.
    SettingValue &operator[](Reference const &setting) { return store_[setting]; }
    // Removes a setting, and returns how many were removed: 0 or 1.
    std::size_t erase(std::string const &setting) { return store_.erase(Reference(setting)); }
    void clear() noexcept { store_.clear(); }
    const_iterator begin() const noexcept { return store_.begin(); }
    const_iterator end() const noexcept { return store_.end(); }

private:
    Store store_;
};

std::ostream &operator<<(std::ostream &out, Settings const &settings);

}  // namespace ymmsl

#endif
