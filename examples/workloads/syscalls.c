/* Nothing but system calls, the cheapest that there are: getppid and a read of 64 bytes from /dev/zero by
 * turns, ROUNDS times: two calls a round. Prints `elapsed_seconds 3.141593`. With CPU it is pinned to it.
 * Usage: syscalls ROUNDS [CPU] */
#include "workload.h"

#include <fcntl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: syscalls ROUNDS [CPU]\n");
        return 2;
    }
    long rounds = atol(argv[1]);
    if (rounds < 1 || rounds > 1000000000) {
        fprintf(stderr, "ROUNDS must be 1 to 1000000000\n");
        return 2;
    }
    alarm((unsigned)LONGEST_SECONDS);
    if (argc > 2)
        pin(atoi(argv[2]));
    int zero = open("/dev/zero", O_RDONLY);
    if (zero < 0) {
        perror("/dev/zero");
        return 1;
    }
    char buffer[64];
    double start = now_seconds();
    for (long i = 0; i < rounds; i++) {
        syscall(SYS_getppid);
        if (read(zero, buffer, sizeof buffer) != sizeof buffer)
            return 1;
    }
    printf("elapsed_seconds %.6f\n", now_seconds() - start);
    return 0;
}
