"""tokenize and template as users and scripts meet them."""
import json
import shutil

import pytest

from cli_test import ROOT, answer, error, run

SMOLLM2 = ROOT / "tests/data/gguf_import/smollm2"
TEXT = ROOT / "tests/data/text"
CHAT = json.loads((TEXT / "smollm2/chat.json").read_text())["conversations"]


def messages_file(folder, value):
    path = folder / "messages.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_tokenize_answers_with_the_keys_of_the_contract():
    case = next(c for c in json.loads((TEXT / "smollm2/tokens.json").read_text())["texts"] if c["name"] == "hello")
    found = answer("tokenize", SMOLLM2, "--text", case["text"])
    assert found == {"ids": case["ids"], "pieces": case["tokens"], "offsets": case["byte_offsets"], "warnings": []}
    ids = ",".join(map(str, case["ids"]))
    assert answer("tokenize", SMOLLM2, "--decode", "--ids", ids) == {"text": case["text"], "warnings": []}


def test_tokenize_reads_a_file_and_a_tokenizer_by_itself(tmp_path):
    cases = json.loads((TEXT / "tokenizers/llama3.cases.json").read_text())["cases"]
    texts = {t["name"]: t["text"] for t in json.loads((TEXT / "inputs/texts.json").read_text())}
    case = next(c for c in cases if c["name"] == "german")
    (tmp_path / "t.txt").write_text(texts["german"])
    arguments = ("tokenize", TEXT / "tokenizers/llama3.json", "--file", tmp_path / "t.txt")
    assert answer(*arguments)["ids"] == case["ids_with_special"]
    assert answer(*arguments, "--no-special")["ids"] == case["ids"]


def test_tokenize_finds_the_files_beside_weights(tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(SMOLLM2 / name, tmp_path)
    expected = answer("tokenize", SMOLLM2, "--text", "Hello")["ids"]
    assert answer("tokenize", tmp_path / "model.safetensors", "--text", "Hello")["ids"] == expected


def test_a_gguf_file_has_the_tokenizer_of_the_folder_that_it_becomes(tmp_path):
    gguf = ROOT / "tests/data/gguf_import/tied.mixed.gguf"
    answer("dequantize", gguf, tmp_path / "folder")
    text = "Hello, world!  caf\u00e9"
    assert answer("tokenize", gguf, "--text", text)["ids"] == answer("tokenize", tmp_path / "folder", "--text", text)["ids"]


def test_the_plain_form_of_tokenize_is_a_table():
    lines = run("tokenize", SMOLLM2, "--text", "Hello, world!").stdout.splitlines()
    assert lines[0].split() == ["id", "token", "bytes", "text"]
    assert lines[1].split() == ["19556", "Hello", "0..5", "'Hello'"]
    assert lines[-1] == "4 tokens, 13 bytes"


def test_special_tokens_can_be_left_out_of_decoding():
    ids = ",".join(map(str, answer("tokenize", SMOLLM2, "--text", "<|im_start|>user")["ids"]))
    assert run("tokenize", SMOLLM2, "--decode", "--ids", ids).stdout == "<|im_start|>user\n"
    assert run("tokenize", SMOLLM2, "--decode", "--no-special", "--ids", ids).stdout == "user\n"


@pytest.mark.parametrize(
    "code, arguments, told",
    [
        ("invalid", ("--text", "a", "--file", "b"), "one --text"),
        ("invalid", (), "one --text"),
        ("invalid", ("--ids", "1"), "--decode"),
        ("invalid", ("--decode", "--ids", "1,x"), "'x'"),
        ("invalid", ("--decode", "--ids", "49152"), "49152"),
        ("not_found", ("--file", "/nowhere/t.txt"), "/nowhere/t.txt"),
    ],
)
def test_tokenize_refuses_what_it_cannot_do(code, arguments, told):
    assert told in error(code, "tokenize", SMOLLM2, *arguments)["message"]


def test_text_that_is_not_utf8_is_refused_with_its_file(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"ok \xff")
    found = error("invalid", "tokenize", SMOLLM2, "--file", tmp_path / "t.txt")
    assert "byte 3 is 0xff" in found["message"] and found["file"] == str(tmp_path / "t.txt")


def test_an_unknown_kind_of_tokenizer_is_14_and_what_there_is_is_listed(tmp_path):
    tokenizer = json.loads((TEXT / "tokenizers/gpt2.json").read_text())
    tokenizer["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": ""}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    message = error("unsupported", "tokenize", tmp_path, "--text", "a")["message"]
    assert "no normalizer 'Precompiled'" in message and "NFC" in message
    (tmp_path / "tokenizer.json").write_text("{}")
    assert "tokenizer.json" in error("corrupt", "tokenize", tmp_path, "--text", "a")["message"]
    error("not_found", "tokenize", tmp_path / "absent", "--text", "a")


@pytest.mark.parametrize("case", [c for c in CHAT if "rendered" in c], ids=lambda c: c["name"])
def test_template_renders_messages(tmp_path, case):
    request = {k: case[k] for k in ("messages", "add_generation_prompt") if k in case}
    assert answer("template", SMOLLM2, "--messages", messages_file(tmp_path, request))["text"] == case["rendered"]


def test_template_takes_a_list_of_messages_and_prints_the_text_alone(tmp_path):
    case = next(c for c in CHAT if c["name"] == "single_user_no_prompt")
    result = run("template", SMOLLM2, "--messages", messages_file(tmp_path, case["messages"]))
    assert (result.returncode, result.stdout) == (0, case["rendered"])


def test_template_knows_the_special_tokens_of_the_model(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ x }}")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}}))
    request = {"messages": [{"role": "user", "content": "Hi"}], "x": 1}
    assert answer("template", tmp_path, "--messages", messages_file(tmp_path, request))["text"] == "<s>Hi</s>1"


def test_a_message_can_be_left_open_to_go_on_with(tmp_path):
    request = {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "It is "}],
               "continue_final_message": True}
    text = answer("template", SMOLLM2, "--messages", messages_file(tmp_path, request))["text"]
    assert text.endswith("<|im_start|>assistant\nIt is ")
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}[{{ m.content | trim }}]{% endfor %}")
    assert answer("template", tmp_path, "--messages", tmp_path / "messages.json")["text"] == "[2+2?][It is"
    request["add_generation_prompt"] = True
    assert "exclude" in error("invalid", "template", SMOLLM2, "--messages", messages_file(tmp_path, request))["message"]


def test_what_the_template_refuses_reaches_the_user_with_its_line(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("a\n{{ raise_exception('roles must alternate') }}")
    found = error("invalid", "template", tmp_path, "--messages", messages_file(tmp_path, [{"role": "user"}]))
    assert found["message"] == "line 2: roles must alternate"
    assert found["notes"] == [f"while rendering the conversation of {tmp_path}/messages.json"]


@pytest.mark.parametrize(
    "code, template, messages",
    [
        ("corrupt", "{% if %}", [{"role": "user"}]),
        ("unsupported", "{% include 'x' %}", [{"role": "user"}]),
        ("resource", "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", [{"role": "user"}]),
        ("invalid", "", []),
        ("invalid", "", {"messages": 1}),
        ("invalid", "", ["Hi"]),
        ("corrupt", "", "[{"),
    ],
)
def test_templates_and_messages_that_are_wrong_are_refused(tmp_path, code, template, messages):
    (tmp_path / "chat_template.jinja").write_text(template)
    error(code, "template", tmp_path, "--messages", messages_file(tmp_path, messages))


def test_a_model_without_a_template_is_13(tmp_path):
    error("not_found", "template", tmp_path, "--messages", messages_file(tmp_path, [{"role": "user", "content": "a"}]))
