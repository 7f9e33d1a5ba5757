/* How `belfry record` tells the library inside the program what to do. */
#ifndef BELFRY_TOOLS_RECORD_RECORD_H
#define BELFRY_TOOLS_RECORD_RECORD_H

#define BF_RECORD_ENV_FILE "BELFRY_RECORD" /* where the capture goes; "%p" in it becomes the process id */

#define BF_RECORD_EXIT_LOST 1 /* in place of a good program's 0, when the capture could not be written whole */

#endif
