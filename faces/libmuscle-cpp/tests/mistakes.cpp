// Each call makes a mistake, and the kind and the text of the exception are looked at.
#include <libmuscle/libmuscle.hpp>
#include <typeinfo>
#include <ymmsl/ymmsl.hpp>

#include "check.hpp"

using libmuscle::Data;
using libmuscle::Instance;
using libmuscle::InstanceFlags;
using libmuscle::Message;
using ymmsl::Operator;

int main(int argc, char *argv[]) {
    Instance one(argc, argv, {{Operator::F_INIT, {"start"}}, {Operator::O_I, {"out", "many[]"}}});
    Message const message(0.0, Data(1));
    CHECK(one.reuse_instance());
    CHECK_THROWS((one.send("nowhere", message), 0), std::logic_error, "\"nowhere\"");
    CHECK_THROWS((one.send("start", message), 0), std::logic_error, "\"start\"");
    CHECK_THROWS(one.receive("out"), std::logic_error, "\"out\"");
    CHECK_THROWS(one.receive("out", message), std::logic_error, "\"out\"");
    CHECK_THROWS(one.receive("nowhere", message), std::logic_error, "\"nowhere\"");
    CHECK_THROWS(one.receive("start"), std::runtime_error, "\"start\"");
    CHECK_THROWS(one.receive_with_settings("start"), std::runtime_error, "\"start\"");
    CHECK_THROWS((one.send("out", message, 0), 0), std::logic_error, "\"out\"");
    CHECK_THROWS((one.send("many", message), 0), std::logic_error, "\"many\"");
    CHECK_THROWS((one.send("many", message, 2), 0), std::logic_error, "\"many\"");
    CHECK_THROWS((one.send("many", message, -1), 0), std::logic_error, "no slot -1");
    CHECK_THROWS(one.get_setting("unset"), std::out_of_range, "\"unset\" is not set");
    CHECK_THROWS(one.get_setting_as<double>("unset"), std::out_of_range, "\"unset\" is not set");
    CHECK_THROWS(one.get_setting_as<std::int64_t>("text"), std::bad_cast, "setting \"text\"");
    CHECK_THROWS(one.get_setting_as<std::string>("whole"), std::bad_cast, "the integer 3, not a text");
    CHECK(one.get_setting_as<double>("whole") == 3.0 && one.get_setting_as<double>("unset", 2.0) == 2.0);
    CHECK_THROWS(one.is_connected("nowhere"), std::out_of_range, "\"nowhere\"");
    CHECK_THROWS(one.is_vector_port("nowhere"), std::out_of_range, "\"nowhere\"");
    CHECK_THROWS(one.is_resizable("nowhere"), std::out_of_range, "\"nowhere\"");
    CHECK_THROWS(one.get_port_length("nowhere"), std::out_of_range, "\"nowhere\"");
    CHECK_THROWS(one.get_port_length("out"), std::runtime_error, "\"out\"");
    CHECK_THROWS((one.set_port_length("out", 2), 0), std::runtime_error, "\"out\"");
    CHECK_THROWS((one.set_port_length("many", -2), 0), std::runtime_error, "cannot have -2 slots");
    CHECK_THROWS(one.resuming(), std::runtime_error, "InstanceFlags::USES_CHECKPOINT_API");
    CHECK_THROWS((one.save_snapshot(message), 0), std::runtime_error, "InstanceFlags::USES_CHECKPOINT_API");
    Data round = Data::list(1);
    round[0] = round;
    CHECK_THROWS((one.send("out", Message(0.0, round)), 0), std::runtime_error, "does one contain itself?");
    one.error_shutdown("these mistakes were made on purpose");
    CHECK_THROWS((one.send("out", message), 0), std::logic_error, "");
    std::cout << (failures ? "failures" : "all as it should be") << std::endl;
    return failures != 0;
}
