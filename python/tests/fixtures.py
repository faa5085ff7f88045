"""Reads the tests' data: safetensors files, with NumPy alone."""

import json
import pathlib
import struct

import numpy as np

DATA = pathlib.Path(__file__).parents[2] / "tests" / "data"

_NUMPY = {"BF16": np.uint16, "F8_E4M3": np.uint8, "F16": np.float16, "F32": np.float32, "U16": np.uint16, "U8": np.uint8}


class Fixture:
    """Tensors of one file by name; bf16 and f8 ones are their bits, see dtype_of()."""

    def __init__(self, path):
        self._bytes = pathlib.Path(path).read_bytes()
        (length,) = struct.unpack("<Q", self._bytes[:8])
        self._header = json.loads(self._bytes[8 : 8 + length])
        self.metadata = self._header.pop("__metadata__", {})
        self._start = 8 + length

    def names(self):
        return sorted(self._header)

    def cases(self):
        """Names of the cases that the exporter gave an answer to."""
        return sorted(n[: -len(".input")] for n in self._header if n.endswith(".input") and n[: -len("input")] + "codes" in self)

    def __contains__(self, name):
        return name in self._header

    def __getitem__(self, name):
        facts = self._header[name]
        begin, end = facts["data_offsets"]
        data = self._bytes[self._start + begin : self._start + end]
        return np.frombuffer(data, _NUMPY[facts["dtype"]]).reshape(facts["shape"])

    def dtype_of(self, name):
        """What `dtype=` must be told: "bf16" where the array holds bits."""
        return "bf16" if self._header[name]["dtype"] == "BF16" else ""

    def as_f32(self, name):
        array = self[name]
        if self.dtype_of(name) == "bf16":
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(np.float32)
