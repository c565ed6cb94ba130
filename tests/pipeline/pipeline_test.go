// Package pipeline runs what a pipeline runs: the steps of the GitHub action, the script of
// the GitLab example and the pre-commit hooks, in a repository of its own and with a server
// that records comments.
package pipeline

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/tests/process"
)

const (
	before = `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, name: dev}]}
`
	marker = "<!-- writ diff -->\n"
)

// repository is a git repository whose last commit lets dev delete pods. The commit before
// it is base.
type repository struct {
	t         *testing.T
	dir, base string
	env       []string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	for _, tool := range []string{"bash", "git", "jq", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	for _, name := range []string{"compare.sh", "comment.sh", "install.sh"} { // read, so that a cached result ends when one changes
		if _, err := os.ReadFile(script(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	tools := t.TempDir()
	if err := os.Symlink(process.Writ(t), filepath.Join(tools, "writ")); err != nil {
		t.Fatal(err)
	}
	r := &repository{t: t, dir: t.TempDir()}
	r.env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "HOME="+tools,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	r.run(nil, "git init --quiet && mkdir policies")
	r.commit(before)
	r.base = strings.TrimSpace(r.run(nil, "git rev-parse HEAD"))
	r.commit(strings.Replace(before, "[get]", "[get, delete]", 1))
	return r
}

func (r *repository) commit(documents string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "policies", "rbac.yaml"), []byte(documents), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.run(nil, "git add . && git commit --quiet --allow-empty --message change")
}

// run runs a script in the repository and returns its output.
func (r *repository) run(env map[string]string, script string) string {
	r.t.Helper()
	out, err := r.try(env, script)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func (r *repository) try(env map[string]string, script string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) read(name string) string {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(content)
}

// comments is a server that keeps comments as GitHub and notes as GitLab do.
type comments struct {
	*httptest.Server
	mu     sync.Mutex // held to read and write the others
	bodies []string
	asked  []string // methods and the token
}

func newComments(t *testing.T, first ...string) *comments {
	t.Helper()
	c := &comments{bodies: first}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.Method+" "+r.Header.Get("Authorization")+r.Header.Get("Private-Token"))
	if r.Method == http.MethodGet {
		list := []map[string]any{}
		for id, body := range c.bodies {
			list = append(list, map[string]any{"id": id + 1, "body": body})
		}
		_ = json.NewEncoder(w).Encode(list) // the caller notices a short answer
		return
	}
	var sent struct {
		Body string `json:"body"`
	}
	content, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(content, &sent)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case r.Method == http.MethodPost:
		c.bodies = append(c.bodies, sent.Body)
	case strings.HasSuffix(r.URL.Path, "/2"):
		c.bodies[1] = sent.Body
	default:
		http.NotFound(w, r)
	}
}

func (c *comments) want(t *testing.T, methods []string, token string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	want := make([]string, 0, len(methods))
	for _, method := range methods {
		want = append(want, method+" "+token)
	}
	if !slices.Equal(c.asked, want) {
		t.Errorf("got requests %q, want %q", c.asked, want)
	}
	if len(c.bodies) != 2 || c.bodies[0] != "hello" || !strings.HasPrefix(c.bodies[1], marker) || !strings.Contains(c.bodies[1], "delete") {
		t.Errorf("got comments %q, want hello and one report", c.bodies)
	}
}

// action is what the test reads of action.yml.
type action struct {
	Inputs map[string]struct {
		Default string `yaml:"default"`
	} `yaml:"inputs"`
	Runs struct {
		Steps []struct {
			Name string            `yaml:"name"`
			If   string            `yaml:"if"`
			Run  string            `yaml:"run"`
			Env  map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../..", path))
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The steps of the action, in order. A second run of the step Comment updates the comment.
func TestAction(t *testing.T) {
	r := newRepository(t)
	server := newComments(t, "hello")
	var a action
	load(t, "action.yml", &a)
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	context := map[string]string{
		"${{ inputs.policies }}": a.Inputs["policies"].Default, "${{ inputs.base }}": r.base, "${{ inputs.fail-on }}": a.Inputs["fail-on"].Default, "${{ inputs.expect }}": "",
		"${{ github.event.pull_request.user.login }}": "alice", "${{ github.token }}": "secret", "${{ github.event.pull_request.number }}": "7",
		"${{ inputs.prune }}": "", "${{ (!github.event.pull_request || github.event.pull_request.head.repo.full_name == github.repository) && inputs.apply-to || '' }}": "",
	}
	for pass := range 2 {
		for _, step := range a.Runs.Steps {
			isLocal := strings.Contains(step.If, "head.repo.full_name == github.repository")
			if isWriter := slices.Contains([]string{"Comment", "Code scanning", "Artifact"}, step.Name); isLocal != isWriter {
				t.Errorf("step %s: left out for a fork is %v, want %v", step.Name, isLocal, isWriter)
			}
			if step.Run == "" || step.Name == "Install" || pass > 0 && step.Name != "Comment" {
				continue
			}
			env := map[string]string{"GITHUB_ACTION_PATH": top, "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": server.URL, "GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary")}
			for name, value := range step.Env {
				known, ok := context[value]
				if !ok {
					t.Fatalf("step %s: unknown value %s", step.Name, value)
				}
				env[name] = known
			}
			if strings.Contains(step.Run, "writ ") && env["GITHUB_TOKEN"] != "" {
				t.Errorf("step %s runs documents where the token is", step.Name)
			}
			out, err := r.try(env, step.Run)
			if failed := err != nil; failed != (step.Name == "Result") {
				t.Fatalf("step %s: got %v\n%s", step.Name, err, out)
			}
		}
	}
	server.want(t, []string{"GET", "POST", "GET", "PATCH"}, "Bearer secret")
	if got := r.read("writ-report/status"); got != "diff" {
		t.Errorf("got failures %q, want diff", got)
	}
	for _, name := range []string{"check", "diff"} {
		got := r.read("writ-report/" + name + ".sarif")
		if strings.Contains(got, `"rbac.yaml"`) || strings.Contains(got, `"./`) || name == "diff" && !strings.Contains(got, `"policies/rbac.yaml"`) {
			t.Errorf("got %s, want files relative to the repository", got)
		}
		if !strings.Contains(got, `"id": "writ-`+name+`/"`) {
			t.Errorf("got %s, want a category of its own", got)
		}
	}
	if got := r.read("writ-report/diff.json"); !strings.Contains(got, `"gain": 1`) {
		t.Errorf("got %s, want one gain", got)
	}
}

// A change whose documents do not compile has a report that says so, and fails.
func TestActionWithErrors(t *testing.T) {
	r := newRepository(t)
	r.commit(strings.Replace(before, "kind: ClusterRole,", "kind: ClusterRoles,", 1))
	r.run(map[string]string{"POLICIES": "policies", "BASE": r.base, "FAIL_ON": "none", "EXPECT": "", "AUTHOR": ""}, script(t, "compare.sh")+" out")
	if got := r.read("out/report.md"); !strings.HasPrefix(got, marker) || !strings.Contains(got, "does-not-compile") {
		t.Errorf("got %s, want the error", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "out", "diff.sarif")); err == nil {
		t.Error("a comparison that failed has a report for code scanning")
	}
	if got := r.read("out/check.sarif"); !strings.Contains(got, `"policies/rbac.yaml"`) {
		t.Errorf("got %s, want the diagnostic", got)
	}
	if got := r.read("out/status"); !strings.Contains(got, "check") || !strings.Contains(got, "diff") {
		t.Errorf("got failures %q, want check and diff", got)
	}
}

// A cluster that cannot be read closes the gate, and the report says why.
func TestActionWithCluster(t *testing.T) {
	r := newRepository(t)
	r.run(map[string]string{"POLICIES": "policies", "BASE": r.base, "FAIL_ON": "none", "EXPECT": "", "AUTHOR": "", "APPLY_TO": "prod", "PRUNE": "label:app=shop", "KUBECONFIG": "/dev/null"},
		script(t, "compare.sh")+" out")
	if got := r.read("out/report.md"); !strings.HasPrefix(got, marker) || !strings.Contains(got, "\n### Applied to prod\n\n    writ: no comparison was possible: ") {
		t.Errorf("got %s, want the error of the cluster", got)
	}
	if got := r.read("out/status"); got != "gate" {
		t.Errorf("got failures %q, want gate", got)
	}
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../.ci/action/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// An installed tool is the one that the release has, with its checksum.
func TestInstall(t *testing.T) {
	r := newRepository(t)
	r.run(nil, `case $(uname -m) in x86_64) m=amd64 ;; *) m=arm64 ;; esac
name=writ_v1.0.0_$(uname -s | tr '[:upper:]' '[:lower:]')_$m
mkdir -p releases/v1.0.0 && cd releases/v1.0.0 && printf '#!/bin/sh\necho released\n' >$name && sha256sum $name >SHA256SUMS`)
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(r.dir, "releases"))))
	t.Cleanup(files.Close)
	env := map[string]string{"WRIT_RELEASES": files.URL}
	if got := r.run(env, script(t, "install.sh")+" v1.0.0 tools && tools/writ"); got != "released\n" {
		t.Errorf("got %q, want the released tool", got)
	}
	r.run(nil, "for f in releases/v1.0.0/writ_*; do echo changed >>$f; done")
	if out, err := r.try(env, script(t, "install.sh")+" v1.0.0 others"); err == nil {
		t.Errorf("a tool with another checksum is installed: %s", out)
	}
}

// The script of the GitLab example. The second run updates the note.
func TestGitLab(t *testing.T) {
	r := newRepository(t)
	server := newComments(t, "hello")
	var file struct {
		Writ struct {
			Variables map[string]string `yaml:"variables"`
			Script    []string          `yaml:"script"`
		} `yaml:"writ"`
	}
	load(t, "examples/pipeline/gitlab-ci.yml", &file)
	env := map[string]string{"CI_MERGE_REQUEST_DIFF_BASE_SHA": r.base, "CI_API_V4_URL": server.URL, "CI_PROJECT_ID": "1", "CI_MERGE_REQUEST_IID": "7", "WRIT_TOKEN": "secret"}
	maps.Copy(env, file.Writ.Variables)
	for _, documents := range []string{"[get, delete]", "[get, delete, lst]"} { // the second one has a warning
		r.commit(strings.Replace(before, "[get]", documents, 1))
		if out, err := r.try(env, strings.Join(file.Writ.Script, "\n")); err == nil {
			t.Fatalf("a change that nothing expects must fail the job: %s", out)
		}
	}
	server.want(t, []string{"GET", "POST", "GET", "PUT"}, "secret")
	if got := r.read("junit.xml"); !strings.Contains(got, "<testsuite") {
		t.Errorf("got %s, want a report of tests", got)
	}
	if got := r.read("code-quality.json"); !strings.Contains(got, `"policies/rbac.yaml"`) || !strings.Contains(got, "unknown-verb") {
		t.Errorf("got %s, want a diagnostic", got)
	}
}

// The hooks run in a repository whose work differs from HEAD.
func TestHooks(t *testing.T) {
	r := newRepository(t)
	var hooks []struct {
		ID    string `yaml:"id"`
		Entry string `yaml:"entry"`
	}
	load(t, ".pre-commit-hooks.yaml", &hooks)
	arguments := map[string]string{"writ-check": "policies", "writ-lint": "policies", "writ-test": "policies", "writ-diff": "HEAD:policies policies"}
	if err := os.WriteFile(filepath.Join(r.dir, "policies", "rbac.yaml"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hook := range hooks {
		out := r.run(nil, hook.Entry+" "+arguments[hook.ID])
		if hook.ID == "writ-diff" && !strings.Contains(out, "delete") {
			t.Errorf("got %s, want the difference", out)
		}
		delete(arguments, hook.ID)
	}
	if len(arguments) > 0 {
		t.Errorf("no hook is named %v", slices.Sorted(maps.Keys(arguments)))
	}
}
