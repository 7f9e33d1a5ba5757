/*
 * Hopper profiles from the command line: a name, with fields set by hand ("h200,cache_lines=8"), or a file of JSON as
 * tools/calibrate writes it: one object whose members are the fields of struct bf_hopper_profile by name, and "profile"
 * (its name) and "base" (the profile that has what the file does not give; h200).
 */
#ifndef BELFRY_TOOLS_WORKLOADS_HOPPER_PROFILE_H
#define BELFRY_TOOLS_WORKLOADS_HOPPER_PROFILE_H

#include "models/hopper/profile.h"

#define BF_HOPPER_PROFILE_NAME 64

/* out->name points to `name`. 0, or a negative errno with `err` naming what is wrong. */
int bf_hopper_profile_parse(const char *text, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out,
			    struct bf_error *err);

/* The profiles by name, for shells that complete (struct bf_opt). */
const char *bf_hopper_profile_name(const void *own, uint32_t i);

#endif
