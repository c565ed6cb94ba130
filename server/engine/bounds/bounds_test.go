package bounds

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"

	"github.com/writ-policy/writ/rego/builtin"
)

// purse is a budget without an end.
type purse struct{ charged int }

func (*purse) Cancel()         {}
func (*purse) Cancelled() bool { return false }

func (b *purse) Charge(bytes int) error {
	b.charged += bytes
	return nil
}

// call calls a built-in function, with bounds unless cancel is not a budget.
func call(cancel topdown.Cancel, name string, args ...*ast.Term) (result *ast.Term, err error) {
	err = topdown.GetBuiltin(name)(
		topdown.BuiltinContext{Context: context.Background(), Cancel: cancel, Cache: make(builtins.Cache)},
		args, func(t *ast.Term) error {
			result = t
			return nil
		})
	return result, err
}

func term(t *testing.T, rego string) *ast.Term {
	t.Helper()
	parsed, err := ast.ParseTerm(rego)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// doubled is a value of 2^n leaves that takes the memory of n.
func doubled(n int) *ast.Term {
	t := ast.StringTerm("leaf")
	for range n {
		t = ast.ArrayTerm(t, t)
	}
	return t
}

func TestBeyondTheBound(t *testing.T) {
	long := ast.StringTerm(strings.Repeat("a", 1<<20))
	huge := ast.NumberTerm("1e99999999")
	s := ast.StringTerm
	for name, row := range map[string]struct {
		function string
		args     []*ast.Term
	}{
		"a long separator":              {"concat", []*ast.Term{long, ast.ArrayTerm(slicesOf(s(""), 100)...)}},
		"a list that repeats one text":  {"concat", []*ast.Term{s(""), ast.ArrayTerm(slicesOf(long, 100)...)}},
		"a replacement of each letter":  {"replace", []*ast.Term{long, s("a"), s(strings.Repeat("b", 100))}},
		"an insertion at each letter":   {"replace", []*ast.Term{long, s(""), s(strings.Repeat("b", 100))}},
		"replacements":                  {"strings.replace_n", []*ast.Term{ast.ObjectTerm(ast.Item(s("a"), long)), long}},
		"a width":                       {"sprintf", []*ast.Term{s(strings.Repeat("%999999d", 20)), ast.ArrayTerm(slicesOf(ast.InternedTerm(1), 20)...)}},
		"a width of an argument":        {"sprintf", []*ast.Term{s(strings.Repeat("%*d", 20)), ast.ArrayTerm(slicesOf(ast.InternedTerm(999999), 40)...)}},
		"an argument by its index":      {"sprintf", []*ast.Term{s(strings.Repeat("%[1]s", 40)), ast.ArrayTerm(long)}},
		"a value that holds itself":     {"json.marshal", []*ast.Term{doubled(60)}},
		"a formatted value of the kind": {"sprintf", []*ast.Term{s("%v"), ast.ArrayTerm(doubled(60))}},
		"a union of values of the kind": {"object.union", []*ast.Term{ast.ObjectTerm(ast.Item(s("a"), doubled(60))), ast.ObjectTerm()}},
		"a walk of a value of the kind": {"walk", []*ast.Term{doubled(60)}},
		"a subset of values":            {"object.subset", []*ast.Term{doubled(60), doubled(60)}},
		"an exponent":                   {"abs", []*ast.Term{huge}},
		"an exponent in a sum":          {"plus", []*ast.Term{huge, ast.InternedTerm(1)}},
		"an exponent in a list":         {"sum", []*ast.Term{ast.ArrayTerm(huge)}},
		"digits":                        {"mul", []*ast.Term{ast.NumberTerm(json.Number("1" + repeated("0", 2000))), ast.InternedTerm(2)}},
		"a range":                       {"numbers.range", []*ast.Term{ast.InternedTerm(1), ast.NumberTerm("1e9")}},
		"a range in steps":              {"numbers.range_step", []*ast.Term{ast.InternedTerm(1), ast.NumberTerm("1e9"), ast.InternedTerm(2)}},
		"units":                         {"units.parse", []*ast.Term{s("1e99999999K")}},
		"an expression of repetitions":  {"regex.match", []*ast.Term{s("(a{100}){10}"), long}},
		"a long expression":             {"regex.match", []*ast.Term{s(strings.Repeat("a?", 1000)), long}},
		"groups of each letter":         {"regex.find_all_string_submatch_n", []*ast.Term{s("((((a))))"), long, ast.InternedTerm(-1)}},
		"an expression that multiplies": {"regex.replace", []*ast.Term{long, s("a"), s(strings.Repeat("$0", 10))}},
		"wildcards":                     {"glob.match", []*ast.Term{s(strings.Repeat("*a", 20)), ast.NullTerm(), long}},
		"all positions":                 {"indexof_n", []*ast.Term{long, long}},
		"a long cutset":                 {"trim", []*ast.Term{long, long}},
		"a long key":                    {"io.jwt.verify_rs256", []*ast.Term{s("a.b.c"), long}},
		"values in a text":              {"json.unmarshal", []*ast.Term{s("[" + repeated("[],", 1<<20) + "[]]")}},
		"a deep value in YAML":          {"yaml.marshal", []*ast.Term{doubled(30)}},
		"a split of each letter":        {"split", []*ast.Term{long, s("")}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := call(&purse{}, row.function, row.args...)
			var halt topdown.Halt
			if !errors.As(err, &halt) || !strings.Contains(err.Error(), errArguments.Error()) {
				t.Errorf("got %v after %v, want an end of the evaluation", err, time.Since(began))
			}
		})
	}
}

func slicesOf(t *ast.Term, n int) []*ast.Term {
	terms := make([]*ast.Term, n)
	for i := range terms {
		terms[i] = t
	}
	return terms
}

func repeated(s string, n int) string { return strings.Repeat(s, n) }

// Within the bounds the functions are OPA's own, and what they return is charged.
func TestWithinTheBound(t *testing.T) {
	b := &purse{}
	for _, row := range []struct{ function, args, want string }{
		{"concat", `["-", ["a", "b"]]`, `"a-b"`},
		{"sprintf", `["%s %5d %v", ["a", 3, [1]]]`, `"a     3 [1]"`},
		{"replace", `["aaa", "a", "bb"]`, `"bbbbbb"`},
		{"minus", `[{1, 2}, {2}]`, `{1}`},
		{"mul", `[1e30, 3]`, `3000000000000000000000000000000`},
		{"numbers.range", `[3, 1]`, `[3, 2, 1]`},
		{"regex.match", `["^a{2}$", "aa"]`, `true`},
		{"regex.replace", `["aba", "a", "${0}c"]`, `"acbac"`},
		{"glob.match", `["*.a", ["."], "b.a"]`, `true`},
		{"units.parse", `["10K"]`, `10000`},
		{"json.marshal", `[{"a": [1]}]`, `"{\"a\":[1]}"`},
		{"yaml.unmarshal", `["a: 1"]`, `{"a": 1}`},
		{"object.subset", `[{"a": 1, "b": 2}, {"a": 1}]`, `true`},
		{"sort", `[[2, 1]]`, `[1, 2]`},
		{"sum", `[[2, 1.5]]`, `3.5`},
	} {
		var args []*ast.Term
		term(t, row.args).Value.(*ast.Array).Foreach(func(t *ast.Term) { args = append(args, t) })
		got, err := call(b, row.function, args...)
		if err != nil || !got.Equal(term(t, row.want)) {
			t.Errorf("%s: got %v, %v, want %s", row.function, got, err, row.want)
		}
	}
	if b.charged == 0 {
		t.Error("nothing is charged")
	}
}

// Another use of OPA in the process is not bounded.
func TestOthersAreNotBounded(t *testing.T) {
	for _, cancel := range []topdown.Cancel{nil, topdown.NewCancel()} {
		got, err := call(cancel, "replace", ast.StringTerm(repeated("a", 1<<20)), ast.StringTerm("a"), ast.StringTerm(repeated("b", 20)))
		if err != nil || len(text(got)) != 20<<20 {
			t.Errorf("got %d bytes, %v, want 20 MiB", len(text(got)), err)
		}
	}
}

func TestEveryBoundIsUsed(t *testing.T) {
	bounded := make(map[string]bool)
	for _, name := range builtin.BoundedNames() {
		bounded[name] = true
	}
	for name := range costs {
		if !bounded[name] {
			t.Errorf("%s has a cost, and is not bounded", name)
		}
	}
}

// The functions with the worst arguments within their bounds end in seconds.
func TestWorstWithinTheBound(t *testing.T) {
	long := ast.StringTerm(repeated("a", 1<<17))
	s := ast.StringTerm
	for _, row := range []struct {
		function string
		args     []*ast.Term
	}{
		{"glob.match", []*ast.Term{s("*a*b*"), ast.ArrayTerm(), s(repeated("a", 10000))}},
		{"glob.match", []*ast.Term{s("*a*a*b*"), ast.ArrayTerm(), s(repeated("a", 1000))}},
		{"glob.match", []*ast.Term{s("*a*a*a*a*b*"), ast.ArrayTerm(), s(repeated("a", 50))}},
		{"glob.match", []*ast.Term{s("{*a*b,*c*a}*?b"), ast.ArrayTerm(), s(repeated("a", 50))}},
		{"regex.match", []*ast.Term{s("(a?){300}b"), long}},
		{"indexof_n", []*ast.Term{s(repeated("a", 14000)), s(repeated("a", 7000))}},
		{"trim", []*ast.Term{s(repeated("ä", 7000)), s(repeated("b", 7000) + "ä")}},
		{"io.jwt.verify_rs256", []*ast.Term{s("e30.e30.e30"), s(repeated("{}", 5000))}},
		{"yaml.marshal", []*ast.Term{doubled(10)}},
	} {
		began := time.Now()
		if _, err := call(&purse{}, row.function, row.args...); errors.As(err, new(topdown.Halt)) {
			t.Errorf("%s: %v", row.function, err)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%s took %v", row.function, took)
		} else {
			t.Logf("%s took %v", row.function, took)
		}
	}
}
