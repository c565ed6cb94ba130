package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

// keypair makes a key: `keypair NAME` writes NAME.pem and NAME.pub.
func keypair(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: keypair NAME")
	}
	ts.Check(writeKeyPair(ts.MkAbs(args[0])))
}

func writeKeyPair(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600)
}

// command runs one command line and wants its exit status.
func command(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	if got := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &talk}); got != want {
		t.Fatalf("writ %s: got exit status %d, want %d\n%s%s", strings.Join(args, " "), got, want, &out, &talk)
	}
	return out.String(), talk.String()
}

const readers = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
`

// A bundle goes into a registry and is inspected there.
func TestPushAndInspect(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		writeKeyPair(in("release")),
		os.Mkdir(in("policies"), 0o755),
		os.WriteFile(in("policies/rbac.yaml"), []byte(readers), 0o644),
		os.WriteFile(in("keys.yaml"), []byte("keys: [{id: release, state: active, algorithm: ES256, publicKeyFile: release.pub}]"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	at := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/policies:v1"

	command(t, exitFine, "build", in("policies"), "-o", in("b.tar.gz"), "--sign", "--signing-key", in("release.pem"), "--keys", in("keys.yaml"), "--sequence", "7")
	digests, _ := command(t, exitFine, "push", in("b.tar.gz"), at, "--plain-http", "--keys", in("keys.yaml"))
	if got := strings.Count(digests, "sha256:"); got != 2 || !strings.Contains(digests, "revision ") {
		t.Errorf("got %q, want the revision and two digests", digests)
	}
	shown, _ := command(t, exitFine, "inspect", at, "--plain-http", "--keys", in("keys.yaml"), "-o", "json")
	var inspection struct {
		Holds     bool
		Manifest  struct{ Metadata struct{ Sequence int } }
		Signature struct{ Key string }
	}
	if err := json.Unmarshal([]byte(shown), &inspection); err != nil {
		t.Fatal(err)
	}
	if !inspection.Holds || inspection.Manifest.Metadata.Sequence != 7 || inspection.Signature.Key != "release" {
		t.Errorf("got %+v, want sequence 7 signed by release", inspection)
	}

	_, talk := command(t, exitUsage, "push", in("b.tar.gz"), at)
	if !strings.Contains(talk, "does not speak TLS") {
		t.Errorf("without --plain-http: got %q, want TLS asked for", talk)
	}
	_, talk = command(t, exitUsage, "inspect", strings.Replace(at, ":v1", ":v2", 1), "--plain-http")
	if !strings.Contains(talk, "not found") {
		t.Errorf("no such tag: got %q", talk)
	}
}
