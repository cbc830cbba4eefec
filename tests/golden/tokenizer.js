// Makes tokenizer-vocab.txt, tokenizer.jsonl and tokenizer-pairs.jsonl with Hugging Face's tokenizers 0.23.2:
//
//   npm install --prefix /some/folder tokenizers@0.23.2
//   NODE_PATH=/some/folder/node_modules node tests/golden/tokenizer.js
//
// tokenizer.jsonl: {text, uncased, cased}, ids without special tokens. tokenizer-pairs.jsonl: {a, b,
// max_length, ids, segments}, with special tokens, longest_first (the default); a and b are so many times
// "x". One vocabulary serves both cases.
const fs = require('fs');
const path = require('path');
const hf = require('tokenizers');

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const words = `
  the of and to in is it was for a on as The In It I he she not cat dog cats dogs sat mat un able
  play running normal layer Layer norm cafe café naive naïve Zurich Zürich resume résumé uber Über
  strasse straße ein kosten Kosten москва Москва αθηνα Αθηνα Αθήνα σοφος σοφός 東 京 大 学 漢 字 한국 ᄒ ᅡ
  ᆫ ᄀ ᅮ ᆨ तमल नमस्त ์ สวัสดี สวสด 😀 don isn can s t re ve ll 2018 19 20 000 km fi ﬁ ½ ² i İ ı K k
  Å å ° ™ € £ … “ ” ‘ ’ — – ¿ ¡ 、 。 「 」 ！ ？ の 豈 丽 \u{2b820} é ё ·`.trim();
const pieces = `
  ##s ##ed ##ing ##able ##aff ##ff ##ization ##ize ##d ##ly ##er ##est ##ness ##é ##e ##ü ##u ##ö
  ##o ##ß ##ss ##ван ##на ##ς ##σ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##국 ##े ##त ##ी ##ा ##य ##18 ##000 ##́ ##🙂
  ##〮 ##〯 ##ﬁ ##² ##😀 ##\u{2b920} ##\u{1d165} ##αν`.trim();
const range = (first, last) =>
  Array.from({length: last - first + 1}, (_, i) => String.fromCodePoint(first + i));
const ascii = range(0x21, 0x7e);
const letters = ascii.filter(c => /[a-zA-Z0-9]/.test(c) && !'qQ'.includes(c));
const vocabulary = [...new Set([...special, ...ascii.filter(c => !'qQ^'.includes(c)),
  ...letters.map(c => '##' + c), ...words.split(/\s+/), ...pieces.split(/\s+/)])];

const texts = [
  '', ' ', '\t \r\n \u3000', 'the cat sat on the mat.', 'The Cats sat; it was NOT able to play!',
  'unaffable layernormalization',
  // punctuation: ASCII symbols and Unicode P*, not other symbols
  'a' + ascii.filter(c => !/[a-zA-Z0-9]/.test(c)).join('a') + 'a', "don't isn’t can't've", '“the cat” — ‘a dog’… ¿it? ¡I!',
  '€20 £19 20°km ™dog ½cat', '#the ##s @dog',
  // accents, case, characters that change when decomposed
  'café CAFÉ naïve Naïve résumé Zürich ZÜRICH Über',
  'cafe\u0301 Zu\u0308rich e\u0301\u0327', 'straße STRASSE Straße',
  'İ I ı i \u212a \u212b K Å', 'Αθήνα ΑΘΉΝΑ σοφός ΣΟΦΌΣ', 'Москва МОСКВА москванаён',
  '\u037e \u0387 \u1fef \u2260 \u226e',
  // scripts
  '東京大学の漢字', 'the東cat京 大s', '한국 한국국 \u1112\u1161\u11ab', 'नमस्ते तमीया', 'สวัสดี',
  '😀 the😀 😀🙂 cat🙂', '\uf900 \u{2f800} \u{2b820}\u{2b920} \u{2b820}a',
  // clean-up
  'the\u0000cat sat\u0001\u0002', 'c\u00ada\u200bt do\ufeffg \ufffdcat\ufffd',
  'the\u00a0cat\u2003sat\u2028on\u2029mat', 'a\u007fb\u0085c\u001cd',
  'cat\tdog\ncat\rdog\u000bcat\u000cdog', '\ue000the\uf8ff cat', '\u0301 \u0301\u0301 a\u0301',
  'k\u302f\u302e\u302f k\u302e\u0301\u302f',
  'k' + '\u302e\u{1d165}\u302f'.repeat(10), 'k\u302ea\u{1d165}',
  // unknown, long
  'q the q quick catq', 'quit', 'a'.repeat(100), 'a'.repeat(101), 'é'.repeat(100), 'é'.repeat(101),
  'the ' + '😀'.repeat(101) + ' cat',
  'e\u0301'.repeat(100), 'e\u0301'.repeat(51),
  'x'.repeat(100) + ' ' + 'x'.repeat(100) + '.' + 'x'.repeat(101),
  // special tokens
  'the [MASK] sat', 'the[MASK]sat', '[CLS] the cat [SEP] a dog [SEP][PAD][PAD]', '[UNK]q[UNK]',
  '[mask] [Mask] [MASK', '[[MASK]] MASK] [ MASK ]',
  '[MA\u0001SK] [SEP\u0301]', '[SEP]s [SEP]##s', 'cat[SEP', '[CLS][CLS][CL[CLS]S]', '［MASK］',
];

async function tokenizer(cased) {
  const model = hf.WordPiece.init(Object.fromEntries(vocabulary.map((token, id) => [token, id])),
    {unkToken: '[UNK]', continuingSubwordPrefix: '##', maxInputCharsPerWord: 100});
  const t = new hf.Tokenizer(model);
  const options = {cleanText: true, handleChineseChars: true, stripAccents: !cased, lowercase: !cased};
  t.setNormalizer(hf.bertNormalizer(options));
  t.setPreTokenizer(hf.bertPreTokenizer());
  t.setPostProcessor(hf.bertProcessing(['[SEP]', 3], ['[CLS]', 2]));
  t.addSpecialTokens(special);
  return t;
}

function write(name, lines) {
  fs.writeFileSync(path.join(__dirname, name), lines.join('\n') + '\n');
}

async function main() {
  const [uncased, cased] = [await tokenizer(false), await tokenizer(true)];
  const ids = async (t, text) => (await t.encode(text, null, {addSpecialTokens: false})).getIds();
  const rows = [];
  for (const text of texts) {
    rows.push({text, uncased: await ids(uncased, text), cased: await ids(cased, text)});
  }

  const lengths = [[0, 0], [0, 9], [9, 0], [2, 2], [2, 9], [9, 2], [4, 9], [9, 4], [8, 8], [9, 9], [20, null],
    [2, null]];
  const pairs = [];
  for (const max_length of [3, 4, 7, 8, 12]) {
    for (const [a, b] of lengths) {
      if (a !== b && b !== null && Math.min(a, b) >= max_length) continue;    // see tokenizer.h
      uncased.setTruncation(max_length);
      const x = n => 'x '.repeat(n);
      const encoding = await uncased.encode(x(a), b === null ? null : x(b));
      pairs.push({a, b, max_length, ids: encoding.getIds(), segments: encoding.getTypeIds()});
    }
  }
  write('tokenizer-vocab.txt', vocabulary);
  write('tokenizer.jsonl', rows.map(row => JSON.stringify(row)));
  write('tokenizer-pairs.jsonl', pairs.map(row => JSON.stringify(row)));
}
main();
