package statement

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// podRule is the pod security of a deny policy. What the pod is decides, so the
// statement is opaque.
type podRule struct {
	scope
	p    *tables.PodSecurity
	fits rule.Rule
}

// Match implements Condition.
func (p *podRule) Match(at stage, r *Request) uint8 {
	if at > stageGroup {
		return p.scope.Match(at, r)
	}
	return bitsOf(p.fits, at, r)
}

func (p *podRule) filter() *tables.NamespaceFilter { return nil }

func (p *podRule) last() stage { return max(stageGroup, p.scope.last()) }

// Mention implements Condition.
func (p *podRule) Mention(v *Values) {
	p.scope.Mention(v)
	v.addLists(p.fits[0], true)
	v.addFilter(p.p.ExemptNamespaces)
	v.verbs.Add(rule.Streams...)
}

// Describe implements Condition.
func (p *podRule) Describe(s *JSON) { s.Rule, s.AppliesTo = p.rule(), scopeOf(p.policy) }

func (p *podRule) rule() *Row { return &Row{PodSecurity: podScores(p.p)} }

func podScores(p *tables.PodSecurity) *PodScores {
	weights, capabilities := make(map[string]any), make(map[string]any)
	for _, f := range p.Factors {
		name, isCapability := strings.CutPrefix(f.Name, "capability:")
		switch {
		case f.Weight == 0:
		case isCapability:
			capabilities[name] = f.Weight
		default:
			weights[f.Name] = f.Weight
		}
	}
	if len(capabilities) > 0 {
		weights["capabilities"] = capabilities
	}
	out := &PodScores{Subresources: p.Subresources, RiskFactors: weights, BlockFactors: p.BlockFactors}
	for _, t := range p.Thresholds {
		out.Thresholds = append(out.Thresholds, Threshold{t.Action, t.MaxScore})
	}
	if p.ExemptNamespaces != nil || len(p.ExemptLabels) > 0 {
		out.Exemptions = &Exemptions{namespacesOf(p.ExemptNamespaces), p.ExemptLabels}
	}
	if p.FailOpen {
		out.FailMode = "open"
	}
	return out
}

// Without implements Condition.
func (p *podRule) Without(other Condition) Condition {
	if o, ok := other.(*podRule); ok && p.scope.equals(o.scope) && reflect.DeepEqual(p.rule(), o.rule()) {
		return nil
	}
	return p
}

// PodSecurity returns what decides a statement of pod security. It panics for others.
func (s *Statement) PodSecurity() *tables.PodSecurity { return s.Rule().(*podRule).p }

const (
	capabilityFactor = "capability:"
	writableFactor   = "hostPathWritable"
	readOnlyFactor   = "hostPathReadOnly"
)

// IsRepeatable reports whether a risk factor counts more than once.
func IsRepeatable(name string) bool {
	return name == writableFactor || name == readOnlyFactor || len(name) > len(capabilityFactor) && name[:len(capabilityFactor)] == capabilityFactor
}

// PodOf returns a pod with risk factors, each as often as its number, and with labels.
func PodOf(factors map[string]int, labels map[string]string) map[string]any {
	first := map[string]any{"name": "c"}
	containers := []any{first}
	spec := map[string]any{}
	var volumes, mounts []any
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		for n := range factors[name] {
			switch {
			case name == writableFactor || name == readOnlyFactor:
				volume := fmt.Sprintf("%s-%d", map[string]string{writableFactor: "rw", readOnlyFactor: "ro"}[name], n)
				volumes = append(volumes, map[string]any{"name": volume, "hostPath": map[string]any{"path": "/"}})
				mounts = append(mounts, map[string]any{"name": volume, "mountPath": "/" + volume, "readOnly": name == readOnlyFactor})
			case name == "privilegedContainer":
				containers = append(containers, map[string]any{"name": "p", "securityContext": map[string]any{"privileged": true}})
			case name == "runAsRoot":
				spec["securityContext"] = map[string]any{"runAsUser": 0}
			case IsRepeatable(name):
				capability := name[len(capabilityFactor):]
				containers = append(containers, map[string]any{"name": fmt.Sprintf("c-%s-%d", capability, n),
					"securityContext": map[string]any{"capabilities": map[string]any{"add": []string{capability}}}})
			default:
				spec[name] = true
			}
		}
	}
	if volumes != nil {
		spec["volumes"], first["volumeMounts"] = volumes, mounts
	}
	spec["containers"] = containers
	pod := map[string]any{"spec": spec}
	if len(labels) > 0 {
		pod["metadata"] = map[string]any{"labels": labels}
	}
	return pod
}

// PodsOf returns pods that pod security tells apart: without a risk factor, with each set of
// labels that it exempts, with each risk factor, and with all.
func PodsOf(w *World) []map[string]any {
	all := make(map[string]int)
	for _, s := range w.Deny {
		if p, ok := s.Condition.(*podRule); ok {
			for _, f := range p.p.Factors {
				all[f.Name] = 1
			}
		}
	}
	out := []map[string]any{PodOf(nil, nil)}
	for _, labels := range w.ExemptLabels() {
		out = append(out, PodOf(nil, labels))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, PodOf(map[string]int{name: 1}, nil))
	}
	return append(out, PodOf(all, nil))
}

// MayOverride reports whether some principals are of a group that an escalation allows.
func MayOverride(e *tables.Escalation, principals []string) bool {
	return slices.ContainsFunc(principals, func(p string) bool {
		group, isGroup := strings.CutPrefix(p, GroupPrefix)
		return isGroup && slices.Contains(e.Groups, group)
	})
}

// MayPass reports whether the thresholds of a statement of pod security let some pod pass. It
// panics for others.
func (s *Statement) MayPass() bool {
	return slices.ContainsFunc(s.PodSecurity().Thresholds, func(t tables.Threshold) bool { return t.Action != OutcomeDeny })
}
