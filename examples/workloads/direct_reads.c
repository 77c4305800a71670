/* Reads blocks of FILE for SECONDS, past the page cache, so that each read is one of the device. Prints
 * `reads COUNT` and the kernel's account of it (see account.h). Usage: direct_reads FILE SECONDS */
#include "account.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { BLOCK = 65536 };

__attribute__((noinline)) static void read_block(int file, void *block, long long offset)
{
    if (pread(file, block, BLOCK, offset) != BLOCK) {
        perror("pread");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: direct_reads FILE SECONDS\n");
        return 2;
    }
    unsigned long long start = now_nanoseconds();
    name_thread("main");
    int file = open(argv[1], O_RDONLY | O_DIRECT);
    struct stat status;
    void *block;
    if (file < 0 || fstat(file, &status) != 0 || posix_memalign(&block, 4096, BLOCK) != 0) {
        perror(argv[1]);
        return 1;
    }
    long long blocks = status.st_size / BLOCK;
    if (blocks < 1) {
        fprintf(stderr, "FILE must have %d bytes\n", BLOCK);
        return 2;
    }
    double end = now_seconds() + duration_argument(argv[2]);
    long reads = 0;
    for (; now_seconds() < end; reads++)
        /* Not one after the other, so that nothing is read ahead below us either. */
        read_block(file, block, reads * 7919 % blocks * BLOCK);
    printf("reads %ld\n", reads);
    fflush(stdout);
    print_account("main", start);
    return 0;
}
