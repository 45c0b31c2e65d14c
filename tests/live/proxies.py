"""A proxy with a path of its own, like those of JupyterHub and Open OnDemand before each user's programs."""

import socket
import threading

PREFIX = "/user/me/proxy/9472"


class PrefixProxy:
    """Passes requests below its path to a port of this machine: with or without this path, and with or without
    the host name that the browser asked for."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.to, self.strips_path, self.keeps_host = None, True, True
        threading.Thread(target=self.accepts, daemon=True).start()

    def accepts(self):
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serves, args=(line,), daemon=True).start()

    def serves(self, line):
        """Handles one request and its answer."""
        with line:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = line.recv(65536)
                if not piece:
                    return
                head += piece
            head, body = head.split(b"\r\n\r\n", 1)
            first, *fields = head.decode().split("\r\n")
            method, path, version = first.split(" ")
            if not path.startswith(f"{PREFIX}/"):
                return line.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            if self.strips_path:
                path = path[len(PREFIX):]
            fields = [field for field in fields if not field.lower().startswith(("connection:", "host:"))]
            fields += ["Connection: close",
                       f"Host: {f'hub.test:{self.port}' if self.keeps_host else f'127.0.0.1:{self.to}'}"]
            with socket.create_connection(("127.0.0.1", self.to)) as page:
                page.sendall("\r\n".join([f"{method} {path} {version}", *fields, "", ""]).encode() + body)
                threading.Thread(target=self.pipes, args=(line, page), daemon=True).start()
                self.pipes(page, line)

    @staticmethod
    def pipes(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
        except OSError:
            pass

    def close(self):
        # Otherwise the thread that accepts would keep the port.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
