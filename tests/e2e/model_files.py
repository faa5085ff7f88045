"""Models for tests of the command: safetensors files written and read by this file's own code, and their numbers decoded
by the formats' definitions (spec/checkpoint-dialects.md 0.1-0.3), so that nothing is compared with itself."""
import json
import struct

import numpy as np

WIDTHS = {"U8": np.uint8, "I8": np.int8, "F8_E4M3": np.uint8, "F8_E5M2": np.uint8, "F8_E8M0": np.uint8, "BF16": np.uint16,
          "F16": np.float16, "F32": np.float32, "I64": np.int64}


def write_safetensors(path, tensors, metadata=None):
    """tensors: name -> (dtype, array); BF16 and narrow floats as arrays of their bits."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, array) in tensors.items():
        array = np.ascontiguousarray(array, WIDTHS[dtype])
        header[name] = {"dtype": dtype, "shape": list(np.shape(array)), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    blob = path.read_bytes()
    size = struct.unpack("<Q", blob[:8])[0]
    header = json.loads(blob[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], np.frombuffer(blob[8 + size:][slice(*t["data_offsets"])], WIDTHS[t["dtype"]]).reshape(t["shape"]))
            for name, t in header.items()}


def read_model(folder):
    index = folder / "model.safetensors.index.json"
    files = sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.exists() else ["model.safetensors"]
    tensors = {}
    for file in files:
        tensors.update(read_safetensors(folder / file))
    return tensors


def bf16_bits(values):  # exact for the values that the tests use: they are cut to bf16 before
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def f32_of_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def decode_e4m3(bits):
    sign, exponent, mantissa = np.where(bits & 0x80, -1., 1.), (bits >> 3 & 15).astype(int), (bits & 7).astype(float)
    value = np.where(exponent == 0, mantissa / 8 * 2. ** -6, (1 + mantissa / 8) * 2. ** (exponent - 7.))
    return np.where(bits & 0x7f == 0x7f, np.nan, sign * value).astype(np.float32)


def decode_e5m2(codes):
    """E5M2 is the upper half of f16."""
    return (codes.astype(np.uint16) << 8).view(np.float16).astype(np.float32)


def decode_e8m0(bits):
    return (2. ** (bits.astype(float) - 127)).astype(np.float32)


def unpack_e2m1(packed):  # the low nibble is the lower index
    return E2M1[np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)]


def random_matrix(seed, rows, cols):
    """BF16 bits, about N(0, 1) times the column's size; one block of zeros."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, cols)) * np.exp(rng.standard_normal(cols) / 2) / 8
    values[3, :32] = 0
    return bf16_bits(values)


def llama_tensors(layers=2, hidden=128, wide=256, vocabulary=64, tied=False):
    shapes = {"model.embed_tokens": (vocabulary, hidden)}
    for i in range(layers):
        for part, shape in {"self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (hidden // 2, hidden),
                            "self_attn.v_proj": (hidden // 2, hidden), "self_attn.o_proj": (hidden, hidden),
                            "mlp.gate_proj": (wide, hidden), "mlp.up_proj": (wide, hidden),
                            "mlp.down_proj": (hidden, wide)}.items():
            shapes[f"model.layers.{i}.{part}"] = shape
    if not tied:
        shapes["lm_head"] = (vocabulary, hidden)
    tensors = {f"{name}.weight": ("BF16", random_matrix(i, *shape)) for i, (name, shape) in enumerate(shapes.items())}
    for name in [f"model.layers.{i}.input_layernorm" for i in range(layers)] + ["model.norm"]:
        tensors[f"{name}.weight"] = ("BF16", bf16_bits(np.ones(hidden)))
    return tensors


def write_model(folder, tensors, tied=False, shards=1):
    folder.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "tie_word_embeddings": tied}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
        return folder
    names, weight_map = list(tensors), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        own = names[shard::shards]
        write_safetensors(folder / file, {name: tensors[name] for name in own}, {"format": "pt"})
        weight_map.update({name: file for name in own})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


# Where a dialect keeps a module's parts, and how it lays them out: suffixes of codes, block scales and global; whether the
# first code is in the high nibble; whether block scales stand in tiles.
LAYOUTS = {
    "compressed-tensors": ("weight_packed", "weight_scale", "weight_global_scale", False, False),
    "modelopt": ("weight", "weight_scale", "weight_scale_2", False, False),
    "fp8-block": ("weight", "weight_scale_inv", None, False, False),
    "torchao": ("_weight_qdata", "_weight_scale", "_weight_per_tensor_scale", False, True),
    "comfy-quant": ("weight", "weight_scale", "weight_scale_2", True, True),
    "modelopt-diffusers": ("weight", "weight_scale", "weight_scale_2", False, True),
}


def from_tiles(stored, rows, cols):
    """[rows, cols] of scales that stand in tiles of 128 x 4, row r + 32 q of a tile in row r of it, after its columns."""
    tiles_down = -(-rows // 128)
    tiles = stored.reshape(tiles_down, -1, 32, 4, 4)  # tile row, tile column, row % 32, row / 32, column
    grid = tiles.transpose(0, 3, 2, 1, 4).reshape(tiles_down * 128, -1)
    return grid[:rows, :cols]


# How a module's stored tensors decode, in f32 and the order of operations that the dialect's exporter uses:
# code * (scale / global) and code * (scale * global).
def decode_module(tensors, module, fmt, dialect):
    codes_suffix, scales_suffix, global_suffix, high_first, tiled = LAYOUTS[dialect]
    part = lambda suffix: tensors[f"{module}.{suffix}"]
    f32 = lambda stored: f32_of_bf16(stored[1]) if stored[0] == "BF16" else stored[1].astype(np.float32)
    if codes_suffix == "weight_packed" and fmt not in ("nvfp4", "mxfp4"):
        codes_suffix = "weight"

    def block_scales(decode, rows, cols, block):
        stored = part(scales_suffix)[1]
        grid = from_tiles(stored, rows, cols // block) if tiled else stored
        return decode(grid)

    if fmt in ("nvfp4", "nvfp4_32", "mxfp4"):
        packed = part(codes_suffix)[1]
        codes = unpack_e2m1(((packed & 15) << 4 | packed >> 4) if high_first else packed)
        block = 16 if fmt == "nvfp4" else 32
        if fmt == "mxfp4":
            return codes * np.repeat(block_scales(decode_e8m0, *codes.shape, block), block, 1)
        scale = block_scales(decode_e4m3, *codes.shape, block)
        g = f32(part(global_suffix)).reshape(())
        return codes * np.repeat(scale / g if dialect == "compressed-tensors" else scale * g, block, 1)
    codes = (decode_e5m2 if fmt.endswith("_e5m2") else decode_e4m3)(part(codes_suffix)[1])
    if fmt.startswith("mxfp8"):
        return codes * np.repeat(block_scales(decode_e8m0, *codes.shape, 32), 32, 1)
    scale = f32(part(scales_suffix))
    if fmt in ("fp8", "fp8_e5m2"):
        return codes * scale.reshape(())
    if fmt == "fp8_channel":
        return codes * scale.reshape(-1, 1)
    if fmt == "fp8_1x128":
        return codes * np.repeat(scale, 128, 1)
    assert fmt == "fp8_block"
    grid = scale.reshape(-(-codes.shape[0] // 128), -(-codes.shape[1] // 128))
    return codes * np.repeat(np.repeat(grid, 128, 0), 128, 1)[:codes.shape[0], :codes.shape[1]]
