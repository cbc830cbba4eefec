// The benchmark's mode "encode" in ONNX Runtime: the last layer's rows of every token, fp32, on the CPU.
//
//   onnx_bench.js FOLDER MODEL THREADS
//
//   FOLDER   has node_modules/onnxruntime-node
//   MODEL    the file that torch_bench.py writes: ids and attended [B,L] in, hidden [B,L,H] out
//
// It speaks as torch_bench.py does: a line that says what it runs on, or "not run (why)"; then each line of lengths on
// stdin ("12 33 7") is a batch, padded to its longest sentence, and a line with its seconds. Several batches with ;
// between them are timed together. build/bin/bench starts it and asks.
'use strict';
const path = require('path');
const readline = require('readline');

const [folder, model, threads] = process.argv.slice(2);
const words = 30522;

function batch(ort, text) {
  const lengths = text.trim().split(/\s+/).map(Number);
  const longest = Math.max(...lengths);
  const ids = new BigInt64Array(lengths.length * longest);
  const attended = new Float32Array(ids.length);            // 1 for a token, 0 for padding
  lengths.forEach((length, b) => {
    for (let i = 0; i < length; i++) {
      ids[b * longest + i] = BigInt(1 + Math.floor(Math.random() * (words - 1)));
      attended[b * longest + i] = 1;
    }
  });
  const shape = [lengths.length, longest];
  return {ids: new ort.Tensor('int64', ids, shape), attended: new ort.Tensor('float32', attended, shape)};
}

async function main() {
  const place = path.resolve(folder, 'node_modules', 'onnxruntime-node');
  const ort = require(place);
  const session = await ort.InferenceSession.create(
      model, {intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all'});
  const version = require(path.join(place, 'package.json')).version;
  console.log(`ONNX Runtime ${version}, ${threads} threads, its own products`);
  for await (const line of readline.createInterface({input: process.stdin})) {
    const works = line.split(';').map(text => batch(ort, text));
    const start = process.hrtime.bigint();
    for (const work of works) await session.run(work);
    console.log(Number(process.hrtime.bigint() - start) / 1e9);
  }
}

main().catch(error => console.log(`not run (${String(error.message).split('\n')[0]})`));
