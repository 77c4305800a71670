/* Two processes pass a byte to and fro through two pipes, ROUNDS times: two context switches a round.
 * Prints `elapsed_seconds 3.141593` and the kernel's account of both, `ping` and `pong` (see account.h). With CPU both are pinned to it, so that each pass is a switch. With
 * WORK each pass is followed by that many thousand additions. Usage: ping_pong ROUNDS [CPU [WORK]] */
#include "account.h"

#include <sys/wait.h>

static unsigned work;

static void move_byte(int from, int to, int write_first)
{
    for (volatile unsigned i = 0; i < work; i++) {
    }
    char byte = 'x';
    if (write_first && write(to, &byte, 1) != 1)
        exit(1);
    if (read(from, &byte, 1) != 1)
        exit(1);
    if (!write_first && write(to, &byte, 1) != 1)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: ping_pong ROUNDS [CPU [WORK]]\n");
        return 2;
    }
    long rounds = atol(argv[1]);
    if (rounds < 1 || rounds > 50000000) {
        fprintf(stderr, "ROUNDS must be 1 to 50000000\n");
        return 2;
    }
    alarm((unsigned)LONGEST_SECONDS);
    if (argc > 2)
        pin(atoi(argv[2]));
    if (argc > 3)
        work = (unsigned)atoi(argv[3]) % 1000000 * 1000;
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) {
        perror("pipe");
        return 1;
    }
    unsigned long long created = now_nanoseconds();
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    name_thread(child == 0 ? "pong" : "ping");
    if (child == 0) {
        for (long i = 0; i < rounds; i++)
            move_byte(there[0], back[1], 0);
        print_account("pong", created);
        return 0;
    }
    double start = now_seconds();
    for (long i = 0; i < rounds; i++)
        move_byte(back[0], there[1], 1);
    printf("elapsed_seconds %.6f\n", now_seconds() - start);
    fflush(stdout);
    print_account("ping", created);
    int status = 0;
    return wait(&status) < 0 || status != 0;
}
