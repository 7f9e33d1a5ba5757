/* All rules: the families, each of which lists its own. */
#include <strings.h>

#include "traces/rules/rule.h"

extern const struct bf_rule_family bf_rules_ll, bf_rules_shmem;
extern const struct bf_rule_family bf_rules_mlx5, bf_rules_nvme, bf_rules_sdma, bf_rules_hopper;

const struct bf_rule_family *const bf_rule_families[] = {
	&bf_rules_mlx5, &bf_rules_ll, &bf_rules_shmem, &bf_rules_nvme, &bf_rules_sdma, &bf_rules_hopper, NULL,
};

const struct bf_rule_about *bf_rule_at(uint32_t i)
{
	for (uint32_t f = 0; bf_rule_families[f]; f++)
		for (uint32_t k = 0; bf_rule_families[f]->rules[k]; k++)
			if (i-- == 0)
				return &bf_rule_families[f]->rules[k]->about;
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
