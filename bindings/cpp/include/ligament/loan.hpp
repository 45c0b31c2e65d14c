// Loans: memory for an array that the code fills in place. The receiver of a large array reads it there.
#ifndef LIGAMENT_LOAN_HPP
#define LIGAMENT_LOAN_HPP

#include "message.hpp"
#include "uncaught.hpp"

namespace ligament {

namespace detail {

struct FreeInstance {
    void operator()(lig_instance *instance) const noexcept {
        Uncaught::forget(instance);
        lig_instance_free(instance);
    }
};

}  // namespace detail

// An array in memory that its receiver reads in place: fill it, then give it to Instance::send. It can be
// moved. A loan that is not sent is given back. Its elements lie next to each other, and new memory holds
// arbitrary bytes.
template <class T>
class Loan {
public:
    Loan(Loan &&other) noexcept
        : instance_(std::move(other.instance_)), loan_(std::exchange(other.loan_, nullptr)), data_(other.data_),
          size_(other.size_), shape_(other.shape_), order_(other.order_) {}
    Loan &operator=(Loan &&other) noexcept {
        Loan taken(std::move(other));
        std::swap(instance_, taken.instance_);
        std::swap(loan_, taken.loan_);
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        std::swap(shape_, taken.shape_);
        std::swap(order_, taken.order_);
        return *this;
    }
    ~Loan() {
        if (!loan_) return;
        const std::shared_ptr<lig_instance> instance = instance_.lock();
        lig_loan_free(instance.get(), loan_);
    }

    T *data() noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    const Extents &shape() const noexcept { return shape_; }
    T *begin() noexcept { return data_; }
    T *end() noexcept { return data_ + size_; }
    // The elements in memory order, until the loan is sent.
    Span<T> span() noexcept { return Span<T>(data_, size_); }

    // An element in memory order. The index is not checked.
    T &operator[](std::size_t index) { return data_[index]; }

    // An element by one index for each dimension. The indices are not checked.
    template <class... Index>
    T &operator()(Index... index) {
        return data_[place(std::array<std::size_t, sizeof...(Index)>{static_cast<std::size_t>(index)...})];
    }

    // An element by one index for each dimension. Throws std::out_of_range.
    template <class... Index>
    T &at(Index... index) {
        const std::array<std::size_t, sizeof...(Index)> indices{static_cast<std::size_t>(index)...};
        bool within = indices.size() == shape_.size();
        for (std::size_t i = 0; within && i < indices.size(); ++i) within = indices[i] < shape_[i];
        if (!within)
            throw std::out_of_range(
                "an index is beyond the loan's shape, or there are not as many as dimensions");
        return data_[place(indices)];
    }

private:
    friend class Instance;

    Loan(const std::shared_ptr<lig_instance> &instance, const Extents &shape, Order order, lig_loan *loan,
         void *data)
        : instance_(instance),
          loan_(loan),
          data_(static_cast<T *>(data)),
          size_(1),
          shape_(shape),
          order_(order) {
        for (const std::size_t extent : shape) size_ *= extent;
    }

    template <std::size_t Count>
    std::size_t place(const std::array<std::size_t, Count> &index) const {
        std::size_t at = 0;
        for (std::size_t i = 0; i < Count && i < shape_.size(); ++i) {
            const std::size_t axis = order_ == Order::row_major ? i : Count - 1 - i;
            at = at * shape_[axis] + index[axis];
        }
        return at;
    }

    std::weak_ptr<lig_instance> instance_;
    lig_loan *loan_;
    T *data_;
    std::size_t size_;
    Extents shape_;
    Order order_;
};

}  // namespace ligament

#endif
