"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
window.onerror = message => { $("verdict").textContent = "This page failed: " + message; $("verdict").className = "bad"; };
const make = (tag, text, cls) => {
	const e = document.createElement(tag);
	if (text !== undefined) e.textContent = text;
	if (cls) e.className = cls;
	return e;
};
const add = (parent, ...children) => { parent.append(...children); return parent; };

/* Times are picoseconds. */
function span(ps) {
	const units = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"]];
	for (const [size, name] of units)
		if (Math.abs(ps) >= size) return (ps / size).toFixed(3) + " " + name;
	return ps + " ps";
}

/* ---- what lies at an address ---- */

const places = data.places.map(([va, bytes, entry, element, what, pe, region]) => ({ va: Number(va), bytes, entry, element, what, pe, region }));
/* Of several places the one of this PE, then what a device uses it for, then the latest. */
function placeOf(va, pe) {
	let best = null, rank = -1;
	for (const p of places) {
		if (va < p.va || va >= p.va + p.bytes) continue;
		const r = (p.pe === pe ? 2 : 0) + (p.region ? 0 : 1);
		if (r >= rank) { best = p; rank = r; }
	}
	if (!best) return "";
	const at = va - best.va, byte = best.entry ? at % best.entry : at;
	const part = best.entry ? best.element + " " + Math.floor(at / best.entry) + " of the " : "";
	return part + best.what + (!byte ? "" : best.region ? " + 0x" + byte.toString(16) : ", byte " + byte);
}
const peOf = actor => Number((/^[^.]*?(\d+)(\.|$)/.exec(actor) || [0, 0])[1]);

/* The text of an item with the places that it speaks of. */
const told = new Map();
function tell(it) {
	if (it.told) return it.told;
	const pe = peOf(tracks[it.track].name), key = pe + it.name;
	if (!told.has(key)) told.set(key, it.name.replace(/ at (0x[0-9a-f]+)/, (all, va) => { const p = placeOf(Number(va), pe); return p ? ": " + p : all; }));
	return it.told = told.get(key);
}

/* ---- views ---- */

const views = ["timeline", "queues", "memory", "findings", "statistics"];
const drawn = {};
function showView(name) {
	for (const v of views) $(v).classList.toggle("on", v === name);
	for (const b of $("tabs").children) b.classList.toggle("on", b.dataset.view === name);
	if (!drawn[name]) { drawn[name] = true; draw[name](); }
	if (name === "timeline") resize();
	if (location.hash.slice(1) !== name) history.replaceState(null, "", "#" + name);
}

/* ---- timeline: items by track, in order of time ---- */

/* data.items has seven numbers for each: track, begin, length or -1, name, flow, flags (1 bad, 2 open), record. */
const WIDTH = 7, BAD = 1, OPEN = 2, MARK = 4;
const tracks = data.tracks.map(([name, kind, parent], i) => ({ name, kind, parent, id: i + 1, items: [], children: [] }));
const byFlow = new Map();
for (let i = 0; i < data.items.length; i += WIDTH) {
	const t = data.items;
	const item = { track: t[i] - 1, begin: t[i + 1], end: t[i + 1] + Math.max(t[i + 2], 0), instant: t[i + 2] < 0,
		name: data.names[t[i + 3]], flow: t[i + 4], flags: t[i + 5], record: t[i + 6] };
	tracks[item.track].items.push(item);
	if (item.flow) {
		if (!byFlow.has(item.flow)) byFlow.set(item.flow, []);
		byFlow.get(item.flow).push(item);
	}
}
for (const t of tracks) {
	t.items.sort((a, b) => a.begin - b.begin || a.end - b.end);
	if (t.parent) tracks[t.parent - 1].children.push(t);
}
for (const list of byFlow.values()) list.sort((a, b) => a.begin - b.begin);
const busy = t => t.items.length > 0 || t.children.some(busy);
const folded = new Set();
/* Lanes of a warp are many and much alike: groups of more than forty tracks begin folded, but for the first. */
for (const t of tracks) if (!t.parent && t.children.length > 40) t.children.slice(1).forEach(c => { if (/\.l([1-9]\d*)$/.test(c.name)) c.hidden = true; });

/* A page holds so many items and no more: those until `held`. */
const held = data.left ? tracks.reduce((last, t) => t.items.length ? Math.max(last, t.items[t.items.length - 1].begin) : last, 0) : data.end;

const NAME = 150, ROW = 20, AXIS = 24, LEGEND = 16;
const view = { from: 0, to: Math.max(held * 1.01, 1), top: 0, rows: [], selected: null, hits: [], hit: -1 };
const canvas = $("canvas"), overview = $("overview");
const colours = new Map();
function colour(item) {
	if (item.flags & BAD) return css("--bad");
	const key = kindOf(item);
	if (!colours.has(key)) colours.set(key, `hsl(${60 + (colours.size * 167 + 150) % 270} 42% ${colours.size % 8 < 4 ? 48 : 60}%)`);
	return colours.get(key);
}
/* What has one colour: texts that are alike up to their first number, and all commands of a device. */
function kindOf(item) {
	if (item.kind) return item.kind;
	if (item.instant && !tracks[item.track].parent && /^[A-Z][A-Z0-9_]+$/.test(item.name)) return item.kind = "command";
	return item.kind = item.name.replace(/[:(0-9].*/, "").replace(/(,? (at|to|for|up to|from|WQE|PSN|DCT))*[ .]*$/, "") || item.name;
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function layOut() {
	view.rows = [];
	const put = (t, depth) => {
		if (!busy(t)) return;
		if (t.hidden && !t.items.some(i => i.flags & BAD)) return;
		view.rows.push({ track: t, depth });
		if (!folded.has(t.id)) for (const c of t.children) put(c, depth + 1);
	};
	for (const t of tracks) if (!t.parent) put(t, 0);
}

function resize() {
	for (const c of [canvas, overview]) {
		const r = c.getBoundingClientRect();
		c.width = Math.max(r.width * devicePixelRatio, 1);
		c.height = Math.max(r.height * devicePixelRatio, 1);
	}
	paint();
}

const x = (ps, width) => NAME + (ps - view.from) / (view.to - view.from) * (width - NAME);

/* The first item that is not over before `ps`. Spans of a track never overlap, so their ends are in order, too. */
function firstAt(items, ps) {
	let lo = 0, hi = items.length;
	while (lo < hi) {
		const mid = lo + hi >> 1;
		if (items[mid].end < ps) lo = mid + 1; else hi = mid;
	}
	return lo;
}

function paintAxis(g, width, height) {
	const range = view.to - view.from;
	let step = Math.pow(10, Math.ceil(Math.log10(range / Math.max((width - NAME) / 110, 1))));
	for (const part of [5, 2]) if (step / part * ((width - NAME) / range) > 90) { step /= part; break; }
	g.font = "11px system-ui, sans-serif";
	for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
		g.fillStyle = css("--line");
		g.fillRect(x(t, width), 0, 1, height);
		g.fillStyle = css("--dim");
		const label = span(Math.round(t)), at = x(t, width) + 4;
		if (at + g.measureText(label).width <= width) g.fillText(label, at, 15);
	}
}

/* Where the next item of the row is drawn. */
function nextAt(items, i, width) {
	for (i++; i < items.length; i++)
		if ($("memory-marks").checked || !(items[i].flags & MARK)) return x(items[i].begin, width) - (items[i].instant ? 4 : 0);
	return width;
}

function paintRow(g, row, y, width) {
	const items = row.track.items, found = new Set(view.hits);
	let drawnTo = -1;
	for (let i = firstAt(items, view.from); i < items.length && items[i].begin <= view.to; i++) {
		const it = items[i], a = Math.max(x(it.begin, width), NAME), b = Math.min(x(it.end, width), width);
		if (!$("memory-marks").checked && it.flags & MARK) continue;
		const wide = Math.max(b - a, it.instant ? 0 : 2);
		const special = it === view.selected || found.has(it) || it.flags & BAD;
		/* What falls on one pixel is drawn once. */
		if (!special && b < drawnTo) continue;
		drawnTo = Math.max(drawnTo, Math.floor(b) + 1);
		g.fillStyle = colour(it);
		if (it.instant) {
			g.beginPath();
			g.moveTo(a, y + 3); g.lineTo(a + 4, y + ROW / 2); g.lineTo(a, y + ROW - 4); g.lineTo(a - 4, y + ROW / 2);
			g.fill();
		} else {
			g.fillRect(a, y + 2, wide, ROW - 5);
			if (it.flags & OPEN) { g.fillStyle = css("--bad"); g.fillRect(b - 3, y + 2, 3, ROW - 5); }
			if (wide > 40) {
				g.save();
				g.beginPath(); g.rect(a, y, wide, ROW); g.clip();
				g.fillStyle = "#fff";
				g.fillText(tell(it), a + 5, y + 14);
				g.restore();
			}
		}
		if (wide <= 40) {
			/* Beside it, where nothing else is for the length of some words. */
			const left = Math.max(b, a + wide) + (it.instant ? 7 : 4), right = Math.min(nextAt(items, i, width), width) - 6;
			if (right - left > 60) {
				g.save();
				g.beginPath(); g.rect(left, y, right - left, ROW); g.clip();
				g.fillStyle = css(it.flags & BAD ? "--bad" : "--dim");
				g.fillText(tell(it), left, y + 14);
				g.restore();
			}
		}
		if (special && !(it.flags & BAD && it !== view.selected && !found.has(it))) {
			g.strokeStyle = it === view.selected ? css("--ink") : css("--warn");
			g.lineWidth = 2;
			g.strokeRect(a - (it.instant ? 5 : 0), y + 1, it.instant ? 10 : wide, ROW - 3);
		}
	}
}

/* The colours of what is in view, the most frequent first. A click searches for them. */
function paintLegend() {
	const seen = new Map();
	let bad = 0, open = 0;
	for (const row of view.rows)
		for (let items = row.track.items, i = firstAt(items, view.from); i < items.length && items[i].begin <= view.to; i++) {
			const it = items[i];
			if (!$("memory-marks").checked && it.flags & MARK) continue;
			if (it.flags & OPEN) open++;
			if (it.flags & BAD) { bad++; continue; }
			const k = seen.get(kindOf(it)) || { n: 0, it };
			k.n++;
			seen.set(kindOf(it), k);
		}
	const box = $("legend"), put = (sample, text, title) => {
		const e = make("button"), swatch = make("i");
		swatch.style.background = sample;
		add(e, swatch, text);
		e.title = title;
		add(box, e);
		return e;
	};
	const kinds = [...seen].sort((a, b) => b[1].n - a[1].n || (a[0] < b[0] ? -1 : 1)), shown = kinds.slice(0, LEGEND);
	const key = JSON.stringify([shown.map(([k, v]) => [k, v.n]), kinds.length, bad, open]);
	if (view.legend === key) return;
	view.legend = key;
	box.replaceChildren();
	if (bad) put(css("--bad"), "error", bad + " in view: errors, faults, waits without end");
	if (open) put(`linear-gradient(90deg, var(--line) 70%, var(--bad) 70%)`, "never ended", open + " in view");
	for (const [k, v] of shown)
		put(colour(v.it), k, v.n + " in view").onclick = () => { $("search").value = k; search(k); };
	if (kinds.length > shown.length) add(box, make("span", "and " + (kinds.length - shown.length) + " more", "dim"));
}

/* Arrows along the flow of what is selected. */
function paintFlow(g, width) {
	const flow = view.selected && view.selected.flow ? byFlow.get(view.selected.flow) : [];
	const yOf = new Map(view.rows.map((r, i) => [r.track.id, AXIS + i * ROW - view.top + ROW / 2]));
	g.strokeStyle = css("--accent");
	g.lineWidth = 1.5;
	for (let i = 1; i < flow.length; i++) {
		const from = flow[i - 1], to = flow[i], y1 = yOf.get(from.track + 1), y2 = yOf.get(to.track + 1);
		if (y1 === undefined || y2 === undefined) continue;
		const x1 = x(from.begin, width), x2 = x(to.begin, width);
		g.beginPath();
		g.moveTo(x1, y1);
		g.bezierCurveTo(x1 + 30, y1, x2 - 30, y2, x2, y2);
		g.stroke();
		g.beginPath();
		g.arc(x2, y2, 3, 0, 7);
		g.stroke();
	}
}

function paint() {
	const g = canvas.getContext("2d"), width = canvas.width / devicePixelRatio, height = canvas.height / devicePixelRatio;
	layOut();
	view.top = Math.max(0, Math.min(view.top, view.rows.length * ROW + AXIS - height + ROW));
	g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
	g.clearRect(0, 0, width, height);
	paintAxis(g, width, height);
	g.save();
	g.beginPath(); g.rect(0, AXIS, width, height - AXIS); g.clip();
	view.rows.forEach((row, i) => {
		const y = AXIS + i * ROW - view.top;
		if (y < AXIS - ROW || y > height) return;
		if (row.depth === 0) { g.fillStyle = css("--shade"); g.fillRect(0, y, width, ROW - 1); }
		g.save();
		g.beginPath(); g.rect(NAME - 4, y, width, ROW); g.clip();
		g.font = "11px system-ui, sans-serif";
		paintRow(g, row, y, width);
		g.restore();
		g.fillStyle = row.depth ? css("--dim") : css("--ink");
		g.font = (row.depth ? "" : "600 ") + "12px system-ui, sans-serif";
		const mark = row.track.children.length ? (folded.has(row.track.id) ? "\u25b8 " : "\u25be ") : "";
		const name = row.depth ? row.track.name.slice(row.track.name.indexOf(".") + 1) : row.track.name;
		g.fillText(mark + name, 8 + row.depth * 12, y + 14, NAME - 14 - row.depth * 12);
	});
	paintFlow(g, width);
	paintLegend();
	if (data.left && view.to > held) {
		const a = Math.max(x(held, width), NAME);
		g.fillStyle = css("--shade");
		g.fillRect(a, AXIS, width - a, height);
		g.fillStyle = css("--warn");
		g.fillText("not in this page", a + 8, AXIS + 14, Math.max(width - a - 8, 0));
	}
	if (!view.rows.length) {
		g.fillStyle = css("--dim");
		g.fillText("No record of this trace makes a bar or a mark.", NAME + 8, AXIS + 24, width - NAME - 8);
	}
	g.restore();
	paintOverview();
}

function paintOverview() {
	const g = overview.getContext("2d"), width = overview.width, height = overview.height, end = Math.max(data.end, 1);
	const sums = new Float64Array(Math.ceil(width) + 1), bad = new Uint8Array(sums.length);
	for (const t of tracks) for (const it of t.items) {
		const a = Math.floor(it.begin / end * (width - 1)), b = Math.floor(it.end / end * (width - 1));
		if (it.flags & BAD) bad[a] = 1;
		if (it.end === it.begin || t.kind === "agent") { sums[a] += it.instant ? 0.3 : 0; continue; }
		for (let i = a; i <= b; i++) sums[i]++;
	}
	const most = Math.max(1, ...sums);
	g.clearRect(0, 0, width, height);
	for (let i = 0; i < sums.length; i++) {
		const h = Math.sqrt(sums[i] / most) * (height - 4);
		g.fillStyle = bad[i] ? css("--bad") : css("--accent");
		g.fillRect(i, height - Math.max(h, bad[i] ? height / 2 : 0), 1, height);
	}
	g.fillStyle = "rgba(128,128,128,.25)";
	g.fillRect(0, 0, view.from / end * width, height);
	g.fillRect(view.to / end * width, 0, width, height);
}

function zoom(factor, at) {
	const centre = at === undefined ? (view.from + view.to) / 2 : at;
	let from = centre - (centre - view.from) * factor, to = centre + (view.to - centre) * factor;
	if (to - from < 20) return;
	move(from, to);
}

function move(from, to) {
	const size = Math.min(to - from, data.end * 1.02 || 1);
	from = Math.max(-0.01 * data.end, Math.min(from, data.end * 1.01 - size));
	view.from = from;
	view.to = from + size;
	paint();
}

function itemAt(px, py) {
	const width = canvas.width / devicePixelRatio, row = view.rows[Math.floor((py - AXIS + view.top) / ROW)];
	if (!row || py < AXIS) return null;
	if (px < NAME) return { row };
	let best = null, distance = 6;
	for (const it of row.track.items) {
		if (it.end < view.from || it.begin > view.to) continue;
		if (!$("memory-marks").checked && it.flags & MARK) continue;
		const a = x(it.begin, width), b = x(it.end, width);
		const d = px < a ? a - px : px > b ? px - b : it.instant ? 0 : 1;
		if (d < distance) { distance = d; best = it; }
	}
	return { row, item: best };
}

function select(it, reveal) {
	view.selected = it;
	const box = $("detail");
	box.replaceChildren();
	if (it) {
		const track = tracks[it.track], dl = make("dl");
		add(box, make("h3", tell(it), it.flags & BAD ? "bad" : ""));
		const put = (k, v) => add(dl, make("dt", k), make("dd", v));
		put("where", track.name);
		put("from", span(it.begin));
		if (!it.instant) { put("to", it.flags & OPEN ? "never ended" : span(it.end)); put("takes", span(it.end - it.begin)); }
		const address = / at (0x[0-9a-f]+)/.exec(it.name);
		if (address) put("address", address[1]);
		put("record", it.record);
		add(box, dl);
		const flow = it.flow ? byFlow.get(it.flow) : [];
		if (flow.length > 1) {
			add(box, make("h3", "The same doorbell"));
			const list = make("table");
			for (const f of flow) {
				const row = make("tr"), link = make("button", tell(f));
				link.onclick = () => select(f, true);
				const cell = make("td", undefined, "text");
				add(cell, link);
				add(row, cell, make("td", span(f.begin - flow[0].begin)));
				add(list, row);
			}
			add(box, list);
		}
		if (reveal) {
			const size = view.to - view.from;
			tracks[it.track].hidden = false;
			for (let t = tracks[it.track]; t; t = t.parent ? tracks[t.parent - 1] : null) folded.delete(t.id);
			if (it.begin < view.from || it.begin > view.to) move(it.begin - size / 2, it.begin + size / 2);
			layOut();
			const at = view.rows.findIndex(r => r.track.id === it.track + 1), height = canvas.height / devicePixelRatio;
			if (at * ROW < view.top || at * ROW > view.top + height - AXIS - ROW) view.top = at * ROW - height / 2;
		}
	}
	paint();
}

function search(text) {
	const words = text.toLowerCase();
	view.hits = [];
	view.hit = -1;
	if (words) for (const t of tracks) for (const it of t.items) if (it.name.toLowerCase().includes(words) || tell(it).toLowerCase().includes(words)) view.hits.push(it);
	view.hits.sort((a, b) => a.begin - b.begin);
	$("hits").textContent = words ? view.hits.length + " found" : "";
	paint();
}

function nextHit(step) {
	if (!view.hits.length) return;
	view.hit = (view.hit + step + view.hits.length) % view.hits.length;
	$("hits").textContent = view.hit + 1 + " of " + view.hits.length;
	select(view.hits[view.hit], true);
}

function listen() {
	let drag = null;
	canvas.addEventListener("wheel", e => {
		e.preventDefault();
		const width = canvas.width / devicePixelRatio;
		if (e.shiftKey) { view.top += e.deltaY || e.deltaX; paint(); return; }
		zoom(Math.exp(e.deltaY / 500), view.from + (e.offsetX - NAME) / (width - NAME) * (view.to - view.from));
	}, { passive: false });
	canvas.onpointerdown = e => { drag = { x: e.offsetX, y: e.offsetY, from: view.from, to: view.to, top: view.top, far: false }; canvas.setPointerCapture(e.pointerId); };
	canvas.onpointermove = e => {
		if (!drag) return;
		if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 4) drag.far = true;
		if (!drag.far) return;
		const d = (drag.x - e.offsetX) / (canvas.width / devicePixelRatio - NAME) * (drag.to - drag.from);
		view.top = drag.top + drag.y - e.offsetY;
		move(drag.from + d, drag.to + d);
	};
	canvas.onpointerup = e => {
		const click = drag && !drag.far, hit = click && itemAt(e.offsetX, e.offsetY);
		drag = null;
		if (!hit) return;
		if (hit.item === undefined) {
			const id = hit.row.track.id;
			if (hit.row.track.children.length) folded.has(id) ? folded.delete(id) : folded.add(id);
			hit.row.track.children.forEach(c => { c.hidden = false; });
			paint();
		} else {
			select(hit.item);
		}
	};
	canvas.onkeydown = e => {
		const size = view.to - view.from;
		const keys = { ArrowLeft: () => move(view.from - size / 5, view.to - size / 5), ArrowRight: () => move(view.from + size / 5, view.to + size / 5),
			ArrowUp: () => { view.top -= 60; paint(); }, ArrowDown: () => { view.top += 60; paint(); },
			"+": () => zoom(0.6), "-": () => zoom(1.6), "0": () => move(0, data.end * 1.01) };
		if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
	};
	overview.onpointerdown = e => {
		const at = e.offsetX / overview.getBoundingClientRect().width * data.end, size = view.to - view.from;
		move(at - size / 2, at + size / 2);
	};
	$("zoom-in").onclick = () => zoom(0.6);
	$("zoom-out").onclick = () => zoom(1.6);
	$("zoom-all").onclick = () => move(0, data.end * 1.01);
	$("memory-marks").onchange = paint;
	$("search").oninput = e => search(e.target.value);
	$("search").onkeydown = e => { if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1); };
	window.onresize = () => { if ($("timeline").classList.contains("on")) resize(); };
}

/* ---- queues: each entry's bytes and fields ---- */

function hexDump(hex) {
	const lines = [];
	for (let i = 0; i < hex.length; i += 32)
		lines.push((i / 2).toString(16).padStart(4, "0") + "  " + (hex.slice(i, i + 32).match(/../g) || []).join(" "));
	return lines.join("\n");
}

function drawQueue(q) {
	const box = make("div"), ring = make("div", undefined, "ring"), list = make("div");
	add(box, make("h2", q.name + ": " + q.entries.length + (q.left ? " of " + (q.left + q.entries.length) : "") + " entries"), ring, list);
	const show = e => {
		const row = make("div", undefined, "entry"), left = make("div"), right = make("pre", e.text);
		add(left, make("div", e.label, e.bad ? "bad" : ""), make("div", span(e.time), "dim"), make("pre", hexDump(e.bytes)));
		add(row, left, right);
		list.replaceChildren(row);
		for (const b of ring.children) b.classList.toggle("on", b.entry === e);
	};
	for (const e of q.entries) {
		const b = make("button", e.slot, e.bad ? "bad" : "");
		b.entry = e;
		b.title = e.label;
		b.onclick = () => show(e);
		add(ring, b);
	}
	if (q.entries.length) show(q.entries.find(e => e.bad) || q.entries[0]);
	return box;
}

/* ---- memory: how long stores stayed where only their thread saw them ---- */

function drawMemory() {
	const box = $("memory");
	add(box, make("p", "Each bar is a store that waited in a buffer, from the instruction to the moment when others could see it. "
		+ "Ticks are a device's reads of the same bytes: a tick inside a bar read what was there before.", "dim"));
	if (!data.stores.length) { add(box, make("p", "The trace has no store that others saw later than its thread.")); return; }
	const table = make("table"), head = make("tr"), ends = s => s[4] < 0 ? data.end : s[4];
	/* All bars have one scale, and a short time before them for reads that came just too early. */
	const longest = Math.max(...data.stores.map(s => ends(s) - s[3])), scale = t => 20 + t / longest * 280;
	for (const [h, cls] of [["thread", "text"], ["address", "text"], ["what is there", "text"], ["bytes"], ["stored"], ["seen by others"], ["after"], ["", "text"]])
		add(head, make("th", h, cls));
	add(table, head);
	for (const store of data.stores) {
		const [actor, va, len, issued, visible, reads] = store, row = make("tr"), cell = make("td");
		const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		const rect = (a, b, y, h, fill) => {
			const r = document.createElementNS("http://www.w3.org/2000/svg", "rect");
			for (const [k, v] of Object.entries({ x: scale(a - issued), width: Math.max((b - a) / longest * 280, 2), y, height: h })) r.setAttribute(k, v);
			r.style.fill = fill;
			bar.append(r);
		};
		bar.setAttribute("width", 310); bar.setAttribute("height", 14);
		rect(issued, ends(store), 3, 8, reads.length ? "var(--bad)" : "var(--accent)");
		for (const t of reads) rect(t, t, 0, 14, "var(--ink)");
		add(cell, bar);
		add(row, make("td", actor, "text"), make("td", va, "text mono"), make("td", placeOf(Number(va), peOf(actor)), "text"), make("td", len), make("td", span(issued)),
			make("td", visible < 0 ? "never" : span(visible), visible < 0 ? "bad" : ""), make("td", visible < 0 ? "" : span(visible - issued)), cell);
		add(table, row);
	}
	add(box, table);
	if (data.storesLeft) add(box, make("p", data.storesLeft + " more stores are not shown: those that a device read too early come first, then the longest.", "dim"));
}

/* ---- findings and statistics ---- */

function drawFindings() {
	const box = $("findings");
	if (data.story !== undefined) {
		const card = make("div", undefined, "finding error");
		add(card, make("h2", "The run failed (" + data.verdict + "), and no rule knows why"), make("pre", data.story));
		add(box, card);
	} else if (!data.findings.length) {
		add(box, make("p", "No rule found anything wrong.", "good"));
	}
	for (const f of data.findings) {
		const card = make("div", undefined, "finding " + f.severity);
		add(card, make("h2", (f.root ? "Root cause: " : "") + f.id + ": " + f.title), make("p", f.where + " at " + span(f.time), "dim"), make("p", f.text));
		if (f.root) add(card, make("p", f.hardware), make("p", f.fix));
		const go = make("button", "Show in the timeline");
		go.onclick = () => { showView("timeline"); const size = Math.max(f.end - f.begin, 1000); move(f.begin - size, f.end + size); };
		add(card, go);
		add(box, card);
	}
	if (data.unable.length) {
		const lacks = [...new Set(data.unable.flatMap(u => u.missing.split(" ")))].sort(), more = make("details", undefined, "dim");
		add(more, make("summary", data.unable.length + (data.unable.length === 1 ? " rule" : " rules") + " could not judge, for lack of records " + lacks.join(", ")));
		for (const u of data.unable) add(more, make("div", u.id + ": " + u.missing));
		add(box, more);
	}
}

function drawStatistics() {
	const box = $("statistics");
	if (!data.queues.length && !data.engines.length) add(box, make("p", "The trace has no entry to follow through a queue, and no engine."));
	if (data.stands_on) add(box, make("p", "What these times stand on: constants that are " + Object.entries(data.stands_on).map(([k, v]) => k + " " + Math.round(v) + " %").join(", ")));
	for (const q of data.queues) {
		const table = make("table"), head = make("tr");
		add(box, make("h2", q.name + " (" + q.kind + "): " + q.entries + " entries" + (q.unfinished ? ", " + q.unfinished + " unfinished" : "")));
		for (const h of ["until", "count", "min", "50 %", "90 %", "99 %", "max", "share"]) add(head, make("th", h));
		add(table, head);
		const all = Number(q.stages[q.stages.length - 1].sum_ps) || 1;
		for (const s of q.stages) {
			const row = make("tr");
			add(row, make("td", s.until === "all" ? "all of it" : s.until), make("td", s.count));
			for (const k of ["min_ps", "p50_ps", "p90_ps", "p99_ps", "max_ps"]) add(row, make("td", span(Number(s[k]))));
			add(row, make("td", s.until === "all" ? "" : Math.round(Number(s.sum_ps) / all * 100) + " %"));
			add(table, row);
		}
		add(box, table);
		const hist = make("div", undefined, "hist"), most = Math.max(1, ...q.histogram.map(h => h[1]));
		for (const [below, n] of q.histogram) {
			const bar = make("i");
			bar.style.width = n / most * 100 + "%";
			add(hist, make("span", "below " + span(Number(below)), "dim"), make("span", n), bar);
		}
		add(box, hist);
	}
	if (!data.engines.length) return;
	const table = make("table"), head = make("tr");
	add(box, make("h2", "Engines"));
	for (const h of ["", "times", "bytes", "busy", "share"]) add(head, make("th", h));
	add(table, head);
	for (const e of data.engines)
		add(table, add(make("tr"), make("td", e.name), make("td", e.count), make("td", e.bytes), make("td", span(Number(e.busy_ps))),
			make("td", (Number(e.busy_ps) / (data.end || 1) * 100).toFixed(1) + " %")));
	add(box, table);
}

const draw = {
	timeline: () => listen(),
	queues: () => { if (!data.rings.length) add($("queues"), make("p", "The trace has no bytes of entries.")); for (const q of data.rings) add($("queues"), drawQueue(q)); },
	memory: drawMemory,
	findings: drawFindings,
	statistics: drawStatistics,
};

$("title").textContent = data.title;
$("verdict").textContent = data.verdict;
$("verdict").className = data.verdict === "good" ? "good" : "bad";
document.title = data.title + " - Belfry";
for (const b of $("tabs").children) b.onclick = () => showView(b.dataset.view);
if (data.left) add($("detail"), make("p", data.left + " more items are not in this page; belfry export --to=perfetto has all.", "warn"));
showView(views.includes(location.hash.slice(1)) ? location.hash.slice(1) : data.findings.length ? "findings" : "timeline");
