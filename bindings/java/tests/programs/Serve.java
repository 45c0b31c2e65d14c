import java.util.List;
import java.util.Map;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.InstanceFlag;
import org.ligament.Kind;
import org.ligament.Loan;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Settings;
import org.ligament.Times;

/**
 * Messages that carry settings: a client, a worker that computes with these settings, and a server that passes
 * messages on.
 */
public final class Serve {
    static long k(Message message) {
        return message.settings().at("k").asLong();
    }

    static void ask(Instance instance, int request) {
        Map<String, Object> settings = Map.of("k", request % 2 + 10);
        Times at = Times.of(request);
        switch (request) {
            case 0 -> instance.sendUnder(settings, "requests", at, request);
            case 1 -> instance.sendUnder(new Settings(settings), "requests", at, request);
            case 2 -> instance.sendUnder(settings, "requests", at, new int[] {request});
            default -> {
                Loan loan = instance.loan(DType.INT32, 1);
                loan.asIntBuffer().put(0, request);
                instance.sendUnder(settings, "requests", at, loan);
            }
        }
        try (Message answer = instance.receive("answers")) {
            Check.equal(k(answer), request % 2 + 10L);
            Check.equal(answer.asInt(), request + 100 * (request % 2 + 10));
            Check.equal(answer.settings().asMap(), Map.of("k", request % 2 + 10L));
        }
    }

    public static void main(String[] arguments) {
        String role = arguments[0];
        Map<Operator, List<String>> ports = role.equals("client")
                ? Map.of(Operator.O_I, List.of("requests"), Operator.S, List.of("answers"))
                : Map.of(Operator.F_INIT, List.of("in"), Operator.O_F, List.of("out"));
        InstanceFlag[] flags = role.equals("worker") ? new InstanceFlag[0]
                : new InstanceFlag[] {InstanceFlag.DONT_APPLY_OVERLAY};
        try (Instance instance = new Instance(ports, flags)) {
            while (instance.reuseInstance()) {
                if (role.equals("client")) {
                    for (int request = 0; request < 4; request++) {
                        ask(instance, request);
                    }
                    continue;
                }
                try (Message message = instance.receive("in")) {
                    if (role.equals("server")) {
                        instance.send("out", message);
                    } else {
                        Check.holds(message.settings() == null);
                        long number = message.value().kind() == Kind.ARRAY ? message.array().getLong(0)
                                : message.asLong();
                        instance.send("out", message.times(), number + 100 * instance.getSettingInt("k"));
                    }
                }
            }
        }
    }
}
