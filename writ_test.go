package writ

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

func TestLoadErrors(t *testing.T) {
	if _, err := Load(t.Context(), filepath.Join(t.TempDir(), "missing"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: got %v", err)
	}
	dir := t.TempDir()
	_, err := Load(t.Context(), dir, Options{})
	var documents *DocumentsError
	if !errors.As(err, &documents) || documents.Diagnostics[0].Code != "no-documents" {
		t.Errorf("an empty directory: got %v", err)
	}
	p, err := Load(t.Context(), dir, Options{AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := p.Access(t.Context(), &AccessRequest{User: "a", Verb: "get", Resource: "pods"}); d.Allowed || d.Denied || err != nil {
		t.Errorf("an empty directory that is accepted: got %+v, %v", d, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Documents with errors keep the last good revision, and OnReload receives the errors.
func TestFollowKeepsTheLastGoodRevision(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "role.yaml")
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: n}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}\n"
	if err := os.WriteFile(file, []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	reloads := make(chan error, 100)
	next := func() error {
		select {
		case err := <-reloads:
			return err
		case <-time.After(2 * time.Minute):
			t.Fatal("the documents are not reloaded")
			return nil
		}
	}
	p, err := Follow(t.Context(), dir, Options{OnReload: func(_ string, err error) { reloads <- err }})
	if err != nil {
		t.Fatal(err)
	}
	if err := next(); err != nil {
		t.Fatal(err)
	}
	revision := p.Revision()
	if err := os.WriteFile(file, []byte(role+"---\nkind: ClusterRole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var documents *DocumentsError
	if err := next(); !errors.As(err, &documents) || documents.Errors == 0 {
		t.Errorf("got %v, want the mistakes of the documents", err)
	}
	if got := p.Revision(); got == "" || got != revision {
		t.Errorf("got revision %q, want %q", got, revision)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
}

// Several directories are one revision, and a change of any is followed.
func TestSeveralDirectories(t *testing.T) {
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: n}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}\n"
	const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: n}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
`
	roles, bindings := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(roles, "role.yaml"), role)
	write(filepath.Join(bindings, "binding.yaml"), binding)
	reloads := make(chan error, 100)
	p, err := Follow(t.Context(), roles, Options{Also: []string{bindings}, OnReload: func(_ string, err error) { reloads <- err }})
	if err != nil {
		t.Fatal(err)
	}
	allows := func(user string) bool {
		t.Helper()
		d, err := p.Access(t.Context(), &AccessRequest{User: user, Verb: "get", Resource: "pods", Namespace: "n"})
		if err != nil {
			t.Fatal(err)
		}
		return d.Allowed
	}
	if !allows("ann") || allows("bea") {
		t.Error("the binding of the second directory does not decide")
	}
	write(filepath.Join(bindings, "binding.yaml"), strings.ReplaceAll(binding, "ann", "bea"))
	for !allows("bea") {
		select {
		case <-reloads:
		case <-time.After(2 * time.Minute):
			t.Fatal("the second directory is not followed")
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for name, also := range map[string]string{"the same twice": roles, "not there": filepath.Join(roles, "none")} {
		if _, err := Load(t.Context(), roles, Options{Also: []string{also}}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A bundle decides like the documents it is built from.
func TestOpenBundle(t *testing.T) {
	const dir = "examples/policies"
	snapshot, list, err := source.Dir(dir, source.DirOptions{}).Snapshot(t.Context())
	if err != nil || list.HasErrors() {
		t.Fatal(err, list)
	}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "bundle")
	if err := b.WriteDir(folder); err != nil {
		t.Fatal(err)
	}
	p, err := OpenBundle(t.Context(), folder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := Load(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Revision(), documents.Revision(); got != want {
		t.Errorf("got revision %q, want %q", got, want)
	}
	r := &AccessRequest{User: "Clark", Verb: "get", Resource: "nodes"}
	if d, err := p.Access(t.Context(), r); !d.Allowed || err != nil {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := OpenBundle(t.Context(), dir, Options{}); err == nil {
		t.Error("a policy directory is opened as a bundle")
	}
}
