"""Quantize, read, convert and verify low-precision transformer weights, with the exporters' own bits.

    import numpy as np, tessera
    q = tessera.quantize(np.random.randn(128, 256).astype(np.float32), "nvfp4", writer="compressed-tensors")
    x = tessera.dequantize(q).numpy()

    model = tessera.open("path/to/checkpoint")
    w = model.dequantize("model.layers.0.mlp.up_proj").numpy()

Arrays come in through DLPack or the buffer protocol (NumPy, PyTorch, ml_dtypes) and go out as `Array`, whose
`numpy()` and DLPack views share its bytes. Every failure is a subclass of `Error`. Guide: docs/guide/python.md.
"""

from ._errors import (
    CorruptError,
    Error,
    InvalidError,
    NotFoundError,
    PeerError,
    ResourceError,
    ShapeError,
    UnsupportedError,
)
from ._tessera import (
    Activation,
    Array,
    Checkpoint,
    CheckpointWarning,
    Dialect,
    Format,
    Global,
    Module,
    Problem,
    QuantizedTensor,
    StoredTensor,
    Writer,
    __version__,
    amax,
    convert_checkpoint,
    dequantize,
    dequantize_checkpoint,
    dialects,
    encode_like,
    format,
    formats,
    open,
    quantize,
    quantize_checkpoint,
    verify,
    writers,
)

__all__ = [
    "Activation",
    "Array",
    "Checkpoint",
    "CheckpointWarning",
    "CorruptError",
    "Dialect",
    "Error",
    "Format",
    "Global",
    "InvalidError",
    "Module",
    "NotFoundError",
    "PeerError",
    "Problem",
    "QuantizedTensor",
    "ResourceError",
    "ShapeError",
    "StoredTensor",
    "UnsupportedError",
    "Writer",
    "__version__",
    "amax",
    "convert_checkpoint",
    "dequantize",
    "dequantize_checkpoint",
    "dialects",
    "encode_like",
    "format",
    "formats",
    "open",
    "quantize",
    "quantize_checkpoint",
    "verify",
    "writers",
]
