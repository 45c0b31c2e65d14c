/**
 * Couples a code to others in one model, over the library's C interface and the Foreign Function and Memory
 * API. Begin with {@link org.ligament.Instance}.
 */
package org.ligament;
