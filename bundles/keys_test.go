package bundles

import (
	"bytes"
	"crypto/elliptic"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Keys follow their files: a revoked key is rejected, and an invalid file changes nothing.
func TestReloadKeys(t *testing.T) {
	r := newKeyring(t)
	signed := r.sign(t, sample(t), "active", "a")
	dir := t.TempDir()
	write := func(name string, content []byte) { check(t, os.WriteFile(filepath.Join(dir, name), content, 0o600)) }
	file := func(state string) []byte {
		return fmt.Appendf(nil, "keys: [{id: a, state: %s, algorithm: ES256, publicKeyFile: a.pem}]\n", state)
	}
	write("a.pem", r.pairs["active"].public)
	write("keys.yaml", file("active"))
	keys, err := ReadKeys(filepath.Join(dir, "keys.yaml"))
	check(t, err)
	key, err := signed.Verify(keys)
	check(t, err)
	for _, step := range []struct {
		name    string
		change  func()
		changed bool
		err     string
		refused string
		state   KeyState
	}{
		{"unchanged", func() {}, false, "", "", keyActive},
		{"written with the same content", func() { write("keys.yaml", file("active")) }, false, "", "", keyActive},
		{"invalid", func() { write("keys.yaml", []byte("keys: [")) }, false, "yaml", "", keyActive},
		{"missing", func() { check(t, os.Remove(filepath.Join(dir, "keys.yaml"))) }, false, "no such file", "", keyActive},
		{"revoked", func() { write("keys.yaml", file("revoked")) }, true, "", "which is revoked", KeyRevoked},
		{"next", func() { write("keys.yaml", file("next")) }, true, "", "", keyNext},
		{"another key in the key file", func() { write("a.pem", r.pairs["next"].public) }, true, "", "not by key", KeyRevoked},
		{"key file missing", func() { check(t, os.Remove(filepath.Join(dir, "a.pem"))) }, false, "no such file", "not by key", KeyRevoked},
		{"key file restored", func() { write("a.pem", bytes.Clone(r.pairs["active"].public)) }, true, "", "", keyNext},
	} {
		step.change()
		changed, err := keys.Reload()
		if changed != step.changed {
			t.Errorf("%s: got changed %v, want %v", step.name, changed, step.changed)
		}
		wantError(t, err, step.err)
		_, err = signed.Verify(keys)
		wantError(t, err, step.refused)
		if got := keys.State(key); got != step.state {
			t.Errorf("%s: got state %s, want %s", step.name, got, step.state)
		}
	}
}

// A key that is no longer in the file counts as revoked, under any ID.
func TestStateOfRemovedKey(t *testing.T) {
	r := newKeyring(t)
	public, err := parsePublicKey(string(ellipticPair(t, elliptic.P256()).public))
	check(t, err)
	if got := r.keys.State(Key{ID: "active", public: public}); got != KeyRevoked {
		t.Errorf("got %s, want revoked", got)
	}
}
