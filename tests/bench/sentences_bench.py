#!/usr/bin/env python3
"""The benchmark's sentences in sentence-transformers, as its defaults have it: batches of 32, sorted by length.

    sentences_bench.py MODEL THREADS

    MODEL    a folder with a BERT and the file texts, a text a line

Prints a line that says what it runs on; then for each line on stdin, a number N, encodes the first N texts and prints
the seconds; "N;N" means twice. build/bin/bench starts it and asks.
"""
import sys
import time

import sentence_transformers
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
model = sentence_transformers.SentenceTransformer(folder, device="cpu")           # without modules.json: mean pooling
print(f"sentence-transformers {sentence_transformers.__version__}, PyTorch {torch.__version__}, {threads} threads",
      flush=True)
for line in sys.stdin:
    counts = [int(count) for count in line.split(";")]
    texts = open(f"{folder}/texts", encoding="utf8").read().splitlines()
    start = time.perf_counter()
    for count in counts:
        model.encode(texts[:count], show_progress_bar=False)
    print(time.perf_counter() - start, flush=True)
