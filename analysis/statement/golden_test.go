package statement_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/golden"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// conformanceCase is a request of a conformance suite, and what must be decided.
type conformanceCase struct {
	Name, Point, Now string
	Input            any
	Want             struct {
		Allowed, Denied bool
		Error           any
	}
}

// Each suite at the points access and visibility has a golden file: the statements of its documents, in the
// order of reports, with what is said of them, and for each case those that fit its request.
// They come to its decision, except where a server completes the request.
func TestStatementsOfConformanceSuites(t *testing.T) {
	files, err := filepath.Glob("../../tests/conformance/*/*/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	suites := 0
	for _, file := range files {
		folder := filepath.Dir(file)
		family := filepath.Base(filepath.Dir(folder))
		if family != "access" && family != "deny" && family != "visibility" {
			continue
		}
		suites++
		name := family + "-" + filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, filepath.Join("testdata", name+".golden"), suite(t, folder), *update)
		})
	}
	if suites < 100 {
		t.Errorf("got %d suites, want all of them", suites)
	}
}

// suite returns the golden file of a suite.
func suite(t *testing.T, folder string) []byte {
	t.Helper()
	snapshot, _, err := source.Dir(filepath.Join(folder, "policies"), source.DirOptions{}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	whole := statement.NewWorld(tables.Revision{Tables: result.Tables, Features: result.Tables.Features()})
	var out bytes.Buffer
	numbers := describe(&out, whole)
	for _, c := range cases(t, folder) {
		input, isObject := c.Input.(map[string]any)
		if c.Point != statement.PointAccess || c.Want.Error != nil || !isObject {
			continue
		}
		now := time.Now()
		if c.Now != "" {
			if now, err = dates.Parse(c.Now); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&out, "%s:%s\n", c.Name, fitting(whole.At(dates.Of(now)), input, &c, numbers))
	}
	return out.Bytes()
}

func cases(t *testing.T, folder string) (out []conformanceCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c conformanceCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// all returns the statements of deny policies, bindings, sessions for debugging and monitor
// access policies.
func all(w *statement.World) []*statement.Statement {
	out := slices.AppendSeq(slices.Clone(w.Deny), w.All(""))
	out = append(out, w.MonitorStatements()...)
	for _, user := range w.Sessions().Users() {
		out = append(out, w.Sessions().Debug(user)...)
	}
	return out
}

// describe writes the statements of a world as reports number them, and returns their numbers.
func describe(out *bytes.Buffer, w *statement.World) map[string]int {
	g := new(statement.Registry)
	var entries []*statement.Entry
	list := all(w)
	for _, s := range list {
		entries = append(entries, g.Add(s, nil))
	}
	numbered := g.Number()
	numbers, first := make(map[string]int), make(map[int]*statement.Statement)
	for i, s := range list {
		numbers[statement.ContentOf(s)] = entries[i].ID
		if first[entries[i].ID] == nil {
			first[entries[i].ID] = s
		}
	}
	open := map[string]bool{"verb": true, "apiGroup": true, "resource": true, "cluster": true}
	for i := range numbered {
		n, s := &numbered[i], first[i]
		fmt.Fprintf(out, "%d %s at %d: %s; %s\n", n.ID, n.Effect, n.Step, s.Title(), n.Phrase(statement.Longest))
		for _, line := range [][2]string{
			{"place", n.Place(2)}, {"opaque", s.Opaque},
			{"open", statement.ConditionText([]*statement.Statement{s}, open, false)},
			{"selects", statement.ConditionText([]*statement.Statement{s}, nil, true)},
		} {
			if line[1] != "" {
				fmt.Fprintf(out, "  %s: %s\n", line[0], line[1])
			}
		}
		if n.Effect == statement.OutcomeDeny && s.Subjects == nil {
			fmt.Fprintf(out, "  denial: %s\n", n.Denial())
		} else if len(n.Subjects) > 0 {
			fmt.Fprintf(out, "  because: %s\n", n.Because(n.Subjects[:1]))
		}
		fmt.Fprintf(out, "  %s\n", statement.JSONText(n))
	}
	return numbers
}

// fitting returns the numbers of the statements that fit a request, in the order of
// evaluation; those that more than lists decide have a question mark. It says what they come
// to where that is not the decision of the case.
func fitting(w *statement.World, input map[string]any, c *conformanceCase, numbers map[string]int) string {
	var r statement.Request
	for _, set := range statement.Setters(input, nil) {
		set(&r)
	}
	r.User, _ = input["user"].(string)
	groups, _ := input["groups"].([]any)
	held := statement.Principals(r.User, nil)
	for _, group := range groups {
		held = append(held, statement.GroupPrefix+group.(string))
	}
	var fit []*statement.Statement
	for _, s := range append(all(w), w.Sessions().Holding(statement.UserPrefix+r.User, "")...) {
		if s.JSON().Step.IsZero() { // of the point visibility
			continue
		}
		if s.Holds(held) && s.Fits(&r) {
			fit = append(fit, s)
		}
	}
	slices.SortStableFunc(fit, func(a, b *statement.Statement) int { return bytes.Compare(a.Rank, b.Rank) })
	text, outcome, isOpaque := "", statement.OutcomeNone, false
	for i, s := range fit {
		text += fmt.Sprintf(" %d", numbers[statement.ContentOf(cmp.Or(s.Base, s))])
		if s.Opaque != "" {
			text += "?"
			isOpaque = true
		}
		if i == 0 {
			outcome = s.Effect
		}
	}
	if want := wanted(c); !isOpaque && outcome != want {
		text += " come to " + outcome
	}
	return text
}

func wanted(c *conformanceCase) string {
	switch {
	case c.Want.Allowed:
		return statement.OutcomeAllow
	case c.Want.Denied:
		return statement.OutcomeDeny
	}
	return statement.OutcomeNone
}
