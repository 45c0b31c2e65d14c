package org.ligament;

import java.util.Map;

/**
 * Settings that are sent to a component's port {@code muscle_settings_in}, or that came in a message: truth
 * values, integers, numbers, texts, and lists of them, by name.
 *
 * @param values the settings by name
 */
public record Settings(Map<String, ?> values) {}
