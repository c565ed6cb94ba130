package gateway

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// Policies and the paths they are on, highest first, by what their Enforced condition
// says. What every message of the reason begins with is left out.
func TestEnforced(t *testing.T) {
	const added, overridden = "The following defaults have been added by ", "The following rules have been overridden by "
	rows := []struct {
		name     string
		policies map[string]string
		paths    string // "a b; a c"
		want     map[string]string
	}{
		{"no path", map[string]string{"a": "bare x"}, "", map[string]string{"a": "Unknown"}},
		{"all rules live", map[string]string{"a": "bare x y"}, "a", map[string]string{"a": "Enforced"}},
		{"no rule lives", map[string]string{"a": "overrides x", "b": "bare x y"}, "a b", map[string]string{"a": "Enforced", "b": "Overridden by n/a"}},
		{"by several", map[string]string{"a": "overrides merge x", "b": "overrides merge y", "c": "bare x y"}, "a b c",
			map[string]string{"a": "Enforced", "b": "Enforced", "c": "Overridden by n/a, n/b"}},
		{"some live", map[string]string{"a": "overrides merge x", "b": "bare x y"}, "a b",
			map[string]string{"a": "Enforced", "b": "PartiallyEnforced. " + overridden + "n/a: limits.x"}},
		{"on another path", map[string]string{"a": "overrides x", "b": "bare x"}, "a b; b",
			map[string]string{"a": "Enforced", "b": "PartiallyEnforced. " + overridden + "n/a: limits.x"}},
		{"groups", map[string]string{"a": "overrides merge z", "b": "overrides merge y x", "c": "bare x y z v"}, "a b c",
			map[string]string{"a": "Enforced", "b": "Enforced", "c": "PartiallyEnforced. " + overridden + "n/a: limits.z; t" + overridden[1:] + "n/b: limits.x, limits.y"}},
		{"an atomic default loses to two", map[string]string{"a": "defaults x", "b": "defaults merge y", "c": "bare z"}, "a b c; a",
			map[string]string{
				"a": "PartiallyEnforced. " + overridden + "n/b, n/c: limits.x",
				"b": "Enforced", "c": "Enforced. " + added + "n/b: limits.y",
			}},
		{"a default that is unset", map[string]string{"a": "defaults merge x y", "b": "unset x"}, "a b",
			map[string]string{"a": "PartiallyEnforced. " + overridden + "n/b: limits.x", "b": "Enforced"}},
		{"added defaults", map[string]string{"a": "defaults merge x y", "b": "bare x"}, "a b",
			map[string]string{"a": "PartiallyEnforced. " + overridden + "n/b: limits.x", "b": "Enforced. " + added + "n/a: limits.y"}},
		{"both", map[string]string{"a": "overrides merge x; defaults merge d", "b": "bare x y"}, "a b",
			map[string]string{"a": "Enforced", "b": "PartiallyEnforced. " + overridden + "n/a: limits.x; t" + added[1:] + "n/a: limits.d"}},
		{"nothing is added to who has no say", map[string]string{"a": "defaults merge d", "b": "overrides x", "c": "bare y"}, "a b c",
			map[string]string{"a": "Enforced", "b": "Enforced. " + added + "n/a: limits.d", "c": "Overridden by n/b"}},
		{"an atomic default is not added", map[string]string{"a": "defaults x", "b": "unset y"}, "a b", map[string]string{"a": "Enforced", "b": "Enforced"}},
		{"no condition holds", map[string]string{"a": "overrides merge x if false", "b": "bare x"}, "a b", map[string]string{"a": "Enforced", "b": "Enforced"}},
		{"a condition holds on one path", map[string]string{"a": "overrides merge x if spec.limits.x.limit > 5", "b": "bare x=9", "c": "bare x=1"}, "a b; a c",
			map[string]string{"a": "Enforced", "b": "Overridden by n/a", "c": "Enforced"}},
		{"unset that is wiped everywhere", map[string]string{"a": "overrides x", "b": "unset y"}, "a b", map[string]string{"a": "Enforced", "b": "Overridden by n/a"}},
		{"unset that is wiped somewhere", map[string]string{"a": "overrides x", "b": "unset y"}, "a b; b", map[string]string{"a": "Enforced", "b": "Enforced"}},
		{"own defaults shadowed", map[string]string{"a": "defaults x; overrides y"}, "a",
			map[string]string{"a": "PartiallyEnforced. " + overridden + "n/a: limits.x"}},
		{"one key in both blocks", map[string]string{"a": "defaults x; overrides merge x"}, "a", map[string]string{"a": "Enforced"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			policies := make(map[string]*inherited)
			for name, text := range row.policies {
				policies[name] = policyOf(name, text)
			}
			g := &lowerer{}
			for path := range strings.SplitSeq(row.paths, ";") {
				var on []*inherited
				for name := range strings.FieldsSeq(path) {
					on = append(on, policies[name])
				}
				if f := foldPolicies(tables.KindRateLimitPolicy, on); len(on) > 0 {
					f.path = "a path"
					g.folded = append(g.folded, f)
				}
			}
			g.computeStatus()
			for _, name := range slices.Sorted(maps.Keys(row.want)) {
				if got, want := enforcedOf(t, policies[name]), row.want[name]; got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

// enforcedOf is a policy's Enforced condition in short, held to what its reason must
// come with.
func enforcedOf(t *testing.T, p *inherited) string {
	t.Helper()
	conditions := p.conditionList()
	if len(conditions) != 2 || conditions[0] != (tables.GatewayCondition{Type: "Accepted", Status: "True", Reason: "Accepted", Message: "RateLimitPolicy has been accepted"}) {
		t.Fatalf("got %v, want it accepted and one more condition", conditions)
	}
	c := conditions[1]
	begins := map[string][2]string{
		"Enforced":          {"True", "RateLimitPolicy has been successfully enforced"},
		"PartiallyEnforced": {"True", "RateLimitPolicy has been successfully enforced"},
		"Overridden":        {"False", "RateLimitPolicy has been overridden"},
		"Unknown":           {"False", "RateLimitPolicy has encountered some issues: it is not in the path to any existing route"},
	}[c.Reason]
	rest, ok := strings.CutPrefix(c.Message, begins[1])
	if c.Type != "Enforced" || c.Status != begins[0] || !ok {
		t.Errorf("got %v, want a message with %q and status %s", c, begins[1], begins[0])
	}
	return c.Reason + rest
}

// If a directory does not compile, a name has the worst condition of its documents.
func TestAccepted(t *testing.T) {
	table := func(name string, rejected tables.Rejection) tables.GatewayPolicy {
		p := policyOf(name, "bare x")
		p.Rejected = rejected
		return tables.GatewayPolicy{Kind: tables.KindRateLimitPolicy, Namespace: "n", Name: name, Conditions: p.conditionList()}
	}
	g := &tables.Gateway{Policies: []tables.GatewayPolicy{
		table("fine", ""), table("wrong", tables.Invalid), table("lost", tables.TargetNotFound),
		table("twice", tables.Invalid), table("twice", tables.Conflicted), table("again", tables.Conflicted), table("again", ""),
	}}
	got := make(map[string]string)
	for locator, conditions := range g.Accepted() {
		if len(conditions) != 1 || conditions[0].Type != "Accepted" {
			t.Fatalf("%s: got %v, want Accepted alone", locator, conditions)
		}
		got[strings.TrimPrefix(locator, "RateLimitPolicy/n/")] = conditions[0].Status + " " + conditions[0].Reason + ": " + conditions[0].Message
	}
	want := map[string]string{
		"fine":  "True Accepted: RateLimitPolicy has been accepted",
		"wrong": "False Invalid: RateLimitPolicy is invalid",
		"lost":  "False TargetNotFound: RateLimitPolicy target route was not found",
		"twice": "False Conflicted: RateLimitPolicy is conflicted by n/twice",
		"again": "False Conflicted: RateLimitPolicy is conflicted by n/again",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
