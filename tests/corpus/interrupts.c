/* A timer interrupts a function without a frame at any of its instructions, the first and the last included. */
#define _GNU_SOURCE
#include "spin.h"
#include <sys/time.h>

static volatile unsigned long sink;

/* Some 0.1 ms, far below the timer's period: the interrupted function gets on. */
OWN_FRAME void handle(int number)
{
    (void)number;
    for (int round = 0; round < 40000 && !ended; round++)
        sink += round;
}

OWN_FRAME unsigned long tiny(unsigned long value)
{
    return value * 3 + 1;
}

OWN_FRAME void caller(void)
{
    while (!ended)
        sink += tiny(sink);
    STAY;
}

int main(int argc, char **argv)
{
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    struct sigaction action = {0};

    start_clock(argc, argv);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    caller();
    STAY;
    return 0;
}
