"""Common parts of benchmarks: machine and processes (machine), tables and bars (report), drawing (picture)."""
