package answers

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
)

// objectsOf returns all documents by file, without the kinds that a bundle does not have.
func objectsOf(t *testing.T, v console.Viewer) map[string][]console.Object {
	t.Helper()
	files, err := v.Files(all)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]console.Object)
	for _, f := range files.Files {
		d, err := v.Document(all, f.File, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[f.File] = slices.DeleteFunc(d.Documents, func(o console.Object) bool { return o.Kind == "Policy" || o.Kind == "PolicyBinding" })
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
	s.explorer.Attempted(Attempt{Activated: true, Revision: s.active.Loaded().Revision, Source: "bundle"})
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

// A binding names the role that it grants, and other documents name none.
func TestBindingsNameTheirRoles(t *testing.T) {
	s := newSite(t, policies)
	want := map[string]string{"developers": "Role shop/dev kubernetes", "admins": "ClusterRole /admin kubernetes", "editors": "Role shop/editor origin"}
	for _, file := range []string{"rbac.yaml", "protected.yaml", "deny.yaml"} {
		d, err := s.explorer.Now().Document(all, file, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range d.Documents {
			got := ""
			if o.Binds != nil {
				got = o.Binds.Kind + " " + o.Binds.Namespace + "/" + o.Binds.Name + " " + o.Binds.Family
			}
			if got != want[o.Name] {
				t.Errorf("%s %s binds %q, want %q", o.Kind, o.Name, got, want[o.Name])
			}
			delete(want, o.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// Of the verbs of a rule that nearly allows a request the nearest one is common.
func TestNearestVerbIsCommon(t *testing.T) {
	s := newSite(t, `== rbac.yaml
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{verbs: [approve, watch, list], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}, subjects: [{kind: User, name: ada}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b}, rules: [{verbs: [approve], apiGroups: [""], resources: [secrets]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: b}, subjects: [{kind: User, name: ada}]}
`)
	for resource, want := range map[string]string{"pods": "with the verb list", "secrets": "with the verb approve"} {
		e := s.explain("access", `{"user":"ada","verb":"delete","resource":"`+resource+`"}`)
		if len(e.Nearest) != 1 || e.Nearest[0].Text != want || !strings.Contains(string(e.Nearest[0].Request), strings.TrimPrefix(want, "with the verb ")) {
			t.Errorf("%s: got %+v, want %q", resource, e.Nearest, want)
		}
	}
}
