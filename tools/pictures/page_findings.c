/* What rules found, and how long entries took. */
#include <errno.h>
#include <stdlib.h>

#include "tools/pictures/page_internal.h"
#include "tools/report/basis.h"
#include "tools/report/stats.h"
#include "traces/life/last.h"
#include "traces/rules/rules.h"

/* Of a run that failed and whose cause no finding is. */
static void put_story(struct bf_json *j, struct bf_trace *t, const struct bf_rules *rules)
{
	char *text = NULL;
	size_t len;
	FILE *out = bf_last_failed(t, rules) ? open_memstream(&text, &len) : NULL;

	if (!out)
		return;
	bf_last_story(t, out);
	if (fclose(out) == 0)
		bf_json_text(j, "story", text);
	free(text);
}

int bf_page_findings(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job)
{
	const struct bf_unable *u;
	struct bf_rules *rules;
	int rc = bf_rules_create(NULL, &rules, job->err);

	if (rc)
		return rc;
	rc = bf_rules_trace(rules, t, job->err);
	if (bf_rules_finish(rules, rc == 0)) {
		bf_rules_destroy(rules);
		return bf_fail(job->err, -ENOMEM, "no memory for rules");
	}
	bf_json_open(j, "findings", '[');
	for (uint32_t i = 0; i < bf_rules_count(rules); i++) {
		const struct bf_found *f = bf_rules_found(rules, i);

		bf_json_open(j, NULL, '{');
		bf_json_text(j, "id", f->rule->id);
		bf_json_text(j, "title", f->rule->title);
		bf_json_text(j, "severity", bf_severity_name(f->rule->severity));
		bf_json_text(j, "hardware", f->rule->hardware);
		bf_json_text(j, "fix", f->rule->fix);
		bf_json_bool(j, "root", f->root);
		bf_json_text(j, "where", f->where);
		bf_json_u64(j, "time", f->at_ps);
		bf_json_u64(j, "begin", f->begin_ps);
		bf_json_u64(j, "end", f->end_ps);
		bf_json_text(j, "text", f->text);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_open(j, "unable", '[');
	for (uint32_t i = 0; (u = bf_rules_unable(rules, i)); i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "id", u->rule->id);
		bf_json_text(j, "missing", u->missing);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	put_story(j, t, rules);
	job->result->findings = bf_rules_problems(rules);
	bf_rules_destroy(rules);
	return rc;
}

int bf_page_statistics(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job)
{
	struct bf_stages *s;
	int rc = bf_stages_read(t, &s, job->err);

	if (s) {
		struct bf_basis_share basis;

		bf_basis_share(s, t, NULL, &basis);
		bf_basis_json(j, &basis);
		bf_stats_json(j, s, NULL);
	}
	bf_stages_destroy(s);
	return rc;
}
