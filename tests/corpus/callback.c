/* The C library calls back: its frames are in the middle of the stack. */
#include "spin.h"

OWN_FRAME int compare(const void *a, const void *b)
{
    SPIN_UNTIL(ended);
    return *(const int *)a - *(const int *)b;
}

OWN_FRAME void sort(void)
{
    int values[] = {3, 1, 2};
    qsort(values, 3, sizeof *values, compare);
    STAY;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    sort();
    STAY;
    return 0;
}
