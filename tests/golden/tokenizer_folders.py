"""Makes tokenizer-folders.jsonl with Hugging Face's transformers 5.24 (tokenizers 0.23):

    python tests/golden/tokenizer_folders.py

Each line is a folder: {name, files: {name: text}, texts, ids}; ids are those that AutoTokenizer gives to the texts,
special tokens included. `files` are as transformers 5 writes them (tokenizer.json), as version 4 wrote them
(vocab.txt or vocab.json and merges.txt, with "added_tokens_decoder") and as version 3 did (added_tokens.json)."""
import json, os, tempfile
from transformers import AddedToken, AutoTokenizer, BertTokenizer, RobertaTokenizer

special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
pieces = """a b film Film foo bar baz i é e É E i̇ 我 喜 我喜 ##s ##é ##e ##É ##E ##o ##bar ##喜 ##喜欢 喜欢 [ ] @ - x u ü ##nder
            ##n new ##tok . _ y""".split()
letters = sorted("abcdefghijklmnopqrstuvwxyzFNEWTOK[]@-._ĠÃ©ļ¯<>/ĉĊ")
texts = ["a film", "A FILM", "é É éé É́É", "İ i", "我喜欢film", "a [NEWTOK] film", "a [newtok] film",
         "foo bar foobar Foo FOO xfoo foos",
         "a  foo  bar", "foo_y foo. foo éfoo", "a @@  b @@", "[MASK]  foo [mask]", "a -x- b-x-b",
         "Ünder under ÜNDER", "a <ent> b <ent>"]
bpe_texts = ["a film", "a <mask> b", "a  <mask>  b", "<mask>a", "foo bar foobar Foo xfoo foos", "a  foo  bar",
             "foo_y foo. foo",
             "a @@  b @@", "a [NEWTOK] film", "é éé", "a <ent> b <ent>x"]
added = [AddedToken("[NEWTOK]"), AddedToken("foo", single_word=True), AddedToken("Foo", normalized=False, lstrip=True),
         AddedToken("foobar", lstrip=True), AddedToken("@@", rstrip=True), AddedToken("éé"),
         AddedToken("-x-", special=True),
         AddedToken("Ünder"), AddedToken("<ent>", special=True, lstrip=True, rstrip=True)]


def read(folder):
    return {name: open(f"{folder}/{name}", encoding="utf8").read() for name in sorted(os.listdir(folder))}


def row(name, files, of):
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items(): open(f"{folder}/{file}", "w", encoding="utf8").write(text)
        json.dump({"model_type": "roberta" if of is bpe_texts else "bert"}, open(f"{folder}/config.json", "w"))
        t = AutoTokenizer.from_pretrained(folder)
        return {"name": name, "files": files, "texts": of, "ids": [t(text)["input_ids"] for text in of]}


def saved(tokenizer):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = read(folder)
    one = json.loads(files["tokenizer.json"])
    config = {key: value for key, value in json.loads(files["tokenizer_config.json"]).items()
              if key in ("do_lower_case", "strip_accents", "tokenize_chinese_chars", "add_prefix_space",
                         "tokenizer_class")}
    return one, config


def as_files(one, config, model_files):
    """The three ways in which the same tokenizer is written."""
    text = lambda value: json.dumps(value, ensure_ascii=False)
    yield "tokenizer.json", {"tokenizer.json": text(one), "tokenizer_config.json": text(config)}
    by_id = {str(t["id"]): {key: value for key, value in t.items() if key != "id"} for t in one["added_tokens"]}
    yield "added_tokens_decoder", {**model_files,
                                   "tokenizer_config.json": text({**config, "added_tokens_decoder": by_id})}
    ids = {t["content"]: t["id"] for t in one["added_tokens"] if t["content"] not in one["model"]["vocab"]}
    config = {**config, "additional_special_tokens": ["-x-", "<ent>"]}
    yield "added_tokens.json", {**model_files, "tokenizer_config.json": text(config), "added_tokens.json": text(ids)}


vocabulary = {token: i for i, token in enumerate(special + pieces)}
vocab_txt = {"vocab.txt": "".join(token + "\n" for token in vocabulary)}
rows = []
for lower, strip, chinese in ((True, None, True), (True, False, True), (True, None, False), (False, None, True),
                              (False, True, False)):
    t = BertTokenizer(vocab=vocabulary, do_lower_case=lower, strip_accents=strip, tokenize_chinese_chars=chinese)
    way, files = next(as_files(*saved(t), vocab_txt))
    rows.append(row(f"BERT, lower_case {lower}, strip_accents {strip}, chinese {chinese}", files, texts))
for setting in ({"strip_accents": False}, {"tokenize_chinese_chars": False}):
    rows.append(row(f"BERT, {setting} alone", {**vocab_txt, "tokenizer_config.json": json.dumps(setting)}, texts))
t = BertTokenizer(vocab=vocabulary)
t.add_tokens(added)
for way, files in as_files(*saved(t), vocab_txt): rows.append(row(f"BERT, {way}", files, texts))

bpe = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, "fi", "Ġb", "Ġf", "oo"]
bpe = {token: i for i, token in enumerate(bpe)}
merges = [("f", "i"), ("Ġ", "b"), ("Ġ", "f"), ("o", "o")]
model_files = {"vocab.json": json.dumps(bpe, ensure_ascii=False),
               "merges.txt": "".join(f"{a} {b}\n" for a, b in merges)}
mask = AddedToken("<mask>", lstrip=True, special=True)
for prefix in (False, True):
    t = RobertaTokenizer(vocab=bpe, merges=merges, add_prefix_space=prefix, mask_token=mask)
    if prefix: t.add_tokens(added)
    for way, files in list(as_files(*saved(t), model_files))[:2]:
        rows.append(row(f"RoBERTa, added tokens {prefix}, {way}", files, bpe_texts))

# Tokens that are named without an id get theirs in this order: bos and eos, other keys in the file's order, the members
# of an object, the items of a list.
token = lambda content: {"__type": "AddedToken", "content": content, "lstrip": True, "rstrip": False,
                         "normalized": False, "single_word": False}
for extra in ({"extra_special_tokens": {}}, {"extra_special_tokens": {"image_token": "[Z]"}},
              {"extra_special_tokens": {"z": "[Z]", "a": "[A]"}}, {"extra_special_tokens": ["[Z]", "[A]"]},
              {"extra_special_tokens": {"z": token("[Z]")}}, {"extra_special_tokens": {"z": "film", "a": "[MASK]"}},
              {"extra_special_tokens": ["[Z]"], "bos_token": "[B]"},
              {"additional_special_tokens": ["[Z]"], "eos_token": "[B]", "bos_token": "[A]"},
              {"z_token": "[Z]", "a_token": "[A]", "additional_special_tokens": ["[B]"]},
              {"extra_special_tokens": {"z": "[Z]"}, "additional_special_tokens": ["[B]"], "a_token": "[A]"},
              {"extra_special_tokens": None, "additional_special_tokens": None, "bos_token": None},
              {"use_auth_token": False, "x_token": 3, "tokenizer_class": None}):
    rows.append(row(f"BERT, {json.dumps(extra)}", {**vocab_txt, "tokenizer_config.json": json.dumps(extra)},
                    ["b [Z]film [A] [B] a", "film [MASK]"]))

with open(os.path.join(os.path.dirname(__file__), "tokenizer-folders.jsonl"), "w", encoding="utf8") as out:
    for r in rows: print(json.dumps(r, ensure_ascii=False), file=out)
