"""tessera serve as clients meet it, over raw HTTP. tests/data/text/openai/cases.json is the contract; with the openai
package (tools/serve_check) the same cases go through its client."""
import concurrent.futures
import json
import shutil
import signal
import socket
import time

import pytest

import scripted_model
from answer_shapes import check_answer
from cli_test import ROOT, error
from http_client import MODEL, Server, data_lines

CASES = {c["name"]: c for c in json.loads((ROOT / "tests/data/text/openai/cases.json").read_text())}
TEXT = "One two h\u00e9, \U0001F600 three END four!"
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
HI = [{"role": "user", "content": "Say hi."}]
CALL = '<tool_call>{"name": "now"}'  # no piece of it twice; the end of the text closes it


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return scripted_model.write(tmp_path_factory.mktemp("scripted") / "model", TEXT, longest=4)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts a server that ends with the module."""
    servers = []

    def begin(folder, *options):
        servers.append(Server(folder, *options, log=tmp_path_factory.mktemp("serve") / "log"))
        return servers[-1]

    yield begin
    for server in servers:
        server.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def server(start, model):
    return start(model, "--cache-tokens", 4096)


@pytest.fixture(scope="module")
def tool_server(start, tmp_path_factory):
    return start(scripted_model.write(tmp_path_factory.mktemp("tools") / "model", CALL))


@pytest.fixture(scope="module")
def broken_server(start, tmp_path_factory):
    return start(scripted_model.write(tmp_path_factory.mktemp("broken") / "model", TEXT, broken=True))


# What these need is told by their names; they have tests of their own.
SPECIAL = {"chat_tools", "chat_stream_error", "error_key", "error_busy", "error_large_body", "error_shutdown", "error_internal"}


def send(server, case):
    request = case["request"]
    body = request.get("body_text")
    if "body_hex" in request:
        body = bytes.fromhex(request["body_hex"])
    if "body_repeat" in request:
        body = request["body_repeat"][0] * request["body_repeat"][1]
    if request.get("body") is not None:
        body = json.dumps(request["body"])
    return server.raw(request["method"], request["path"], body, request.get("headers"))


def check_refusal(case, status, data):
    assert status == case["status"], data
    expected, found = case["response"]["json"]["error"], json.loads(data)["error"]
    assert set(found) == {"message", "type", "param", "code"} and found["message"]
    for field in ("type", "param", "code"):
        assert found[field] == expected[field], found


def refusal(server, name):
    status, headers, data = send(server, CASES[name])
    check_refusal(CASES[name], status, data)
    return headers


@pytest.mark.parametrize("case", [c for c in CASES.values() if c["name"] not in SPECIAL], ids=lambda c: c["name"])
def test_a_case_of_the_contract_is_answered_as_it_says(server, case):
    status, headers, data = send(server, case)
    if case["status"] != 200:
        check_refusal(case, status, data)
        if case["status"] == 405:
            assert headers["Allow"] == "POST"
        return
    assert status == 200, data
    if "stream" in case["response"]:
        assert headers["Content-Type"] == "text/event-stream"
        check_answer(case, list(data_lines(data.splitlines(keepends=True))))
    else:
        assert headers["Content-Type"] == "application/json"
        check_answer(case, json.loads(data))


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


def test_an_answer_is_what_the_model_says_up_to_its_end(server):
    answer = server.chat()
    assert text_of(answer) == TEXT and answer["choices"][0]["finish_reason"] == "stop"
    written = len(scripted_model.spell(TEXT, 4)) + 1  # the end of the text is written too
    assert answer["usage"]["completion_tokens"] == written
    assert server.chat(max_tokens=written)["choices"][0]["finish_reason"] == "stop"
    assert server.chat(max_tokens=written - 1)["choices"][0]["finish_reason"] == "length"


def test_text_goes_on_behind_the_end_where_it_is_ignored(server):
    answer = server.chat(ignore_eos=True, max_tokens=40, temperature=0)
    assert answer["usage"]["completion_tokens"] == 40 and text_of(answer).startswith(TEXT)


@pytest.mark.parametrize("stop, text", [(" three END", "One two h\u00e9, \U0001F600"), ("\U0001F600", "One two h\u00e9, "),
                                        (["four", "e E"], "One two h\u00e9, \U0001F600 thre"), ("no", TEXT)])
def test_a_stop_string_that_spans_tokens_ends_the_text_before_it(server, stop, text):
    answer = server.chat(stop=stop, logprobs=True)
    assert text_of(answer) == text and answer["choices"][0]["finish_reason"] == "stop"
    told = b"".join(bytes(t["bytes"]) for t in answer["choices"][0]["logprobs"]["content"])
    assert told.startswith(text.encode())  # the last token may reach into the stop string
    with server.stream(CHAT, messages=HI, stop=stop) as response:
        chunks = list(data_lines(response))
    assert chunks.pop() == "[DONE]"
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == text


def test_a_bias_forbids_a_token_and_prefers_another(server):
    one = scripted_model.spell(TEXT, 4)[0]
    assert not text_of(server.chat(logit_bias={str(one): -100}, temperature=0, max_tokens=3)).startswith("One")
    other = scripted_model.PIECES[b"hello"]
    assert text_of(server.chat(logit_bias={str(other): 100}, max_tokens=3)) == "hello" * 3


def test_a_seed_decides_what_is_written(server):
    def texts(**body):
        return [c["text"] for c in server.complete(prompt="Once", max_tokens=8, **body)["choices"]]
    assert texts(seed=5, n=3) == texts(seed=5, n=3)
    assert len(set(texts(seed=5, n=3))) == 3
    assert texts(seed=5)[0] == texts(seed=5, n=2)[0] != texts(seed=6)[0]
    assert texts() != texts()  # none: each request has its own


def test_streams_are_the_answers_in_pieces(server):
    body = {"prompt": ["Once", [504, 2365]], "n": 2, "seed": 3, "max_tokens": 30, "echo": True, "logprobs": 2}
    whole = server.complete(**body)
    with server.stream(COMPLETIONS, **body, stream_options={"include_usage": True}) as response:
        chunks = list(data_lines(response))
    assert chunks.pop() == "[DONE]" and chunks.pop()["usage"] == whole["usage"]
    for choice in whole["choices"]:
        mine = [c["choices"][0] for c in chunks if c["choices"][0]["index"] == choice["index"]]
        assert "".join(c["text"] for c in mine) == choice["text"]
        assert [c["finish_reason"] for c in mine] == [None] * (len(mine) - 1) + [choice["finish_reason"]]
        for field in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            assert sum((c["logprobs"][field] for c in mine if c["logprobs"]), []) == choice["logprobs"][field]


def test_the_prompt_is_scored_as_the_model_would_have_written_it(server):
    text = "\n" + TEXT  # the model is certain of each of its tokens, spelled as it spells them
    ids = [scripted_model.NEWLINE, *scripted_model.spell(TEXT, 4)]
    choice = server.complete(prompt=ids, echo=True, max_tokens=0, logprobs=1)["choices"][0]
    assert choice["text"] == text and choice["finish_reason"] == "length"
    found = choice["logprobs"]
    assert found["token_logprobs"][0] is None and found["top_logprobs"][0] is None
    # 49151 tokens with the logit 0 beside one with 32, whose rounding errors in bf16 are below 32 / 256.
    assert all(-49151 * 2.718281829 ** -(32 - .125) <= p <= 0 for p in found["token_logprobs"][1:])
    assert found["text_offset"][:3] == [0, 1, 4] and len(found["tokens"]) == len(ids)


def test_calls_of_tools_are_told_from_text(tool_server):
    arguments = CASES["chat_tools"]["request"]["body"]
    status, _, data = send(tool_server, CASES["chat_tools"])
    assert status == 200
    answer = json.loads(data)
    check_answer(CASES["chat_tools"], answer)
    call = answer["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "now", "arguments": "{}"} and answer["choices"][0]["message"]["content"] is None
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert text_of(tool_server.chat()) == CALL  # nothing was offered
    assert text_of(tool_server.chat(tools=arguments["tools"], tool_choice="none")) == CALL
    with tool_server.stream(CHAT, messages=HI, tools=arguments["tools"]) as response:
        chunks = list(data_lines(response))
    assert chunks.pop() == "[DONE]"
    deltas = [c["choices"][0]["delta"] for c in chunks]
    assert not any(d.get("content") for d in deltas) and chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    (found,) = [d["tool_calls"][0] for d in deltas if "tool_calls" in d]
    assert found["index"] == 0 and found["type"] == "function" and found["function"] == call["function"]
    messages = HI + [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": call["id"], "content": "noon"}]
    assert text_of(tool_server.chat(messages=messages)) == CALL


def test_what_goes_wrong_inside_is_logged_and_not_told(broken_server):
    refusal(broken_server, "error_internal")
    with broken_server.stream(CHAT, messages=HI) as response:
        assert response.status == 200
        lines = list(data_lines(response))
    failure = lines[-1]["error"]
    assert (failure["type"], failure["code"], failure["param"]) == ("server_error", "server_error", None)
    assert "delta" in lines[0]["choices"][0] and len(lines) == 2
    assert "NaN" in open(broken_server.log).read()


def test_only_those_with_a_key_are_let_in(start, model, tmp_path):
    (tmp_path / "keys").write_text("first\n  second  \n\n")
    server = start(model, "--api-key-file", tmp_path / "keys")
    headers = refusal(server, "error_key")
    assert headers["WWW-Authenticate"] == "Bearer"
    for path in ("/v1/models", "/metrics", "/v1/nothing"):
        assert server.raw("GET", path)[0] == 401
    assert server.raw("GET", "/health")[0] == 200
    for key in ("first", "second"):
        server.call(CHAT, key=key, messages=HI, max_tokens=1)
    for key in ("firs", "firstt", "first second", ""):
        server.call(CHAT, status=401, key=key, messages=HI)
    (tmp_path / "none").write_text("\n")
    assert "no API key" in error("invalid", "serve", model, "--api-key-file", tmp_path / "none")["message"]


def test_a_full_queue_says_when_to_come_again(start, model):
    server = start(model, "--max-concurrent", 1, "--max-queue", 1)
    long = {"messages": HI, "ignore_eos": True, "max_tokens": 900}
    with server.stream(CHAT, **long) as first:
        assert first.status == 200
        while server.metrics()["tessera_running_texts"] < 1:
            time.sleep(0.01)
        with server.stream(CHAT, **long) as second:
            assert second.status == 200
            while server.metrics()["tessera_waiting_texts"] < 1:
                time.sleep(0.01)
            assert refusal(server, "error_busy")["Retry-After"] == "1"
            server.call(CHAT, status=429, messages=HI, n=2)


def test_bodies_have_a_limit(start, model):
    server = start(model, "--max-body", 1000)
    case = CASES["error_large_body"]
    large = json.dumps({"model": MODEL, "messages": HI, "user": "x" * 2000}).encode()
    check_refusal(case, *server.raw("POST", CHAT, large)[::2])
    check_refusal(case, *server.raw("POST", CHAT, iter([large[:900], large[900:]]))[::2])
    fitting = json.dumps({"model": MODEL, "messages": HI, "max_tokens": 1}).encode()
    assert server.raw("POST", CHAT, iter([fitting[:9], fitting[9:]]))[0] == 200
    assert server.raw("POST", CHAT, fitting)[0] == 200


def raw_bytes(server, data, wait=True):
    """What the server answers to these bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(data)
        if wait:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.mark.parametrize("head, status", [
    (b"nonsense\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: -2\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n\r\n{}", 400),
    (b"POST /v1/completions HTTP/1.1\r\n\r\n", 400),
    (b"DELETE /v1/models HTTP/1.1\r\n\r\n", 405),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
    (b"GET /v1/models HTTP/1.1\r\nA: " + b"x" * 9000 + b"\r\n\r\n", 400),
    (b"GET /v1/models HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1\r\nConnection: close\r\n\r\n", 200),
    (b"GET /v1/models/..%2f%00%ff HTTP/1.1\r\nConnection: close\r\n\r\n", 404),
])
def test_malformed_requests_are_refused_and_the_server_goes_on(server, head, status):
    answer = raw_bytes(server, head)
    assert answer.split(b" ", 2)[1] == b"%d" % status, answer
    json.loads(answer.split(b"\r\n\r\n", 1)[1])
    assert server.raw("GET", "/health")[0] == 200


def test_a_body_that_was_not_read_is_not_taken_for_a_request(server):
    smuggled = b"GET /v1/models HTTP/1.1\r\n\r\n"
    answer = raw_bytes(server, b"POST /v1/nothing HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(smuggled) + smuggled)
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_connection_serves_many_requests(server):
    connection = server.connect()
    for _ in range(20):
        connection.request("POST", CHAT, json.dumps({"model": MODEL, "messages": HI, "max_tokens": 1}))
        assert connection.getresponse().read()
        connection.request("POST", CHAT, "[]")
        assert connection.getresponse().read()
    connection.close()


def test_http_1_0_gets_its_stream_until_the_connection_ends(server):
    body = json.dumps({"model": MODEL, "messages": HI, "stream": True}).encode()
    head = b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer = raw_bytes(server, head + body, wait=False)
    assert b"chunked" not in answer and answer.endswith(b"data: [DONE]\n\n")


def test_sixteen_streams_at_once_each_get_their_own_text(server):
    def read(i):
        body = {"prompt": f"Text {i}", "max_tokens": 40, "seed": i, "n": 1 + i % 2}
        with server.stream(COMPLETIONS, **body) as response:
            chunks = list(data_lines(response))
        assert chunks.pop() == "[DONE]"
        texts = [""] * body["n"]
        for chunk in chunks:
            choice = chunk["choices"][0]
            texts[choice["index"]] += choice["text"]
        return body, texts
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        streamed = list(pool.map(read, range(16)))
    for body, texts in streamed:
        assert [c["text"] for c in server.complete(**body)["choices"]] == texts


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_goes_away_ends_its_request(server, streams):
    before = server.metrics()
    body = json.dumps({"model": MODEL, "messages": HI, "stream": streams, "ignore_eos": True, "max_tokens": 900}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        while server.metrics()["tessera_running_texts"] == 0:
            time.sleep(0.005)
    deadline = time.monotonic() + 10
    while (now := server.metrics())["tessera_running_texts"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert now["tessera_cancelled_requests_total"] == before["tessera_cancelled_requests_total"] + 1
    assert now["tessera_generated_tokens_total"] - before["tessera_generated_tokens_total"] < 900


def test_a_thousand_requests_are_answered_and_memory_stays(start, model):
    server = start(model, "--cache-tokens", 2048, "--max-concurrent", 8)

    def ask(i):
        messages = [{"role": "system", "content": "Be brief. " * 30}, {"role": "user", "content": f"{i} " * (1 + i % 50)}]
        body = {"messages": messages, "max_tokens": 8, "logprobs": i % 5 == 0}
        if i % 3:
            return text_of(server.chat(**body))
        with server.stream(CHAT, **body) as response:
            chunks = list(data_lines(response))
        return "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(ask, range(200)))  # threads have had their stacks and heaps, the cache is full
        settled = server.rss()
        texts = list(pool.map(ask, range(1000)))
    assert len(texts) == 1000 and set(texts) == {texts[0]} and TEXT.startswith(texts[0])
    now = server.metrics()
    assert now["tessera_texts_total"] == 1200 and now['tessera_http_responses_total{status="200"}'] >= 1200
    assert now["tessera_running_texts"] == now["tessera_waiting_texts"] == now["tessera_cancelled_requests_total"] == 0
    assert now["tessera_reused_prompt_tokens_total"] > 0
    # A request that left behind no more than its prompt's text, ids and answer (4 KiB at the least) would show as 4 MiB.
    assert server.rss() - settled < 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_running_answers_finish(start, model, number):
    server = start(model, "--max-concurrent", 2, "--grace", 300, "--json")
    kept = server.connect()
    kept.request("GET", "/health")
    assert kept.getresponse().read()
    with server.stream(CHAT, messages=HI, ignore_eos=True, max_tokens=600) as response:
        response.readline()
        server.process.send_signal(number)
        status = 200
        while status == 200:  # the signal takes its time
            status, headers, data = server.raw("POST", CHAT, json.dumps({"model": MODEL, "messages": HI, "max_tokens": 1}))
        check_refusal(CASES["error_shutdown"], status, data)
        assert headers["Retry-After"] and server.raw("GET", "/health")[0] == 503
        chunks = list(data_lines(response))
    assert chunks[-1] == "[DONE]" and chunks[-2]["choices"][0]["finish_reason"] == "length"
    status, output, errors = server.end(signal.SIGCONT)
    assert status == 128 + number and errors.count("\n") == 1
    answer = json.loads(output)
    assert answer["http_responses"]["503"] >= 1 and answer["warnings"] == []


def test_a_second_signal_ends_it_at_once(start, model):
    server = start(model)
    with server.stream(CHAT, messages=HI, ignore_eos=True, max_tokens=900) as response:
        response.readline()
        server.process.send_signal(signal.SIGTERM)
        while server.raw("GET", "/health")[0] == 200:
            pass
        began = time.monotonic()
        assert server.end(signal.SIGTERM)[0] == 143 and time.monotonic() - began < 5


@pytest.mark.parametrize("code, arguments, told", [
    ("invalid", ("--port", "x"), "--port"),
    ("invalid", ("--port", "65536"), "65535"),
    ("invalid", ("--max-queue", "0"), "--max-queue"),
    ("invalid", ("--max-concurrent", "9000"), "at most"),
    ("invalid", ("--host", "256.0.0.1"), "256.0.0.1"),
    ("not_found", ("--api-key-file", "/nowhere"), "/nowhere"),
])
def test_serve_refuses_what_it_cannot_do(model, code, arguments, told):
    assert told in error(code, "serve", model, *arguments)["message"]


def test_a_port_that_is_taken_is_refused(server, model):
    assert str(server.port) in error("invalid", "serve", model, "--port", server.port)["message"]


def test_a_model_without_a_template_completes_texts(start, model, tmp_path):
    folder = tmp_path / "bare"
    folder.mkdir()
    for file in model.iterdir():
        if file.name == "tokenizer_config.json":
            config = {k: v for k, v in json.loads(file.read_text()).items() if k != "chat_template"}
            (folder / file.name).write_text(json.dumps(config))
        elif file.name != "chat_template.jinja":
            shutil.copy(file, folder)
    server = start(folder)
    server.complete(prompt="x", max_tokens=1)
    assert server.call(CHAT, status=400, messages=HI)["error"]["param"] == "messages"
