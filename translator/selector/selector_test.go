package selector

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// What a selection says of entries is what holds of every object, tried one by one.
func TestSelectionIsWhatItsObjectsAre(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	keys, values := []string{"a", "b"}, []string{"", "x", "y"}
	objects := []map[string]string{{}}
	for _, key := range keys {
		grown := objects
		for _, value := range append(values, "another") {
			for _, o := range objects {
				with := map[string]string{key: value}
				maps.Copy(with, o)
				grown = append(grown, with)
			}
		}
		objects = grown
	}
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	seen := make(map[Verdict]int)
	for range 20_000 {
		var requirements []Requirement
		for range random.IntN(4) {
			q := Requirement{Key: pick(keys...), Operator: pick(in, in, notIn, exists, doesNotExist)}
			if q.Operator == in || q.Operator == notIn {
				q.Values = []string{pick(values...), pick(values...)}
			}
			requirements = append(requirements, q)
		}
		var entries []tables.Entry
		for range 1 + random.IntN(2) {
			e := tables.Entry{Key: pick(keys...)}
			if value := pick(values...); random.IntN(3) > 0 {
				e.Value = &value
			}
			entries = append(entries, e)
		}
		got, want := OfLabels(requirements).Has(entries), tried(objects, requirements, entries)
		seen[got]++
		if got != want {
			text, _ := json.Marshal(entries)
			t.Fatalf("%v has %s: verdict %d, by its objects %d", requirements, text, got, want)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the verdicts that were drawn are %v, want all three", seen)
	}
}

func tried(objects []map[string]string, requirements []Requirement, entries []tables.Entry) Verdict {
	fitting, having := 0, 0
	for _, o := range objects {
		if !fits(o, requirements) {
			continue
		}
		fitting++
		has := true
		for _, e := range entries {
			value, there := o[e.Key]
			has = has && there && (e.Value == nil || *e.Value == value)
		}
		if has {
			having++
		}
	}
	switch {
	case len(requirements) == 0 || fitting == 0 || having > 0 && having < fitting:
		return Unknown
	case having == 0:
		return None
	}
	return All
}

func fits(o map[string]string, requirements []Requirement) bool {
	for _, q := range requirements {
		value, there := o[q.Key]
		listed := false
		for _, v := range q.Values {
			listed = listed || there && v == value
		}
		if q.Operator == in && !listed || q.Operator == notIn && listed || q.Operator == exists && !there || q.Operator == doesNotExist && there {
			return false
		}
	}
	return true
}

func TestRequirementsThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`[{"key":"a","operator":"In","values":["x"]},{"key":"a","operator":"Exists","values":[]}]`: 2,
		`[{"key":"a","operator":"In"}]`:                      0,
		`[{"key":"a","operator":"In","values":[]}]`:          0,
		`[{"key":"a","operator":"In","values":"x"}]`:         0,
		`[{"key":"a","operator":"In","values":["x",1]}]`:     0,
		`[{"key":"","operator":"In","values":["x"]}]`:        0,
		`[{"key":"a","operator":"in","values":["x"]}]`:       0,
		`[{"key":"a","operator":"Exists","values":["x"]}]`:   0,
		`[{"key":"a","operator":"Exists","values":null}, 3]`: 1,
		`{"key":"a","operator":"Exists"}`:                    0,
	} {
		var selector any
		if err := json.Unmarshal([]byte(text), &selector); err != nil {
			t.Fatal(err)
		}
		if got := Labels(map[string]any{LabelKey: selector}); len(got) != want {
			t.Errorf("%s has the requirements %v, want %d", text, got, want)
		}
	}
}
