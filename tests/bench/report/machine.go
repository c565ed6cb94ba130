package report

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine describes the machine: its processors, memory, and the version of Go.
func Machine() string {
	return fmt.Sprintf("%d CPUs (%s), %s of memory, %s, %s/%s", runtime.NumCPU(), ProcField("/proc/cpuinfo", "model name"),
		ProcField("/proc/meminfo", "MemTotal"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Load is the load average of the last minute, empty where the system has none.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// CPU returns the processor time that a process has used, in the kernel's ticks of 10 ms. It returns
// an error without such a process, and on a system without /proc.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// Peak returns the largest resident memory that a process had, as the kernel writes it: "123 kB".
func Peak(pid int) string { return ProcField(fmt.Sprintf("/proc/%d/status", pid), "VmHWM") }

// ProcField returns the first value of a name in a file of "name: value" lines.
func ProcField(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
