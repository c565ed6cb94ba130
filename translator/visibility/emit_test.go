package visibility

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

func TestNanoseconds(t *testing.T) {
	for text, want := range map[string]string{
		"1970-01-01T00:00:00Z":           "0",
		"2026-03-01T02:00:00.5+02:00":    "1772323200500000000",
		"1969-12-31T23:59:59.999999999Z": "-1",
		"9999-12-31T23:59:59Z":           "253402300799000000000",
		"0001-01-01T00:00:00Z":           "-62135596800000000000",
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := nanoseconds(at); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestSampleExpression(t *testing.T) {
	for _, pattern := range []string{"prod", "^prod-", "^prod-[0-9]+$", "(eu|us)-.{3}", `^[^a]$`, `(?i)prod`, "a?b*c", `\d{2}\.x`, ".*"} {
		p := &tables.VisibilityPolicy{Rules: []tables.VisibilityRule{{Pattern: pattern}}}
		if c, ok := sampleCluster(p, 0); !ok {
			t.Errorf("%s: got no sample but %q", pattern, c.name)
		}
	}
}

// visibilityTables returns tables with one policy of each kind and two sources.
func visibilityTables() *tables.Visibility {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	labels := map[string]string{"env": "prod"}
	names := tables.Criteria{
		Allowed: tables.Values{Literals: map[string]bool{"web": true}}, Denied: tables.Values{Patterns: []tables.Glob{tables.ParseGlob("*-tmp")}},
	}
	rules := []tables.VisibilityRule{
		{Source: "a.yaml:9", Names: []string{"c1"}, Permissions: []string{"view"}, Entries: map[string]*tables.VisibilityEntry{
			"pods": {Visibility: "filtered", Names: names, Filter: &tables.ShownFilter{Visibility: "filtered"}},
			"pvc":  {Custom: true, Visibility: "none"},
		}},
		{Source: "a.yaml:12", Pattern: "^prod", Labels: &labels, Entries: map[string]*tables.VisibilityEntry{"pvc": {Custom: true, Visibility: "all"}}},
		{Source: "a.yaml:15", Pattern: ".*"},
	}
	return &tables.Visibility{
		Policies: []tables.VisibilityPolicy{
			{Name: "p", Namespace: "ns", Module: "ns-p", Source: "a.yaml:1", Applies: true, NotBefore: &from, Users: []string{"u"}, Groups: []string{"g"}, Rules: rules},
			{Name: "d", Module: "-d", Source: "a.yaml:20", Applies: true, Deny: true, ByDefault: &tables.VisibilityRule{Source: "a.yaml:25"}, Groups: []string{"g"}, Rules: rules[:2]},
			{Name: "disabled", Module: "-disabled", Source: "a.yaml:30", Disabled: true, Users: []string{"u"}},
			{Name: "malformed", Module: "-malformed", Source: "a.yaml:40", Malformed: true, Users: []string{"u"}},
			{Name: "nowhere", Module: "-nowhere", Source: "a.yaml:50", Users: []string{"u"}},
		},
		Sources: []tables.MetricSource{{Name: "s", Source: "s.yaml:1", Type: "pvc"}, {Name: "unnamed", Source: "s.yaml:9"}},
	}
}

func TestVisibilityFiles(t *testing.T) {
	files := emitFiles(visibilityTables(), emit.Options{Tests: true})
	for path, want := range map[string][]string{
		"compiled/visibility/ns-p.rego": {
			`package compiled.visibility.policies["ns-p"]`, "#   source: \"a.yaml:12\"\nclusters contains 1 if {\n\tregex.match(\"^prod\", input.cluster.name)",
			"clusters contains 1 if {\n\tinput.cluster.labels.env == \"prod\"", "\nclusters contains 2\n",
			"time.now_ns() >= 1767225600000000000",
		},
		"compiled/visibility/-d.rego":              {"holds"},
		"compiled/visibility/-disabled.rego":       {"not enabled"},
		"compiled/visibility/-malformed.rego":      {"never applies"},
		"compiled/visibility/-nowhere.rego":        {"no cluster"},
		"compiled/tests/visibility/-d_test.rego":   {`"the default": {"rule": -1`, `"beside rule 1"`, `visibility_tables.denies["group:g"]`},
		"compiled/tests/visibility/ns-p_test.rego": {`"visibility": {"pods": "filtered", "pvc": "none"}`, `visibility_tables.allows["group:g"]`},
	} {
		for _, text := range want {
			if !strings.Contains(string(files[path]), text) {
				t.Errorf("%s: %s is not in\n%s", path, text, files[path])
			}
		}
	}
	if path := "compiled/tests/visibility/-disabled_test.rego"; files[path] != nil {
		t.Errorf("%s: got a file, want none among %q", path, slices.Sorted(maps.Keys(files)))
	}
}

func TestNoVisibilityNoFiles(t *testing.T) {
	files := emitFiles(&tables.Visibility{}, emit.Options{Tests: true})
	for path := range files {
		if strings.Contains(path, "visibility") {
			t.Errorf("got %s, want nothing of visibility", path)
		}
	}
}

// Modules of any documents parse, and are in a folder of their own.
func FuzzVisibility(f *testing.F) {
	f.Add("p", "ns", "a.yaml:1", "user", "^prod", "pods", "web*")
	f.Add("a\"]\nallow := true", "*/", "x\ny:1", "`", `\d(`, "[", "?\\")
	f.Add("..", "../..", "/etc", "\u2028", "", "_test", "")
	f.Fuzz(func(t *testing.T, name, namespace, source, user, pattern, kind, value string) {
		for _, text := range []*string{&name, &namespace, &source, &user, &pattern, &kind, &value} {
			*text = strings.ToValidUTF8(*text, "?")
		}
		labels := map[string]string{user: value}
		criteria := tables.Criteria{
			Allowed: tables.Values{Literals: map[string]bool{value: true}}, Denied: tables.Values{Patterns: []tables.Glob{tables.ParseGlob(value)}},
		}
		rule := tables.VisibilityRule{
			Source: source, Names: []string{name}, Pattern: pattern, Labels: &labels, Permissions: []string{"view"},
			Entries: map[string]*tables.VisibilityEntry{kind: {Custom: true, Visibility: "filtered", Names: criteria, Labels: labels}},
		}
		v := &tables.Visibility{Policies: []tables.VisibilityPolicy{{
			Name: name, Namespace: namespace, Module: emit.FileName(namespace, name), Source: source, Applies: true,
			ByDefault: &tables.VisibilityRule{Source: source}, Users: []string{user}, Groups: []string{name}, Rules: []tables.VisibilityRule{rule},
		}}}
		files := emitFiles(v, emit.Options{Tests: true})
		if len(files) != 2 {
			t.Errorf("got %d files, want 2: %q", len(files), slices.Sorted(maps.Keys(files)))
		}
		for path, content := range files {
			if strings.Contains(path, "..") || strings.HasPrefix(path, "/") {
				t.Errorf("a file outside of the bundle: %q", path)
			}
			if _, err := ast.ParseModuleWithOpts(path, string(content), ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true}); err != nil {
				t.Errorf("%s does not parse: %v\n%s", path, err, content)
			}
		}
	})
}

// The cost of a thousand policies is linear: the rules and tests of a policy do not refer
// to other policies.
func TestVisibilityPoliciesAreApart(t *testing.T) {
	v := &tables.Visibility{}
	for i := range 3 {
		p := visibilityTables().Policies[0]
		p.Module = fmt.Sprintf("p%d", i)
		v.Policies = append(v.Policies, p)
	}
	files := emitFiles(v, emit.Options{Tests: true})
	packages := map[string]bool{}
	for path, content := range files {
		module, err := ast.ParseModuleWithOpts(path, string(content), ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		if name := module.Package.String(); packages[name] {
			t.Errorf("%s: %s is shared", path, name)
		} else {
			packages[name] = true
		}
	}
}
