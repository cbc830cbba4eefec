"""Makes tests/golden/transformers/VERSION with the transformers that Python finds:

    python tests/golden/transformers_folders.py            of 2.11.0, 4.30.2, 4.57.6 and 5.24.0, each in turn

A classifier of a BERT and one of a RoBERTa, as this version saves them (save_pretrained): bert/ by the slow tokenizer,
roberta/ by the fast one where there is one. expected.json has what this version says of some texts: {folder: {texts,
pairs, ids, logits}}. Versions before 4.36 write pytorch_model.bin, whose tensors are written here as safetensors.
RoBERTa's texts begin with a space: up to 2.11 the tokenizer puts one there."""
import json, os, tempfile
import torch, transformers
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification, RobertaConfig, RobertaForSequenceClassification

version = transformers.__version__
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transformers", version)
letters = "abcdefghijklmnopqrstuvwxyz"
word_pieces = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fine", "film", "bad", "plot", "."]
               + [x for x in letters if x != "a"] + ["##" + x for x in letters])
printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
alphabet = [chr(b) for b in printable] + [chr(256 + i) for i in range(256 - len(printable))]
merges = [("f", "i"), ("Ġ", "fi"), ("Ġ", "a")]
byte_pieces = ["<s>", "<pad>", "</s>", "<unk>", *alphabet, "fi", "Ġfi", "Ġa", "<mask>"]
labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
sizes = dict(hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=4, id2label=labels,
             label2id={name: i for i, name in labels.items()})
more = {"extra_special_tokens": {"image_token": "[NEW]"}} if version >= "4.48" and version[1] == "." else {}
texts = [" a fine film .", " plots", " a [NEW] film"]
pairs = [[" a fine film", " bad plots"]]


def tokenizer_of(name):
    classes = [name + "Fast", name] if name.startswith("Roberta") else [name]
    with tempfile.TemporaryDirectory() as folder:
        if name.startswith("Roberta"):
            json.dump({x: i for i, x in enumerate(byte_pieces)}, open(folder + "/vocab.json", "w"))
            open(folder + "/merges.txt", "w").write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
        else:
            open(folder + "/vocab.txt", "w").write("".join(x + "\n" for x in word_pieces))
        for one in classes:
            try: return getattr(transformers, one).from_pretrained(folder, **more)
            except (AttributeError, TypeError): continue


def seeded(model):
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _, p in sorted(model.named_parameters()): p.copy_(torch.randn(p.shape, generator=generator) * 0.5)
    return model.eval()


expected = {}
for folder, tokenizer_class, config_class, model_class, own in (
        ("bert", "BertTokenizer", BertConfig, BertForSequenceClassification, dict(max_position_embeddings=24)),
        ("roberta", "RobertaTokenizer", RobertaConfig, RobertaForSequenceClassification,
         dict(max_position_embeddings=40, type_vocab_size=1, layer_norm_eps=1e-5))):
    path = f"{out}/{folder}"
    os.makedirs(path, exist_ok=True)
    tokenizer = tokenizer_of(tokenizer_class)
    model = seeded(model_class(config_class(vocab_size=len(tokenizer), **sizes, **own)))
    model.save_pretrained(path)
    if os.path.exists(path + "/pytorch_model.bin"):
        save_file({name: x.clone() for name, x in torch.load(path + "/pytorch_model.bin").items()},
                  path + "/model.safetensors", {"format": "pt"})
        os.remove(path + "/pytorch_model.bin")
    tokenizer.save_pretrained(path)
    tokenizer = type(tokenizer).from_pretrained(path)
    ids = [tokenizer.encode(x, add_special_tokens=True) for x in texts]
    ids += [tokenizer.encode(a, b, add_special_tokens=True) for a, b in pairs]
    logits = []
    for i, row in enumerate(ids):
        segments = [0] * len(row)
        if folder == "bert" and i >= len(texts): segments = [int(k > row.index(3)) for k in range(len(row))]
        with torch.no_grad():
            logits.append(model(torch.tensor([row]), token_type_ids=torch.tensor([segments]))[0][0].tolist())
    expected[folder] = {"texts": texts, "pairs": pairs, "ids": ids, "logits": logits}
json.dump(expected, open(out + "/expected.json", "w"), ensure_ascii=False)
