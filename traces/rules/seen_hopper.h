/* Records of Hopper's sync unit that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_HOPPER_H
#define BELFRY_TRACES_RULES_SEEN_HOPPER_H

#define BF_SEEN_HOPPER(X)

#endif
