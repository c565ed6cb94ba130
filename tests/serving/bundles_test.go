package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// builder builds bundles as a pipeline would, with the command.
type builder struct {
	t    *testing.T
	dir  string
	keys string
}

// newBuilder has two keys: one that is active, and one that is revoked.
func newBuilder(t *testing.T) *builder {
	t.Helper()
	b := &builder{t: t, dir: t.TempDir()}
	b.keys = filepath.Join(b.dir, "keys.yaml")
	text := "keys:\n"
	for _, key := range []struct{ id, state string }{{"now", "active"}, {"old", "revoked"}} {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		b.write(key.id+".pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
		b.write(key.id+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		text += fmt.Sprintf("  - {id: %s, state: %s, algorithm: ES256, publicKeyFile: %s.pub}\n", key.id, key.state, key.id)
	}
	b.write("keys.yaml", []byte(text))
	return b
}

func (b *builder) write(name string, content []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// build is a bundle by which a user may get pods; key is empty for an unsigned one.
func (b *builder) build(user string, sequence int, key string) []byte {
	b.t.Helper()
	policies := filepath.Join(b.dir, "policies")
	if err := os.MkdirAll(policies, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.write("policies/policy.yaml", []byte(granting(user)))
	out := filepath.Join(b.dir, "bundle.tar.gz")
	args := []string{"build", policies, "-o", out, "--sequence", fmt.Sprint(sequence)}
	if key != "" {
		args = append(args, "--sign", "--signing-key", filepath.Join(b.dir, key+".pem"), "--signing-key-id", key)
	}
	if text, err := exec.Command(process.Writ(b.t), args...).CombinedOutput(); err != nil {
		b.t.Fatalf("writ build: %v\n%s", err, text)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

// A server takes signed bundles from a web server. What is unsigned, signed by a
// revoked key, older or broken changes no answer; a restart without the web server
// serves the last good one.
func TestServingBundles(t *testing.T) {
	gate.Only(t)
	b := newBuilder(t)
	shared := filepath.Join(b.dir, "web")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	publish := func(content []byte) {
		t.Helper()
		b.write("web/next", content)
		if err := os.Rename(filepath.Join(shared, "next"), filepath.Join(shared, "bundle.tar.gz")); err != nil {
			t.Fatal(err)
		}
	}
	publish(b.build("alice", 1, "now"))
	web, address := process.FreeAddress(t), ""
	files := &http.Server{Addr: web, Handler: http.FileServer(http.Dir(shared))}
	go func() { _ = files.ListenAndServe() }()
	t.Cleanup(func() { _ = files.Close() })
	secret := filepath.Join(b.dir, "secret")
	b.write("secret", []byte("s3cret"))
	state := t.TempDir()
	args := []string{
		"--bundle", "http://" + web + "/bundle.tar.gz", "--keys", b.keys, "--state-dir", state,
		"--every", "1h", "--poke-secret", secret,
	}
	address = serve(t, args...)
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	waitFor(t, serves("alice"))
	publish(b.build("bob", 2, "now"))
	poke(t, address, "s3cret")
	waitFor(t, serves("bob"))
	if _, _, status := mayGet(t, address, "bob", "Writ-Min-Sequence", "2"); status != http.StatusOK {
		t.Errorf("a precondition that holds: %d", status)
	}
	if _, _, status := mayGet(t, address, "bob", "Writ-Min-Sequence", "3"); status != http.StatusPreconditionFailed {
		t.Errorf("a precondition that does not hold yet: %d", status)
	}
	good := b.build("carol", 3, "now")
	for _, row := range []struct {
		name, want string
		content    []byte
	}{
		{"unsigned", "sign", b.build("mallory", 4, "")},
		{"signed by a revoked key", "revoked", b.build("mallory", 4, "old")},
		{"older", "rollback", b.build("mallory", 1, "now")},
		{"cut", "bundle", good[:len(good)/2]},
		{"rubbish", "bundle", []byte("not a bundle")},
	} {
		t.Run(row.name, func(t *testing.T) {
			publish(row.content)
			poke(t, address, "s3cret")
			waitFor(t, func() bool { return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), row.want) })
			if !serves("bob")() || serves("mallory")() {
				t.Error("what is refused changed an answer")
			}
		})
	}
	publish(good)
	poke(t, address, "s3cret")
	waitFor(t, serves("carol"))
	waitKept(t, address, state)

	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	address = serve(t, args...)
	waitFor(t, serves("carol"))
}

// An operator goes back from a bundle, newer ones wait meanwhile, and a release brings
// the newest in although it came before.
func TestRollbackOfABundle(t *testing.T) {
	gate.Only(t)
	b := newBuilder(t)
	path := filepath.Join(b.dir, "live.tar.gz")
	publish := func(user string, sequence int) {
		t.Helper()
		b.write("next", b.build(user, sequence, "now"))
		if err := os.Rename(filepath.Join(b.dir, "next"), path); err != nil {
			t.Fatal(err)
		}
	}
	publish("alice", 1)
	b.write("operators.csv", []byte("t0ken,olga,1,ops\n"))
	admin := process.FreeAddress(t)
	address := serve(t, "--bundle", path, "--keys", b.keys, "--state-dir", t.TempDir(), "--every", "10ms",
		"--admin-listen", admin, "--operators", "ops", "--tokens", filepath.Join(b.dir, "operators.csv"), "--anonymous")
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	waitFor(t, serves("alice"))
	_, old, _ := mayGet(t, address, "alice")
	publish("bob", 2)
	waitFor(t, serves("bob"))
	rollback := func(args ...string) {
		t.Helper()
		command := exec.Command(process.Writ(t), append([]string{"rollback", "--server", "http://" + admin}, args...)...)
		command.Env = append(os.Environ(), "WRIT_ADMIN_TOKEN=t0ken")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("writ rollback %s: %v\n%s", args, err, out)
		}
	}
	waitFor(t, func() bool { return statusOf(t, address)["bundle"].(map[string]any)["sequence"] == 2.0 })
	rollback(old[:12])
	if !serves("alice")() {
		t.Error("it was not gone back")
	}
	publish("carol", 3)
	waitFor(t, func() bool { return fmt.Sprint(statusOf(t, address)["degraded"]) == "true" })
	if serves("carol")() {
		t.Error("a newer bundle was served in spite of the pin")
	}
	rollback("--release")
	waitFor(t, serves("carol"))
}
