/* `belfry`: its commands, in the order in which the overview shows them. */
#include "tools/cli/program.h"

#include <stdlib.h>

#include "tools/cli/cli.h"
#include "tools/workloads/family.h"

extern const struct bf_command bf_cmd_launch;
extern const struct bf_command bf_cmd_exec;
extern const struct bf_command bf_cmd_record;
extern const struct bf_command bf_cmd_why;
extern const struct bf_command bf_cmd_replay;
extern const struct bf_command bf_cmd_explain;
extern const struct bf_command bf_cmd_stats;
extern const struct bf_command bf_cmd_lint;
extern const struct bf_command bf_cmd_rules;
extern const struct bf_command bf_cmd_import;
extern const struct bf_command bf_cmd_dump;
extern const struct bf_command bf_cmd_diff;
extern const struct bf_command bf_cmd_export;
extern const struct bf_command bf_cmd_decode;
extern const struct bf_command bf_cmd_check;
extern const struct bf_command bf_cmd_ptx;
extern const struct bf_command bf_cmd_serve;
extern const struct bf_command bf_cmd_switch;
extern const struct bf_command bf_cmd_lab;
extern const struct bf_command bf_cmd_bench;
extern const struct bf_command bf_cmd_doctor;
extern const struct bf_command bf_cmd_new;

/* Ours, then those of the program; ends with NULL. The caller frees it. */
static const struct bf_family **all_families(const struct bf_family *const *more)
{
	size_t n = 0, ours = 0;
	const struct bf_family **all;

	while (bf_families[ours])
		ours++;
	while (more && more[n])
		n++;
	all = calloc(ours + n + 1, sizeof(*all));
	for (size_t i = 0; all && i < ours + n; i++)
		all[i] = i < ours ? bf_families[i] : more[i - ours];
	return all;
}

int bf_main(int argc, char **argv, const struct bf_family *const *more)
{
	const struct bf_family **families = all_families(more);
	struct bf_forms forms = { .forms = NULL };
	const struct bf_command *const commands[] = {
		&forms.run,     &bf_cmd_launch,
#ifdef BELFRY_HAVE_EXEC
		&bf_cmd_exec,   &bf_cmd_record,
#endif
		&bf_cmd_why,    &bf_cmd_replay, &forms.explore, &forms.fences, &bf_cmd_explain, &bf_cmd_stats,
		&bf_cmd_lint,   &bf_cmd_rules,  &bf_cmd_import, &bf_cmd_dump,  &bf_cmd_diff,    &bf_cmd_export,
		&bf_cmd_decode, &bf_cmd_check,  &bf_cmd_ptx,    &bf_cmd_serve, &bf_cmd_switch,  &bf_cmd_lab,
		&bf_cmd_bench,  &bf_cmd_doctor, &bf_cmd_new,    NULL,
	};
	int code = BF_EXIT_USAGE;

	if (families && bf_forms_make(families, &forms) == 0)
		code = bf_cli_main(commands, argc, argv);
	else
		fprintf(stderr, "belfry: out of memory\n");
	bf_forms_free(&forms);
	free(families);
	return code;
}
