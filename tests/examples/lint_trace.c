/* Judges a trace: what `belfry lint` does, in a program of one's own. */
#include <belfry.h>

static void print(const struct bf_found *f)
{
	printf("%s%s at %s, %llu ps: %s\n", f->root ? "root cause: " : "", f->rule->id, f->where,
	       (unsigned long long)f->at_ps, f->text);
}

int main(int argc, char **argv)
{
	struct bf_error err = { 0 };
	struct bf_rules *rules = NULL;
	struct bf_trace *trace = NULL;
	uint32_t problems;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: lint_trace FILE\n");
		return 2;
	}
	rc = bf_trace_open(argv[1], NULL, &trace, &err);
	if (!rc)
		rc = bf_rules_create(NULL, &rules, &err);
	if (!rc)
		rc = bf_rules_trace(rules, trace, &err);
	if (rc) {
		fprintf(stderr, "lint_trace: %s\n", err.text);
		bf_rules_destroy(rules);
		bf_trace_close(trace);
		return 2;
	}
	bf_rules_finish(rules, true);
	for (uint32_t i = 0; i < bf_rules_count(rules); i++)
		print(bf_rules_found(rules, i));
	problems = bf_rules_problems(rules);
	bf_rules_destroy(rules);
	bf_trace_close(trace);
	return problems ? 1 : 0;
}
