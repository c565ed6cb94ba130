package explore

import (
	"slices"
	"testing"

	"github.com/writ-policy/writ/server/view"
)

// objectsOf returns all documents by file, without the kinds that a bundle does not have.
func objectsOf(t *testing.T, v view.Viewer) map[string][]view.Object {
	t.Helper()
	files, err := v.Files(all)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]view.Object)
	for _, f := range files.Files {
		d, err := v.Document(all, f.File, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[f.File] = slices.DeleteFunc(d.Documents, func(o view.Object) bool { return o.Kind == "Policy" || o.Kind == "PolicyBinding" })
	}
	return out
}

// A bundle has no texts, and shows the same documents with their lines and rules.
func TestDocumentsOfABundle(t *testing.T) {
	s := newSite(t, policies)
	want := objectsOf(t, s.explorer.Now())
	s.explorer.Activate(s.bundle)
	s.explorer.past = nil
	s.explorer.Activate(s.bundle)
	s.explorer.Attempted(Attempt{Activated: true, Revision: s.active.Revision(), Source: "bundle"})
	v := s.explorer.Now()
	if got := objectsOf(t, v); text(t, got) != text(t, want) || len(want) != 3 {
		t.Errorf("got  %s\nwant %s", text(t, got), text(t, want))
	}
	d, err := v.Document(all, "rbac.yaml", 5)
	if err != nil || d.Note == "" || len(d.Lines) != 0 {
		t.Errorf("got %s, %v, want a note for the text", text(t, d), err)
	}
	e := s.explain("access", requests["a grant"].request)
	if len(e.Excerpts) != 0 || e.Note == "" || e.Matched[0].Source != "rbac.yaml:5" {
		t.Errorf("got %s, want a note and the place", text(t, e))
	}
}
