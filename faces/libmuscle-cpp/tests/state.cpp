// A code that saves its state: `state STEPS FILE`. It makes the calls of checkpoints in the order of a pass,
// and writes where it began and what it knows at the end.
#include <fstream>
#include <libmuscle/libmuscle.hpp>
#include <ymmsl/ymmsl.hpp>

#include "check.hpp"

using libmuscle::Data;
using libmuscle::Instance;
using libmuscle::InstanceFlags;
using libmuscle::Message;
using ymmsl::Operator;

int main(int argc, char *argv[]) {
    Instance instance(argc, argv, InstanceFlags::USES_CHECKPOINT_API);
    while (instance.reuse_instance()) {
        double time = -1.0, sum = -1.0;
        if (instance.resuming()) {
            Message const saved = instance.load_snapshot();
            time = saved.timestamp();
            sum = saved.data()["sum"].as<double>();
            CHECK(saved.settings().size() == (time == 2.0 ? 1u : 0u));
            if (time == 2.0) CHECK(saved.settings().at("sum") == ymmsl::SettingValue(sum));
        }
        if (instance.should_init()) time = sum = 0.0;
        double const began = time;
        CHECK_THROWS(instance.resuming(), std::runtime_error, "should_save_snapshot");
        while (time < std::stod(argv[1])) {
            time += 1.0;
            sum += time;
            if (!instance.should_save_snapshot(time)) continue;
            ymmsl::Settings overlay;
            overlay["sum"] = sum;
            instance.save_snapshot(Message(time, Data::dict("sum", sum), overlay));
        }
        if (instance.should_save_final_snapshot()) {
            instance.save_final_snapshot(Message(time, Data::dict("sum", sum)));
        }
        std::ofstream(argv[2]) << began << " " << sum << (failures ? " failures" : "") << "\n";
    }
    return failures != 0;
}
