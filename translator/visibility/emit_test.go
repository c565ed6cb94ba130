package visibility

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

func TestVisibilityGlob(t *testing.T) {
	for _, row := range []struct {
		name, pattern string
		fits, misses  []string
	}{
		{"a run", "a*", []string{"a", "ab", "a/b", "a\nb", "a\n"}, []string{"ba", "A"}},
		{"stars together", "a**b", []string{"ab", "axxb"}, []string{"abx", "a"}},
		{"everything", "*", []string{"", "x", "\n"}, nil},
		{"one character", "a?", []string{"ab", "aü", "a\n", "a\U0001f600"}, []string{"a", "abc", "ab\n"}},
		{"the end is the end", "*b", []string{"ab", "b"}, []string{"b\n", "bb "}},
		{"all else is literal", `a.b[c](d)+^$\{e}|f*`, []string{`a.b[c](d)+^$\{e}|f`}, []string{`axb[c](d)+^$\{e}|f`, "f"}},
		{"not ASCII", "ü*", []string{"ü", "üx"}, []string{"u"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			expression := regexp.MustCompile(visibilityGlob(row.pattern))
			for _, text := range row.fits {
				if !expression.MatchString(text) {
					t.Errorf("%s does not fit %q", expression, text)
				}
			}
			for _, text := range row.misses {
				if expression.MatchString(text) {
					t.Errorf("%s fits %q", expression, text)
				}
			}
		})
	}
}

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

func TestVisibilityKey(t *testing.T) {
	for _, row := range []struct{ namespace, name, want string }{
		{"", "p", "/p"}, {"ns", "p", "ns/p"}, {"ns", "a/b", "ns/a/b"}, {"ns/a", "b", "ns%2Fa/b"}, {"ns%2Fa", "b", "ns%252Fa/b"},
	} {
		if got := visibilityKey(row.namespace, row.name); got != row.want {
			t.Errorf("%q, %q: got %q, want %q", row.namespace, row.name, got, row.want)
		}
	}
}

func TestCommaList(t *testing.T) {
	for value, want := range map[string][]string{
		"a": {"a"}, "a, b": {"a", "b"}, "[a,b ]": {"a", "b"}, " [ a ] ": {"a"}, "": {""}, "[]": {""},
	} {
		if got := commaList(value); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestSampleExpression(t *testing.T) {
	for _, pattern := range []string{"prod", "^prod-", "^prod-[0-9]+$", "(eu|us)-.{3}", `^[^a]$`, `(?i)prod`, "a?b*c", `\d{2}\.x`, ".*"} {
		p := &tables.VisibilityPolicy{Rules: []tables.VisibilityRule{{Pattern: pattern}}}
		if c, ok := sampleCluster(p, &p.Rules[0]); !ok {
			t.Errorf("%s: got no sample but %q", pattern, c.name)
		}
	}
}

// views is one policy of each kind and a source.
func views() *tables.Visibility {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	labels := map[string]string{"env": "prod"}
	rules := []tables.VisibilityRule{
		{Rule: 0, Source: "a.yaml:9", Names: []string{"c1"}, Permissions: []string{"view"}, Entries: []tables.VisibilityEntry{
			{Type: "pods", Visibility: "filtered", Restricts: true, Names: tables.Criteria{Include: []string{"web"}, ExcludePatterns: []string{"*-tmp"}}},
			{Type: "pvc", Custom: true, Visibility: "none", Restricts: true},
		}},
		{Rule: 1, Source: "a.yaml:12", Pattern: "^prod", Labels: &labels, Entries: []tables.VisibilityEntry{{Type: "pvc", Custom: true, Visibility: "all"}}},
		{Rule: 2, Source: "a.yaml:15", Pattern: ".*"},
	}
	return &tables.Visibility{
		Policies: []tables.VisibilityPolicy{
			{Name: "p", Namespace: "ns", Source: "a.yaml:1", Priority: 10, NotBefore: &from, Default: "none", Users: []string{"u"}, Groups: []string{"g"}, Rules: rules},
			{Name: "d", Source: "a.yaml:20", Deny: true, Default: "all", DefaultSource: "a.yaml:25", Groups: []string{"g"}, Rules: rules[:2]},
			{Name: "disabled", Source: "a.yaml:30", Disabled: true, Default: "all", Users: []string{"u"}},
			{Name: "malformed", Source: "a.yaml:40", Malformed: true, Default: "all", Users: []string{"u"}},
			{Name: "nowhere", Source: "a.yaml:50", Default: "deny", Users: []string{"u"}},
		},
		Sources: []tables.MetricSource{
			{Name: "s", Source: "s.yaml:1", Type: "pvc", Fields: []string{"size", "name"}, Aggregations: []tables.Aggregation{
				{Name: "n", Function: "distinct", Field: "name", GroupBy: "namespace", Filter: &tables.AggregationFilter{Field: "_name", Operator: "in", Value: "a,b"}},
			}},
			{Name: "unnamed", Source: "s.yaml:9"},
		},
	}
}

func TestVisibilityFiles(t *testing.T) {
	files := Emit(views(), emit.Options{Tests: true})
	for path, want := range map[string][]string{
		"compiled/visibility/subjects.rego": {
			`"user:u": [[10, "ns", "p", "ns-p", false]]`, `"group:g": [[0, "", "d", "-d", true]]`, `"ns/p": "ns-p"`,
		},
		"compiled/visibility/ns-p.rego": {
			`package compiled.visibility.policies["ns-p"]`, "#   source: \"a.yaml:12\"\nclusters contains 1 if {\n\tregex.match(\"^prod\", input.cluster.name)",
			"clusters contains 1 if {\n\tinput.cluster.labels.env == \"prod\"", "\nclusters contains 2\n",
			"time.now_ns() >= 1767225600000000000", `listed := {"pods": 0, "pvc": 1}`, `"allowed": {"web": true}`, `"deniedPatterns": ["(?s)^.*-tmp$"]`,
		},
		"compiled/visibility/-d.rego":            {"\t-1: {", `listed := {"pods": 0, "pvc": 0}`, `"entries": {}`},
		"compiled/visibility/-disabled.rego":     {"not enabled"},
		"compiled/visibility/-malformed.rego":    {"never holds"},
		"compiled/visibility/-nowhere.rego":      {"no cluster"},
		"compiled/visibility/sources/-s.rego":    {`"field": {"field": "name"}`, `"group": {"own": "namespace"}`, `"list": ["a", "b"]`, `"field": {"own": "name"}`},
		"compiled/tests/visibility/-d_test.rego": {`"the default": {"rule": -1`, `"beside rule 1"`},
	} {
		for _, text := range want {
			if !strings.Contains(string(files[path]), text) {
				t.Errorf("%s: %s is not in\n%s", path, text, files[path])
			}
		}
	}
	for _, path := range []string{"compiled/visibility/sources/_2funnamed.rego", "compiled/tests/visibility/-disabled_test.rego"} {
		if files[path] != nil {
			t.Errorf("%s: got a file, want none among %q", path, slices.Sorted(maps.Keys(files)))
		}
	}
}

func TestNoVisibilityNoFiles(t *testing.T) {
	files := Emit(&tables.Visibility{}, emit.Options{Tests: true})
	for path := range files {
		if strings.Contains(path, "visibility") {
			t.Errorf("got %s, want nothing of visibility", path)
		}
	}
}

// Whatever documents say, what is written of them parses, in a folder of its own.
func FuzzVisibility(f *testing.F) {
	f.Add("p", "ns", "a.yaml:1", "user", "^prod", "pods", "web*")
	f.Add("a\"]\nallow := true", "*/", "x\ny:1", "`", `\d(`, "[", "?\\")
	f.Add("..", "../..", "/etc", "\u2028", "", "_test", "")
	f.Fuzz(func(t *testing.T, name, namespace, source, user, pattern, kind, value string) {
		for _, text := range []*string{&name, &namespace, &source, &user, &pattern, &kind, &value} {
			*text = strings.ToValidUTF8(*text, "?")
		}
		labels := map[string]string{user: value}
		criteria := tables.Criteria{Include: []string{value}, ExcludePatterns: []string{value}}
		v := &tables.Visibility{
			Policies: []tables.VisibilityPolicy{{
				Name: name, Namespace: namespace, Source: source, Default: "all", DefaultSource: source, Users: []string{user}, Groups: []string{name},
				Rules: []tables.VisibilityRule{{
					Source: source, Names: []string{name}, Pattern: pattern, Labels: &labels, Permissions: []string{"view"},
					Entries: []tables.VisibilityEntry{{
						Type: kind, Custom: true, Visibility: "filtered", Names: criteria, Labels: labels, Fields: map[string]tables.Criteria{kind: criteria},
					}},
				}},
			}},
			Sources: []tables.MetricSource{{Name: name, Namespace: namespace, Source: source, Type: kind, Aggregations: []tables.Aggregation{
				{Name: name, Function: "count", Filter: &tables.AggregationFilter{Field: kind, Operator: "in", Value: value}},
			}}},
		}
		files := Emit(v, emit.Options{Tests: true})
		if len(files) != 4 {
			t.Errorf("got %d files, want 4: %q", len(files), slices.Sorted(maps.Keys(files)))
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

// A thousand policies cost what they cost, not its square: nothing a policy's
// tests or rules say reads another's.
func TestVisibilityPoliciesAreApart(t *testing.T) {
	v := &tables.Visibility{}
	for i := range 3 {
		p := views().Policies[0]
		p.Name = fmt.Sprintf("p%d", i)
		v.Policies = append(v.Policies, p)
	}
	files := Emit(v, emit.Options{Tests: true})
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
