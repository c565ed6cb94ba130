package agreement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// hierarchies are random hierarchies the effective gateway policies are compared in.
func hierarchies() int { return gate.Times(100) }

// The policies in effect on every path, and everything that is reported about them,
// must be those of a naive reading of the specification.
func TestEffectiveAndOracleAgree(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for seed := firstWorld(); seed < firstWorld()+uint64(hierarchies()); seed++ {
		files, world := gateway.GenerateInheritance(seed)
		tables := gatewayTables(t, seed, files)
		if why := compareEffective(tables, world, count); why != "" {
			t.Fatalf("hierarchy %d: %s\n%s", seed, why, gateway.Text(files))
		}
	}
	t.Logf("hierarchies %d to %d: %v", firstWorld(), firstWorld()+uint64(hierarchies())-1, count)
	for _, what := range []string{
		"condition", "unset", "atomic-default", "default", "atomic-override", "override",
		"Enforced", "PartiallyEnforced", "Overridden", "Unknown", "Affected", "PartiallyAffected", "Unaffected", "variants", "untargeted",
	} {
		if count[what] < hierarchies()/20 {
			t.Errorf("%s: got %d in %d hierarchies, which is too seldom", what, count[what], hierarchies())
		}
	}
}

// Nothing below an override of the oldest policy on a gateway changes it.
func TestTopOverrideAlwaysWins(t *testing.T) {
	checked := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(hierarchies()); seed++ {
		_, world := gateway.GenerateInheritance(seed)
		gateway := world.Gateways[0]
		top := world.Top(gateway)
		for answer := range everyPath(t, seed, world.Again(1), top.Kind) {
			path := answer.Paths[0]
			if !strings.HasPrefix(path, "Gateway/"+gateway.Namespace+"/"+gateway.Name+"#") {
				continue
			}
			for key := range top.Overrides.Rules {
				if got, want := answer.Sources[key], top.Kind+"/"+top.Namespace+"/"+top.Name; got != want {
					t.Fatalf("hierarchy %d, %s on %s: got source %q, want %q", seed, key, path, got, want)
				}
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("no path was checked")
	}
}

// Whatever a policy unsets in addition, no rule of another name goes with it, where
// no condition looks at the rules. Patterns and conditions alone are not
// rules: a policy that is left with nothing else has no effect.
func TestUnsetRemovesOnlyWhatItNames(t *testing.T) {
	removed := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(5*hierarchies()); seed++ {
		_, world := gateway.GenerateInheritance(seed)
		world.Unconditional()
		policy := world.Policies[0]
		keys := world.Keys(policy.Kind)
		if len(keys) == 0 {
			continue
		}
		unset := keys[int(seed)%len(keys)]
		if slices.Contains(policy.Unset, unset) {
			continue
		}
		before := map[string]*effective.Effective{}
		for answer := range everyPath(t, seed, world.Again(1), policy.Kind) {
			before[answer.Paths[0]] = answer
		}
		policy.Unset = append(policy.Unset, unset)
		for after := range everyPath(t, seed, world.Again(1), policy.Kind) {
			for rule := range before[after.Paths[0]].Rules {
				if after.Rules[rule] != nil {
					continue
				}
				removed++
				if rule != unset && rule != "when" && !strings.HasPrefix(rule, "patterns.") {
					t.Fatalf("hierarchy %d: %s is gone on %s with an unset of %s", seed, rule, after.Paths[0], unset)
				}
			}
		}
	}
	if removed == 0 {
		t.Error("nothing was ever unset")
	}
}

// In which order files are read changes no byte, and how documents are spread over
// them no answer.
func TestLayoutOfGatewaysChangesNothing(t *testing.T) {
	for seed := firstWorld(); seed < firstWorld()+uint64(hierarchies())/4; seed++ {
		files, world := gateway.GenerateInheritance(seed)
		want := build(t, seed, files).Files
		snapshot := snapshotOf(files)
		slices.Reverse(snapshot.Files)
		result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(context.Background(), snapshot)
		if result == nil {
			t.Fatalf("hierarchy %d: %+v", seed, list)
		}
		bundle, err := bundles.Build(result, bundles.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for path, content := range want {
			if !bytes.Equal(bundle.Files[path], content) {
				t.Fatalf("hierarchy %d: %s differs", seed, path)
			}
		}
		if why := compareEffective(gatewayTables(t, seed, world.Again(2)), world, map[string]int{}); why != "" {
			t.Fatalf("hierarchy %d in another layout: %s", seed, why)
		}
	}
}

func everyPath(t *testing.T, seed uint64, files map[string]string, kind string) iter.Seq[*effective.Effective] {
	t.Helper()
	all, err := effective.All(gatewayTables(t, seed, files), kind)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func snapshotOf(files map[string]string) source.Snapshot {
	var snapshot source.Snapshot
	for _, path := range slices.Sorted(maps.Keys(files)) {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(files[path])))
	}
	return snapshot
}

func gatewayTables(t *testing.T, seed uint64, files map[string]string) *tables.Gateway {
	t.Helper()
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(context.Background(), snapshotOf(files))
	if result == nil {
		t.Fatalf("hierarchy %d does not compile: %+v\n%s", seed, list, gateway.Text(files))
	}
	return tables.Of[*tables.Gateway](result.Tables)
}

// compareEffective asks everything that can be asked and says where the answers
// differ, "" if nowhere.
func compareEffective(lowered *tables.Gateway, world *gateway.World, count map[string]int) string {
	vias := []string{""}
	for _, target := range world.Targets() {
		if strings.HasPrefix(target, "Gateway/") {
			vias = append(vias, target)
		}
	}
	for _, kind := range gateway.Kinds {
		for _, target := range world.Targets() {
			for _, via := range vias {
				if via != "" && strings.HasPrefix(target, "Gateway/") {
					continue
				}
				got, err := effective.Find(lowered, effective.Query{Kind: kind, Target: target, Via: via})
				want := world.Effective(kind, target, via)
				if via == "" {
					countEffective(want, count)
				}
				if why := unlikeJSON(got, want, err); why != "" {
					return kind + " on " + target + " via " + via + why
				}
			}
		}
		if why := compareDiscoveries(lowered, world, kind, count); why != "" {
			return kind + why
		}
	}
	return ""
}

func compareDiscoveries(lowered *tables.Gateway, world *gateway.World, kind string, count map[string]int) string {
	all, err := effective.All(lowered, kind)
	if err != nil {
		return err.Error()
	}
	if why := unlikeJSON(slices.AppendSeq([]*effective.Effective{}, all), append([]map[string]any{}, world.EveryPath(kind)...), nil); why != "" {
		return " on every path" + why
	}
	for _, rule := range append(world.Keys(kind), "rules.authorization.unnamed") {
		if kind == "RateLimitPolicy" && rule == "rules.authorization.unnamed" {
			rule = "limits.unnamed"
		}
		got, err := effective.FindReach(lowered, kind, rule)
		if why := unlikeJSON(got, world.Reach(kind, rule), err); why != "" {
			return " reach of " + rule + why
		}
	}
	policies := []string{""}
	for _, p := range world.Policies {
		if p.Kind == kind {
			policies = append(policies, p.Namespace+"/"+p.Name)
		}
	}
	for _, policy := range policies {
		got, err := effective.FindReplaced(lowered, kind, policy)
		want := world.Replaced(kind, policy)
		if policy == "" {
			for _, entry := range want {
				count[entry.(map[string]any)["how"].(string)]++
			}
		}
		if why := unlikeJSON(got, want, err); why != "" {
			return " replaced of " + policy + why
		}
	}
	return ""
}

func countEffective(want map[string]any, count map[string]int) {
	for _, key := range []string{"variants", "untargeted"} {
		if value := reflect.ValueOf(want[key]); value.IsValid() && value.Len() > 0 {
			count[key]++
		}
	}
	lists := append(slices.Collect(maps.Values(want["policyConditions"].(map[string]any))), want["conditions"])
	for _, conditions := range lists {
		for _, c := range conditions.([]gateway.Condition) {
			count[c.Reason]++
		}
	}
}

// unlikeJSON states how the JSON of two values differs, "" if it does not. Keys are
// sorted on both sides.
func unlikeJSON(got, want any, err error) string {
	if err != nil {
		return ": " + err.Error()
	}
	given, gotErr := json.Marshal(got)
	wanted, wantErr := json.Marshal(want)
	if err := errors.Join(gotErr, wantErr); err != nil {
		return ": " + err.Error()
	}
	if bytes.Equal(given, wanted) {
		return ""
	}
	return "\n got " + string(given) + "\nwant " + string(wanted)
}
