// Messages that carry settings. "client" sends each request with other settings. "worker" computes with these
// settings. "server" passes each message on with the settings that came with it.
#include "check.hpp"

using namespace ligament;

static std::int64_t k_of(const Message &message) { return message.settings()->at("k").as<std::int64_t>(); }

static void ask(Instance &instance, int request) {
    Value settings = Value::map().set("k", request % 2 + 10);
    if (request % 2) settings = Value::settings(settings);
    if (request == 0) {
        const Message message = Message(Times(request), request).with_settings(settings.copy());
        HOLDS(k_of(message) == 10);
        instance.send("requests", message);
    } else if (request == 1) {
        instance.send("requests", request, request, {}, settings);
    } else if (request == 2) {
        instance.send("requests", request, {request}, {}, settings);
    } else {
        auto loan = instance.loan<int>({1});
        loan[0] = request;
        instance.send("requests", request, std::move(loan), {}, settings);
    }
    const Message answer = instance.receive("answers");
    HOLDS(k_of(answer) == request % 2 + 10);
    HOLDS(answer.data().as<int>() == request + 100 * (request % 2 + 10));
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    const std::string role = argv[1];
    Instance instance(role == "client" ? Ports{{Operator::O_I, {"requests"}}, {Operator::S, {"answers"}}}
                                       : Ports{{Operator::F_INIT, {"in"}}, {Operator::O_F, {"out"}}},
                      role == "worker" ? Flags::none : Flags::dont_apply_overlay);
    while (instance.reuse_instance()) {
        if (role == "client") {
            for (int request = 0; request < 4; ++request) ask(instance, request);
            continue;
        }
        const Message message = instance.receive("in");
        if (role == "server") {
            instance.send("out", message);
        } else {
            HOLDS(!message.settings());
            const int number =
                message.data().kind() == Kind::array ? message.array<int>()[0] : message.data().as<int>();
            instance.send("out", message.times(), number + 100 * instance.get_setting_as<int>("k"));
        }
    }
}
