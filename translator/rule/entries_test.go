package rule

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/tables"
)

var (
	verbEntries = []string{"*", "get", "update", "patch", "delete", "deletecollection", "exec", "proxy", "impersonate"}
	kindEntries = []string{"*", "pod", "pods", "pod/exec", "pods/log", "*/log", "*/exec", "policy", "policies", "secret"}

	requestVerbs = []string{"get", "update", "patch", "delete", "deletecollection", "exec", "proxy", "impersonate", "impersonate:user-info", "other"}
	requestKinds = []string{"pod", "pods", "Pods", "policies", "secrets", "nodes"}
	requestSubs  = []string{"", "log", "exec", "attach", "proxy", "Status"}
)

func rules() *rapid.Generator[tables.OriginRule] {
	return rapid.Custom(func(t *rapid.T) tables.OriginRule {
		draw := func(from []string, least int, label string) []string {
			return tables.Entries(rapid.SliceOfN(rapid.SampledFrom(from), least, 3).Draw(t, label))
		}
		return tables.OriginRule{
			Verbs: draw(verbEntries, 1, "verbs"), NotVerbs: draw(verbEntries[1:], 0, "not verbs"),
			Kinds: draw(kindEntries, 1, "kinds"), NotKinds: draw(kindEntries[1:], 0, "not kinds"),
		}
	})
}

// matched returns the requests that a rule matches.
func matched(r *tables.OriginRule) []string {
	var out []string
	for _, verb := range requestVerbs {
		for _, kind := range requestKinds {
			for _, sub := range requestSubs {
				if MatchesVerb(r, verb, sub) && MatchesKind(r, verb, kind, sub) {
					out = append(out, verb+" "+kind+"/"+sub)
				}
			}
		}
	}
	return out
}

func TestCoveringRuleMatchesWhatIsCovered(t *testing.T) {
	covering := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := rules().Draw(t, "a"), rules().Draw(t, "b")
		var c Budget
		if !c.CoversOrigin(&a, &b) {
			return
		}
		covering++
		all := matched(&a)
		for _, request := range matched(&b) {
			if !slices.Contains(all, request) {
				t.Errorf("%s: got no match of the rule that is said to cover", request)
			}
		}
	})
	if covering == 0 {
		t.Error("no pair of rules covers the other: nothing was tested")
	}
}

// MatchesOriginVerb and MatchesOriginKind agree with the requests that rules match, for
// grants and for denials.
func TestEntriesAreCoveredAndTouched(t *testing.T) {
	covered, untouched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		owner, wanted := rules().Draw(t, "owner"), rules().Draw(t, "wanted")
		held := matched(&owner)
		for _, verb := range EffectiveVerbs(&wanted) {
			for _, kind := range EffectiveKinds(&wanted) {
				one := tables.OriginRule{Verbs: []string{verb}, NotVerbs: wanted.NotVerbs, Kinds: []string{kind}, NotKinds: wanted.NotKinds}
				r := Row{Origin: &owner}
				covers := r.MatchesOriginVerb(false, verb, wanted.NotVerbs) && r.MatchesOriginKind(false, kind, wanted.NotKinds)
				touches := r.MatchesOriginVerb(true, verb, wanted.NotVerbs) && r.MatchesOriginKind(true, kind, wanted.NotKinds)
				for _, request := range matched(&one) {
					has := slices.Contains(held, request)
					if covers && !has {
						t.Errorf("%s: got no match of an owner that is said to cover %s %s", request, verb, kind)
					}
					if !touches && has {
						t.Errorf("%s: got a match of an owner that is said not to touch %s %s", request, verb, kind)
					}
				}
				if covers {
					covered++
				}
				if !touches {
					untouched++
				}
			}
		}
	})
	if covered == 0 || untouched == 0 {
		t.Errorf("got %d covered and %d untouched entries, want some of each", covered, untouched)
	}
}

func TestCoversResource(t *testing.T) {
	for _, row := range []struct {
		held, wanted string
		want         bool
	}{
		{"*", "pods/log", true},
		{"*", "*", true},
		{"pods", "pods", true},
		{"pods", "pods/log", false},
		{"*/log", "pods/log", true},
		{"*/log", "*/log", true},
		{"*/log", "pods", false},
		{"*/log", "*", false},
		{"pods/*", "pods/log", false},
		{"*/", "pods", false},
	} {
		if got := CoversResource(row.held, row.wanted); got != row.want {
			t.Errorf("%s covers %s: got %v, want %v", row.held, row.wanted, got, row.want)
		}
	}
}

func TestCoversPath(t *testing.T) {
	for _, row := range []struct {
		held, wanted string
		want         bool
	}{
		{"*", "/api", true},
		{"*", "*", true},
		{"/api/*", "/api/v1", true},
		{"/api/*", "/api/", true},
		{"/api/*", "/api", false},
		{"/api/**", "/api/v1/*", true},
		{"/api*", "/apis/*", true},
		{"/api/v1", "/api/*", false},
		{"/api/v1/*", "/api/*", false},
		{"/a*b", "/axb", false},
	} {
		if got := CoversPath(row.held, row.wanted); got != row.want {
			t.Errorf("%s covers %s: got %v, want %v", row.held, row.wanted, got, row.want)
		}
	}
}

// The cost of a role with many rules is proportional to the number of their entries.
func TestComparisonsAreBounded(t *testing.T) {
	left := NewBudget(10)
	wanted := strings.Split(strings.Repeat("x ", 5000), " ")
	for i := 0; left > 0; i++ {
		if i > 100 {
			t.Fatal("got an unbounded number of comparisons")
		}
		left.coverAll(wanted, append(make([]string, 99), "x"), isEqual)
	}
}
