"""Exchange with PyTorch through DLPack."""

import numpy as np
import pytest

import tessera

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def x():
    return torch.randn(32, 64, generator=torch.Generator().manual_seed(3))


def test_f32_and_bf16_tensors_are_taken(x):
    for t in (x, x.bfloat16(), x.half()):
        q = tessera.quantize(t, "nvfp4")
        assert np.array_equal(q.codes, tessera.quantize(t.float().numpy(), "nvfp4").codes)


def test_strides_and_gradients_are_no_obstacle(x):
    expected = tessera.quantize(x.t().contiguous(), "mxfp8")
    assert np.array_equal(tessera.quantize(x.t(), "mxfp8").codes, expected.codes)
    grad = x.clone().requires_grad_()
    assert np.array_equal(tessera.quantize(grad.detach(), "mxfp8").codes, tessera.quantize(x, "mxfp8").codes)


def test_bf16_values_come_out_through_dlpack(x):
    q = tessera.quantize(x.bfloat16(), "mxfp8")
    values = tessera.dequantize(q, "bf16")
    t = torch.from_dlpack(values)
    assert t.dtype == torch.bfloat16 and t.shape == x.shape
    assert torch.equal(t.float(), torch.from_dlpack(tessera.dequantize(q)))
    assert np.array_equal(t.view(torch.int16).numpy().view(np.uint16), values.bits())


def test_views_share_memory_and_outlive_their_tensor(x):
    q = tessera.quantize(x, "mxfp8")
    codes = torch.from_dlpack(q.codes)
    assert codes.data_ptr() == q.codes.numpy().ctypes.data
    expected = codes.clone()
    del q
    for _ in range(10):
        tessera.quantize(2 * x, "mxfp8")
    assert torch.equal(codes, expected)
