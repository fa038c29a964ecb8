#!/usr/bin/env python3
"""The C interface on CUDA tensors of PyTorch through DLPack: on a stream of PyTorch's, and in a graph
that it captures.
  dlpack_torch.py libtang.so
Prints OK. Exits 77 where PyTorch, a GPU, or NVRTC is missing."""
import ctypes
import sys

try:
    import torch
    from torch.utils.dlpack import to_dlpack
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

ROWS, COLUMNS = 512, 1000
TEXT = f"""dim i = {ROWS}, j = {COLUMNS}
input x[i, j]
e[i, j] = exp(x[i, j] - max[j](x[i, j]))
y[i, j] = e[i, j] / sum[j](e[i, j])
output y
"""


class Option(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class RunOptions(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_int64)]


tang = ctypes.CDLL(sys.argv[1])
for name in ("tang_error_message", "tang_error_id"):
    getattr(tang, name).restype = ctypes.c_char_p
tang.tang_program_workspace_bytes.restype = ctypes.c_int64
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def failure(code, error):
    """What went wrong, or "" for nothing."""
    if code == 0:
        return ""
    text = f"{tang.tang_error_id(error).decode()} {tang.tang_error_message(error).decode()}"
    tang.tang_error_free(error)
    return text


torch.zeros(1, device="cuda")  # makes PyTorch's context current
program, error = ctypes.c_void_p(), ctypes.c_void_p()
options = (Option * 1)((b"device", b"cuda"))
said = failure(tang.tang_compile(TEXT.encode(), options, ctypes.c_size_t(1), ctypes.byref(program),
                                 ctypes.byref(error)), error)
if said.startswith("E0911"):
    print(said)
    sys.exit(77)
assert not said, said
bytes_needed = tang.tang_program_workspace_bytes(program)
workspace = torch.empty(max(bytes_needed, 1), dtype=torch.uint8, device="cuda")


def run(x, y):
    """Puts the program on the current stream. A DLManagedTensor begins with its DLTensor."""
    capsules = [to_dlpack(x), to_dlpack(y)]
    tensors = [(ctypes.c_void_p * 1)(pointer(c, b"dltensor")) for c in capsules]
    with_stream = RunOptions(torch.cuda.current_stream().cuda_stream, workspace.data_ptr(),
                             bytes_needed)
    code = tang.tang_program_run(program, tensors[0], ctypes.c_size_t(1), tensors[1],
                                 ctypes.c_size_t(1), ctypes.byref(with_stream),
                                 ctypes.byref(error))
    return failure(code, error)


def check(what, x, y):
    torch.cuda.synchronize()
    expected = torch.softmax(x.double(), 1)
    worst = ((y.double() - expected).abs().max() / expected.abs().max()).item()
    assert worst < 1e-5, f"{what}: error {worst}"  # a NaN fails


x = torch.randn(ROWS, COLUMNS, device="cuda")
y = torch.full_like(x, float("nan"))
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    said = run(x, y)
assert not said, said
check("on a stream", x, y)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    said = run(x, y)
assert not said, said
for _ in range(3):
    x.copy_(torch.randn_like(x))
    y.fill_(float("nan"))
    graph.replay()
    check("in a captured graph", x, y)

host = torch.randn(ROWS, COLUMNS)
made = torch.empty_like(host)
said = run(host, made)
assert not said, said
check("host tensors", host, made)
assert run(x.t().contiguous().t(), y).startswith("E0719"), "a transposed tensor is refused"
assert run(x, made).startswith("E0720"), "tensors in two places are refused"
tang.tang_program_free(program)
print("OK", torch.cuda.get_device_name(), f"workspace {bytes_needed}")
