package server

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in a folder of the house.
func (h *house) git(folder string, args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(h.dir, folder)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// branch makes the folder policies a repository with the branch "next", in which bob replaces
// alice.
func (h *house) branch() {
	h.t.Helper()
	h.git("policies", "init", "--quiet", "--initial-branch=main")
	h.git("policies", "add", "--all")
	h.git("policies", "commit", "--quiet", "-m", "one")
	h.git("policies", "checkout", "--quiet", "-b", "next")
	h.write("policies/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "bob"))
	h.write("policies/.writ.yaml", "default-namespace: shop\n")
	h.git("policies", "add", "--all")
	h.git("policies", "commit", "--quiet", "-m", "two")
	h.git("policies", "checkout", "--quiet", "main")
}

// propose posts a proposal and returns the sentences of the answer, or its message.
func (r *running) propose(proposal map[string]any) (status int, text string) {
	r.t.Helper()
	body, err := json.Marshal(proposal)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := r.client.Post(r.url+"/v1/diff", "application/json", strings.NewReader(string(body)))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var answer struct {
		Detail string
		Groups []struct{ Summary string }
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		r.t.Fatalf("%s: %v", content, err)
	}
	for _, g := range answer.Groups {
		answer.Detail += g.Summary + "\n"
	}
	if answer.Detail == "" {
		answer.Detail = string(content)
	}
	return response.StatusCode, answer.Detail
}

// A reference of the repository that is served is compared with what is served, as a source
// of git and as a directory in a checkout.
func TestReferencesAreCompared(t *testing.T) {
	const change = "user bob gets ClusterRole viewer in hammer (get pods)\nuser alice loses ClusterRole viewer in hammer (get pods)\n"
	added := map[string]any{"path": "more.yaml", "content": strings.ReplaceAll(strings.ReplaceAll(viewers[strings.Index(viewers, "---"):], "NAME", "eve"), "viewers", "more")}
	for name, location := range map[string]func(dir string) []string{
		"a directory":        func(dir string) []string { return []string{dir} },
		"a repository":       func(dir string) []string { return []string{"git+file://" + dir + "/.git?ref=main"} },
		"one of two sources": func(dir string) []string { return []string{dir, filepath.Join(filepath.Dir(dir), "other")} },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.branch()
			h.write("other/role.yaml", strings.ReplaceAll(viewers[:strings.Index(viewers, "---")], "viewer", "other"))
			h.config.Policies = location(filepath.Join(h.dir, "policies"))
			r := h.run()
			r.eventually("ready, and its documents are known to the console", func() bool {
				status, _ := r.propose(map[string]any{"ref": "main"})
				return r.isReady() && status == 200
			})
			for _, row := range []struct {
				name     string
				proposal map[string]any
				status   int
				want     string
			}{
				{"a branch", map[string]any{"ref": "next"}, 200, change},
				{"what is served", map[string]any{"ref": "main", "documents": []any{}}, 200, `"equivalent":true`},
				{"a branch and a document", map[string]any{"ref": "next", "documents": []any{added}}, 200, "user bob and user eve get"},
				{"a branch without a document", map[string]any{"ref": "next", "removed": []string{"viewers.yaml"}}, 422, "have 1 error"},
				{"another branch", map[string]any{"ref": "nxt"}, 400, `did you mean "next"?`},
				{"an option", map[string]any{"ref": "--upload-pack=x"}, 400, "must be a branch, a tag or a commit"},
				{"a path", map[string]any{"ref": "../../etc/passwd"}, 400, "must be a branch, a tag or a commit"},
				{"another repository", map[string]any{"ref": "https://example.com/x.git"}, 400, "must be a branch, a tag or a commit"},
				{"all documents and a branch", map[string]any{"ref": "next", "whole": true, "documents": []any{added}}, 400, "must be false with a ref"},
				{"another source", map[string]any{"ref": "next", "source": "/etc"}, 400, "must be one of"},
				{"a source alone", map[string]any{"source": "policies", "documents": []any{added}}, 400, "is only for a ref"},
			} {
				if strings.HasPrefix(name, "one of") && row.proposal["removed"] != nil {
					row.proposal["removed"] = []string{"policies/viewers.yaml"}
				}
				status, text := r.propose(row.proposal)
				if status != row.status || !strings.Contains(text, row.want) {
					t.Errorf("%s: got %d %s, want %d %s", row.name, status, text, row.status, row.want)
				}
			}
			if !r.allowed("alice") || r.allowed("bob") {
				t.Error("a reference is served")
			}
			_, revisions := r.get("/v1/revisions")
			_, form := r.get("/page/changes/proposal")
			if !strings.Contains(revisions, `"repositories":[{"source":"`) || !strings.Contains(form, `name="ref"`) {
				t.Errorf("got %s and %s", revisions, form)
			}
		})
	}
}

// Documents that are not in a repository have no reference, and the form states it.
func TestReferencesOfADirectory(t *testing.T) {
	h := newHouse(t)
	r := h.run()
	r.eventually("ready", r.isReady)
	if status, text := r.propose(map[string]any{"ref": "main"}); status != 400 || !strings.Contains(text, "not in a git repository") {
		t.Errorf("got %d %s", status, text)
	}
	if _, form := r.get("/page/changes/proposal"); strings.Contains(form, `name="ref"`) || !strings.Contains(form, "are not in a git repository") {
		t.Errorf("got %s", form)
	}
}
