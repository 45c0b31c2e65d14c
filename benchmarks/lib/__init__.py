"""What benchmarks have in common: machine and processes (machine), tables and bars (report), drawing
(picture)."""
