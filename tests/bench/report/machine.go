package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
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
