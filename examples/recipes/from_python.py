"""minbert from Python, with numpy alone: vectors, attention and answers come in; weights come in, too, and go back.

    $ python3 examples/recipes/from_python.py       # in the repository's root, after `make`; writes build/from_python

There is no binding: Python starts minbert's programs and reads what they write. Where minbert is installed, ["minbert",
program] stands for ["build/bin/" + program]. load() and save() are what numpy needs of the form safetensors; load_file
and save_file of the package safetensors.numpy do the same.
"""
import html, json, pathlib, shutil, subprocess
import numpy as np

OUT, BERT = pathlib.Path("build/from_python"), "data/mini/bert"


def run(program, *arguments):                       # -> what it prints
    command = ["build/bin/" + program, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def load(file):                                     # 8 bytes with the length of the header; the header, JSON; numbers
    raw, kinds = file.read_bytes(), {"F32": np.float32, "I32": np.int32}
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[begin:][slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}


def save(file, tensors):                            # of float32
    header, end = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": t.shape, "data_offsets": [end, end := end + t.nbytes]}
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(t.tobytes() for t in tensors.values()))


def draw(file, P, words):                           # P [L,L]: row i is what token i looks at
    cells = [f'<rect x="{70 + 30 * j}" y="{70 + 30 * i}" width="30" height="30" fill="navy" fill-opacity="{p:.3f}"/>'
             for (i, j), p in np.ndenumerate(P)]
    for i, word in enumerate(map(html.escape, words)):
        cells += [f'<text x="65" y="{90 + 30 * i}" text-anchor="end">{word}</text>',
                  f'<text transform="translate({90 + 30 * i} 65) rotate(-90)">{word}</text>']
    side = 80 + 30 * len(words)
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}">{"".join(cells)}</svg>')


shutil.rmtree(OUT, ignore_errors=True)
OUT.mkdir(parents=True)
texts = OUT / "texts.txt"
texts.write_text("The film is good.\nI like the movie.\nWhere is the train to Berlin?\n")

run("encode", "--model", BERT, "--input", texts, "--pool", "mean", "--normalize", "--attention",
    "--output", OUT / "encoded.safetensors")
encoded = load(OUT / "encoded.safetensors")
u = encoded["sentence_embedding"]                                        # [N,H], each row of length 1
print(f"cosine of two texts about films {u[0] @ u[1]:.3f}, of one about a film and one about a train {u[0] @ u[2]:.3f}")
assert u[0] @ u[1] > u[0] @ u[2]

P = encoded["attention.2"][1, 3]                                         # [L,L] of text 2, layer 1, head 3, from 0
words = run("tokenize", "--vocab", BERT + "/vocab.txt", "--special", "--pieces", texts).splitlines()[2].split()
assert P.shape == (len(words), len(words)) and np.allclose(P.sum(axis=1), 1, atol=1e-5)
draw(OUT / "attention.svg", P, words)

run("multitask", "--model", BERT, "--data", "data/mini", "--tasks", "sst", "--limit", 960, "--epochs", 1,
    "--batch", 16, "--lr", 1e-3, "--out", OUT / "run")
weights = load(OUT / "run/model/model.safetensors")
for name in ("classifier.weight", "classifier.bias"):                    # [5,H], [5]
    weights[name] = weights[name][::-1]                                  # very positive is now class 0
shutil.copytree(OUT / "run/model", OUT / "changed")
save(OUT / "changed/model.safetensors", weights)

p = []                                                                   # [2,5]
for model in (OUT / "run", OUT / "changed"):
    answer = json.loads(run("predict", "--model", model, "--json", "I love the film."))
    print(f"{model}: {answer['prediction']}")
    p.append([*answer["probabilities"].values()])
assert np.allclose(p[0], p[1][::-1], atol=1e-5)
print("build/from_python/attention.svg is the picture of a head")
