#!/usr/bin/env python3
"""
Mutation run: breaks the drivers' device and host code in one place at a time and looks whether belfry finds that out, and
whether its rules name what was done.

mutants.txt (or --places FILE) lists the places: a file, a function, what is replaced there by what, and the rules that
may name it. Each mutant is compiled (only the objects that include the file, or the file itself), linked, and run through the battery of its
workloads (mutants_battery.txt) until a run fails or `belfry lint` finds something in its trace, which the unchanged
program must not do in the same run.

  mutants.py --build DIR [--places FILE] [--only TEXT]... [--jobs N] [--markdown FILE] [--list]
  mutants.py --check [--places FILE]      only whether each place is there

DIR is a build directory of this source tree with belfry built in it; nothing in it is changed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBRARY = "CMakeFiles/belfry-objects.dir/"
RUN_SECONDS = 1  # of the processor's time: a run that takes longer is asked to end, and hangs when it does not

# ---- the list of mutants ----


class Mutant:
    def __init__(self, number, fields, line):
        self.path, self.function, self.kind, rules, change = fields
        self.name = "%s:%s" % (self.path, self.function)
        self.number, self.listed = number, line
        self.path = "drivers/" + self.path
        # Behind a semicolon: rules that nobody foresaw, and whose finding says truly what went wrong.
        foreseen, _, besides = rules.partition(";")
        self.rules = [r for r in foreseen.split(",") if r and r != "-"]
        self.besides = [r for r in besides.split(",") if r]
        self.swap = " <=> " in change
        self.old, self.new = re.split(r" <=> | =>(?: |$)", change, maxsplit=1)
        self.change = change
        self.reason = ""

    def saved(self):
        return self.path, self.function, self.change

    def is_one_of(self, texts):
        return any(t == str(self.number) if t.isdigit() else t in "%s %s" % (self.name, self.kind) for t in texts)

    def pattern(self, text):
        """Literal text; blanks match any blanks. `@N` at the end: the Nth of them."""
        nth = re.search(r" @(\d+)$", text)
        body = text[: nth.start()] if nth else text
        words = [re.escape(w) for w in body.split()]
        return r"\s+".join(words), int(nth.group(1)) if nth else 0

    def find(self, source, text):
        begin, end = function_of(source, self.function)
        regex, nth = self.pattern(text)
        hits = list(re.finditer(regex, source[begin:end]))
        if not hits or (nth == 0 and len(hits) != 1) or nth > len(hits):
            raise ValueError("line %d: %d places in %s of %s are '%s'" % (self.listed, len(hits), self.function,
                                                                            self.path, text))
        hit = hits[nth - 1 if nth else 0]
        return begin + hit.start(), begin + hit.end()

    def mutate(self):
        """The file's text with the change, and the line it is in."""
        with open(os.path.join(ROOT, self.path)) as f:
            source = f.read()
        a, b = self.find(source, self.old)
        at = source.count("\n", 0, a) + 1
        if not self.swap:
            # A statement that goes leaves an empty one, so that an `if` before it stays whole.
            new = self.new or (";" if source[b - 1] == ";" else "")
            return source[:a] + new + source[b:], at
        c, d = self.find(source, self.new)
        if c < a:
            a, b, c, d = c, d, a, b
        return source[:a] + source[c:d] + source[b:c] + source[a:b] + source[d:], at


def function_of(source, name):
    """From the function's name where it is defined to the brace that ends it."""
    for hit in re.finditer(r"\b%s\((?!\))[^;{]*?\)\s*\{" % re.escape(name), source):
        end = source.find("\n}", hit.end())
        if end > 0:
            return hit.start(), end + 2
    hit = re.search(r"#define %s\b(?:.*\\\n)*.*" % re.escape(name), source)
    if hit:
        return hit.start(), hit.end()
    raise ValueError("there is no function " + name)


def read_list(path):
    mutants = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("  "):
                # why the mutant before may live
                mutants[-1].reason = (mutants[-1].reason + " " + line.strip()).strip()
                continue
            fields = [x.strip() for x in line.split(" | ", 4)]
            if len(fields) != 5:
                sys.exit("%s, line %d: not five fields" % (path, number))
            mutants.append(Mutant(len(mutants) + 1, fields, number))
    return mutants


# ---- the battery ----


def read_battery(path):
    """Sections by folder of drivers/ or file; each line a command of belfry, with {a,b} and {1..3} as shells do."""
    sections, name = {}, None
    with open(path) as f:
        for line in f:
            line = line.strip()
            if line.startswith("["):
                name, only = line[1:].split("]")
                sections[name] = Section(only.split())
            elif line and not line.startswith("#"):
                sections[name].runs += expand(line)
    return sections


class Section:
    def __init__(self, only):
        self.only, self.runs = only, []  # sources of the library that are executed (none: all); commands


def expand(text):
    hit = re.search(r"\{([^{}]*)\}", text)
    if not hit:
        return [text]
    span = re.fullmatch(r"(\d+)\.\.(\d+)", hit.group(1))
    values = range(int(span.group(1)), int(span.group(2)) + 1) if span else hit.group(1).split(",")
    return [y for v in values for y in expand(text[: hit.start()] + str(v) + text[hit.end() :])]


def section_for(sections, path):
    best = max((s for s in sections if path.startswith("drivers/" + s)), key=len, default=None)
    if best is None:
        sys.exit("no battery for " + path)
    return best


class Outcome:
    """What a run came to: its exit code ("hang", "signal N"), what lint calls the root cause, the cause it printed."""

    def __init__(self, code, root, cause, findings):
        self.code, self.root, self.cause, self.findings = code, root, cause, findings

    def same(self, other):
        return (self.code, self.root) == (other.code, other.root)


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (RUN_SECONDS, RUN_SECONDS + 3))


def lint(belfry, trace):
    """What is found in a trace; nothing in one that a run without an end has made too long to be read."""
    try:
        p = subprocess.run([belfry, "lint", trace, "--json"], capture_output=True, preexec_fn=limited)
        found = json.loads(p.stdout)["files"][0]
    except (ValueError, KeyError, IndexError):
        return None, []
    bad = [f["rule"] for f in found["findings"] if f["severity"] != "note"]
    return found.get("root"), bad


def outcome(belfry, judge, command, folder):
    trace = os.path.join(folder, "t.bft")
    if os.path.exists(trace):
        os.unlink(trace)
    words = [belfry] + shlex.split(command) + ["--trace", trace]
    p = subprocess.run(words, capture_output=True, preexec_fn=limited)
    code, text = p.returncode, p.stdout.decode(errors="replace") + p.stderr.decode(errors="replace")
    if code < 0:
        code = "hang" if -code in (signal.SIGXCPU, signal.SIGKILL) else "signal %d" % -code
    cause = re.search(r"^cause: (.*)$", text, re.M)
    rule = re.search(r"^rule: (\S+)$", text, re.M)
    root, findings = lint(judge, trace) if os.path.exists(trace) else (None, [])
    if not root and rule:
        root = rule.group(1)
    return Outcome(code, root, cause.group(1) if cause else "", findings)


# ---- compiling ----


class Builder:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        with open(os.path.join(self.build, "compile_commands.json")) as f:
            self.commands = {}
            for c in json.load(f):
                out = re.search(r" -o (\S+) ", c["command"])
                self.commands[os.path.normpath(os.path.join(c["directory"], out.group(1)))] = c
        self.deps = self.read_deps()
        link = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "tools/belfry"], capture_output=True,
                              check=True, text=True).stdout.splitlines()[-1]
        self.link = shlex.split(link.removeprefix(": && ").removesuffix(" && :"))

    def read_deps(self):
        text = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True, check=True,
                              text=True).stdout
        deps, out = {}, None
        for line in text.splitlines():
            if line and not line[0].isspace():
                out = os.path.normpath(os.path.join(self.build, line.split(":")[0]))
            elif line.strip():
                # Compiler caches leave paths that are relative to the build directory.
                path = os.path.normpath(os.path.join(self.build, line.strip()))
                if path.startswith(ROOT + "/"):
                    deps.setdefault(os.path.relpath(path, ROOT), set()).add(out)
        return deps

    def objects(self, path):
        """Of belfry, those that include the file; kernels for real threads do not run here."""
        mine = tuple(os.path.join(self.build, d) for d in (LIBRARY, "tools/CMakeFiles/belfry-tools.dir/",
                                                           "tools/CMakeFiles/belfry-cli.dir/"))
        return sorted(o for o in self.deps.get(path, ()) if o.startswith(mine) and "_native" not in o)

    def make(self, mutant, text, folder, only):
        """The mutated belfry, or None and the compiler's words."""
        at = os.path.join(folder, mutant.path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "w") as f:
            f.write(text)
        replaced, extra = {}, []
        for i, obj in enumerate(self.objects(mutant.path)):
            c = self.commands[obj]
            if only and LIBRARY in obj and os.path.relpath(c["file"], ROOT) not in only + [mutant.path]:
                continue
            out = os.path.join(folder, "%d.o" % i)
            words = [w for w in shlex.split(c["command"]) if w not in ("-Werror",) and not w.endswith("ccache")]
            words = [w if w not in ("-O3", "-O2") else "-O0" for w in words]
            words[words.index("-o") + 1] = out
            words[1:1] = ["-w", "-I" + folder]
            # A source file of its own, not one that objects include.
            words = [at if os.path.normpath(os.path.join(c["directory"], w)) == os.path.join(ROOT, mutant.path) else w
                     for w in words]
            p = subprocess.run(words, cwd=c["directory"], capture_output=True, text=True)
            if p.returncode:
                return None, p.stderr
            if "/belfry-cli.dir/" not in obj:
                extra.append(out)  # what stands in front of the archives takes the place of their members
            else:
                replaced[os.path.relpath(obj, self.build)] = out
        os.unlink(at)
        belfry = os.path.join(folder, "belfry")
        words = [replaced.get(w, w) for w in self.link]
        words[words.index("-o") + 1] = belfry
        lib = next(i for i, w in enumerate(words) if w.endswith("libbelfry-tools.a"))
        words[lib:lib] = extra
        p = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        return (belfry, "") if p.returncode == 0 else (None, p.stderr)


# ---- judging ----


class Clean:
    """What the unchanged program does in each run, found out when it is first asked for."""

    def __init__(self, belfry, work):
        self.belfry, self.work, self.known, self.lock = belfry, work, {}, threading.Lock()

    def get(self, command):
        with self.lock:
            entry = self.known.setdefault(command, [threading.Lock(), None])
        with entry[0]:
            if entry[1] is None:
                with tempfile.TemporaryDirectory(dir=self.work) as folder:
                    o = entry[1] = outcome(self.belfry, self.belfry, command, folder)
                if o.code not in (0, 1) or (o.code == 0 and o.findings) or (o.code == 1 and not o.root):
                    print("unchanged, belfry %s ends with %s, %s %s" % (command, o.code, o.root, o.findings),
                          flush=True)
                    os._exit(2)
            return entry[1]


class Result:
    def __init__(self, mutant, line):
        self.mutant, self.line = mutant, line
        self.state = "survived"  # killed, survived, broken
        self.command, self.code, self.root, self.cause, self.text = "", 0, None, "", ""

    @property
    def equal(self):
        """It lives, and is no mistake."""
        return self.state == "survived" and self.mutant.reason.startswith("Equal:")

    @property
    def foreseen(self):
        return named(self.mutant.rules, self.root)

    @property
    def named(self):
        return named(self.mutant.rules + self.mutant.besides, self.root)

    def save(self):
        return {"file": self.mutant.path, "function": self.mutant.function, "change": self.mutant.change,
                "line": self.line, "state": self.state, "run": self.command, "code": self.code, "root": self.root,
                "cause": self.cause, "text": self.text}

    @staticmethod
    def key(saved):
        return saved["file"], saved["function"], saved["change"]

    def load(self, saved):
        self.line, self.state, self.command, self.code = saved["line"], saved["state"], saved["run"], saved["code"]
        self.root, self.cause, self.text = saved["root"], saved["cause"], saved["text"]
        return self


def named(rules, root):
    return any(root and (root == r or root.split("-", 1)[1] == r) for r in rules)


def judge(mutant, builder, belfry, section, clean, folder):
    text, line = mutant.mutate()
    result = Result(mutant, line)
    os.makedirs(folder)
    program, words = builder.make(mutant, text, folder, section.only)
    if not program:
        result.state, result.text = "broken", words
        return result
    for command in section.runs:
        o = outcome(program, belfry, command, folder)
        right = clean.get(command)
        if o.same(right) and set(o.findings) <= set(right.findings):
            continue
        result.state, result.command = "killed", command
        result.code, result.root, result.cause = o.code, o.root, o.cause
        break
    shutil.rmtree(folder)
    return result


def describe(r):
    head = "%3d %s:%d %s: %s" % (r.mutant.number, r.mutant.path, r.line, r.mutant.kind, r.state)
    if r.state == "broken":
        return head + "\n" + r.text
    if r.state == "survived":
        return "%s (%s)\n      %s" % (head, r.mutant.change, r.mutant.reason or "NO REASON KNOWN")
    return "%s, %s; %s%s, expected %s\n      %s\n      belfry %s%s" % (
        head, "named" if r.named else "NOT NAMED", r.root or "no rule", "" if r.code in (0, 1) else " (%s)" % r.code,
        " ".join(r.mutant.rules) or "none", r.mutant.change, r.command, "\n      " + r.cause if r.cause else "")


def share(a, b):
    return "%d of %d (%.1f %%)" % (a, b, 100.0 * a / b if b else 0)


def summary(results):
    families = sorted({r.mutant.path.split("/")[1] for r in results})
    rows = []
    for f in families + ["all"]:
        mine = [r for r in results if f == "all" or r.mutant.path.split("/")[1] == f]
        dead = [r for r in mine if r.state == "killed"]
        rows.append((f, len(mine), len(dead), sum(r.named for r in dead), sum(r.foreseen for r in dead)))
    return rows


def markdown(results):
    """Tables for docs/mutants.md: by family, by kind, survivors, and what has another name than expected."""
    out = ["| driver | mutants | killed | named right | as foreseen |", "| --- | --- | --- | --- | --- |"]
    for f, n, dead, right, foreseen in summary(results):
        out.append("| %s | %d | %s | %s | %s |" % (f, n, share(dead, n), share(right, dead), share(foreseen, dead)))
    equal = [r for r in results if r.equal]
    dead = sum(r.state == "killed" for r in results)
    out += ["", "%d mutants that live are no mistakes; of the others %s are killed." % (
        len(equal), share(dead, len(results) - len(equal)))]
    out += ["", "| kind | mutants | killed | named right |", "| --- | --- | --- | --- |"]
    for k in sorted({r.mutant.kind for r in results}):
        mine = [r for r in results if r.mutant.kind == k]
        dead = [r for r in mine if r.state == "killed"]
        out.append("| %s | %d | %d | %d |" % (k, len(mine), len(dead), sum(r.named for r in dead)))
    out += ["", "| survivor | change | reason |", "| --- | --- | --- |"]
    for r in results:
        if r.state == "survived":
            out.append("| %s:%d | `%s` | %s |" % (r.mutant.path, r.line, r.mutant.change.replace("|", "\\|"),
                                                   r.mutant.reason or "not known"))
    out += ["", "| killed under another name | change | found | expected |", "| --- | --- | --- | --- |"]
    for r in results:
        if r.state == "killed" and not r.named:
            found = r.root or (r.code if isinstance(r.code, str) else "wrong data or a deadlock, no rule")
            change = r.mutant.change.replace("|", "\\|")
            out.append("| %s:%d | `%s` | %s | %s |" % (r.mutant.path, r.line, change, found,
                                                       " ".join(r.mutant.rules) or "no rule"))
    return "\n".join(out) + "\n"


def list_only(mutants):
    for m in mutants:
        text, line = m.mutate()
        del text
        print("%3d %s:%d %s %s: %s [%s]" % (m.number, m.path, line, m.function, m.kind, m.change, " ".join(m.rules)))
    return 0


def check_only(mutants):
    bad = 0
    for m in mutants:
        try:
            m.mutate()
        except (OSError, ValueError) as e:
            print(e if str(e).startswith("line") else "line %d: %s" % (m.listed, e))
            bad += 1
    print("%d places, %d not there" % (len(mutants), bad))
    return 1 if bad else 0


def main():
    ap = argparse.ArgumentParser(description="Mutation run over the drivers' device code.")
    ap.add_argument("--build", help="build directory of this tree, generator Ninja")
    ap.add_argument("--only", action="append", metavar="TEXT",
                    help="mutants with this text in file, function or kind, or this number; several: any of them")
    ap.add_argument("--places", default=os.path.join(HERE, "mutants.txt"), metavar="FILE",
                    help="the list of mutants (mutants.txt)")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--results", help="keep results there as JSON; mutants that have one there are not run again")
    ap.add_argument("--again", action="store_true", help="with --results: run again what lived or has another name")
    ap.add_argument("--markdown", help="write tables there")
    ap.add_argument("--list", action="store_true", help="list the places and what is done there")
    ap.add_argument("--check", action="store_true", help="only whether each place of the list is in the source")
    ap.add_argument("--killed", type=float, default=0, help="fail when fewer percent of those that are mistakes are killed")
    ap.add_argument("--named", type=float, default=0, help="fail when fewer percent of those are named right")
    args = ap.parse_args()
    mutants = [m for m in read_list(args.places) if not args.only or m.is_one_of(args.only)]
    if args.list:
        return list_only(mutants)
    if args.check:
        return check_only(mutants)
    if not args.build:
        ap.error("--build is needed")
    builder = Builder(args.build)
    belfry = os.path.join(builder.build, "tools/belfry")
    sections = read_battery(os.path.join(HERE, "mutants_battery.txt"))
    work = tempfile.mkdtemp(prefix="mutants")
    lock = threading.Lock()
    results, saved = [], {}
    if args.results and os.path.exists(args.results):
        with open(args.results) as f:
            saved = {Result.key(x): x for x in json.load(f)}
    try:
        clean = Clean(belfry, work)

        def one(m):
            if m.saved() in saved:
                r = Result(m, 0).load(saved[m.saved()])
                if not args.again or r.named:
                    results.append(r)
                    return
            r = judge(m, builder, belfry, sections[section_for(sections, m.path)], clean,
                      os.path.join(work, "m%d" % m.number))
            with lock:
                results.append(r)
                saved[m.saved()] = r.save()
                print(describe(r), flush=True)
                if args.results:
                    with open(args.results, "w") as f:
                        json.dump(list(saved.values()), f, indent=1)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(one, mutants))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    results.sort(key=lambda r: r.mutant.number)
    for f, n, dead, right, foreseen in summary(results):
        print("%-10s killed %s, named right %s, as foreseen %s" % (f, share(dead, n), share(right, dead),
                                                                   share(foreseen, dead)))
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(markdown(results))
    _, n, dead, right, _ = summary(results)[-1]
    n -= sum(r.equal for r in results)
    broken = [r for r in results if r.state == "broken"]
    return 1 if broken or dead < n * args.killed / 100 or right < dead * args.named / 100 else 0


if __name__ == "__main__":
    sys.exit(main())
