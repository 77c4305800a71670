package main

/*
static volatile unsigned long turns;
__attribute__((noinline)) void turn_in_c(int times) {
	for (int i = 0; i < times; i++) turns++;
}
*/
import "C"

func main() {
	C.turn_in_c(1000)
}
