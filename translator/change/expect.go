package change

import (
	"encoding/json"
	"slices"
)

// ExpectedChange is an entry of an ExpectedChanges document.
type ExpectedChange struct {
	ID     string `json:"id"`
	Change string `json:"change"`
	Text   string `json:"text"`
}

// Expected returns the entries that accept every class of the report.
func (r *Report) Expected() []ExpectedChange {
	titles := make(map[string]string)
	for _, g := range r.Groups {
		for _, id := range g.Classes {
			titles[id] = g.Title
		}
	}
	out := []ExpectedChange{}
	for i := range r.Classes {
		for _, change := range r.Classes[i].Changes {
			out = append(out, ExpectedChange{r.Classes[i].ID, change, titles[r.Classes[i].ID]})
		}
	}
	return out
}

// Accept marks the classes of which every change is expected. An entry that fits no class
// is a note.
func (r *Report) Accept(expected []ExpectedChange) {
	for i := range r.Classes {
		k := &r.Classes[i]
		k.Accepted = !slices.ContainsFunc(k.Changes, func(change string) bool {
			return !slices.ContainsFunc(expected, func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change })
		})
	}
	for _, e := range expected {
		if !slices.ContainsFunc(r.Classes, func(k Class) bool { return k.ID == e.ID && slices.Contains(k.Changes, e.Change) }) {
			r.Notes = append(r.Notes, "stale-expectation: "+e.ID+" "+e.Change+" "+e.Text)
		}
	}
	r.Count()
}

// sarifLevels are the levels of the changes that deserve a warning.
var sarifLevels = map[string]string{changeGain: "warning", changeRelax: "warning", changeLoss: "warning"}

// SARIF returns the report in the Static Analysis Results Interchange Format, with a
// result for each class at the first line of B that is responsible, otherwise of A.
func (r *Report) SARIF(version string) ([]byte, error) {
	titles := make(map[string]Group)
	for _, g := range r.Groups {
		for _, id := range g.Classes {
			titles[id] = g
		}
	}
	results := []any{}
	for i := range r.Classes {
		k := &r.Classes[i]
		g := titles[k.ID]
		level := "note"
		if l := sarifLevels[k.Changes[0]]; l != "" {
			level = l
		}
		result := map[string]any{
			"ruleId": "change-" + k.Changes[0], "level": level, "message": map[string]any{"text": r.sentence(&g)},
			"partialFingerprints": map[string]any{"writ": k.ID},
		}
		if file, line := r.place(k, &g); file != "" {
			location := map[string]any{"artifactLocation": map[string]any{"uri": file}}
			if line > 0 {
				location["region"] = map[string]any{"startLine": line}
			}
			result["locations"] = []any{map[string]any{"physicalLocation": location}}
		}
		if k.Accepted {
			result["suppressions"] = []any{map[string]any{"kind": "external", "justification": "listed as an expected change"}}
		}
		results = append(results, result)
	}
	var rules []any
	for _, change := range changeKinds {
		rules = append(rules, map[string]any{"id": "change-" + change})
	}
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "writ", "version": version, "rules": rules}},
			"results": results,
		}},
	}, "", "  ")
}

// place returns the first responsible line of B, otherwise of A.
func (r *Report) place(k *Class, g *Group) (file string, line int) {
	var sources []string
	for _, in := range []string{"b", "a"} {
		for _, c := range g.Causes {
			if c.In == in {
				sources = append(sources, c.Source)
			}
		}
		for _, list := range k.All {
			for _, id := range list {
				for _, d := range r.Statements[id].Documents {
					if d.In == in {
						sources = append(sources, d.Source)
					}
				}
			}
		}
	}
	if len(sources) == 0 {
		return "", 0
	}
	return splitSource(sources[0])
}
