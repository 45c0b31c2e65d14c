"""A test of the bare program. Run: python3 benchmarks/wan/test_bare.py"""

import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Bare(unittest.TestCase):
    def test_messages_of_both_ends_at_once_do_not_get_into_each_other(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            program = Path(folder) / "bare"
            subprocess.run(["gcc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", HERE / "bare.c", "-o", program],
                           check=True)
            ends = [
                subprocess.Popen([program, side, Path(folder) / side, "500:65536:0:both", "127.0.0.1",
                                  str(port), "1", "65536"],
                                 stderr=subprocess.PIPE, text=True)
                for side in "ba"
            ]
            said = [end.communicate(timeout=120)[1] for end in ends]
            self.assertEqual(([end.returncode for end in ends], said), ([0, 0], ["", ""]))
            self.assertEqual([len((Path(folder) / side).read_text().splitlines()) for side in "ab"], [501, 501])


if __name__ == "__main__":
    unittest.main()
