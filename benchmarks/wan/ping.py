"""ping.py ADDRESS COUNT: prints round trips of ICMP echoes in ms, one on each line. Needs root."""

import os
import socket
import struct
import sys
import time


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def main(address, count):
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    line.settimeout(5)
    number = os.getpid() & 0xFFFF
    for sequence in range(count):
        words = struct.pack("!BBHHH", 8, 0, 0, number, sequence) + bytes(56)
        begun = time.perf_counter()
        line.sendto(words[:2] + struct.pack("!H", checksum(words)) + words[4:], (address, 0))
        answer = b""
        while answer[20:21] != b"\0" or struct.unpack("!HH", answer[24:28]) != (number, sequence):
            answer = line.recv(2048)
        print((time.perf_counter() - begun) * 1e3)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
