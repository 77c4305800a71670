/* A library function so small that calls of it are mostly spent in the linkage table. */
#include "spin.h"

OWN_FRAME unsigned long tiny(unsigned long value)
{
    return value + 1;
}
