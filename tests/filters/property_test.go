package filters

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
	"github.com/writ-policy/writ/tests/gate"
)

// worlds is how many random worlds are tried; FILTER_WORLDS overrides it. A world has policies
// for each of usersOfWorld.
func worlds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("FILTER_WORLDS")
	if text == "" {
		return few * max(1, gate.Effort()/5)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const rowsOfWorld = 200

var usersOfWorld = []string{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9"}

// asked is a question about the rows of a world, and the answer one by one.
type asked struct {
	policies decision.Policies
	point    string
	question map[string]any
	want     []int
}

// drawn returns the rows of a random world, and its questions at both points.
func drawn(t *testing.T, seed int) ([]map[string]any, []asked) {
	t.Helper()
	d := draw{rand.New(rand.NewPCG(gate.Seed()+uint64(seed), 1))}
	var rows []map[string]any
	for range rowsOfWorld {
		rows = append(rows, d.row())
	}
	items := make([]map[string]any, len(rows))
	for i, row := range rows {
		items[i] = without(row, "namespaceLabels")
	}
	var out []asked
	p, questions := visibilityCase(t, d, usersOfWorld)
	for _, q := range questions {
		out = append(out, asked{p, decision.Visibility, q, selected(t, p, decision.Visibility, q, items)})
	}
	p, questions = accessCase(t, d, usersOfWorld...)
	for _, q := range questions {
		out = append(out, asked{p, decision.Access, q, selected(t, p, decision.Access, q, rows)})
	}
	return rows, out
}

// TestWithoutDatabase compares filters in UCAST with decisions on each row, whether a missing
// field is unequal or unknown, and expressions of CEL and the requests for an API server with
// the same. Conditions that are spoilt are noticed.
func TestWithoutDatabase(t *testing.T) {
	exact, conditional := map[string]int{}, 0
	var spoilt spoils
	for seed := range worlds(t, 4) {
		rows, questions := drawn(t, seed)
		for _, q := range questions {
			for _, target := range []string{"ucast+all", "cel", "kubernetes"} {
				a, refused := answer(t, q.policies, q.point, target, q.question)
				if refused != nil {
					continue
				}
				exact[target]++
				conditional += map[bool]int{true: 1}[a.Kind == "conditional"]
				var problem string
				switch target {
				case "ucast+all":
					problem = compareUCAST(t, a, rows, q.want)
					if a.Kind == "conditional" {
						spoilt.add(t, a, rows, q.want)
					}
				case "cel":
					problem = compareCEL(t, a, rows, q.want)
				case "kubernetes":
					problem = compareRequests(t, a, rows, q)
				}
				if problem != "" {
					t.Fatalf("seed %d, %s: %s\n%s", seed, encode(q.question), problem, encode(a))
				}
			}
		}
	}
	if exact["ucast+all"] < 50 || exact["cel"] < 50 || exact["kubernetes"] < 20 || conditional < 50 {
		t.Errorf("only %v filters were compared, %d of them with a condition", exact, conditional)
	}
	spoilt.check(t)
}

// compareSQL compares filters in a database with decisions on each row, with texts that
// compare with and without case, and the rows that the negated condition selects.
func compareSQL(t *testing.T, db *database, seeds int) {
	conditional := 0
	for seed := range seeds {
		rows, questions := drawn(t, seed)
		for _, loose := range []bool{false, true} {
			script := db.table(rows, loose)
			var wanted [][]int
			var texts []string
			for _, q := range questions {
				a, refused := answer(t, q.policies, q.point, db.target, q.question)
				if refused != nil {
					if !slices.Equal(refused, []string{"number-glob"}) {
						t.Fatalf("seed %d, %s: refused: %v", seed, encode(q.question), refused)
					}
					continue
				}
				conditional += map[bool]int{true: 1}[a.Kind == "conditional"]
				for i, mode := range db.modes {
					if seed%4 != 0 { // quoting is the same in all worlds
						break
					}
					text := "SELECT id FROM items WHERE " + literal(t, q, db.target) + " ORDER BY id"
					script += mode + "SELECT 'begin';\n" + text + ";\n" + db.modes[0]
					wanted, texts = append(wanted, q.want), append(texts, fmt.Sprintf("mode %d, %s%s", i, encode(q.question), text))
				}
				for _, negated := range []bool{false, true} {
					query, want := "SELECT id FROM items WHERE ("+a.Query.(string)+") ORDER BY id", q.want
					if negated {
						query, want = "SELECT id FROM items WHERE NOT ("+a.Query.(string)+") ORDER BY id", others(q.want)
					}
					script += db.prepared(query, a.Args)
					wanted, texts = append(wanted, want), append(texts, fmt.Sprintf("%s%s\n%s", encode(q.question), query, encode(a.Args)))
				}
			}
			got := db.run(t, script)
			if len(got) != len(wanted) {
				t.Fatalf("seed %d: %d answers to %d statements", seed, len(got), len(wanted))
			}
			for i, want := range wanted {
				if !slices.Equal(got[i], want) {
					t.Fatalf("seed %d, loose %t: got rows %v, want %v\n%s", seed, loose, got[i], want, texts[i])
				}
			}
		}
	}
	if conditional < seeds {
		t.Errorf("only %d filters had a condition", conditional)
	}
}

func others(rows []int) []int {
	var out []int
	for i := range rowsOfWorld {
		if !slices.Contains(rows, i) {
			out = append(out, i)
		}
	}
	return out
}

// TestSQLite needs sqlite3; the servers of TestDatabases are started if DATABASES is set.
func TestSQLite(t *testing.T) {
	db := sqlite(t)
	if db == nil {
		t.Skip("sqlite3 is not installed")
	}
	compareSQL(t, db, worlds(t, 1))
}

// TestEscapes wants characters that GLOB treats specially to be ordinary ones of a pattern.
func TestEscapes(t *testing.T) {
	db := sqlite(t)
	if db == nil {
		t.Skip("sqlite3 is not installed")
	}
	policy := map[string]any{"type": "pods", "filters": map[string]any{"names": map[string]any{"allowed": []string{"a[b]*"}}}}
	p := activate(t, []map[string]any{policyOf([]any{policy})})
	question := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": "pods"}}
	a, refused := answer(t, p, decision.Visibility, db.target, question)
	if refused != nil {
		t.Fatal(refused)
	}
	rows := []map[string]any{{"name": "a[b]"}, {"name": "ab"}, {"name": "a[b]x"}, {"name": "A[b]"}}
	_, spoilt := sqlSpoils["unescaped"]("", a.Args)
	script, query := db.table(rows, true), "SELECT id FROM items WHERE "+a.Query.(string)+" ORDER BY id"
	got := db.run(t, script+db.prepared(query, a.Args)+db.prepared(query, spoilt))
	if !slices.Equal(got[0], []int{0, 2}) || slices.Equal(got[1], got[0]) {
		t.Errorf("got rows %v of %s, and %v without escapes", got[0], a.Query, got[1])
	}
}

// A label in a column of its own is missing where the column is NULL: it has no empty value.
func TestEmptyLabels(t *testing.T) {
	db := sqlite(t)
	if db == nil {
		t.Skip("sqlite3 is not installed")
	}
	entry := map[string]any{"type": "pods", "filters": map[string]any{"labels": map[string]string{"it's": ""}}}
	p := activate(t, []map[string]any{policyOf([]any{entry})})
	question := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": "pods"}, "columns": columnsInJSON}
	rows := []map[string]any{{"labels": map[string]string{"it's": ""}}, {"labels": map[string]string{}}, {}, {"labels": map[string]string{"it's": "x"}}}
	a, refused := answer(t, p, decision.Visibility, db.target, question)
	if want := selected(t, p, decision.Visibility, question, rows); refused != nil || !slices.Equal(want, []int{0}) {
		t.Fatal(refused, want)
	}
	got := db.run(t, db.table(rows, false)+db.prepared("SELECT id FROM items WHERE "+a.Query.(string)+" ORDER BY id", a.Args))
	if !slices.Equal(got[0], []int{0}) {
		t.Errorf("got rows %v of %s", got[0], a.Query)
	}
}

// A boolean in a JSON object is missing where the object lacks it or has null, and not where it
// is false.
func TestMissingBooleans(t *testing.T) {
	entry := map[string]any{"type": customType, "filters": map[string]any{"fields": map[string]any{
		"bound": map[string]any{"allowed": []string{""}},
	}}}
	p := activate(t, []map[string]any{metricSource, policyOf([]any{entry})})
	question := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": customType}, "columns": columnsInJSON}
	rows := []map[string]any{{"fields": map[string]any{"bound": false}}, {"fields": map[string]any{"bound": true}}, {"fields": map[string]any{}}, {"fields": map[string]any{"bound": nil}}}
	if want := selected(t, p, decision.Visibility, question, rows); !slices.Equal(want, []int{2, 3}) {
		t.Fatal(want)
	}
	databases := []func(*testing.T) *database{sqlite}
	if os.Getenv("DATABASES") != "" {
		databases = append(databases, postgres, mariadb)
	}
	for _, open := range databases {
		db := open(t)
		if db == nil {
			continue
		}
		a, refused := answer(t, p, decision.Visibility, db.target, question)
		if refused != nil {
			t.Fatal(refused)
		}
		got := db.run(t, db.table(rows, false)+db.prepared("SELECT id FROM items WHERE "+a.Query.(string)+" ORDER BY id", a.Args))
		if !slices.Equal(got[0], []int{2, 3}) {
			t.Errorf("%s: got rows %v of %s", db.target, got[0], a.Query)
		}
	}
}

// A row may have a number of more than 64 bits where the column is an object of JSON or is
// unsigned. A filter that left such a literal out would show what it hides.
func TestNumbersOfManyBits(t *testing.T) {
	entry := map[string]any{"type": customType, "filters": map[string]any{"fields": map[string]any{
		"count": map[string]any{"denied": []string{"18446744073709551616"}},
	}}}
	p := activate(t, []map[string]any{metricSource, policyOf([]any{entry})})
	for _, target := range append(slices.Clone(sqlTargets), "ucast+all") {
		_, refused := answer(t, p, decision.Visibility, target, map[string]any{
			"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": customType}, "columns": columnsOf,
		})
		if !slices.Equal(refused, []string{"too-large"}) {
			t.Errorf("%s: got refusals %q, want too-large", target, refused)
		}
	}
}

func TestDatabases(t *testing.T) {
	if os.Getenv("DATABASES") == "" {
		t.Skip("DATABASES is not set: make databases starts PostgreSQL and MariaDB")
	}
	for name, open := range map[string]func(*testing.T) *database{"PostgreSQL": postgres, "MariaDB": mariadb} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			if db == nil {
				t.Skip("the server is not installed: its filters are not compared")
			}
			compareSQL(t, db, worlds(t, 4))
		})
	}
}

// TestBytes wants equal bytes for equal questions.
func TestBytes(t *testing.T) {
	_, questions := drawn(t, 7)
	for _, q := range questions {
		first, _ := answer(t, q.policies, q.point, "sql+postgresql", q.question)
		again, _ := answer(t, q.policies, q.point, "sql+postgresql", q.question)
		if got, want := string(encode(again)), string(encode(first)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if len(filters.Points) != 2 {
		t.Errorf("the points are %v: draw questions at each", filters.Points)
	}
}
