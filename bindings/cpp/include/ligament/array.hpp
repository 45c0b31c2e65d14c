// Arrays: those of the caller, to send or to receive into (ArrayRef), and received ones, in place (ArrayView).
#ifndef LIGAMENT_ARRAY_HPP
#define LIGAMENT_ARRAY_HPP

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "error.hpp"
#include "span.hpp"

namespace ligament {

// The index that runs fastest in memory.
enum class Order : std::int32_t { row_major = LIG_ROW_MAJOR, column_major = LIG_COLUMN_MAJOR };

namespace detail {

template <class T>
constexpr lig_dtype integer_type() {
    constexpr bool with_sign = std::is_signed_v<T>;
    switch (sizeof(T)) {
        case 1: return with_sign ? LIG_INT8 : LIG_UINT8;
        case 2: return with_sign ? LIG_INT16 : LIG_UINT16;
        case 4: return with_sign ? LIG_INT32 : LIG_UINT32;
        default: return with_sign ? LIG_INT64 : LIG_UINT64;
    }
}

template <class T>
constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                              std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

// True if T can be an element of an array: bool, an integer, float, double, or a complex number of these; no
// character.
template <class T>
constexpr bool is_element = (std::is_integral_v<T> && !is_character<T>) || std::is_same_v<T, float> ||
                            std::is_same_v<T, double> || std::is_same_v<T, std::complex<float>> ||
                            std::is_same_v<T, std::complex<double>>;

// The number of the element type T in a message.
template <class T>
constexpr lig_dtype dtype_of() {
    static_assert(is_element<T>,
                  "an array's elements are bool, integers, float, double or std::complex of these");
    if constexpr (std::is_same_v<T, bool>) return LIG_BOOL;
    else if constexpr (std::is_same_v<T, float>) return LIG_FLOAT32;
    else if constexpr (std::is_same_v<T, double>) return LIG_FLOAT64;
    else if constexpr (std::is_same_v<T, std::complex<float>>) return LIG_COMPLEX64;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return LIG_COMPLEX128;
    else return integer_type<T>();
}

inline const char *name_of(lig_dtype dtype) {
    static const char *const names[] = {"?",       "bool",    "int8",      "int16",     "int32",
                                        "int64",   "uint8",   "uint16",    "uint32",    "uint64",
                                        "float32", "float64", "complex64", "complex128"};
    return dtype >= LIG_BOOL && dtype <= LIG_COMPLEX128 ? names[dtype] : names[0];
}

}  // namespace detail

// An extent that may have any value, in the expected shape of an array: message.array<double>({any, 3}).
inline constexpr std::size_t any = static_cast<std::size_t>(-1);

// The extents of an array, at most 8.
class Extents {
public:
    Extents() = default;
    Extents(std::initializer_list<std::size_t> extents) : Extents(extents.begin(), extents.size()) {}
    Extents(const std::vector<std::size_t> &extents) : Extents(extents.data(), extents.size()) {}

    template <class Number>
    Extents(const Number *extents, std::size_t ndim) : ndim_(ndim) {
        if (ndim > LIG_MAX_DIMS)
            throw UsageError("an array has at most 8 dimensions, not " + std::to_string(ndim));
        for (std::size_t i = 0; i < ndim; ++i) extents_[i] = static_cast<std::size_t>(extents[i]);
    }

    std::size_t size() const noexcept { return ndim_; }
    std::size_t operator[](std::size_t dimension) const { return extents_[dimension]; }
    const std::size_t *begin() const noexcept { return extents_.data(); }
    const std::size_t *end() const noexcept { return extents_.data() + ndim_; }
    friend bool operator==(const Extents &a, const Extents &b) {
        return a.ndim_ == b.ndim_ && a.extents_ == b.extents_;
    }
    friend bool operator!=(const Extents &a, const Extents &b) { return !(a == b); }

private:
    std::size_t ndim_ = 0;
    std::array<std::size_t, LIG_MAX_DIMS> extents_{};
};

// An array of the caller, to be sent (also of const T) or to be received into. It does not own the elements.
template <class T>
class ArrayRef {
public:
    using Element = std::remove_const_t<T>;

    // An array whose elements lie next to each other in `order`.
    ArrayRef(T *data, const Extents &shape, Order order = Order::row_major)
        : data_(data), shape_(shape), order_(order) {}

    // Sets the byte strides, one for each dimension, for elements that do not lie next to each other. `data` is
    // element 0. Such an array can be sent, but not received into.
    ArrayRef &with_strides(std::vector<std::int64_t> strides) {
        check_count(strides.size(), "byte strides");
        strides_ = std::move(strides);
        return *this;
    }

    // Sets the name of each dimension.
    ArrayRef &with_names(std::vector<std::string> names) {
        check_count(names.size(), "names");
        names_ = std::move(names);
        return *this;
    }

    // Sets the unit of the elements.
    ArrayRef &with_unit(std::string unit) {
        unit_ = std::move(unit);
        return *this;
    }

    // Calls `function` with the array in the form of the C interface, which is valid during this call.
    template <class Function>
    decltype(auto) lend(Function function) const {
        lig_array array{};
        array.dtype = detail::dtype_of<Element>();
        array.ndim = static_cast<std::uint32_t>(shape_.size());
        array.order = static_cast<lig_order>(order_);
        for (std::size_t i = 0; i < shape_.size(); ++i) array.shape[i] = shape_[i];
        if (!strides_.empty()) array.strides = strides_.data();
        array.data = const_cast<Element *>(data_);
        const char *names[LIG_MAX_DIMS];
        if (!names_.empty()) {
            for (std::size_t i = 0; i < names_.size(); ++i) names[i] = names_[i].c_str();
            array.names = names;
        }
        if (unit_) array.unit = unit_->c_str();
        return function(&array);
    }

private:
    void check_count(std::size_t given, const char *what) const {
        if (given != shape_.size()) {
            throw UsageError(std::to_string(given) + " " + what + " were given for " +
                             std::to_string(shape_.size()) + " dimensions");
        }
    }

    T *data_;
    Extents shape_;
    Order order_;
    std::vector<std::int64_t> strides_;
    std::vector<std::string> names_;
    std::optional<std::string> unit_;
};

// A received array, in the memory into which its sender put it. It is read-only, and valid as long as the
// message or value that contains it.
template <class T>
class ArrayView {
public:
    // The type of an element in memory. A truth value is a byte, since any byte but 0 means true.
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    using value_type = Stored;
    using const_iterator = const Stored *;

    // Throws UnexpectedError if the elements are of another type. Truth values can also be viewed as uint8.
    explicit ArrayView(const lig_array_view &view) : view_(view) {
        const lig_dtype wanted = detail::dtype_of<T>();
        if (view.dtype != wanted && !(view.dtype == LIG_BOOL && wanted == LIG_UINT8)) {
            throw UnexpectedError(std::string("the array's elements are ") + detail::name_of(view.dtype) +
                                  ", not " + detail::name_of(wanted));
        }
    }

    // Number of elements.
    std::size_t size() const noexcept { return static_cast<std::size_t>(view_.length); }
    bool empty() const noexcept { return view_.length == 0; }
    std::size_t ndim() const noexcept { return view_.ndim; }
    Extents shape() const { return Extents(view_.shape, view_.ndim); }
    std::size_t extent(std::size_t dimension) const {
        if (dimension >= view_.ndim)
            throw std::out_of_range("the array has no dimension " + std::to_string(dimension));
        return static_cast<std::size_t>(view_.shape[dimension]);
    }
    Order order() const noexcept { return static_cast<Order>(view_.order); }
    // True if the elements lie next to each other.
    bool contiguous() const noexcept { return view_.contiguous; }
    // Bytes from one element to the next along a dimension.
    std::int64_t stride(std::size_t dimension) const { return view_.strides[dimension]; }

    // The elements in memory order. Throws UsageError if they do not lie next to each other.
    const Stored *data() const {
        if (!view_.contiguous)
            throw UsageError("the array's elements do not lie next to each other; use at(), or to_vector()");
        return static_cast<const Stored *>(view_.data);
    }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + size(); }
    // The same elements as a span, which is valid as long as the view's message.
    Span<const Stored> span() const { return Span<const Stored>(data(), size()); }

    // An element in memory order, for elements that lie next to each other. The index is not checked.
    T operator[](std::size_t index) const { return read(static_cast<std::int64_t>(index * sizeof(Stored))); }

    // An element by one index for each dimension. The indices are not checked.
    template <class... Index>
    T operator()(Index... index) const {
        return read(offset(std::array<std::size_t, sizeof...(Index)>{static_cast<std::size_t>(index)...}));
    }

    // An element by one index for each dimension. Throws std::out_of_range.
    template <class... Index>
    T at(Index... index) const {
        const std::array<std::size_t, sizeof...(Index)> indices{static_cast<std::size_t>(index)...};
        if (indices.size() != view_.ndim) {
            throw std::out_of_range(std::to_string(indices.size()) + " indices were given for " +
                                    std::to_string(view_.ndim) + " dimensions");
        }
        for (std::size_t i = 0; i < indices.size(); ++i) {
            if (indices[i] >= view_.shape[i]) {
                throw std::out_of_range("index " + std::to_string(indices[i]) + " of dimension " +
                                        std::to_string(i) + " is beyond its extent " +
                                        std::to_string(view_.shape[i]));
            }
        }
        return read(offset(indices));
    }

    // A copy of the elements; the last index runs fastest.
    std::vector<T> to_vector() const {
        std::vector<T> elements;
        elements.reserve(size());
        std::array<std::size_t, LIG_MAX_DIMS> index{};
        for (std::size_t count = size(); count > 0; --count) {
            elements.push_back(read(offset(index)));
            for (std::size_t axis = view_.ndim; axis-- > 0;) {
                if (++index[axis] < view_.shape[axis]) break;
                index[axis] = 0;
            }
        }
        return elements;
    }

    // The array in the form of the C interface.
    const lig_array_view &raw() const noexcept { return view_; }

private:
    template <std::size_t Count>
    std::int64_t offset(const std::array<std::size_t, Count> &index) const {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < Count && i < view_.ndim; ++i) {
            bytes += static_cast<std::int64_t>(index[i]) * view_.strides[i];
        }
        return bytes;
    }

    T read(std::int64_t bytes) const {
        Stored stored;  // copied, because strides need not keep the elements aligned
        std::memcpy(static_cast<void *>(&stored), static_cast<const char *>(view_.data) + bytes, sizeof stored);
        return static_cast<T>(stored);
    }

    lig_array_view view_;
};

}  // namespace ligament

#endif
