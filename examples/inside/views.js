// The views of the page: each shows a model as the state says, with the elements and pictures of page.js.

// The choices of each field, and how its buttons call them.
const choicesOf = {
  measure: { weights: 'weights', values: 'weights × |v|' },
  quantity: { start: 'cosine to its start', previous: 'cosine to the layer before', length: 'norm |x|',
              gradient: 'gradient |dL/dx|' },
  rows: { 'mean-before': 'mean before', 'variance-before': 'variance before', 'mean-after': 'mean after',
          'variance-after': 'variance after' },
  gain: { weight: 'gain γ', bias: 'bias β' },
  scale: { gradient: 'length |g|', ratio: 'beside the parameters, |g| / |θ|' },
};
const tokenName = i => `${first.pieces[i]} (${i + 1})`;
// The rows of all models under names, each name once: what a model lacks stays empty beside another that has it. Those of
// the model with most rows come first.
function alignedNames(namesOf) {
  return [...new Set(models.map(namesOf).sort((a, b) => b.length - a.length).flat())];
}

function wordsView(m) {
  const rows = m.pieces.map((piece, i) => [String(i + 1), piece, String(m.ids[i]), String(m.segments[i])]);
  return [el('p', {}, 'Token ', el('code', {}, tokenName(state.token - 1)), ` has the id ${m.ids[state.token - 1]}: the row ` +
      'of the word embeddings that stands for it.'),
    table(['position', 'piece', 'id', 'segment'], rows)];
}

// The matrix of a layer and head under the chosen measure. [T,T]
function attentionValue(m, layer, head) {
  const begin = (layer * m.heads + head) * T * T;
  if (state.measure === 'weights') return (i, j) => m.attention[begin + i * T + j];
  return (i, j) => m.attention[begin + i * T + j] * m.value_norms[(layer * m.heads + head) * T + j];
}
// All heads of all models have one scale, in the overview and in the large picture.
function attentionScale() {
  const all = state.measure === 'weights' ? [1] : models.flatMap(m => range(m.layers * m.heads * T * T).map(k =>
    m.attention[k] * m.value_norms[Math.floor(k / T / T) * T + k % T]));
  return { scale: 'root', low: 0, high: greatest(all) };
}
function thumbnail(m, layer, head, { scale, low, high }) {
  const canvas = el('canvas', { 'aria-hidden': 'true' });
  paint(canvas, T, T, attentionValue(m, layer, head), x => scales[scale](x, low, high));
  return canvas;
}
function thumbnails(m, scale) {
  const tiles = range(m.layers).flatMap(l => [el('span', {}, String(l + 1)), ...range(m.heads).map(h => {
    const chosen = l + 1 === Math.min(state.layer, m.layers) && h + 1 === Math.min(state.head, m.heads);
    const name = `layer ${l + 1}, head ${h + 1}`;
    return el('button', { 'data-key': `thumb${m.index}/${l}/${h}`, tabindex: chosen ? 0 : -1,
      'aria-pressed': String(chosen), 'aria-label': name, title: name,
      onclick: () => set({ layer: l + 1, head: h + 1 }),
      onkeydown: arrows(l, h, m.layers, m.heads, (layer, head) => {
        focusNext = `thumb${m.index}/${layer}/${head}`;
        set({ layer: layer + 1, head: head + 1 });
      }) }, thumbnail(m, l, h, scale));
  })]);
  return el('figure', {}, el('figcaption', {}, 'Layers, one a row; heads, one a column ', legend(scale)),
    el('div', { class: 'thumbs', style: `grid-template-columns:1.5rem repeat(${m.heads},minmax(0,1fr))` }, tiles));
}

function attentionView(m) {
  const l = Math.min(state.layer, m.layers) - 1, h = Math.min(state.head, m.heads) - 1, value = attentionValue(m, l, h);
  const name = `Layer ${l + 1}, head ${h + 1}`, i = state.token - 1;
  const shown = x => state.measure === 'weights' ? percent(x) : number(x);
  const row = range(T).map(j => value(i, j)), most = greatest(row), scale = attentionScale();
  const large = heatMap({ key: `attention${m.index}`, ...scale,
    caption: `${name}: row i is what token i takes from each token`,
    rows: m.pieces, columns: m.pieces, value, fields: ['token', 'other'],
    says: (r, c) => `${name}: ${tokenName(r)} takes ${shown(value(r, c))} from ${tokenName(c)}` });
  const taken = el('div', {}, el('h3', {}, `${name}: what `, el('code', {}, tokenName(i)), ' takes'),
    el('div', { class: 'tokens' }, m.pieces.map((piece, j) => el('span',
      { class: 'token', style: tokenStyle(scales.root(row[j], 0, most)) }, piece, el('small', {}, shown(row[j]))))));
  return [withTokens(thumbnails(m, scale), large), taken];
}

function layersView(m) {
  const quantity = choicesOf.quantity[state.quantity], of = s => s[state.quantity], names = m.states.map(s => s.name), t = state.token - 1;
  if (!of(m.states[0]).length) return notice(noLabel(m));
  const everyone = models.flatMap(other => other.states.flatMap(of));
  const high = greatest(everyone), low = Math.min(0, least(everyone)), S = m.states.length;
  const x = s => 50 + 570 * s / Math.max(S - 1, 1), y = v => 240 - 220 * (v - low) / (high - low || 1);
  const path = i => m.states.map((s, k) => `${k ? 'L' : 'M'}${x(k).toFixed(1)} ${y(of(s)[i]).toFixed(1)}`).join('');
  const ticks = range(5).map(k => low + (high - low) * k / 4);
  const chart = svg('svg', { class: 'chart', viewBox: '0 0 660 275', role: 'img',
      'aria-label': `${quantity} of ${tokenName(t)}: ${m.states.map(s => number(of(s)[t])).join(', ')}` },
    ticks.map(v => [svg('line', { class: 'grid', x1: 50, x2: 620, y1: y(v), y2: y(v) }),
                    svg('text', { x: 44, y: y(v) + 4, 'text-anchor': 'end' }, Number(v.toPrecision(3)).toString())]),
    names.map((name, k) => svg('text', { x: x(k), y: 260, 'text-anchor': 'middle' }, name.replace('layer ', '')
      .replace('embeddings', 'start').replace('last norm', 'norm'))),
    range(T).filter(i => i !== t).map(i => svg('path', { class: 'all', d: path(i) })), svg('path', { class: 'one', d: path(t) }));
  return beside(el('figure', {}, el('figcaption', {}, `${quantity}, layer by layer; the thick line is `,
      el('code', {}, tokenName(t))), chart),
    heatMap({ key: `layers${m.index}`, caption: quantity, what: quantity, rows: m.pieces, columns: names, low, high,
      value: (i, s) => of(m.states[s])[i], fields: ['token', 'layer'], from: 0 }));
}

function normsView(m) {
  if (!m.norms.length) return notice('This model has no norm.');
  const names = alignedNames(other => other.norms.map(norm => normName(norm.module)));
  const named = new Map(m.norms.map(norm => [normName(norm.module), norm]));
  const [what, side] = state.rows.split('-'), n = Math.min(state.norm, names.length) - 1, chosen = named.get(names[n]);
  const value = (r, i) => {
    const numbers = named.get(names[r])?.[side][what];
    return numbers?.[Math.min(i, numbers.length - 1)];
  };
  const everyone = models.flatMap(other => other.norms.flatMap(norm => norm[side][what]));
  return [el('div', {}, formulaOf(m)), withTokens(heatMap({ key: `norms${m.index}`,
      caption: `${choicesOf.rows[state.rows]}, of each norm and token`, rows: names,
      columns: m.pieces, value,
      ...extent(everyone, what === 'variance' ? 'log' : 'linear'), fields: ['norm', 'token'],
      what: choicesOf.rows[state.rows] }),
    !chosen ? notice(`This model has no norm at ${names[n]}.`) :
    [el('h3', {}, `${names[n]}: all its values, before and after`),
    ['before', 'after'].map(which => histogram(chosen, which)),
    table(['', 'mean', 'variance', 'largest |xᵢ|', 'in dimension'], ['before', 'after'].map(which => {
      const rows = chosen[which], i = Math.min(state.token, rows.mean.length) - 1;
      return [which, number(rows.mean[i]), number(rows.variance[i]), number(rows.largest), String(rows.dimension + 1)];
    })),
    el('p', { class: 'muted' }, 'Mean and variance are those of ', el('code', {}, tokenName(state.token - 1)),
       '; the largest is that of all tokens. Values beyond the axis count in the outer bars.')])];
}
// The norm's formula under the hand, and what its μ and σ are of
function formulaOf(m) {
  const text = m.live ? m.formula.replace('γ_t', 'λγ_t').replace('β_t', 'λβ_t') : m.formula;
  return [typeset(`y = ${text}`), text.includes('x̂') ? typeset('x̂ = (x-μ)/√(σ²+ε)') : null,
    el('p', { class: 'muted' }, `A mean is taken over ${m.over}.`)];
}
function histogram(chosen, which) {
  const counts = chosen[which].counts, most = greatest(counts), limit = chosen.range;
  return el('figure', {}, el('figcaption', {}, which), svg('svg', { class: 'chart', viewBox: '0 0 660 110', role: 'img',
      'aria-label': `Histogram ${which}: ${counts.join(' ')}` },
    counts.map((count, i) => {
      const height = 80 * Math.sqrt(count / (most || 1));
      return svg('rect', { class: 'bar', x: 10 + i * 10, width: 9, y: 85 - height, height });
    }),
    [-1, -0.5, 0, 0.5, 1].map(t => svg('text', { x: 330 + 320 * t, y: 103, 'text-anchor': t < -0.9 ? 'start' : t > 0.9 ? 'end' :
      'middle' }, Number((t * limit).toPrecision(2)).toString()))));
}

const letters = { weight: 'γ', bias: 'β' };
// Of what each task adds; under the hand λ times what the task takes
const lettersOf = m => m.tasks.map((task, t) => m.live ? `λ${letters[state.gain]}_${m.tasks[takenBy(m, hand)[t]]}` :
  `${letters[state.gain]}_${task}`);
function gainsView(m) {
  const gains = m.gains.filter(g => g.weight.length || g.bias.length);
  if (!gains.length) return notice('The norms of this model have no parameters.');
  const names = alignedNames(other => other.gains.map(gain => normName(gain.module)));
  const named = new Map(gains.map(gain => [normName(gain.module), gain])), of = gain => gain?.[state.gain][0];
  const n = Math.min(state.norm, names.length) - 1, g = named.get(names[n]), letter = letters[state.gain];
  if (!of(g)) return notice(`This model has no ${letter} at ${names[n]}.`);
  const columns = range(of(g).length).map(i => String(i + 1));
  const moved = g['task_' + state.gain];
  return [
    heatMap({ key: `gains${m.index}`, caption: `${letter} of every norm, dimension by dimension`, rows: names,
      columns, labels: false, value: (r, i) => of(named.get(names[r]))?.[i],
      ...extent(models.flatMap(other => other.gains.flatMap(gain => [...gain[state.gain][0] ?? []]))),
      fields: ['norm', 'dimension'], what: `${letter} =` }),
    moved.length ? [ownMap(m, names[n], moved), movedTables(m, moved)] : notice(`${names[n]} adds nothing of a task.`)];
}
// What the tasks add, by its sign and size, all tasks on one scale.
function ownMap(m, name, moved) {
  const most = greatest(moved.flatMap(task => task.map(Math.abs)));
  return heatMap({ key: `moved${m.index}`, caption: `${name}: what each task adds; blue takes away, orange adds`,
    palette: 'sign', low: -most, high: most, rows: lettersOf(m), columns: range(moved[0].length).map(i => String(i + 1)),
    labels: false, value: (t, i) => moved[t][i], row: Math.max(0, m.tasks.indexOf(m.task)), fields: [null, 'dimension'] });
}
function movedTables(m, moved) {
  const farthest = range(moved[0].length).map(i => [i, greatest(moved.map(t => Math.abs(t[i])))]).sort((a, b) => b[1] - a[1]);
  const names = lettersOf(m);
  return [el('h3', {}, 'Length, and cosine between tasks'),
    table(['', 'length', ...names], moved.map((row, t) => [names[t], number(norm(row)),
      ...moved.map(other => number(cosine(row, other)))])),
    el('h3', {}, 'The ten dimensions that moved most'),
    table(['dimension', ...names], farthest.slice(0, 10).map(([i]) => [String(i + 1),
      ...moved.map(row => number(row[i]))]))];
}

function noLabel(m) {
  if (m.live) return 'Gradients are the program’s, of its own text: Reset leads back to them.';
  return m.task ? `Not run: give --label with --task ${m.task} for the gradients of its loss.` :
    'Not run: gradients need --task and --label, and a model with a head for the task.';
}
// A parameter's row and column in the picture: its layer, and its part of a layer.
function placeOf(parameter) {
  const [, layer, rest] = parameter.match(/^bert\.encoder\.layer\.(\d+)\.(.*)$/) ?? [];
  if (!layer) return [parameter.startsWith('bert.embeddings') ? 'embeddings' : short(parameter).replace(/\..*/, ''), 'other'];
  const part = rest.replace(/\.(weight|bias|task_weight|task_bias)$/, '').replace('attention.self.', '').replace('.dense', '');
  return [`layer ${+layer + 1}`, part.replace('.LayerNorm', ' norm').replace('attention.output', 'attention').replace('.', ' ')];
}
// |g|, or |g| / |θ|, of the parameters in a row of the picture, in one of its columns where one is named; null: there are none.
function sizeOf(m, row, column) {
  const found = m.gradients.filter(one => one[0] === row && (!column || one[1] === column)), g = norm(found.map(one => one[2]));
  return !found.length ? null : state.scale === 'ratio' ? g / (norm(found.map(one => one[3])) || 1) : g;
}
function gradientsView(m) {
  if (!m.gradients.length) return notice(noLabel(m));
  const rowNames = alignedNames(other => other.gradients.map(([row]) => row));
  const layers = rowNames.filter(name => name.startsWith('layer '));
  const columns = alignedNames(other => other.gradients.filter(([row]) => layers.includes(row)).map(([, column]) => column));
  const what = state.scale === 'ratio' ? '|g| / |θ|' : '|g|';
  const cells = other => layers.flatMap(row => columns.map(column => sizeOf(other, row, column)));
  return [el('p', {}, `Loss ${number(m.loss)} for the label “${m.label}” of ${m.task}.`), beside(
    el('figure', {}, el('figcaption', {}, `${what} of all parameters of each part`),
       bars(rowNames.map(row => [row, sizeOf(m, row)]), greatest(models.flatMap(other => rowNames.map(row => sizeOf(other, row)))))),
    heatMap({ key: `gradients${m.index}`, caption: `${what}, by layer and module`, rows: layers, columns, what,
      value: (r, c) => sizeOf(m, layers[r], columns[c]), ...extent(models.flatMap(cells), 'log'),
      fields: ['layer', 'module'] })), ...stepTable(m)];
}
// What moves in a step of AdamW on this label, and in the next step, of another task.
function stepTable(m) {
  if (!m.steps) return [];
  const { steps, groups, rate } = m.steps;
  const why = (g, moved) => g === null ? 'no gradient: stays' : g > 0 ? 'by its gradient' :
    moved > 0 ? 'by its moments' : 'all 0: stays';
  const named = ({ task, label, text_b, loss }, k) => `Step ${k + 1}: ${task}, label “${label}”` +
    (text_b && text_b !== m.text_b ? ' (the text twice)' : '') + `, loss ${number(loss)}`;
  return [el('h3', {}, 'What a step of AdamW moves'),
    el('p', {}, `From moments 0, with the learning rate ${rate} and without weight decay, this text alone. `,
       `${steps.map(named).join('. ')}.`),
    table(['', ...steps.map((_, k) => `step ${k + 1}`), ...steps.flatMap((_, k) => [`|g| ${k + 1}`, `|Δθ| ${k + 1}`]), 'numbers'],
      groups.map(({ name, numbers, gradient, moved }) => [name, ...steps.map((_, k) => why(gradient[k], moved[k])),
        ...steps.flatMap((_, k) => [number(gradient[k]), number(moved[k])]), String(numbers)]))];
}

function tapeView(m) {
  if (m.live) return notice('The tape is the program’s, of its own text: Reset leads back to it.');
  const nodes = m.tape, n = Math.min(state.node, nodes.length) - 1, node = nodes[n], key = m.index;
  const users = range(nodes.length).filter(u => nodes[u].inputs.some(([from]) => from === n));
  const go = to => { focusNext = `node${key}/${to}`; set({ node: to + 1 }); };
  const walk = i => el('button', { 'data-key': `walk${key}/${i}`, onclick: () => go(i) },
    nodes[i].operation, ' ', nodes[i].shape, el('small', {}, short(nodes[i].module)));
  const leaf = ([, name, shape]) => el('span', { class: 'leaf' }, name || 'constant', ' ', shape, el('small', {}, 'a leaf'));
  const step = event => {
    const to = { ArrowUp: n - 1, ArrowDown: n + 1, ArrowLeft: node.inputs.map(i => i[0]).find(i => i >= 0),
                 ArrowRight: users[0] }[event.key];
    if (to === undefined || !nodes[to]) return;
    event.preventDefault();
    go(to);
  };
  return [arcs(m, n, users, go), beside(
    el('div', { class: 'card', role: 'group', 'aria-live': 'polite' },
      el('h3', {}, `${n + 1} of ${nodes.length}: ${node.operation} → ${node.shape}`),
      el('p', {}, 'Module ', el('code', {}, node.module || 'none'), node.gradient === null ? null : [el('br'), `|dL/dy| ${number(node.gradient)}`]),
      m.code[`${node.file}:${node.line}`].map(quoted),
      el('p', { class: 'muted' }, 'It reads'), el('div', { class: 'walk' }, node.inputs.map(i => i[0] >= 0 ? walk(i[0]) : leaf(i))),
      el('p', { class: 'muted' }, users.length ? 'Its result goes to' : 'Nothing reads its result.'),
      el('div', { class: 'walk' }, users.map(walk))),
    el('div', { class: 'list', role: 'group', 'aria-label': 'all operations', onkeydown: step }, nodes.map((other, i) =>
      el('button', { 'data-key': `node${key}/${i}`, tabindex: i === n ? 0 : -1, 'aria-pressed': String(i === n),
        onclick: () => go(i) }, el('span', {}, `${i + 1} ${other.operation} ${other.shape}`), el('small', {}, short(other.module))))))];
}
// The whole tape from left to right; an arc from each operation to those that read its result.
function arcs(m, n, users, go) {
  const count = m.tape.length, x = i => 10 + 640 * i / Math.max(count - 1, 1), chosen = new Set([n, ...users]);
  const arc = (from, to) => svg('path', { class: to === n || from === n ? 'arc on' : 'arc',
    d: `M${x(from)} 100A${(x(to) - x(from)) / 2} ${Math.min(80, 12 + (x(to) - x(from)) / 2)} 0 0 1 ${x(to)} 100` });
  const pairs = m.tape.flatMap((node, to) => node.inputs.filter(([from]) => from >= 0).map(([from]) => [from, to]));
  pairs.sort((a, b) => a.includes(n) - b.includes(n));
  return el('figure', {}, el('figcaption', {}, 'The tape from its first operation to its last; long arcs are residual sums'),
    svg('svg', { class: 'chart whole', viewBox: '0 0 660 112', role: 'img', 'aria-label': `${count} operations; number ${n + 1}, ` +
      `${m.tape[n].operation}, is chosen` }, pairs.map(([from, to]) => arc(from, to)), range(count).map(i =>
      svg('circle', { cx: x(i), cy: 100, r: i === n ? 5 : chosen.has(i) ? 3.5 : 2, class: chosen.has(i) ? 'on' : null,
                      onclick: () => go(i) }, svg('title', {}, `${i + 1} ${m.tape[i].operation} ${short(m.tape[i].module)}`)))));
}

function predictionsView(m) {
  if (!m.predictions.length) return notice('No task trained this model. Write ' +
    '[MASK] (a RoBERTa: <mask>) in place of a word of the text: a pre-trained model shows what it would put there.');
  return m.predictions.map(p => predictionCard(m, p));
}
// A mark is where the probability stood before.
function predictionCard(m, p, before) {
  const marks = before && p.choices.map(([label]) => before.choices.find(choice => choice[0] === label)?.[1]);
  return el('div', { class: p.task === m.task ? 'card chosen' : 'card' },
    el('h3', {}, `${p.task}: ${p.not_run ? `not run (${p.not_run})` : p.text}`),
    p.choices.length ? bars(p.choices, 1, percent, marks) : null,
    before?.value === undefined ? null :
      el('p', { class: 'muted' }, `${number(p.value)}; as trained ${number(before.value)}`));
}

function lensView(m) {
  const { words, not_run } = m.lens, t = state.token - 1;
  if (!words.length) return notice(not_run);
  const said = ([word, p]) => el('span', { class: 'token', style: tokenStyle(p) }, word, el('small', {}, percent(p)));
  const byState = cells => m.states.map(({ name }, s) => [name, ...cells(words[s])]);
  return [el('h3', {}, 'The likeliest word at each token'),
    table(['', ...m.pieces], byState(ofTokens => ofTokens.map(ten => said(ten[0])))),
    el('h3', {}, 'The ten likeliest at ', el('code', {}, tokenName(t))),
    table(['', ...range(10).map(i => String(i + 1))], byState(ofTokens => ofTokens[t].map(said)))];
}

// What Difference compares: two models, or one as it was trained and as the hand has it; of the same text.
function compared() {
  if (models.length > 1) return models.slice(0, 2).map(m => [m.model, m]);
  return first.live ? [['as trained', asTrainedNow(measured[0])], [handSays() || 'as trained', first]] : null;
}
function differenceView() {
  const pair = compared();
  if (!pair) return notice('Move λ or switch something off in Compute, or make the page with --compare and a second model.');
  const [[nameA, A], [nameB, B]] = pair;
  if (A.pieces.join() !== B.pieces.join()) return notice('The two cut the text into different pieces.');
  const differences = weightDifferences(A, B);
  return el('section', { class: 'model' }, el('h2', {}, `a: ${nameA}; b: ${nameB}`),
    withTokens(statesApart(A, B), headsApart(differences)),
    withTokens(weightsApart(A, differences), predictionsApart(A, B)));
}
// |b - a| / |a| of each token's state
function statesApart(A, B) {
  const [a, b] = [A, B].map(m => new Map((hiddenStates(m) ?? []).map((x, s) => [m.states[s].name, x])));
  const names = alignedNames(m => m.states.map(s => s.name));
  if (!a.size || !b.size || A.hidden !== B.hidden) return notice('Hidden states: not run. They need two models of one size ' +
    'that the page carries.');
  const values = names.map(name => {
    const x = a.get(name), y = b.get(name);
    if (!x || !y) return [];
    const lengths = rowNorms(x);
    return rowNorms(subtract(y, x)).map((d, i) => d / lengths[i]);
  });
  return heatMap({ key: 'apart', caption: 'Hidden states: |b − a| / |a|', rows: A.pieces, columns: names,
    value: (i, s) => values[s][i], low: 0, fields: ['token', 'layer'], from: 0 });
}
// b - a of the weights [T,T] of each head that both have, layer by layer
function weightDifferences(A, B) {
  const begin = (m, l, h) => (l * m.heads + h) * T * T;
  return range(Math.min(A.layers, B.layers)).map(l => range(Math.min(A.heads, B.heads)).map(h =>
    range(T * T).map(k => B.attention[begin(B, l, h) + k] - A.attention[begin(A, l, h) + k])));
}
// The share of a head's weights that goes to other tokens: half of Σ|b - a|, the mean over the rows.
function headsApart(differences) {
  const layers = range(differences.length), heads = range(differences[0].length);
  const values = differences.map(ofLayer => ofLayer.map(d => d.reduce((sum, x) => sum + Math.abs(x), 0) / 2 / T));
  return heatMap({ key: 'headsapart', caption: 'Attention: the share that goes elsewhere', rows: layers.map(l => `layer ${l + 1}`),
    columns: heads.map(h => `head ${h + 1}`), value: (l, h) => values[l][h], low: 0, fields: ['layer', 'head'],
    says: (l, h) => `Layer ${l + 1}, head ${h + 1}: ${percent(values[l][h])}` });
}
function weightsApart({ pieces }, differences) {
  const l = Math.min(state.layer, differences.length) - 1, h = Math.min(state.head, differences[0].length) - 1;
  const value = (i, j) => differences[l][h][i * T + j], most = greatest(differences.flat(2).map(Math.abs)) || 1;
  const name = `Layer ${l + 1}, head ${h + 1}`;
  return heatMap({ key: 'weightsapart', caption: `${name}: b − a, what token i takes more (orange) or less (blue) from each`,
    palette: 'sign', low: -most, high: most, rows: pieces, columns: pieces, value, fields: ['token', 'other'],
    says: (i, j) => `${name}: ${tokenName(i)} takes ${number(value(i, j))} from ${tokenName(j)}` });
}
// Where both predict, each label's probability, or the score
function predictionsApart(A, B) {
  const rows = A.predictions.flatMap(a => {
    const b = B.predictions.find(other => other.task === a.task);
    if (!b || a.not_run || b.not_run) return [];
    const probability = new Map(b.choices), shared = a.choices.filter(([label]) => probability.has(label));
    const apart = shared.map(([label, p]) => [`${a.task}: ${label}`, percent(p), percent(probability.get(label)),
                                              percent(probability.get(label) - p)]);
    return apart.length ? apart : [[a.task, a.text, b.text, '']];
  });
  return rows.length ? [el('h3', {}, 'Predictions'), table(['', 'a', 'b', 'b − a'], rows)] :
    notice('No task of both has a prediction.');
}

// Of the first model's run: a row a norm, a column a recorded step; under it the norms at the chosen step.
function learningView() {
  const { columns, of } = first.recorded, { what, sites, values } = of[state.recorded];
  const at = Math.min(state.step, columns.length) - 1, rows = sites.map(normName);
  const ofStep = rows.map((name, r) => [name, values[r][at]]);
  return [heatMap({ key: 'recorded', caption: what, rows, columns: columns.map(step => `step ${step}`), labels: false, what,
      value: (r, c) => values[r][c], fields: ['norm', 'step'] }),
    el('p', {}, `Step ${columns[at]}:`), bars(ofStep, greatest(ofStep.map(([, x]) => Math.abs(x))))];
}
