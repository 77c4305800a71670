// Go that calls C, which spins.
package main

/*
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void end(int number) { (void)number; ended = 1; }

__attribute__((noipa)) static void c_spin(void)
{
	volatile unsigned long work = 1;
	while (!ended)
		for (int round = 0; round < 1000; round++)
			work = work * 2862933555777941757UL + 3037000493UL;
}

__attribute__((noipa)) void c_enter(int seconds)
{
	struct sigaction action = { .sa_handler = end, .sa_flags = SA_ONSTACK };
	sigaction(SIGALRM, &action, 0);
	alarm(seconds);
	c_spin();
	__asm__ volatile("" ::: "memory");
}
*/
import "C"

import (
	"os"
	"strconv"
)

//go:noinline
func outer(seconds int) {
	C.c_enter(C.int(seconds))
}

func main() {
	seconds := 1
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	outer(seconds)
}
