// The order of a controller to a gate or pump: 0 is shut or still, 1 is open or at full speed.
#pragma once
#include <ligament/ligament.hpp>

#include <limits>

// An order holds until the next one. A structure without a controller stays open.
class Order {
public:
 explicit Order(ligament::Instance &instance) : instance_(instance), obeys_(instance.is_connected("order")) {}

 double at(double time) {
     if (obeys_ && time > next_) {
         const ligament::Message order = instance_.receive("order");
         opening_ = order.data().as<double>();
         next_ = order.has_next_timestamp() ? order.next_timestamp() : std::numeric_limits<double>::infinity();
     }
     return opening_;
 }

    // The order in force, for a checkpoint.
    double opening() const { return opening_; }
    double next() const { return next_; }
    void restore(double opening, double next) {
        opening_ = opening;
        next_ = next;
    }

private:
    ligament::Instance &instance_;
    const bool obeys_;
    double opening_ = 1.0;
    double next_ = -std::numeric_limits<double>::infinity();
};
