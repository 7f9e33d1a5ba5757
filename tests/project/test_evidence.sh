#!/bin/bash
# The pages of docs/hardware: each fact has a number, a mark and a source, and every citation of such a page, in code, in
# the sources of rules and in other pages, names a page and a section or fact that are there. Links between all pages lead
# to files and headings that are there.
set -u
cd "$BELFRY_SOURCE_DIR" || exit 1
python3 - <<'END'
import glob, json, os, re, subprocess, sys

complaints = []
anchors = {}  # page: headings and facts
cells = re.compile(r"(?<!\\)\|")

for page in sorted(glob.glob("docs/hardware/*.md")):
    name = os.path.basename(page)
    known = anchors[name] = set()
    section, facts = None, 0
    for number, line in enumerate(open(page), 1):
        if line.startswith("#"):
            section = re.sub(r"[^a-z0-9 -]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            if section in known:
                complaints.append(f"{page}:{number}: section {section} is there twice")
            known.add(section)
            facts = 0
        row = [c.strip() for c in cells.split(line)][1:-1]
        if not line.startswith("|") or len(row) != 4 or row[0] == "no." or set(row[0]) <= set("-"):
            continue
        facts += 1
        if row[0] != f"{section}-{facts}":
            complaints.append(f"{page}:{number}: {row[0]} should be {section}-{facts}")
        if row[2] not in ("measured", "source", "assumed"):
            complaints.append(f"{page}:{number}: {row[0]} has the mark '{row[2]}'")
        if not row[1] or not row[3]:
            complaints.append(f"{page}:{number}: {row[0]} lacks a fact or a source")
        known.add(row[0])
    if name != "README.md" and not any(re.search(r"-\d+$", a) for a in known):
        complaints.append(f"{page} has no fact")

index = open("docs/hardware/README.md").read()
for name in anchors:
    if name != "README.md" and f"({name})" not in index:
        complaints.append(f"docs/hardware/README.md does not name {name}")

cited = 0
cite = re.compile(r"docs/hardware/([a-z0-9-]+\.md)(?:#([a-z0-9-]+))?")
document = re.compile(r"(\b[A-Za-z0-9-]+/[A-Za-z0-9-]+ )?(?<![A-Za-z0-9_./-])([A-Za-z0-9_/-]+\.md)\b")  # behind owner/name: another's
link = re.compile(r"\]\(([^)#:]*)(?:#([^)]+))?\)")


def resolve(where, page, anchor):
    global cited
    cited += 1
    if page not in anchors:
        complaints.append(f"{where}: there is no page docs/hardware/{page}")
    elif anchor and anchor not in anchors[page]:
        complaints.append(f"{where}: docs/hardware/{page} has no {anchor}")


def headings(page):
    lines = [l.lstrip("#").strip() for l in open(page) if l.startswith("#")]
    return {re.sub(r"[^a-z0-9 _-]", "", l.lower()).replace(" ", "-") for l in lines}


files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.def", "*.sh", "*.py", "*.md", "*.cu"], capture_output=True, text=True)
names = files.stdout.split() or [os.path.join(d, f) for top in ("sim", "models", "traces", "drivers", "tools", "docs", "tests")
                                 for d, _, fs in os.walk(top) for f in fs if re.search(r"\.(c|h|def|sh|py|md|cu)$", f)]
for name in names:
    if name == "docs/hardware/README.md" or not os.path.exists(name):
        continue
    text = open(name, errors="replace").read()
    text = re.sub(r"\n[ \t]*(\*|#|//)?[ \t]*", " ", text) if not name.endswith(".md") else text
    for m in cite.finditer(text):
        resolve(name, m[1], m[2])
    if name.endswith((".c", ".h", ".def")):
        for m in document.finditer(text):
            if not os.path.exists(m[2]) and not m[1]:
                complaints.append(f"{name} cites {m[2]}, which is not in the repository")
    if name.endswith(".md"):
        for m in link.finditer(re.sub(r"```.*?\n```|`[^`\n]*`", "", text, flags=re.S)):
            target = os.path.normpath(os.path.join(os.path.dirname(name), m[1])) if m[1] else name
            if target.startswith("docs/hardware/") and target.endswith(".md"):
                resolve(name, os.path.basename(target), m[2])
            elif not os.path.exists(target) or m[2] and m[2] not in headings(target):
                complaints.append(f"{name}: the link to {m[1]}#{m[2] or ''} leads nowhere")

rules = json.loads(subprocess.run([os.environ["BELFRY"], "rules", "--json"], capture_output=True, text=True).stdout)
for rule in rules:
    if not rule["sources"]:
        complaints.append(f"{rule['id']} has no source")
    if re.search(r"(^|; )reference ", rule["sources"]):
        complaints.append(f"{rule['id']} cites '{rule['sources']}'")
    for m in cite.finditer(rule["sources"]):
        resolve(rule["id"], m[1], m[2])

print("\n".join(complaints))
print(f"{sum(len([a for a in s if re.search(r'-[0-9]+$', a)]) for s in anchors.values())} facts, {cited} citations, "
      f"{len(complaints)} complaints")
sys.exit(bool(complaints))
END
