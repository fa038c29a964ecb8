"""PyTorch as a peer: reads one JSON object a line, answers one a line, until its input ends.

{"do": "case", "inputs": [{"name", "shape", "file"}], "setup": text, "expression": text}
{"do": "time", "calls": n, "cpu": bool} -> {"ms": all of them}
{"do": "samples", "calls": n}    -> {"ms": [each]}
{"do": "output", "file": path}   -> the last call's result, as f32
{"do": "reference", "file": path} -> the same in f64
Threads are those of OMP_NUM_THREADS. What fails answers {"error": text}.
"""
import json
import math
import os
import resource
import sys
import time

import numpy
import torch
import torch.nn.functional as F

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


class Case:
    def __init__(self, request):
        self.inputs = {i["name"]: numpy.fromfile(i["file"], dtype=numpy.float32).reshape(i["shape"])
                       for i in request["inputs"]}
        self.setup, self.expression = request["setup"], request["expression"]
        self.call = self.prepare(torch.float32)
        self.result = None
        if os.environ.get("MALLOC_MMAP_MAX_") == "0":
            self.settle()

    def prepare(self, dtype):
        scope = {"torch": torch, "F": F, "math": math}
        scope.update((name, torch.from_numpy(x).to(dtype)) for name, x in self.inputs.items())
        exec(self.setup, scope)
        exec(f"def call():\n    return {self.expression}", scope)
        return scope["call"]

    def settle(self):
        """Calls until results land in memory of earlier ones, which glibc reaches late."""
        quiet, begin = 0, time.monotonic()
        while quiet < 3 and time.monotonic() < begin + 3:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            self.time(2, time.perf_counter_ns)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            quiet = quiet + 1 if after == before else 0

    def time(self, calls, clock):
        call, result = self.call, None
        begin = clock()
        for _ in range(calls):
            result = call()
        end = clock()
        self.result = result
        return (end - begin) / 1e6

    def samples(self, calls):
        call, times, clock = self.call, [], time.perf_counter_ns
        for _ in range(calls):
            begin = clock()
            self.result = call()
            times.append((clock() - begin) / 1e6)
        return times


def write(values, file):
    values.contiguous().numpy().tofile(file)


def answer(request, case):
    do = request["do"]
    if do == "version":
        return {"version": torch.__version__}
    if do == "time":
        clock = time.thread_time_ns if request["cpu"] else time.perf_counter_ns
        return {"ms": case.time(request["calls"], clock)}
    if do == "samples":
        return {"ms": case.samples(request["calls"])}
    if do == "output":
        write(case.result, request["file"])
    if do == "reference":
        write(case.prepare(torch.float64)(), request["file"])
    return {}


def main():
    case = None
    with torch.inference_mode():
        for line in sys.stdin:
            try:
                request = json.loads(line)
                if request["do"] == "case":
                    case, reply = Case(request), {}
                else:
                    reply = answer(request, case)
            except Exception as e:  # whatever it was, the other side must hear of it
                reply = {"error": f"{type(e).__name__}: {e}"}
            print(json.dumps(reply), flush=True)


main()
