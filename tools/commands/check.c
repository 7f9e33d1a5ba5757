/*
 * belfry check: the lines of a file, one after the other, compared with the models.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/checks/check.h"
#include "traces/container/text.h"

static const struct bf_check_form *const forms[] = {
	&bf_check_cqe,    &bf_check_nvme, &bf_check_hopper_mbarrier, &bf_check_hopper_timing,
	&bf_check_litmus, &bf_check_ptx,  &bf_check_sdma_rect,       &bf_check_timing
};

static int take_file(const struct bf_check_form *form, struct bf_check *t, FILE *f, struct bf_error *err)
{
	struct bf_text_lines lines = { .f = f };
	int rc = form->begin ? form->begin(t, err) : 0, more = 0;

	while (!rc && (more = bf_text_line(&lines, err)) > 0) {
		struct bf_json_line l = { .start = lines.text,
					  .p = lines.text,
					  .end = lines.text + lines.len,
					  .number = (uint32_t)lines.number,
					  .err = err };

		if (bf_json_line_blank(&l))
			continue;
		rc = bf_json_line_scan(&l);
		if (!rc)
			rc = form->take(t, &l);
	}
	rc = more < 0 ? more : rc;
	if (!rc && !t->taken)
		rc = bf_fail(err, -EBADMSG, "there is no %s in it", form->each);
	free(lines.text);
	return rc;
}

/* One JSON document, whether the file is read to its end or not. */
static int take_json(const struct bf_check_form *form, struct bf_check *t, FILE *f, struct bf_error *err)
{
	struct bf_json j;
	int rc;

	t->json = &j;
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, form->list, '[');
	rc = take_file(form, t, f, err);
	bf_json_close(&j, ']');
	form->summary(&j, t);
	if (rc)
		bf_json_text(&j, "error", err->text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return rc;
}

static int check_file(const struct bf_args *args, const struct bf_check_form *form, const char *path, FILE *f)
{
	struct bf_check *t = calloc(1, form->tally_bytes);
	struct bf_error err = { 0 };
	int rc, code;

	if (!t)
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	t->path = path;
	rc = bf_arg_json(args) ? take_json(form, t, f, &err) : take_file(form, t, f, &err);
	if (!rc && !t->json)
		form->print(t);
	if (form->end)
		form->end(t);
	code = t->bad ? BF_EXIT_FAILED : BF_EXIT_GOOD;
	free(t);
	if (rc) {
		fflush(stdout);
		fprintf(stderr, "belfry check: %s: %s\n", path, err.text);
		return BF_EXIT_USAGE;
	}
	return code;
}

static int run_check(const struct bf_args *args)
{
	const char *name = bf_arg_positional(args, 0), *path = bf_arg_positional(args, 1);
	char known[128] = "";
	FILE *f;
	int code;

	for (size_t i = 0; i < BF_ARRAY_LEN(forms); i++) {
		if (strcmp(name, forms[i]->name) != 0) {
			size_t n = strlen(known);

			snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", forms[i]->name);
			continue;
		}
		f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
		if (!f)
			return bf_cli_error(args, BF_EXIT_USAGE, "cannot open %s: %s", path, strerror(errno));
		code = check_file(args, forms[i], path, f);
		if (f != stdin)
			fclose(f);
		return code;
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no form '%s'; known: %s", name, known);
}

static const struct bf_opt options[] = { { 0 } };

const struct bf_command bf_cmd_check = {
	.name = "check",
	.usage = "check mlx5-cqe|nvme|sdma-rect|hopper-mbarrier|hopper-timing|litmus|ptx|timing FILE",
	.summary = "compare the models with data from real devices",
	.details =
	    "mlx5-cqe: FILE is JSON Lines with \"words\" (16 big-endian words) or \"bytes\" (hex), and the "
	    "expected result: a \"note\" in words (\"remote access error\", \"vendor_err 0x88\", \"qpn "
	    "0x6214\", \"CQ slot 2\"), or \"expect\" with syndrome, vendor, qpn, opcode, status and slot. If "
	    "the slot is known, the signature is checked too. Exit code 1: some completion differs from what "
	    "is expected.\n"
	    "\n"
	    "nvme: FILE is JSON Lines with what Linux, nvme-cli and smartctl printed (\"kind\", \"source\", "
	    "\"text\"). Traces run on the model, and status, order and queue heads are compared. Identify "
	    "data and logs are converted to bytes and printed again; then the model's own are printed in the "
	    "same form.\n"
	    "\n"
	    "sdma-rect: FILE is JSON Lines with requests for sub-window copies and the packets that they "
	    "become.\n"
	    "Packets are compared dword by dword; then they run on the model, and the result is compared "
	    "with a\n"
	    "plain loop.\n"
	    "\n"
	    "hopper-mbarrier: FILE is JSON Lines with sequences of barrier operations that a GPU ran; words, "
	    "tokens,\n"
	    "results and faults are compared step by step.\n"
	    "\n"
	    "hopper-timing: FILE is JSON Lines with rows that a probe measured on a GPU; each is run as the "
	    "same experiment on\n"
	    "the model. A row is within bounds if its values are within 5 % or 3 cycles and its counts are "
	    "equal.\n"
	    "\n"
	    "litmus: FILE is JSON Lines with litmus tests of the PTX or x86-TSO memory model: locations, threads, an "
	    "outcome, and whether some execution may end so. Each thread is an agent on the views, and every execution "
	    "is tried: no forbidden outcome may be seen, every allowed one must be. Tests of the PTX model run on the "
	    "store buffers of the views, too, which must not show what is forbidden.\n"
	    "\n"
	    "ptx: FILE is JSON Lines with PTX kernels that a GPU ran. Each runs on the model, and checksums of its "
	    "registers or of its output are compared. A line that names a \"kernel\" means one of the module beside "
	    "FILE, whose name ends in .ptx in place of .jsonl.\n"
	    "\n"
	    "timing: FILE is JSON Lines with figures that others published: \"device\", \"metric\", \"op\", size, "
	    "queue "
	    "pairs, depth, \"hardware\", \"conditions\", \"value\" and \"unit\". Each is run as the experiment that it "
	    "was, or the reason is printed why it cannot be. The table tells the errors of each source. They are no "
	    "pass or fail: the exit code is 0 when all could be read (docs/timing.md).\n"
	    "\n"
	    "  belfry check mlx5-cqe traces/samples/mlx5_cqe_dumps.jsonl\n"
	    "  belfry check nvme traces/samples/nvme_captures.jsonl\n"
	    "  belfry check sdma-rect traces/samples/sdma_rect_tiles.jsonl\n"
	    "  belfry check hopper-mbarrier traces/samples/hopper_mbarrier_edges_h200.jsonl",
	.words = "mlx5-cqe|nvme|sdma-rect|hopper-mbarrier|hopper-timing|litmus|ptx|timing",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = run_check,
};
