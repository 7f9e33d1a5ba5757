#!/usr/bin/env python3
"""The litmus tests of traces/samples on a stateless model checker of others, beside Belfry's search.

    tests/bench/peer_genmc.py GENMC BELFRY

GENMC is GenMC (https://github.com/MPI-SWS/genmc; v0.10.3 builds with g++ 12 and LLVM 14). Each test that means the same
in C11 becomes a program: no scope that is too narrow to reach all threads, no weak access (a race in C11), no other
proxy. Both searches go through all executions. A row: the test; the executions of each, those that it gave up in
brackets; the processor time of each process; whether C11 (model RC11) permits the outcome and whether the PTX ISA does.
"""
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import time

ORDER = {"relaxed": "memory_order_relaxed", "acquire": "memory_order_acquire", "release": "memory_order_release",
         "acq_rel": "memory_order_acq_rel", "sc": "memory_order_seq_cst"}
ATOMS = {"add": "atomic_fetch_add_explicit(&%s, %s, %s)", "sub": "atomic_fetch_sub_explicit(&%s, %s, %s)",
         "exch": "atomic_exchange_explicit(&%s, %s, %s)"}


def fits(test):
    """Whether it means the same in C11."""
    ctas = {t["cta"] for t in test["threads"]}
    for t in test["threads"]:
        for o in t["ops"]:
            if o["op"] not in ("ld", "st", "fence", "atom", "red") or o.get("proxy", "generic") != "generic":
                return False
            if o["sem"] not in ORDER or o["scope"] == "cta" and len(ctas) > 1:
                return False
            if o["op"] in ("atom", "red") and o["fn"] not in (*ATOMS, "cas"):
                return False
    return len({l["phys"] for l in test["locations"]}) == len(test["locations"])


def value(v):
    return v if isinstance(v, str) else str(v)


def statement(o):
    if o["op"] == "fence":
        return f"atomic_thread_fence({ORDER[o['sem']]});"
    order = ORDER[o["sem"]]
    if o["op"] == "ld":
        return f"{o['reg']} = atomic_load_explicit(&{o['loc']}, {order});"
    if o["op"] == "st":
        return f"atomic_store_explicit(&{o['loc']}, {value(o['value'])}, {order});"
    reg = f"{o['reg']} = " if "reg" in o else "(void)"
    if o["fn"] == "cas":
        weaker = {"release": "memory_order_relaxed", "acq_rel": "memory_order_acquire"}.get(o["sem"], order)
        return (f"{{ int e = {value(o['compare'])}; atomic_compare_exchange_strong_explicit(&{o['loc']}, &e, "
                f"{value(o['value'])}, {order}, {weaker}); {reg}e; }}")
    return reg + ATOMS[o["fn"]] % (o["loc"], value(o["value"]), order) + ";"


def term(t):
    if "const" in t:
        return str(t["const"])
    return f"t{t['thread']}.{t['reg']}" if "thread" in t else t["loc"]


def condition(c):
    if c["op"] in ("and", "or"):
        return "(" + (" && " if c["op"] == "and" else " || ").join(map(condition, c["args"])) + ")"
    if c["op"] == "not":
        return "!" + condition(c.get("arg") or c["args"][0])
    return f"({term(c['a'])} {'==' if c['op'] == 'eq' else '!='} {term(c['b'])})"


def program(test, judged):
    regs = [sorted({o["reg"] for o in t["ops"] if "reg" in o} | set(t["init"])) for t in test["threads"]]
    out = ["#include <stdatomic.h>", "#include <pthread.h>", "#include <assert.h>"]
    out += [f"atomic_int {l['name']} = {l['init']};" for l in test["locations"]]
    for i, t in enumerate(test["threads"]):
        out.append(f"static struct {{ int {', '.join(regs[i] or ['none'])}; }} t{i};")
        out.append(f"static void *run{i}(void *arg) {{")
        out += [f"int {r} = {t['init'].get(r, 0)};" for r in regs[i]]
        out += map(statement, t["ops"])
        out += [f"t{i}.{r} = {r};" for r in regs[i]] + ["return arg;", "}"]
    n = len(test["threads"])
    out.append("int main(void) {")
    out.append(f"pthread_t p[{n}];")
    out += [f"pthread_create(&p[{i}], 0, run{i}, 0);" for i in range(n)]
    out += [f"pthread_join(p[{i}], 0);" for i in range(n)]
    if judged:
        out.append(f"assert(!{condition(test['outcome'])});")
    return "\n".join(out + ["return 0;", "}"]) + "\n"


def timed(command):
    """Its output and the processor time that it took, in seconds."""
    before = os.times()
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    after = os.times()
    return out, after.children_user + after.children_system - before.children_user - before.children_system


def genmc(path, test, folder):
    file = os.path.join(folder, "test.c")
    with open(file, "w", encoding="utf-8") as f:
        f.write(program(test, False))
    text, seconds = timed([path, "--rc11", "--disable-estimation", "--disable-sr", file])
    done, blocked = (re.search(p, text) for p in (r"complete executions explored: (\d+)", r"blocked executions seen: (\d+)"))
    if not done:
        raise SystemExit(f"{test['name']}: {text}")
    with open(file, "w", encoding="utf-8") as f:
        f.write(program(test, True))
    judged = subprocess.run([path, "--rc11", "--disable-estimation", file], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False).stdout
    return int(done.group(1)), int(blocked.group(1)) if blocked else 0, seconds, "Safety violation" in judged


def belfry(path, test, folder):
    file = os.path.join(folder, "test.jsonl")
    all_of_it = {k: v for k, v in test.items() if k not in ("outcome_allowed", "why")}
    regs = [{"thread": i, "reg": o["reg"]} for i, t in enumerate(test["threads"]) for o in t["ops"] if "reg" in o]
    what = regs[0] if regs else {"loc": test["locations"][0]["name"]}
    all_of_it["outcome"] = {"op": "eq", "a": what, "b": {"const": 77}}  # never: so all are tried
    with open(file, "w", encoding="utf-8") as f:
        f.write(json.dumps(all_of_it) + "\n")
    text, seconds = timed([path, "check", "litmus", file, "--json"])
    r = json.loads(text)["tests"][0]
    return r["executions"], r["pruned"], seconds


def tests():
    samples = os.path.join(os.path.dirname(__file__), "../../traces/samples")
    for name in ("litmus_classics.jsonl", "litmus_ptx.jsonl.xz"):
        path = os.path.join(samples, name)
        with lzma.open(path, "rt") if name.endswith("xz") else open(path, encoding="utf-8") as lines:
            yield from filter(fits, map(json.loads, lines))


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(f"{'test':40} {'Belfry':>14} {'s':>7} {'GenMC':>14} {'s':>7}  C11, PTX")
    total = [0] * 6
    differ = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for test in tests():
            mine, theirs = belfry(sys.argv[2], test, folder), genmc(sys.argv[1], test, folder)
            permitted = ["forbidden", "allowed"]
            print(f"{test['name']:40} {mine[0]:>7} ({mine[1]:>4}) {mine[2]:7.3f} {theirs[0]:>7} ({theirs[1]:>4}) "
                  f"{theirs[2]:7.3f}  {permitted[theirs[3]]}, {permitted[test['outcome_allowed']]}")
            total = [a + b for a, b in zip(total, mine + theirs[:3])]
            differ += theirs[3] != test["outcome_allowed"]
            count += 1
    print(f"{count} tests: Belfry {total[0]} executions ({total[1]} given up) in {total[2]:.2f} s, "
          f"GenMC {total[3]} ({total[4]}) in {total[5]:.2f} s; {differ} verdicts differ")


if __name__ == "__main__":
    main()
