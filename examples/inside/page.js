// The page of build/bin/inside, after forward.js, word_piece.js, compute.js and views.js. Each view is a function of a
// model and the state; the state is the address's hash, so that a link leads to a view. Whatever changes the state draws
// the view anew. Texts become text nodes, never markup.

const measured = JSON.parse(document.getElementById('data').textContent);    // by the program
const main = document.querySelector('main');
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
const percent = x => Number.isFinite(x) ? (100 * x).toFixed(1) + '%' : '–';

// "bert.encoder.layer.3.attention.output.LayerNorm": "layer 4 attention.output.LayerNorm"
const short = module => module.replace(/^bert\./, '').replace(/^encoder\.layer\.(\d+)\.?/, (_, n) => `layer ${+n + 1} `);
const normName = module => short(module).replace('attention.output.LayerNorm', 'attention')
  .replace('output.LayerNorm', 'output').replace('.LayerNorm', '').trim();

for (const m of measured) {
  m.gradients = m.gradients.map(([parameter, g, theta]) => [...placeOf(parameter), g, theta]);
  m.predictions.push(...maskedWords(m, m, places => places.map(i => m.lens.words.at(-1)[i])));
}

// ---- state ---------------------------------------------------------------------------------------------------------

const state = { view: 'words', token: 1, layer: 1, head: 1, other: 1, measure: 'weights', quantity: 'start', norm: 1,
                rows: 'variance-before', gain: 'weight', dimension: 1, module: 1, scale: 'gradient', node: 1, recorded: '0',
                step: 1 };
const limits = { token: T, other: T, layer: Math.max(...models.map(m => m.layers)), norm: 999, dimension: 99999,
                 module: 99, head: Math.max(...models.map(m => m.heads)), node: Math.max(...models.map(m => m.tape.length)),
                 step: first.recorded?.columns.length ?? 1 };
let hand = startOf(first);                          // what Compute changes: the text, λ, ...

const hashOf = () => '#' + [state.view, ...views[state.view].fields.map(field => state[field]),
                            ...views[state.view].hand ? handPath() : []].join('/');
const decoded = part => { try { return decodeURIComponent(part); } catch { return part; } };
function readHash() {
  const [view, ...values] = location.hash.slice(1).split('/').map(decoded);
  if (!Object.hasOwn(views, view)) return;
  state.view = view;
  if (views[view].hand) readHand(values.slice(views[view].fields.length));
  compute();
  views[view].fields.forEach((field, i) => {
    if (!values[i]) return;
    if (typeof state[field] !== 'number') { if (Object.hasOwn(choicesOf[field], values[i])) state[field] = values[i]; }
    else if (Number.isInteger(+values[i])) state[field] = clamp(+values[i], 1, limits[field]);
  });
}
function set(changes, what) {
  Object.assign(state, changes);
  for (const field in limits) state[field] = clamp(state[field], 1, limits[field]);
  waiting ??= setTimeout(writeAddress, 200);        // browsers refuse an address for every key of a held arrow
  draw(what);
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
// The elements of SVG and MathML have namespaces, whose names the parser knows.
const namespaceOf = tag => new DOMParser().parseFromString(`<${tag}>`, 'text/html').body.firstChild.namespaceURI;
const svgNamespace = namespaceOf('svg'), mathNamespace = namespaceOf('math');
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(svgNamespace, tag), attributes, children);
const math = (tag, ...children) => fill(document.createElementNS(mathNamespace, tag), {}, children);
const beside = (...parts) => el('div', { class: 'beside' }, parts.map(part => el('div', {}, part)));
// Beside each other while there is room for a column of each token
const isLong = () => T > 32;
const withTokens = (...parts) => isLong() ? el('div', {}, parts) : beside(...parts);

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

// A matrix as a picture. rows, columns: names; value(r, c); fields: those of the state that say which row and which column
// is chosen, from: the number of the first column; says(r, c): a sentence. The arrow keys move the chosen cell; the line
// below says what the pointer or the choice is on.
function heatMap({ key, caption, rows, columns, value, fields: [down, across], from = 1, row = down ? state[down] - 1 : 0,
                   what = '', says, scale = 'linear', low, high, labels = true, palette = 'size' }) {
  const R = rows.length, C = columns.length, column = Math.min(state[across] - from, C - 1), cell = R > 32 ? 13 : 18;
  const ends = extent(rows.flatMap((_, r) => columns.map((_, c) => value(r, c))), scale);
  low ??= ends.low;
  high ??= ends.high;
  const place = x => scales[scale](x, low, high);
  row = Math.min(row, R - 1);
  const choose = (r, c) => set({ ...down && { [down]: r + 1 }, [across]: c + from });
  const nameOf = (field, names, i) => field === 'token' ? tokenName(i) : field === 'dimension' ? `dimension ${i + 1}` : names[i];
  says ??= (r, c) => `${nameOf(down, rows, r)}, ${nameOf(across, columns, c)}:${what && ` ${what}`} ${number(value(r, c))}`;
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
const tokenStyle = t => !Number.isFinite(t) ? null : `background:${css(t)};color:${ink(t)}`;
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
  [el('span', {}, name), el('div', {}, el('i', { style: `width:${100 * Math.abs(x) / (most || 1)}%` }),
    marks[i] === undefined ? null : el('b', { style: `left:${100 * marks[i] / (most || 1)}%` })),
   el('span', {}, says(x))]));

// ---- equations -----------------------------------------------------------------------------------------------------

// A formula as one types it, "y = (x-μ)/√(σ²+ε)⊙γ+β", in MathML; one that is written otherwise, as it is. A letter may
// have a hat, ², ⊤ and a subscript after _; √ and / take a letter or what stands in parentheses, which they then need no
// more; what stands side by side is a product.
function typeset(text) {
  const tokens = text.match(/[A-Za-z]{2,}|\p{L}\p{M}?|[\d.]+|\S/gu) ?? [];
  const next = (...wanted) => wanted.includes(tokens[0]) ? tokens.shift() : undefined;
  const name = () => math(/\d/.test(tokens[0]) ? 'mn' : 'mi', tokens.shift() ?? '');
  const bare = x => x.inside ?? x;                  // without its parentheses
  function factor() {
    if (next('√')) return math('msqrt', bare(factor()));
    if (next('(')) {
      const inside = list();
      next(')');
      return Object.assign(math('mrow', math('mo', '('), inside, math('mo', ')')), { inside });
    }
    let x = name();
    for (let after; (after = next('²', '⊤', '_'));)
      x = after === '_' ? math('msub', x, name()) : math('msup', x, math('mi', after === '²' ? '2' : after));
    return x;
  }
  function product() {
    let x = factor();
    for (;;)
      if (next('/')) x = math('mfrac', bare(x), bare(factor()));
      else if (next('⊙')) x = math('mrow', x, math('mo', '⊙'), factor());
      else if (tokens[0] === '(') x = math('mrow', x, factor());
      else if (/^[\p{L}\d√]/u.test(tokens[0] ?? '')) x = math('mrow', x, math('mtext', '\u2009'), factor());
      else return x;
  }
  function list() {
    const parts = [product()];
    for (let between; (between = next('+', '-', '=', ','));) parts.push(math('mo', between.replace('-', '−')), product());
    return math('mrow', ...parts);
  }
  const whole = math('math', list());
  whole.setAttribute('display', 'block');
  return tokens.length ? el('p', {}, text) : el('div', { class: 'scroll' }, whole);
}
const layerNorm = (gain, bias) => `y = (x-μ)/√(σ²+ε) ⊙ ${gain} + ${bias}`;

// ---- the sources ---------------------------------------------------------------------------------------------------

let codeOpen = false;                               // as it was opened last
// Code, in which a tag as [CLN eq.4] leads to its row of the documents' pages, where these are
const documents = { CLN: 'cln', TA: 'task-adaptation', IsoBN: 'isobn', 'LN-PEFT': 'lnpeft', NT: 'transformer-norms' };
const tagged = text => text.split(/(\[[A-Z][A-Za-z-]+ [^\]]+\])/).map(part => {
  const [, key, item] = part.match(/^\[([\w-]+) (\w+(?:\.\w+)*)/) ?? [];
  return documents[key] && measured[0].papers
    ? el('a', { href: `${measured[0].papers}/${documents[key]}.html#${item}` }, part) : part;
});
// Lines of the sources, to be opened
function quoted({ file, line, text }) {
  if (!text) return el('p', { class: 'muted' }, el('code', {}, file));
  return el('details', { class: 'source', open: codeOpen, ontoggle: event => { codeOpen = event.target.open; } },
    el('summary', {}, el('code', {}, `${file}:${line}`)), el('pre', { class: 'scroll', tabindex: 0 }, el('code', {}, tagged(text))));
}
// What computes a view, of all models: their norms may differ.
function sourcesOf(view) {
  const all = new Map(measured.flatMap(m => m.code[view] ?? []).map(quote => [quote.file + quote.line, quote]));
  return all.size ? el('div', { class: 'muted' }, 'Computed in ', [...all.values()].map(quoted)) : '';
}

// ---- the page ------------------------------------------------------------------------------------------------------

const views = {
  words: { title: 'Word pieces', fields: ['token'], strip: true, of: wordsView,
    about: 'The tokenizer cuts a text into pieces of its vocabulary; the network sees their ids alone.',
    question: 'Which words are cut, and do their pieces mean anything?' },
  attention: { title: 'Attention', fields: ['layer', 'head', 'token', 'measure'], strip: true, of: attentionView,
    choice: 'measure',
    about: 'Row i of a head’s softmax is what token i takes from each token. A large weight on a token with a small ' +
      'value |v| moves little.',
    equation: () => 'O = softmax(Q K⊤/√d) V',
    question: 'Where are the weights large, and weights × |v| small?' },
  layers: { title: 'Through the layers', fields: ['token', 'quantity'], strip: true, of: layersView,
    choice: 'quantity',
    about: 'The hidden state of each token after the embeddings and after every layer. The cosine is 1 while it points ' +
      'where it pointed at the start.',
    equation: () => models.some(m => m.placement !== 'post') ? '' : 'a = Norm(x + A(x)), y = Norm(a + F(a))',
    question: 'In which layer do the tokens become most alike?' },
  lens: { title: 'Logit lens', fields: ['token'], strip: true, of: lensView,
    about: 'What the head that pre-training taught to guess masked words says of each hidden state. It was taught the last ' +
      'layer’s. Fine-tuning keeps it as it was.',
    question: 'From which layer on does the last layer’s word stand first?' },
  norms: { title: 'Norms', fields: ['norm', 'token', 'rows'], strip: true, of: normsView, choice: 'rows',
    about: 'A norm reads rows x (before) and writes y (after).',
    question: 'Which dimension is largest before the norms, and is it the same in every layer?' },
  gains: { title: 'Gains', fields: ['norm', 'gain', 'dimension'], of: gainsView,
    choice: 'gain',
    about: 'What the norms learned. A conditional LayerNorm adds γ_t and β_t of its task to the shared γ and β.',
    question: 'Which two tasks moved in the same direction?' },
  gradients: { title: 'Gradients', fields: ['scale', 'layer', 'module'], of: gradientsView,
    choice: 'scale',
    about: 'One backward of the loss for this text and label: how long the gradient of each part is.',
    question: 'Do gradients grow or shrink towards the embeddings?' },
  tape: { title: 'Tape', fields: ['node'], of: tapeView,
    about: 'Every operation of this forward, in its order; backward() walks it from its end. In the list, up and down step ' +
      'along the tape, left to the first input, right to the first reader.',
    question: 'Which results are read twice?' },
  compute: { title: 'Compute', fields: [], hand: true, of: computeView, controls: computeControls,
    about: 'The network under the hand: another text or task, another λ, parts switched off. The other views follow.',
    equation: () => models.some(conditional) ? layerNorm('(γ + λγ_t)', '(β + λβ_t)') : layerNorm('γ', 'β'),
    question: 'At which λ does the prediction change, and which head does it need?' },
  difference: { title: 'Difference', fields: ['layer', 'head', 'token'], hand: true, strip: true,
    whole: true, of: differenceView,
    about: 'How far two models are from each other at one text; or a model from itself as it was trained, when Compute ' +
      'moves λ or switches something off.',
    question: 'Where does the difference begin, and which heads show it first?' },
  learning: { title: 'Learning', fields: ['recorded', 'step', 'norm'], whole: true, choice: 'recorded', of: learningView,
    about: 'What the run measured of its norms while it learned (--record): |dL/dx| of a norm’s input x, the mean and ' +
      'deviation of x, how far γ has moved, how long γ_t is; of [CLS] the share of saturated numbers and EV_k.',
    question: 'Which norm moves first, and in whose steps?' },
  predictions: { title: 'Predictions', fields: [], of: predictionsView,
    about: 'What each head says. With a conditional norm each task has a forward of its own.',
    question: 'How sure is the model, and would you be?' },
};

if (first.recorded) choicesOf.recorded = Object.fromEntries(first.recorded.of.map((quantity, i) => [i, quantity.what]));
else delete views.learning;

let focusNext = null;                               // the data-key of the element that gets the focus
let onPaper = false;

// The state is drawn whole, but for the controls of a view that is open already: an input under the hand stays.
function draw(what = 'results') {
  const focus = focusNext ?? document.activeElement?.dataset?.key, view = views[state.view];
  const stays = what === 'results' && view.controls && main.querySelector('#controls.' + state.view);
  focusNext = null;
  shade = shades();
  if (onPaper) {
    main.replaceChildren(...paper());
  } else if (stays) {
    main.querySelector('#header').replaceWith(header());
    main.querySelector('#results').replaceWith(results(view));
    main.querySelector('footer').replaceWith(footer());
  } else {
    main.replaceChildren(header(), tabs(),
      el('div', { id: 'view', role: 'tabpanel', 'aria-labelledby': 'tab-' + state.view },
        el('p', { class: 'about' }, view.about), equationOf(view),
        view.controls ? el('div', { id: 'controls', class: state.view }, view.controls()) : '', results(view),
        el('p', { class: 'question' }, view.question), sourcesOf(state.view)),
      footer());
  }
  for (const list of document.querySelectorAll('.list'))     // the chosen operation is in sight
    list.scrollTop = (list.querySelector('[aria-pressed=true]')?.offsetTop ?? 0) - list.offsetTop - 120;
  if (focus && document.activeElement?.dataset?.key !== focus)
    document.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}
const equationOf = view => view.equation?.() ? typeset(view.equation()) : '';
function results(view) {
  return el('div', { id: 'results' }, view.strip ? strip() : '', view.choice ? choices(view.choice) : '',
    view.whole ? view.of() : modelParts(view));
}
// On paper stand all views, one after the other.
function paper() {
  const open = state.view, parts = Object.entries(views).flatMap(([name, view]) => {
    state.view = name;
    return [el('h2', { class: 'printed' }, view.title), el('p', { class: 'about' }, view.about), equationOf(view),
      results(view)];
  });
  state.view = open;
  return [header(), ...parts, footer()];
}
function footer() {
  return el('footer', {}, models.map(m => el('p', {}, `${m.model}: ${m.layers} layers, ${m.heads} heads, ${m.hidden} dimensions, ` +
      (m.task ? `task ${m.task}` : 'without a task'))),
    el('p', {}, 'Layers, heads, tokens and dimensions count from 1; layer 1 is encoder.layer.0. Tab and the arrow keys reach ' +
       'all that the pointer does; the address holds the view.'));
}
function header() {
  const shown = text => first.cut && text.length > 300 ? `“${text.slice(0, 300)}…”` : `“${text}”`;
  const texts = first.text_b ? `${shown(first.text)} and ${shown(first.text_b)}` : shown(first.text);
  const task = first.task ? `, as ${first.task}` + (first.label ? `, labeled “${first.label}”` : '') : '';
  return el('div', { id: 'header' }, el('h1', {}, 'Inside BERT'), el('p', {}, texts, el('span', { class: 'muted' }, task)),
    models.some(m => m.cut) ? el('p', { class: 'notice' }, `The text is cut to its first ${T} tokens; --tokens takes more.`) : null,
    first.live ? el('p', { class: 'notice' }, ['Computed by this page', handSays()].filter(part => part).join(': '), '. ',
      el('button', { 'data-key': 'reset', onclick: reset }, 'Reset')) : null);
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
    el('h2', {}, m.model, el('span', { class: 'muted' }, ` (${m.norm}, ${m.placement})`)), view.of(m));
}
// Models side by side have their parts in the same rows.
function modelParts(view) {
  const parts = models.map(m => modelPart(m, view)), rows = greatest(parts.map(part => part.children.length));
  return el('div', { class: parts.length > 1 ? 'models two' : 'models', style: `--rows:${rows}` }, parts);
}

// ---- start ---------------------------------------------------------------------------------------------------------

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
addEventListener('hashchange', () => { clearTimeout(waiting); waiting = null; readHash(); draw('all'); });
// A dark page becomes light between these two, and is drawn again.
addEventListener('beforeprint', () => { onPaper = true; draw(); });
addEventListener('afterprint', () => { onPaper = false; draw('all'); });
readHash();
draw();
