package statement_test

import (
	"testing"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// counting counts how often a rule is matched.
type counting struct {
	*statement.OriginRule
	matches *int
}

func (c counting) Match(at int, r *statement.Request) uint8 {
	*c.matches++
	return c.OriginRule.Match(at, r)
}

// Where a question states what is asked for, all candidates for that are one request, which is
// matched once.
func TestStatedMembersAreMatchedOnce(t *testing.T) {
	matches := 0
	row := (*statement.OriginRule)(&tables.OriginRule{
		Verbs: []string{"*"}, NotVerbs: []string{"delete"}, Kinds: []string{"*"}, NotKinds: []string{"secrets", "pods/exec", "pods", "nodes", "roles"}})
	pin := func(r *statement.Request) bool {
		r.Path, r.Resource, r.Subresource, r.Verb, r.Group = "", "deployments", "", "create", "apps"
		return true
	}
	s := statement.Search{Must: []*statement.Statement{{Effect: statement.OutcomeAllow, Condition: counting{row, &matches}}},
		Pin: pin, Point: statement.PointAccess, Base: statement.Request{User: "u"}}
	if s.Find() == nil {
		t.Fatal("found no request")
	}
	s = statement.Search{Must: s.Must, MustNot: s.Must, Pin: pin, Point: statement.PointAccess, Base: statement.Request{User: "u"}}
	if found := s.Find(); found != nil {
		t.Fatalf("found %v", found.Object(statement.PointAccess))
	}
	if most := 50; matches > most {
		t.Errorf("matched %d times, want at most %d", matches, most)
	}
}
