package gateway

import (
	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

const groupGateway = "gateway.networking.k8s.io"

// holds reports whether the merge condition of a block is true of what has been
// folded by now. One that fails does not, and is recorded: it is an error if
// there is such a path.
func (s *state) holds(p *inherited, b *document.Block, ownDefaults bool) bool {
	condition := p.condition(b)
	if condition == nil {
		return false // its text is invalid, which is reported where it was read
	}
	holds, err := condition.Holds(s.self(ownDefaults))
	if err != nil {
		s.failures = append(s.failures, failure{p, b, err})
		return false
	}
	return holds
}

// condition is a block's merge condition; nil where its text has mistakes.
func (p *inherited) condition(b *document.Block) *cel.Merge {
	if compiled, ok := p.conditions[b]; ok {
		return compiled
	}
	compiled, _ := cel.CompileMerge(b.When.Value)
	if p.conditions == nil {
		p.conditions = make(map[*document.Block]*cel.Merge)
	}
	p.conditions[b] = compiled
	return compiled
}

// self is the lower policy as merge conditions see it: the rules folded by now under
// the name and target of the lowest policy. Where nothing is lower, not even defaults
// of the policy itself, it has no name and an empty spec.
func (s *state) self(ownDefaults bool) map[string]any {
	spec := make(map[string]any)
	metadata := map[string]any{"name": "", "namespace": ""}
	if s.lower > 0 || ownDefaults {
		lowest := s.policies[len(s.policies)-1].Document
		metadata["name"], metadata["namespace"] = lowest.Name, lowest.Namespace
		target := map[string]any{"group": groupGateway, "kind": lowest.Target.Kind, "name": lowest.Target.Name.Value}
		if section := lowest.Target.Section.Value; section != "" {
			target["sectionName"] = section
		}
		spec["targetRef"] = target
	}
	for key, h := range s.rules {
		tables.Nest(spec, key, h.rule.Value)
	}
	return map[string]any{"apiVersion": tables.PolicyVersion(s.kind), "kind": s.kind, "metadata": metadata, "spec": spec}
}
