"""Compares minbert's folders and numbers with transformers' (see check).   compare.py BIN RUNS DATA"""
import json, re, subprocess, sys
import torch, transformers
from safetensors.torch import load_file
from transformers import (AddedToken, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification,
                          AutoTokenizer, BertConfig, BertForSequenceClassification)

BIN, RUNS, DATA = sys.argv[1:]
TOLERANCE, ROWS = 1e-5, 200
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
failures = []


def report(name, text, good=True):
    print(f"{'' if good else 'FAILED  '}{name:34} {text}", flush=True)
    if not good: failures.append(name)


def run(program, *arguments, text=None):
    return subprocess.run([f"{BIN}/{program}", *arguments], input=text, capture_output=True, text=True)


def dev_rows(task):
    file = {"sst": "ids-sst-dev.csv", "quora": "quora-dev.csv", "sts": "sts-dev.csv"}[task]
    columns = ["sentence"] if task == "sst" else ["sentence1", "sentence2"]
    lines = [line.rstrip("\n").split("\t") for line in open(f"{DATA}/{file}", encoding="utf8")]
    places = [lines[0].index(column) for column in columns]
    return [[line[i] for i in places] for line in lines[1:ROWS + 1]]


def ours(folder, rows, *task):
    out = run("predict", "--model", folder, "--json", *task, text="".join("\t".join(row) + "\n" for row in rows))
    assert out.returncode == 0, out.stderr
    return torch.tensor([json.loads(line)["logits"] for line in out.stdout.splitlines()])


def opened(kind, folder):
    """The model, and what transformers said of missing and unexpected weights."""
    model, said = kind.from_pretrained(folder, output_loading_info=True)
    return model.eval(), {key: sorted(names) for key, names in said.items() if names}


def theirs(model, tokenizer, rows):
    logits = []
    with torch.no_grad():
        for row in rows:                                # one by one: no padding enters the comparison
            logits.append(model(**tokenizer(*row, return_tensors="pt", truncation=True)).logits[0])
    return torch.stack(logits)


def compare(name, folder, rows, expected):
    model, said = opened(AutoModelForSequenceClassification, folder)
    found = theirs(model, AutoTokenizer.from_pretrained(folder), rows)
    if expected.shape[1] == 1 and found.shape[1] == 2:  # a single logit z as two, 0 and z
        found = found[:, 1:] - found[:, :1]
    difference = (found - expected).abs().max().item()
    labels = ", ".join(model.config.id2label.values())
    report(name, f"{type(model).__name__}({labels}): {difference:.1e} in {len(rows)} rows {said or ''}",
           difference < TOLERANCE and not said)


def export(run_name, task):
    out = f"{RUNS}/{run_name}-{task}-exported"
    done = run("export", "--model", f"{RUNS}/{run_name}", "--task", task, "--out", out)
    return out, done


for task in ("sst", "quora", "sts"):                   # a run of one task is such a folder by itself
    rows = dev_rows(task)
    compare(f"{task}: the run's model/", f"{RUNS}/{task}/model", rows, ours(f"{RUNS}/{task}", rows))
rows = dev_rows("sst")
compare("roberta: the run's model/", f"{RUNS}/roberta-sst/model", rows, ours(f"{RUNS}/roberta-sst", rows))

runs = [(name, task) for name in ("three", "roberta-three") for task in ("sst", "quora", "sts")]
runs += [(f"{norm}-{at}", task) for norm in ("z", "min-max", "l2", "batch", "whitening", "iso-bn")
         for at in ("pre-pooler", "pooled") for task in ("sst", "sts")]
for name, task in runs:
    rows, (out, done) = dev_rows(task), export(name, task)
    if done.returncode: report(f"{name}: {task} exported", done.stderr.strip(), False)
    else:
        expected = ours(f"{RUNS}/{name}", rows, "--task", task)
        compare(f"{name}: {task} exported", out, rows, expected)
        again = ours(out, rows)                         # and read again by minbert
        if expected.shape[1] == 1 and again.shape[1] == 2: again = again[:, 1:] - again[:, :1]
        difference = (again - expected).abs().max().item()
        if difference >= TOLERANCE: report(f"{name}: {task} read again", f"{difference:.1e}", False)

for name, task, reason in (("rms", "sst", "norm is rms"), ("pre", "sst", "(post)"), ("siamese", "quora", "siamese")):
    out, done = export(name, task)
    report(f"{name}: export refuses", done.stderr.strip(), done.returncode == 1 and reason in done.stderr)
    try:
        AutoModelForSequenceClassification.from_pretrained(f"{RUNS}/{name}/model")
        report(f"{name}: transformers refuses", "it opened", False)
    except ValueError as e:
        report(f"{name}: transformers refuses", str(e).split(". ")[0].replace("\n", " ")[:90], "minbert" in str(e))

for folder, mask in ((f"{DATA}/bert", "[MASK]"), (f"{RUNS}/roberta/model", "<mask>")):
    text = f"The film is {mask} and the plot is {mask}."
    model, said = opened(AutoModelForMaskedLM, folder)
    model = model.float()                               # the file has float16
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad(): p = model(**inputs).logits[0].softmax(-1)
    best = p[inputs.input_ids[0] == tokenizer.mask_token_id].topk(10).values
    masks = json.loads(run("predict", "--model", folder, "--task", "mask", "--json", text).stdout)["masks"]
    found = torch.tensor([[word[1] for word in of_mask] for of_mask in masks])
    difference = (found - best).abs().max().item()
    report(f"masked words: {type(model).__name__}", f"{difference:.1e} {said or ''}", difference < TOLERANCE)

# The other way: a classifier that transformers wrote.
torch.manual_seed(1)
labels = ["no", "perhaps", "yes"]
config = BertConfig.from_pretrained(f"{DATA}/bert", id2label=dict(enumerate(labels)),
                                    label2id={label: i for i, label in enumerate(labels)})
model = BertForSequenceClassification.from_pretrained(f"{DATA}/bert", config=config).eval().float()
torch.nn.init.normal_(model.classifier.weight, std=0.2)
folder, tokenizer = f"{RUNS}/theirs", AutoTokenizer.from_pretrained(f"{DATA}/bert")
model.save_pretrained(folder); tokenizer.save_pretrained(folder)
rows = dev_rows("sst")
difference = (ours(folder, rows) - theirs(model, tokenizer, rows)).abs().max().item()
report("their classifier, by predict", f"{difference:.1e} in {len(rows)} rows", difference < TOLERANCE)

# Folders that transformers wrote: tokenizer.json, with tokens of their own.
for name, source in (("bert", f"{DATA}/bert"), ("roberta", f"{RUNS}/roberta/model")):
    tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source).eval().float()
    tokenizer.add_tokens(["[NEWTOK]", AddedToken("fine", single_word=True, lstrip=True)])
    model.resize_token_embeddings(len(tokenizer))
    folder, texts = f"{RUNS}/copy-{name}", [row[0] for row in dev_rows("sst")]
    texts += [f"A  fine [NEWTOK]film, refined {tokenizer.mask_token} [newtok]."]
    model.save_pretrained(folder); tokenizer.save_pretrained(folder)
    with open(f"{RUNS}/texts", "w", encoding="utf8") as file: file.write("\n".join(texts) + "\n")
    done = run("encode", "--model", folder, "--input", f"{RUNS}/texts", "--output", f"{RUNS}/vectors.safetensors",
               "--pool", "mean", "--normalize")
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        states = [model(**tokenizer(text, return_tensors="pt"))[0][0] for text in texts]
    of_length_one = torch.nn.functional.normalize(torch.stack([state.mean(0) for state in states]))
    for what, expected in (("cls", torch.stack([state[0] for state in states])), ("sentence_embedding", of_length_one)):
        difference = (load_file(f"{RUNS}/vectors.safetensors")[what] - expected).abs().max().item()
        report(f"their copy of a {name}, by encode: {what}", f"{difference:.1e} in {len(texts)} rows",
               difference < TOLERANCE)

# examples/plain_bert.cpp and examples/plain_bert.py
def losses(text):
    rows = re.findall(r"^ +\d+((?: +\d+\.\d{5}){3})", text, re.M)
    return torch.tensor([[float(loss) for loss in row.split()] for row in rows])


done = subprocess.run([sys.executable, "examples/plain_bert.py", f"{RUNS}/plain"], capture_output=True, text=True)
found, expected = losses(done.stdout), losses(open(f"{RUNS}/plain.txt").read())
if done.returncode or not len(expected) or found.shape != expected.shape:
    report("plain_bert", done.stderr.strip() or "no table of losses, or another", False)
else:
    difference = (found - expected).abs().max().item()
    report("plain_bert", f"losses of {expected.numel()} steps: {difference:.1e}", difference < 1e-4)

print(f"{len(failures)} of these failed" if failures else "all agree")
sys.exit(bool(failures))
