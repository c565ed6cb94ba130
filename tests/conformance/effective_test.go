package conformance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// question is what a line asks writ effective.
type question struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Via    string `json:"via"`
	Rule   string `json:"rule"`
	Policy string `json:"policy"`
}

func (q question) arguments() []string {
	arguments := []string{"--kind", q.Kind, "--target", q.Target}
	if q.Via != "" {
		arguments = append(arguments, "--via", q.Via)
	}
	return arguments
}

// discovery is a line of discover.jsonl.
type discovery struct {
	Name     string    `json:"name"`
	Reach    *question `json:"reach"`
	Replaced *question `json:"replaced"`
	Want     any       `json:"want"`
}

func testDiscover(t *testing.T, folder string) int {
	discoveries := lines[discovery](t, filepath.Join(folder, "discover.jsonl"))
	names := map[string]bool{}
	for _, d := range discoveries {
		if names[d.Name] {
			t.Errorf("%s is there twice", d.Name)
		}
		names[d.Name] = true
		testQuestion(t, folder, d.Name, d.arguments(t), d.Want)
	}
	return len(discoveries)
}

func (d discovery) arguments(t *testing.T) []string {
	switch {
	case d.Reach != nil && d.Replaced == nil:
		return []string{"--kind", d.Reach.Kind, "--reach", d.Reach.Rule}
	case d.Replaced != nil && d.Reach == nil:
		arguments := []string{"--kind", d.Replaced.Kind, "--replaced"}
		if d.Replaced.Policy != "" {
			arguments = append(arguments, "--policy", d.Replaced.Policy)
		}
		return arguments
	}
	t.Fatalf("%s: a line asks for reach or for replaced", d.Name)
	return nil
}

// testQuestion compares an answer of writ effective.
func testQuestion(t *testing.T, folder, name string, arguments []string, want any) {
	t.Run(strings.ReplaceAll(name, "/", ": "), func(t *testing.T) {
		arguments = append([]string{"effective", filepath.Join(folder, "policies"), "-o", "json"}, arguments...)
		out, talk, status := start(t, nil, arguments...)
		if status != 0 {
			t.Fatalf("exit status %d: %s", status, talk)
		}
		var got any
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if why := differs(got, want, ""); why != "" {
			t.Errorf("%s\nanswer: %s", why, out)
		}
	})
}
