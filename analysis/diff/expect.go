package diff

import (
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
	out := []ExpectedChange{}
	for i := range r.Classes {
		k := &r.Classes[i]
		for _, change := range k.Changes {
			title := r.titleOf([]*Class{k}, change, nil)
			out = append(out, ExpectedChange{k.ID, change, title.String()})
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
