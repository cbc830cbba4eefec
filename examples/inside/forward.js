// The network of examples/plain_bert.cpp in JavaScript: the same names in the same order, to be read side by side.
//
// JavaScript has no operators of one's own, so x + y is add(x, y). There is no tape and no dropout, and a batch is one
// sentence or pair: ids, positions, segments [T], and the task t, or null. New is what a hand can change:
//
//   hand.lambda    y = x̂ ⊙ (γ + λ γ_t) + (β + λ β_t): as trained with 1, plain LayerNorm with 0
//   hand.taken     [tasks]  task t takes γ_t and β_t of task taken[t]
//   hand.off       names that do nothing: a layer and a norm give x on as it is, a head gives 0
//
//   Letters   T  tokens     H  hidden size     I  inner size     heads, d = H / heads     V  vocabulary
'use strict';

// ---- Tensors: {rows, cols, values}, row by row ---------------------------------------------------------------------

const tensor = (rows, cols, values = new Float64Array(rows * cols)) => ({ rows, cols, values });

// y_ij = f(x_ij)
function each(x, f) {
  return tensor(x.rows, x.cols, Float64Array.from(x.values, f));
}
// z_ij = f(x_ij, y_ij). y is [T, H] like x, or one row [1, H], or one column [T, 1].
function both(x, y, f) {
  const z = tensor(x.rows, x.cols);
  const step = y.rows > 1 ? y.cols : 0;             // to the next row
  for (let i = 0; i < x.rows; ++i)
    for (let j = 0; j < x.cols; ++j)
      z.values[i * x.cols + j] = f(x.values[i * x.cols + j], y.values[i * step + (y.cols > 1 ? j : 0)]);
  return z;
}
const add = (x, y) => both(x, y, (a, b) => a + b);
const subtract = (x, y) => both(x, y, (a, b) => a - b);
const multiply = (x, y) => both(x, y, (a, b) => a * b);
const divide = (x, y) => both(x, y, (a, b) => a / b);
const scale = (x, factor) => each(x, a => a * factor);
const square = x => each(x, a => a * a);
const tanh = x => each(x, Math.tanh);

// c = a bᵀ      a [m, k]   b [n, k]   c [m, n]
function matmul_nt(a, b) {
  const c = tensor(a.rows, b.rows);
  const K = a.cols;
  for (let i = 0; i < a.rows; ++i)
    for (let j = 0; j < b.rows; ++j) {
      let sum = 0;
      for (let k = 0; k < K; ++k) sum += a.values[i * K + k] * b.values[j * K + k];
      c.values[i * b.rows + j] = sum;
    }
  return c;
}
function transpose(x) {
  const y = tensor(x.cols, x.rows);
  for (let i = 0; i < x.rows; ++i)
    for (let j = 0; j < x.cols; ++j) y.values[j * x.rows + i] = x.values[i * x.cols + j];
  return y;
}
const matmul = (a, b) => matmul_nt(a, transpose(b));

// μ_i = 1/H Σ_j x_ij      [T, H] -> [T, 1]
function mean_rows(x) {
  const mu = tensor(x.rows, 1);
  for (let i = 0; i < x.rows; ++i)
    for (let j = 0; j < x.cols; ++j) mu.values[i] += x.values[i * x.cols + j] / x.cols;
  return mu;
}
// p_ij = exp(x_ij) / Σ_k exp(x_ik); the largest x_ik is taken from each, so that none overflows
function softmax(x) {
  const p = tensor(x.rows, x.cols);
  for (let i = 0; i < x.rows; ++i) {
    const row = x.values.slice(i * x.cols, (i + 1) * x.cols);
    const largest = row.reduce((a, b) => Math.max(a, b));
    const e = row.map(a => Math.exp(a - largest));
    const sum = e.reduce((a, b) => a + b);
    p.values.set(e.map(a => a / sum), i * x.cols);
  }
  return p;
}
// erf(x) = 2/√π exp(-x²) Σ_n 2ⁿ x²ⁿ⁺¹ / (1·3·5···(2n+1)): all terms have the sign of x. From 6 on it is 1 to 16 digits.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-16 * Math.abs(sum); ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}
// GELU(x) = x Φ(x)
const gelu = x => each(x, a => a / 2 * (1 + erf(a / Math.SQRT2)));

// Rows of a table, one for each index      [V, H], [T] -> [T, H]
function embedding(table, indices) {
  const x = tensor(indices.length, table.cols);
  indices.forEach((index, i) =>
    x.values.set(table.values.subarray(index * table.cols, (index + 1) * table.cols), i * table.cols));
  return x;
}
// x[:, column : column_end]
function block(x, column, column_end) {
  const y = tensor(x.rows, column_end - column);
  for (let i = 0; i < x.rows; ++i)
    y.values.set(x.values.subarray(i * x.cols + column, i * x.cols + column_end), i * y.cols);
  return y;
}
// Tensors beside each other: [T, d] [T, d] ... -> [T, H]
function cat(parts) {
  const columns = parts.map(transpose);             // [d, T] each
  const y = tensor(columns.reduce((sum, part) => sum + part.rows, 0), parts[0].rows);
  let row = 0;
  for (const part of columns) {
    y.values.set(part.values, row * y.cols);
    row += part.rows;
  }
  return transpose(y);
}

// ---- The network ---------------------------------------------------------------------------------------------------

class Bert {
  // theta: name -> tensor; a vector is one row. config: layers, heads, eps.
  constructor(theta, config, hand) {
    Object.assign(this, { theta, hand, layers: config.layers, heads: config.heads, eps: config.eps });
    this.seen = { states: [], attention: [], values: [], norms: {} };  // what the page shows of the last forward
  }

  // y = x Wᵀ + b
  linear(name, x) {
    const W = this.theta[name + '.weight'];                          // [out, in]
    const b = this.theta[name + '.bias'];                            // [out]
    return add(matmul_nt(x, W), b);                                  // [T, out]
  }

  // y = x̂ ⊙ γ + β, or with a task t, y = x̂ ⊙ (γ + λ γ_t) + (β + λ β_t)                            [CLN eq.1-4]
  layer_norm(name, x, t) {
    const y = this.hand.off.has(name) ? x : this.normalized(name, x, t);
    this.seen.norms[name] = { x, y };
    return y;                                                        // [T, H]
  }
  normalized(name, x, t) {
    const gamma = this.theta[name + '.weight'];                      // [H]
    const beta = this.theta[name + '.bias'];                         // [H]
    const mu = mean_rows(x);                                         // [T, 1]
    const sigma2 = mean_rows(square(subtract(x, mu)));               // [T, 1]
    const sigma = each(sigma2, s2 => Math.sqrt(s2 + this.eps));      // [T, 1]
    const xhat = divide(subtract(x, mu), sigma);                     // [T, H]
    if (t === null || !this.theta[name + '.task_weight']) return add(multiply(xhat, gamma), beta);
    const taken = [this.hand.taken[t]];
    const gamma_t = embedding(this.theta[name + '.task_weight'], taken);      // [1, H], a row of [tasks, H]
    const beta_t = embedding(this.theta[name + '.task_bias'], taken);         // [1, H]
    const gain = add(gamma, scale(gamma_t, this.hand.lambda));                // [1, H]
    const bias = add(beta, scale(beta_t, this.hand.lambda));                  // [1, H]
    return add(multiply(xhat, gain), bias);                          // [T, H]
  }

  // x = Norm(word + position + segment): each token takes a row of three tables.
  embeddings(name, batch) {
    const word = embedding(this.theta[name + '.word_embeddings.weight'], batch.ids);                 // [T, H]
    const position = embedding(this.theta[name + '.position_embeddings.weight'], batch.positions);   // [T, H]
    const segment = embedding(this.theta[name + '.token_type_embeddings.weight'], batch.segments);   // [T, H]
    const x = add(add(word, position), segment);                                                     // [T, H]
    return this.layer_norm(name + '.LayerNorm', x, batch.task);                                      // [T, H]
  }

  // O = softmax(Q Kᵀ / √d) V, for each head by itself: the one place where tokens meet
  attention(name, Q, K, V) {
    const d = Q.cols / this.heads;
    const O = [];
    for (let h = 0; h < this.heads; ++h) {
      const q = block(Q, h * d, (h + 1) * d);                        // [T, d]
      const k = block(K, h * d, (h + 1) * d);                        // [T, d]
      const v = block(V, h * d, (h + 1) * d);                        // [T, d]
      const S = scale(matmul_nt(q, k), 1 / Math.sqrt(d));            // [T, T]
      const P = softmax(S);                                          // [T, T]
      O.push(this.hand.off.has(`${name}.head.${h}`) ? tensor(v.rows, d) : matmul(P, v));             // [T, d]
      this.seen.attention.push(P);
      this.seen.values.push(v);
    }
    return cat(O);                                                   // [T, H]
  }

  // A(x) = W_o attention(W_q x, W_k x, W_v x)
  self_attention(name, x) {
    const Q = this.linear(name + '.self.query', x);                  // [T, H]
    const K = this.linear(name + '.self.key', x);                    // [T, H]
    const V = this.linear(name + '.self.value', x);                  // [T, H]
    const O = this.attention(name, Q, K, V);                         // [T, H]
    return this.linear(name + '.output.dense', O);                   // [T, H]
  }

  // F(x) = W₂ GELU(W₁ x)
  feed_forward(name, x) {
    const u = gelu(this.linear(name + '.intermediate.dense', x));    // [T, I]
    return this.linear(name + '.output.dense', u);                   // [T, H]
  }

  // a = Norm(x + A(x))     y = Norm(a + F(a))
  layer(name, x, batch) {
    if (this.hand.off.has(name)) return x;
    const A = this.self_attention(name + '.attention', x);                                           // [T, H]
    const a = this.layer_norm(name + '.attention.output.LayerNorm', add(x, A), batch.task);          // [T, H]
    const F = this.feed_forward(name, a);                                                            // [T, H]
    return this.layer_norm(name + '.output.LayerNorm', add(a, F), batch.task);                       // [T, H]
  }

  // The hidden states of all tokens after the last layer.
  encode(batch) {
    let x = this.embeddings('bert.embeddings', batch);                                               // [T, H]
    this.seen.states.push(x);
    for (let i = 0; i < this.layers; ++i) {
      x = this.layer(`bert.encoder.layer.${i}`, x, batch);                                           // [T, H]
      this.seen.states.push(x);
    }
    return x;
  }

  // The last state of the first token, [CLS], stands for the sentence.
  pooled(batch) {
    const x = this.encode(batch);                                    // [T, H]
    const cls = embedding(x, [0]);                                   // [1, H]
    return tanh(this.linear('bert.pooler.dense', cls));              // [1, H]
  }

  // What the head of the task says.
  logits(task, batch) {
    return this.linear('heads.' + task, this.pooled(batch));         // [1, outputs]
  }

  // What pre-training's head says of hidden states x [M, H], of any layer: a logit of each word of the vocabulary.
  word_logits(x) {
    const name = 'cls.predictions';
    const u = gelu(this.linear(name + '.transform.dense', x));       // [M, H]
    const h = this.layer_norm(name + '.transform.LayerNorm', u, null);        // [M, H]
    const E = this.theta['bert.embeddings.word_embeddings.weight'];  // [V, H]
    return add(matmul_nt(h, E), this.theta[name + '.bias']);         // [M, V]
  }
}

// ---- θ, as the page carries it --------------------------------------------------------------------------------------

// A number of 16 bits (IEEE binary16): 1 sign, 5 bits of exponent, 10 of fraction
function half(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * fraction / 1024;
}
// base64 -> the bytes
const bytes_of = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

// parameters: [name, rows, cols] each; weights: base64 of their numbers, one parameter after the other.
function load(parameters, weights) {
  const view = new DataView(bytes_of(weights).buffer), theta = {};
  let at = 0;
  for (const [name, rows, cols] of parameters) {
    theta[name] = tensor(rows, cols, new Float32Array(rows * cols));
    for (let i = 0; i < rows * cols; ++i, at += 2) theta[name].values[i] = half(view.getUint16(at, true));
  }
  return theta;
}
