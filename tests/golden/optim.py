#!/usr/bin/python3
"""Writes tests/runtime/optim_golden.h: parameters after ten steps of PyTorch's optimisers.

Needs PyTorch (Debian: python3-torch). Run: tests/golden/optim.py > tests/runtime/optim_golden.h
"""
import torch

STEPS = 10


def start(dtype):
    """Two parameters, 3x4 and 5, of values that f32 holds exactly."""
    flat = [((i * 3) % 7 - 3) / 4 for i in range(17)]
    a = torch.tensor(flat[:12], dtype=dtype).reshape(3, 4)
    b = torch.tensor(flat[12:], dtype=dtype)
    return [torch.nn.Parameter(a), torch.nn.Parameter(b)]


def run(make, dtype, clip=None):
    params = start(dtype)
    optimizer = make(params)
    norms = []
    for t in range(STEPS):
        flat = [((i * 7 + t * 5) % 11 - 5) / 8 for i in range(17)]
        params[0].grad = torch.tensor(flat[:12], dtype=dtype).reshape(3, 4)
        # The second parameter has no gradient once: its step count falls behind.
        params[1].grad = None if t == 3 else torch.tensor(flat[12:], dtype=dtype)
        if clip is not None:
            norms.append(torch.nn.utils.clip_grad_norm_(params, clip).item())
        if t == 6:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
        optimizer.step()
    return [v for p in params for v in p.detach().flatten().tolist()], norms


def array(name, values):
    text = f"inline constexpr double {name}[] = {{\n"
    for v in values:
        text += f"    {float(v).hex()},\n"
    return text + "};\n"


SGD = torch.optim.SGD
RUNS = {
    "kSgd": lambda p: SGD(p, lr=0.1),
    "kSgdDecay": lambda p: SGD(p, lr=0.1, weight_decay=0.05),
    "kSgdMomentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "kSgdDampening": lambda p: SGD(p, lr=0.1, momentum=0.8, dampening=0.25, weight_decay=0.01),
    "kSgdNesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "kAdam": lambda p: torch.optim.Adam(p, lr=0.05),
    "kAdamDecay": lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4,
                                             weight_decay=0.1),
    "kAdamW": lambda p: torch.optim.AdamW(p, lr=0.05),
    "kAdamWDecay": lambda p: torch.optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4,
                                               weight_decay=0.1),
}


def main():
    print("// Parameters after ten steps of PyTorch's optimisers, in f64.")
    print(f"// Made by tests/golden/optim.py with PyTorch {torch.__version__}; the test repeats its"
          " steps.")
    print("#pragma once\n")
    print("namespace ingot::golden {\n")
    for name, make in RUNS.items():
        values, _ = run(make, torch.float64)
        print(array(name, values))
    values, norms = run(RUNS["kSgd"], torch.float64, clip=1.0)
    print(array("kClipped", values))
    print(array("kClipNorms", norms))
    print("}  // namespace ingot::golden")


main()
