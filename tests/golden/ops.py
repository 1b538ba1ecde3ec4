#!/usr/bin/python3
"""Writes tests/golden/ops.txt: inputs, attributes and PyTorch's results for every public op.

Needs PyTorch (Debian: python3-torch). Run: tests/golden/ops.py > tests/golden/ops.txt

A case is lines "case op rtol atol", "attr name numbers...", "in|out dtype layout sizes : values",
"number f64|i64 value" (a C++ number as operand) and "end". f32 results of inexact ops are computed
in f64 and rounded once. rtol 0 asks for the same bits, -0.0 included; any NaN is NaN.
Layouts: c row-major, t axes stored in reverse, s every second element, e axis 0 expanded.
"""
import math

import torch
import torch.nn.functional as F

NAMES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}
FLOATS = (torch.float32, torch.float64)
INF, NAN = math.inf, math.nan
I64_MAX, I64_MIN = 2**63 - 1, -(2**63)


def text(v):
    if not isinstance(v, float):
        return str(int(v))
    digits = repr(v)  # the shortest text that reads back as v
    return digits[:-2] if digits.endswith(".0") else digits


def line(kind, value):
    if not isinstance(value, (torch.Tensor, tuple)):
        print("number", "f64" if isinstance(value, float) else "i64", text(value))
        return
    t, layout = value if isinstance(value, tuple) else (value, "c")
    values = " ".join(text(v) for v in t.flatten().tolist())
    print(kind, NAMES[t.dtype], layout, *t.shape, ":", values)


def case(op, inputs, wanted, rtol=0, atol=0, **attrs):
    print("case", op, rtol, atol)
    for name, value in attrs.items():
        items = value if isinstance(value, (list, tuple)) else [value]
        print("attr", name, *[text(v) for v in items])
    for value in inputs:
        line("in", value)
    for value in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
        line("out", value)
    print("end")


def bare(value):
    return value[0] if isinstance(value, tuple) else value


def exact(op, inputs, function=None, **attrs):
    case(op, inputs, (function or getattr(torch, op))(*map(bare, inputs)), **attrs)


def inexact(op, inputs, function=None, rtol32=2.0**-22, rtol64=1e-14, atol32=1e-44, atol64=0,
            **attrs):
    """Computes in f64; floating results get the dtype that the inputs promote to."""
    tensors = [bare(v) for v in inputs]
    kind = torch.float32
    if any(isinstance(t, torch.Tensor) and t.dtype == torch.float64 for t in tensors):
        kind = torch.float64
    wide = [t.double() if isinstance(t, torch.Tensor) and t.dtype in FLOATS else t for t in tensors]
    out = (function or getattr(torch, op))(*wide)
    outs = out if isinstance(out, (list, tuple)) else [out]
    outs = [t.to(kind) if t.dtype in FLOATS else t for t in outs]
    single = kind == torch.float32
    case(op, inputs, outs, rtol32 if single else rtol64, atol32 if single else atol64, **attrs)


def fill(sizes, salt=0, dtype=torch.float64, low=-2.0, high=2.0):
    """Values that f32 holds exactly."""
    n = math.prod(sizes)
    steps = [((i * 37 + salt * 11 + 5) % 64) / 64 for i in range(n)]
    return torch.tensor([low + (high - low) * s for s in steps], dtype=dtype).reshape(sizes)


SPECIAL = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, -0.3125]


def unary():
    same = "neg abs sign relu floor ceil trunc round square".split()
    for op in same + ["isnan", "logical_not"]:
        # relu(-0.0): PyTorch keeps the sign, max(x, 0) as the op is documented gives 0.0.
        special = [v for v in SPECIAL if op != "relu" or text(v) != "-0"]
        for dtype in FLOATS:
            exact(op, [torch.tensor(special, dtype=dtype)])
            exact(op, [(fill((3, 4), 1, dtype), "t")])
        exact(op, [torch.empty(0, 3)])
    for op in ["neg", "abs", "sign", "relu", "square"]:
        exact(op, [torch.tensor([0, 3, -7, I64_MAX, I64_MIN])])
    for op in ["logical_not"]:
        exact(op, [torch.tensor([True, False])])
        exact(op, [torch.tensor([0, 3, -7])])
    functions = {"softplus": lambda x: torch.where(x > 30, x, torch.log1p(torch.exp(x))),
                 "silu": F.silu, "gelu": F.gelu,
                 "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
    for op in ("exp expm1 log log1p sqrt rsqrt reciprocal tanh sigmoid erf sin cos silu softplus "
               "gelu gelu_tanh").split():
        f = functions.get(op)
        slack = dict(rtol32=2e-6, rtol64=1e-13, atol32=3e-7, atol64=1e-15) if f else {}
        low = 0.0625 if op in ("log", "sqrt", "rsqrt") else -0.9375 if op == "log1p" else -2.0
        for dtype in FLOATS:
            inexact(op, [fill((2, 5), 2, dtype, low, 2.0)], f, **slack)
            inexact(op, [(fill((4, 3), 3, dtype, low, 2.0), "t")], f, **slack)
            inexact(op, [(fill((7,), 4, dtype, low, 2.0), "s")], f, **slack)
            if not f:
                inexact(op, [torch.tensor(SPECIAL, dtype=dtype)], f)
        inexact(op, [torch.tensor(0.75)], f, **slack)
        inexact(op, [torch.empty(2, 0)], f, **slack)
    for op in "exp sqrt tanh sigmoid".split():
        f = getattr(torch, op)
        inexact(op, [torch.tensor([0, 1, 4])], lambda x, f=f: f(x.double()))
        inexact(op, [torch.tensor([True, False])], lambda x, f=f: f(x.double()))


def binary():
    left = torch.tensor([v for v in SPECIAL for _ in SPECIAL])
    right = torch.tensor(SPECIAL * len(SPECIAL))
    compare = "eq ne lt le gt ge".split()
    for op in "add sub mul div maximum minimum".split() + compare + ["logical_and", "logical_or"]:
        for dtype in FLOATS:
            a, b = left.to(dtype), right.to(dtype)
            if op in ("maximum", "minimum"):  # PyTorch leaves the sign of equal zeros open
                keep = ~((a == 0) & (b == 0))
                a, b = a[keep], b[keep]
            exact(op, [a, b])
            exact(op, [(fill((3, 4), 1, dtype), "t"), fill((4,), 2, dtype)])
            exact(op, [fill((2, 1, 3), 1, dtype), (fill((4, 1), 2, dtype), "s")])
        exact(op, [(fill((1, 4), 5).expand(3, 4), "e"), fill((3, 1), 6)])
        exact(op, [torch.empty(0, 3), fill((1,), 1, torch.float32)])
        exact(op, [fill((3,), 1, torch.float32), torch.tensor(1.5, dtype=torch.float64)])
        exact(op, [fill((3,), 1, torch.float32), fill((3,), 2)])
        exact(op, [torch.tensor([1, -2, 3]), fill((3,), 2, torch.float32)])
    for op in "add sub mul div".split() + compare:
        exact(op, [fill((3,), 1, torch.float32), 2])
        exact(op, [fill((3,), 1, torch.float32), 0.5])
        exact(op, [torch.tensor([1, 2, -3]), 0.5])
    for op in "add sub mul".split():
        exact(op, [torch.tensor([I64_MAX, I64_MIN, 7]), torch.tensor([1, -1, 3])])
        exact(op, [torch.tensor([I64_MAX, I64_MIN, 5]), torch.tensor([I64_MAX, 1, -9])])
        exact(op, [torch.tensor([4, 5]), 3])
        exact(op, [2.5, torch.tensor([4, 5])], lambda a, b, op=op: getattr(torch, op)(
            torch.tensor(a), b))
    exact("add", [torch.tensor([True, False]), torch.tensor([3, 4])])
    exact("mul", [torch.tensor([True, False]), fill((2,), 1, torch.float32)])
    exact("div", [torch.tensor([7, -7]), torch.tensor([2, 2])])
    for op in "eq lt maximum minimum".split():
        exact(op, [torch.tensor([I64_MAX, 0]), torch.tensor([I64_MAX - 1, 5])])
    signed = [7, -7, 7, -7, 6, 0], [2, 2, -2, -2, 3, 5]
    for op in "floor_divide remainder fmod".split():
        exact(op, [torch.tensor(signed[0]), torch.tensor(signed[1])])
        for dtype in FLOATS:
            exact(op, [torch.tensor(signed[0][:5], dtype=dtype) + 0.5,
                       torch.tensor(signed[1][:5], dtype=dtype)])
        exact(op, [fill((2, 3), 3) * 4, torch.tensor(0.75, dtype=torch.float64)])
    exact("pow", [torch.tensor([2, -3, 0, 10]), torch.tensor([10, 3, 0, 2])])
    for dtype in FLOATS:
        inexact("pow", [left.to(dtype), right.to(dtype)], rtol64=1e-14)
        inexact("pow", [fill((2, 3), 1, dtype, 0.25, 2.0), fill((3,), 2, dtype)])
        inexact("pow", [fill((3,), 1, dtype), 2])
    for dtype in FLOATS:
        a, b, c = (fill((2, 3), s, dtype) for s in (1, 2, 3))
        slack = dict(rtol32=1e-6, rtol64=1e-14, atol32=5e-7, atol64=1e-15)
        inexact("lerp", [a, b, 0.25], **slack)
        inexact("lerp", [a, b, c], **slack)
        inexact("addcmul", [a, b, (c, "t")], **slack)
        inexact("addcmul", [a, b, c], lambda x, y, z: torch.addcmul(x, y, z, value=-0.5),
                value=-0.5, **slack)
        inexact("addcdiv", [a, b, c + 4], **slack)
        exact("where", [a > 0, a, b])
        exact("where", [torch.tensor([True, False, True]), a, b])
        exact("clamp", [torch.tensor(SPECIAL, dtype=dtype)], lambda x: x.clamp(-1.25, 1.25),
              min=-1.25, max=1.25)
        exact("clamp", [a], lambda x: x.clamp(min=0.25), min=0.25)
        exact("clamp", [a], lambda x: x.clamp(max=0.25), max=0.25)
    exact("where", [torch.tensor([[True], [False]]), torch.tensor([1, 2, 3]), torch.tensor(9)])


def movement():
    for x in (fill((2, 3, 4), 1, torch.float32), torch.arange(24).reshape(2, 3, 4),
              fill((2, 3, 4), 1) > 0):
        for layout in "ct":
            v = [(x, layout)]
            exact("reshape", v, lambda t: t.reshape(4, -1), sizes=[4, -1])
            exact("permute", v, lambda t: t.permute(2, 0, 1), axes=[2, 0, -2])
            exact("transpose", v, lambda t: t.transpose(0, 2), axes=[0, -1])
            exact("slice", v, lambda t: t[:, 1:], axis=1, start=1)
            exact("slice", v, lambda t: t[..., -3:-1], axis=-1, start=-3, stop=-1)
            exact("slice", v, lambda t: t[..., ::3], axis=2, step=3)
            exact("narrow", v, lambda t: t.narrow(2, 1, 2), axis=-1, start=1, length=2)
            exact("flatten", v, lambda t: t.flatten())
            exact("flatten", v, lambda t: t.flatten(1, -1), start=1, end=-1)
            for op in "zeros_like ones_like".split():
                exact(op, v)
            exact("empty_like", v, torch.zeros_like)  # no old bytes are shown
            exact("full_like", v + [1], torch.full_like)
            exact("select", v, lambda t: t.select(-1, -2), axis=-1, index=-2)
            exact("unsqueeze", v, lambda t: t.unsqueeze(-1), axis=-1)
            exact("flip", v, lambda t: t.flip(0, 2), axes=[0, -1])
            exact("clone", v)
            exact("contiguous", v, lambda t: t.contiguous())
            exact("cat", v + [(x[:, :1], "c")], lambda *t: torch.cat(t, 1), axis=-2)
            exact("stack", v + v, lambda *t: torch.stack(t, 1), axis=1)
            i = torch.tensor([2, 0, 2, 1])
            exact("index_select", v + [i], lambda t, k: t.index_select(1, k), axis=1)
            g = torch.tensor([[[0, 2, 1, 0]], [[1, 1, 0, 2]]])
            exact("gather", v + [g], lambda t, k: t.gather(1, k), axis=1)
            exact("index", v + [torch.tensor([1, -1, 0])], lambda t, k: t[k])
            exact("nonzero", v)
            exact("masked_select", v + [(x != x[0, 0, 0])])
            exact("copy_", v + [x[1]], lambda t, s: t.clone().copy_(s))
        exact("view", [(x, "c")], lambda t: t.view(4, -1), sizes=[4, -1])
    x = fill((1, 3, 1), 1)
    exact("squeeze", [x], lambda t: t.squeeze())
    exact("squeeze", [x], lambda t: t.squeeze(-1), axis=-1)
    exact("expand", [x], lambda t: t.expand(2, 3, 4), sizes=[2, -1, 4])
    exact("detach", [x], lambda t: t.detach())
    exact("cat", [torch.empty(0, 2), torch.ones(1, 2)], lambda *t: torch.cat(t, 0), axis=0)
    exact("index_add", [fill((3, 2), 1), torch.tensor([2, 0, 2]), torch.ones(3, 2).double()],
          lambda t, i, s: t.index_add(0, i, s), axis=0)
    exact("scatter_add", [fill((3, 2), 1), torch.tensor([[2, 0], [2, 1]]),
                          torch.ones(2, 2).double()], lambda t, i, s: t.scatter_add(0, i, s), axis=0)
    w = fill((5, 3), 1, torch.float32)
    exact("embedding", [w, torch.tensor([[4, 0], [0, 2]])], lambda t, i: F.embedding(i, t))
    exact("embedding", [w, torch.tensor(3)], lambda t, i: F.embedding(i, t))
    exact("one_hot", [torch.tensor([1, 0, 3])], lambda i: F.one_hot(i, 4), classes=4)
    exact("index_put_", [fill((3, 2), 1), torch.tensor([2, 0]), torch.ones(2, 2).double()],
          lambda t, i, v: t.clone().index_put_((i,), v))
    exact("index_put_", [fill((3, 2), 1), torch.tensor([2, 2]), torch.ones(2, 2).double()],
          lambda t, i, v: t.clone().index_put_((i,), v, accumulate=True), accumulate=1)
    mixed = torch.tensor([0.0, 1.75, -1.75, 100.5])
    exact("to_i64", [mixed], lambda t: t.long())
    exact("to_f64", [mixed], lambda t: t.double())
    exact("to_bool", [mixed], lambda t: t.bool())
    exact("to_f32", [torch.tensor([0, 2**24 + 1, -5])], lambda t: t.float())
    exact("to_f32", [torch.tensor([True, False])], lambda t: t.float())
    exact("zeros", [], lambda: torch.zeros(2, 3), sizes=[2, 3])
    exact("ones", [], lambda: torch.ones(2, 0), sizes=[2, 0])
    exact("full", [2.5], lambda v: torch.full((2,), v), sizes=[2])
    exact("full", [I64_MAX], lambda v: torch.full((2,), v), sizes=[2])
    exact("empty", [], lambda: torch.zeros(2, 2), sizes=[2, 2])
    exact("scalar_tensor", [2.5], torch.tensor)
    exact("scalar_tensor", [-3], torch.tensor)
    exact("tensor", [], lambda: torch.tensor([1.5, -2.0, 3.0]), values=[1.5, -2.0, 3.0])
    near = torch.tensor([1.0, 1e-9, INF, NAN], dtype=torch.float64)
    for name, other in (("same", near.clone()), ("near", near + 1e-9), ("far", near * 1.5)):
        for keep in (3, 4):  # with and without the NaN
            pair = [near[:keep], other[:keep]]
            exact("equal", pair, lambda a, b: torch.tensor(torch.equal(a, b)))
            for nan in (0, 1):
                exact("allclose", pair, lambda a, b, nan=nan: torch.tensor(
                    torch.allclose(a, b, equal_nan=bool(nan))), nan=nan)
    exact("equal", [torch.ones(2), torch.ones(2, 1)], lambda a, b: torch.tensor(torch.equal(a, b)))
    exact("allclose", [torch.tensor([1.0, 2.0]), torch.tensor([1.25, 2.5])], lambda a, b:
          torch.tensor(torch.allclose(a, b, rtol=0.0, atol=0.5)), relative=0.0, absolute=0.5)
    exact("fill_", [fill((2, 2), 1), 3], lambda t, v: torch.full_like(t, v))
    exact("eye", [], lambda: torch.eye(3), n=3)
    exact("arange", [5], torch.arange)
    exact("arange", [2, -5, -3], torch.arange)
    exact("arange", [0.0, 1.0, 0.25], torch.arange)


def reductions():
    tie = torch.tensor([[1.0, 3.0, 3.0], [NAN, 2.0, NAN], [-INF, -INF, -INF]])
    slack = dict(rtol32=1e-6, rtol64=1e-14, atol32=1e-6, atol64=1e-14)
    for dtype in FLOATS:
        x = fill((3, 4, 5), 1, dtype)
        for layout in "cts":
            v = [(x, layout)]
            for op in "sum mean prod amax amin var".split():
                f = getattr(torch, op)
                run = exact if op in ("amax", "amin") else inexact
                extra = {} if run is exact else slack
                if op != "prod":
                    run(op, v, lambda t, f=f: f(t, dim=(0, 2)), axes=[0, -1], **extra)
                run(op, v, lambda t, f=f: f(t, dim=1, keepdim=True), axes=[-2], keepdim=1, **extra)
            for op in "max min".split():
                f = getattr(torch, op)
                exact(op + "_dim", v, lambda t, f=f: tuple(f(t, dim=-1)), axis=-1)
            inexact("std", v, lambda t: torch.std(t, dim=(0, 2)), axes=[0, -1], **slack)
            inexact("std", v, lambda t: torch.std(t, dim=1, keepdim=True), axes=[1], keepdim=1,
                    **slack)
            for k, axis, largest in ((3, -1, 1), (2, 0, 0), (4, 1, 1), (0, 1, 1)):
                exact("topk", v, lambda t: tuple(torch.topk(t, k, axis, bool(largest))), k=k,
                      axis=axis, largest=largest)
            for op in "argmax argmin".split():
                f = getattr(torch, op)
                exact(op, v, lambda t, f=f: f(t, dim=0, keepdim=True), axis=0, keepdim=1)
        inexact("var", [x], lambda t: torch.var(t, dim=(1,), unbiased=False), axes=[1],
                correction=0, **slack)
        for op in "argmax argmin".split():
            exact(op, [tie.to(dtype)], lambda t, op=op: getattr(torch, op)(t, dim=1), axis=1)
        inexact("std", [x], lambda t: torch.std(t, dim=(1,), unbiased=False), axes=[1],
                correction=0, **slack)
        nan_once = torch.tensor([[1.0, NAN, -INF, 3.0], [INF, 2.0, -2.0, 0.5]], dtype=dtype)
        for largest in (0, 1):
            exact("topk", [nan_once], lambda t: tuple(torch.topk(t, 4, 1, bool(largest))), k=4,
                  axis=1, largest=largest)
        exact("max_dim", [tie.to(dtype)], lambda t: tuple(torch.max(t, dim=1)), axis=1)
        exact("amax", [tie.to(dtype)], lambda t: torch.amax(t, dim=1), axes=[1])
        rows = [torch.tensor([[-INF, -INF], [0.0, -INF], [1.0, 2.0]], dtype=dtype)]
        for op in "softmax log_softmax logsumexp".split():
            f = getattr(torch, op)
            inexact(op, rows, lambda t, f=f: f(t, dim=1), axis=-1, **slack)
            inexact(op, [(x * 8, "t")], lambda t, f=f: f(t, dim=1), axis=1, **slack)
            inexact(op, [(x * 8, "c")], lambda t, f=f: f(t, dim=2), axis=-1, **slack)
    exact("argmax", [torch.tensor([[1, 5], [5, 0]])])
    exact("topk", [torch.tensor([3, I64_MAX, I64_MIN, 7])], lambda t: tuple(torch.topk(t, 2)), k=2,
          axis=-1, largest=1)
    exact("topk", [torch.tensor(2.5)], lambda t: tuple(torch.topk(t, 1)), k=1, axis=-1, largest=1)
    exact("sum", [torch.tensor([I64_MAX, 1, 5])])
    exact("sum", [torch.tensor([True, True, False])])
    exact("prod", [torch.tensor([I64_MAX, 3])])
    exact("sum", [torch.empty(0, 3)], lambda t: t.sum(0), axes=[0])
    exact("prod", [torch.empty(0)])
    inexact("mean", [torch.tensor(2.5)])
    for op in "any all".split():
        f = getattr(torch, op)
        exact(op, [fill((2, 3), 1) > 0], lambda t, f=f: f(t, dim=1), axes=[1])
        exact(op, [torch.empty(0, 2) > 0], lambda t, f=f: f(t, dim=0), axes=[0])


def products():
    slack = dict(rtol32=2e-6, rtol64=1e-13, atol32=4e-6, atol64=1e-13)
    pairs = [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)),
             ((3,), (5, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
             ((2, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]
    for dtype in FLOATS:
        for a, b in pairs:
            for layouts in ("cc", "tt"):
                inexact("matmul", [(fill(a, 1, dtype), layouts[0]), (fill(b, 2, dtype), layouts[1])],
                        **slack)
        x, w, b = fill((2, 3), 1, dtype), fill((4, 3), 2, dtype), fill((4,), 3, dtype)
        inexact("addmm", [b, x, (w.t().contiguous(), "t")], **slack)
        inexact("addmm", [b, x, w.t().contiguous()],
                lambda i, p, q: torch.addmm(i, p, q, beta=0.5, alpha=-2), beta=0.5, alpha=-2.0,
                **slack)
        inexact("linear", [x, w], F.linear, **slack)
        inexact("linear", [fill((2, 2, 3), 1, dtype), w, b], F.linear, **slack)
    exact("matmul", [torch.arange(6).reshape(2, 3), torch.arange(6).reshape(3, 2)])


def composites():
    slack = dict(rtol32=4e-6, rtol64=1e-12, atol32=2e-6, atol64=1e-13)
    target = torch.tensor([2, 0, 1, 2])
    reductions_ = ["mean", "none", "sum"]
    for dtype in FLOATS:
        x, w, b = fill((2, 3, 4), 1, dtype), fill((4,), 2, dtype), fill((4,), 3, dtype)
        inexact("layer_norm", [x], lambda t: F.layer_norm(t, (4,)), normalized=[4], **slack)
        inexact("layer_norm", [(x, "t"), w, b], lambda t, p, q: F.layer_norm(t, (4,), p, q),
                normalized=[4], **slack)
        inexact("layer_norm", [x], lambda t: F.layer_norm(t, (3, 4), eps=0.5), normalized=[3, 4],
                eps=0.5, **slack)
        logits, weight = fill((4, 3), 4, dtype), fill((3,), 5, dtype, 0.25, 2.0)
        for number, reduction in enumerate(reductions_):
            for smoothing in (0.0, 0.25):
                for ignored in (-100, 2):
                    def loss(t, k, p=None):
                        return F.cross_entropy(t, k, p, reduction=reduction, ignore_index=ignored,
                                               label_smoothing=smoothing)
                    attrs = dict(reduction=number, ignore=ignored, smoothing=smoothing, **slack)
                    inexact("cross_entropy", [logits, target], loss, **attrs)
                    inexact("cross_entropy", [(logits, "t"), target, weight], loss, **attrs)
        inexact("mse_loss", [x, x.flip(0)], F.mse_loss, **slack)


print("# Made by tests/golden/ops.py with PyTorch " + torch.__version__)
for part in (unary, binary, movement, reductions, products, composites):
    part()
