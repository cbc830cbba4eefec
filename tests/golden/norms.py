#!/usr/bin/env python3
# Makes norms.safetensors: what PyTorch's own normalizations compute over some steps of training and in evaluation.
#
#   /usr/bin/python3 tests/golden/norms.py             (torch 1.13; the tests themselves never need it)
#
# x, dy [S,N,H]: S steps of N rows, the sentences of LENGTHS end to end. For each norm: y, dx [S,N,H] of the steps,
# d.weight and d.bias summed over them, y_eval and dx_eval [N,H] of the last x in evaluation mode, and its buffers.
# Computed in double from float32 inputs, stored as float32.
import json
import os
import struct

import torch
from torch import nn

S, H, GROUPS, LENGTHS = 3, 8, 2, [4, 3, 6]
N = sum(LENGTHS)
torch.manual_seed(11711)
torch.set_num_threads(1)


def write(name, tensors):
    header, blobs, at = {}, [], 0
    for key, tensor in tensors.items():
        blob = tensor.detach().float().contiguous().numpy().tobytes()
        header[key] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def random(*shape, scale=1.0, mean=0.0):
    return (mean + scale * torch.randn(shape)).float().double()


def of_sentences(norm):
    """A norm of [1,H,L] for each sentence of x [N,H]."""
    return lambda x: torch.cat([norm(s.t()[None])[0].t() for s in x.split(LENGTHS)])


x, dy, weight, bias = random(S, N, H, scale=2, mean=3), random(S, N, H), random(H, mean=1), random(H)
tensors = {"x": x, "dy": dy, "weight": weight, "bias": bias}
for name, norm in {"layer": nn.LayerNorm(H, eps=1e-12), "batch": nn.BatchNorm1d(H), "group": nn.GroupNorm(GROUPS, H),
                   "group-sentence": nn.GroupNorm(GROUPS, H), "instance": nn.InstanceNorm1d(H, affine=True)}.items():
    norm = norm.double().train()
    norm.weight.data.copy_(weight), norm.bias.data.copy_(bias)
    f = of_sentences(norm) if name in ("group-sentence", "instance") else norm
    values, gradients = [], []
    for step in range(S):
        input = x[step].clone().requires_grad_()
        values.append(f(input))
        values[-1].backward(dy[step])
        gradients.append(input.grad)
    tensors.update({f"{name}.y": torch.stack(values), f"{name}.dx": torch.stack(gradients),
                    f"{name}.d.weight": norm.weight.grad.clone(), f"{name}.d.bias": norm.bias.grad.clone()})
    norm.eval()
    input = x[-1].clone().requires_grad_()
    value = f(input)
    value.backward(dy[-1])
    tensors.update({f"{name}.y_eval": value, f"{name}.dx_eval": input.grad})
    tensors.update({f"{name}.{b}": v for b, v in norm.named_buffers() if v.dim()})
write("norms.safetensors", tensors)
