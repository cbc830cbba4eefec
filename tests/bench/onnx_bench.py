#!/usr/bin/env python3
"""The benchmark's mode "encode" in ONNX Runtime: the last layer's rows of every token, fp32, on the CPU.

    onnx_bench.py MODEL THREADS

    MODEL    the file that torch_bench.py writes: ids and attended [B,L] in, hidden [B,L,H] out

It speaks as torch_bench.py does: a line that says what it runs on, or "not run (why)"; then each line of lengths on
stdin ("12 33 7") is a batch, padded to its longest sentence, and a line with its seconds. Several batches with ;
between them are timed together. build/bin/bench starts it and asks.
"""
import sys
import time

import numpy
import onnxruntime

WORDS = 30522


def batch(text):
    lengths = [int(word) for word in text.split()]
    shape = len(lengths), max(lengths)
    attended = numpy.zeros(shape, numpy.float32)            # 1 for a token, 0 for padding
    for row, length in zip(attended, lengths):
        row[:length] = 1
    ids = numpy.random.randint(1, WORDS, shape) * (attended > 0)
    return {"ids": ids.astype(numpy.int64), "attended": attended}


def main():
    model, threads = sys.argv[1], int(sys.argv[2])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print(f"ONNX Runtime {onnxruntime.__version__}, {threads} threads, its own products", flush=True)
    for line in sys.stdin:
        works = [batch(text) for text in line.split(";")]
        start = time.perf_counter()
        for work in works:
            session.run(None, work)
        print(time.perf_counter() - start, flush=True)


main()
