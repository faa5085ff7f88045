"""Writes expected.json: for each GGUF file given, the SHA-256 of every tensor as import_gguf should write it.

    python make_expected.py FILE.gguf... > expected.json     (needs gguf and numpy)

Values are gguf-py's own; sidecars NAME.scale multiply them in f32; rows of attn_q and attn_k of `llama` are put back by
the reshape that undoes the converter's permute; bf16 is the nearest, ties to even.
"""

import hashlib
import json
import sys

import gguf
import numpy as np

PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def hf_name(name):
    stem, suffix = name.rsplit(".", 1)
    if stem in WHOLE:
        return f"{WHOLE[stem]}.{suffix}"
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{PARTS[part]}.{suffix}"


def undo_permute(w, heads):
    # The converter: w.reshape(heads, 2, D/2, cols).swapaxes(1, 2). Back: the same with the axes the other way round.
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def to_bf16(x):
    bits = x.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    assert not np.isnan(x).any()
    return rounded


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def expected(path):
    reader = gguf.GGUFReader(path)
    key = lambda k: reader.fields["llama." + k].contents()
    heads, key_heads = key("attention.head_count"), key("attention.head_count_kv")
    stored = {t.name: t for t in reader.tensors}
    result = {}
    for name, tensor in stored.items():
        if name == "rope_freqs.weight" or name.endswith("scale"):
            continue
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        values = values.reshape([int(n) for n in reversed(tensor.shape)])
        scale = stored.get(name.removesuffix("weight") + "scale")
        if scale is not None:
            values = values * np.float32(scale.data[0])
        if ".attn_q." in name or ".attn_k." in name:
            values = undo_permute(values, heads if ".attn_q." in name else key_heads)
        result[hf_name(name)] = {"shape": list(values.shape), "f32": sha(values), "bf16": sha(to_bf16(values))}
    return result


json.dump({path.rsplit("/", 1)[-1]: expected(path) for path in sys.argv[1:]}, sys.stdout, indent=0)
print()
