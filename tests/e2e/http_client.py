"""A running `tessera serve`, and raw HTTP to it."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import subprocess
import time

from cli_test import TESSERA

MODEL = "smollm2-135m-instruct"


class Server:
    def __init__(self, folder, *options, log):
        self.log = log
        self.output = open(str(log) + ".out", "w+")
        self.errors = open(log, "w+")
        self.process = subprocess.Popen(
            [TESSERA, "serve", str(folder), "--name", MODEL, "--port", "0", "--threads", "2", *map(str, options)],
            stdout=self.output, stderr=self.errors)
        deadline = time.monotonic() + 60
        while not (found := re.search(r"listens at http://127\.0\.0\.1:(\d+)\n", pathlib.Path(log).read_text())):
            assert self.process.poll() is None and time.monotonic() < deadline, pathlib.Path(log).read_text()
            time.sleep(0.02)
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, method, path, body=None, headers=None):
        """(status, headers, bytes)"""
        connection = self.connect()
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()

    def call(self, path, status=200, key=None, **body):
        """The JSON that a POST is answered with."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        found, _, data = self.raw("POST", path, json.dumps({"model": MODEL} | body), headers)
        assert found == status, data
        return json.loads(data)

    def chat(self, **body):
        return self.call("/v1/chat/completions", **({"messages": [{"role": "user", "content": "Say hi."}]} | body))

    def complete(self, **body):
        return self.call("/v1/completions", **body)

    @contextlib.contextmanager
    def stream(self, path, **body):
        """A response whose data lines come as they are sent."""
        connection = self.connect()
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps({"model": MODEL, "stream": True} | body))
            yield connection.getresponse()

    def metrics(self):
        lines = self.raw("GET", "/metrics")[2].decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def rss(self):
        """MiB"""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self, number=signal.SIGTERM):
        """(status, standard output, standard error)"""
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        for file in (self.output, self.errors):
            file.close()
        return status, pathlib.Path(self.output.name).read_text(), pathlib.Path(self.log).read_text()


def data_lines(response):
    """What the data lines of an event stream hold; the last one, [DONE], as a string."""
    for line in response:
        text = line.decode().rstrip("\n")
        if not text:
            continue
        assert text.startswith("data: "), text
        yield text[6:] if text[6:] == "[DONE]" else json.loads(text[6:])
