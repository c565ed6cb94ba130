package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError holds err to mention want; an empty want is no error at all.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

const documents = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: Group, name: %q}]
`

// built is the bundle of documents that let a group read pods.
func built(t testing.TB, group string, sequence int64) *bundles.Bundle {
	t.Helper()
	content := fmt.Appendf(nil, documents, group)
	file := source.File{Path: "rbac.yaml", Content: content, Hash: sha256.Sum256(content)}
	r, list := translator.New(translator.Options{Master: "master", Tests: true}).Translate(t.Context(), source.Snapshot{Files: []source.File{file}})
	if list.HasErrors() {
		t.Fatal(list)
	}
	b, err := bundles.Build(r, bundles.BuildOptions{Sequence: sequence})
	check(t, err)
	return b
}

func packed(t testing.TB, b *bundles.Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	check(t, b.WriteTar(&out))
	return out.Bytes()
}

// ring is keys named for their states, and "stranger", which is none of them.
type ring struct {
	keys *bundles.Keys
	dir  string
}

func newRing(t testing.TB) ring {
	t.Helper()
	dir := t.TempDir()
	file := "keys:\n"
	for _, id := range []string{"active", "next", "revoked", "stranger"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		check(t, err)
		private, err := x509.MarshalPKCS8PrivateKey(key)
		check(t, err)
		public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, id), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
		check(t, os.WriteFile(filepath.Join(dir, id+".pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
		if id != "stranger" {
			file += fmt.Sprintf("  - {id: %s, state: %s, algorithm: ES256, publicKeyFile: %s.pub}\n", id, id, id)
		}
	}
	check(t, os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte(file), 0o600))
	keys, err := bundles.ReadKeys(filepath.Join(dir, "keys.yaml"))
	check(t, err)
	return ring{keys, dir}
}

func (r ring) sign(t testing.TB, b *bundles.Bundle, id string) *bundles.Bundle {
	t.Helper()
	key, err := bundles.ReadSigningKey(filepath.Join(r.dir, id), bundles.SigningOptions{ID: id})
	check(t, err)
	signed, err := bundles.Sign(b, key)
	check(t, err)
	return signed
}

// altered is a tarball with the entries change makes of those it has.
func altered(t testing.TB, archive []byte, change func([]entry) []entry) []byte {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	check(t, err)
	var all []entry
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		check(t, err)
		content, err := io.ReadAll(reader)
		check(t, err)
		all = append(all, entry{header.Name, content, tar.TypeReg})
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for _, e := range change(all) {
		check(t, writer.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Size: int64(len(e.content)), Mode: 0o644, Linkname: link(e.kind)}))
		_, err := writer.Write(e.content)
		check(t, err)
	}
	check(t, writer.Close())
	check(t, zipped.Close())
	return out.Bytes()
}

// swollen is a tarball that unpacks to much more after its last file.
func swollen(t testing.TB, archive []byte) []byte {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	check(t, err)
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err = io.Copy(zipped, unpacked)
	check(t, err)
	_, err = zipped.Write(make([]byte, 4<<20))
	check(t, err)
	check(t, zipped.Close())
	return out.Bytes()
}

type entry struct {
	name    string
	content []byte
	kind    byte
}

func link(kind byte) string {
	if kind == tar.TypeReg {
		return ""
	}
	return "/etc/passwd"
}

// with adds an entry.
func with(name string, kind byte) func([]entry) []entry {
	return func(all []entry) []entry { return append(all, entry{name, nil, kind}) }
}

// bad is a tarball that no door lets in, and what is said of it.
type bad struct {
	name    string
	content []byte
	want    string
}

// hostile is what somebody could make of a good bundle, second, who has another one,
// first.
func hostile(t testing.TB, r ring, first, second *bundles.Bundle) []bad {
	t.Helper()
	good := packed(t, second)
	change := func(f func([]entry) []entry) []byte { return altered(t, good, f) }
	stolen, stripped := *second, *second
	stolen.Signatures, stripped.Signatures = first.Signatures, nil
	return []bad{
		{"unsigned", packed(t, built(t, "operations", 2)), "not signed"},
		{"stripped", packed(t, &stripped), "not signed"},
		{"swapped", packed(t, &stolen), "not what was signed"},
		{"by a revoked key", packed(t, r.sign(t, second, "revoked")), `key "revoked", which is revoked`},
		{"by an unknown key", packed(t, r.sign(t, second, "stranger")), `key "stranger", which is not one of the keys`},
		{"a delta", change(func([]entry) []entry { return []entry{{"patch.json", []byte(`{"data":[]}`), tar.TypeReg}} }), `"patch.json": a delta bundle`},
		{"a delta in a bundle", change(with("patch.json", tar.TypeReg)), `"patch.json": a delta bundle`},
		{"a path out of it", change(with("../../etc/cron.d/x.rego", tar.TypeReg)), `"../../etc/cron.d/x.rego"`},
		{"an absolute path", change(with("/etc/x.rego", tar.TypeReg)), `"/etc/x.rego"`},
		{"a link", change(with("writ/x.rego", tar.TypeSymlink)), `"writ/x.rego": not a regular file`},
		{"a hard link", change(with("writ/x.rego", tar.TypeLink)), `"writ/x.rego": not a regular file`},
		{"a device", change(with("writ/x.rego", tar.TypeBlock)), `"writ/x.rego": not a regular file`},
		{"a name twice", change(with("writ/access/access.rego", tar.TypeReg)), `"writ/access/access.rego": duplicate`},
		{"a name in other letters", change(with("writ/access/Access.rego", tar.TypeReg)), "only in case"},
		{"a file more", change(with("writ/extensions/x.rego", tar.TypeReg)), `"writ/extensions/x.rego" is in the bundle and not signed`},
		{"a file less", change(func(all []entry) []entry { return all[:len(all)-1] }), "is signed and not in the bundle"},
		{"without manifest", change(func(all []entry) []entry { return all[1:] }), "no .manifest"},
		{"a bomb at its end", swollen(t, good), "data after the last file"},
	}
}

// listener runs a feed step by step and records the results.
type listener struct {
	*Feed
	t         testing.TB
	delivered []*bundles.Bundle
	told      []error
	refuse    error
}

func listen(t testing.TB, o Options) *listener {
	t.Helper()
	l := &listener{t: t}
	o.Failed = func(err error) { l.told = append(l.told, err) }
	feed, err := Open(o)
	check(t, err)
	l.Feed = feed
	return l
}

// step polls once and returns the error of that.
func (l *listener) step() error {
	l.t.Helper()
	_, err := l.once(l.t.Context(), func(_ context.Context, b *bundles.Bundle) error {
		if l.refuse != nil {
			return l.refuse
		}
		l.delivered = append(l.delivered, b)
		return nil
	})
	return err
}

// last is the revision that was delivered last.
func (l *listener) last() string {
	if len(l.delivered) == 0 {
		return ""
	}
	return l.delivered[len(l.delivered)-1].Manifest.Revision
}

// survives runs a fault between two good bundles: the first one stays, the fault is
// named, and the next good one arrives.
func (l *listener) survives(first, second string, fault, repair func(), want string) {
	l.t.Helper()
	check(l.t, l.step())
	if got := l.last(); got != first {
		l.t.Fatalf("before the fault: got revision %s, want %s", got, first)
	}
	fault()
	for range 2 {
		wantError(l.t, l.step(), want)
	}
	if got := l.Status(); got.Revision != first || got.Failures != 2 || !strings.Contains(got.LastError, want) {
		l.t.Errorf("status after the fault: got %+v, want revision %s, 2 failures and %q", got, first, want)
	}
	if len(l.delivered) != 1 {
		l.t.Errorf("got %d deliveries, want only the one before the fault", len(l.delivered))
	}
	if l.refuse == nil && len(l.told) != 2 {
		l.t.Errorf("got told of %d failures, want 2", len(l.told))
	}
	repair()
	check(l.t, l.step())
	if got := l.last(); got != second {
		l.t.Errorf("after the fault: got revision %s, want %s", got, second)
	}
	if got := l.Status(); got.Revision != second || got.Failures != 0 || got.LastError != "" {
		l.t.Errorf("status after the repair: got %+v, want revision %s and no failure", got, second)
	}
}

// documented wants the table of the faults that are tried in docs/faults.md, whole: what
// is tried and not in it is missing, and so is what is in it and not tried.
func documented(t testing.TB, rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/faults.md")
	check(t, err)
	table := "\n| fault | error |\n| --- | --- |\n"
	for _, row := range rows {
		table += fmt.Sprintf("| %s | `%s` |\n", row[0], strings.Join(row[1:], "`, `"))
	}
	if !strings.Contains(string(page), table+"\n") {
		t.Errorf("docs/faults.md must contain this table:\n%s", table)
	}
}
