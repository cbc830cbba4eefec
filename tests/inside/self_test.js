// The page of build/bin/inside tests itself: each view under each choice, the arrow keys, the address; what it computes
// beside the program's numbers, and under the hand. tests/report/report_check.js runs this in the page, whose script's
// names it uses; its value is the list of what failed.
(async () => {
  const failed = new Set(), all = selector => [...main.querySelectorAll(selector)];
  const check = (holds, what) => { if (!holds) failed.add(`${state.view}: ${what}`); };
  const find = key => main.querySelector(`[data-key="${key}"]`);
  const press = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const far = (a, b) => a.length === b.length ? greatest(a.map((x, i) => Math.abs(x - b[i]))) : Infinity;
  const look = () => {
    check(document.documentElement.scrollWidth <= document.documentElement.clientWidth, 'wider than the window');
    const whole = views[state.view].whole;
    check(whole || all('.model').length === models.length, 'a model is missing');
    check(all('math').length === 0 || all('math').every(m => !/[_√]/.test(m.textContent)), 'an equation is not typeset');
    for (const source of all('.source')) check(source.querySelector('code').textContent.match(/:\d+$/) &&
      source.querySelector('pre').textContent.includes('{'), `${source.textContent.slice(0, 40)} quotes nothing`);
    check(!/undefined|NaN|\[object/.test(main.innerText), 'a value is missing');
    check(all('button, canvas[tabindex], input, select').every(e => e.textContent || e.ariaLabel || e.labels?.length),
          'a control without a name');
    check(all('.readout').every(p => p.textContent), 'a picture that says nothing');
  };
  const visitAll = () => {
    for (const view of Object.keys(views)) {
      find('tab' + view).click();
      writeAddress();
      check(state.view === view && location.hash === hashOf(), 'the address does not name it');
      for (const value of Object.keys(choicesOf[views[view].choice] ?? { '': '' })) {
        if (value) find(views[view].choice + value).click();
        for (const details of all('details')) details.open = true, details.dispatchEvent(new Event('toggle'));
        check(all('details:not(.source)').every(details => details.querySelector('td')), 'no numbers');
        look();
      }
      all('.choices button')[0]?.click();
      for (const key of all('canvas[tabindex]').map(c => c.dataset.key))
        for (const arrow of ['ArrowDown', 'ArrowRight', 'ArrowUp', 'ArrowLeft']) {
          find(key).focus();
          press(find(key), arrow);
          check(document.activeElement.dataset.key === key, `${key} loses the focus`);
        }
    }
  };
  visitAll();
  for (const view of ['norms', 'gradients']) {        // two models beside each other: the same rows, the same scale
    set({ view });
    const ofFirst = selector => all('.model').map(m => m.querySelector(selector)?.innerText).filter(text => text);
    for (const what of ['.map .rows', '.legend'])
      check(new Set(ofFirst(what)).size <= 1, `${what} differs: ${ofFirst(what).join(' | ')}`);
  }
  set({ view: 'tape', node: 1 });
  for (let n = 2; n <= first.tape.length; ++n) press(main.querySelector('.list [aria-pressed=true]'), 'ArrowDown');
  check(state.node >= first.tape.length, 'the tape cannot be walked to its end');
  set({ view: 'attention', layer: 1, head: 1, measure: 'weights' });
  press(main.querySelector('.thumbs [aria-pressed=true]'), 'ArrowRight');
  check(state.head === Math.min(2, first.heads), 'the arrow keys do not change the head');
  set({ token: 1 });
  check(all('.token[tabindex="0"]').length === 1, 'the tokens are more than one stop of Tab');
  press(main.querySelector('.token[aria-pressed=true]'), 'ArrowRight');
  check(state.token === 2 && document.activeElement.dataset.key === 'token1', 'the arrow keys do not change the token');
  dispatchEvent(new Event('beforeprint'));
  draw();                                           // as when a dark page becomes light for the printer
  check(all('.printed').length === Object.keys(views).length, 'a view is not on paper');
  check(all('.models').every(part => part.querySelector('table, canvas, svg, .notice, .bars, .about')), 'a view is empty on paper');
  dispatchEvent(new Event('afterprint'));
  check(all('.printed').length === 0 && all('.tabs').length === 1, 'the page does not come back after printing');
  for (const m of models)
    for (let row = 0; row < m.attention.length; row += T)
      check(Math.abs(m.attention.slice(row, row + T).reduce((a, b) => a + b, 0) - 1) < 0.005, 'a row does not sum to 1');
  if (notComputed()) return [...failed];

  // What the page computes is what the program computed.
  set({ view: 'compute' });
  for (const m of measured) {
    check(differenceFrom(m) < 1e-4, `hidden states differ by ${differenceFrom(m)}`);
    const h = startOf(m), ours = computed(m, h).predictions;
    check(batchOf(m, h, taskOf(m, m.task)).ids.join() === m.ids.join(), 'the text is cut into other pieces');
    const masks = m.ids.filter(id => id === m.mask).length;
    check(ours.length === m.predictions.length && ours.length === m.carried.tasks.length + masks, 'a prediction is missing');
    const shares = p => p.choices.map(([, share]) => share);
    for (const [i, p] of m.predictions.entries())
      check(ours[i].text === (p.text ?? '') && far([0, ...shares(ours[i])], [0, ...shares(p)]) < 1e-4,
            `it predicts ${ours[i].text} in place of ${p.text}`);
    const said = computed(m, h).lens.words, likeliest = state => state.map(ten => ten[0]);
    for (const [s, state] of m.lens.words.entries())
      check(far(likeliest(said[s]).map(([, p]) => p), likeliest(state).map(([, p]) => p)) < 1e-4,
            `the lens differs at ${m.states[s].name}`);
  }

  // The hand moves as a pointer and keys would; the views follow.
  const settled = () => new Promise(done => setTimeout(done, 50));
  const change = async (key, value, event) => {
    find(key).value = value;
    find(key).dispatchEvent(new Event(event));
    await settled();
  };
  const click = async key => { find(key).click(); await settled(); };
  const lastStates = () => first.states.at(-1).length;
  find('text').focus();
  await change('text', 'A film that is good.', 'input');
  check(first.live && first.text === 'A film that is good.' && T === first.pieces.length, 'another text is not computed');
  check(document.activeElement.dataset.key === 'text', 'the text loses the focus while one types');
  const typed = lastStates();
  if (conditional(first) && first.task) {
    await change('lambda', 0, 'input');
    const plain = lastStates();
    check(far(plain, typed) > 1e-4, 'λ changes nothing');
    await change('task', '', 'change');
    check(far(plain, lastStates()) < 1e-9, 'λ = 0 is not LayerNorm without a task');
    await change('task', measured[0].task, 'change');
    await click('lambda1');
    check(far(typed, lastStates()) < 1e-9, 'λ = 1 is not the model as trained');
    const t = first.tasks.indexOf(first.task), other = (t + 1) % first.tasks.length;
    if (other !== t) {
      await change(`taken${t}`, other, 'change');
      check(hand.taken[t] === other && hand.taken[other] === t, 'two tasks do not swap what they add');
      check(far(typed, lastStates()) > 1e-4, 'another task’s γ_t changes nothing');
      await change(`taken${t}`, t, 'change');
      check(far(typed, lastStates()) < 1e-9, 'swapping twice is not as before');
    }
  }
  for (const { name } of switches(first).flat()) {
    await click(`off0${name}`);
    check(far(typed, lastStates()) > 1e-6, `${name} off changes nothing`);
    check(find(`off0${name}`).ariaPressed === 'false', `${name} does not show that it is off`);
    await click(`off0${name}`);
    check(far(typed, lastStates()) < 1e-9, `${name} on again is not as before`);
  }
  const difference = () => {
    find('tabdifference').click();
    const says = find('apart')?.closest('figure').querySelector('.readout').textContent ?? '';
    find('tabcompute').click();
    return says;
  };
  if (models.length === 1) check(/: 0$/.test(difference()), `as trained differs from as trained: ${difference()}`);
  await click('off0bert.encoder.layer.0');
  check(/: [0-9.]+$/.test(difference()) && !/: 0$/.test(difference()), `no difference: ${difference()}`);
  writeAddress();
  const address = location.hash, moved = lastStates();
  visitAll();
  find('tabcompute').click();
  await click('reset');
  check(!first.live && models === measured, 'Reset does not lead back');
  writeAddress();                                   // nothing waits that would write it later
  location.hash = address;
  await settled();
  check(far(moved, lastStates()) < 1e-9, 'the address does not lead to the same numbers');
  reset();
  return [...failed];
})()
