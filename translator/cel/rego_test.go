package cel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/rego"

	celgo "cel.dev/cel-go/cel"

	"github.com/writ-policy/writ/rego"
)

// libraryModules are the library's, parsed once: compiling changes them, so each
// compile takes copies.
var libraryModules = func() map[string]*ast.Module {
	out := map[string]*ast.Module{}
	for path, text := range rego.Files() {
		if strings.HasPrefix(path, "writ/cel/") {
			out[path] = ast.MustParseModule(string(text))
		}
	}
	return out
}()

// asked is an expression, compiled as a condition (nil if it is not of type bool) and as a value.
type asked struct {
	text                  string
	condition, expression *Program
}

func ask(text string, env Env) (asked, *Problem) {
	expression, problem := CompileExpression(text, env)
	if problem != nil {
		return asked{}, problem
	}
	condition, _ := CompilePredicate(text, env)
	return asked{text, condition, expression}, nil
}

// compileAll is one module with every program, the first under the names p0 and v0,
// and a rule for what each comes to.
func compileAll(programs []asked) (*ast.Compiler, string, error) {
	var text bytes.Buffer
	text.WriteString("package probe\n\n")
	for i, p := range programs {
		text.WriteString(p.expression.Rego(fmt.Sprintf("v%d", i)))
		fmt.Fprintf(&text, "\nvalues[%d] := v%[1]d_value\n\n", i)
		if p.condition != nil {
			text.WriteString(p.condition.Rego(fmt.Sprintf("p%d", i)))
			fmt.Fprintf(&text, `
verdicts[%d] := "true" if p%[1]d_true
verdicts[%[1]d] := "false" if p%[1]d_false
verdicts[%[1]d] := "error" if p%[1]d_error

`, i)
		}
	}
	modules := maps.Clone(libraryModules)
	for path, m := range modules {
		modules[path] = m.Copy()
	}
	probe, err := ast.ParseModule("probe.rego", text.String())
	if err != nil {
		return nil, text.String(), err
	}
	modules["probe.rego"] = probe
	compiler := ast.NewCompiler().WithStrict(true)
	compiler.Compile(modules)
	if compiler.Failed() {
		return nil, text.String(), compiler.Errors
	}
	return compiler, text.String(), nil
}

// probed is what programs come to for an input.
type probed struct {
	Verdicts map[string]string `json:"verdicts"`
	Values   map[string]any    `json:"values"`
}

func probe(query opa.PreparedEvalQuery, input any) (probed, error) {
	var out probed
	results, err := query.Eval(context.Background(), opa.EvalInput(input))
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(results[0].Expressions[0].Value)
	if err != nil {
		return out, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

// verdict is what cel-go says of a predicate: true, false, error, or nothing where
// a key is missing.
func verdict(text string, env Env, input map[string]any) (string, any) {
	environment, _, problem := env.parse(text, false)
	if problem != nil {
		return problem.Message, nil
	}
	parsed, _ := environment.Parse(text)
	program, err := environment.Program(parsed, celgo.EvalOptions(celgo.OptOptimize))
	if err != nil {
		return "error", nil
	}
	out, _, err := program.Eval(celValue(input).(map[string]any))
	switch {
	case err != nil && isMissing(err):
		return "", nil
	case err != nil:
		return "error", nil
	}
	if b, ok := out.Value().(bool); ok {
		return fmt.Sprint(b), b
	}
	return "error", out.Value()
}

const sample = `{"request":{"method":"GET","path":"/a/b","host":"h","size":-1,"headers":{"x":"1","y-z":""}},
 "auth":{"identity":{"sub":"alice","age":19,"score":2.5,"whole":3.0,"groups":["dev","ops"],"nothing":null,"on":true,"off":false,
  "nested":[{"k":1},{"k":2}],"map":{"a":1,"b":2},"empty":[],"ten":"10","date":"2024-02-29T10:30:00Z"}},"source":{"port":4000}}`

func TestVerdicts(t *testing.T) {
	var input map[string]any
	d := json.NewDecoder(strings.NewReader(sample))
	d.UseNumber()
	if err := d.Decode(&input); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{
		"true":                                          "true",
		"auth.identity.on":                              "true",
		"auth.identity.off":                             "false",
		"!auth.identity.on":                             "false",
		"auth.identity.sub":                             "error",
		"auth.identity.gone":                            "",
		"!auth.identity.gone":                           "",
		"destination.port == 1":                         "",
		"request.method == 'GET'":                       "true",
		"auth.identity.age > 18":                        "true",
		"auth.identity.age + 1 == 20":                   "true",
		"auth.identity.age > 18.5":                      "!",
		"auth.identity.sub > 18":                        "error",
		"auth.identity.gone > 18 || true":               "true",
		"true || auth.identity.gone > 18":               "true",
		"auth.identity.gone > 1 && false":               "false",
		"auth.identity.gone > 1 && true":                "",
		"auth.identity.sub > 1 && true":                 "error",
		"auth.identity.gone.x || auth.identity.sub > 1": "",
		"auth.identity.sub > 1 || auth.identity.gone.x": "error",
		"has(auth.identity.gone)":                       "false",
		"has(auth.identity.gone.deep)":                  "",
		"has(auth.identity.sub.x)":                      "false",
		"auth.identity.sub.x == 1":                      "",
		"auth.identity.groups.x == 1":                   "error",
		"auth.identity.nothing == null":                 "true",
		"auth.identity.nothing.x":                       "",
		"'dev' in auth.identity.groups":                 "true",
		"'x' in request.headers":                        "true",
		"'x' in auth.identity.gone":                     "",
		"'x' in auth.identity.age":                      "error",
		"auth.identity.groups[5] == 'x'":                "",
		"auth.identity.groups[-1] == 'x'":               "",
		"auth.identity.groups[0] == 'dev'":              "true",
		"auth.identity.groups['0'] == 'dev'":            "error",
		"request.headers['y-z'] == ''":                  "true",
		"auth.identity.groups.exists(g, g == 'ops')":    "true",
		"auth.identity.groups.all(g, g > 1)":            "error",
		"auth.identity.nested.exists(n, n.k == 2 && auth.identity.groups.exists(g, g == 'dev'))": "true",
		"auth.identity.nested.exists_one(n, n.k > 0)":                                            "false",
		"auth.identity.nested.map(n, n.k * 2) == [2, 4]":                                         "true",
		"auth.identity.nested.filter(n, n.k > 1).size() == 1":                                    "true",
		"auth.identity.map.all(k, auth.identity.map[k] > 0)":                                     "true",
		"auth.identity.empty.all(x, x.y)":                                                        "true",
		"auth.identity.age.all(x, x.y)":                                                          "error",
		"auth.identity.nested.exists(n, n.gone == 1)":                                            "",
		"1 / (auth.identity.age - 19) == 1":                                                      "error",
		"auth.identity.age / 2 == 9":                                                             "true",
		"-auth.identity.age / 2 == -9":                                                           "true",
		"auth.identity.age % 4 == 3":                                                             "true",
		"9223372036854775807 + auth.identity.age > 0":                                            "error",
		"auth.identity.score * 2.0 == 5.0":                                                       "true",
		"auth.identity.score + 1 == 3":                                                           "error",
		"type(auth.identity.score * 2.0) == double":                                              "true",
		"type(auth.identity.whole) == int":                                                       "true",
		"auth.identity.sub.upperAscii() == 'ALICE'":                                              "true",
		"auth.identity.age.startsWith('x')":                                                      "error",
		"request.path.matches('^/a/[a-z]$')":                                                     "true",
		"request.path.matches('[' + '')":                                                         "error",
		"request.path.split('/')[1] == 'a'":                                                      "true",
		"string(auth.identity.age) + 'x' == '19x'":                                               "true",
		"int(auth.identity.ten) == 10":                                                           "true",
		"int(auth.identity.sub) == 10":                                                           "error",
		"(auth.identity.on ? auth.identity.sub : 5) == 'alice'":                                  "!",
		"(auth.identity.gone ? 1 : 5) == 5":                                                      "",
		"[1.0, 2.0][0] + 1.5 == 2.5":                                                             "true",
		"{'a': 1}['a'] == 1 && {'a': 1}.b == 2":                                                  "",
		"'\\u2028\"\\\\ {{x}}' == request.method":                                                "false",
	}
	var texts []string
	var programs []asked
	for _, text := range slices.Sorted(maps.Keys(rows)) {
		p, problem := ask(text, Gateway)
		if problem != nil || p.condition == nil {
			if rows[text] != "!" {
				t.Errorf("%s: %v", text, problem)
			}
			continue
		}
		if rows[text] == "!" {
			continue
		}
		texts, programs = append(texts, text), append(programs, p)
	}
	compiler, module, err := compileAll(programs)
	if err != nil {
		t.Fatalf("%s\n%v", module, err)
	}
	query, err := opa.New(opa.Query("data.probe"), opa.Compiler(compiler), opa.StrictBuiltinErrors(true)).PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out, err := probe(query, input)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if got := out.Verdicts[fmt.Sprint(i)]; got != rows[text] {
			t.Errorf("%s: got %q, want %q", text, got, rows[text])
		}
		if got, _ := verdict(text, Gateway, input); got != rows[text] {
			t.Errorf("%s: cel-go has %q, want %q", text, got, rows[text])
		}
	}
}

// An expression stands in a comment above its rules, whatever its characters.
func TestCommentsOfAnyCharacters(t *testing.T) {
	t.Parallel()
	p, problem := ask("'\ufeff\u200b\u2028\U000e0001\u0085\u00a0' == 'x'", Env{})
	if problem != nil {
		t.Fatal(problem)
	}
	if _, _, err := compileAll([]asked{p}); err != nil {
		t.Error(err)
	}
}
