package reload

import (
	"context"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// deciding is a Reviewer that tells of nothing but decisions.
type deciding struct{ decision.Reviewer }

// telling is one that tells of visibility, by its revision.
type telling struct {
	decision.Reviewer
	decision.Viewer
	revision string
}

func (r telling) Revision() string { return r.revision }

func (r telling) Policies(context.Context, decision.Principal) decision.PolicyListing {
	return decision.PolicyListing{Listing: decision.Listing{Revision: r.revision}}
}

func (r telling) Permissions(context.Context, decision.Principal, []string, func(string) map[string]string) decision.PermissionListing {
	return decision.PermissionListing{Listing: decision.Listing{Revision: r.revision}}
}

func (r telling) CustomTypes(context.Context, decision.Principal) decision.TypeListing {
	return decision.TypeListing{Listing: decision.Listing{Revision: r.revision}}
}

func (r telling) Grounds() *decision.Grounds { return &decision.Grounds{Revision: r.revision} }

func (r telling) Renew(a decision.Authorization) (decision.Authorization, bool) {
	a.Revision = r.revision
	return a, true
}

// What the active revision tells is told, and without one, or by one that tells
// nothing, nothing is.
func TestMonitor(t *testing.T) {
	for _, row := range []struct {
		name     string
		active   *active
		revision string
	}{
		{"no revision", nil, ""},
		{"one that tells nothing", &active{reviewer: deciding{}, numbered: numbered{revision: "a"}}, ""},
		{"one that tells", &active{reviewer: telling{revision: "b"}, numbered: numbered{revision: "b"}}, "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := New(Options{})
			r.active.Store(row.active)
			who := decision.Principal{User: "u"}
			for name, listing := range map[string]decision.Listing{
				"policies": r.Policies(t.Context(), who).Listing, "permissions": r.Permissions(t.Context(), who, nil, nil).Listing,
				"types": r.CustomTypes(t.Context(), who).Listing,
			} {
				if listing.Revision != row.revision || (listing.Trouble == "") != (row.revision != "") {
					t.Errorf("%s: got %+v, want revision %q, or trouble", name, listing, row.revision)
				}
			}
			g := r.Grounds()
			a, ok := r.Renew(decision.Authorization{Revision: "old"})
			if (g != nil) != (row.revision != "") || ok != (row.revision != "") {
				t.Fatalf("got %+v and %v", g, ok)
			}
			if ok && (g.Revision != row.revision || a.Revision != row.revision) {
				t.Errorf("got %s and %s, want %s", g.Revision, a.Revision, row.revision)
			}
		})
	}
}
