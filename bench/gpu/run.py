#!/usr/bin/env python3
"""Times programs of tang on a GPU beside PyTorch, in one process, in turns.

    bench/gpu/run.py --tang build/release/tang [--devices cuda,vulkan] [--suites rows,gemm]
                     [--case TEXT] [--rounds 5] [--out FILE]

Each case is a program, its inputs (standard normal) and the same work in PyTorch, eager and
compiled, on the same layouts; the peer is the faster of the two. Peers run in a CUDA graph over
rotated inputs that no cache holds, tang in its own recorded launches (`tang bench`). Times are
medians of rounds in which contenders take turns. `error` is max |out - ref| / max |ref| against f64.
One JSON line a case: bench/gpu/README.md has the fields.
"""
import argparse
import datetime
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

import numpy
import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.set_float32_matmul_precision("highest")
torch._dynamo.config.cache_size_limit = 64

N, M = 16384, 4096


def rows(name, body, outputs, f, inputs=("x[i, j]",), shapes=((N, M),), n=N, m=M):
    text = f"dim i = {n}, j = {m}\ninput {', '.join(inputs)} : f32\n{body}\noutput {outputs}\n"
    return {"suite": "rows", "case": f"{name} f32 {n}x{m}", "text": text, "f": f, "shapes": shapes,
            "names": [t.split("[")[0] for t in inputs], "tol": 1e-4}


def plain(suite, case, text, names, shapes, f, tol=1e-4):
    return {"suite": suite, "case": case, "text": text, "names": names, "shapes": shapes, "f": f, "tol": tol}


F = torch.nn.functional
SOFTMAX = "e[i, j] = exp(x[i, j] - max[j](x[i, j]))\ny[i, j] = e[i, j] / sum[j](e[i, j])"
CASES = [
    rows("softmax", SOFTMAX, "y", lambda x: torch.softmax(x, 1)),
    rows("softmax", SOFTMAX, "y", lambda x: torch.softmax(x, 1),
         n=4096, m=32768, shapes=((4096, 32768),)),
    rows("layernorm", "y[i, j] = (x[i, j] - mean[j](x[i, j])) * rsqrt(var[j](x[i, j]) + 1e-5) * g[j] + b[j]", "y",
         lambda x, g, b: F.layer_norm(x, (x.shape[1],), g, b), ("x[i, j]", "g[j]", "b[j]"), ((N, M), (M,), (M,))),
    rows("rmsnorm", "y[i, j] = x[i, j] * rsqrt(mean[j](x[i, j] * x[i, j]) + 1e-5) * g[j]", "y",
         lambda x, g: F.rms_norm(x, (x.shape[1],), g, 1e-5), ("x[i, j]", "g[j]"), ((N, M), (M,))),
    rows("logsumexp", "y[i] = logsumexp[j](x[i, j])", "y", lambda x: torch.logsumexp(x, 1)),
    rows("sum of rows", "y[i] = sum[j](x[i, j])", "y", lambda x: x.sum(1)),
    rows("sum of columns", "y[j] = sum[i](x[i, j])", "y", lambda x: x.sum(0)),
    plain("elementwise", "add f32 67108864", "dim i = 67108864\ninput x[i], y[i] : f32\nz[i] = x[i] + y[i]\noutput z\n",
          ["x", "y"], ((1 << 26,), (1 << 26,)), lambda x, y: x + y),
    plain("elementwise", "gelu f32 67108864", "dim i = 67108864\ninput x[i] : f32\nz[i] = gelu(x[i])\noutput z\n",
          ["x"], ((1 << 26,),), F.gelu),
    plain("elementwise", "bias + relu f32 16384x4096", "dim i = 16384, j = 4096\ninput x[i, j], b[j] : f32\nz[i, j] = relu(x[i, j] + b[j])\noutput z\n",
          ["x", "b"], ((N, M), (M,)), lambda x, b: torch.relu(x + b)),
    plain("transposes", "f32 8192x8192", "dim i = 8192, j = 8192\ninput x[i, j] : f32\ny[j, i] = x[i, j]\noutput y\n",
          ["x"], ((8192, 8192),), lambda x: x.t().contiguous()),
    plain("transposes", "f32 64x1024x1024 (0 2 1)", "dim b = 64, i = 1024, j = 1024\ninput x[b, i, j] : f32\ny[b, j, i] = x[b, i, j]\noutput y\n",
          ["x"], ((64, 1024, 1024),), lambda x: x.transpose(1, 2).contiguous()),
    plain("transposes", "f32 4x2048x16x128 (0 2 1 3)", "dim b = 4, s = 2048, h = 16, d = 128\ninput x[b, s, h, d] : f32\ny[b, h, s, d] = x[b, s, h, d]\noutput y\n",
          ["x"], ((4, 2048, 16, 128),), lambda x: x.transpose(1, 2).contiguous()),
    plain("gemm", "f32 4096 NN", "dim i = 4096, j = 4096, k = 4096\ninput a[i, k], b[k, j] : f32\nc[i, j] = sum[k](a[i, k] * b[k, j])\noutput c\n",
          ["a", "b"], ((4096, 4096), (4096, 4096)), lambda a, b: a @ b),
    plain("gemm", "f32 4096 NT", "dim i = 4096, j = 4096, k = 4096\ninput a[i, k], b[j, k] : f32\nc[i, j] = sum[k](a[i, k] * b[j, k])\noutput c\n",
          ["a", "b"], ((4096, 4096), (4096, 4096)), lambda a, b: a @ b.t()),
    plain("gemm", "f32 1000 NN", "dim i = 1000, j = 1000, k = 1000\ninput a[i, k], b[k, j] : f32\nc[i, j] = sum[k](a[i, k] * b[k, j])\noutput c\n",
          ["a", "b"], ((1000, 1000), (1000, 1000)), lambda a, b: a @ b),
]


def sets_of(case):
    """Inputs, several times where a cache could hold them: lists of tensors on the device."""
    size = sum(4 * math.prod(s) for s in case["shapes"])
    count = max(2, min(8, math.ceil((1 << 28) / size)))
    return [[torch.randn(s, device="cuda") for s in case["shapes"]] for _ in range(count)]


class Peer:
    """A PyTorch function over rotated inputs, in one CUDA graph."""

    def __init__(self, name, f, sets):
        self.name, self.sets = name, sets
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for x in sets * 2:
                f(*x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.kept = [f(*x) for x in sets]
        self.repeat = 1
        self.repeat = max(1, round(20 / max(self.ms() * len(sets), 1e-3)))

    def ms(self):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(self.repeat):
            self.graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / self.repeat / len(self.sets)


def tang(options, arguments):
    done = subprocess.run([options.tang, *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:] or f"exit {done.returncode}")
    return done.stdout


def error_of(options, case, device, folder, inputs, program):
    arguments = ["run", program, "--device", device, "--out", f"{folder}/out.npy"]
    for name, x in zip(case["names"], inputs):
        numpy.save(f"{folder}/{name}.npy", x.cpu().numpy())
        arguments += ["--in", f"{name}={folder}/{name}.npy"]
    tang(options, arguments)
    want = case["f"](*[x.double() for x in inputs])
    got = torch.from_numpy(numpy.load(f"{folder}/out.npy")).cuda().double()
    if not bool(torch.isfinite(got).all()):
        return math.inf
    return float((got - want).abs().max() / want.abs().max())


def bytes_moved(case):
    sets = [torch.empty(s, device="meta") for s in case["shapes"]]
    return 4 * (sum(x.numel() for x in sets) + case["f"](*sets).numel())


def measure(options, case, copy_rate):
    sets = sets_of(case)
    peers = [Peer("torch eager", case["f"], sets)]
    if not options.no_compile:
        try:
            peers.append(Peer("torch compiled", torch.compile(case["f"], dynamic=False), sets))
        except Exception as e:
            print(f"{case['case']}: not compiled: {e}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program.tang"
        with open(program, "w") as file:
            file.write(case["text"])
        for device in options.devices.split(","):
            line = {"schema": 1, "suite": case["suite"], "case": case["case"], "backend": device, "ok": False}
            try:
                line["error"] = error_of(options, case, device, folder, sets[0], program)
                line["tol"] = case["tol"]
                line["ok"] = line["error"] <= case["tol"]
                turns = [(p.name, p.ms) for p in peers]
                turns.append(("tang", lambda: json.loads(tang(options, [
                    "bench", program, "--device", device, "--json", "--runs", "3"]))["total_ms"]))
                times = {name: [] for name, _ in turns}
                for _ in range(options.rounds):
                    random.shuffle(turns)
                    for name, time in turns:
                        times[name].append(time())
                median = {name: statistics.median(t) for name, t in times.items()}
                best = min((p.name for p in peers), key=median.get)
                line.update(tang_ms=median["tang"], peer=best, peer_ms=median[best], ratio=median[best] / median["tang"],
                            fraction=bytes_moved(case) / median["tang"] / 1e6 / copy_rate if case["suite"] != "gemm" else None)
                line["all_ms"] = median
            except Exception as e:
                line["fault"] = str(e)
            line.update(device=torch.cuda.get_device_name(), date=datetime.date.today().isoformat(), commit=options.commit)
            yield line


def copy_rate():
    """GB/s of reading and writing 1 GiB."""
    x, y = torch.empty(1 << 28, device="cuda"), torch.empty(1 << 28, device="cuda")
    peer = Peer("copy", lambda a, b: torch.neg(a, out=b), [(x, y), (y, x)])
    return 2 * (1 << 30) / statistics.median(peer.ms() for _ in range(5)) / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tang", default="build/release/tang")
    parser.add_argument("--devices", default="cuda")
    parser.add_argument("--suites", default="rows,elementwise,transposes,gemm")
    parser.add_argument("--case", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--commit", default=os.environ.get("COMMIT", ""))
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    rate = copy_rate()
    print(f"copy: {rate:.0f} GB/s")
    out = open(options.out, "a") if options.out else None
    for case in CASES:
        if case["suite"] not in options.suites.split(",") or options.case not in case["case"]:
            continue
        for line in measure(options, case, rate):
            text = json.dumps(line)
            print(f"{line['suite']:12} {line['case']:34} {line['backend']:7}", "ok" if line["ok"] else "WRONG",
                  f"{line.get('tang_ms', 0):9.4f} ms  ratio {line.get('ratio', 0):6.3f}  of copy {line.get('fraction') or 0:5.2f}",
                  line.get("peer", ""), line.get("fault", "")[:200], flush=True)
            if out:
                print(text, file=out, flush=True)


if __name__ == "__main__":
    main()
