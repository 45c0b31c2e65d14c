package muscle.core;

import java.io.File;

/** The settings of the model, as this instance sees them: its own ones before those of all. */
public enum CxADescription {
    /** The settings of this program's model. */
    ONLY;

    /** True if there is a setting. */
    public boolean hasProperty(String name) {
        return Session.current().settings().find(name).isPresent();
    }

    /** A setting as a text. */
    public String getProperty(String name) {
        return Session.current().settings().text(name);
    }

    /** A setting as Boolean, Long, Double, String, {@code long[]} or {@code double[]}. */
    public Object getRawProperty(String name) {
        return Session.current().settings().get(name);
    }

    /** A setting that is a whole number, or a text of one. */
    public int getIntProperty(String name) {
        return Session.current().settings().wholeNumber(name);
    }

    /** A setting that is a number, or a text of one. */
    public double getDoubleProperty(String name) {
        return Session.current().settings().number(name);
    }

    /** A setting that is a truth value, or "true" or "false". */
    public boolean getBooleanProperty(String name) {
        return Session.current().settings().truth(name);
    }

    /** A setting that is the name of a file. */
    public File getPathProperty(String name) {
        return new File(getProperty(name));
    }
}
