"""Arrays in and out: no copies, right lifetimes, no bits taken for numbers."""

import gc
import multiprocessing
import sys
import threading

import numpy as np
import pytest

import tessera


@pytest.fixture
def x():
    return np.random.default_rng(7).standard_normal((48, 96)).astype(np.float32)


def bf16_bits(x):
    """The upper halves of f32: bf16 numbers, as bits."""
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def as_f32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def codes_of(*args, **kwargs):
    return tessera.quantize(*args, **kwargs).codes.numpy()


def test_round_trip_is_near_and_stays(x):
    q = tessera.quantize(x, "nvfp4")
    values = tessera.dequantize(q)
    assert values.shape == x.shape == q.shape and q.format.name == "nvfp4"
    assert np.linalg.norm(x - values) < 0.1 * np.linalg.norm(x)
    again = tessera.dequantize(tessera.encode_like(values, q))
    assert np.array_equal(again, values)


def test_every_format_and_writer_goes_through():
    x = np.random.default_rng(2).standard_normal((128, 256)).astype(np.float32)
    for f in tessera.formats():
        for writer in f.writers:
            q = tessera.quantize(x, f, writer)
            assert q.format == f and np.isfinite(np.asarray(tessera.dequantize(q))).all()


def test_parts_are_views_of_one_memory(x):
    q = tessera.quantize(x, "mxfp8")
    first, second = q.codes.numpy(), q.codes.numpy()
    assert np.shares_memory(first, second) and np.shares_memory(first, np.asarray(q.codes))
    assert np.shares_memory(first, np.from_dlpack(q.codes))
    before = np.asarray(tessera.dequantize(q)).copy()
    first[0, 0] ^= 0x80  # the sign
    assert np.asarray(tessera.dequantize(q))[0, 0] == -before[0, 0] != 0


def test_views_outlive_their_tensor(x):
    codes = tessera.quantize(x, "mxfp8").codes.numpy()
    expected = codes.copy()
    gc.collect()
    for _ in range(20):
        tessera.quantize(x * 2, "mxfp8")
    assert np.array_equal(codes, expected)


def test_parts_given_are_shared_and_released(x):
    q = tessera.quantize(x, "nvfp4")
    codes, scales, g = (a.numpy().copy() for a in (q.codes, q.scales, q.global_))
    count = sys.getrefcount(codes)
    p = tessera.QuantizedTensor("nvfp4", x.shape, codes, scales, g)
    assert np.shares_memory(p.codes.numpy(), codes) and sys.getrefcount(codes) > count
    assert np.array_equal(tessera.dequantize(p), tessera.dequantize(q))
    del p
    gc.collect()
    assert sys.getrefcount(codes) == count


def test_parts_that_do_not_fit_are_refused(x):
    q = tessera.quantize(x, "nvfp4")
    codes, scales, g = q.codes, q.scales, q.global_
    with pytest.raises(tessera.ShapeError, match=r"codes are \[48, 48\]; \[48, 64\] fits"):
        tessera.QuantizedTensor("nvfp4", (48, 128), codes, scales, g)
    with pytest.raises(tessera.InvalidError, match="nvfp4 has a global"):
        tessera.QuantizedTensor("nvfp4", x.shape, codes, scales)
    with pytest.raises(tessera.InvalidError, match="scales are f32; this format keeps u8"):
        tessera.QuantizedTensor("nvfp4", x.shape, codes, scales.numpy().astype(np.float32), g)
    with pytest.raises(tessera.InvalidError, match="bf16 has no scales"):
        tessera.QuantizedTensor("bf16", x.shape, codes, scales)


def test_bf16_bits_need_their_name(x):
    bits = bf16_bits(x)
    assert np.array_equal(codes_of(bits, "nvfp4", dtype="bf16"), codes_of(as_f32(bits), "nvfp4"))
    with pytest.raises(tessera.UnsupportedError, match="U16"):
        tessera.quantize(bits, "nvfp4")
    with pytest.raises(tessera.InvalidError, match="unsigned integers of 16 bits"):
        tessera.quantize(x, "nvfp4", dtype="bf16")


def test_bf16_comes_out_as_bits_never_as_numbers(x):
    q = tessera.quantize(bf16_bits(x), "mxfp8", dtype="bf16")
    values = tessera.dequantize(q, "bf16")
    assert values.dtype == "bf16" and values.bits().dtype == np.uint16
    assert np.array_equal(as_f32(values.bits()), tessera.dequantize(q))  # E4M3 times a power of two: exact
    for convert in (values.numpy, lambda: np.asarray(values)):
        with pytest.raises(tessera.UnsupportedError, match=r"NumPy has no bf16: bits\(\)"):
            convert()


def test_ml_dtypes_bf16(x):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = bf16_bits(x)
    assert np.array_equal(codes_of(bits.view(ml_dtypes.bfloat16), "nvfp4"), codes_of(bits, "nvfp4", dtype="bf16"))


def test_f16(x):
    half = x.astype(np.float16)
    q = tessera.quantize(half, "fp8_channel")
    assert tessera.dequantize(q, "f16").numpy().dtype == np.float16
    assert np.array_equal(q.codes.numpy(), codes_of(half.astype(np.float32), "fp8_channel"))


def test_other_strides_and_read_only_arrays_are_taken(x):
    assert np.array_equal(codes_of(x.T, "mxfp8"), codes_of(np.ascontiguousarray(x.T), "mxfp8"))
    assert np.array_equal(codes_of(x[:, ::3], "mxfp8"), codes_of(x[:, ::3].copy(), "mxfp8"))
    fixed = x.copy()
    fixed.flags.writeable = False
    assert np.array_equal(codes_of(fixed, "mxfp8"), codes_of(x, "mxfp8"))
    assert np.array_equal(codes_of(memoryview(x), "mxfp8"), codes_of(x, "mxfp8"))


def test_what_is_no_matrix_of_floats_is_refused(x):
    with pytest.raises(tessera.InvalidError, match="list is not taken as an array"):
        tessera.quantize(x.tolist(), "nvfp4")
    with pytest.raises(tessera.UnsupportedError, match="x is F64"):
        tessera.quantize(x.astype(np.float64), "nvfp4")
    with pytest.raises(tessera.ShapeError, match=r"the array is \[96\]"):
        tessera.quantize(x[0], "nvfp4")
    with pytest.raises(tessera.InvalidError, match="a format is a name"):
        tessera.quantize(x, 4)


@pytest.mark.parametrize("shape", [(0, 64), (3, 0), (1, 16), (5, 48)])
def test_odd_shapes(shape):
    for name in ("nvfp4", "mxfp8", "fp8", "fp8_block"):
        q = tessera.quantize(np.ones(shape, np.float32), name)
        assert q.codes.numpy().dtype == np.uint8
        assert np.array_equal(tessera.dequantize(q), np.ones(shape, np.float32))


def test_a_shared_maximum_gives_a_shared_global(x):
    together = tessera.amax(np.concatenate([x, 3 * x]))
    assert together == np.abs(3 * x).max() == tessera.amax(3 * x)
    globals_ = {float(tessera.quantize(part, "nvfp4", tensor_amax=together).global_.numpy()[0]) for part in (x, 3 * x)}
    assert globals_ == {float(tessera.quantize(3 * x, "nvfp4").global_.numpy()[0])}
    with pytest.raises(tessera.InvalidError, match="tensor_amax is -1"):
        tessera.quantize(x, "nvfp4", tensor_amax=-1)


def test_stochastic_rounding_is_keyed(x):
    def draw(**key):
        return codes_of(x, "nvfp4", "stochastic", **key).tobytes()

    assert draw(seed=1) == draw(seed=1)
    assert len({draw(seed=1), draw(seed=2), draw(seed=1, stream=1)}) == 3


def test_threads_change_nothing():
    x = np.random.default_rng(1).standard_normal((300, 512)).astype(np.float32)
    alone = tessera.quantize(x, "nvfp4", threads=1)
    for threads in (2, 5):
        assert np.array_equal(tessera.quantize(x, "nvfp4", threads=threads).codes, alone.codes)
    with pytest.raises(tessera.InvalidError, match="threads=-1"):
        tessera.quantize(x, "nvfp4", threads=-1)


def test_python_runs_during_long_work():
    x = np.random.default_rng(1).standard_normal((1024, 4096)).astype(np.float32)
    worker = threading.Thread(target=tessera.quantize, args=(x, "nvfp4", "four-over-six"), kwargs={"threads": 1})
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
    assert turns > 100  # with the lock held for the whole time there would be one or two


def quantize_in_child(x):
    return codes_of(x, "nvfp4", threads=2).tobytes()


def test_works_in_a_forked_process(x):
    expected = quantize_in_child(x)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(quantize_in_child, (x,)).get(timeout=60) == expected
