// Makes bpe-vocab.json, bpe-merges.txt, bpe.jsonl and bpe-classes.txt with Hugging Face's tokenizers 0.23.2:
//
//   npm install --prefix /some/folder tokenizers@0.23.2
//   NODE_PATH=/some/folder/node_modules node tests/golden/bpe.js
//
// The vocabulary is trained on the first lines of data/mini/corpus.txt. The npm package has no options for its trainer:
// it starts from the bytes of the text alone. So only its merges are taken, behind RoBERTa's special tokens and all
// 256 bytes. bpe.jsonl: {text, pair, ids}, ids with special tokens; pair may be null. bpe-classes.txt: the ranges of
// letters, numbers and white space among all code points, in hexadecimal.
const fs = require('fs');
const os = require('os');
const path = require('path');
const hf = require('tokenizers');

const special = ['<s>', '<pad>', '</s>', '<unk>', '<mask>'];
const size = 600;

function trained_merges() {
  const corpus = fs.readFileSync(path.join(__dirname, '../../data/mini/corpus.txt'));
  const lines = corpus.subarray(0, corpus.lastIndexOf('\n', 300000) + 1);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bpe-'));
  fs.writeFileSync(path.join(folder, 'text'), lines);
  const t = new hf.Tokenizer(hf.BPE.empty());
  t.setPreTokenizer(hf.byteLevelPreTokenizer(false));
  t.train([path.join(folder, 'text')]);
  t.save(path.join(folder, 'tokenizer.json'));
  const merges = JSON.parse(fs.readFileSync(path.join(folder, 'tokenizer.json'))).model.merges;
  fs.rmSync(folder, {recursive: true});
  return merges.map(m => Array.isArray(m) ? m : m.split(' '));
}

const texts = [
  '', ' ', '  ', 'Alice', ' Alice', 'Alice painted the hatchet because of the sun.', ' \t\n\r\n a  b   c \u3000\u3000d  ',
  "it's It'S can't CAN'T we're we'll he'd I'm they've 's'S 're'RE ''s '' s", "don\u2019t a's b 's  's",
  'ab12cd 12ab 1,234.50 \u00bd\u00b2\u2167 x\u00b2', '#the # ## ### $#! ... --- \u2014\u2026',
  'caf\u00e9 cafe\u0301 na\u00efve \u00dcber \u0416\u0443\u043a \u6771\u4eac \ud55c\uad6d \u0928\u092e\u0938\u094d\u0924\u0947 \u{1f600}\u{1f600} \ufffd',
  'a\u00a0b\u2003c\u2028d\u0085e\u180ef\u200bg\ufeffh\u000bi\u000cj\u001ck', 'end \n', 'end\n\n\nnew', '\n\n  x',
  'the <mask> sat', 'the<mask>sat', 'the \t\u3000<mask> <mask>', '<mask> <s> </s> <pad> <unk>', '<s>a</s> b<pad><pad>',
  '<Mask> < mask> <mask', '<<mask>> <s<s>>', ' <mask>', ' <s>', '\u00e9<mask>', '\u6771\u2003<mask>',
  'a'.repeat(300), 'the'.repeat(50), ' '.repeat(20) + 'x', '\u0000\u0001\u007f',
];
const pairs = [['Alice', 'Jonas painted'], ['Alice ', ' Jonas'], ['', 'x'], ['a <mask>', '<mask> b']];

// A character is of the class of those with which it makes one word.
function write_classes() {
  const words = hf.byteLevelPreTokenizer(false);
  const one_word = text => words.preTokenizeString(text).length === 1;
  const lines = [];
  let name = '', first = 0;
  for (let c = 0; c <= 0x110000; ++c) {
    const x = c < 0x110000 && (c < 0xD800 || c > 0xDFFF) ? String.fromCodePoint(c) : '!';
    const here = one_word('!' + x) ? '' : one_word('a' + x) ? 'letter' : one_word('1' + x) ? 'number' : 'space';
    if (here === name) continue;
    if (name) lines.push(`${name} ${first.toString(16)} ${(c - 1).toString(16)}`);
    [name, first] = [here, c];
  }
  fs.writeFileSync(path.join(__dirname, 'bpe-classes.txt'), lines.join('\n') + '\n');
}

async function main() {
  const alphabet = hf.byteLevelAlphabet().sort((a, b) => a.codePointAt(0) - b.codePointAt(0));
  const merges = trained_merges().slice(0, size - special.length - alphabet.length);
  const vocabulary = {};
  for (const token of [...special, ...alphabet, ...merges.map(m => m.join(''))]) {
    vocabulary[token] = Object.keys(vocabulary).length;
  }
  fs.writeFileSync(path.join(__dirname, 'bpe-vocab.json'), '{' +
    Object.entries(vocabulary).sort((a, b) => a[1] - b[1]).map(([t, id]) => `${JSON.stringify(t)}:${id}`).join(',') + '}');
  fs.writeFileSync(path.join(__dirname, 'bpe-merges.txt'),
    ['#version: 0.2', ...merges.map(m => m.join(' '))].join('\n') + '\n');

  const t = new hf.Tokenizer(await hf.BPE.fromFile(path.join(__dirname, 'bpe-vocab.json'),
    path.join(__dirname, 'bpe-merges.txt')));
  t.setPreTokenizer(hf.byteLevelPreTokenizer(false));
  t.addAddedTokens(special.map(name =>
    new hf.AddedToken(name, true, {normalized: false, leftStrip: name === '<mask>'})));
  t.setPostProcessor(hf.robertaProcessing(['</s>', 2], ['<s>', 0], false, false));
  const rows = [];
  for (const [text, pair] of [...texts.map(text => [text, null]), ...pairs]) {
    rows.push({text, pair, ids: (await t.encode(text, pair)).getIds()});
  }
  fs.writeFileSync(path.join(__dirname, 'bpe.jsonl'), rows.map(row => JSON.stringify(row)).join('\n') + '\n');
}
main();
write_classes();
