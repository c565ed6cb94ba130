package serving

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// gitHost is a real repository with a work tree, served by git's own HTTP back end.
// broken, set, makes the server fail.
type gitHost struct {
	t      *testing.T
	dir    string
	url    string
	broken atomic.Bool
}

func newGitHost(t *testing.T) *gitHost {
	t.Helper()
	g := &gitHost{t: t, dir: filepath.Join(t.TempDir(), "policies")}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.git("init", "--quiet", "--initial-branch=main")
	handler := &cgi.Handler{
		Path: filepath.Join(g.git("--exec-path"), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(g.dir), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	g.url = "git+" + web.URL + "/policies/.git//rbac?ref=main"
	return g
}

func (g *gitHost) git(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes text the documents, and returns the commit.
func (g *gitHost) commit(text string) string {
	g.t.Helper()
	path := filepath.Join(g.dir, "rbac", "policy.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	g.git("add", "--all")
	g.git("commit", "--quiet", "--allow-empty", "-m", "change")
	return g.git("rev-parse", "HEAD")
}

// granting are documents by which a user may get pods.
func granting(user string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, user)
}

// mayGet asks whether a user may get pods; the answer's revision comes along.
func mayGet(t *testing.T, address, user string, headers ...string) (allowed bool, revision string, status int) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/decisions/access",
		strings.NewReader(fmt.Sprintf(`{"user":%q,"verb":"get","resource":"pods"}`, user)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var d struct{ Allowed bool }
	if err := json.NewDecoder(response.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d.Allowed, response.Header.Get("Writ-Revision"), response.StatusCode
}

// statusOf is the response of GET /v1/status. A server that requires credentials knows
// the token t0ken.
func statusOf(t *testing.T, address string) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer t0ken")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var status map[string]any
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

func poke(t *testing.T, address, secret string) int {
	t.Helper()
	body := []byte(`{"ref":"refs/heads/main"}`)
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/poke", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// A server follows a repository: each commit is served when it is poked for, what is
// wrong or out of reach leaves the last good one, and the next good one arrives.
func TestServingGit(t *testing.T) {
	host := newGitHost(t)
	first := host.commit(granting("alice"))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := serve(t, "--policies", host.url, "--state-dir", t.TempDir(), "--every", "1h", "--poke-secret", secret)
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	waitFor(t, serves("alice"))
	waitFor(t, func() bool { // the status is written after the first answer
		bundle, _ := statusOf(t, address)["bundle"].(map[string]any)
		return bundle["commit"] == first
	})
	if got := poke(t, address, "wrong"); got != http.StatusForbidden {
		t.Errorf("a webhook with another secret: %d", got)
	}
	changed := func() { t.Helper(); check(t, poke(t, address, "s3cret") == http.StatusAccepted) }

	host.commit(granting("bob"))
	changed()
	waitFor(t, serves("bob"))

	host.commit("kind: [")
	changed()
	waitFor(t, func() bool { return statusOf(t, address)["degraded"] == true })
	check(t, serves("bob")())

	host.commit(granting("carol"))
	host.broken.Store(true)
	changed()
	waitFor(t, func() bool { return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), "git+http") })
	check(t, serves("bob")())

	host.broken.Store(false)
	changed()
	waitFor(t, serves("carol"))
	waitFor(t, func() bool {
		s := statusOf(t, address)
		return s["degraded"] == false && s["behindSeconds"] == 0.0
	})
}

func check(t *testing.T, holds bool) {
	t.Helper()
	if !holds {
		t.Error("it does not hold")
	}
}

// An operator goes back and forth with the command, and requests say what they are
// to be answered from.
func TestRollback(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	write := func(user string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte(granting(user)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tokens := filepath.Join(state, "operators.csv")
	if err := os.WriteFile(tokens, []byte("t0ken,olga,1,ops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("alice")
	admin := process.FreeAddress(t)
	address := serve(t, "--policies", dir, "--state-dir", state, "--settle", "10ms", "--admin-listen", admin, "--operators", "ops", "--tokens", tokens, "--anonymous")
	_, old, _ := mayGet(t, address, "alice")
	write("bob")
	waitFor(t, func() bool { allowed, _, _ := mayGet(t, address, "bob"); return allowed })

	command := func(args ...string) (string, error) {
		cmd := exec.Command(process.Writ(t), append([]string{"rollback", "--server", "http://" + admin}, args...)...)
		cmd.Env = append(os.Environ(), "WRIT_ADMIN_TOKEN=t0ken")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := command("--list"); err != nil || strings.Count(out, "\n") != 2 || !strings.Contains(out, old) {
		t.Errorf("list: %v\n%s", err, out)
	}
	if out, err := command(old[:12]); err != nil {
		t.Fatalf("rollback: %v\n%s", err, out)
	}
	allowed, revision, _ := mayGet(t, address, "alice")
	if !allowed || revision != old {
		t.Errorf("after going back: alice %v by %s", allowed, revision)
	}
	if _, _, status := mayGet(t, address, "alice", "Writ-Revision", strings.Repeat("0", 64)); status != http.StatusPreconditionFailed {
		t.Errorf("a precondition on another revision: %d", status)
	}
	if _, _, status := mayGet(t, address, "alice", "Writ-Revision", old); status != http.StatusOK {
		t.Errorf("a precondition on this revision: %d", status)
	}
	if _, _, status := mayGet(t, address, "alice", "Writ-Min-Sequence", "1"); status != http.StatusPreconditionFailed {
		t.Errorf("a precondition on a future sequence number: %d", status)
	}
	if out, err := command("--release"); err != nil {
		t.Fatalf("release: %v\n%s", err, out)
	}
	waitFor(t, func() bool { allowed, _, _ := mayGet(t, address, "bob"); return allowed })
	if out, err := command("0123"); err == nil || !strings.Contains(out, "no revision begins with") {
		t.Errorf("going back to nothing: %v\n%s", err, out)
	}
	response, err := http.Post("http://"+admin+"/v1/release", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", response.StatusCode)
	}
}

// A server that is killed at any moment of a reload serves a whole revision when it
// is started again, even over documents that do not compile.
func TestKilledWhileReloading(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(policy+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(policy+".new", policy); err != nil {
			t.Fatal(err)
		}
	}
	save(granting("user-0"))
	for i := 1; i <= max(5, gate.Times(1)); i++ {
		cmd, address := start(t, "--policies", dir, "--state-dir", state, "--settle", "1ms")
		waitFor(t, func() bool { return ready(address) })
		if i > 1 && !servesWhole(t, address, i) {
			t.Fatalf("kill %d: the restart serves no whole revision", i)
		}
		if i == 1 {
			waitKept(t, address, state)
		}
		save(granting(fmt.Sprintf("user-%d", i)))
		time.AfterFunc(time.Duration(i*7919%120)*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		_ = cmd.Wait() // killed
		save("kind: [")
	}
}

// waitKept waits until what is served is in the state directory: it is served before.
func waitKept(t *testing.T, address, state string) {
	t.Helper()
	_, revision, _ := mayGet(t, address, "anybody")
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(state, "revisions", revision+".tar.gz"))
		return err == nil
	})
}

// servesWhole reports whether exactly one of the users that were written may get
// pods: the last, or one before it whose reload was interrupted.
func servesWhole(t *testing.T, address string, written int) bool {
	t.Helper()
	n := 0
	for i := range written {
		if allowed, _, _ := mayGet(t, address, fmt.Sprintf("user-%d", i)); allowed {
			n++
		}
	}
	return n == 1
}

func ready(address string) bool {
	response, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// start starts a server whose end is the test's business.
func start(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	address := process.FreeAddress(t)
	cmd := exec.Command(process.Writ(t), append([]string{"serve", "--listen", address}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, address
}
