/* belfry export: traces for other programs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/pictures/page.h"
#include "tools/pictures/sdma.h"
#include "tools/report/topology_picture.h"
#include "traces/export/ctf.h"
#include "traces/export/fst.h"
#include "traces/export/pcapng.h"
#include "traces/export/perfetto.h"
#include "traces/export/vcd.h"

enum { TO_PCAPNG, TO_JSONL, TO_SVG, TO_PERFETTO, TO_VCD, TO_HTML, TO_TOPOLOGY_SVG, TO_FST, TO_CTF };

/* "run.pf: 12 tracks, 3456 events" on standard output, when that is not where the export goes. */
static void tell(const struct bf_args *args, FILE *out, uint64_t n, const char *what, uint64_t m, const char *of)
{
	if (out != stdout && !bf_arg_json(args))
		printf("%s: %llu %s, %llu %s\n", bf_arg_text(args, "o"), (unsigned long long)n, what,
		       (unsigned long long)m, of);
}

static int export_pcapng(const struct bf_args *args, struct bf_trace *t, FILE *out, struct bf_error *err)
{
	const struct bf_pcapng_options o = { .both = bf_arg_flag(args, "both") };
	struct bf_pcapng_result r = { 0 };
	int rc = bf_pcapng_export(t, &o, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.packets, "packets", r.interfaces, "ports");
	return rc;
}

static int export_jsonl(const struct bf_args *args, struct bf_trace *t, FILE *out, struct bf_error *err)
{
	const struct bf_trace_options o = { .jsonl = true };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(bf_arg_text(args, "o"), out, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = bf_trace_copy(t, w);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

static int export_svg(struct bf_trace *t, FILE *out, struct bf_error *err)
{
	struct bf_picture p;
	int rc;

	bf_picture_init(&p);
	rc = bf_picture_read(&p, t);
	if (!rc || rc == -EBADMSG)
		rc = bf_picture_draw(&p, out, err);
	bf_picture_free(&p);
	return rc;
}

static int export_perfetto(const struct bf_args *args, struct bf_trace *t, FILE *out, struct bf_error *err)
{
	const struct bf_timeline_options o = { .memory = bf_arg_flag(args, "memory") };
	struct bf_perfetto_result r = { 0 };
	int rc = bf_perfetto_export(t, &o, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.tracks, "tracks", r.events, "events");
	return rc;
}

static int export_waves(const struct bf_args *args, struct bf_trace *t, FILE *out, struct bf_error *err)
{
	struct bf_vcd_result r = { 0 };
	int rc = bf_arg_u64(args, "to") == TO_FST ? bf_fst_export(t, out, &r, err) : bf_vcd_export(t, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.signals, "signals", r.changes, "changes");
	return rc;
}

/* A folder, so -o names it. */
static int export_ctf(const struct bf_args *args, struct bf_trace *t, struct bf_error *err)
{
	const char *path = bf_arg_text(args, "o");
	struct bf_ctf_result r = { 0 };
	int rc = bf_ctf_export(t, path, &r, err);

	if ((!rc || rc == -EBADMSG) && !bf_arg_json(args))
		printf("%s: %llu events, %llu types\n", path, (unsigned long long)r.events,
		       (unsigned long long)r.types);
	return rc;
}

static int export_html(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	struct bf_page_result r;
	int rc = bf_page_export(in, bf_arg_positional(args, 0), bf_arg_flag(args, "memory"), out, &r, err);

	if (!rc)
		tell(args, out, r.items, "items", r.findings, "findings");
	return rc;
}

static int export_form(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	struct bf_trace *t = in->trace;

	switch (bf_arg_u64(args, "to")) {
	case TO_PCAPNG:
		return export_pcapng(args, t, out, err);
	case TO_SVG:
		return export_svg(t, out, err);
	case TO_TOPOLOGY_SVG:
		return bf_topology_picture(t, out, err);
	case TO_PERFETTO:
		return export_perfetto(args, t, out, err);
	case TO_VCD:
	case TO_FST:
		return export_waves(args, t, out, err);
	case TO_HTML:
		return export_html(args, in, out, err);
	case TO_CTF:
		return export_ctf(args, t, err);
	default:
		return export_jsonl(args, t, out, err);
	}
}

static int export_to(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	int rc = export_form(args, in, out, err);

	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (in->damage)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", in->damage_error.text);
	return BF_EXIT_GOOD;
}

/* What failed before its first byte leaves no file behind that looks like a result. */
static void drop_empty(FILE *out, const char *path)
{
	struct stat st;

	if (fflush(out) == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(path);
}

static int export(const struct bf_args *args)
{
	const char *path = bf_arg_text(args, "o");
	const bool to_file = path && strcmp(path, "-") != 0, to_folder = bf_arg_u64(args, "to") == TO_CTF;
	struct bf_error err = { 0 };
	struct bf_input in = { 0 };
	FILE *out = stdout;
	int code;

	if (!bf_arg_given(args, "to"))
		return bf_cli_error(
		    args, BF_EXIT_USAGE,
		    "into which form? --to=pcapng, jsonl, svg, perfetto, vcd, html, topology-svg, fst or ctf");
	if (bf_arg_flag(args, "both") && bf_arg_u64(args, "to") != TO_PCAPNG)
		return bf_cli_error(args, BF_EXIT_USAGE, "--both is for --to=pcapng");
	if (bf_arg_flag(args, "memory") && bf_arg_u64(args, "to") != TO_PERFETTO && bf_arg_u64(args, "to") != TO_HTML)
		return bf_cli_error(args, BF_EXIT_USAGE, "--memory is for --to=perfetto and --to=html");
	if (to_folder && !to_file)
		return bf_cli_error(args, BF_EXIT_USAGE, "--to=ctf makes a folder: -o says which");
	if (bf_input_open(bf_arg_positional(args, 0), &in, &err)) {
		bf_input_close(&in);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	}
	if (to_file && !to_folder)
		out = fopen(path, "wb");
	if (!out)
		code = bf_cli_error(args, BF_EXIT_USAGE, "cannot write %s: %s", path, strerror(errno));
	else
		code = export_to(args, &in, out, &err);
	bf_input_close(&in);
	if (out && out != stdout && code != BF_EXIT_GOOD)
		drop_empty(out, path);
	if (out && out != stdout && bf_output_close(out, path, &err) != 0 && code == BF_EXIT_GOOD)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (to_file && code == BF_EXIT_GOOD && bf_arg_json(args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "written", path);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "to",
	  .kind = BF_OPT_ENUM,
	  .arg = "pcapng|jsonl|svg|perfetto|vcd|html|topology-svg|fst|ctf",
	  .help = "the form" },
	{ .name = "o",
	  .kind = BF_OPT_OUT,
	  .arg = "FILE",
	  .help = "output file; default: standard output. ctf: the folder" },
	{ .name = "both", .kind = BF_OPT_FLAG, .help = "pcapng: also record packets where they arrive" },
	{ .name = "memory",
	  .kind = BF_OPT_FLAG,
	  .help = "perfetto, html: also show each store, load and atomic of drivers" },
	{ 0 },
};

const struct bf_command bf_cmd_export = {
	.name = "export",
	.usage = "export TRACE --to=FORM [-o FILE]",
	.summary = "convert a trace for another program",
	.details = "pcapng: the packets, for Wireshark and tshark. jsonl: everything, as JSON Lines, which belfry "
		   "can read. svg: the surfaces that sub-window copies filled (runs of sdma-rect). topology-svg: "
		   "switches, links and hosts of a run with --topology, with their load. perfetto: tracks of "
		   "agents, queues, ports and engines, with arrows from doorbell to completion, for "
		   "ui.perfetto.dev. vcd and fst: indices, phases, states and barrier words as waveforms, for "
		   "GTKWave. html: one page for any browser, usable offline: timeline, queues byte by byte, late "
		   "stores, findings and statistics. ctf: a folder with all records as events, for babeltrace2 and "
		   "Trace Compass.\n"
		   "\n"
		   "  belfry export run.bft --to=pcapng -o run.pcapng && tshark -r run.pcapng\n"
		   "  belfry export run.bft --to=perfetto -o run.perfetto-trace",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = export,
};
