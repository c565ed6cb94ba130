package serving

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/process"
)

// signedRepository is a repository whose commits are signed by one allowed key.
type signedRepository struct {
	t            *testing.T
	dir, signers string
}

func newSignedRepository(t *testing.T) *signedRepository {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("NOT TESTED: ssh-keygen, of the package openssh-client, is not installed, so no commit can be signed")
	}
	keys := t.TempDir()
	r := &signedRepository{t, filepath.Join(t.TempDir(), "policies"), filepath.Join(keys, "signers")}
	key := filepath.Join(keys, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.signers, append([]byte(`*@example.com namespaces="git" `), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "gpg.format", "ssh")
	r.git("config", "user.signingkey", key)
	return r
}

func (r *signedRepository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit signs a commit that lets only the user read pods, and returns its hash.
func (r *signedRepository) commit(user string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "policy.yaml"), []byte(granting(user)), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "-S", "-m", user)
	return r.git("rev-parse", "HEAD")
}

// A signed commit that does not descend from the last active one is not served, also after a
// restart, until an operator accepts it or rolls back to a common ancestor.
func TestSignedHistory(t *testing.T) {
	r, state := newSignedRepository(t), t.TempDir()
	first := r.commit("alice")
	second := r.commit("bob")
	tokens := filepath.Join(t.TempDir(), "operators.csv")
	if err := os.WriteFile(tokens, []byte("t0ken,olga,1,ops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := process.FreeAddress(t)
	args := []string{
		"--policies", "git+file://" + r.dir, "--git-allowed-keys", r.signers, "--state-dir", state, "--every", "100ms",
		"--git-min-commit", second, "--admin-listen", admin, "--operators", "ops", "--auditors", "ops", "--tokens", tokens, "--anonymous",
	}
	address := ""
	serves := func(user string) func() bool {
		return func() bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	}
	refuses := func(commit, base string) {
		t.Helper()
		waitFor(t, func() bool {
			text, _ := statusOf(t, address)["lastError"].(string)
			return strings.Contains(text, commit+" does not descend from "+base)
		})
	}
	rollback := func(args ...string) {
		t.Helper()
		cmd := exec.Command(process.Writ(t), append([]string{"rollback", "--server", "http://" + admin}, args...)...)
		cmd.Env = append(os.Environ(), "WRIT_ADMIN_TOKEN=t0ken")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("rollback %q: %v\n%s", args, err, out)
		}
	}

	// At a first start, the minimum decides.
	r.git("reset", "--quiet", "--hard", first)
	cmd, at := start(t, args...)
	address = at
	waitFor(t, func() bool {
		response, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	refuses(first, second)
	r.git("reset", "--quiet", "--hard", second)
	waitFor(t, serves("bob"))
	waitFor(t, func() bool { return statusOf(t, address)["lastError"] == "" })
	revision, _ := statusOf(t, address)["revision"].(string)

	third := r.commit("carol")
	waitFor(t, serves("carol"))
	waitFor(t, func() bool { return statusOf(t, address)["lastError"] == "" })

	// An old commit, and a rewritten branch.
	r.git("reset", "--quiet", "--hard", second)
	refuses(second, third)
	rewritten := r.commit("dave")
	refuses(rewritten, third)
	check(t, serves("carol")())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	cmd, address = start(t, args...)
	waitFor(t, func() bool { return ready(address) })
	waitFor(t, serves("carol"))
	refuses(rewritten, third)

	// From a common ancestor, the rewritten branch is new.
	rollback(revision)
	check(t, serves("bob")())
	rollback("--release")
	waitFor(t, serves("dave"))

	// A commit is accepted by its name.
	r.git("checkout", "--quiet", "--orphan", "other")
	orphan := r.commit("erin")
	r.git("branch", "--force", "main", orphan)
	r.git("checkout", "--quiet", "main")
	refuses(orphan, rewritten)
	rollback("--accept", orphan)
	waitFor(t, serves("erin"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, address = start(t, args...)
	waitFor(t, func() bool { return ready(address) })
	waitFor(t, serves("erin"))
	r.git("reset", "--quiet", "--hard", rewritten)
	refuses(rewritten, orphan)
}
