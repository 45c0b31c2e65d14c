"""Real pseudo terminals with a command on each, for tests that press keys and cut lines."""

import codecs
import fcntl
import os
import pty
import select
import struct
import termios
import threading
import time

LONG = 60


def until(what, why, limit=LONG):
    """Waits until a condition holds, and returns its value. If it never holds, the error is `why`."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{why if isinstance(why, str) else why()} took more than {limit} s")


class Terminal:
    """A command on a terminal of its own, whose output is kept as one text."""

    def __init__(self, words, cwd):
        self.text = ""
        self.pid, self.side = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ["TERM"] = "xterm"
            # The size is set here, so that the command never sees another one.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
            os.execvp(words[0], [str(word) for word in words])
        self.status = None
        self.enough, self.stop = os.pipe()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # a character may come in two parts
        try:
            while self.enough not in select.select([self.side, self.enough], [], [])[0]:
                self.text += decoder.decode(os.read(self.side, 65536))
        except OSError:
            pass  # nobody is on the terminal any more

    def shows(self, text, limit=LONG):
        until(lambda: text in self.text, lambda: f"\"{text}\" on\n{self.text}\n", limit)

    def presses_ctrl_c(self):
        os.write(self.side, b"\x03")

    def goes_away(self):
        """Closes the terminal, as a broken connection does: the kernel sends SIGHUP to its processes."""
        if self.side is not None:
            os.write(self.stop, b".")
            self.reader.join()
            for descriptor in (self.side, self.enough, self.stop):
                os.close(descriptor)
            self.side = None

    def ends(self, limit=LONG):
        """The exit status of the command."""
        if self.status is None:
            def ended():
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                return pid and (os.waitstatus_to_exitcode(status),)
            self.status = until(ended, lambda: f"the end of what shows\n{self.text}\n", limit)[0]
            # Waits in many short steps. Each lets the reader go on, also after the machine has stood still.
            for _ in range(100):
                self.reader.join(0.05)
        return self.status
