#include <stddef.h>

#include "tools/cli/program.h"

int main(int argc, char **argv)
{
	return bf_main(argc, argv, NULL);
}
