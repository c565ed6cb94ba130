package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

var manyLines = flag.Int("lines", 20_000, "requests for the test that eval's memory does not grow with them")

const oneRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: User, name: even}]
`

// A million requests need no more memory than a thousand, and their answers come
// in their order.
func TestEvalMemoryDoesNotGrow(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rbac.yaml"), []byte(oneRole), 0o644); err != nil {
		t.Fatal(err)
	}
	few := evalPeak(t, dir, 1_000)
	many := evalPeak(t, dir, *manyLines)
	t.Logf("peak memory: %d KiB for 1000 lines, %d KiB for %d", few, many, *manyLines)
	// Garbage on its way to being collected is all that may come on top: the
	// requests alone would be more.
	if most := few + 32<<10; many > most {
		t.Errorf("got a peak of %d KiB for %d lines, want at most %d", many, *manyLines, most)
	}
}

// evalPeak answers n requests of two users in turns by a process of its own and
// returns the most memory that was resident, in KiB.
func evalPeak(t *testing.T, dir string, n int) int64 {
	t.Helper()
	padding := bytes.Repeat([]byte("x"), 1_000)
	return peak(t, func(w io.Writer) {
		for i := range n {
			user := [...]string{"even", "odd"}[i%2]
			fmt.Fprintf(w, `{"user":%q,"verb":"get","resource":"pods","name":"pod-%d","attributes":{"x":"%s"}}`+"\n", user, i, padding)
		}
	}, func(out io.Reader) { checkAlternating(t, out, n) }, "--policies", dir)
}

// peak runs eval in a process of its own and returns the most memory that was
// resident, in KiB.
func peak(t *testing.T, ask func(io.Writer), check func(io.Reader), arguments ...string) int64 {
	t.Helper()
	// The test binary is on the path under this name.
	cmd := exec.CommandContext(t.Context(), "writ", append([]string{"eval"}, arguments...)...)
	cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off") // as it is used, however the tests are run
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer in.Close()
		w := bufio.NewWriter(in)
		defer w.Flush()
		ask(w)
	}()
	check(out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Skip("this system does not say how much memory a process had")
	}
	return usage.Maxrss
}

func checkAlternating(t *testing.T, out io.Reader, n int) {
	t.Helper()
	scanner := bufio.NewScanner(out)
	got := 0
	for ; scanner.Scan(); got++ {
		want := fmt.Sprintf(`{"allowed":%v,`, got%2 == 0)
		if !bytes.HasPrefix(scanner.Bytes(), []byte(want)) {
			t.Fatalf("line %d: got %.60s, want it to begin with %s", got, scanner.Bytes(), want)
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if got != n {
		t.Errorf("got %d answers, want %d", got, n)
	}
}
