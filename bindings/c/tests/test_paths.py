"""Paths without a model, in C."""

import socket
import subprocess
import threading
import time
from pathlib import Path

from programs import run_program

HERE = Path(__file__).parent


def test_a_path_does_what_the_header_says(program, tmp_path):
    ran = run_program(program(HERE / "path.c"), str(tmp_path))
    assert ran.status == 0, ran.text


class Cable:
    """A proxy that passes connections on to a port, and cuts them when `cut` is called."""

    def __init__(self, port):
        self.to, self.links = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            self.links.append((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one, other):
        try:
            while some := one.recv(1 << 16):
                other.sendall(some)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        links, self.links = self.links, []
        for link in links:
            for end in link:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def test_two_programs_answer_each_other_over_a_path_that_is_cut(program, tmp_path):
    binary, key = program(HERE / "ping_pong.c"), tmp_path / "path.key"
    key.write_text("5a" * 32 + "\n")
    key.chmod(0o600)
    listens = subprocess.Popen([binary, "listen", key, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    cable = Cable(int(listens.stdout.readline()))
    opens = subprocess.Popen([binary, "open", key, f"127.0.0.1:{cable.port}", "150", "1000000"],
                             stdout=subprocess.PIPE,
                             text=True)
    cuts = 0
    while opens.poll() is None:
        time.sleep(0.05)
        if cuts < 10:
            cable.cut()
            cuts += 1
    assert opens.communicate(timeout=60)[0].startswith("150 messages"), opens.returncode
    assert opens.returncode == 0
    assert listens.wait(60) == 0
    listens.stdout.close()
