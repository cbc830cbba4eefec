// The view Compute, and what the other views show of it: a text of one's own goes through the network of forward.js,
// under the hand. The functions here use those of page.js.

// ---- the hand ------------------------------------------------------------------------------------------------------

// As the program computed: measured[0]'s text and task, and the model as it was trained.
const asTrained = tasks => ({ lambda: 1, taken: range(tasks.length), off: new Set() });
const startOf = m => ({ text: m.text, text_b: m.text_b, task: m.task, ...asTrained(m.tasks) });
const untouched = h => h.lambda === 1 && h.off.size === 0 && h.taken.every((from, t) => from === t);
const isStart = () => untouched(hand) && ['text', 'text_b', 'task'].every(field => hand[field] === measured[0][field]);

// Why this page does not compute; '' if it does.
function notComputed() {
  const left = measured.find(m => m.carried.not_run);
  if (left) return `${left.model}: ${left.carried.not_run}.`;
  const tokens = measured.map(m => m.carried.tokens.join('\n'));
  return tokens.every(list => list === tokens[0]) ? '' : 'Models side by side need the same vocabulary to compute.';
}

// The hand in the address: task, λ, whose γ_t each task takes, what is off, the texts.
const encoder = 'bert.encoder.layer.';
function handPath() {
  const off = [...hand.off].map(name => name.replace(encoder, ''));
  return [hand.task, hand.lambda, hand.taken.join('.'), off.join(','), hand.text, hand.text_b].map(encodeURIComponent);
}
function readHand([task, lambda, taken, off, text, text_b]) {
  const h = startOf(measured[0]), tasks = h.taken, wanted = taken?.split('.').map(Number) ?? [];
  if (measured[0].tasks.includes(task) || task === '') h.task = task;
  if (lambda && Number.isFinite(+lambda)) h.lambda = clamp(+lambda, ...lambdas);
  if (wanted.length === tasks.length && tasks.every(t => wanted.includes(t))) h.taken = wanted;
  const known = new Set(measured.flatMap(m => switches(m).flat()).map(({ name }) => name));
  for (const name of off?.split(',') ?? [])
    for (const full of [encoder + name, name]) if (known.has(full)) h.off.add(full);
  if (text !== undefined) h.text = text;
  if (text_b !== undefined) h.text_b = text_b;
  hand = h;
}

// ---- computing -----------------------------------------------------------------------------------------------------

// θ and tokenizer, unpacked when they are first needed; what is kept stands in `carried`, which all forms of a model share.
const unpacked = ({ carried }) => carried.unpacked ??= { theta: load(carried.parameters, carried.weights),
                                                         tokenizer: new WordPiece(carried.tokens, carried.cleaning) };
function bertOf(m, h) {
  const config = { layers: m.layers, heads: m.heads, eps: m.carried.eps };
  return new Bert(unpacked(m).theta, config, { ...h, taken: takenBy(m, h) });
}
// Whose γ_t each task of a model takes. The hand is on the first model's tasks: one of other tasks keeps its own.
const takenBy = (m, h) => m.tasks.join() === measured[0].tasks.join() ? h.taken : range(m.tasks.length);

// The hand's text as a task has it; null: there is no task
function batchOf(m, h, task) {
  const text_b = !task || task.pair ? h.text_b : '';
  const sequence = unpacked(m).tokenizer.sequence(h.text, text_b, m.carried.most_tokens);
  return { ...sequence, task: task ? m.tasks.indexOf(task.name) : null };
}
const taskOf = (m, name) => m.carried.tasks.find(task => task.name === name) ?? null;

// Of each label its probability: softmax(z); of a single logit (1-σ, σ), the softmax of (0, z); of a similarity none
function probabilities(labels, z) {
  if (!labels.length) return [];
  const logits = z.length === 1 ? [0, ...z] : [...z];
  return [...softmax(tensor(1, logits.length, Float64Array.from(logits))).values];
}
function predictionOf(m, h, task) {
  const none = { task: task.name, choices: [], text: '', not_run: '' };
  if (task.pair && !h.text_b) return { ...none, not_run: 'it takes two texts' };
  const z = bertOf(m, h).logits(task.name, batchOf(m, h, task)).values, p = probabilities(task.labels, z);
  if (p.length)
    return { ...none, text: task.labels[p.indexOf(greatest(p))], choices: p.map((x, i) => [task.labels[i], x]) };
  return { ...none, value: z[0], text: task.high === null ? z[0].toFixed(3) :
    `${clamp(z[0], task.low, task.high).toFixed(1)} of ${task.high}` };
}
// What pre-training's head says of each of these hidden states [M, H]: the ten likeliest words
function wordsOf(m, bert, x) {
  const { tokens } = unpacked(m).tokenizer, p = softmax(bert.word_logits(x));
  return range(p.rows).map(row => range(tokens.length)
    .map(id => [tokens[id].replace(/^##/, ''), p.values[row * p.cols + id]]).sort((a, b) => b[1] - a[1]).slice(0, 10));
}
const hasWordHead = m => m.lens.words.length > 0;
// In the place of each [MASK]. words(places): what the head says of the last states there
function maskedWords(m, { ids, pieces }, words) {
  const places = range(ids.length).filter(i => ids[i] === m.mask), said = places.length && hasWordHead(m) ? words(places) : [];
  return places.map((place, i) => ({ task: `${pieces[place]} ${i + 1}`, choices: said[i] ?? [], text: said[i]?.[0][0] ?? '',
                                     not_run: m.lens.not_run }));
}

// What look.cpp measures of a model, here of a forward under a hand.
function computed(m, h) {
  const task = taskOf(m, h.task), batch = batchOf(m, h, task), bert = bertOf(m, h);
  bert.encode(batch);
  const { states, attention, values, norms } = bert.seen, T = batch.ids.length;
  const names = m.states.map(s => s.name), before = [states[0], ...states];
  let words, predictions;                           // computed when they are asked for
  return { ...m, live: true, text: h.text, text_b: task && !task.pair ? '' : h.text_b, task: task?.name ?? '',
    label: '', gradients: [], cut: batch.cut,
    ids: batch.ids, segments: batch.segments, pieces: batch.ids.map(id => m.carried.tokens[id]),
    attention: ofAllHeads(m, h, attention.map(P => P.values), T * T),
    value_norms: ofAllHeads(m, h, values.map(rowNorms), T), hidden_states: states,
    states: states.map((x, i) => stateOf(names[i], x, states[0], before[i])),
    norms: Object.entries(norms).map(([module, pass]) => normPass(module, pass)),
    gains: m.gains.map(gain => gainUnderHand(m, h, gain)),
    get lens() {
      words ??= hasWordHead(m) ? states.map(x => wordsOf(m, bert, x)) : [];
      return { ...m.lens, words };
    },
    get predictions() {
      const words = places => wordsOf(m, bert, embedding(states.at(-1), places));
      return predictions ??= [...m.carried.tasks.map(task => predictionOf(m, h, task)), ...maskedWords(m, this, words)];
    } };
}
// The same of the hand's text and task, but as trained
function asTrainedNow(m) {
  const { carried } = m, h = { ...hand, ...asTrained(m.tasks) }, of = JSON.stringify([h.text, h.text_b, h.task]);
  if (carried.now?.of !== of) carried.now = { of, model: computed(m, h) };
  return carried.now.model;
}
// The numbers of all layers and heads in one row; a layer that is off has none: NaN, so many for each head.
function ofAllHeads(m, h, seen, count) {
  let next = 0;
  return range(m.layers).flatMap(l => range(m.heads).flatMap(() =>
    h.off.has(encoder + l) ? range(count).map(() => NaN) : [...seen[next++]]));
}
const rowOf = (x, i) => x.values.subarray(i * x.cols, (i + 1) * x.cols);
const rowNorms = x => range(x.rows).map(i => norm(rowOf(x, i)));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cosine = (a, b) => dot(a, b) / (norm(a) * norm(b) || 1);
const stateOf = (name, x, start, previous) => ({ name, length: rowNorms(x), gradient: [],
  start: range(x.rows).map(i => cosine(rowOf(x, i), rowOf(start, i))),
  previous: range(x.rows).map(i => cosine(rowOf(x, i), rowOf(previous, i))) });
function normPass(module, { x, y }) {
  const rms = ({ values }) => norm(values) / Math.sqrt(values.length), most = 4 * Math.max(rms(x), rms(y)) || 1;
  const rows = z => {
    const mean = [...mean_rows(z).values], counts = range(64).map(() => 0);
    for (const a of z.values) ++counts[clamp(Math.floor((a / most + 1) * 32), 0, 63)];
    const sizes = z.values.map(Math.abs), largest = greatest(sizes);
    return { mean, counts, largest, dimension: sizes.indexOf(largest) % z.cols,
             variance: [...mean_rows(square(subtract(z, tensor(z.rows, 1, mean)))).values] };
  };
  return { module, range: most, before: rows(x), after: rows(y) };
}
// λ γ_t and λ β_t of the task that each task takes
function gainUnderHand(m, h, gain) {
  const of = rows => rows.length ? takenBy(m, h).map(t => rows[t].map(x => h.lambda * x)) : [];
  return { ...gain, task_weight: of(gain.task_weight), task_bias: of(gain.task_bias) };
}

// The states [T, H] that a model's view shows, if they are there; the program's are carried as numbers.
function hiddenStates(m) {
  if (m.live || m.carried.not_run) return m.hidden_states ?? null;
  const numbers = new Float32Array(bytes_of(m.carried.states).buffer), size = m.ids.length * m.hidden;
  return m.states.map((_, s) => tensor(m.ids.length, m.hidden, numbers.subarray(s * size, (s + 1) * size)));
}
// The largest difference between the hidden states of this page and those of the program, which are of its own text.
function differenceFrom(m) {
  const bert = bertOf(m, asTrained(m.tasks)), task = m.task ? m.tasks.indexOf(m.task) : null;
  bert.encode({ ids: m.ids, segments: m.segments, positions: range(m.ids.length), task });
  const flat = states => states.flatMap(x => [...x.values]), theirs = flat(hiddenStates(m)), ours = flat(bert.seen.states);
  return ours.length === theirs.length ? greatest(ours.map((x, i) => Math.abs(x - theirs[i]))) : Infinity;
}

// ---- the view ------------------------------------------------------------------------------------------------------

const lambdas = [-4, 8];                            // the ends of the slider

// After the hand moved: all views show what it computes.
function compute() {
  models = isStart() || notComputed() ? measured : measured.map(m => computed(m, { ...hand }));
  first = models[0];
  T = first.pieces.length;
  limits.token = limits.other = T;
}
let computing = null;
function moveHand(changes) {
  Object.assign(hand, changes);
  computing ??= setTimeout(() => {                   // once for all events that wait
    computing = null;
    compute();
    set({});
  });
}
function reset() {
  hand = startOf(measured[0]);
  compute();
  set({}, 'all');
}
// What the hand does, in words
function handSays() {
  const tasks = measured[0].tasks, swapped = range(tasks.length).filter(t => hand.taken[t] !== t);
  return [...hand.lambda === 1 ? [] : [`λ = ${number(hand.lambda)}`],
    ...swapped.map(t => `${tasks[t]} takes γ_${tasks[hand.taken[t]]}`),
    ...[...hand.off].map(name => `${switchName(name)} off`)].join(', ');
}

function computeControls() {
  if (notComputed()) return [];
  const m = measured[0], labeled = (text, control) => el('label', {}, el('span', {}, text), control);
  const option = (value, text, chosen) => el('option', { value, selected: chosen && 'selected' }, text);
  const input = (field, text) => labeled(text, el('input', { type: 'text', value: hand[field], 'data-key': field,
    spellcheck: 'false', oninput: event => moveHand({ [field]: event.target.value }) }));
  const tasks = () => labeled('as the task', el('select', { 'data-key': 'task',
    onchange: event => moveHand({ task: event.target.value }) },
    option('', 'none', !hand.task), m.tasks.map(name => option(name, name, name === hand.task))));
  return [el('div', { class: 'controls' }, input('text', 'Text'), input('text_b', 'Second text, of a pair'),
    m.tasks.length ? tasks() : null,
    measured.some(conditional) ? [slider(), m.tasks.length > 1 ? takers(m, option) : null] : null)];
}
const conditional = m => m.gains.some(gain => gain.task_weight.length);
function slider() {
  const shown = el('output', {}, number(hand.lambda));
  const input = el('input', { type: 'range', min: lambdas[0], max: lambdas[1], step: 0.1, value: hand.lambda,
    'data-key': 'lambda', 'aria-label': 'λ', oninput: () => to(+input.value) });
  const to = lambda => {
    input.value = lambda;
    shown.textContent = number(lambda);
    moveHand({ lambda });
  };
  return el('div', { class: 'slider' }, el('span', {}, 'λ = ', shown), input,
    el('button', { 'data-key': 'lambda0', onclick: () => to(0) }, '0: plain'),
    el('button', { 'data-key': 'lambda1', onclick: () => to(1) }, '1: as trained'),
    el('span', {}, 'over dev sets: ', tagged('conditional_layer_norm switch [CLN switch]')));
}
// Who takes whose γ_t and β_t: to choose another task's is to swap with it.
function takers(m, option) {
  const take = (t, from) => {
    const taken = [...hand.taken];
    taken[taken.indexOf(from)] = taken[t];
    taken[t] = from;
    moveHand({ taken });
    taken.forEach((task, i) => { main.querySelector(`[data-key=taken${i}]`).value = task; });
  };
  return el('div', { class: 'takers' }, m.tasks.map((name, t) => el('label', {}, el('span', {}, `${name} takes`),
    el('select', { 'data-key': `taken${t}`, onchange: event => take(t, +event.target.value) },
      m.tasks.map((other, k) => option(k, `γ_${other}, β_${other}`, hand.taken[t] === k))))));
}

// What can be switched off: the embeddings' norm, then of each layer itself, its heads and its norms.
function switches(m) {
  const norm = (path, text) => ({ name: path + '.LayerNorm', text });
  return [[norm('bert.embeddings', 'norm')], ...range(m.layers).map(l => {
    const path = encoder + l, name = h => `${path}.attention.head.${h}`;
    return [{ name: path, text: `layer ${l + 1}` },
      ...range(m.heads).map(h => ({ name: name(h), text: `head ${h + 1}`, layer: l, head: h })),
      norm(path + '.attention.output', 'attention norm'), norm(path + '.output', 'output norm')];
  })];
}
function switchName(name) {
  if (name.endsWith('LayerNorm')) return `norm of ${normName(name)}`;
  return short(name).replace(/attention\.head\.(\d+)/, (_, h) => `head ${+h + 1}`).trim();
}
function flip(name) {
  const off = new Set(hand.off);
  if (!off.delete(name)) off.add(name);
  moveHand({ off });
}

function computeView(m) {
  if (notComputed()) return notice(`This page does not compute. ${notComputed()}`);
  return [beside(predictionCards(m), el('div', {}, switchboard(m))), lengthsOfTasks(m), agreement(m)];
}
// What the heads say now; a mark is where the probability stands as trained.
function predictionCards(m) {
  const before = asTrainedNow(measured[m.index]).predictions, now = untouched(hand) ? before : m.predictions;
  if (!now.length) return notice('Write [MASK] in place of a word of the text.');
  return now.map((p, i) => predictionCard(m, p, before[i]));
}
function switchboard(m) {
  const scale = attentionScale(), [norms, ...layers] = switches(m);
  const key = ({ name, text, head, layer }) => {
    const on = !hand.off.has(name), title = switchName(name);
    return el('button', { class: 'switch', 'data-key': `off${m.index}${name}`, 'aria-pressed': String(on),
      'aria-label': `${title} is ${on ? 'on' : 'off'}`, title, onclick: () => flip(name) },
      head === undefined ? text : [thumbnail(m, layer, head, scale), el('small', {}, text)]);
  };
  return el('figure', {}, el('figcaption', {}, 'Press to switch off: layers and norms then pass x on, heads give 0. ',
      'Attention ', legend(scale)),
    el('div', { class: 'switches' }, el('div', {}, el('span', {}, 'embeddings'), norms.map(key)),
       layers.map(row => el('div', {}, row.map(key)))));
}
// |λ γ_t| of the γ_t that each task takes, norm by norm; a bar is whole at the slider's end.
function lengthsOfTasks(m) {
  if (!conditional(m)) return null;
  const taken = takenBy(m, hand), lengths = gain => gain.task_weight.map(norm);
  const most = Math.max(...lambdas.map(Math.abs)) * greatest(measured.flatMap(other => other.gains.flatMap(lengths)));
  return [el('h3', {}, '|λ γ_t|, the length of what each task adds to γ'), m.tasks.map((name, t) => [
    el('p', {}, `${name}: γ_${m.tasks[taken[t]]}`), bars(m.gains.map(gain => [normName(gain.module), lengths(gain)[t]]), most)])];
}
function agreement(m) {
  const difference = m.carried.difference ??= differenceFrom(measured[m.index]);
  return el('p', { class: 'muted' }, 'The script computes with the weights in 16 bits, as the program did: the hidden ',
    `states of the program’s text differ by ${difference.toExponential(0)} at most.`);
}
