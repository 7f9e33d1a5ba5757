/* The forms of `belfry export`: a row each. */
#include "tools/exports/export.h"

#include <errno.h>

#include "tools/cli/input.h"
#include "tools/pictures/page.h"
#include "tools/pictures/sdma.h"
#include "tools/report/topology_picture.h"
#include "traces/export/ctf.h"
#include "traces/export/fst.h"
#include "traces/export/pcapng.h"
#include "traces/export/perfetto.h"
#include "traces/export/vcd.h"

/* "run.pf: 12 tracks, 3456 events" on standard output, when that is not where the export goes. */
static void tell(const struct bf_args *args, FILE *out, uint64_t n, const char *what, uint64_t m, const char *of)
{
	if (out != stdout && !bf_arg_json(args))
		printf("%s: %llu %s, %llu %s\n", bf_arg_text(args, "o"), (unsigned long long)n, what,
		       (unsigned long long)m, of);
}

static int export_pcapng(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	const struct bf_pcapng_options o = { .both = bf_arg_flag(args, "both") };
	struct bf_pcapng_result r = { 0 };
	int rc = bf_pcapng_export(in->trace, &o, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.packets, "packets", r.interfaces, "ports");
	return rc;
}

static int export_jsonl(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	const struct bf_trace_options o = { .jsonl = true };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(bf_arg_text(args, "o"), out, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = bf_trace_copy(in->trace, w);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

static int export_svg(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	struct bf_picture p;
	int rc;

	(void)args;
	bf_picture_init(&p);
	rc = bf_picture_read(&p, in->trace);
	if (!rc || rc == -EBADMSG)
		rc = bf_picture_draw(&p, out, err);
	bf_picture_free(&p);
	return rc;
}

static int export_perfetto(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	const struct bf_timeline_options o = { .memory = bf_arg_flag(args, "memory") };
	struct bf_perfetto_result r = { 0 };
	int rc = bf_perfetto_export(in->trace, &o, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.tracks, "tracks", r.events, "events");
	return rc;
}

static int export_topology(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	(void)args;
	return bf_topology_picture(in->trace, out, err);
}

static int export_vcd(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	struct bf_vcd_result r = { 0 };
	const int rc = bf_vcd_export(in->trace, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.signals, "signals", r.changes, "changes");
	return rc;
}

static int export_fst(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	struct bf_vcd_result r = { 0 };
	const int rc = bf_fst_export(in->trace, out, &r, err);

	if (!rc || rc == -EBADMSG)
		tell(args, out, r.signals, "signals", r.changes, "changes");
	return rc;
}

static int export_ctf(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err)
{
	const char *path = bf_arg_text(args, "o");
	struct bf_ctf_result r = { 0 };
	const int rc = bf_ctf_export(in->trace, path, &r, err);

	(void)out;
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

static const struct bf_export_form forms[] = {
	{ .form = { .name = "pcapng",
		    .details = "the packets, for Wireshark and tshark.",
		    .example = "  belfry export run.bft --to=pcapng -o run.pcapng && tshark -r run.pcapng" },
	  .option = "both",
	  .run = export_pcapng },
	{ .form = { .name = "jsonl", .details = "everything, as JSON Lines, which belfry can read." },
	  .run = export_jsonl },
	{ .form = { .name = "svg", .details = "the surfaces that sub-window copies filled (runs of sdma-rect)." },
	  .run = export_svg },
	{ .form = { .name = "perfetto",
		    .details =
			"tracks of agents, queues, ports and engines, with arrows from doorbell to completion, for "
			"ui.perfetto.dev.",
		    .example = "  belfry export run.bft --to=perfetto -o run.perfetto-trace" },
	  .option = "memory",
	  .run = export_perfetto },
	{ .form = { .name = "vcd", .details = "indices, phases, states and barrier words as waveforms, for GTKWave." },
	  .run = export_vcd },
	{ .form = { .name = "html",
		    .details = "one page for any browser, usable offline: timeline, queues byte by byte, late stores, "
			       "findings and "
			       "statistics." },
	  .option = "memory",
	  .run = export_html },
	{ .form = { .name = "topology-svg",
		    .details = "switches, links and hosts of a run with --topology, with their load." },
	  .run = export_topology },
	{ .form = { .name = "fst", .details = "the waveforms of vcd in the form that GTKWave opens faster." },
	  .run = export_fst },
	{ .form = { .name = "ctf",
		    .details = "a folder with all records as events, for babeltrace2 and Trace Compass." },
	  .folder = true,
	  .run = export_ctf },
};

const struct bf_export_form *bf_export_form_at(unsigned i)
{
	return i < BF_ARRAY_LEN(forms) ? &forms[i] : NULL;
}
