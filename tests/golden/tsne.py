#!/usr/bin/env python3
# Makes tsne.safetensors: points in 10 dimensions, and what scikit-learn's exact t-SNE makes of them.
#
#   /usr/bin/python3 tests/golden/tsne.py               (scikit-learn 1.2.1; the tests themselves never need it)
#
# x [N,H]   three normal clusters of 30 points, then a rolled-up curve of 40
# p         the upper triangle of p_ij, without its diagonal, row by row
# y [N,2]   the best map of five seeds, by KL(P||Q)
# kl [1]    its KL(P||Q)
import json
import os
import struct

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import TSNE
from sklearn.manifold._t_sne import _joint_probabilities

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsne.safetensors")
H, PERPLEXITY = 10, 20
random = np.random.default_rng(11711)
clusters = [random.normal(size=(30, H)) + 6 * random.normal(size=H) for _ in range(3)]
angle = np.linspace(1.5 * np.pi, 4.5 * np.pi, 40)
curve = 0.3 * random.normal(size=(40, H))
curve[:, 0] += angle * np.cos(angle)
curve[:, 1] += angle * np.sin(angle)
x = np.concatenate([*clusters, curve]).astype(np.float32)

p = _joint_probabilities(squareform(pdist(x.astype(np.float64), "sqeuclidean")), PERPLEXITY, 0)
maps = [TSNE(perplexity=PERPLEXITY, method="exact", init="random", random_state=seed).fit(x) for seed in range(5)]
best = min(maps, key=lambda m: m.kl_divergence_)
print("KL of five seeds:", [round(float(m.kl_divergence_), 4) for m in maps])
tensors = {"x": x, "p": p, "y": best.embedding_, "kl": [best.kl_divergence_]}

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
