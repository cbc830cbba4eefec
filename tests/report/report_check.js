// Opens pages in headless Chromium, 400 and 1600 pixels wide, light and dark. Fails where a page is wider than the
// window, reports an error, asks for another file, has a link without a target or a picture without a name; of a page
// whose name ends in #selftest, also where tests/inside/self_test.js finds a fault. With a FOLDER, it leaves a picture
// of each there:
//
//   node tests/report/report_check.js [--pictures FOLDER] runs/NAME/report.html inside.html#selftest ...
//
// It talks to Chromium by the DevTools protocol through a pipe: messages are JSON, each ended by a zero byte.
const { existsSync, readFileSync, writeFileSync } = require('fs'), { resolve, basename, dirname } = require('path');
const { pathToFileURL } = require('url'), { spawn } = require('child_process');

const pages = process.argv.slice(2), folder = pages[0] === '--pictures' ? pages.splice(0, 2)[1] : null;
const selfTest = readFileSync(`${__dirname}/../inside/self_test.js`, 'utf8');
const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!program) {
  console.log('report pages: not run (Chromium is not installed)');
  process.exit(0);
}
const chromium = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe'],
                       { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const answers = new Map();
let count = 0, unread = '', heard = () => {};
chromium.stdio[4].on('data', bytes => {
  const messages = (unread + bytes).split('\0');
  unread = messages.pop();
  for (const message of messages.map(JSON.parse)) answers.get(message.id)?.(message) ?? heard(message);
});
const ask = (sessionId, method, params = {}) => new Promise((done, failed) => {
  answers.set(++count, ({ error, result }) => error ? failed(Error(`${method}: ${error.message}`)) : done(result));
  chromium.stdio[3].write(JSON.stringify({ id: count, sessionId, method, params }) + '\0');
});

// Runs in the page.
function faults() {
  const { scrollWidth, clientWidth } = document.documentElement;
  const all = selector => [...document.querySelectorAll(selector)];
  const lost = all('a[href^="#"]').map(a => a.hash)
    .filter(hash => !document.getElementById(decodeURIComponent(hash.slice(1))));
  const nameless = all('svg').filter(svg => svg.getAttribute('role') === 'img' &&
    !(svg.getAttribute('aria-label') || svg.querySelector('title')?.textContent));
  return [...lost.map(hash => `the link ${hash} leads nowhere`),
    ...all('figure svg:not([role=img])').map(() => 'a picture has no role'),
    ...nameless.map(() => 'a picture has no name'),
    ...scrollWidth > clientWidth ? [`the page is ${scrollWidth} pixels wide`] : []];
}

async function check(page, width, scheme) {
  const { targetId } = await ask(undefined, 'Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await ask(undefined, 'Target.attachToTarget', { targetId, flatten: true });
  const tell = (method, params) => ask(sessionId, method, params), found = [], [file, view] = page.split('#');
  const address = pathToFileURL(resolve(file)).href;
  const loaded = new Promise(done => heard = ({ method, params }) => {
    if (method === 'Page.loadEventFired') done();
    if (method === 'Log.entryAdded') found.push(`${params.entry.level}: ${params.entry.text}`);
    if (method === 'Runtime.exceptionThrown') found.push(params.exceptionDetails.text);
    if (method === 'Network.requestWillBeSent' && params.request.url !== address) found.push(`asks for ${params.request.url}`);
  });
  for (const domain of ['Page', 'Log', 'Runtime', 'Network']) await tell(`${domain}.enable`);
  await tell('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
  await tell('Emulation.setScrollbarsHidden', { hidden: true });
  await tell('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  const { errorText } = await tell('Page.navigate', { url: view ? `${address}#${view}` : address });
  if (errorText) return [`${page}: ${errorText}`];
  await loaded;
  for (const expression of [`(${faults})()`, ...view === 'selftest' ? [selfTest] : []]) {
    const { result, exceptionDetails } =
      await tell('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    found.push(...exceptionDetails ? [exceptionDetails.exception.description] : result.value);
  }
  if (folder) {
    const { data } = await tell('Page.captureScreenshot', { captureBeyondViewport: true });
    const name = [basename(file, '.html'), view?.replaceAll('/', '-'), width, scheme].filter(part => part).join('-');
    writeFileSync(`${folder}/${name}.png`, Buffer.from(data, 'base64'));
  }
  await ask(undefined, 'Target.closeTarget', { targetId });
  return found.map(fault => `${page}, ${width} pixels, ${scheme}: ${fault}`);
}

// The links of a page to other files, of which each and its place are there.
function lostFiles(page) {
  const links = [...readFileSync(page, 'utf8').matchAll(/<a [^>]*?href="([^"#:]+)(?:#([^"]+))?"/g)];
  return links.filter(([, file, place]) => {
    const target = resolve(dirname(page), decodeURIComponent(file));
    return !existsSync(target) || place && !readFileSync(target, 'utf8').includes(` id="${decodeURIComponent(place)}"`);
  }).map(([, file, place]) => `${page}: the link ${file}${place ? `#${place}` : ''} leads nowhere`);
}

(async () => {
  const found = pages.flatMap(page => lostFiles(page.split('#')[0]));
  for (const page of pages)
    for (const width of [400, 1600])
      for (const scheme of ['light', 'dark']) found.push(...await check(page, width, scheme));
  for (const fault of found) console.log(fault);
  console.log(`report pages: ${pages.length} checked, ${found.length} faults`);
  process.exitCode = found.length ? 1 : 0;
})().catch(error => { console.log(error.message); process.exitCode = 1; }).finally(() => chromium.kill());
