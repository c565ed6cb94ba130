package access

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/deny"
)

// Random deny policies must reach every outcome often, or they prove nothing.
func TestDenyRequestsReachEverything(t *testing.T) {
	count := map[string]int{}
	const worlds, each = 400, 100
	for seed := range uint64(worlds) {
		_, world := GenerateDeny(seed)
		for _, r := range world.Requests(each) {
			if !json.Valid([]byte(r.JSON())) {
				t.Fatalf("no JSON: %s", r.JSON())
			}
			d := world.Decide(r)
			if d.Invalid != "" {
				t.Fatalf("%s: %s", r.JSON(), d.Invalid)
			}
			count[outcome(d)]++
			for _, j := range d.Judgements {
				count[j.How+" "+j.Action]++
				for _, factor := range j.Factors {
					count[strings.SplitN(factor, ":", 2)[0]]++
				}
				if j.How == "unavailable" && r.PodError == "" && r.Pod["spec"] != nil {
					count["unreadable"]++
				}
			}
			if len(d.Judgements) > 1 {
				count["several judgements"]++
			}
			if len(d.PodWarnings) > 1 {
				count["several warnings"]++
			}
			if d.Denied && len(d.PodWarnings) > 0 {
				count["warned, then denied"]++
			}
			if d.PodSecurity != nil && !d.Allowed && !d.Denied {
				count["judged, not granted"]++
			}
			if strings.Contains(d.Reason, "labels are unknown") {
				count["labels unknown"]++
			}
			if e := world.Escalation(r); d.Denied && d.Matched[0].Step == deny.StepDenyRule && e != nil && slices.Contains(e.DenyPolicyRefs, d.Matched[0].Name) {
				count["a policy that the escalation names"]++
			}
			if deny.Impersonates(r) && d.Denied {
				count["impersonation"]++
			}
		}
	}
	for name, least := range map[string]int{
		"allowed": 4000, "denied, a rule": 2000, "denied, an impersonation rule": 700, "denied, pod security": 2000, "denied, a binding": 200, "neither": 2000,
		"unavailable allow": 500, "unavailable deny": 500, "unreadable": 300, "exempt allow": 200, "blocked deny": 300, "override allow": 100,
		"threshold allow": 300, "threshold warn": 300, "threshold deny": 300, "above deny": 500,
		"several judgements": 300, "several warnings": 100, "warned, then denied": 200, "judged, not granted": 200, "labels unknown": 100,
		"a policy that the escalation names": 200, "impersonation": 50,
		"hostNetwork": 300, "hostPID": 300, "hostIPC": 300, "privilegedContainer": 300, "runAsRoot": 300, "capability": 300,
		"hostPathWritable": 300, "hostPathReadOnly": 300,
	} {
		if count[name] < least {
			t.Errorf("%s: got %d of %d, want %d", name, count[name], worlds*each, least)
		}
	}
}

func outcome(d oracle.Decision) string {
	switch {
	case d.Allowed:
		return "allowed"
	case !d.Denied:
		return "neither"
	}
	if strings.Contains(d.Reason, ", impersonation rule ") {
		return "denied, an impersonation rule"
	}
	switch d.Matched[0].Step {
	case deny.StepDenyRule:
		return "denied, a rule"
	case deny.StepPodSecurity:
		return "denied, pod security"
	}
	return "denied, a binding"
}

// A deny policy can never let anyone in who was not let in without it.
func TestDenyPoliciesNeverPermitMore(t *testing.T) {
	for seed := range uint64(100) {
		_, world := GenerateDeny(seed)
		without := *world
		without.DenyPolicies = nil
		for _, r := range world.Requests(50) {
			if world.Decide(r).Allowed && !without.Decide(r).Allowed {
				t.Fatalf("seed %d: %s is allowed only with deny policies", seed, r.JSON())
			}
		}
	}
}

// Whatever a part of a pod is replaced with that is of no type the part can
// have, a policy that is closed denies: no such pod scores lower than before.
func TestNoWrongTypeScoresLower(t *testing.T) {
	whole := map[string]any{
		"hostNetwork": true, "hostPID": true, "hostIPC": true,
		"securityContext":     map[string]any{"runAsUser": 0},
		"containers":          []any{map[string]any{"securityContext": map[string]any{"privileged": true, "runAsUser": 0, "capabilities": map[string]any{"add": []any{"SYS_ADMIN"}}}}},
		"initContainers":      []any{map[string]any{"securityContext": map[string]any{"capabilities": map[string]any{"add": []any{"NET_ADMIN"}}}}},
		"ephemeralContainers": []any{map[string]any{"volumeMounts": []any{map[string]any{"name": "v", "readOnly": false}}}},
		"volumes":             []any{map[string]any{"name": "v", "hostPath": map[string]any{}}},
	}
	replaced := 0
	var replace func(value any, put func(any))
	world := granted(scoring(func(s *deny.PodRules) { s.Thresholds = []deny.Threshold{{MaxScore: 100000, Action: "allow"}} }))
	try := func(value any, put func(any)) {
		for _, wrong := range []any{"true", 7, 0.5, true, []any{}, map[string]any{}, []any{value}} {
			if sameType(wrong, value) {
				continue
			}
			put(wrong)
			if d := world.Decide(execs(whole)); !d.Denied {
				t.Errorf("allowed with %v for %v", wrong, value)
			}
			replaced++
		}
		put(value)
	}
	replace = func(value any, put func(any)) {
		try(value, put)
		switch v := value.(type) {
		case map[string]any:
			for key := range v {
				replace(v[key], func(other any) { v[key] = other })
			}
		case []any:
			for i := range v {
				replace(v[i], func(other any) { v[i] = other })
			}
		}
	}
	if d := world.Decide(execs(whole)); !d.Allowed || d.PodSecurity.Score == 0 {
		t.Fatalf("the whole pod: %+v", d)
	}
	for key := range whole {
		replace(whole[key], func(other any) { whole[key] = other })
	}
	if replaced < 100 {
		t.Errorf("only %d parts replaced", replaced)
	}
}

func sameType(a, b any) bool {
	switch a.(type) {
	case string:
		_, same := b.(string)
		return same
	case int:
		_, same := b.(int)
		return same
	case bool:
		_, same := b.(bool)
		return same
	case []any:
		_, same := b.([]any)
		return same
	case map[string]any:
		_, same := b.(map[string]any)
		return same
	}
	return false
}
