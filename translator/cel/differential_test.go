package cel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/rego"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/writ-policy/writ/tests/gate"
)

// TestAgreesWithCEL compares what random expressions come to with what cel-go says.
func TestAgreesWithCEL(t *testing.T) {
	comparisons, seed := gate.Times(800), gate.Seed()
	count := map[string]int{}
	made := 0
	for made < comparisons && !t.Failed() {
		made += compareBatch(t, &writer{Rand: rand.New(rand.NewPCG(seed, uint64(made)))}, count)
	}
	t.Logf("seed %d: %d comparisons, %v", seed, made, count)
	for _, kind := range []string{"true", "false", "value", "missing", "error"} {
		if count[kind]*50 < made {
			t.Errorf("got %d of %d that are %s, want at least a fiftieth", count[kind], made, kind)
		}
	}
}

// batch is how many programs one module has, and how many requests they are asked.
const batchPrograms, batchRequests = 100, 20

func compareBatch(t *testing.T, w *writer, count map[string]int) int {
	t.Helper()
	var programs []asked
	var oracles []celgo.Program
	for len(programs) < batchPrograms {
		text := w.bool(1 + w.IntN(4))
		if w.IntN(3) == 0 {
			text = w.any(1 + w.IntN(3))
		}
		if len(text) > 600 {
			continue
		}
		oracle, ok := oracleOf(text)
		if !ok {
			continue
		}
		p, problem := ask(text, Gateway)
		if problem != nil {
			t.Fatalf("%s: %v", text, problem)
		}
		programs, oracles = append(programs, p), append(oracles, oracle)
	}
	compiler, module, err := compileAll(programs)
	if err != nil {
		t.Fatalf("%.1500s\n%.0s", err, module)
	}
	query, err := opa.New(opa.Query("data.probe"), opa.Compiler(compiler), opa.StrictBuiltinErrors(true)).PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range batchRequests {
		request := w.request()
		out, err := probe(query, request)
		if err != nil {
			t.Fatalf("%.1500s\n%.0s", err, module)
		}
		for i, p := range programs {
			got := answer{verdict: out.Verdicts[strconv.Itoa(i)]}
			if value, ok := out.Values[strconv.Itoa(i)]; ok {
				got.value = normal(value)
			}
			want, agrees := agreement(oracles[i], request, got, p.condition != nil)
			count[want.kind()]++
			if !agrees {
				text, _ := json.Marshal(request)
				t.Errorf("%s\nof %s:\ngot %v, want %v", p.text, text, got, want)
			}
		}
	}
	return batchPrograms * batchRequests
}

func oracleOf(text string) (celgo.Program, bool) {
	environment, _, problem := Gateway.parse(text, false)
	if problem != nil {
		return nil, false
	}
	parsed, _ := environment.Parse(text)
	program, err := environment.Program(parsed)
	return program, err == nil
}

// answer is what an expression comes to: "true" or "false", a value, "error", or none
// of them where a key is missing.
type answer struct {
	verdict string
	value   any
}

func (a answer) kind() string {
	switch {
	case a.value != nil && a.verdict != "true" && a.verdict != "false":
		return "value"
	case a.verdict == "":
		return "missing"
	}
	return a.verdict
}

// agreement asks cel-go more than once where it differs: it goes through a map in
// any order, and so may come to several things.
func agreement(oracle celgo.Program, request map[string]any, got answer, condition bool) (answer, bool) {
	var want answer
	for range 30 {
		want = answered(oracle, request)
		if !condition {
			want.verdict = ""
		}
		if reflect.DeepEqual(got, want) {
			return want, true
		}
	}
	return want, false
}

func answered(oracle celgo.Program, request map[string]any) answer {
	out, _, err := oracle.Eval(celValue(request).(map[string]any))
	switch {
	case err != nil && isMissing(err):
		return answer{}
	case err != nil:
		return answer{verdict: "error"}
	}
	if b, ok := out.Value().(bool); ok {
		return answer{fmt.Sprint(b), b}
	}
	return answer{"error", plain(out)}
}

// plain is a value of CEL as JSON, or nil where JSON has none.
func plain(v ref.Val) any {
	switch v := v.(type) {
	case types.Null:
		return normal(nil)
	case types.Bool:
		return bool(v)
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Double:
		return normal(json.Number(strconv.FormatFloat(float64(v), 'g', -1, 64)))
	case types.String:
		return string(v)
	case types.Timestamp, types.Duration:
		return string(v.ConvertToType(types.StringType).(types.String))
	case traits.Lister:
		out := []any{}
		for i := range int(v.Size().(types.Int)) {
			out = append(out, plain(v.Get(types.Int(i))))
		}
		return out
	case traits.Mapper:
		out := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			out[fmt.Sprint(key.Value())] = plain(v.Get(key))
		}
		return out
	}
	return nil
}

// normal is JSON with a word for null, which differs from a missing value, and
// numbers written in one way.
func normal(v any) any {
	switch v := v.(type) {
	case nil:
		return "<null>"
	case json.Number:
		switch n := celValue(v).(type) {
		case int64:
			return strconv.FormatInt(n, 10)
		default:
			return fmt.Sprint(n)
		}
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, normal(item))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = normal(item)
		}
		return out
	}
	return v
}
