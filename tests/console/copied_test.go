package console

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/process"
)

// The lines that the web console offers to copy run in a shell as they are: curl asks the
// server, writ eval asks the documents, both decide what the view shows, and the test passes
// beside the documents.
func TestCopiedLinesRun(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	policies := filepath.Join(dir, "it's a folder")
	if err := os.CopyFS(policies, os.DirFS("../../examples/policies")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"writ": process.Writ(t), "curl": self} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte("s3cret,ada,1,\"security\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	serve := exec.CommandContext(t.Context(), filepath.Join(bin, "writ"), "serve", "--policies", policies, "--listen", address, "--tokens", tokens, "--auditors", "security")
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Kill()
		_ = serve.Wait()
	})
	waitUntilReady(t, "http://"+address+"/readyz")
	sh := func(line string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "WRIT_TOKEN=s3cret")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	for i, tt := range []struct{ view, word string }{
		{"/page/ask?" + url.Values{"user": {"Edgar"}, "verb": {"delete"}, "resource": {"deploymentconfigs"}, "namespace": {"hammer"}, "labels": {`protected: "yes"`}}.Encode(), `"denied":true`},
		{"/page/ask?" + url.Values{"user": {"Edgar"}, "verb": {"get"}, "resource": {"deploymentconfigs"}, "namespace": {"hammer"}}.Encode(), `"allowed":true`},
		{"/page/ask?" + url.Values{"user": {`O'Brien \n $HOME`}, "verb": {"get"}, "resource": {"pods"}, "labels": {`{"a": "b\nc\\t%s"}`}}.Encode(), `"allowed":false`},
		{"/page/ask?" + url.Values{"user": {"Edgar"}, "verb": {"get"}, "resource": {"deploymentconfigs"}, "namespace": {"hammer"}, "at": {"2026-01-02T15:04:05Z"}}.Encode(), `"allowed":true`},
		{"/page/ask/visibility?" + url.Values{"user": {"clark"}, "clusterName": {"east"}, "type": {"pods"}}.Encode(), `"decision":`},
		{"/page/ask/gateway?" + url.Values{"host": {"books.example.com"}, "method": {"PUT"}, "path": {"/7"}, "identity": {"{sub: ann, groups: [readers]}"}}.Encode(), `"denied":true`},
	} {
		lines := copied(t, "http://"+address+tt.view)
		asked, evaluated := sh(lines["curl"]), sh(lines["eval"])
		if !strings.Contains(asked, tt.word) {
			t.Errorf("%s: curl: got %s, want %s", tt.view, asked, tt.word)
		}
		if !sameDecision(t, asked, evaluated) {
			t.Errorf("%s: curl has %s\neval has %s", tt.view, asked, evaluated)
		}
		name := fmt.Sprintf("asked-%d", i)
		if err := os.WriteFile(filepath.Join(policies, name+".yaml"), []byte(strings.Replace(lines["test"], "asked", name, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sh(`writ test "` + policies + `" -o json`)
}

var copiedText = regexp.MustCompile(`(?s)<pre class="copy" id="carry-(curl|eval|test)"[^>]*>(.*?)</pre>`)

// copied returns what a view offers to copy, as a browser copies it.
func copied(t *testing.T, view string) map[string]string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, view, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer s3cret")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]string)
	for _, found := range copiedText.FindAllSubmatch(body, -1) {
		lines[string(found[1])] = html.UnescapeString(string(found[2]))
	}
	if len(lines) != 3 {
		t.Fatalf("%s: status %d, with %d texts to copy, want 3", view, response.StatusCode, len(lines))
	}
	if strings.Contains(string(body), "s3cret") {
		t.Errorf("%s: the view shows the token", view)
	}
	return lines
}

// sameDecision compares two decisions as JSON.
func sameDecision(t *testing.T, a, b string) bool {
	t.Helper()
	var decisions [2]map[string]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &decisions[i]); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return reflect.DeepEqual(decisions[0], decisions[1])
}
