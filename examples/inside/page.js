// The page of build/bin/inside, after forward.js, word_piece.js and compute.js. Each view is a function of a model and
// the state; the state is the address's hash, so that a link leads to a view. Whatever changes the state draws the view
// anew. Texts become text nodes, never markup.

const measured = JSON.parse(document.getElementById('data').textContent);    // by the program
const main = document.querySelector('main');
const svgNamespace = document.querySelector('svg').namespaceURI;
let models = measured;                              // what the views show: measured, or computed here (compute.js)
let first = models[0];
let T = first.pieces.length;

// ---- data ----------------------------------------------------------------------------------------------------------

for (const [i, m] of measured.entries()) {
  m.index = i;                                      // in the keys of its elements
  for (const g of m.gains)
    for (const name of ['weight', 'bias', 'task_weight', 'task_bias']) g[name] ??= [];
}

const range = n => Array.from({ length: n }, (_, i) => i);
const greatest = numbers => numbers.reduce((a, b) => b > a ? b : a, -Infinity);
const least = numbers => numbers.reduce((a, b) => b < a ? b : a, Infinity);
const norm = numbers => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0));
const number = x => x === null || !Number.isFinite(x) ? '–' : x !== 0 && (Math.abs(x) < 0.001 || Math.abs(x) >= 1e5) ?
  x.toExponential(2) : String(Number(x.toPrecision(4)));
const percent = x => (100 * x).toFixed(1) + '%';

// "bert.encoder.layer.3.attention.output.LayerNorm": "layer 4 attention.output.LayerNorm"
const short = module => module.replace(/^bert\./, '').replace(/^encoder\.layer\.(\d+)\.?/, (_, n) => `layer ${+n + 1} `);
const normName = module => short(module).replace('attention.output.LayerNorm', 'attention')
  .replace('output.LayerNorm', 'output').replace('.LayerNorm', '').trim();

// ---- state ---------------------------------------------------------------------------------------------------------

const state = { view: 'words', token: 1, layer: 1, head: 1, other: 1, measure: 'weights', quantity: 'start', norm: 1,
                rows: 'variance-before', gain: 'weight', dimension: 1, scale: 'gradient', node: 1 };
const limits = { token: T, other: T, layer: Math.max(...models.map(m => m.layers)), norm: 999, dimension: 99999,
                 head: Math.max(...models.map(m => m.heads)), node: Math.max(...models.map(m => m.tape.length)) };
let hand = startOf(first);                          // what Compute changes: the text, λ, ...

const hashOf = () => '#' + [state.view, ...views[state.view].fields.map(field => state[field]),
                            ...state.view === 'compute' ? handPath() : []].join('/');
function readHash() {
  const [view, ...values] = location.hash.slice(1).split('/').map(decodeURIComponent);
  if (!Object.hasOwn(views, view)) return;
  state.view = view;
  if (view === 'compute') readHand(values);
  compute();
  views[view].fields.forEach((field, i) => {
    if (!values[i]) return;
    if (typeof state[field] !== 'number') { if (Object.hasOwn(choicesOf[field], values[i])) state[field] = values[i]; }
    else if (Number.isInteger(+values[i])) state[field] = clamp(+values[i], 1, limits[field]);
  });
}
function set(changes) {
  Object.assign(state, changes);
  for (const field in limits) state[field] = clamp(state[field], 1, limits[field]);
  waiting ??= setTimeout(writeAddress, 200);        // browsers refuse an address for every key of a held arrow
  draw();
}
let waiting = null;
function writeAddress() {
  clearTimeout(waiting);
  waiting = null;
  history.replaceState(null, '', hashOf());
}

// ---- elements ------------------------------------------------------------------------------------------------------

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter(child => child !== null));
  return element;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(svgNamespace, tag), attributes, children);
const beside = (...parts) => el('div', { class: 'beside' }, parts.map(part => el('div', {}, part)));
// Beside each other while there is room for a column of each token
const isLong = () => T > 32;
const withTokens = (...parts) => isLong() ? el('div', {}, parts) : beside(...parts);
const rowHeight = () => isLong() ? 13 : 18;         // of a token's row, in pixels

// Sizes are shown by luminance, from --low to --high of the style; numbers with a sign from --minus by way of --zero to
// --plus.
const palettes = { size: ['--low', '--high'], sign: ['--minus', '--zero', '--plus'] };
function shades() {
  const style = getComputedStyle(document.documentElement);
  const rgb = name => style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map(x => parseInt(x, 16));
  const colors = Object.fromEntries(Object.entries(palettes).map(([name, stops]) => [name, stops.map(rgb)]));
  return (t, palette = 'size') => {
    const stops = colors[palette], at = clamp(t, 0, 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((c, i) => Math.round(c + (stops[k + 1][i] - c) * (at - k)));
  };
}
let shade = shades();
const css = t => `rgb(${shade(t).join(' ')})`;
const ink = t => { const [r, g, b] = shade(t); return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#000' : '#fff'; };

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const notice = text => [el('p', { class: 'notice' }, text)];
// Arrow keys move from a row and a column to another, within so many rows and columns.
function arrows(row, column, rows, columns, go) {
  return event => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    go(clamp(row + step[0], 0, rows - 1), clamp(column + step[1], 0, columns - 1));
  };
}

// A number's place between the least and the greatest, from 0 to 1.
const scales = {
  linear: (x, low, high) => high > low ? (x - low) / (high - low) : 0,
  root: (x, low, high) => high > 0 ? Math.sqrt(Math.max(x, 0) / high) : 0,
  log: (x, low, high) => high > low && low > 0 ? Math.log(x / low) / Math.log(high / low) : 0,
};

function paint(canvas, rows, columns, value, place, palette) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d'), image = context.createImageData(columns, rows);
  for (let r = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) {
      const x = value(r, c), at = 4 * (r * columns + c);
      if (x !== null && x !== undefined && Number.isFinite(x)) image.data.set([...shade(place(x), palette), 255], at);
    }
  context.putImageData(image, 0, 0);
}

function table(heads, rows) {
  return el('div', { class: 'scroll', tabindex: 0 }, el('table', {},
    el('thead', {}, el('tr', {}, heads.map(h => el('th', {}, h)))),
    el('tbody', {}, rows.map(row => el('tr', {}, row.map((cell, i) => el(i ? 'td' : 'th', {}, cell)))))));
}
// The numbers of a picture, made when they are asked for.
function numbers(heads, rows) {
  const details = el('details', {}, el('summary', {}, 'The numbers'));
  details.addEventListener('toggle', () => { if (details.children.length < 2) details.append(table(heads(), rows())); });
  return details;
}

// A matrix as a picture. rows, columns: names; value(r, c); says(r, c): a sentence; row, column: the chosen cell;
// choose(r, c). The arrow keys move the chosen cell; the line below says what the pointer or the choice is on.
function heatMap({ key, caption, rows, columns, value, says, row, column, choose, scale = 'linear', low, high, cell = 18,
                   labels = true, palette = 'size' }) {
  const all = rows.flatMap((_, r) => columns.map((_, c) => value(r, c))).filter(x => Number.isFinite(x));
  low ??= least(scale === 'log' ? all.filter(x => x > 0) : all);
  high ??= greatest(all);
  const place = x => scales[scale](x, low, high);
  const R = rows.length, C = columns.length;
  row = Math.min(row, R - 1);
  column = Math.min(column, C - 1);
  const line = el('p', { class: 'readout', 'aria-live': 'polite' }, says(row, column));
  const canvas = el('canvas', { tabindex: 0, 'data-key': key, role: 'img',
    'aria-label': `${caption}: ${R} by ${C}. Arrow keys move. ${says(row, column)}` });
  paint(canvas, R, C, value, place, palette);
  const cellUnder = event => {
    const box = canvas.getBoundingClientRect();
    return [clamp(Math.floor((event.clientY - box.top) / box.height * R), 0, R - 1),
            clamp(Math.floor((event.clientX - box.left) / box.width * C), 0, C - 1)];
  };
  canvas.addEventListener('pointermove', event => { line.textContent = says(...cellUnder(event)); });
  canvas.addEventListener('pointerleave', () => { line.textContent = says(row, column); });
  canvas.addEventListener('click', event => { canvas.focus(); choose(...cellUnder(event)); });
  canvas.addEventListener('keydown', arrows(row, column, R, C, choose));
  const mark = el('i', { style: `left:${100 * column / C}%;top:${100 * row / R}%;width:max(5px,${100 / C}%);` +
                                `height:${100 / R}%` });
  const width = labels ? `min-width:${13 * C}px` : '', most = labels ? `--most:${24 * C}px;` : '';
  const named = (names, here) => names.map((name, i) => el('span', { class: i === here ? 'here' : null, title: name }, name));
  return el('figure', {}, el('figcaption', {}, caption, ' ', legend({ scale, low, high, palette })),
    el('div', { class: labels ? 'map' : 'map wide', style: `${most}--cell:${cell}px` },
      el('div', { class: 'rows' }, named(rows, row)),
      el('div', { class: 'scroll' },
        labels ? el('div', { class: 'columns', style: `grid-template-columns:repeat(${C},1fr);${width}` },
                    named(columns, column)) : el('div', { class: 'columns' }),
        el('div', { class: 'cells', style: `height:${R * cell}px;${width}` }, canvas, mark))),
    line, numbers(() => ['', ...columns], () => rows.map((name, r) => [name, ...columns.map((_, c) => number(value(r, c)))])));
}

const legend = ({ scale, low, high, palette = 'size' }) => el('span', { class: 'legend' }, number(low),
  el('b', { class: palette }), number(high) + (scale === 'linear' ? '' : ` (${scale})`));
// One scale for the pictures of all models, from the numbers of all.
function extent(all, scale = 'linear') {
  const seen = all.filter(x => Number.isFinite(x) && (scale !== 'log' || x > 0));
  return { scale, low: least(seen), high: greatest(seen) };
}

// Buttons, one of which is pressed.
function choices(field) {
  return el('div', { class: 'choices', role: 'group' }, Object.entries(choicesOf[field]).map(([value, name]) =>
    el('button', { 'data-key': field + value, 'aria-pressed': String(state[field] === value),
                   onclick: () => set({ [field]: value }) }, name)));
}
// A token, in a shade where there is one.
const tokenStyle = t => t === undefined ? null : `background:${css(t)};color:${ink(t)}`;
// The tokens, always in sight: one stop of Tab, and the arrow keys move on. shadeOf(i): from 0 to 1.
function tokenStrip(shadeOf) {
  return el('div', { class: 'tokens', role: 'group', 'aria-label': 'tokens' }, first.pieces.map((piece, i) =>
    el('button', { class: 'token', 'data-key': `token${i}`, 'aria-pressed': String(i + 1 === state.token),
                   tabindex: i + 1 === state.token ? 0 : -1, style: tokenStyle(shadeOf?.(i)),
                   onclick: () => set({ token: i + 1 }), onkeydown: arrows(0, i, 1, T, (_, to) => {
                     focusNext = `token${to}`;
                     set({ token: to + 1 });
                   }) }, piece)));
}
// marks: where each bar stood before
const bars = (pairs, most, says = number, marks = []) => el('div', { class: 'bars' }, pairs.map(([name, x], i) =>
  [el('span', {}, name), el('div', {}, el('i', { style: `width:${100 * x / (most || 1)}%` }),
    marks[i] === undefined ? null : el('b', { style: `left:${100 * marks[i] / (most || 1)}%` })),
   el('span', {}, says(x))]));

// ---- views ---------------------------------------------------------------------------------------------------------

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
    caption: `${name}: row i is what token i takes from each token`, cell: rowHeight(),
    rows: m.pieces, columns: m.pieces, value,
    says: (r, c) => `${name}: ${tokenName(r)} takes ${shown(value(r, c))} from ${tokenName(c)}`,
    row: i, column: state.other - 1, choose: (r, c) => set({ token: r + 1, other: c + 1 }) });
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
    heatMap({ key: `layers${m.index}`, caption: quantity, cell: rowHeight(), rows: m.pieces, columns: names, low, high,
      value: (i, s) => of(m.states[s])[i], row: t, column: state.layer, choose: (i, s) => set({ token: i + 1, layer: s || 1 }),
      says: (i, s) => `${tokenName(i)}, ${names[s]}: ${quantity} ${number(of(m.states[s])[i])}` }));
}

function normsView(m) {
  if (!m.norms.length) return notice('This model has no norm.');
  const [what, side] = state.rows.split('-'), n = Math.min(state.norm, m.norms.length) - 1, chosen = m.norms[n];
  const value = (r, i) => m.norms[r][side][what][Math.min(i, m.norms[r][side][what].length - 1)];
  const names = m.norms.map(norm => normName(norm.module));
  const everyone = models.flatMap(other => other.norms.flatMap(norm => norm[side][what]));
  return [el('p', {}, `y = ${m.formula}`), withTokens(heatMap({ key: `norms${m.index}`,
      caption: `${choicesOf.rows[state.rows]}, of each norm and token`, rows: names,
      columns: m.pieces, value,
      ...extent(everyone, what === 'variance' ? 'log' : 'linear'), row: n, column: state.token - 1,
      choose: (r, i) => set({ norm: r + 1, token: i + 1 }),
      says: (r, i) => `${names[r]}, ${tokenName(i)}: ${choicesOf.rows[state.rows]} ${number(value(r, i))}` }),
    [el('h3', {}, `${names[n]}: all its values, before and after`),
    ['before', 'after'].map(which => histogram(chosen, which)),
    table(['', 'mean', 'variance', 'largest |xᵢ|', 'in dimension'], ['before', 'after'].map(which => {
      const rows = chosen[which], i = Math.min(state.token, rows.mean.length) - 1;
      return [which, number(rows.mean[i]), number(rows.variance[i]), number(rows.largest), String(rows.dimension + 1)];
    })),
    el('p', { class: 'muted' }, 'Mean and variance are those of ', el('code', {}, tokenName(state.token - 1)),
       '; the largest is that of all tokens. Values beyond the axis count in the outer bars.')])];
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
const lettersOf = m => m.tasks.map(task => `${letters[state.gain]}_${task}`);    // of what each task adds
function gainsView(m) {
  const gains = m.gains.filter(g => g.weight.length || g.bias.length);
  if (!gains.length) return notice('The norms of this model have no parameters.');
  const n = Math.min(state.norm, gains.length) - 1, g = gains[n], letter = letters[state.gain], of = gain => gain[state.gain][0];
  const names = gains.map(gain => normName(gain.module)), columns = range(of(g).length).map(i => String(i + 1));
  const moved = g['task_' + state.gain], times = magnification(of(g), moved);
  const rows = [of(g), ...moved.map(task => task.map((x, i) => times * x + of(g)[i]))];
  const added = lettersOf(m).slice(0, moved.length), factor = times > 1 ? times : '';
  const rowsNamed = [letter, ...added.map(name => `${letter}+${factor}${name}`)];
  const parts = [
    heatMap({ key: `gains${m.index}`, caption: `${letter} of every norm, dimension by dimension`, rows: names,
      columns, labels: false, value: (r, i) => of(gains[r])[i],
      ...extent(models.flatMap(other => other.gains.flatMap(gain => [...gain[state.gain][0] ?? []]))), row: n, column: state.dimension - 1,
      choose: (r, i) => set({ norm: r + 1, dimension: i + 1 }),
      says: (r, i) => `${names[r]}, dimension ${i + 1}: ${letter} = ${number(of(gains[r])[i])}` }),
    heatMap({ key: `tasks${m.index}`, caption: stripCaption(names[n], times, moved), rows: rowsNamed, columns,
      labels: false, cell: 24,
      value: (r, i) => rows[r][i], row: 0, column: state.dimension - 1, choose: (_, i) => set({ dimension: i + 1 }),
      says: (_, i) => [`${letter} = ${number(of(g)[i])}`, ...added.map((name, t) => `${name} = ${number(moved[t][i])}`)]
        .join(', ') + ` (dimension ${i + 1})` })];
  return moved.length ? [...parts, ownMap(m, moved), ...movedTables(m, moved)] : parts;
}
// What tasks add is small beside the shared part: a round factor makes it half as large, to be seen.
function magnification(shared, moved) {
  const most = greatest(moved.flatMap(task => task.map(Math.abs)));
  if (!(most > 0)) return 1;
  const factor = (greatest(shared) - least(shared)) / 2 / most, power = 10 ** Math.floor(Math.log10(factor));
  return Math.max(1, [5, 2, 1].find(digit => digit * power <= factor) * power);
}
const stripCaption = (name, times, moved) => !moved.length ? `${name}: shared; this norm has none of a task` :
  `${name}: shared, and of each task` + (times > 1 ? `; what a task adds is drawn ${times} times as large` : '');
// What the tasks add, by its sign and size, all tasks on one scale.
function ownMap(m, moved) {
  const rows = lettersOf(m), says = (t, i) => `${rows[t]} = ${number(moved[t][i])} (dimension ${i + 1})`;
  const most = greatest(moved.flatMap(task => task.map(Math.abs)));
  return heatMap({ key: `moved${m.index}`, caption: 'What each task adds: blue takes away, orange adds',
    palette: 'sign', low: -most, high: most, cell: 24, rows, columns: range(moved[0].length).map(i => String(i + 1)), labels: false,
    value: (t, i) => moved[t][i], row: Math.max(0, m.tasks.indexOf(m.task)), column: state.dimension - 1,
    choose: (_, i) => set({ dimension: i + 1 }), says });
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
  if (m.live) return 'Gradients are the program’s, of its own text: Reset in Compute leads back to them.';
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
// The squares of g and of θ, summed over each row and each cell of the picture.
function sumsOf(m) {
  const cells = new Map(), rows = new Map();
  for (const [parameter, g, theta] of m.gradients) {
    const [row, column] = placeOf(parameter);
    for (const [map, key] of [[cells, `${row}|${column}`], [rows, row]]) {
      const sums = map.get(key) ?? [0, 0];
      map.set(key, [sums[0] + g * g, sums[1] + theta * theta]);
    }
  }
  return { cells, rows };
}
const sizeOf = sums => !sums ? null : state.scale === 'ratio' ? Math.sqrt(sums[0] / (sums[1] || 1)) : Math.sqrt(sums[0]);
function gradientsView(m) {
  if (!m.gradients.length) return notice(noLabel(m));
  const { cells, rows } = sumsOf(m), size = sizeOf;
  const rowNames = [...rows.keys()], layers = rowNames.filter(name => name.startsWith('layer '));
  const columns = [...new Set(m.gradients.map(([p]) => placeOf(p)).filter(([row]) => layers.includes(row)).map(p => p[1]))];
  const what = state.scale === 'ratio' ? '|g| / |θ|' : '|g|', value = (r, c) => size(cells.get(`${layers[r]}|${columns[c]}`));
  const column = Math.max(0, Math.min(state.dimension - 1, columns.length - 1));
  return [el('p', {}, `Loss ${number(m.loss)} for the label “${m.label}” of ${m.task}.`), beside(
    el('figure', {}, el('figcaption', {}, `${what} of all parameters of each part`),
       bars(rowNames.map(name => [name, size(rows.get(name))]),
            greatest(models.flatMap(other => [...sumsOf(other).rows.values()].map(size))))),
    heatMap({ key: `gradients${m.index}`, caption: `${what}, by layer and module`, rows: layers, columns, value,
      ...extent(models.flatMap(other => [...sumsOf(other).cells].filter(([key]) => key.startsWith('layer ')).map(([, s]) => size(s))),
                'log'),
      row: state.layer - 1, column, choose: (r, c) => set({ layer: r + 1, dimension: c + 1 }),
      says: (r, c) => `${layers[r]} ${columns[c]}: ${what} ${number(value(r, c))}` })), ...stepTable(m)];
}
// What moves in a step of AdamW on this label, and in the next step, of another task.
function stepTable(m) {
  if (!m.steps) return [];
  const { steps, groups, rate } = m.steps;
  const why = (g, moved) => g === null ? 'no gradient: stays' : g > 0 ? 'moved by its gradient' :
    moved > 0 ? 'gradient 0: moved on by its moments' : 'gradient 0, moments 0: stays';
  const named = ({ task, label, text_b, loss }, k) => `Step ${k + 1}: ${task}, label “${label}”` +
    (text_b && text_b !== m.text_b ? ' (the text twice)' : '') + `, loss ${number(loss)}`;
  return [el('h3', {}, 'What a step of AdamW moves'),
    el('p', {}, `From moments 0, with the learning rate ${rate} and without weight decay, this text alone. `,
       `${steps.map(named).join('. ')}.`),
    table(['', 'numbers', ...steps.flatMap((_, k) => [`|g| ${k + 1}`, `|Δθ| ${k + 1}`, `step ${k + 1}`])],
      groups.map(({ name, numbers, gradient, moved }) => [name, String(numbers), ...steps.flatMap((_, k) =>
        [number(gradient[k]), number(moved[k]), why(gradient[k], moved[k])])]))];
}

function tapeView(m) {
  if (m.live) return notice('The tape is the program’s, of its own text: Reset in Compute leads back to it.');
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
      el('p', {}, 'Module ', el('code', {}, node.module || 'none'), el('br'), 'Formula ', el('code', {}, `${node.file}:${node.line}`),
         node.gradient === null ? null : [el('br'), `|dL/dy| ${number(node.gradient)}`]),
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
  return m.predictions.map(p => el('div', { class: p.task === m.task ? 'card chosen' : 'card' },
    el('h3', {}, `${p.task}: ${p.not_run ? `not run (${p.not_run})` : p.text}`),
    p.choices.length ? bars(p.choices, 1, percent) : null));
}

// ---- equations, in MathML ------------------------------------------------------------------------------------------

function math(text) {
  return new DOMParser().parseFromString(`<math display="block">${text}</math>`, 'text/html').body.firstChild;
}
const brackets = text => `<mrow><mo stretchy="false">(</mo>${text}<mo stretchy="false">)</mo></mrow>`;
const xhat = '<mfrac><mrow><mi>x</mi><mo>−</mo><mi>μ</mi></mrow>' +
  '<msqrt><mrow><msup><mi>σ</mi><mn>2</mn></msup><mo>+</mo><mi>ε</mi></mrow></msqrt></mfrac>';
const layerNorm = part => `<mi>y</mi><mo>=</mo>${xhat}<mo>⊙</mo>${part('γ')}<mo>+</mo>${part('β')}`;
const shared = letter => `<mi>${letter}</mi>`;
const withTask = letter => brackets(`${shared(letter)}<mo>+</mo><mi>λ</mi><msub>${shared(letter)}<mi>t</mi></msub>`);
const equations = {
  norm: () => layerNorm(models.some(conditional) ? withTask : shared),
  attention: () => '<mi>O</mi><mo>=</mo><mi>softmax</mi><mrow><mo>(</mo><mfrac>' +
    '<mrow><mi>Q</mi><msup><mi>K</mi><mi>⊤</mi></msup></mrow><msqrt><mi>d</mi></msqrt></mfrac><mo>)</mo></mrow><mi>V</mi>',
};

// ---- the page ------------------------------------------------------------------------------------------------------

const views = {
  words: { title: 'Word pieces', fields: ['token'], strip: true, of: wordsView,
    about: 'The tokenizer cuts a text into pieces of its vocabulary; the network sees their ids alone.',
    file: 'src/text/word_piece.cpp', question: 'Which words are cut, and do their pieces mean anything?' },
  attention: { title: 'Attention', fields: ['layer', 'head', 'token', 'measure'], strip: true, of: attentionView,
    choice: 'measure',
    about: 'Row i of a head is softmax(qᵢ·k / √d): what token i takes from each token. A large weight on a token with a ' +
      'small value |v| moves little.',
    equation: equations.attention, file: 'src/ops/attention.cpp',
    question: 'Where are the weights large, and weights × |v| small?' },
  layers: { title: 'Through the layers', fields: ['token', 'quantity'], strip: true, of: layersView,
    choice: 'quantity',
    about: 'The hidden state of each token after the embeddings and after every layer. The cosine is 1 while it points ' +
      'where it pointed at the start.',
    file: 'src/bert/layer.cpp', question: 'In which layer do the tokens become most alike?' },
  norms: { title: 'Norms', fields: ['norm', 'token', 'rows'], strip: true, of: normsView, choice: 'rows',
    about: 'A norm reads rows x (before) and writes y (after).',
    file: 'src/norm/hidden', question: 'Which dimension is largest before the norms, and is it the same in every layer?' },
  gains: { title: 'Gains', fields: ['norm', 'gain', 'dimension'], of: gainsView,
    choice: 'gain',
    about: 'What the norms learned. A conditional LayerNorm adds γ_t and β_t of its task to the shared γ and β.',
    file: 'src/norm/hidden/conditional_layer.cpp', question: 'Which two tasks moved in the same direction?' },
  gradients: { title: 'Gradients', fields: ['scale', 'layer'], of: gradientsView,
    choice: 'scale',
    about: 'One backward of the loss for this text and label: how long the gradient of each part is.',
    file: 'src/engine/autograd.cpp', question: 'Do gradients grow or shrink towards the embeddings?' },
  tape: { title: 'Tape', fields: ['node'], of: tapeView,
    about: 'Every operation of this forward, in its order; backward() walks it from its end. In the list, up and down step ' +
      'along the tape, left to the first input, right to the first reader.',
    file: 'include/minbert/autograd.h', question: 'Which results are read twice?' },
  compute: { title: 'Compute', fields: [], of: computeView, controls: computeControls,
    about: 'The network under the hand: another text or task, another λ, parts switched off. The other views follow.',
    equation: equations.norm, file: 'examples/inside/forward.js',
    question: 'At which λ does the prediction change, and which head does it need?' },
  predictions: { title: 'Predictions', fields: [], of: predictionsView,
    about: 'What each head says. With a conditional norm each task has a forward of its own.',
    file: 'src/train/heads.cpp', question: 'How sure is the model, and would you be?' },
};

let focusNext = null;                               // the data-key of the element that gets the focus

// The state is drawn whole, but for the controls of a view that is open already: an input under the hand stays.
function draw(what = 'results') {
  const focus = focusNext ?? document.activeElement?.dataset?.key, view = views[state.view];
  const stays = what === 'results' && view.controls && main.querySelector('#controls.' + state.view);
  focusNext = null;
  shade = shades();
  if (stays) {
    main.querySelector('#header').replaceWith(header());
    main.querySelector('#results').replaceWith(results(view));
  } else {
    main.replaceChildren(header(), tabs(),
      el('div', { id: 'view', role: 'tabpanel', 'aria-labelledby': 'tab-' + state.view },
        el('p', { class: 'about' }, view.about), equationOf(view),
        view.controls ? el('div', { id: 'controls', class: state.view }, view.controls()) : '', results(view),
        el('p', { class: 'question' }, view.question),
        el('p', { class: 'muted' }, 'Computed in ', el('code', {}, view.file), '.')),
      footer());
  }
  for (const list of document.querySelectorAll('.list'))     // the chosen operation is in sight
    list.scrollTop = (list.querySelector('[aria-pressed=true]')?.offsetTop ?? 0) - list.offsetTop - 120;
  if (focus && document.activeElement?.dataset?.key !== focus)
    document.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}
const equationOf = view => view.equation ? math(view.equation()) : '';
function results(view) {
  return el('div', { id: 'results' }, view.strip ? strip() : '', view.choice ? choices(view.choice) : '',
    modelParts(view));
}
function footer() {
  return el('footer', {}, models.map(m => el('p', {}, `${m.model}: ${m.layers} layers, ${m.heads} heads, ${m.hidden} dimensions, ` +
      (m.task ? `task ${m.task}` : 'without a task'))),
    el('p', {}, 'Layers, heads, tokens and dimensions count from 1; layer 1 is encoder.layer.0. Tab and the arrow keys reach ' +
       'all that the pointer does; the address holds the view.'));
}
function header() {
  const quoted = text => first.cut && text.length > 300 ? `“${text.slice(0, 300)}…”` : `“${text}”`;
  const texts = first.text_b ? `${quoted(first.text)} and ${quoted(first.text_b)}` : quoted(first.text);
  const task = first.task ? `, as ${first.task}` + (first.label ? `, labeled “${first.label}”` : '') : '';
  return el('div', { id: 'header' }, el('h1', {}, 'Inside BERT'), el('p', {}, texts, el('span', { class: 'muted' }, task)),
    models.some(m => m.cut) ? el('p', { class: 'notice' }, `The text is cut to its first ${T} tokens; --tokens takes more.`) : null,
    first.live ? el('p', { class: 'notice' }, ['Computed by this page', handSays()].filter(part => part).join(': '), '. ',
      el('button', { 'data-key': 'back', onclick: reset }, 'Reset')) : null);
}
function tabs() {
  const names = Object.keys(views), at = names.indexOf(state.view);
  const open = view => { focusNext = 'tab' + view; set({ view }); };
  return el('div', { class: 'tabs', role: 'tablist', onkeydown: event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) open(names[(at + step + names.length) % names.length]);
  } }, names.map(name => el('button', { role: 'tab', id: 'tab-' + name, 'aria-controls': 'view', 'data-key': 'tab' + name,
    'aria-selected': String(name === state.view), tabindex: name === state.view ? 0 : -1, onclick: () => open(name) },
    views[name].title)));
}
function strip() {
  if (state.view !== 'attention') return tokenStrip();
  const value = attentionValue(first, Math.min(state.layer, first.layers) - 1, Math.min(state.head, first.heads) - 1);
  const most = greatest(range(T).map(j => value(state.token - 1, j)));
  return tokenStrip(j => scales.root(value(state.token - 1, j), 0, most));
}
function modelPart(m, view) {
  return el('section', { class: 'model' },
    el('h2', { title: m.model }, m.model, el('span', { class: 'muted' }, ` (${m.norm}, ${m.placement})`)), view.of(m));
}
// Models side by side have their parts in the same rows.
function modelParts(view) {
  const parts = models.map(m => modelPart(m, view)), rows = greatest(parts.map(part => part.children.length));
  return el('div', { class: parts.length > 1 ? 'models two' : 'models', style: `--rows:${rows}` }, parts);
}

// ---- start ---------------------------------------------------------------------------------------------------------

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
addEventListener('hashchange', () => { clearTimeout(waiting); waiting = null; readHash(); draw('all'); });
// On paper stand all views, one after the other.
addEventListener('beforeprint', () => {
  const open = state.view;
  main.replaceChildren(header(), ...Object.entries(views).flatMap(([name, view]) => {
    state.view = name;
    return [el('h2', { class: 'printed' }, view.title), el('p', { class: 'about' }, view.about), equationOf(view),
      results(view)];
  }), footer());
  state.view = open;
});
addEventListener('afterprint', () => draw('all'));
readHash();
draw();
