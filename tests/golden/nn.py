#!/usr/bin/python3
"""Writes tests/runtime/nn_golden.h: a small network of PyTorch modules, its loss and gradients.

Needs PyTorch (Debian: python3-torch). Run: tests/golden/nn.py > tests/runtime/nn_golden.h
"""
import math

import torch
from torch import nn


def fill(tensor, salt):
    """Values that f32 holds exactly."""
    flat = [((i * 5 + salt * 3) % 13 - 6) / 8 for i in range(tensor.numel())]
    with torch.no_grad():
        tensor.copy_(torch.tensor(flat, dtype=torch.float64).reshape(tensor.shape))


def array(name, values):
    text = f"inline constexpr double {name}[] = {{\n"
    for v in values.flatten().tolist():
        text += f"    {float(v).hex()},\n"
    return text + "};\n"


def main():
    torch.set_default_dtype(torch.float64)
    embedding = nn.Embedding(7, 6)
    net = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 4, bias=False),
                        nn.SiLU(), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid(), nn.ReLU())
    parameters = list(embedding.parameters()) + list(net.parameters())
    for salt, p in enumerate(parameters):
        fill(p, salt)
    index = torch.tensor([[1, 4], [6, 0], [1, 1]])
    logits = net(embedding(index)).flatten(1)
    loss = nn.functional.cross_entropy(logits, torch.tensor([5, 0, 2]))
    loss.backward()

    print("// A small network of PyTorch modules: results, loss and gradients in f64; bounds of")
    print(f"// initial values. Made by tests/golden/nn.py with PyTorch {torch.__version__}.")
    print("#pragma once\n")
    print("namespace ingot::golden {\n")
    print(array("kLogits", logits))
    print(f"inline constexpr double kLoss = {loss.item().hex()};\n")
    for i, p in enumerate(parameters):
        print(array(f"kGrad{i}", p.grad))

    print("struct LinearBounds {\n  int in;\n  double weight, bias;  // largest magnitudes\n};")
    print("inline constexpr LinearBounds kLinearBounds[] = {")
    for n in (1, 7, 784):
        gain = nn.init.calculate_gain("leaky_relu", math.sqrt(5))
        weight = gain * math.sqrt(3) / math.sqrt(n)
        layer = nn.Linear(n, 200000 // n)
        seen = layer.weight.abs().max().item(), layer.bias.abs().max().item()
        assert 0.97 * weight < max(seen) <= weight, (n, weight, seen)
        print(f"    {{{n}, {weight.hex()}, {(1 / math.sqrt(n)).hex()}}},")
    print("};\n")
    print("}  // namespace ingot::golden")


main()
