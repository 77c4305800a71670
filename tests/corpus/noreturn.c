/* The last instruction of `last_call` is a call that doesn't return: the address to return to is the first one of
 * the function behind it. */
#include "spin.h"

__attribute__((noreturn)) OWN_FRAME void spin_and_exit(void)
{
    SPIN_UNTIL(ended);
    _exit(0);
}

OWN_FRAME void last_call(void)
{
    spin_and_exit();
}

OWN_FRAME int not_called(int value)
{
    return value * 3;
}

int main(int argc, char **argv)
{
    start_clock(argc, argv);
    last_call();
    return not_called(argc);
}
