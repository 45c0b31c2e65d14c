package muscle.core.kernel;

import java.io.File;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import muscle.core.CxADescription;
import muscle.core.Session;

/** Name, settings and log of an instance. */
public abstract class Module {
    private Logger logger;

    /** The name of the instance. */
    public String getLocalName() {
        return Session.current().name();
    }

    /** The folder of the instance in the run directory. It is the working directory. */
    public String getTmpPath() {
        return new File("").getAbsolutePath();
    }

    /** Called before the ports are added. */
    public void beforeExecute() {}

    /** A logger whose lines go to the run's log. */
    public Logger getLogger() {
        if (logger == null) {
            logger = Logger.getLogger(getClass().getName());
            logger.setUseParentHandlers(false);
            logger.setLevel(Level.ALL);
            logger.addHandler(new RunLog());
        }
        return logger;
    }

    /** Writes a line into the run's log, as information. */
    protected void log(String text) {
        log(text, Level.INFO);
    }

    /** Writes a line into the run's log. SEVERE is an error; below CONFIG, a line is for debugging. */
    protected void log(String text, Level level) {
        Session.current().log(level, text);
    }

    /** True if there is a setting, of this instance or of all. */
    public boolean hasProperty(String name) {
        return CxADescription.ONLY.hasProperty(name);
    }

    /** Same as hasProperty. */
    public boolean hasInstanceProperty(String name) {
        return hasProperty(name);
    }

    /** Same as hasProperty. */
    public boolean hasGlobalProperty(String name) {
        return hasProperty(name);
    }

    /** A setting as a text. A setting that is not there is a NoSuchElementException, here and below. */
    public String getProperty(String name) {
        return CxADescription.ONLY.getProperty(name);
    }

    /** A setting as Boolean, Long, Double, String, {@code long[]} or {@code double[]}. */
    public Object getRawProperty(String name) {
        return CxADescription.ONLY.getRawProperty(name);
    }

    /** A setting that is a whole number. Another one is an IllegalArgumentException, here and below. */
    public int getIntProperty(String name) {
        return CxADescription.ONLY.getIntProperty(name);
    }

    /** A setting that is a number. */
    public double getDoubleProperty(String name) {
        return CxADescription.ONLY.getDoubleProperty(name);
    }

    /** A setting that is a truth value. */
    public boolean getBooleanProperty(String name) {
        return CxADescription.ONLY.getBooleanProperty(name);
    }

    /** A setting that is the name of a file. */
    public File getPathProperty(String name) {
        return CxADescription.ONLY.getPathProperty(name);
    }

    /** Same as getProperty. */
    public String getGlobalProperty(String name) {
        return getProperty(name);
    }

    /** Same as getIntProperty. */
    public int getGlobalIntProperty(String name) {
        return getIntProperty(name);
    }

    /** Same as getDoubleProperty. */
    public double getGlobalDoubleProperty(String name) {
        return getDoubleProperty(name);
    }

    /** Same as getBooleanProperty. */
    public boolean getGlobalBooleanProperty(String name) {
        return getBooleanProperty(name);
    }

    /** Same as getPathProperty. */
    public File getGlobalPathProperty(String name) {
        return getPathProperty(name);
    }

    /** Takes the lines of a logger to the run's log. */
    private static final class RunLog extends Handler {
        @Override
        public void publish(LogRecord record) {
            String text = new SimpleFormatter().formatMessage(record);
            Throwable thrown = record.getThrown();
            Session.current().log(record.getLevel(), thrown == null ? text : text + ": " + thrown);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
