/* DEPTH calls of descend, without frame pointers, and spin at the bottom. */
#include "spin.h"

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void descend(int depth)
{
    if (depth <= 1)
        spin();
    else
        descend(depth - 1);
    STAY;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    descend(DEPTH);
    return 0;
}
