"""The benchmark's work in PyTorch: BERT as Hugging Face's BertModel runs it, 5 classes on top, or (pretrain) the
heads of BertForPreTraining, the decoder at the masked places alone; or (encoder) the original Transformer's encoder
with 5 classes on its pooled [CLS]: ReLU, no dropout, no segments, no norm of the embeddings, plain SGD; or (encode) the
last layer's rows of every token, without pooler and classes, a forward alone.

    torch_bench.py train|encoder|pretrain|forward|encode DEVICE PRECISION FORM
                   THREADS LAYERS HIDDEN HEADS INTERMEDIATE VOCABULARY POSITIONS

    DEVICE     cpu, cuda
    PRECISION  of the products: fp32; tf32; bf16, by autocast
    FORM       eager; compile: the model under torch.compile; onnx=FILE (encode): writes the model to FILE and ends

Prints a line that says what it runs on, or "not run (why)". Then each line of lengths on stdin ("12 33 7") is a
batch, padded to its longest sentence with a mask: one step, and a line with its seconds. Several batches with ; between
them are as many steps, timed together; on a GPU the line has the bytes allocated there, too. build/bin/bench starts it
and asks.
"""
import inspect
import math
import os
import re
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

mode, device, precision, form = sys.argv[1:5]
threads, LAYERS, H, HEADS, I, VOCABULARY, POSITIONS = map(int, sys.argv[5:])
ENCODER = mode == "encoder"
DROPOUT = 0.0 if ENCODER else 0.1
CUDA, BF16 = device == "cuda", precision == "bf16"
FUSED_ATTENTION = hasattr(F, "scaled_dot_product_attention")


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.attention_dense = (nn.Linear(H, H) for _ in range(4))
        self.intermediate, self.output = nn.Linear(H, I), nn.Linear(I, H)
        self.attention_norm, self.output_norm = nn.LayerNorm(H, 1e-12), nn.LayerNorm(H, 1e-12)

    def heads(self, x):                                     # [B,L,H] -> [B,heads,L,d]
        return x.view(x.shape[0], x.shape[1], HEADS, H // HEADS).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        if FUSED_ATTENTION:
            dropout = DROPOUT if self.training else 0.0
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        else:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(H // HEADS) + mask
            context = torch.matmul(F.dropout(torch.softmax(scores, dim=-1), DROPOUT, self.training), v)
        context = context.permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.attention_norm(F.dropout(self.attention_dense(context), DROPOUT, self.training) + x)
        y = self.output((F.relu if ENCODER else F.gelu)(self.intermediate(x)))
        return self.output_norm(F.dropout(y, DROPOUT, self.training) + x)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.position = nn.Embedding(VOCABULARY, H), nn.Embedding(POSITIONS, H)
        if not ENCODER:
            self.segment, self.norm = nn.Embedding(2, H), nn.LayerNorm(H, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler, self.head = nn.Linear(H, H), nn.Linear(H, 2 if mode == "pretrain" else 5)
        if mode == "pretrain":
            self.transform, self.transform_norm = nn.Linear(H, H), nn.LayerNorm(H, 1e-12)
            self.decoder_bias = nn.Parameter(torch.zeros(VOCABULARY))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def last_layer(self, ids, mask):                        # [B,L], [B,1,1,L] -> [B,L,H]
        positions = torch.arange(ids.shape[1], device=ids.device)[None, :]
        x = self.word(ids) + self.position(positions)
        if not ENCODER:
            x = F.dropout(self.norm(x + self.segment(torch.zeros_like(ids))), DROPOUT, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def encode(self, ids, mask):
        x = self.last_layer(ids, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))

    def forward(self, ids, mask):
        if mode == "encode":
            return self.last_layer(ids, mask)
        return self.head(F.dropout(self.encode(ids, mask)[1], DROPOUT, self.training))

    def pretraining_loss(self, ids, mask, next_labels, masked, originals):
        x, pooled = self.encode(ids, mask)
        h = self.transform_norm(F.gelu(self.transform(x.view(-1, H)[masked])))
        logits = F.linear(h, self.word.weight, self.decoder_bias)
        return F.cross_entropy(logits, originals) + F.cross_entropy(self.head(pooled), next_labels)


class Exported(nn.Module):
    """With 1 for a token and 0 for padding as its second input: a file's users need no mask of their own."""
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, attended):                       # [B,L] both
        return self.model(ids, (1.0 - attended[:, None, None, :]) * -10000.0)


def export(model, file):
    ids = torch.randint(1, VOCABULARY, (2, 16))
    free = {0: "sentences", 1: "tokens"}
    # The older of the exporters, which needs no other package
    older = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(Exported(model), (ids, torch.ones(ids.shape)), file + ".part", opset_version=14,
                      input_names=["ids", "attended"], output_names=["hidden"],
                      dynamic_axes={"ids": free, "attended": free}, **older)
    os.replace(file + ".part", file)                        # a file of this name is a whole one


def batch(lengths):
    longest = max(lengths)
    attended = torch.tensor([[1.0] * n + [0.0] * (longest - n) for n in lengths])       # 1 for a token, 0 for padding
    ids = torch.randint(1, VOCABULARY, attended.shape)
    labels = torch.randint(0, 2 if mode == "pretrain" else 5, (len(lengths),))
    places = attended.view(-1).nonzero().view(-1)           # 15 % of the tokens, each as likely as any other
    masked = places[torch.randperm(len(places))[:len(places) * 15 // 100].sort().values]
    kind = torch.bfloat16 if BF16 else torch.float32
    mask = ((1 - attended) * torch.finfo(kind).min).to(kind)[:, None, None, :]
    if FUSED_ATTENTION and min(lengths) == longest:         # its fastest kernels take no mask
        mask = None
    tensors = ids, mask, labels, masked, torch.randint(0, VOCABULARY, masked.shape)
    return [t.pin_memory() if CUDA and t is not None else t for t in tensors]


def train_step(model, forward, optimizer, ids, mask, labels, masked, originals):
    with torch.autocast(device, torch.bfloat16, enabled=BF16):
        if mode == "pretrain":
            loss = model.pretraining_loss(ids, mask, labels, masked, originals)
        else:
            loss = F.cross_entropy(forward(ids, mask), labels)
    loss.backward()
    if not ENCODER:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)                   # the form that takes less time and memory


def forward_step(forward, ids, mask):
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=BF16):
        forward(ids, mask)


def time_of(works, step):
    if CUDA:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    for work in works:
        step([None if t is None else t.to(device, non_blocking=True) for t in work])
    if CUDA:
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return f"{seconds} {torch.cuda.max_memory_allocated()}" if CUDA else f"{seconds}"


def why_not():
    if CUDA and not torch.cuda.is_available():
        return f"PyTorch {torch.__version__} has no GPU"
    if BF16 and not FUSED_ATTENTION:
        return "this PyTorch has no scaled_dot_product_attention"
    if form == "compile" and not hasattr(torch, "compile"):
        return "this PyTorch has no torch.compile"


def where():
    if CUDA:
        return f"CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}"
    with open("/proc/self/maps") as maps:
        blas = sorted(set(re.findall(r"/\S*lib(?:openblas|mkl_rt)\S*", maps.read())))
    own = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return f"{torch.get_num_threads()} threads, {' '.join(blas) or own and own[1] or 'its own BLAS'}"


def adamw(parameters):
    # All in one kernel where this PyTorch has one for the device; else the default, one tensor at a time on the CPU.
    try:
        return torch.optim.AdamW(parameters, lr=1e-5, eps=1e-6, weight_decay=0.0, fused=True)
    except (TypeError, RuntimeError):
        return torch.optim.AdamW(parameters, lr=1e-5, eps=1e-6, weight_decay=0.0)


def main():
    if why_not():
        return print(f"not run ({why_not()})")
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    torch.manual_seed(11711)
    model = Bert().to(device)
    model.train(mode not in ("forward", "encode"))
    if form.startswith("onnx="):
        export(model, form.removeprefix("onnx="))
        return print(f"PyTorch {torch.__version__} wrote it", flush=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5) if ENCODER else adamw(list(model.parameters()))
    forward = model
    if form == "compile":
        forward, model.pretraining_loss = torch.compile(model), torch.compile(model.pretraining_loss)
    print(f"PyTorch {torch.__version__}, {where()}", flush=True)
    for line in sys.stdin:
        works = [batch([int(n) for n in lengths.split()]) for lengths in line.split(";")]
        if not model.training:
            print(time_of(works, lambda work: forward_step(forward, *work[:2])), flush=True)
        else:
            print(time_of(works, lambda work: train_step(model, forward, optimizer, *work)), flush=True)


try:
    main()
except RuntimeError as error:                               # out of memory, or what torch.compile could not do
    print("not run (" + (str(error).splitlines() or [type(error).__name__])[0] + ")", flush=True)
