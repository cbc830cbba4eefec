// The page of build/bin/inside tests itself: each view under each choice, the arrow keys, the
// address. tests/report/report_check.js runs this in the page, whose script's names it uses; its
// value is the list of what failed.
(() => {
  const failed = new Set(), all = selector => [...main.querySelectorAll(selector)];
  const check = (holds, what) => { if (!holds) failed.add(`${state.view}: ${what}`); };
  const find = key => main.querySelector(`[data-key="${key}"]`);
  const press = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const look = () => {
    check(document.documentElement.scrollWidth <= document.documentElement.clientWidth, 'wider than the window');
    check(all('.model').length === models.length, 'a model is missing');
    check(!/undefined|NaN|\[object/.test(main.innerText), 'a value is missing');
    check(all('button, canvas[tabindex]').every(e => e.textContent || e.ariaLabel), 'a control without a name');
    check(all('.readout').every(p => p.textContent), 'a picture that says nothing');
  };
  for (const view of Object.keys(views)) {
    find('tab' + view).click();
    writeAddress();
    check(state.view === view && location.hash === hashOf(), 'the address does not name it');
    for (const value of Object.keys(choicesOf[views[view].choice] ?? { '': '' })) {
      if (value) find(views[view].choice + value).click();
      for (const details of all('details')) details.open = true, details.dispatchEvent(new Event('toggle'));
      check(all('details').every(details => details.querySelector('td')), 'no numbers');
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
  set({ view: 'tape', node: 1 });
  for (let n = 2; n <= first.tape.length; ++n) press(main.querySelector('.list [aria-pressed=true]'), 'ArrowDown');
  check(state.node >= first.tape.length, 'the tape cannot be walked to its end');
  set({ view: 'attention', layer: 1, head: 1, measure: 'weights' });
  press(main.querySelector('.thumbs [aria-pressed=true]'), 'ArrowRight');
  check(state.head === Math.min(2, first.heads), 'the arrow keys do not change the head');
  for (const m of models)
    for (let row = 0; row < m.attention.length; row += T)
      check(Math.abs(m.attention.slice(row, row + T).reduce((a, b) => a + b, 0) - 1) < 0.005, 'a row does not sum to 1');
  return [...failed];
})()
