package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const oneKey = "keys:\n  - {id: release, state: STATE, algorithm: ES256, publicKeyFile: release.pub}\n"

// The page reports that the key of the active bundle is withdrawn, while the bundle is served.
func TestWithdrawnKeyIsSeen(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	setState := func(state string) {
		if err := os.WriteFile(path("half"), []byte(strings.ReplaceAll(oneKey, "STATE", state)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path("half"), path("keys.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeKeyPair(path("release")); err != nil {
		t.Fatal(err)
	}
	setState("active")
	command(t, 0, "build", policies(t), "-o", path("signed.tar.gz"), "--sign", "--signing-key", path("release.pem"), "--keys", path("keys.yaml"))
	p := start(t, "serve", "--bundle", path("signed.tar.gz"), "--keys", path("keys.yaml"), "--listen", "127.0.0.1:0", "--drain", "0s")
	base := p.listening(t)
	go func() { _, _ = io.Copy(io.Discard, p.errors) }()
	overview := func() string {
		response, err := http.Get(base + "/page/")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if text := overview(); !strings.Contains(text, "<dt>Signed by</dt><dd><code>release</code></dd>") || strings.Contains(text, "withdrawn") {
		t.Errorf("before: got %s", text)
	}
	setState("revoked")
	for end := time.Now().Add(time.Minute); !strings.Contains(overview(), "The key release of the active bundle is withdrawn"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after: got %s", overview())
		}
	}
	if !strings.Contains(overview(), "Serving the newest documents") {
		t.Error("the bundle is not served any more")
	}
}
