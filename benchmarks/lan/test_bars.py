"""Tests of the bars. Run: python3 benchmarks/lan/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402
from benchmark import cipher_speed  # noqa: E402

MIB = 1 << 20


def held(m):
    return {bar.name: bar.holds for bar in bars(m)}


def speeds(**by_program):
    m = Measurements()
    for program, cells in by_program.items():
        for (link, bytes_), values in cells.items():
            m.speed[(program.replace("_", "/"), link, bytes_)] = values
    return m


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])

    def test_a_small_message_may_take_a_third_more_than_tcp_and_two_wake_ups(self):
        m = Measurements()
        m.latency = {"bare/tcp": [8.0], "bare/wake": [12.0], "ligament/plain": [25.9], "ligament/tls": [26.1]}
        self.assertEqual(held(m), {"small message, without TLS": True, "small message, with TLS": False})

    def test_a_small_message_is_not_judged_without_both_of_its_limits(self):
        m = Measurements()
        m.latency = {"bare/tcp": [8.0], "ligament/plain": [25.0]}
        self.assertEqual(bars(m), [])

    def test_with_tls_less_of_the_same_speed_will_do(self):
        at = ("open", MIB)
        m = speeds(bare_tcp={at: [1.0]}, ligament_plain={at: [0.7]}, ligament_tls={at: [0.7]})
        self.assertEqual(held(m), {"1 MiB, without TLS": False, "1 MiB, with TLS": True})

    def test_on_a_shaped_link_tls_is_no_excuse(self):
        at = ("1 Gbit/s", MIB)
        m = speeds(bare_tcp={at: [0.12]}, ligament_tls={at: [0.11]})
        self.assertEqual(held(m), {"1 MiB, with TLS, 1 Gbit/s": False})

    def test_each_size_is_compared_with_the_same_size(self):
        m = speeds(bare_tcp={("open", MIB): [1.0]}, ligament_plain={("open", 2 * MIB): [1.0]})
        self.assertEqual(bars(m), [])

    def test_the_cipher_is_paid_at_both_ends(self):
        m = Measurements()
        m.cipher = {("aes-256-gcm", "encrypt"): [4.0], ("aes-256-gcm", "decrypt"): [2.0]}
        m.processor = {("ligament/tls", "open", MIB): [3.0]}
        self.assertAlmostEqual(m.cipher_share("open", MIB), 0.25)
        self.assertIsNone(m.cipher_share("open", 2 * MIB))

    def test_the_speed_of_the_cipher_is_read_from_what_openssl_prints(self):
        printed = "+DT:AES-256-GCM:1:16384\n+R:1:2:3\n+H:16384\n+F:25:AES-256-GCM:3241000000.00\n"
        self.assertAlmostEqual(cipher_speed(printed), 3.241)


if __name__ == "__main__":
    unittest.main()
