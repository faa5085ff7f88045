"""A language model that says what it is told to: a token's row of the embedding is a unit vector of its own, and the row
of the head for the token that follows it points the same way, so that the token before decides, with a probability of
1 - 6e-10. After any other token everything is equally likely. SmolLM2's tokenizer and template."""
import json
import shutil

import numpy as np

from cli_test import ROOT
import model_files as files

SMOLLM2 = ROOT / "tests/data/gguf_import/smollm2"
WIDTH, VOCABULARY, END = 64, 49152, 2
NEWLINE = 198  # the last token before an answer
LONGEST = 1024


def _vocabulary():
    symbols, other = {}, 0x100
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte <= 0xFF:
            symbols[chr(byte)] = byte
        else:
            symbols[chr(other)] = byte
            other += 1
    pieces = json.loads((SMOLLM2 / "tokenizer.json").read_text())["model"]["vocab"]
    return {bytes(symbols[c] for c in piece): id for piece, id in pieces.items() if all(c in symbols for c in piece)}


PIECES = _vocabulary()


def spell(text, longest=8):
    """Ids whose bytes are the text's, none of them twice; longest: bytes of a piece."""
    data = text.encode()
    used = {NEWLINE}

    def rest(at):
        if at == len(data):
            return []
        for size in range(min(longest, len(data) - at), 0, -1):
            id = PIECES.get(data[at:at + size])
            if id is None or id in used:
                continue
            used.add(id)
            tail = rest(at + size)
            if tail is not None:
                return [id] + tail
            used.discard(id)
        return None

    ids = rest(0)
    assert ids is not None and len(ids) < WIDTH - 1
    return ids


def write(folder, text, longest=8, first=NEWLINE, broken=False):
    """`text` follows the token `first`, and the end of the text follows it. broken: all logits are NaN."""
    chain = [first, *spell(text, longest), END]
    embedding, head = np.zeros((VOCABULARY, WIDTH), np.float32), np.zeros((VOCABULARY, WIDTH), np.float32)
    for place, (id, following) in enumerate(zip(chain, chain[1:])):
        embedding[id, place] = 1
        head[following, place] = 4
    if broken:
        head[:] = np.nan
    layer = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (32, WIDTH), "self_attn.v_proj": (32, WIDTH),
             "self_attn.o_proj": (WIDTH, WIDTH), "mlp.gate_proj": (32, WIDTH), "mlp.up_proj": (32, WIDTH),
             "mlp.down_proj": (WIDTH, 32)}
    tensors = {f"model.layers.0.{name}.weight": np.zeros(shape) for name, shape in layer.items()}
    for name in ("model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm", "model.norm"):
        tensors[f"{name}.weight"] = np.ones(WIDTH)
    tensors |= {"model.embed_tokens.weight": embedding, "lm_head.weight": head}
    folder.mkdir()
    files.write_safetensors(folder / "model.safetensors", {n: ("BF16", files.bf16_bits(t)) for n, t in tensors.items()},
                            {"format": "pt"})
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "head_dim": 16,
              "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "intermediate_size": 32,
              "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": False, "hidden_act": "silu", "dtype": "bfloat16", "eos_token_id": END}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        shutil.copy(SMOLLM2 / name, folder)
    return folder
