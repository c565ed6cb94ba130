package translator_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// What is made to exhaust a reader ends in one diagnostic, soon and in little
// memory. The bound on time is far above what is needed and far below what a
// quadratic reader takes.
func TestBombs(t *testing.T) {
	const (
		soon   = time.Minute
		little = 320 << 20 // bytes allocated, not held
		big    = 2 << 20
	)
	again := strings.Repeat
	random := rand.New(rand.NewPCG(1, 2))
	rubbish := make([]byte, big)
	for i := range rubbish {
		rubbish[i] = byte(random.Uint32())
	}
	printable := make([]byte, big)
	for i := range printable {
		printable[i] = byte(' ' + random.IntN(95))
		if random.IntN(60) == 0 {
			printable[i] = '\n'
		}
	}
	tests := []struct {
		name, file, text string
		// code is of the only diagnostic; empty: none.
		code diag.Code
	}{
		{"a gibibyte of aliases", "x.yaml", laughs("[*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d]"), diag.YAML},
		{"the same with mappings", "x.yaml", laughs("{a: *a%[1]d, b: *a%[1]d, c: *a%[1]d, d: *a%[1]d, e: *a%[1]d, f: *a%[1]d, g: *a%[1]d, h: *a%[1]d}"), diag.YAML},
		{"the same with merges", "x.yaml", laughs("{<<: [*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d,*a%[1]d]}"), diag.YAML},
		{"a long text many times", "x.yaml", "a: &a " + again("x", 1<<20) + "\nb: [" + again("*a,", 10_000) + "]\n", diag.YAML},
		{"aliases nested by depth", "x.yaml", "a: &a0 x\n" + nested(200), diag.YAML},
		{"deep flow lists", "x.yaml", again("[", 10_000) + again("]", 10_000), diag.YAML},
		{"deeper flow lists", "x.yaml", again("[", 1_000_000), diag.YAML},
		{"deep flow mappings", "x.yaml", again("{a: ", 9_000) + again("}", 9_000), diag.YAML},
		{"deep block lists", "x.yaml", again("- ", 9_000) + "a", diag.YAML},
		{"deep complex keys", "x.yaml", again("? ", 9_000) + "a", diag.YAML},
		{"deep flow keys", "x.yaml", again("{? ", 9_000), diag.YAML},
		{"deep JSON lists", "x.json", again("[", 10_000) + again("]", 10_000), diag.YAML},
		{"deep JSON objects", "x.json", again(`{"a":`, 10_000) + "1" + again("}", 10_000), diag.YAML},
		{"deep JSON in YAML", "x.yaml", again(`{"a":`, 10_000) + "1" + again("}", 10_000), diag.YAML},
		{"deep Rego", "x.rego", "package writ.extensions.a\n\nx := " + again("[", 10_000) + again("]", 10_000), diag.Rego},
		{"a long line", "x.yaml", "kind: " + again("x", big), ""},
		{"a long line of words", "x.yaml", again("x ", big/2), ""},
		{"a long quoted line", "x.yaml", `kind: "` + again("x", big), diag.YAML},
		{"a long key", "x.yaml", again("x", big) + ": 1", diag.YAML},
		{"a long comment", "x.yaml", "#" + again("x", big), ""},
		{"a long line of JSON", "x.json", `{"kind":[` + again(`"é",`, big/4) + "1]}", ""},
		{"a long flow list", "x.yaml", "kind: [" + again("x, ", big/4) + "]", ""},
		{"colons", "x.yaml", again(":", big), diag.YAML},
		{"stars", "x.yaml", again("*", big), diag.YAML},
		{"anchors", "x.yaml", again("&a ", big/3), diag.YAML},
		{"tags", "x.yaml", again("!a ", big/3), diag.YAML},
		{"quotes", "x.yaml", again(`"" `, big/3), diag.YAML},
		{"empty lines", "x.yaml", again("\n", big), ""},
		{"carriage returns", "x.yaml", again("\r", big), ""},
		{"markers", "x.yaml", again("---\n", big/4), ""},
		{"directives", "x.yaml", again("%TAG ! a\n", big/9), ""},
		{"comments", "x.yaml", again("# a\n", big/4) + "- b", ""},
		{"comments between items", "x.yaml", again("# c\n- b # d\n", big/16), ""},
		{"rubbish", "x.yaml", string(rubbish), diag.YAML},
		{"rubbish as JSON", "x.json", string(rubbish), diag.YAML},
		{"rubbish as Rego", "x.rego", string(rubbish[:1<<19]), diag.Rego},
		{"printable rubbish", "x.yaml", string(printable), diag.YAML},
		{"printable rubbish as JSON", "x.json", string(printable), diag.YAML},
		{"printable rubbish as Rego", "x.rego", string(printable[:1<<19]), diag.Rego},
		{"a large Rego file", "x.rego", "package writ.extensions.a\n\n" + again("# x\n", big), diag.Rego},
		{"zeros", "x.yaml", again("\x00", big), diag.YAML},
		{"a long pattern", "x.yaml", "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec: {appliesTo: {clusters: [\"" + again("a*", 127) + "\"]}, rules: [{verbs: [get], apiGroups: [x], resources: [y]}]}\n", diag.BadPattern},
		{"a large document", "x.yaml", again("- x\n", 17<<20), diag.YAML},
		{"a document of very many values", "x.yaml", "[" + again("x,", 14<<20) + "]", diag.YAML},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			content := []byte(test.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			list := translator.Kinds().Decode(test.file, content, syntax.Options{}).List
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > soon {
				t.Errorf("took %v, want at most %v", took, soon)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > little {
				t.Errorf("allocated %d MiB, want at most %d", got>>20, little>>20)
			}
			switch {
			case test.code == "" && len(list) > 0:
				t.Errorf("got %s", list[0].Message)
			case test.code != "" && (len(list) != 1 || list[0].Code != test.code):
				t.Errorf("got %d diagnostics, want one %s: %+v", len(list), test.code, list[:min(len(list), 3)])
			}
			for _, d := range list {
				if len(d.Message)+len(d.Hint) > 1000 {
					t.Errorf("a message of %d bytes", len(d.Message)+len(d.Hint))
				}
			}
		})
	}
}

// laughs is a text of few lines, each of which stands for several times the one
// before.
func laughs(line string) string {
	var out strings.Builder
	out.WriteString("a0: &a0 {lol: lol}\n")
	for i := range 30 {
		fmt.Fprintf(&out, "a%[1]d: &a%[1]d %[2]s\n", i+1, fmt.Sprintf(line, i))
	}
	return out.String()
}

// nested is a list in a list in a list, by one alias a line.
func nested(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "b%d: &a%d [*a%d]\n", i, i+1, i)
	}
	return out.String()
}

// One document's mistakes are bounded, and what is left out is counted.
func TestManyMistakes(t *testing.T) {
	text := "kind: role\nname: r\nnamespace: n\n"
	var fields strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&fields, "field%d: x\n", i)
	}
	list := translator.Kinds().Decode("f.yaml", []byte(text+fields.String()), syntax.Options{}).List
	if len(list) > 1100 {
		t.Fatalf("got %d diagnostics", len(list))
	}
	last := list[len(list)-1]
	if last.Code != diag.TooManyMistakes || last.Severity != diag.Error || !strings.HasPrefix(last.Message, "49000 ") {
		t.Errorf("got %+v", last)
	}
}

// The time for repeated keys grows with their number, in documents of a List and in one.
func TestManyRepeatedKeys(t *testing.T) {
	const n = 40_000
	role := "- {kind: role, name: r, namespace: n, name: s}\n"
	for name, text := range map[string]string{
		"in roles":  "kind: List\nitems:\n" + strings.Repeat(role, n),
		"in others": "kind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: X, kind: Y}\n", n),
		"in one":    strings.Repeat("kind: X\n", n),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			list := translator.Kinds().Decode("f.yaml", []byte(text), syntax.Options{}).List
			if took := time.Since(began); took > 40*time.Second {
				t.Errorf("it took %v", took)
			}
			if want := name != "in others"; want != list.HasErrors() {
				t.Errorf("got %d diagnostics", len(list))
			}
		})
	}
}

// The time for the entries of a document, and for references to documents with mistakes, grows with their
// number.
func TestManyEntries(t *testing.T) {
	const n = 80_000
	list := func(format string) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	const policy = "apiVersion: clusterpulse.io/v1alpha1\nkind: MonitorAccessPolicy\nmetadata: {name: p}\nspec:\n" +
		"  identity: {subjects: {users: [u]}}\n  access: {effect: Allow}\n" +
		"  scope: {clusters: {rules: [{selector: {matchNames: [c]}, resources: %s}]}}\n"
	for name, text := range map[string]string{
		"fields":       fmt.Sprintf(policy, "[{type: x, filters: {fields: {"+list("f%d: {allowed: [a]}, ")+"}}}]"),
		"custom types": fmt.Sprintf(policy, "{custom: {"+list("t%d: {visibility: all}, ")+"}}"),
		"aggregations": fmt.Sprintf(policy, "[{type: x, aggregations: {include: ["+list("a%d, ")+"], exclude: ["+list("b%d, ")+"]}}]"),
		"labels": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n" +
			"aggregationRule: {clusterRoleSelectors: [{matchLabels: {" + list("l%d: a, ") + "}}]}\n",
		"undecoded": "kind: List\nitems:\n" + list("- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a/%d}}\n") +
			list("- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: r%d}}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := source.Snapshot{Files: []source.File{source.NewFile("f.yaml", []byte(text))}}
			began := time.Now()
			translator.New(translator.Options{}).Translate(t.Context(), snapshot)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// honest is a large directory in one file: n roles and n bindings.
func honest(n int) []byte {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: role-%[1]d
  namespace: team-%[2]d
  labels:
    app: shop
rules:
- apiGroups: [""]
  resources: ["pods", "pods/log"]
  verbs: ["get", "list", "watch"]
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - get
  - update
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata:
  name: binding-%[1]d
  namespace: team-%[2]d
roleRef:
  namespace: master
  name: role-%[1]d
userNames:
- user-%[1]d
`, i, i%500)
	}
	return []byte(out.String())
}

func TestHonestFile(t *testing.T) {
	const n = 2000
	read := translator.Kinds().Decode("f.yaml", honest(n), syntax.Options{})
	documents, list := read.Documents, read.List
	if len(documents) != 2*n || len(list) != 0 {
		t.Fatalf("got %d documents and %d diagnostics, want %d and none", len(documents), len(list), 2*n)
	}
	for i, d := range documents {
		want := fmt.Sprintf("role-%d", i/2)
		if i%2 == 1 {
			want = fmt.Sprintf("binding-%d", i/2)
		}
		if d.Meta().Name != want || d.Meta().At.Line != 30*(i/2)+3+i%2*19 {
			t.Fatalf("document %d: got %s on line %d", i, d.Meta().Name, d.Meta().At.Line)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	content := honest(5000)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if documents := translator.Kinds().Decode("f.yaml", content, syntax.Options{}).Documents; len(documents) != 10_000 {
			b.Fatal(len(documents))
		}
	}
}
