"""The peer of Q3: torch.compile of the same math at the same size, in the same run of the machine.

    python3 bench/gpu/quantize_torch.py [FILE]    prints a table; writes it to FILE too
"""
import statistics
import sys

import torch

ROWS, COLS, BUFFERS, LAUNCHES, WINDOWS = 16384, 8192, 4, 8, 25


def fp8_1x128(x, amax):
    blocks = x.float().view(-1, 128)
    scale = blocks.abs().amax(-1, keepdim=True) / 448
    return (blocks / scale).to(torch.float8_e4m3fn), scale


def mxfp8(x, amax):
    blocks = x.float().view(-1, 32)
    exponent = ((blocks.abs().amax(-1, keepdim=True).view(torch.int32) + (1 << 21)) >> 23).sub(8).clamp(min=1)
    return (blocks / (exponent << 23).view(torch.float32)).clamp(-448, 448).to(torch.float8_e4m3fn), exponent.to(torch.uint8)


def nvfp4(x, amax):
    blocks = x.float().view(-1, 16)
    overall = amax / 2688
    scale = (blocks.abs().amax(-1, keepdim=True) / (6 * overall)).clamp(2**-9, 448).to(torch.float8_e4m3fn)
    q = blocks / (scale.float() * overall)
    a = q.abs()
    code = torch.minimum(torch.minimum((2 * a).round(), a.round() + 2), ((a / 2).round() + 4).clamp(max=7)).to(torch.uint8)
    code = code | ((q < 0).to(torch.uint8) << 3)
    return code[:, 0::2] | (code[:, 1::2] << 4), scale


def window(launch):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for i in range(LAUNCHES):
        launch(i % BUFFERS)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / LAUNCHES


x = [torch.randn(ROWS, COLS, device="cuda", dtype=torch.bfloat16) * 0.02 for _ in range(BUFFERS)]
y = [torch.empty_like(t) for t in x]
amax = x[0].abs().amax().float()
lines = [f"torch {torch.__version__}, torch.compile (default mode)", "", "| operation | fraction of copy | us, median |", "|---|---|---|"]
for function, bytes_each in ((fp8_1x128, 3 + 4 / 128), (mxfp8, 3 + 1 / 32), (nvfp4, 2.5 + 1 / 16)):
    compiled = torch.compile(function)
    for _ in range(3):
        compiled(x[0], amax)
    pairs = [(window(lambda i: y[i].copy_(x[i])), window(lambda i: compiled(x[i], amax))) for _ in range(WINDOWS)]
    copy, time = (statistics.median(p[k] for p in pairs) for k in (0, 1))
    lines.append(f"| {function.__name__} | {bytes_each / time / (4 / copy):.3f} | {time * 1e3:.1f} |")
text = "\n".join(lines) + "\n"
print(text)
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(text)
