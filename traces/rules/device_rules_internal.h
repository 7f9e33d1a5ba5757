/* Rules of devices that come with a program, for the engine: device_rules.c. */
#ifndef BELFRY_TRACES_RULES_DEVICE_RULES_INTERNAL_H
#define BELFRY_TRACES_RULES_DEVICE_RULES_INTERNAL_H

#include "traces/device.h"

struct bf_device_family;
struct bf_rules;
struct bf_rule_family;

/* An array of families, one for each device that has such rules. 0 or -ENOMEM; free it either way. */
int bf_device_rules_open(struct bf_device_family **out, uint32_t *count);
void bf_device_rules_free(struct bf_device_family *o, uint32_t count);
const struct bf_rule_family *bf_device_rules_family(const struct bf_device_family *o, uint32_t i);

/* Whether some rule is called for records of the type; a stream with one has the device; and calls those that are on.
 */
bool bf_device_rules_wants(const struct bf_rules *r, const struct bf_rec_schema *type);
void bf_device_rules_declare(struct bf_rules *r, const struct bf_rec_schema *type);
void bf_device_rules_take(struct bf_rules *r, const struct bf_device_record *e);

/* At the end: the devices that made records of queues and that no rule knows. */
void bf_device_rules_note_unjudged(struct bf_rules *r);

/* Whether `word` is among the words of `text`. */
bool bf_rules_has_word(const char *text, const char *word);

#endif
