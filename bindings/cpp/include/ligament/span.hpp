// Spans: elements that lie next to each other and belong to someone else. With C++20, this is std::span.
#ifndef LIGAMENT_SPAN_HPP
#define LIGAMENT_SPAN_HPP

#include <cstddef>
#include <type_traits>
#include <utility>

#if __cplusplus >= 202002L
#include <span>
#endif

namespace ligament {

#if __cplusplus >= 202002L

template <class T>
using Span = std::span<T>;

#else

// The part of std::span that is needed here.
template <class T>
class Span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    // Makes a span of a std::vector, a std::array, or another span.
    template <
        class Sequence,
        std::enable_if_t<std::is_convertible_v<
                             std::remove_pointer_t<decltype(std::declval<Sequence &>().data())> (*)[], T (*)[]>,
                         int> = 0>
    constexpr Span(Sequence &&sequence) : data_(sequence.data()), size_(sequence.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](std::size_t index) const { return data_[index]; }
    constexpr T &front() const { return data_[0]; }
    constexpr T &back() const { return data_[size_ - 1]; }
    constexpr iterator begin() const noexcept { return data_; }
    constexpr iterator end() const noexcept { return data_ + size_; }

    // The part that begins at an offset, with `count` elements or all that follow.
    constexpr Span subspan(std::size_t offset) const { return Span(data_ + offset, size_ - offset); }
    constexpr Span subspan(std::size_t offset, std::size_t count) const { return Span(data_ + offset, count); }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

#endif

}  // namespace ligament

#endif
