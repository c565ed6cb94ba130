package serving

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// manyFiles are files of a large directory, with a document each.
func manyFiles() int { return min(100_000, gate.Times(200)) }

// A directory with a file for each document is served, a change of one file is in force,
// and so are a new file and one that is removed.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	const perFolder = 1000
	write := func(n int, user string) {
		t.Helper()
		path := filepath.Join(dir, fmt.Sprintf("team-%03d", n/perFolder), fmt.Sprintf("binding-%06d.yaml", n))
		text := fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binding-%06d, namespace: team-%03d}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, n, n/perFolder, user)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "role.yaml"), []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range manyFiles() {
		write(n, fmt.Sprintf("user-%06d", n))
	}
	program := process.Writ(t) // not part of the time
	began := time.Now()
	address, running := startProgram(t, program, "--policies", dir)
	t.Logf("%d files: ready after %v, %d MiB", manyFiles(), time.Since(began), memoryOf(t, running, "VmRSS")>>20)
	until := func(what, user string, n int, want bool) {
		t.Helper()
		spec := fmt.Sprintf(`{"user":%q,"resourceAttributes":{"verb":"get","resource":"pods","namespace":"team-%03d"}}`, user, n/perFolder)
		began := time.Now()
		for {
			if allowed, _ := ask(t, address, spec); allowed == want {
				break
			}
			if time.Since(began) > patience {
				t.Fatalf("%s is not in force after %v", what, patience)
			}
		}
		t.Logf("%s: in force after %v", what, time.Since(began))
	}
	last := manyFiles() - 1
	until("the last file", fmt.Sprintf("user-%06d", last), last, true)
	write(last, "ann")
	until("a changed file", "ann", last, true)
	until("what it was before", fmt.Sprintf("user-%06d", last), last, false)
	write(last+1, "bob")
	until("a new file", "bob", last+1, true)
	if err := os.Remove(filepath.Join(dir, fmt.Sprintf("team-%03d", (last+1)/perFolder), fmt.Sprintf("binding-%06d.yaml", last+1))); err != nil {
		t.Fatal(err)
	}
	until("a removed file", "bob", last+1, false)
}
