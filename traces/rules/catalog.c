/* All rules: the families of all devices, each of which lists its own. */
#include <strings.h>

#include "sim/spell.h"
#include "traces/device.h"
#include "traces/rules/engine_internal.h"
#include "traces/rules/rule.h"

const struct bf_rule_family *bf_rule_family_at(uint32_t i)
{
	const struct bf_device *d;

	for (uint32_t k = 0; (d = bf_device_at(k)) != NULL; k++)
		for (const struct bf_rule_family *const *f = d->families; f && *f; f++)
			if (i-- == 0)
				return *f;
	return NULL;
}

const struct bf_rule_about *bf_rule_at(uint32_t i)
{
	const struct bf_rule_family *family;
	const struct bf_device *d;

	for (uint32_t f = 0; (family = bf_rule_family_at(f)) != NULL; f++)
		for (uint32_t k = 0; family->rules[k]; k++)
			if (i-- == 0)
				return &family->rules[k]->about;
	for (uint32_t k = 0; (d = bf_device_at(k)) != NULL; k++)
		for (const struct bf_device_rule *const *rule = d->rules; rule && *rule; rule++)
			if (i-- == 0)
				return &(*rule)->about;
	return NULL;
}

const struct bf_rule_about *bf_rule_by_id(const char *id)
{
	const struct bf_rule_about *rule;

	for (uint32_t i = 0; (rule = bf_rule_at(i)) != NULL; i++)
		if (strcasecmp(rule->id, id) == 0)
			return rule;
	return NULL;
}

int bf_rules_no_such(const char *id, size_t len, int code, struct bf_error *err)
{
	struct bf_spell s = { .word = id, .len = len };
	const struct bf_rule_about *rule;
	char hint[64];

	for (uint32_t i = 0; (rule = bf_rule_at(i)) != NULL; i++)
		bf_spell_try(&s, rule->id);
	bf_spell_hint(&s, hint, sizeof(hint));
	return bf_fail(err, code, "there is no rule \"%.*s\"%s `belfry rules` lists them", (int)len, id,
		       *hint ? hint : ";");
}
