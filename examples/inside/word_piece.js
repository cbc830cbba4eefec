// WordPiece, as src/text/word_piece.cpp: a text is cleaned up, cut into words, each word from left to right into the
// longest pieces that the vocabulary has. The tables of Unicode are the browser's.

const chinese = new RegExp('[\\u4E00-\\u9FFF\\u3400-\\u4DBF\\uF900-\\uFAFF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B73F}' +
                           '\\u{2B740}-\\u{2B81F}\\u{2B920}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}]', 'gu');

class WordPiece {
  // tokens: by id. cleaning: lower_case, strip_accents, chinese_apart
  constructor(tokens, cleaning) {
    this.tokens = tokens;
    this.cleaning = cleaning;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
  }

  // Without control characters, every white space a ' '
  clean(text) {
    let clean = text.replace(/[\t\n\r\p{Z}]/gu, ' ').replace(/[\p{Cc}\p{Cf}\p{Co}\uFFFD]/gu, '');
    if (this.cleaning.chinese_apart) clean = clean.replace(chinese, ' $& ');
    if (this.cleaning.strip_accents) clean = clean.normalize('NFD').replace(/\p{Mn}/gu, '');
    if (this.cleaning.lower_case) clean = [...clean].map(c => c.toLowerCase()).join('');
    return clean;
  }
  // A word ends at a space or a punctuation character, which is itself a word.
  words(text) {
    return text.match(/[!-/:-@[-`{-~\p{P}]|[^ !-/:-@[-`{-~\p{P}]+/gu) ?? [];
  }
  // The pieces of a word, those after the first with ##; [UNK] for an unknown one
  pieces(word) {
    if ([...word].length > 100) return ['[UNK]'];
    const pieces = [];
    for (let begin = 0, end; begin < word.length; begin = end) {
      const piece = () => (begin ? '##' : '') + word.slice(begin, end);
      for (end = word.length; end > begin && !this.ids.has(piece()); --end);
      if (end === begin) return ['[UNK]'];
      pieces.push(piece());
    }
    return pieces;
  }
  // Special tokens written in the text stay whole: each second part is one.
  encode(text) {
    const parts = text.split(/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/);
    const pieces = parts.flatMap((part, i) => i % 2 ? [part] :
      this.words(this.clean(part)).flatMap(word => this.pieces(word)));
    return pieces.map(piece => this.ids.get(piece));
  }
  // [CLS] a [SEP], or [CLS] a [SEP] b [SEP] with segment 1 from b on; too long: the longer text loses its end
  sequence(text, text_b, most) {
    const a = this.encode(text), b = this.encode(text_b), pair = text_b !== '';
    const room = most - (pair ? 3 : 2), cut = a.length + b.length > room;
    const [longer, shorter] = a.length > b.length ? [a, b] : [b, a];
    if (cut) {
      shorter.length = Math.min(shorter.length, Math.floor(room / 2));
      longer.length = room - shorter.length;
    }
    const [cls, sep] = [this.ids.get('[CLS]'), this.ids.get('[SEP]')];
    const left = [cls, ...a, sep], right = pair ? [...b, sep] : [], ids = [...left, ...right];
    return { ids, segments: ids.map((_, i) => i < left.length ? 0 : 1), positions: ids.map((_, i) => i), cut };
  }
}
