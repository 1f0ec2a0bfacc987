"""Random file pairs, nasty ones: a reference, an output derived from it by random mistakes, and a contract."""

from __future__ import annotations

import csv
import io

ODD = {
    "int": ["", "1.0", " 1", "+2", "x", "NaN", "True", "007", "0x1", "1e0", str(2**53 + 1), str(2**63), str(2**64), "-0",
            "inf", "1,000"],
    "float": ["", "inf", "-inf", "1.", "x", ".5", "nan", "1e400", "1_0", "5", "1e-320", "-"],
    "text": ["True", "1.5", "2150-01-01"],
    "bool": ["", "1", "0", "x"],
    "time": ["", "2150-01-01", "2150-01-01T10:00:00", "2150-01-01 10:00:00Z", "bad", "2300-01-01 10:00:00",
             "2150-01-01 10:00", "2150-01-01 10:00:00.5", "10:30"],
}
KINDS = ["int", "float", "text", "bool", "time", "big", "plain time", "plain int", "plain float", "plain text", "plain bool",
         "plain int", "plain float"]


def cell(r, kind):
    if kind in ODD and r.random() < 0.07:
        return r.choice(ODD[kind])
    kind = kind.removeprefix("plain ")
    if kind == "int":
        return str(r.randint(-3, 5))
    if kind == "float":
        return r.choice([repr(r.random()), f"{r.random():.3f}", f"{r.random() * 100:.1f}", "0.30000000000000004",
                         "0.29999999999999998890", "1e-5", "1E22", "123456789012345678", "0.1", "0.12345678901234567"])
    if kind == "text":
        return r.choice(["A", "b", "None", "", "nan", "A ", "é", "1", "a,b", 'q"q', "n\nl"])
    if kind == "bool":
        return r.choice(["True", "False", "true", "FALSE"])
    if kind == "time":
        return f"2150-01-{r.randint(1, 3):02d} 10:{r.randint(0, 2):02d}:00"
    return r.choice([str(2**53 + r.randint(0, 3)), str(2**62), "1", str(2**63 + r.randint(0, 2)), "-5", ""])


def key(r, kind, i):
    if kind == "float":
        return f"{100 + i}.0"
    if kind == "odd":
        return str(100 + i) if r.random() < 0.95 else r.choice(["", "x", "1.5", "101.0", " 102", "True"])
    if kind == "time":
        return f"2150-01-{1 + i // 24:02d} {i % 24:02d}:00:00" if r.random() < 0.995 else "2150-01-01"
    if kind == "text":
        return f"k{i}" if r.random() < 0.97 else r.choice(["", "1", "k1"])
    return str(100 + i)


def pair(r):
    """(reference text, output text, contract) from a `random.Random`."""
    width = r.choice([1, 1, 2])
    keys = [r.choice(["int", "int", "int", "time", "text", "float", "odd"]) for _ in range(width)]
    kinds = [r.choice(KINDS) for _ in range(r.randint(1, 4))]
    header = [f"k{j}" for j in range(width)] + [f"v{j}" for j in range(len(kinds))]
    count = r.randint(0, 12) if r.random() < 0.9 else 60

    def row(i):
        return [key(r, kind, i if j == 0 else r.randint(0, 3)) for j, kind in enumerate(keys)] + [cell(r, k) for k in kinds]

    truth = [row(i) for i in range(count)]
    output = [list(line) for line in truth if r.random() < 0.93]
    for line in output:
        for j, kind in enumerate(kinds):
            if r.random() < 0.15:
                line[width + j] = cell(r, kind if r.random() < 0.9 else r.choice(KINDS))
    if r.random() < 0.3:
        output.append(row(20))
    if output and r.random() < 0.3:
        output.append(list(r.choice(output)))
    place = r.randrange(width)
    change = r.random()
    for line in output:
        if change < 0.12 and r.random() < 0.95:
            line[place] = line[place].replace(" ", "T")
        elif 0.12 < change < 0.2:
            line[place] += ".0"
    if r.random() < 0.3:
        r.shuffle(output)
    names = list(header)
    if r.random() < 0.1:
        names[r.randrange(len(names))] = "other"
    if r.random() < 0.2:
        order = r.sample(range(len(names)), len(names))
        names, output = [names[i] for i in order], [[line[i] for i in order] for line in output]
    contract = {
        "key_columns": header[:width], "value_columns": header[width:], "required_columns": r.choice([None, header]),
        "tolerance": {name: r.choice([0.01, 1, 60, 0.5]) for name in header[width:] if r.random() < 0.3},
        "row_coverage_threshold": r.choice([1.0, 0.95]), "accuracy_threshold": r.choice([1.0, 0.8]),
    }
    return written(r, header, truth, tidy=True), written(r, names, output, tidy=False), contract


def written(r, header, rows, *, tidy):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n" if tidy else r.choice(["\n", "\r\n"]), quoting=r.choice([0, 0, 0, 1, 2]))
    writer.writerow(header)
    writer.writerows(rows)
    made = text.getvalue()
    if not tidy and r.random() < 0.15 and len(made) > 5:
        at = r.randrange(len(made))
        made = made[:at] + r.choice(['"', ",", "\n", "\r", "\0", " ", "  \n", "x", "\n\n", "é"]) + made[at:]
    return made
