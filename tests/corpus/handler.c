/* A signal arrives while `interrupted` runs; its handler spins, on a stack of its own with ALTERNATE. */
#define _GNU_SOURCE
#include "spin.h"
#include <sys/time.h>

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void handle(int number)
{
    (void)number;
    spin();
    STAY;
}

/* Waits for the signal at no instruction in particular. */
OWN_FRAME void interrupted(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void outer(void)
{
    interrupted();
    STAY;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handle};
#ifdef ALTERNATE
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
#endif
    start_clock(argc, argv);
    sigaction(SIGVTALRM, &action, NULL);
    struct itimerval once = {.it_value = {.tv_usec = 1000}};
    setitimer(ITIMER_VIRTUAL, &once, NULL);
    outer();
    return 0;
}
