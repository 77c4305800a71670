/* `jumping` ends in a jump to `target`, so it has no frame while `target` runs. */
#include "spin.h"

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME int target(int value)
{
    spin();
    STAY;
    return value + 1;
}

OWN_FRAME int jumping(int value)
{
    return target(value * 2);
}

OWN_FRAME int caller(int value)
{
    int result = jumping(value);
    STAY;
    return result;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    return caller(argc) == 0;
}
