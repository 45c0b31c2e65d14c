// A value that may be missing.
#ifndef LIGAMENT_FACE_LIBMUSCLE_UTIL_HPP
#define LIGAMENT_FACE_LIBMUSCLE_UTIL_HPP

#include <memory>
#include <ostream>

namespace libmuscle {

// A value, or none. (This face's headers need C++14 only, which has no std::optional.)
template <typename T>
class Optional {
public:
    Optional() = default;
    Optional(T const &value) : value_(new T(value)) {}
    Optional(Optional const &other) : value_(other.value_ ? new T(*other.value_) : nullptr) {}
    Optional(Optional &&other) noexcept = default;
    Optional &operator=(Optional const &other) {
        if (this != &other) value_.reset(other.value_ ? new T(*other.value_) : nullptr);
        return *this;
    }
    Optional &operator=(Optional &&other) noexcept = default;

    bool operator==(Optional const &other) const {
        return is_set() == other.is_set() && (!is_set() || *value_ == *other.value_);
    }
    bool operator!=(Optional const &other) const { return !(*this == other); }

    bool is_set() const noexcept { return value_ != nullptr; }
    // The value; only if is_set().
    T const &get() const { return *value_; }
    T &get() { return *value_; }

private:
    std::unique_ptr<T> value_;
};

template <typename T>
std::ostream &operator<<(std::ostream &out, Optional<T> const &value) {
    return value.is_set() ? out << "Optional(" << value.get() << ")" : out << "Optional()";
}

}  // namespace libmuscle

#endif
