#include <stddef.h>

#include "tools/cli/cli.h"
#include "tools/workloads/family.h"

extern const struct bf_command bf_cmd_launch;
extern const struct bf_command bf_cmd_exec;
extern const struct bf_command bf_cmd_record;
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
extern const struct bf_command bf_cmd_doctor;

int main(int argc, char **argv)
{
	struct bf_forms forms;
	/* In the order in which the overview shows them. */
	const struct bf_command *const commands[] = {
		&forms.run,     &bf_cmd_launch,
#ifdef BELFRY_HAVE_EXEC
		&bf_cmd_exec,   &bf_cmd_record,
#endif
		&bf_cmd_replay, &forms.explore, &bf_cmd_explain, &bf_cmd_stats,  &bf_cmd_lint,   &bf_cmd_rules,
		&bf_cmd_import, &bf_cmd_dump,   &bf_cmd_diff,    &bf_cmd_export, &bf_cmd_decode, &bf_cmd_check,
		&bf_cmd_ptx,    &bf_cmd_serve,  &bf_cmd_switch,  &bf_cmd_lab,    &bf_cmd_doctor, NULL,
	};
	int code = BF_EXIT_USAGE;

	if (bf_forms_make(bf_families, &forms) == 0)
		code = bf_cli_main(commands, argc, argv);
	else
		fprintf(stderr, "belfry: out of memory\n");
	bf_forms_free(&forms);
	return code;
}
