package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/tests/requests"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError requires that err contains want, or that err is nil if want is empty.
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

// built returns a bundle of documents that let a group read pods.
func built(t testing.TB, group string, sequence int64) *bundles.Bundle {
	t.Helper()
	content := fmt.Appendf(nil, documents, group)
	file := source.NewFile("rbac.yaml", content)
	r, list := translator.New(translator.Options{Tests: true}).Translate(t.Context(), source.Snapshot{Files: []source.File{file}})
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

// keyring is a set of keys whose IDs are their states. The key "stranger" is not in the
// key file.
type keyring struct {
	keys *bundles.Keys
	dir  string
}

func newKeyring(t testing.TB) keyring {
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
	return keyring{keys, dir}
}

func (r keyring) sign(t testing.TB, b *bundles.Bundle, id string) *bundles.Bundle {
	t.Helper()
	key, err := bundles.ReadSigningKey(filepath.Join(r.dir, id), bundles.SigningOptions{ID: id})
	check(t, err)
	signed, err := bundles.Sign(b, key)
	check(t, err)
	return signed
}

// altered returns a tarball with the entries that change returns for those of archive.
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
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	check(t, err)
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

// swollen returns a tarball with 4 MiB of zeros after the last file.
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

// with returns a change that adds an empty entry.
func with(name string, kind byte) func([]entry) []entry {
	return func(all []entry) []entry { return append(all, entry{name, nil, kind}) }
}

// bad is a tarball that every source rejects, and the error.
type bad struct {
	name    string
	content []byte
	want    string
}

// hostile returns the tarballs that an attacker can make from two good bundles.
func hostile(t testing.TB, r keyring, first, second *bundles.Bundle) []bad {
	t.Helper()
	good := packed(t, second)
	change := func(f func([]entry) []entry) []byte { return altered(t, good, f) }
	stolen, stripped := *second, *second
	stolen.Signatures, stripped.Signatures = first.Signatures, nil
	return []bad{
		{"unsigned bundle", packed(t, built(t, "operations", 2)), "not signed"},
		{"removed signature", packed(t, &stripped), "not signed"},
		{"signature of another bundle", packed(t, &stolen), "not what was signed"},
		{"signature by a revoked key", packed(t, r.sign(t, second, "revoked")), `key "revoked", which is revoked`},
		{"signature by an unknown key", packed(t, r.sign(t, second, "stranger")), `key "stranger", which is not one of the keys`},
		{"delta bundle", change(func([]entry) []entry { return []entry{{"patch.json", []byte(`{"data":[]}`), tar.TypeReg}} }), `"patch.json": a delta bundle`},
		{"bundle with a delta", change(with("patch.json", tar.TypeReg)), `"patch.json": a delta bundle`},
		{"path outside the bundle", change(with("../../etc/cron.d/x.rego", tar.TypeReg)), `"../../etc/cron.d/x.rego"`},
		{"absolute path", change(with("/etc/x.rego", tar.TypeReg)), `"/etc/x.rego"`},
		{"symbolic link", change(with("writ/x.rego", tar.TypeSymlink)), `"writ/x.rego": not a regular file`},
		{"hard link", change(with("writ/x.rego", tar.TypeLink)), `"writ/x.rego": not a regular file`},
		{"block device", change(with("writ/x.rego", tar.TypeBlock)), `"writ/x.rego": not a regular file`},
		{"duplicate name", change(with("writ/access/access.rego", tar.TypeReg)), `"writ/access/access.rego": duplicate`},
		{"names that differ only in case", change(with("writ/access/Access.rego", tar.TypeReg)), "only in case"},
		{"additional file", change(with("writ/extensions/x.rego", tar.TypeReg)), `"writ/extensions/x.rego" is in the bundle and not signed`},
		{"missing file", change(func(all []entry) []entry { return all[:len(all)-1] }), "is signed and not in the bundle"},
		{"missing manifest", change(func(all []entry) []entry { return all[1:] }), "no .manifest"},
		{"decompression bomb after the last file", swollen(t, good), "data after the last file"},
	}
}

// listener runs a feed step by step and records the results.
type listener struct {
	*Feed
	t         testing.TB
	delivered []*bundles.Bundle
	failures  []error
	refuse    error
	requests  requests.Counter
}

func listen(t testing.TB, o Options) *listener {
	t.Helper()
	l := &listener{t: t}
	o.Failed = func(err error) { l.failures = append(l.failures, err) }
	feed, err := Open(o)
	check(t, err)
	l.Feed = feed
	return l
}

// step polls once and returns the error of the poll.
func (l *listener) step() error {
	l.t.Helper()
	_, err := l.once(progress.WithObservers(l.t.Context(), &l.requests), func(_ context.Context, b *bundles.Bundle) error {
		if l.refuse != nil {
			return l.refuse
		}
		l.delivered = append(l.delivered, b)
		return nil
	})
	return err
}

// last returns the last delivered revision.
func (l *listener) last() string {
	if len(l.delivered) == 0 {
		return ""
	}
	return l.delivered[len(l.delivered)-1].Manifest.Revision
}

// survives injects a fault between two good bundles: the first bundle stays in service,
// the status reports the fault, and after the repair the second bundle is delivered.
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
	if l.refuse == nil && len(l.failures) != 2 {
		l.t.Errorf("got %d reported failures, want 2", len(l.failures))
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

// documented requires a table of exactly the tested faults in docs/faults.md.
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
