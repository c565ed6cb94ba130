package reload

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
)

// keySet holds keys named for their states.
type keySet struct {
	dir  string
	keys *bundles.Keys
}

func newKeySet(t *testing.T) keySet {
	t.Helper()
	dir, file := t.TempDir(), "keys:\n"
	for _, id := range []string{"active", "revoked"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		check(t, err)
		private, err := x509.MarshalPKCS8PrivateKey(key)
		check(t, err)
		public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, id), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
		check(t, os.WriteFile(filepath.Join(dir, id+".pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
		file += fmt.Sprintf("  - {id: %s, state: %s, algorithm: ES256, publicKeyFile: %s.pub}\n", id, id, id)
	}
	check(t, os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte(file), 0o600))
	keys, err := bundles.ReadKeys(filepath.Join(dir, "keys.yaml"))
	check(t, err)
	return keySet{dir, keys}
}

func (r keySet) sign(t *testing.T, b *bundles.Bundle, id string) *bundles.Bundle {
	t.Helper()
	key, err := bundles.ReadSigningKey(filepath.Join(r.dir, id), bundles.SigningOptions{ID: id})
	check(t, err)
	signed, err := bundles.Sign(b, key)
	check(t, err)
	return signed
}

func tarball(t *testing.T, b *bundles.Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	check(t, b.WriteTar(&out))
	return out.Bytes()
}

// with returns a tarball with one more entry.
func with(t *testing.T, archive []byte, name string, kind byte) []byte {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	check(t, err)
	var out, last bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		check(t, err)
		last.Reset()
		_, err = io.Copy(&last, reader)
		check(t, err)
		check(t, writer.WriteHeader(header))
		_, err = writer.Write(last.Bytes())
		check(t, err)
	}
	header := &tar.Header{Name: name, Typeflag: kind, Mode: 0o644}
	if kind != tar.TypeReg {
		header.Linkname = "/etc/passwd"
	}
	check(t, writer.WriteHeader(header))
	check(t, writer.Close())
	check(t, zipped.Close())
	return out.Bytes()
}

// The state directory is not trusted: a bundle without a good signature is neither
// restored nor rolled back to, and is named.
func TestHostileState(t *testing.T) {
	r := newKeySet(t)
	plain := numberedBundle(t, "z", 9)
	good := r.sign(t, plain, "active")
	swapped := *good
	swapped.Signatures = r.sign(t, numberedBundle(t, "y", 9), "active").Signatures
	archive := tarball(t, good)
	rows := []struct {
		name    string
		content []byte
		want    string
	}{
		{"removed signature", tarball(t, plain), "not signed"},
		{"signature of another bundle", tarball(t, &swapped), "not what was signed"},
		{"signature by a revoked key", tarball(t, r.sign(t, plain, "revoked")), `key "revoked", which is revoked`},
		{"delta bundle", with(t, archive, "patch.json", tar.TypeReg), `"patch.json": a delta bundle`},
		{"path outside the bundle", with(t, archive, "../../etc/x.rego", tar.TypeReg), `"../../etc/x.rego"`},
		{"absolute path", with(t, archive, "/etc/x.rego", tar.TypeReg), `"/etc/x.rego"`},
		{"symbolic link", with(t, archive, "writ/x.rego", tar.TypeSymlink), `"writ/x.rego": not a regular file`},
		{"hard link", with(t, archive, "writ/x.rego", tar.TypeLink), `"writ/x.rego": not a regular file`},
		{"duplicate name", with(t, archive, "compiled/data.json", tar.TypeReg), `"compiled/data.json": duplicate`},
		{"names that differ only in case", with(t, archive, "writ/access/ACCESS.rego", tar.TypeReg), "only in case"},
		{"additional file", with(t, archive, "writ/extensions/x.rego", tar.TypeReg), `"writ/extensions/x.rego" is in the bundle and not signed`},
		{"truncated bundle", archive[:len(archive)/2], "EOF"},
		{"symbolic link to a device", nil, "not a regular file"},
	}
	ctx, revision := context.Background(), good.Manifest.Revision
	aside := t.TempDir()
	served, _, _ := newReloader(newDocuments("bad"), func(o *Options) { o.StateDir, o.Keys = aside, r.keys })
	check(t, served.Deliver(ctx, r.sign(t, numberedBundle(t, "a", 10), "active")))
	var table [][]string
	for _, row := range rows {
		table = append(table, []string{row.name, row.want})
		t.Run(row.name, func(t *testing.T) {
			put := func(path string) {
				check(t, os.RemoveAll(path))
				if row.content == nil {
					check(t, os.Symlink("/dev/zero", path))
					return
				}
				check(t, os.WriteFile(path, row.content, 0o600))
			}
			dir := t.TempDir()
			put(filepath.Join(dir, stateFile))
			restored, _, _ := newReloader(newDocuments("bad"), func(o *Options) { o.StateDir, o.Keys = dir, r.keys })
			restored.Restore(ctx)
			if said := restored.Status().StateError; restored.Ready() || !strings.Contains(said, row.want) {
				t.Errorf("restored: ready %v, state error %q, want %q", restored.Ready(), said, row.want)
			}
			put(filepath.Join(aside, keptFolder, revision+keptSuffix))
			if err := served.Rollback(ctx, revision); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("gone back to: got %v, want %q", err, row.want)
			}
			wantSays(t, served, "a")
		})
	}
	check(t, os.RemoveAll(filepath.Join(aside, keptFolder, revision+keptSuffix)))
	check(t, os.WriteFile(filepath.Join(aside, keptFolder, revision+keptSuffix), archive, 0o600))
	check(t, served.Rollback(ctx, revision))
	wantSays(t, served, "z")
	documented(t, table)
}
