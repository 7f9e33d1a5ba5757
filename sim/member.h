/* Numbers in structs by offset and size, for tables that name a struct's fields. */
#ifndef BELFRY_SIM_MEMBER_H
#define BELFRY_SIM_MEMBER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where a member of struct `type` lies: two initialisers. */
#define BF_MEMBER(type, member) offsetof(type, member), sizeof(((type *)0)->member)

/* A bool, uint32_t (or enum) or uint64_t. */
static inline uint64_t bf_member_get(const void *base, size_t offset, size_t size)
{
	const unsigned char *at = (const unsigned char *)base + offset;
	uint64_t v64;
	uint32_t v32;
	bool flag;

	switch (size) {
	case sizeof(v64):
		memcpy(&v64, at, sizeof(v64));
		return v64;
	case sizeof(v32):
		memcpy(&v32, at, sizeof(v32));
		return v32;
	default:
		assert(size == sizeof(flag));
		memcpy(&flag, at, sizeof(flag));
		return flag;
	}
}

static inline void bf_member_set(void *base, size_t offset, size_t size, uint64_t value)
{
	unsigned char *at = (unsigned char *)base + offset;
	const uint32_t v32 = (uint32_t)value;
	const bool flag = value != 0;

	switch (size) {
	case sizeof(value):
		memcpy(at, &value, sizeof(value));
		break;
	case sizeof(v32):
		memcpy(at, &v32, sizeof(v32));
		break;
	default:
		assert(size == sizeof(flag));
		memcpy(at, &flag, sizeof(flag));
		break;
	}
}

#endif
