package serving

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// maxEdits is how many existing production files a family may need. The third one beside
// those that the test edits is README.md.
const maxEdits = 3

const bells = `
apiVersion: example.com/v1
kind: Bell
metadata: {name: tower}
spec: {ringers: [ann]}
---
apiVersion: writ.dev/v1
kind: DecisionTest
metadata: {name: bells}
spec: {point: bell, cases: [{name: c, request: {user: ann, bell: tower}, expect: {allowed: true}}]}
`

// A family with requests of its own is a folder, a line in the registry of families and a
// name in the list of points. All else follows: the test builds the command with these two
// edits, and asks it at the new point in every way there is.
func TestNewFamilyFromDocumentsToAnswers(t *testing.T) {
	gate.Only(t)
	edits := map[string]func(string) string{
		"translator/family.go": func(text string) string {
			text = replaceOnce(t, text, `"github.com/writ-policy/writ/translator/access"`, `"github.com/writ-policy/writ/translator/access"; "github.com/writ-policy/writ/tests/bell"`)
			return replaceOnce(t, text, "		new(access.Family),\n", "		new(access.Family), new(bell.Family),\n")
		},
		"server/decision/points.go": func(text string) string {
			return replaceOnce(t, text, "genericPoints = []string{}", `genericPoints = []string{"bell"}`)
		},
	}
	if len(edits)+1 > maxEdits {
		t.Errorf("a family edits %d existing files, want at most %d", len(edits)+1, maxEdits)
	}
	writ := process.WritWith(t, edits)
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "bells.yaml"), bells)
	const tower = `{"user":"ann","bell":"tower"}`
	const allowed = `{"allowed":true,"denied":false}`
	const invalid = `{"error":{"code":"invalid_request","message":"key \"bell\" must be a string"}}`

	eval := exec.Command(writ, "eval", "--policies", dir, "--point", "bell")
	eval.Stdin = strings.NewReader(tower + "\n{}\n")
	out, err := eval.Output()
	if got, want := string(out), allowed+"\n"+invalid+"\n"; got != want || err == nil {
		t.Errorf("eval: got %s and %v, want %s and an error", got, err, want)
	}
	if out, err := exec.Command(writ, "test", dir).CombinedOutput(); err != nil {
		t.Errorf("test: %v\n%s", err, out)
	}
	log := writeFile(t, filepath.Join(t.TempDir(), "log"), `{"point":"bell","request":`+tower+`,"decision":{"allowed":false,"denied":false}}`+"\n")
	if out, err := exec.Command(writ, "replay", "--log", log, "--policies", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "ann") {
		t.Errorf("replay: got %v, want a change for ann:\n%s", err, out)
	}

	address, _ := startProgram(t, writ, "--policies", dir, "--settle", "0s")
	post := func(path, body string) string {
		t.Helper()
		response, err := http.Post("http://"+address+"/v1/decisions/bell"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	for range 3 {
		if got := post("", tower); got != allowed {
			t.Errorf("got %s, want %s", got, allowed)
		}
	}
	want := []string{`writ_decisions_total{outcome="allow",point="bell"} 3`, "writ_cache_hits_total 2", "writ_cache_misses_total 1"}
	waitFor(t, func() bool { return hasLines(t, "http://"+address+"/metrics", want) })
	if got := post("", `{"user":"ann"}`); !strings.Contains(got, "must be a string") {
		t.Errorf("an invalid request: got %s", got)
	}
	if got, want := post("/batch", `{"requests":[`+tower+`,{}]}`), `{"decisions":[`+allowed+`,`+invalid+`]}`; got != want {
		t.Errorf("a batch: got %s, want %s", got, want)
	}
	// The decision on the clock has the time, which the cache must not keep.
	if one, other := post("", `{"bell":"clock"}`), post("", `{"bell":"clock"}`); one == other || !strings.Contains(one, `"at":`) {
		t.Errorf("got %s and then %s, want two instants", one, other)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(bells, "ann", "bob")), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return post("", tower) == `{"allowed":false,"denied":false}` })
}

// hasLines reports whether a page has lines.
func hasLines(t *testing.T, url string, lines []string) bool {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(page), line+"\n") {
			return false
		}
	}
	return true
}
