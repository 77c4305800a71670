/* THREADS threads that wait in read() for what never comes, for SECONDS. Says `waiting THREADS` on stderr
 * once all have begun. Usage: readers THREADS SECONDS */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

static int ends[2];
static atomic_int begun;

static void *wait_in_read(void *unused)
{
    char byte;
    (void)unused;
    atomic_fetch_add(&begun, 1);
    return read(ends[0], &byte, 1) == 1 ? NULL : &ends;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: readers THREADS SECONDS\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    double seconds = duration_argument(argv[2]);
    if (threads < 1 || threads > 4000) {
        fprintf(stderr, "THREADS must be 1 to 4000\n");
        return 2;
    }
    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, wait_in_read, NULL) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    while (atomic_load(&begun) < threads)
        usleep(1000);
    /* The last ones are between the count and the call for some microseconds. */
    usleep(100000);
    fprintf(stderr, "waiting %d\n", threads);
    usleep((useconds_t)(seconds * 1e6));
    return 0;
}
