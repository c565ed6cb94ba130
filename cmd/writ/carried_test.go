package main

import (
	"bytes"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the page gives to copy runs as it is, and decides as the server: its documents are read
// with the flags of the server.
func TestCarriedLinesRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "our policies")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	documents := strings.ReplaceAll(oneRole, "ClusterRole", "Role") // without a namespace
	if err := os.WriteFile(filepath.Join(dir, "rbac.yaml"), []byte(documents), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--default-namespace=team", "--bootstrap-roles=kubernetes"}
	p := start(t, append([]string{"serve", "--policies", dir, "--listen", "127.0.0.1:0", "--drain", "0s"}, flags...)...)
	base := p.listening(t)
	go func() { _, _ = io.Copy(io.Discard, p.errors) }()
	query := url.Values{"user": {"even"}, "verb": {"get"}, "resource": {"pods"}, "namespace": {"team"}, "labels": {"note: it's"}}
	response, err := http.Get(base + "/page/ask?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got status %d, %v", response.StatusCode, err)
	}
	carried := make(map[string]string)
	for _, found := range regexp.MustCompile(`(?s)<pre class="copy" id="carry-(\w+)"[^>]*>(.*?)</pre>`).FindAllSubmatch(body, -1) {
		carried[string(found[1])] = html.UnescapeString(string(found[2]))
	}
	commands := []string{"eval"}
	if _, err := exec.LookPath("curl"); err == nil {
		commands = append(commands, "curl")
	}
	for _, name := range commands {
		line := exec.CommandContext(t.Context(), "sh", "-c", carried[name])
		line.Dir = t.TempDir()
		answer, err := line.CombinedOutput()
		if err != nil || !bytes.HasPrefix(answer, []byte(`{"allowed":true,`)) {
			t.Errorf("%s\ngot %s, %v", carried[name], answer, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "asked.yaml"), []byte(carried["test"]), 0o644); err != nil {
		t.Fatal(err)
	}
	if answer, err := exec.CommandContext(t.Context(), "writ", append([]string{"test", dir}, flags...)...).CombinedOutput(); err != nil {
		t.Errorf("%s\ngot %s, %v", carried["test"], answer, err)
	}
}
