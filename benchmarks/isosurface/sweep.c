/* A step of a simulation: a seven-point sweep over a field of n x n x n doubles, as users compile it. */

#include <stddef.h>

void sweep(const double *from, double *to, size_t n) {
  for (size_t z = 1; z + 1 < n; z++)
    for (size_t y = 1; y + 1 < n; y++) {
      const double *row = from + (z * n + y) * n;
      double *restrict out = to + (z * n + y) * n;
      for (size_t x = 1; x + 1 < n; x++)
        out[x] = 0.4 * row[x] + 0.1 * (row[x - 1] + row[x + 1] + row[x - n] + row[x + n] + row[x - n * n] +
                                       row[x + n * n]);
    }
}
