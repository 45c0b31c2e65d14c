// line.h as a shared library, for the Python programs.
#include "line.h"

void *open_line(const char *path) { return line_open(path); }

double measure_line(void *lines, int side) { return line_measure(lines, side); }
