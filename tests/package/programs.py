"""The two codes of the tests, in each language, and the model that joins them: the macro code sends 0, 2, 4,
the micro code answers with squares, whatever the language of each."""

def in_c(ports, step):
    """A code in C that does `step` in each pass of its reuse loop."""
    return f"""#include <ligament.h>
#include <stdio.h>
#include <stdlib.h>
static lig_error error;
static void check(lig_status status) {{
    if (status != LIG_OK) {{ fprintf(stderr, "%s\\n", error.message); exit(1); }}
}}
int main(void) {{
    const lig_port ports[] = {{{ports}}};
    const lig_instance_options options = {{.size = sizeof options, .ports = ports, .port_count = 2}};
    lig_instance *instance;
    bool again;
    check(lig_instance_create(&options, &instance, &error));
    for (check(lig_reuse_instance(instance, &again, &error)); again;
         check(lig_reuse_instance(instance, &again, &error))) {{
{step}    }}
    lig_instance_free(instance);
}}
"""


C = {
    "macro": in_c('{LIG_O_I, "state"}, {LIG_S, "result"}', """        for (int t = 0; t < 3; ++t) {
            const lig_send_options at = {.size = sizeof at, .timestamp = t};
            lig_message *answer;
            double value;
            check(lig_send_float(instance, "state", &at, 2.0 * t, &error));
            check(lig_receive(instance, "result", NULL, &answer, &error));
            check(lig_value_float(lig_message_value(answer), &value, &error));
            lig_message_free(answer);
            printf("%g\\n", value);
        }
"""),
    "micro": in_c('{LIG_F_INIT, "start"}, {LIG_O_F, "end"}', """        lig_message *start;
        double level;
        check(lig_receive(instance, "start", NULL, &start, &error));
        check(lig_value_float(lig_message_value(start), &level, &error));
        lig_message_free(start);
        const lig_send_options at = {.size = sizeof at};
        check(lig_send_float(instance, "end", &at, level * level, &error));
"""),
}

CPP = {
    "macro": """#include <iostream>
#include <ligament/ligament.hpp>
using ligament::Operator;
int main() {
    ligament::Instance instance({{Operator::O_I, {"state"}}, {Operator::S, {"result"}}});
    while (instance.reuse_instance())
        for (int t = 0; t < 3; ++t) {
            instance.send("state", {double(t)}, 2.0 * t);
            const ligament::Message answer = instance.receive("result");
            std::cout << answer.data().as<double>() << '\\n';
        }
}
""",
    "micro": """#include <ligament/ligament.hpp>
using ligament::Operator;
int main() {
    ligament::Instance instance({{Operator::F_INIT, {"start"}}, {Operator::O_F, {"end"}}});
    while (instance.reuse_instance()) {
        const ligament::Message start = instance.receive("start");
        const double level = start.data().as<double>();
        instance.send("end", 0.0, level * level);
    }
}
""",
}

PYTHON = {
    "macro": """from ligament import Instance, Message, Operator
instance = Instance({Operator.O_I: ["state"], Operator.S: ["result"]})
while instance.reuse_instance():
    for t in range(3):
        instance.send("state", Message(float(t), data=2.0 * t))
        print(f"{instance.receive('result').data:g}")
""",
    "micro": """from ligament import Instance, Message, Operator
instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    instance.send("end", Message(0.0, data=instance.receive("start").data ** 2))
""",
}

OUTPUT = "0\n4\n16\n"


def model(macro, micro):
    """A model of two implementations, each given as yMMSL."""
    return f"""ymmsl_version: v0.1
model:
  name: pair
  components:
    macro: {{implementation: macro, ports: {{o_i: state, s: result}}}}
    micro: {{implementation: micro, ports: {{f_init: start, o_f: end}}}}
  conduits:
    macro.state: micro.start
    micro.end: macro.result
implementations:
  macro: {macro}
  micro: {micro}
"""
