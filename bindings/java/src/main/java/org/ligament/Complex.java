package org.ligament;

/**
 * A complex number.
 *
 * @param re the real part
 * @param im the imaginary part
 */
public record Complex(double re, double im) {}
