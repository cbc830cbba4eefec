"""plain_bert.cpp in PyTorch: the same names in the same order, and the same losses.

    $ build/bin/plain_bert && python3 examples/plain_bert.py

What it begins with was written by plain_bert: theta, the sizes, and the ids of each step. Letters and papers: there.
"""
import argparse, json, math, os
import torch
from torch.nn.functional import gelu
from safetensors.torch import load_file


# ---- theta: all that is learnt, by Hugging Face's names -------------------------------------------------------------

def load(file_name):
    theta = load_file(file_name)
    for p in theta.values(): p.requires_grad_(True)
    return theta


# ---- The network ----------------------------------------------------------------------------------------------------

class Bert:
    def __init__(self, theta, layers, heads, p):
        self.theta = theta
        self.layers, self.heads = layers, heads
        self.p = p                                                   # of dropout

    # y = x W^T + b
    def linear(self, name, x):
        W = self.theta[name + ".weight"]                             # [out, in]
        b = self.theta[name + ".bias"]                               # [out]
        return x @ W.T + b                                           # [T, out]

    # Each number becomes 0 with probability p, else is divided by 1 - p, so that its mean stays.
    def dropout(self, x):
        if self.p == 0: return x
        m = (torch.rand(x.shape) >= self.p).float()
        return x * m / (1 - self.p)                                  # [T, H]

    # y = xhat gamma + beta, or with t [T], the task of each token, y = xhat (gamma + gamma_t) + (beta + beta_t)
    def layer_norm(self, name, x, t):
        eps = 1e-12
        gamma = self.theta[name + ".weight"]                         # [H]
        beta = self.theta[name + ".bias"]                            # [H]
        mu = x.mean(-1, keepdim=True)                                # [T, 1]
        sigma2 = (x - mu).square().mean(-1, keepdim=True)            # [T, 1]
        xhat = (x - mu) / torch.sqrt(sigma2 + eps)                   # [T, H]
        if t is None: return xhat * gamma + beta                     # [T, H]
        gamma_t = self.theta[name + ".task_weight"][t]               # [T, H], rows of [tasks, H]
        beta_t = self.theta[name + ".task_bias"][t]                  # [T, H]
        return xhat * (gamma + gamma_t) + (beta + beta_t)            # [T, H]

    # x = Norm(word + position + segment): each token takes a row of three tables.
    def embeddings(self, name, batch):
        word = self.theta[name + ".word_embeddings.weight"][batch["ids"]]                                # [T, H]
        position = self.theta[name + ".position_embeddings.weight"][batch["positions"]]                  # [T, H]
        segment = self.theta[name + ".token_type_embeddings.weight"][batch["segments"]]                  # [T, H]
        x = word + position + segment                                                                    # [T, H]
        return self.dropout(self.layer_norm(name + ".LayerNorm", x, batch["row_task"]))                  # [T, H]

    # O = softmax(Q K^T / sqrt(d)) V, for each sentence and head by itself: the one place where tokens meet
    def attention(self, Q, K, V, batch):
        d = Q.shape[1] // self.heads
        sentences = []
        offsets = batch["offsets"]
        for begin, end in zip(offsets[:-1], offsets[1:]):
            O = []
            for h in range(self.heads):
                q = Q[begin:end, h * d:(h + 1) * d]                  # [L, d]
                k = K[begin:end, h * d:(h + 1) * d]                  # [L, d]
                v = V[begin:end, h * d:(h + 1) * d]                  # [L, d]
                S = q @ k.T / math.sqrt(d)                           # [L, L]
                P = self.dropout(torch.softmax(S, -1))               # [L, L]
                O.append(P @ v)                                      # [L, d]
            sentences.append(torch.cat(O, 1))                        # [L, H]
        return torch.cat(sentences)                                  # [T, H]

    # A(x) = W_o attention(W_q x, W_k x, W_v x)
    def self_attention(self, name, x, batch):
        Q = self.linear(name + ".self.query", x)                     # [T, H]
        K = self.linear(name + ".self.key", x)                       # [T, H]
        V = self.linear(name + ".self.value", x)                     # [T, H]
        O = self.attention(Q, K, V, batch)                           # [T, H]
        return self.linear(name + ".output.dense", O)                # [T, H]

    # F(x) = W_2 GELU(W_1 x)
    def feed_forward(self, name, x):
        u = gelu(self.linear(name + ".intermediate.dense", x))       # [T, I]
        return self.linear(name + ".output.dense", u)                # [T, H]

    # a = Norm(x + A(x))     y = Norm(a + F(a))
    def layer(self, name, x, batch):
        A = self.dropout(self.self_attention(name + ".attention", x, batch))                             # [T, H]
        a = self.layer_norm(name + ".attention.output.LayerNorm", x + A, batch["row_task"])              # [T, H]
        F = self.dropout(self.feed_forward(name, a))                                                     # [T, H]
        return self.layer_norm(name + ".output.LayerNorm", a + F, batch["row_task"])                     # [T, H]

    # The last state of each sentence's first token, [CLS], stands for the sentence.
    def pooled(self, batch):
        x = self.embeddings("bert.embeddings", batch)                                                    # [T, H]
        for i in range(self.layers): x = self.layer(f"bert.encoder.layer.{i}", x, batch)                 # [T, H]
        first = batch["offsets"][:-1]
        cls = x[first]                                               # [B, H]
        return torch.tanh(self.linear("bert.pooler.dense", cls))     # [B, H]

    # What the head of the task says of each sentence or pair.
    def logits(self, task, batch):
        return self.linear("heads." + task, self.dropout(self.pooled(batch)))                            # [B, outputs]


# ---- The losses, each the mean over the batch -----------------------------------------------------------------------

# A new head says about 0, so L begins near log 5 = 1.61 (SST), log 2 = .69 (Quora) and the mean of y^2, about 9 (STS).
# As the equations stand, L is NaN or infinite where a p underflows to 0 (0 log 0 is NaN): where a logit is 104 below
# the largest one (cross_entropy), or 89 from 0 (binary_cross_entropy). torch.nn.functional's losses take no such log.

# SST, z [B, 5]     L = -log p_label,  p = softmax(z)
def cross_entropy(z, labels):
    y = torch.eye(z.shape[1])[labels.long()]                         # [B, 5]
    return -(y * torch.log(torch.softmax(z, -1))).sum(-1).mean()     # []


# Quora, z [B, 1]   L = -y log p - (1 - y) log(1 - p),  p = sigmoid(z),  1 - p = sigmoid(-z)
def binary_cross_entropy(z, labels):
    y = labels[:, None]                                              # [B, 1]
    return -(y * torch.log(torch.sigmoid(z)) + (1 - y) * torch.log(torch.sigmoid(-z))).mean()            # []


# STS, z [B, 1]     L = (z - y)^2
def squared_error(z, labels):
    y = labels[:, None]                                              # [B, 1]
    return (z - y).square().mean()                                   # []


def loss_of(bert, step):
    z = bert.logits(step["task"], step)                              # [B, outputs]
    if step["task"] == "sst": return cross_entropy(z, step["labels"])
    if step["task"] == "quora": return binary_cross_entropy(z, step["labels"])
    return squared_error(z, step["labels"])


# ---- Training -------------------------------------------------------------------------------------------------------

# In the k-th step of a parameter, with its gradient g:
#   m = beta1 m + (1-beta1) g     v = beta2 v + (1-beta2) g^2     mhat = m / (1-beta1^k)     vhat = v / (1-beta2^k)
#   theta = theta - eta lambda theta - eta mhat / (sqrt(vhat) + eps)
class AdamW:
    beta1, beta2, eps, weight_decay = 0.9, 0.999, 1e-6, 0.01

    def __init__(self):
        self.m, self.v, self.k = {}, {}, {}

    @torch.no_grad()
    def step(self, theta, eta):
        m, v, k, beta1, beta2 = self.m, self.v, self.k, self.beta1, self.beta2
        for name, p in theta.items():
            g = p.grad
            if g is None: continue                                   # the head of another task
            if name not in m: m[name], v[name], k[name] = torch.zeros_like(p), torch.zeros_like(p), 0
            k[name] += 1
            m[name] = beta1 * m[name] + (1 - beta1) * g
            v[name] = beta2 * v[name] + (1 - beta2) * g.square()
            mhat = m[name] / (1 - beta1 ** k[name])
            vhat = v[name] / (1 - beta2 ** k[name])
            decays = name.endswith(".weight") and not name.endswith("LayerNorm.weight")
            lambda_ = self.weight_decay if decays else 0             # none for biases and norms
            p.copy_(p - eta * lambda_ * p - eta * mhat / (torch.sqrt(vhat) + self.eps))
            p.grad = None


# What plain_bert wrote: for each step its task, batch and labels.
def read_steps(file_name):
    steps = json.load(open(file_name))
    for step in steps:
        for name in ("ids", "segments", "positions", "offsets", "row_task"):
            step[name] = torch.tensor(step[name]).long()
        step["labels"] = torch.tensor(step["labels"]).float()
    return steps


# The learning rate falls linearly to 0.
def eta(step, steps): return 1e-3 * (1 - step / steps)


# The loss of each step.
def train(bert, steps):
    losses = []
    optimizer = AdamW()
    for step in steps:
        loss = loss_of(bert, step)                                   # []
        loss.backward()
        optimizer.step(bert.theta, eta(len(losses), len(steps)))
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains the BERT of this file, from where build/bin/plain_bert began.")
    parser.add_argument("folder", nargs="?", default="runs/plain_bert", help="--out of plain_bert (%(default)s)")
    folder = parser.parse_args().folder
    if not os.path.exists(f"{folder}/steps.json"): parser.error(f"{folder} has no steps.json: start plain_bert first")
    config = json.load(open(folder + "/sizes.json"))
    steps = read_steps(folder + "/steps.json")
    bert = Bert(load(folder + "/start.safetensors"), config["num_hidden_layers"], config["num_attention_heads"],
                config["hidden_dropout_prob"])
    losses = train(bert, steps)
    print(" step      sst    quora      sts")
    for k in range(0, len(steps), 3): print(f"{k + 3:5}" + "".join(f" {loss:8.5f}" for loss in losses[k:k + 3]))
