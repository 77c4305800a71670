/* Spins in a thread: its outermost frame is the C library's start of a thread. */
#include "spin.h"
#include <pthread.h>

OWN_FRAME void spin(void)
{
    SPIN_UNTIL(ended);
}

OWN_FRAME void *thread_main(void *argument)
{
    spin();
    STAY;
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    start_clock(argc, argv);
    return pthread_create(&thread, NULL, thread_main, NULL) || pthread_join(thread, NULL);
}
