// Grids: one structured grid whose blocks are the instances, or the ranks, of a component.
#ifndef LIGAMENT_GRID_HPP
#define LIGAMENT_GRID_HPP

#include "instance.hpp"

namespace ligament {

// The number of a field in its domain.
enum class Field : std::uint32_t {};

// The part of a grid that this instance or rank has: one block. The model says under `grids:` how many points
// the grid has, and into how many blocks it is divided. It must end before its instance.
class Domain {
public:
    // Throws UsageError if the model gives the component no grid.
    explicit Domain(Instance &instance) {
        lig_domain *made;
        detail::call(lig_domain_create, instance.raw(), &made);
        handle_.reset(made);
    }

    // The number of points of the whole grid along each axis.
    std::vector<std::uint64_t> shape() const { return numbers(lig_domain_shape); }
    // The index of this block's first point along each axis, counted from 0.
    std::vector<std::uint64_t> begin_point() const { return numbers(lig_domain_begin_point); }
    // The index after this block's last point along each axis, counted from 0.
    std::vector<std::uint64_t> end_point() const { return numbers(lig_domain_end_point); }
    // The number of blocks along each axis.
    std::vector<std::uint64_t> blocks() const { return numbers(lig_domain_blocks); }
    // The number of this block, from 0; the last axis runs fastest.
    std::uint32_t block() const { return lig_domain_block(handle_.get()); }

    // The number of elements of an array of a block with its ghosts.
    std::size_t elements(std::size_t ghosts) const {
        std::size_t all = 1;
        for (std::size_t length : lengths(ghosts)) all *= length;
        return all;
    }

    // Adds a field, which has `ghosts` points beyond the block at each side. `data` has the block with its
    // ghosts:
    // `elements(ghosts)` elements in `order`. It stays where it is, and shares no memory with another field.
    // Throws UsageError if the name is taken, or if a block is narrower than the ghosts.
    template <class T>
    Field add_field(Name name, T *data, std::size_t ghosts, Name unit = "", Order order = Order::row_major) {
        lig_array array{};
        const std::vector<std::size_t> shape = lengths(ghosts);
        array.dtype = detail::dtype_of<T>();
        array.ndim = static_cast<std::uint32_t>(shape.size());
        array.order = static_cast<lig_order>(order);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) array.shape[axis] = shape[axis];
        array.data = data;
        array.unit = unit.text;
        std::uint32_t field;
        detail::call(lig_domain_add_field, handle_.get(), name.text, ghosts, &array, &field);
        types_.push_back(array.dtype);
        names_.push_back(name.text);
        return static_cast<Field>(field);
    }
    // Gives a field another array, of the same type, shape and order. Throws UsageError if the type is another.
    template <class T>
    void set_data(Field field, T *data) {
        const auto number = static_cast<std::size_t>(field);
        if (number < types_.size() && types_[number] != detail::dtype_of<T>()) {
            throw UsageError("the array of the field \"" + names_[number] + "\" has the type " +
                             lig_dtype_name(detail::dtype_of<T>()) + ", and the field was added with " +
                             lig_dtype_name(types_[number]));
        }
        detail::call(lig_domain_set_data, handle_.get(), static_cast<std::uint32_t>(field),
                     static_cast<void *>(data));
    }
    // Says in which direction the values of a field travel: -1, 0 or 1 along each axis, as in a lattice
    // Boltzmann code. An exchange then fills only the ghosts from which a value comes into the block in this
    // direction, and leaves those at other sides between blocks as they are. All blocks give the same
    // directions. Throws UsageError if the direction is none of this grid's, or if an exchange has begun.
    void set_direction(Field field, const std::vector<std::int32_t> &direction) {
        if (direction.size() != lig_domain_ndim(handle_.get())) {
            throw UsageError("the direction of a field has a number for each axis of the grid, which has " +
                             std::to_string(lig_domain_ndim(handle_.get())) + "; give -1, 0 or 1 for each");
        }
        detail::call(lig_domain_set_direction, handle_.get(), static_cast<std::uint32_t>(field),
                     direction.data());
    }

    // Fills the ghosts of fields with the points of the neighbouring blocks, at corners too. All blocks make
    // the same calls. Beyond a periodic or mirrored edge of the grid, ghosts are filled too; beyond other edges
    // they stay as they are. `time` is the model time of the fields. Throws UnexpectedError if a neighbour
    // exchanges other fields, or is at another time.
    void exchange(double time, const std::vector<Field> &fields) {
        detail::call(lig_domain_exchange, handle_.get(), time, raw(fields), fields.size());
    }
    // Begins an exchange: sends, and does not wait while the budgets of the conduits last. Until `end`, the
    // code can do work that needs no ghosts.
    void begin(double time, const std::vector<Field> &fields) {
        detail::call(lig_domain_begin, handle_.get(), time, raw(fields), fields.size());
    }
    // Ends the exchange that `begin` has begun, with the same fields: fills their ghosts.
    void end(const std::vector<Field> &fields) {
        detail::call(lig_domain_end, handle_.get(), raw(fields), fields.size());
    }

    // Shows a field to the taps of the port with the field's name, at the time of its last exchange. No conduit
    // is connected to this port, and without a tap nothing is copied or computed. A block calls this after an
    // exchange, before the points of the field change. Throws UsageError if the field was in no exchange yet.
    void publish(Field field) {
        detail::call(lig_domain_publish, handle_.get(), static_cast<std::uint32_t>(field));
    }

    // The exact sum of all numbers that all blocks give, rounded once, so it does not depend on the blocks.
    double sum(const std::vector<double> &values) { return reduced(lig_domain_sum, values); }
    // The smallest of all numbers that all blocks give; NaN if one of them is NaN.
    double min(const std::vector<double> &values) { return reduced(lig_domain_min, values); }
    // The largest of all numbers that all blocks give; NaN if one of them is NaN.
    double max(const std::vector<double> &values) { return reduced(lig_domain_max, values); }

private:
    struct Free {
        void operator()(lig_domain *domain) const { lig_domain_free(domain); }
    };
    std::unique_ptr<lig_domain, Free> handle_;
    // The type of the elements and the name of each field.
    std::vector<lig_dtype> types_;
    std::vector<std::string> names_;

    std::vector<std::uint64_t> numbers(const std::uint64_t *(*of)(const lig_domain *)) const {
        const std::uint64_t *first = of(handle_.get());
        return std::vector<std::uint64_t>(first, first + lig_domain_ndim(handle_.get()));
    }
    std::vector<std::size_t> lengths(std::size_t ghosts) const {
        const std::vector<std::uint64_t> begin = begin_point(), end = end_point();
        std::vector<std::size_t> lengths;
        for (std::size_t axis = 0; axis < begin.size(); ++axis) {
            lengths.push_back(static_cast<std::size_t>(end[axis] - begin[axis]) + 2 * ghosts);
        }
        return lengths;
    }
    static const std::uint32_t *raw(const std::vector<Field> &fields) {
        return reinterpret_cast<const std::uint32_t *>(fields.data());
    }
    double reduced(lig_status (*reduction)(lig_domain *, const double *, std::size_t, double *, lig_error *),
                   const std::vector<double> &values) {
        double result;
        detail::call(reduction, handle_.get(), values.data(), values.size(), &result);
        return result;
    }
};

}  // namespace ligament

#endif
