package filters

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/ucast"
)

// nodeOf returns a filter in UCAST.
func nodeOf(t *testing.T, query any) (n ucast.Node) {
	t.Helper()
	text, err := json.Marshal(query)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// selectedBy returns the rows that a node selects.
func selectedBy(t *testing.T, n ucast.Node, fields []map[string]any, isSQL bool) (out []int) {
	t.Helper()
	for i := range fields {
		if ucast.Evaluate(t, n, fields[i], isSQL) == 1 {
			out = append(out, i)
		}
	}
	return out
}

func allFields(t *testing.T, rows []map[string]any) []map[string]any {
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		out[i] = fieldsOf(t, row)
	}
	return out
}

// compareUCAST returns how a filter in UCAST differs from the rows that are decided so.
func compareUCAST(t *testing.T, a *filters.Answer, rows []map[string]any, want []int) string {
	if a.Kind == "always" {
		return differs(allOf(rows), want)
	}
	fields, n := allFields(t, rows), nodeOf(t, a.Query)
	for _, isSQL := range []bool{false, true} {
		if problem := differs(selectedBy(t, n, fields, isSQL), want); problem != "" {
			return problem
		}
	}
	return ""
}

func differs(got, want []int) string {
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("got rows %v, want %v", got, want)
}

func allOf(rows []map[string]any) []int {
	out := make([]int, len(rows))
	for i := range rows {
		out[i] = i
	}
	return out
}

// compareCEL evaluates an expression by cel-go. It must not fail, whatever a row lacks.
func compareCEL(t *testing.T, a *filters.Answer, rows []map[string]any, want []int) string {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("item", cel.MapType(cel.StringType, cel.DynType)), cel.Variable("args", cel.ListType(cel.DynType)))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(a.Query.(string))
	if issues.Err() != nil {
		return issues.Err().Error()
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for i, row := range rows {
		value, _, err := program.Eval(map[string]any{"item": row, "args": a.Args})
		if err != nil {
			return fmt.Sprintf("row %s: %v", encode(row), err)
		}
		if value.Value() == true {
			got = append(got, i)
		}
	}
	return differs(got, want)
}

// A member of an item that is null is a missing one, for expressions of CEL as for decisions.
func TestNullInCEL(t *testing.T) {
	null := map[string]any{"name": nil, "namespace": nil, "labels": nil, "namespaceLabels": nil, "fields": nil}
	rows := []map[string]any{null, {}}
	visible := activate(t, []map[string]any{metricSource, policyOf([]any{
		map[string]any{"type": "pods", "visibility": "all", "filters": map[string]any{"names": map[string]any{"denied": []string{"a*"}}, "namespaces": map[string]any{"denied": []string{"b"}}}},
		map[string]any{"type": "nodes", "filters": map[string]any{"names": map[string]any{"allowed": []string{"*"}}, "labels": map[string]string{"k": "x"}}},
		map[string]any{"type": "alerts", "filters": map[string]any{"namespaces": map[string]any{"denied": []string{"b*"}}}},
		map[string]any{"type": customType, "filters": map[string]any{"fields": map[string]any{"phase": map[string]any{"denied": []string{"a*"}}, "size": map[string]any{"denied": []string{"1"}}}}},
	})})
	d := draw{rand.New(rand.NewPCG(gate.Seed(), 2))}
	granted, questions := accessCase(t, d, usersOfWorld...)
	for _, kind := range []string{"pods", "nodes", "alerts", customType} {
		question := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": kind}, "columns": columnsOf}
		a, refused := answer(t, visible, decision.Visibility, "cel", question)
		if refused != nil {
			t.Fatal(kind, refused)
		}
		var want []int
		if len(selected(t, visible, decision.Visibility, question, rows[1:])) == 1 {
			want = []int{0, 1}
		}
		if problem := compareCEL(t, a, rows, want); problem != "" {
			t.Errorf("%s: %s: %s", kind, problem, encode(a))
		}
	}
	for _, q := range questions {
		a, refused := answer(t, granted, decision.Access, "cel", q)
		if refused != nil {
			continue
		}
		want := []int{0, 1}
		if len(selected(t, granted, decision.Access, q, rows[1:])) == 0 {
			want = nil
		}
		if problem := compareCEL(t, a, rows, want); problem != "" {
			t.Errorf("%s: %s: %s", encode(q), problem, encode(a))
		}
	}
}

// isName matches what an API server has as names, namespaces and values of labels.
var isName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// isObject reports whether an API server can have a row.
func isObject(row map[string]any) bool {
	name, _ := row["name"].(string)
	namespace, _ := row["namespace"].(string)
	labels, _ := row["labels"].(map[string]string)
	_, known := row["labels"]
	for key, value := range labels {
		if !isName.MatchString(key) && !strings.Contains(key, "/") || strings.ContainsAny(key, `"\'$[é`) || value != "" && !isName.MatchString(strings.ToLower(value)) {
			return false
		}
	}
	return known && isName.MatchString(name) && isName.MatchString(namespace)
}

// compareRequests makes the requests for an API server over the rows that it can have. They
// return every row that is selected, and with the residual no other.
func compareRequests(t *testing.T, a *filters.Answer, rows []map[string]any, q asked) string {
	t.Helper()
	request := q.question["request"].(map[string]any)
	inNamespace, _ := request["namespace"].(string)
	noNamespace := request["type"] == "nodes" || request["type"] == "namespaces"
	for i, row := range rows {
		if !isObject(row) || noNamespace && row["namespace"] != nil || inNamespace != "" && row["namespace"] != inNamespace {
			continue
		}
		returned := slices.ContainsFunc(a.Requests, func(r filter.ListRequest) bool { return returns(r.Namespace, r.LabelSelector, r.FieldSelector, row) })
		want := slices.Contains(q.want, i)
		got := returned
		if a.Residual != nil && returned {
			fields := fieldsOf(t, row)
			for key, value := range fields {
				if rest, ok := strings.CutPrefix(key, "nsl"); ok {
					fields["namespaceLabels"+rest] = value
				}
			}
			got = ucast.Evaluate(t, nodeOf(t, a.Residual), fields, true) == 1
		}
		if want && !returned || got != want {
			return fmt.Sprintf("row %d %s: returned %t, selected %t, want %t", i, encode(row), returned, got, want)
		}
	}
	return ""
}

// returns reports whether a list request returns a row.
func returns(namespace, labels, fields string, row map[string]any) bool {
	if namespace != "" && row["namespace"] != namespace {
		return false
	}
	if name, ok := strings.CutPrefix(fields, "metadata.name="); ok && row["name"] != name {
		return false
	}
	of, _ := row["labels"].(map[string]string)
	for pair := range strings.SplitSeq(labels, ",") {
		key, value, isPair := strings.Cut(pair, "=")
		if got, ok := of[key]; labels != "" && (!ok || isPair && got != value) {
			return false
		}
	}
	return true
}

// spoils counts how often a condition that is spoilt is noticed, by what was done to it.
type spoils struct{ tried, noticed map[string]int }

// add spoils each leaf of a condition: it is dropped, negated, or compares without what makes
// a missing value safe.
func (s *spoils) add(t *testing.T, a *filters.Answer, rows []map[string]any, want []int) {
	if s.tried == nil {
		s.tried, s.noticed = map[string]int{}, map[string]int{}
	}
	n, fields := nodeOf(t, a.Query), allFields(t, rows)
	for _, kind := range []string{"dropped", "negated", "without missing values"} {
		for at := range 4 {
			spoilt, changed := spoil(t, n, kind, at)
			if !changed {
				break
			}
			s.tried[kind]++
			for _, isSQL := range []bool{false, true} {
				if !slices.Equal(selectedBy(t, spoilt, fields, isSQL), want) {
					s.noticed[kind]++
					break
				}
			}
		}
	}
}

func (s *spoils) check(t *testing.T) {
	t.Logf("noticed of those tried: %v of %v", s.noticed, s.tried)
	// Leaves that others imply are not noticed, and most of those for missing values are such.
	share := map[string]int{"dropped": 5, "negated": 3, "without missing values": 50}
	for kind, tried := range s.tried {
		if tried < 30 || s.noticed[kind]*share[kind] < tried {
			t.Errorf("of %d conditions with a leaf %s, %d are noticed", tried, kind, s.noticed[kind])
		}
	}
	if len(s.tried) != 3 {
		t.Errorf("only %v were tried", s.tried)
	}
}

// spoil changes the leaf at an index; changed is false if there are fewer.
func spoil(t *testing.T, n ucast.Node, kind string, at int) (out ucast.Node, changed bool) {
	isLeaf := n.Type == "field" && (kind != "without missing values" || string(n.Value) == "null")
	if isLeaf && at == 0 {
		switch {
		case kind == "negated":
			return ucast.Node{Type: "compound", Operator: "not", Value: encode([]ucast.Node{n})}, true
		case kind == "without missing values":
			never := ucast.Node{Type: "field", Operator: "in", Field: n.Field, Value: []byte("[]")}
			if n.Operator == "ne" {
				return ucast.Node{Type: "compound", Operator: "not", Value: encode([]ucast.Node{never})}, true
			}
			return never, true
		}
	}
	if n.Type != "compound" {
		return n, false
	}
	var kids []ucast.Node
	if err := json.Unmarshal(n.Value, &kids); err != nil {
		t.Fatal(err)
	}
	for i := range kids {
		isOne := kids[i].Type == "field"
		if kind == "dropped" && isOne && at == 0 && len(kids) > 1 {
			n.Value = encode(slices.Delete(slices.Clone(kids), i, i+1))
			return n, true
		}
		if spoilt, ok := spoil(t, kids[i], kind, at); ok {
			kids[i] = spoilt
			n.Value = encode(kids)
			return n, true
		}
		at -= leaves(t, kids[i], kind)
		if at < 0 {
			break
		}
	}
	return n, false
}

// leaves counts the leaves of a node that can be spoilt so.
func leaves(t *testing.T, n ucast.Node, kind string) int {
	if n.Type != "compound" {
		return map[bool]int{true: 1}[kind != "without missing values" || string(n.Value) == "null"]
	}
	var kids []ucast.Node
	if err := json.Unmarshal(n.Value, &kids); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, kid := range kids {
		count += leaves(t, kid, kind)
	}
	return count
}

// sqlSpoils spoil the text and the parameters of a filter in SQLite.
var sqlSpoils = map[string]func(query string, args []any) (string, []any){
	"unescaped": func(query string, args []any) (string, []any) {
		out := slices.Clone(args)
		for i, a := range out {
			if text, ok := a.(string); ok {
				out[i] = strings.NewReplacer("[[]", "[", "[*]", "*", "[?]", "?").Replace(text)
			}
		}
		return query, out
	},
	"NULL is not excluded": func(query string, args []any) (string, []any) {
		return regexp.MustCompile(`\("[a-z0-9]+" IS NOT NULL AND `).ReplaceAllString(query, "("), args
	},
	"compared as the column compares": func(query string, args []any) (string, []any) {
		return strings.ReplaceAll(query, " COLLATE BINARY", ""), args
	},
	"negated": func(query string, args []any) (string, []any) { return "NOT (" + query + ")", args },
}

// Filters in SQL that are spoilt select other rows, or their negation does.
func TestSpoiltSQL(t *testing.T) {
	db := sqlite(t)
	if db == nil {
		t.Skip("sqlite3 is not installed")
	}
	tried, noticed := map[string]int{}, map[string]int{}
	for seed := range min(4, worlds(t, 2)) { // a few show what is noticed
		rows, questions := drawn(t, seed)
		script := db.table(rows, true)
		var kinds []string
		var wanted [][]int
		for _, q := range questions {
			a, refused := answer(t, q.policies, q.point, db.target, q.question)
			if refused != nil || a.Kind != "conditional" {
				continue
			}
			for kind, spoil := range sqlSpoils {
				query, args := spoil(a.Query.(string), a.Args)
				if query == a.Query && slices.Equal(args, a.Args) {
					continue
				}
				script += db.prepared("SELECT id FROM items WHERE "+query+" ORDER BY id", args) + db.prepared("SELECT id FROM items WHERE NOT ("+query+") ORDER BY id", args)
				kinds, wanted = append(kinds, kind), append(wanted, q.want)
			}
		}
		got := db.run(t, script)
		for i, kind := range kinds {
			tried[kind]++
			if !slices.Equal(got[2*i], wanted[i]) || !slices.Equal(got[2*i+1], others(wanted[i])) {
				noticed[kind]++
			}
		}
	}
	t.Logf("noticed of those tried: %v of %v", noticed, tried)
	for kind := range sqlSpoils {
		if noticed[kind] == 0 && kind != "unescaped" || kind == "negated" && noticed[kind] != tried[kind] {
			t.Errorf("of %d filters that are %s, %d are noticed", tried[kind], kind, noticed[kind])
		}
	}
}
