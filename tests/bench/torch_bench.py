"""The benchmark's work in PyTorch: BERT as Hugging Face's BertModel runs it eagerly, 5 classes on top, or
(pretrain) the heads of BertForPreTraining, the decoder at the masked places alone.

    torch_bench.py train|pretrain|forward THREADS LAYERS HIDDEN HEADS INTERMEDIATE VOCABULARY POSITIONS

Prints a line that says what it runs on. Then each line of lengths on stdin ("12 33 7") is a batch, padded to
its longest sentence with a mask: one step, and a line with its seconds. build/bin/bench starts it and asks.
"""
import math
import re
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

mode = sys.argv[1]
threads, LAYERS, H, HEADS, I, VOCABULARY, POSITIONS = map(int, sys.argv[2:])
DROPOUT = 0.1


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
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(H // HEADS) + mask
        weights = F.dropout(torch.softmax(scores, dim=-1), DROPOUT, self.training)
        context = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.attention_norm(F.dropout(self.attention_dense(context), DROPOUT, self.training) + x)
        y = self.output(F.gelu(self.intermediate(x)))
        return self.output_norm(F.dropout(y, DROPOUT, self.training) + x)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.position, self.segment = (nn.Embedding(n, H) for n in (VOCABULARY, POSITIONS, 2))
        self.norm = nn.LayerNorm(H, 1e-12)
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

    def encode(self, ids, attended):                        # [B,L]; attended: 1 for a token, 0 for padding
        mask = ((1 - attended) * torch.finfo(torch.float32).min)[:, None, None, :]
        positions = torch.arange(ids.shape[1])[None, :]
        x = self.word(ids) + self.segment(torch.zeros_like(ids)) + self.position(positions)
        x = F.dropout(self.norm(x), DROPOUT, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))

    def forward(self, ids, attended):
        return self.head(F.dropout(self.encode(ids, attended)[1], DROPOUT, self.training))

    def pretraining_loss(self, ids, attended, next_labels, masked, originals):
        x, pooled = self.encode(ids, attended)
        h = self.transform_norm(F.gelu(self.transform(x.view(-1, H)[masked])))
        logits = F.linear(h, self.word.weight, self.decoder_bias)
        return F.cross_entropy(logits, originals) + F.cross_entropy(self.head(pooled), next_labels)


def batch(lengths):
    longest = max(lengths)
    attended = torch.tensor([[1.0] * n + [0.0] * (longest - n) for n in lengths])
    ids = torch.randint(1, VOCABULARY, attended.shape)
    labels = torch.randint(0, 2 if mode == "pretrain" else 5, (len(lengths),))
    places = attended.view(-1).nonzero().view(-1)           # 15 % of the tokens, each as likely as any other
    masked = places[torch.randperm(len(places))[:len(places) * 15 // 100].sort().values]
    return ids, attended, labels, masked, torch.randint(0, VOCABULARY, masked.shape)


def train_step(model, optimizer, ids, attended, labels, masked, originals):
    if mode == "pretrain":
        loss = model.pretraining_loss(ids, attended, labels, masked, originals)
    else:
        loss = F.cross_entropy(model(ids, attended), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)                   # the form that takes less time and memory
    loss.item()


def main():
    torch.set_num_threads(threads)
    torch.manual_seed(11711)
    model = Bert()
    model.train(mode != "forward")
    # 1.13's default, one tensor at a time: foreach=True was as fast and took 0.6 GB more for BERT-base.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, eps=1e-6, weight_decay=0.0)
    with open("/proc/self/maps") as maps:
        blas = sorted(set(re.findall(r"/\S*lib(?:openblas|mkl_rt)\S*", maps.read())))
    blas = " ".join(blas) or "its own BLAS"
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {blas}", flush=True)
    for line in sys.stdin:
        work = batch([int(n) for n in line.split()])
        start = time.perf_counter()
        if mode == "forward":
            with torch.no_grad():
                model(*work[:2])
        else:
            train_step(model, optimizer, *work)
        print(time.perf_counter() - start, flush=True)


main()
