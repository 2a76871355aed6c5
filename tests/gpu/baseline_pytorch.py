# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of gpu_baseline_pytorch: attention through its own cuDNN. Reads lines "PROBLEM B H S D",
which set up one problem, and "time N", which is answered with the median milliseconds of N runs."""
import sys

import torch
from torch.ops import aten

RUNS_FIRST = 3


def forward(causal, q, k, v, _):
    return lambda: aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False)


def backward(causal, q, k, v, d_o):
    o, lse, _, _, max_q, max_k, seed, offset, _ = forward(causal, q, k, v, d_o)()
    return lambda: aten._scaled_dot_product_cudnn_attention_backward(
        d_o, q, k, v, o, lse, seed, offset, None, None, None, max_q, max_k, 0.0, causal)


PROBLEMS = {
    "mha_fwd": (forward, False),
    "mha_fwd_causal": (forward, True),
    "mha_bwd": (backward, False),
    "mha_bwd_causal": (backward, True),
}


def median_ms(run, n):
    times = []
    for _ in range(n):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        run()
        end.record()
        times.append((begin, end))
    torch.cuda.synchronize()
    return sorted(a.elapsed_time(b) for a, b in times)[n // 2]


def main():
    run = None
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "time":
            print(f"{median_ms(run, int(words[1])):.6f}", flush=True)
            continue
        make, causal = PROBLEMS[words[0]]
        run = None
        torch.cuda.empty_cache()
        tensors = [torch.randn(*map(int, words[1:5]), device="cuda", dtype=torch.bfloat16)
                   for _ in range(4)]
        run = make(causal, *tensors)
        for _ in range(RUNS_FIRST):
            run()
        torch.cuda.synchronize()
        print("ready", flush=True)


main()
