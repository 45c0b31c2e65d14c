// Values: received ones, borrowed (ValueView), and those that are built to be sent (Value).
#ifndef LIGAMENT_VALUE_HPP
#define LIGAMENT_VALUE_HPP

#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "array.hpp"

namespace ligament {

// The kinds of values.
enum class Kind : std::int32_t {
    none = LIG_KIND_NONE,
    boolean = LIG_KIND_BOOL,
    integer = LIG_KIND_INT,
    // An integer above the largest int64.
    large_integer = LIG_KIND_UINT,
    number = LIG_KIND_FLOAT,
    complex = LIG_KIND_COMPLEX,
    string = LIG_KIND_STRING,
    bytes = LIG_KIND_BYTES,
    list = LIG_KIND_LIST,
    map = LIG_KIND_MAP,
    array = LIG_KIND_ARRAY,
    settings = LIG_KIND_SETTINGS,
};

// Bytes that are stored elsewhere.
struct Bytes {
    const void *data = nullptr;
    std::size_t size = 0;
};

class Value;

namespace detail {

// The message of a value, which errors name; none for a value that was built.
struct Origin {
    const lig_message *message = nullptr;

    // Calls a function. If the function finds something unexpected, the error also names the origin.
    template <class Function>
    void named(Function function) const {
        if (!message) return function();
        try {
            function();
        } catch (const UnexpectedError &error) {
            lig_string words;
            lig_message_origin(message, &words);
            throw UnexpectedError("in the message on " + text_of(words) + ": " + error.what());
        }
    }
};

// The elements of a std::vector<bool>, which stores eight in a byte, as an array stores them.
class Truths {
public:
 explicit Truths(const std::vector<bool> &truths) : data_(new bool[truths.size() + 1]), size_(truths.size()) {
     for (std::size_t i = 0; i < size_; ++i) data_[i] = truths[i];
 }
    ArrayRef<const bool> array() const { return ArrayRef<const bool>(data_.get(), {size_}); }

private:
    std::unique_ptr<bool[]> data_;
    std::size_t size_;
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::bool_constant<is_element<T>> {};

}  // namespace detail

// A borrowed value: valid as long as the message or value that contains it.
class ValueView {
public:
    explicit ValueView(const lig_value *value, detail::Origin origin = {}) : value_(value), origin_(origin) {}

    Kind kind() const { return static_cast<Kind>(lig_value_kind(value_)); }
    bool is_none() const { return kind() == Kind::none; }

    // The value as T: bool, an integer (which must fit), double or float, std::complex<double>, std::string,
    // std::string_view or Bytes (both in the value's memory), or std::vector of elements (a copy of an array of
    // one dimension). Throws UnexpectedError if it is something else.
    template <class T>
    T as() const {
        if constexpr (std::is_same_v<T, bool>) {
            return get<bool>(lig_value_bool);
        } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
            const auto integer = get<std::uint64_t>(lig_value_uint);
            if (integer > std::numeric_limits<T>::max()) does_not_fit(std::to_string(integer));
            return static_cast<T>(integer);
        } else if constexpr (std::is_integral_v<T>) {
            const auto integer = get<std::int64_t>(lig_value_int);
            if (integer < std::numeric_limits<T>::min() || integer > std::numeric_limits<T>::max()) {
                does_not_fit(std::to_string(integer));
            }
            return static_cast<T>(integer);
        } else if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(get<double>(lig_value_float));
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
            double real, imaginary;
            origin_.named([&] { detail::call(lig_value_complex, value_, &real, &imaginary); });
            return {real, imaginary};
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
            const auto text = get<lig_string>(lig_value_string);
            return T(text.data, text.size);
        } else if constexpr (detail::IsVector<T>::value) {
            return array<typename T::value_type>({any}).to_vector();
        } else {
            static_assert(std::is_same_v<T, Bytes>, "a value cannot be read as this type; see the comment");
            Bytes bytes;
            origin_.named([&] { detail::call(lig_value_bytes, value_, &bytes.data, &bytes.size); });
            return bytes;
        }
    }

    // The number of items of a list or map.
    std::size_t size() const { return get<std::size_t>(lig_value_count); }

    // An item of a list, or the value of an entry of a map, by number.
    ValueView at(std::size_t index) const {
        const lig_value *item;
        origin_.named([&] { detail::call(lig_value_at, value_, index, &item); });
        return ValueView(item, origin_);
    }

    // The value under a key of a map. Throws UnexpectedError if there is no such key.
    ValueView at(const std::string &key) const {
        const auto item = find(key);
        origin_.named([&] {
            if (!item) throw UnexpectedError("the map has no key \"" + key + "\"");
        });
        return *item;
    }

    // The value under a key of a map, if there is one.
    std::optional<ValueView> find(const std::string &key) const {
        const lig_value *item;
        origin_.named([&] { detail::call(lig_value_find, value_, key.c_str(), &item); });
        return item ? std::optional<ValueView>(ValueView(item, origin_)) : std::nullopt;
    }

    // The key of an entry of a map, by number.
    std::string_view key(std::size_t index) const {
        lig_string text;
        detail::call(lig_value_key, value_, index, &text);
        return {text.data, text.size};
    }

    // An array, in place. Throws UnexpectedError if it is no array, or its elements are no T.
    template <class T>
    ArrayView<T> array() const {
        return expected<T>(nullptr);
    }

    // Does the same for an array of this shape; an extent that is `any` may have any value.
    template <class T>
    ArrayView<T> array(const Extents &shape) const {
        return expected<T>(&shape);
    }

    // The type of an array's elements.
    lig_dtype dtype() const { return get<lig_array_view>(lig_value_array).dtype; }

    // The name of an array's dimension; empty if it has none.
    std::string array_name(std::size_t dimension) const {
        lig_string text;
        detail::call(lig_value_array_name, value_, static_cast<std::uint32_t>(dimension), &text);
        return detail::text_of(text);
    }

    // The unit of an array's elements, if they have one.
    std::optional<std::string> array_unit() const {
        const auto text = get<lig_string>(lig_value_array_unit);
        return text.data ? std::optional<std::string>(detail::text_of(text)) : std::nullopt;
    }

    // Settings as a map.
    Value settings() const;

    // A copy that can be kept. Arrays and bytes are shared, not copied.
    Value copy() const;

    // The value in the form of the C interface.
    const lig_value *raw() const noexcept { return value_; }

private:
    template <class T, class Function>
    T get(Function function) const {
        T result;
        origin_.named([&] { detail::call(function, value_, &result); });
        return result;
    }

    template <class T>
    ArrayView<T> expected(const Extents *shape) const {
        lig_expected wanted{};
        wanted.size = sizeof wanted;
        wanted.dtype = detail::dtype_of<T>();
        if constexpr (std::is_same_v<T, std::uint8_t>) {  // truth values can also be viewed as uint8
            if (kind() == Kind::array && dtype() == LIG_BOOL) wanted.dtype = LIG_BOOL;
        }
        if (shape) {
            wanted.has_shape = true;
            wanted.ndim = static_cast<std::uint32_t>(shape->size());
            for (std::size_t i = 0; i < shape->size(); ++i)
                wanted.shape[i] = static_cast<std::int64_t>((*shape)[i]);
        }
        lig_array_view view;
        detail::call(lig_expect_array, origin_.message, value_, &wanted, &view);
        return ArrayView<T>(view);
    }

    void does_not_fit(const std::string &integer) const {
        origin_.named([&] {
            throw UnexpectedError("the integer " + integer + " does not fit the type that was asked for");
        });
    }

    const lig_value *value_;
    detail::Origin origin_;
};

// A value that was built, to be sent or put into another one. It can be moved; copy() makes a copy.
class Value {
public:
    // A value without contents.
    Value() : Value(lig_value_new_none(), Adopt()) {}
    Value(std::nullptr_t) : Value() {}

    // A truth value, an integer, a number. (A template, so that no pointer is taken for a truth value.)
    template <class T, std::enable_if_t<std::is_arithmetic_v<T> && !detail::is_character<T>, int> = 0>
    Value(T value) : Value(made(value), Adopt()) {}
    Value(std::complex<double> value) : Value(lig_value_new_complex(value.real(), value.imag()), Adopt()) {}

    // A copy of a text. Throws UsageError if it is not UTF-8.
    Value(std::string_view text) : Value(lig_value_new_string(text.data(), text.size()), Adopt()) {
        if (!value_) throw UsageError("a text to be sent is not UTF-8");
    }
    Value(const std::string &text) : Value(std::string_view(text)) {}
    Value(const char *text) : Value(std::string_view(text)) {}

    // A copy of bytes.
    Value(Bytes bytes) : Value(lig_value_new_bytes(bytes.data, bytes.size), Adopt()) {
        if (!value_) throw UsageError("bytes to be sent are at no address");
    }

    // A copy of an array.
    template <class T>
    Value(const ArrayRef<T> &array) : Value(of(array, lig_value_new_array), Adopt()) {}

    // A copy of an array of one dimension.
    template <class T, std::enable_if_t<detail::is_element<T> && !std::is_same_v<T, bool>, int> = 0>
    Value(const std::vector<T> &elements) : Value(ArrayRef<const T>(elements.data(), {elements.size()})) {}
    template <class T, std::enable_if_t<detail::is_element<std::remove_const_t<T>>, int> = 0>
    Value(Span<T> elements) : Value(ArrayRef<const T>(elements.data(), {elements.size()})) {}
    Value(const std::vector<bool> &truths) : Value(detail::Truths(truths).array()) {}

    // An array over the caller's memory, which must stay unchanged until this value, and everything that
    // contains it, is gone.
    template <class T>
    static Value borrowed(const ArrayRef<T> &array) {
        return Value(of(array, lig_value_new_array_borrowed), Adopt());
    }

    // A list of the arguments: Value::list(1, "two", 3.0).
    template <class... Items>
    static Value list(Items &&...items) {
        Value made(lig_value_new_list(), Adopt());
        (made.append(Value(std::forward<Items>(items))), ...);
        return made;
    }

    // An empty map: Value::map().set("a", 1).set("b", "two").
    static Value map() { return Value(lig_value_new_map(), Adopt()); }

    // Settings, made from a map. They can be sent to a muscle_settings_in port.
    static Value settings(const Value &map) {
        lig_value *made;
        detail::call(lig_value_new_settings, static_cast<const lig_value *>(map.value_.get()), &made);
        return Value(made, Adopt());
    }

    // Adds an item at the end of a list.
    Value &append(Value item) & {
        detail::call(lig_value_append, value_.get(), item.value_.release());
        return *this;
    }
    Value &&append(Value item) && { return std::move(append(std::move(item))); }

    // Sets the item under a key of a map, in place of an earlier one.
    Value &set(const std::string &key, Value item) & {
        detail::call(lig_value_set, value_.get(), key.c_str(), item.value_.release());
        return *this;
    }
    Value &&set(const std::string &key, Value item) && { return std::move(set(key, std::move(item))); }

    // The value, for reading.
    ValueView view() const & { return ValueView(value_.get()); }
    ValueView view() const && = delete;

    // A copy of this value. Arrays and bytes are shared, not copied.
    Value copy() const { return ValueView(value_.get()).copy(); }

    // The value in the form of the C interface.
    const lig_value *raw() const noexcept { return value_.get(); }

private:
    friend class ValueView;
    struct Adopt {};
    struct Free {
        void operator()(lig_value *value) const noexcept { lig_value_free(value); }
    };

    Value(lig_value *value, Adopt) : value_(value) {}

    template <class T>
    static lig_value *made(T value) {
        if constexpr (std::is_same_v<T, bool>) return lig_value_new_bool(value);
        else if constexpr (std::is_floating_point_v<T>) return lig_value_new_float(static_cast<double>(value));
        else if constexpr (std::is_unsigned_v<T>) return lig_value_new_uint(value);
        else return lig_value_new_int(value);
    }

    template <class T, class Function>
    static lig_value *of(const ArrayRef<T> &array, Function function) {
        lig_value *made;
        array.lend([&](const lig_array *lent) { detail::call(function, lent, &made); });
        return made;
    }

    std::unique_ptr<lig_value, Free> value_;
};

inline Value ValueView::copy() const {
    lig_value *made;
    detail::call(lig_value_copy, value_, &made);
    return Value(made, Value::Adopt());
}

inline Value ValueView::settings() const {
    lig_value *made;
    detail::call(lig_value_settings, value_, &made);
    return Value(made, Value::Adopt());
}

}  // namespace ligament

#endif
