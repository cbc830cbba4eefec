#!/usr/bin/env python3
# Makes ops, optimizer, bert, bert-pre, bert-normformer, pretraining, roberta and transformer.safetensors, and those
# ending in -expected: what PyTorch computes.
#
#   /usr/bin/python3 tests/golden/reference.py         (torch 1.13; the tests themselves never need it)
#
# Everything is computed in double from float32 inputs and stored as float32: the only rounding is the last.
# The network is put together from torch's own modules (TransformerEncoderLayer, padded, with a mask):
# it shares neither code nor layout with ours.
import json
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(11711)
torch.set_num_threads(1)


def write(name, tensors):
    """The safetensors format by hand: 8 bytes of header length, the header in JSON, the values end to end."""
    header, blobs, at = {}, [], 0
    for key, tensor in tensors.items():
        integers = tensor.dtype == torch.int64
        blob = (tensor if integers else tensor.detach().float()).contiguous().numpy().tobytes()
        header[key] = {"dtype": "I64" if integers else "F32", "shape": list(tensor.shape),
                       "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def random(*shape, scale=1.0):
    return (scale * torch.randn(shape)).float().double()


# ---- one operation at a time: inputs, a cotangent, the value, the gradient of each input ----------------
def operations():
    u = random(4, 6)
    labels, targets = torch.tensor([2, 0, 5, 5]), torch.tensor([[0.0], [1.0], [1.0], [0.25]]).double()
    rows = torch.tensor([3, 0, 3, 1, 3])
    return {
        "layer_norm": ([u, random(6), random(6)], lambda x, g, b: F.layer_norm(x, (6,), g, b, 1e-12)),
        "gelu": ([random(4, 6, scale=2)], F.gelu),
        "tanh": ([u], torch.tanh),
        "sigmoid": ([u], torch.sigmoid),
        "softmax": ([random(4, 6, scale=3)], lambda x: F.softmax(x, -1)),
        "log_softmax": ([random(4, 6, scale=3)], lambda x: F.log_softmax(x, -1)),
        "linear": ([u, random(3, 6), random(3)], F.linear),
        "embedding": ([u], lambda table: F.embedding(rows, table)),
        "cosine_similarity": ([u, random(4, 6)], lambda a, b: F.cosine_similarity(a, b)[:, None]),
        "cross_entropy": ([random(4, 6, scale=3)], lambda x: F.cross_entropy(x, labels)),
        "binary_cross_entropy_with_logits":
            ([random(4, 1, scale=3)], lambda x: F.binary_cross_entropy_with_logits(x, targets)),
        "mse_loss": ([random(4, 1), random(4, 1)], F.mse_loss),
    }


def later_operations():
    q, k, v = random(9, 6), random(9, 6), random(9, 6)

    def attention(*qkv):                            # of sentences of 3, 1 and 5 tokens, by three heads of two columns
        def of_head(q, k, v):
            return torch.softmax(q @ k.T / 2**0.5, -1) @ v
        return torch.cat([torch.cat([of_head(*head) for head in zip(*(x.split(2, 1) for x in sentence))], 1)
                          for sentence in zip(*(x.split([3, 1, 5]) for x in qkv))])
    return {
        "add": ([random(4, 6), random(4, 6)], torch.add),
        "sqrt": ([random(4, 6).abs() + 0.5], torch.sqrt),
        "gelu_new": ([random(4, 6, scale=2)], lambda x: F.gelu(x, approximate="tanh")),
        "matmul_tn": ([random(4, 3), random(4, 5)], lambda a, b: a.T @ b),
        "feed_forward": ([random(3, 4), random(5, 4), random(5), random(4, 5), random(4)],
                         lambda x, w1, b1, w2, b2: F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)),
        "attention": ([q, k, v], attention),
    }


def write_operations():
    tensors = {}

    def add(all_operations):
        for name, (inputs, f) in all_operations.items():
            inputs = [x.clone().requires_grad_() for x in inputs]
            value = f(*inputs)
            cotangent = random(*value.shape)
            value.backward(cotangent)
            tensors.update({f"{name}.value": value, f"{name}.cotangent": cotangent})
            for i, x in enumerate(inputs):
                tensors.update({f"{name}.input{i}": x, f"{name}.gradient{i}": x.grad})
    add(operations())
    with torch.random.fork_rng():                   # the files below keep the numbers that they had before these
        add(later_operations())
    write("ops.safetensors", tensors)


# ---- a small BERT ---------------------------------------------------------------------------------------
VOCABULARY, POSITIONS, HIDDEN, HEADS, INTERMEDIATE, LAYERS = 30, 12, 16, 2, 32, 2
LENGTHS = [5, 1, 12, 3]


class NormFormerLayer(nn.TransformerEncoderLayer):
    """Shleifer et al. 2021 on the pre-LN layer: heads scaled, a norm after attention, a norm inside the FFN."""
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.head_scale = nn.Parameter(torch.ones(HEADS))
        self.norm3, self.norm4 = nn.LayerNorm(HIDDEN, eps=1e-12), nn.LayerNorm(INTERMEDIATE, eps=1e-12)

    def forward(self, x, src_key_padding_mask):
        x = x + self.norm3(self.scaled_heads(self.norm1(x), src_key_padding_mask))
        return x + self.linear2(self.norm4(F.gelu(self.linear1(self.norm2(x)))))

    def scaled_heads(self, x, padding):
        qkv = F.linear(x, self.self_attn.in_proj_weight, self.self_attn.in_proj_bias)
        q, k, v = qkv.unflatten(-1, (3, HEADS, HIDDEN // HEADS)).permute(2, 0, 3, 1, 4)       # each [B,heads,L,d]
        scores = (q @ k.transpose(-1, -2) / (HIDDEN // HEADS) ** 0.5).masked_fill(padding[:, None, None], -torch.inf)
        heads = scores.softmax(-1) @ v * self.head_scale[:, None, None]
        return self.self_attn.out_proj(heads.transpose(1, 2).flatten(2))


class Bert(nn.Module):
    def __init__(self, placement="post"):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, HIDDEN)
        self.position = nn.Embedding(POSITIONS, HIDDEN)
        self.segment = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        layer = NormFormerLayer if placement == "normformer" else nn.TransformerEncoderLayer
        self.layers = nn.ModuleList(
            layer(HIDDEN, HEADS, INTERMEDIATE, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True,
                  norm_first=placement != "post") for _ in range(LAYERS))
        self.final_norm = nn.Identity() if placement == "post" else nn.LayerNorm(HIDDEN, eps=1e-12)
        self.pooler = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, ids, segments, padding):
        x = self.word(ids) + self.position(torch.arange(ids.shape[1]))[None] + self.segment(segments)
        x = self.norm(x)
        return self.encode(x, padding)

    def encode(self, x, padding):
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        x = self.final_norm(x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Transformer(Bert):
    """The original encoder, Vaswani et al. 2017: ReLU, sinusoidal positions, no segments, no norm of the embeddings."""
    def __init__(self):
        super().__init__()
        del self.position, self.segment, self.norm
        for layer in self.layers:
            layer.activation = F.relu

    def forward(self, ids, segments, padding):
        x = HIDDEN ** 0.5 * self.word(ids)
        for i in range(ids.shape[1]):
            for k in range(HIDDEN // 2):
                angle = torch.tensor(i / 10000 ** (2 * k / HIDDEN), dtype=torch.float64)
                x[:, i, 2 * k] += torch.sin(angle)
                x[:, i, 2 * k + 1] += torch.cos(angle)
        return self.encode(x, padding)


def hugging_face_names(bert, value):
    """Each tensor of ours under Hugging Face's name; value(parameter) is itself or its gradient."""
    named = {}

    def add(name, module):
        named[f"{name}.weight"] = value(module.weight)
        if getattr(module, "bias", None) is not None:
            named[f"{name}.bias"] = value(module.bias)

    add("bert.embeddings.word_embeddings", bert.word)
    if not isinstance(bert, Transformer):
        add("bert.embeddings.position_embeddings", bert.position)
        add("bert.embeddings.token_type_embeddings", bert.segment)
        add("bert.embeddings.LayerNorm", bert.norm)
    for i, layer in enumerate(bert.layers):
        at = f"bert.encoder.layer.{i}"
        weights, biases = value(layer.self_attn.in_proj_weight), value(layer.self_attn.in_proj_bias)
        for k, part in enumerate(["query", "key", "value"]):
            named[f"{at}.attention.self.{part}.weight"] = weights[k * HIDDEN:(k + 1) * HIDDEN]
            named[f"{at}.attention.self.{part}.bias"] = biases[k * HIDDEN:(k + 1) * HIDDEN]
        add(f"{at}.attention.output.dense", layer.self_attn.out_proj)
        add(f"{at}.attention.output.LayerNorm", layer.norm1)
        add(f"{at}.intermediate.dense", layer.linear1)
        add(f"{at}.output.dense", layer.linear2)
        add(f"{at}.output.LayerNorm", layer.norm2)
        if isinstance(layer, NormFormerLayer):
            named[f"{at}.attention.self.head_scale"] = value(layer.head_scale)
            add(f"{at}.attention.LayerNorm", layer.norm3)
            add(f"{at}.intermediate.LayerNorm", layer.norm4)
    if isinstance(bert.final_norm, nn.LayerNorm):
        add("bert.encoder.LayerNorm", bert.final_norm)
    add("bert.pooler.dense", bert.pooler)
    return named


def write_bert(placement="post", name="bert"):
    bert = Transformer() if name == "transformer" else Bert(placement)
    bert = bert.double().train()                               # train(): the plain path of TransformerEncoderLayer
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.copy_(random(*parameter.shape, scale=0.4))
        for norm in [module for module in bert.modules() if isinstance(module, nn.LayerNorm)]:
            norm.weight.copy_((norm.weight + 1).float())
    longest = max(LENGTHS)
    ids = torch.randint(1, VOCABULARY, (len(LENGTHS), longest))
    segments = torch.randint(0, 2, (len(LENGTHS), longest))
    padding = torch.arange(longest)[None] >= torch.tensor(LENGTHS)[:, None]
    real_tokens = ~padding

    hidden, pooled = bert(ids, segments, padding)
    d_hidden, d_pooled = random(sum(LENGTHS), HIDDEN), random(len(LENGTHS), HIDDEN)
    ((hidden[real_tokens] * d_hidden).sum() + (pooled * d_pooled).sum()).backward()

    write(f"{name}.safetensors", hugging_face_names(bert, lambda p: p))
    write(f"{name}-expected.safetensors", {
        "ids": ids[real_tokens], "segments": segments[real_tokens], "lengths": torch.tensor(LENGTHS),
        "last_hidden_state": hidden[real_tokens], "pooler_output": pooled,
        "d_last_hidden_state": d_hidden, "d_pooler_output": d_pooled,
        **{f"gradient.{name}": g for name, g in hugging_face_names(bert, lambda p: p.grad).items()},
    })


# ---- 20 steps of each optimizer -------------------------------------------------------------------------
# weight decays, bias does not, head has a gradient in every third step only. The rate changes from step to step.
OPTIMIZERS = {
    "adamw": (torch.optim.AdamW, {"eps": 1e-6}, 0.0),
    "adamw-decay": (torch.optim.AdamW, {"eps": 1e-6}, 0.1),
    "sgd": (torch.optim.SGD, {"momentum": 0.0}, 0.0),
    "sgd-momentum-decay": (torch.optim.SGD, {"momentum": 0.9}, 0.1),
}


def write_optimizers():
    shapes, steps = {"weight": (3, 4), "bias": (4,), "head": (2, 3)}, 20
    start = {name: random(*shape) for name, shape in shapes.items()}
    gradients = {name: random(steps, *shape) for name, shape in shapes.items()}
    tensors = {f"start.{name}": value for name, value in start.items()}
    tensors.update({f"gradients.{name}": g.reshape(steps, -1) for name, g in gradients.items()})
    for case, (optimizer, options, decay) in OPTIMIZERS.items():
        p = {name: value.clone().requires_grad_() for name, value in start.items()}
        groups = [{"params": [p["weight"], p["head"]], "weight_decay": decay},
                  {"params": [p["bias"]], "weight_decay": 0.0}]
        optimizer = optimizer(groups, lr=1.0, **options)
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * (1 + step / 10)
            for name in shapes:
                p[name].grad = gradients[name][step].clone() if name != "head" or step % 3 == 0 else None
            optimizer.step()
        tensors.update({f"{case}.{name}": value for name, value in p.items()})
    write("optimizer.safetensors", tensors)


# ---- the two pre-training heads on a small BERT: weights, a batch, both losses, the gradients of their sum ---
def write_pretraining():
    bert, transform, norm = Bert(), nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-12)
    decoder_bias, next_sentence = nn.Parameter(torch.zeros(VOCABULARY)), nn.Linear(HIDDEN, 2)
    modules = [bert, transform, norm, next_sentence, nn.ParameterList([decoder_bias])]
    everything = nn.ModuleList(modules).double().train()
    with torch.no_grad():
        for parameter in everything.parameters():
            parameter.copy_(random(*parameter.shape, scale=0.4))
    longest = max(LENGTHS)
    ids = torch.randint(1, VOCABULARY, (len(LENGTHS), longest))
    segments = torch.randint(0, 2, (len(LENGTHS), longest))
    padding = torch.arange(longest)[None] >= torch.tensor(LENGTHS)[:, None]
    masked, originals = torch.tensor([1, 4, 7, 16, 18]), torch.tensor([3, 29, 0, 3, 11])     # packed rows
    not_next = torch.tensor([0, 1, 1, 0])

    hidden, pooled = bert(ids, segments, padding)
    h = norm(F.gelu(transform(hidden[~padding][masked])))
    mlm = F.cross_entropy(h @ bert.word.weight.T + decoder_bias, originals)
    nsp = F.cross_entropy(next_sentence(pooled), not_next)
    (mlm + nsp).backward()

    def named(value):
        heads = {"cls.predictions.bias": value(decoder_bias)}
        for name, module in {"cls.predictions.transform.dense": transform, "cls.predictions.transform.LayerNorm": norm,
                             "cls.seq_relationship": next_sentence}.items():
            heads.update({f"{name}.weight": value(module.weight), f"{name}.bias": value(module.bias)})
        return {**hugging_face_names(bert, value), **heads}

    write("pretraining.safetensors", named(lambda p: p))
    write("pretraining-expected.safetensors", {
        "ids": ids[~padding], "segments": segments[~padding], "lengths": torch.tensor(LENGTHS), "masked": masked,
        "originals": originals, "not_next": not_next, "mlm_loss": mlm, "nsp_loss": nsp,
        **{f"gradient.{name}": g for name, g in named(lambda p: p.grad).items()},
    })


write_operations()
write_bert()
write_optimizers()
write_pretraining()
for placement in ("pre", "normformer"):
    write_bert(placement, f"bert-{placement}")


# ---- a small RoBERTa, by its definition: positions, both heads, and the names of its files ----------------
PADDING = 1


class Roberta(Bert):
    def __init__(self):
        super().__init__()
        self.position = nn.Embedding(max(LENGTHS) + PADDING + 1, HIDDEN)
        self.segment = nn.Embedding(1, HIDDEN)
        for norm in [module for module in self.modules() if isinstance(module, nn.LayerNorm)]:
            norm.eps = 1e-5

    # padding: behind the sequences. A <pad> inside a sequence is a token with padding's position.
    def forward(self, ids, padding):
        counted = ids != PADDING
        positions = torch.cumsum(counted, 1) * counted + PADDING            # padding's own is PADDING
        x = self.norm(self.word(ids) + self.position(positions) + self.segment(torch.zeros_like(ids)))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        return x


def write_roberta():
    roberta, transform, norm = Roberta(), nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-5)
    decoder_bias, out = nn.Parameter(torch.zeros(VOCABULARY)), nn.Linear(HIDDEN, 3)
    everything = nn.ModuleList([roberta, transform, norm, out, nn.ParameterList([decoder_bias])]).double().train()
    with torch.no_grad():
        for parameter in everything.parameters():
            parameter.copy_(random(*parameter.shape, scale=0.4))
    longest = max(LENGTHS)
    ids = torch.randint(PADDING + 1, VOCABULARY, (len(LENGTHS), longest))
    padding = torch.arange(longest)[None] >= torch.tensor(LENGTHS)[:, None]
    ids[padding] = PADDING
    real_tokens = ~padding
    masked, originals = torch.tensor([1, 4, 7, 16, 18]), torch.tensor([3, 29, 0, 3, 11])     # packed rows
    labels = torch.tensor([2, 0, 1, 1])

    def named(value):
        names = {name.replace("bert.pooler", "classifier").replace("bert.", "roberta.", 1): tensor
                 for name, tensor in hugging_face_names(roberta, value).items()}
        for name, module in {"lm_head.dense": transform, "lm_head.layer_norm": norm,
                             "classifier.out_proj": out}.items():
            names.update({f"{name}.weight": value(module.weight), f"{name}.bias": value(module.bias)})
        return {**names, "lm_head.bias": value(decoder_bias)}

    def gradients(loss):
        for parameter in everything.parameters():
            parameter.grad = torch.zeros_like(parameter)
        loss.backward()
        return named(lambda p: p.grad.clone())

    hidden = roberta(ids, padding)
    with_pads = ids.clone()
    for row, column in [(0, 2), (0, 4), (2, 0), (2, 5), (2, 6)]:
        with_pads[row, column] = PADDING
    hidden_with_pads = roberta(with_pads, padding)
    h = norm(F.gelu(transform(hidden[real_tokens][masked])))
    mlm = F.cross_entropy(h @ roberta.word.weight.T + decoder_bias, originals)
    mlm_gradients = gradients(mlm)
    logits = out(torch.tanh(roberta.pooler(roberta(ids, padding)[:, 0])))
    task_gradients = gradients(F.cross_entropy(logits, labels))
    write("roberta.safetensors", named(lambda p: p))
    write("roberta-expected.safetensors", {
        "ids": ids[real_tokens], "segments": torch.zeros(sum(LENGTHS), dtype=torch.int64),
        "lengths": torch.tensor(LENGTHS), "masked": masked, "originals": originals, "labels": labels,
        "last_hidden_state": hidden[real_tokens], "logits": logits, "mlm_loss": mlm,
        "ids_with_pads": with_pads[real_tokens], "last_hidden_state_with_pads": hidden_with_pads[real_tokens],
        **{f"mlm.{name}": g for name, g in mlm_gradients.items() if not name.startswith("classifier")},
        **{f"task.{name}": g for name, g in task_gradients.items() if not name.startswith("lm_head")},
    })


write_roberta()
write_bert(name="transformer")
