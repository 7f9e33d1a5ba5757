#include "drivers/belfry.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *bf_version(void)
{
	return TEXT(BELFRY_VERSION_MAJOR) "." TEXT(BELFRY_VERSION_MINOR) "." TEXT(BELFRY_VERSION_PATCH);
}
