#!/bin/sh
# Every rule: its example is named by it and by no other as the root cause, and the same done right has no finding. Rules
# without an example name the test that makes one. Likewise the symptoms of docs/rules.md: each row's command is named by
# its rule, or refused for its reason.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$BELFRY" rules --json >"$work/rules.json"
python3 - "$BELFRY" "$BELFRY_SOURCE_DIR" "$work" <<'PY'
import functools, json, os, re, shlex, subprocess, sys

belfry, source, work = sys.argv[1:]
trace = work + "/t.bft"
complaints = []


class Failed(Exception):
    pass


def call(*words):
    p = subprocess.run([belfry, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return p.returncode, p.stdout


# What lint makes of the trace of a command line. Many rules share a twin, which runs once.
@functools.cache
def lint(command):
    if os.path.exists(trace):
        os.remove(trace)
    rc, said = call(*shlex.split(command), "--trace", trace)
    if rc not in (0, 1):
        raise Failed("belfry %s does not run:\n%s" % (command, said))
    lint = subprocess.run([belfry, "lint", trace, "--json"], stdout=subprocess.PIPE)
    if lint.returncode not in (0, 3):
        raise Failed("lint of belfry %s ends with %d" % (command, lint.returncode))
    return json.loads(lint.stdout)["files"][0]["findings"]


def complete(r):
    for field in ("id", "family", "severity", "title", "hardware", "wrong", "fix", "sources"):
        if not r[field]:
            raise Failed("it says nothing about its " + field)
    if bool(r["example"]) == bool(r["test"]) or bool(r["example"]) != bool(r["twin"]):
        raise Failed("it has neither an example with its twin nor a test")
    if bool(r["test"]) != bool(r["why_no_example"]):
        raise Failed("it does not say why it has no example")


def tested(r):
    with open(os.path.join(source, r["test"])) as f:
        if '"%s"' % r["id"] not in f.read():
            raise Failed("%s does not show it" % r["test"])


def named(r):
    findings = lint(r["example"])
    found = {f["rule"] for f in findings}
    roots = [f["rule"] for f in findings if f["root"]]
    if (r["id"] not in found or roots) if r["severity"] == "note" else roots != [r["id"]]:
        raise Failed("belfry %s: root cause %s, of %s" % (r["example"], roots, " ".join(sorted(found))))


def silent(r):
    wrong = [f["rule"] for f in lint(r["twin"]) if f["severity"] != "note" or f["rule"] == r["id"]]
    if wrong:
        raise Failed("its twin, belfry %s, finds %s" % (r["twin"], " ".join(wrong)))


def shown(command, rule):
    if rule[0].isupper():
        if rule not in [f["rule"] for f in lint(command) if f["root"]]:
            raise Failed("belfry %s is not named %s" % (command, rule))
        return
    rc, said = call(*shlex.split(command))
    if rc != 2 or ": %s: " % rule not in said:
        raise Failed("belfry %s is not refused for %s" % (command, rule))


def check(who, what, *args):
    try:
        what(*args)
    except Failed as e:
        complaints.append("%s: %s" % (who, e))


with open(work + "/rules.json") as f:
    rules = json.load(f)
if len(rules) <= 40:
    sys.exit("there are %d rules" % len(rules))
for r in rules:
    check(r["id"], complete, r)
    if r["test"]:
        check(r["id"], tested, r)
    else:
        check(r["id"], named, r)
        check(r["id"], silent, r)

with open(source + "/docs/rules.md") as f:
    table = f.read().partition("<!-- symptoms")[2].partition("<!-- end of symptoms")[0]
rows = re.findall(r"^\| (\d+) \|.*\| `(.*)` \| ([A-Za-z0-9-]+) \|$", table, re.M)
if len({row for row, _, _ in rows}) != 30:
    complaints.append("docs/rules.md does not have 30 rows of symptoms")
for row, command, rule in rows:
    check("row " + row, shown, command, rule)

sys.exit("\n".join(complaints) or 0)
PY
