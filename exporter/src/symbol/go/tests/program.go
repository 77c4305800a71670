package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

type shape interface{ area(depth int) int }

type square struct{ side int }

// Called through an interface, so that it is a function of its own.
func (s *square) area(depth int) int { return s.side * middle(depth) }

// Inlined into its callers.
func middle(depth int) int { return inner(depth) + 1 }

func inner(depth int) int { return report(depth) }

//go:noinline
func apply[T any](value T, f func(T) int) int { return f(value) }

// Prints the callers of this function: address, function, line, file.
//
//go:noinline
func report(depth int) int {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		frame, more := frames.Next()
		// The frame of an inlined call and that of its caller have one address.
		fmt.Printf("%x\t%s\t%d\t%s\n", frame.PC, frame.Function, frame.Line, frame.File)
		if !more {
			break
		}
	}
	return depth
}

// Where the start of the program's file is in memory.
func start() uintptr {
	maps, _ := os.ReadFile("/proc/self/maps")
	exe, _ := os.Readlink("/proc/self/exe")
	for _, line := range strings.Split(string(maps), "\n") {
		var start, end, offset uintptr
		var flags string
		fmt.Sscanf(line, "%x-%x %s %x", &start, &end, &flags, &offset)
		if offset == 0 && strings.HasSuffix(line, exe) {
			return start
		}
	}
	return 0
}

func main() {
	fmt.Printf("%x\n", start())
	shapes := []shape{&square{2}}
	total := 0
	for _, s := range shapes {
		total += s.area(1)
	}
	total += apply("four", func(text string) int { return middle(len(text)) })
	if total == 0 {
		panic("unused")
	}
}
