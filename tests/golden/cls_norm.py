#!/usr/bin/env python3
# Makes cls_norm.safetensors: normalizations of [CLS] as numpy and PyTorch compute them.
#
#   /usr/bin/python3 tests/golden/cls_norm.py           (torch 1.13; the tests themselves never need it)
#
# Everything is computed in double from float32 inputs and stored as float32: the only rounding is the last.
import json
import os
import struct

import numpy as np
import torch

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cls_norm.safetensors")
STEPS, N, H, SET = 20, 6, 5, 23
random = np.random.default_rng(11711)
mix = random.normal(size=(H, H)) * np.array([3, 1, 0.3, 1, 0.01])


def rows(*shape):
    return (random.normal(size=(*shape, H)) @ mix + np.arange(H)).astype(np.float32).astype(np.float64)


fit, x = rows(SET), rows(STEPS, N)
dy = random.normal(size=x.shape).astype(np.float32).astype(np.float64)
tensors = {"fit": fit, "x": x, "dy": dy}

# ---- statistics of a set, applied to the first step [TA eq.2-4]
mu, low, high = fit.mean(0), fit.min(0), fit.max(0)
tensors["z"] = (x[0] - mu) / (fit.std(0) + 1e-5)
tensors["min-max"] = (2 * x[0] - low - high) / (high - low + 1e-5)
tensors["l2"] = x[0] / (np.sqrt((fit**2).mean(0)) + 1e-5)

# ---- whitening by the inverse root of the shrunk covariance [IsoBN eq.1]: by singular values, not by an eigensolver
Sigma = np.cov(fit.T, bias=True)
shrunk = 0.99 * Sigma + 0.01 * np.trace(Sigma) / H * np.eye(H)
u, s, _ = np.linalg.svd(shrunk)
tensors["whitening"] = (x[0] - mu) @ (u / np.sqrt(s) @ u.T)


# ---- IsoBN as its authors' published code does it, step by step
def iso_bn(x, moving, training):
    if training:
        y = x.detach() - x.detach().mean(0)
        moving["std"] += 0.05 * (((y**2).mean(0) ** 0.5) - moving["std"])
        moving["cov"] += 0.05 * (y.T @ y / len(y) - moving["cov"])
    rho = torch.clamp(moving["cov"] / torch.outer(moving["std"], moving["std"]), -1, 1)
    scale = 1 / ((rho**2).mean(1) * moving["std"] + 1e-3) ** 0.5
    variances = torch.diag(moving["cov"])
    scale = scale * (variances.sum() / ((variances * scale**2).sum() + 1e-3)) ** 0.5
    return x * scale.detach()


def run(name, step, evaluate):
    y, dx = [], []
    for s in range(STEPS):
        h = torch.tensor(x[s], requires_grad=True)
        out = step(h)
        out.backward(torch.tensor(dy[s]))
        y.append(out.detach().numpy()), dx.append(h.grad.numpy())
    tensors.update({f"{name}.y": np.stack(y), f"{name}.dx": np.stack(dx),
                    f"{name}.y_eval": evaluate(torch.tensor(x[-1])).detach().numpy()})


moving = {"std": torch.zeros(H, dtype=torch.float64), "cov": torch.zeros(H, H, dtype=torch.float64)}
run("iso-bn", lambda h: iso_bn(h, moving, True), lambda h: iso_bn(h, moving, False))

# ---- batch normalization: diagonal whitening [IsoBN eq.2]
layer = torch.nn.BatchNorm1d(H).double()
with torch.no_grad():
    layer.weight.copy_(torch.tensor(rows()).float())
    layer.bias.copy_(torch.tensor(rows()).float())
tensors.update({"weight": layer.weight.detach().numpy().copy(), "bias": layer.bias.detach().numpy().copy()})
run("batch", layer, lambda h: layer.eval()(h))
tensors.update({"running_mean": layer.running_mean.numpy(), "running_var": layer.running_var.numpy()})

# ---- isotropy: EV_k from singular values [IsoBN eq.9], Pearson's correlations
squares = np.linalg.svd(fit - mu, compute_uv=False) ** 2
tensors["ev"] = np.cumsum(squares) / squares.sum()
tensors["pearson"] = np.corrcoef(fit.T)

header, blobs, at = {}, [], 0
for key, tensor in tensors.items():
    blob = np.ascontiguousarray(tensor, dtype=np.float32).tobytes()
    header[key] = {"dtype": "F32", "shape": list(np.shape(tensor)), "data_offsets": [at, at + len(blob)]}
    blobs.append(blob)
    at += len(blob)
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(FILE, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
