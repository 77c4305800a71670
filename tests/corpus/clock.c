/* Reads the clock without a system call: most samples are in the kernel's vDSO. */
#include "spin.h"
#include <time.h>

OWN_FRAME void read_clock(void)
{
    struct timespec now;
    while (!ended)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    read_clock();
    return 0;
}
