import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.InstanceFlag;
import org.ligament.Message;
import org.ligament.Settings;

/**
 * The way of an overlay of settings: to the settings port of a component, and further with the messages of that
 * component.
 */
public final class Overlay {
    public static void main(String[] arguments) {
        String role = arguments[0];
        int passes = 0;
        try (Instance instance = role.equals("asker") ? new Instance(null, InstanceFlag.DONT_APPLY_OVERLAY)
                : new Instance()) {
            for (; instance.reuseInstance(); passes++) {
                switch (role) {
                    case "giver" -> {
                        for (int k = 7; k < 9; k++) {
                            instance.send("settings", 0.0,
                                    new Settings(Map.of("k", k, "l", List.of(1, 2.5), "t", "text")));
                        }
                    }
                    case "taker" -> {
                        Check.equal(instance.getSettingInt("k"), 7 + passes);
                        Check.equal(instance.getSettingDoubles("l"), new double[] {1, 2.5});
                        instance.send("out", 0.0, passes);
                    }
                    default -> {
                        try (Message message = instance.receive("in")) {
                            Check.equal(message.settings().at("k").asLong(), 7L + passes);
                            Check.equal(message.settings().asMap().get("l"), List.of(1.0, 2.5));
                            Check.equal(instance.getSettingInt("k"), 1);
                        }
                    }
                }
            }
        }
        Check.equal(passes, role.equals("giver") ? 1 : 2);
    }
}
