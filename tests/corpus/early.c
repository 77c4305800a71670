/* Runs before main, called by the C library or by the dynamic linker. */
#include "spin.h"

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

__attribute__((constructor)) OWN_FRAME void before_main(int argc, char **argv)
{
    start_clock(argc, argv);
    spin();
    STAY;
}

int main(void)
{
    return 0;
}
