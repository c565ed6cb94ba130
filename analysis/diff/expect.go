package diff

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// ExpectedChange is an entry of an ExpectedChanges document.
type ExpectedChange struct {
	ID     string `json:"id"`
	Change string `json:"change"`
	Text   string `json:"text"`
	// Until is the last time at which the entry accepts a class; the zero time does not bound it.
	Until time.Time `json:"until,omitzero"`
	// Reason is shown beside the class; it may be empty.
	Reason string `json:"reason,omitempty"`
}

// fits reports whether the entry is about a class.
func (e *ExpectedChange) fits(k *Class) bool {
	return e.ID == k.ID && slices.Contains(k.Changes, e.Change)
}

// isExpired reports whether an entry accepts nothing any more.
func (e *ExpectedChange) isExpired(now time.Time) bool {
	return !e.Until.IsZero() && now.After(e.Until)
}

// Expected returns the entries that accept every class of the report. Of an entry that is among
// earlier ones, the reason and the time are kept.
func (r *Report) Expected(earlier []ExpectedChange) []ExpectedChange {
	out := []ExpectedChange{}
	for i := range r.Classes {
		k := &r.Classes[i]
		for _, change := range k.Changes {
			title := r.titleOf([]*Class{k}, change, nil)
			e := ExpectedChange{ID: k.ID, Change: change, Text: title.String()}
			at := slices.IndexFunc(earlier, func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change && !e.isExpired(r.Now) })
			if at >= 0 {
				e.Until, e.Reason = earlier[at].Until, earlier[at].Reason
			}
			out = append(out, e)
		}
	}
	return out
}

// Accept marks the classes of which every change is expected. An entry that fits no class,
// or that has expired, is a note.
func (r *Report) Accept(expected []ExpectedChange) {
	for i := range r.Classes {
		k := &r.Classes[i]
		k.Accepted = len(k.Changes) > 0
		k.Expired, k.Reason = false, ""
		var reasons []string
		for _, change := range k.Changes {
			accepts := func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change && !e.isExpired(r.Now) }
			at := slices.IndexFunc(expected, accepts)
			if at < 0 {
				k.Accepted = false
				k.Expired = k.Expired || slices.ContainsFunc(expected, func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change })
				continue
			}
			reasons = append(reasons, expected[at].remark())
		}
		if k.Accepted {
			k.Reason = strings.Join(tables.Once(slices.DeleteFunc(reasons, func(text string) bool { return text == "" })), "; ")
		}
	}
	for _, e := range expected {
		switch {
		case r.IsStale(e):
			r.Notes = append(r.Notes, "stale-expectation: "+e.ID+" "+e.Change+" "+e.Text)
		case e.isExpired(r.Now):
			r.Notes = append(r.Notes, "expired-expectation: "+e.ID+" "+e.Change+" "+e.Text+" (until "+e.Until.UTC().Format(time.RFC3339)+")")
		}
	}
	r.Count()
}

// IsStale reports whether an entry fits no class.
func (r *Report) IsStale(e ExpectedChange) bool {
	return !slices.ContainsFunc(r.Classes, func(k Class) bool { return e.fits(&k) })
}

// remark returns why and until when an entry accepts its class.
func (e *ExpectedChange) remark() string {
	text := diag.Line(e.Reason)
	if !e.Until.IsZero() {
		text = strings.TrimPrefix(text+", until "+e.Until.UTC().Format(time.RFC3339), ", ")
	}
	return text
}
