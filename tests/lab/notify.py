"""The receiving end of sd_notify: every message with the time it came."""
import collections
import os
import socket
import threading
import time

Message = collections.namedtuple('Message', 'time key value')


class NotifySocket:
    def __init__(self, path):
        self.messages = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        os.chmod(path, 0o666)
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        while True:
            try:
                data = self._socket.recv(65536)
            except OSError:
                return
            now = time.monotonic()
            for line in data.decode(errors='replace').splitlines():
                key, _, value = line.partition('=')
                self.messages.append(Message(now, key, value))

    def of(self, key):
        return [message for message in list(self.messages) if message.key == key]

    def close(self):
        self._socket.close()
