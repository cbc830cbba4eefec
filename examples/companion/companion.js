// Ties the letters of a row: the one that is pointed at, touched or reached by Tab lights up wherever it stands in the row,
// and says what it is. The keys j and k go to the next row and back.
const word = document.getElementById('word');
const rows = [...document.querySelectorAll('section[id]')];

function tie(place) {
  document.querySelectorAll('.on').forEach(other => other.classList.remove('on'));
  word.hidden = !place;
  if (!place) return;
  const around = place.closest('section') ?? document;
  around.querySelectorAll(`[data-l="${place.dataset.l}"]`).forEach(other => other.classList.add('on'));
  const row = document.getElementById(`letter-${place.dataset.l}`), { left, top, bottom } = place.getBoundingClientRect();
  const [letter, is, shape, names] = [...row.cells].map(cell => cell.textContent);
  word.textContent = `${letter}: ${is}${shape && `, ${shape}`}${names && `; in code ${names}`}`;
  word.style.top = `${(top > word.offsetHeight + 16 ? top - word.offsetHeight - 8 : bottom + 8) + scrollY}px`;
  word.style.left = `${Math.max(8, Math.min(left, innerWidth - word.offsetWidth - 8)) + scrollX}px`;
}
const place = event => event.target.closest?.('[data-l]');
for (const type of ['mouseover', 'focusin', 'click']) document.addEventListener(type, event => tie(place(event)));
document.addEventListener('focusout', () => tie(null));

document.addEventListener('keydown', event => {
  if (event.key === 'Escape') tie(null);
  if (!'jk'.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = event.key === 'j' ? rows.find(row => row.getBoundingClientRect().top > 8)
    : rows.findLast(row => row.getBoundingClientRect().top < -8);
  if (next) location.hash = encodeURIComponent(next.id);
});

// The row in view, in the list of items
function mark() {
  const here = rows.findLast(row => row.getBoundingClientRect().top < innerHeight / 4) ?? rows[0];
  document.querySelectorAll('nav > a').forEach((link, i) => link.classList.toggle('here', rows[i] === here));
}
document.addEventListener('scroll', mark, { passive: true });
mark();
