// Views of elements and of texts that somebody else owns.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#if __cplusplus >= 201703L
#include <string_view>
#endif

namespace precice {

// Elements that lie next to each other: a pointer with a count, an array, or a container with data() and
// size().
template <class T>
class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    constexpr span(T *first, T *last) noexcept : data_(first), size_(static_cast<std::size_t>(last - first)) {}
    template <std::size_t Count>
    constexpr span(T (&array)[Count]) noexcept : data_(array), size_(Count) {}
    template <
        class Container,
        class = std::enable_if_t<std::is_convertible<decltype(std::declval<Container &>().data()), T *>::value>,
        class = decltype(std::declval<Container &>().size())>
    constexpr span(Container &&container)
        : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](std::size_t index) const { return data_[index]; }
    constexpr T &front() const { return data_[0]; }
    constexpr T &back() const { return data_[size_ - 1]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr span first(std::size_t count) const { return {data_, count}; }
    constexpr span last(std::size_t count) const { return {data_ + (size_ - count), count}; }
    constexpr span subspan(std::size_t offset, std::size_t count) const { return {data_ + offset, count}; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A text: a literal, or a string.
class string_view : public span<const char> {
public:
    using span<const char>::span;
    string_view(const char *text) noexcept : span<const char>(text, std::strlen(text)) {}
    string_view(const std::string &text) noexcept : span<const char>(text.data(), text.size()) {}
#if __cplusplus >= 201703L
    string_view(std::string_view text) noexcept : span<const char>(text.data(), text.size()) {}
#endif
};

}  // namespace precice
