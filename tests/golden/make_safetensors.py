# Makes types.safetensors: every type the reader knows, written by hand from numpy, beside the values it must
# give (F64).
#   python3 tests/golden/make_safetensors.py
import json, os, struct
import numpy as np

np.seterr(over="ignore")                                              # to F16: too large is inf
rng = np.random.default_rng(2)
f32 = np.concatenate([
    np.array([0, -0.0, 1, -1, 65504, 65519.996, 65520, 1e9, -1e9, np.inf, -np.inf,
              2**-14, 2**-15, 2**-24, 2**-25, 1.5 * 2**-25, 3 * 2**-25, -2**-24, 1e-45, 1e-38], np.float32),
    (2048 + np.arange(8) / 2).astype(np.float32),                     # ties between two halves
    (rng.standard_normal(64) * 2.0 ** rng.integers(-26, 17, 64)).astype(np.float32)])
f16 = np.concatenate([f32.astype(np.float16),
                      np.array([1, 2, 1023, 1024, 0x8001, 0x83ff], np.uint16).view(np.float16)])
bf16 = (f32.view(np.uint32) >> 16).astype(np.uint16)
f64 = rng.standard_normal((3, 5)) * 1e-3
tensors = {
    "bytes": ("U8", np.arange(3, dtype=np.uint8)),                    # 3 bytes: all that follows is unaligned
    "f32": ("F32", f32), "f32.expected": ("F64", f32.astype(np.float64)),
    "f16": ("F16", f16), "f16.expected": ("F64", f16.astype(np.float64)),
    "bf16": ("BF16", bf16),
    "bf16.expected": ("F64", (bf16.astype(np.uint32) << 16).view(np.float32).astype(np.float64)),
    "halves": ("F16", f32.astype(np.float16)),                        # what writing f32 as F16 must give
    "f64": ("F64", f64), "f64.expected": ("F64", f64),
    "i64": ("I64", np.array([[0, -1, 2**62], [-2**63, 2**63 - 1, 7]], np.int64)),
    "i32": ("I32", np.array([5, -2**31, 2**31 - 1], np.int32)),
    "scalar": ("F32", np.float32(2.5)), "none": ("F32", np.zeros((0, 4), np.float32))}

header, data = {"__metadata__": {"format": "pt"}}, b""
for name, (dtype, values) in tensors.items():
    raw = np.asarray(values).tobytes()
    header[name] = {"dtype": dtype, "shape": list(np.shape(values)),
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "types.safetensors"), "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
