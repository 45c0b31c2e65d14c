/**
 * Couples a code to others in one model, over the library's C interface and the Foreign Function and Memory
 * API. {@link org.ligament.Instance} is where to begin.
 */
package org.ligament;
