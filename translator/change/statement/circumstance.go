package statement

import "github.com/writ-policy/writ/translator/tables"

// circumstance is a condition on where a request is: what exempts a pod, or where an
// override is in force. Unknown namespace labels do not fit.
type circumstance struct {
	namespaces *tables.NamespaceFilter
	clusters   []tables.PathGlob
}

// Match implements Condition.
func (c *circumstance) Match(at stage, r *Request) uint8 {
	switch at {
	case stageNamespace:
		known := *r
		if known.NamespaceLabels == nil {
			known.NamespaceLabels = map[string]string{}
		}
		return Bit(matchFilter(c.namespaces, &known))
	case StageCluster:
		return Bit(matchGlobs(c.clusters, r.Cluster))
	}
	return 1
}

func (c *circumstance) filter() *tables.NamespaceFilter { return c.namespaces }

func (c *circumstance) last() stage {
	if len(c.clusters) > 0 {
		return StageCluster
	}
	return stageNamespace
}

// Mention implements Condition.
func (c *circumstance) Mention(v *Values) {
	v.addFilter(c.namespaces)
	v.Clusters.addGlobs(c.clusters)
}

// Describe implements Condition.
func (c *circumstance) Describe(*JSON) {}

// Without implements Condition.
func (c *circumstance) Without(Condition) Condition { return c }

// InNamespaces returns a statement that fits requests in the namespaces of a filter.
func InNamespaces(f *tables.NamespaceFilter) *Statement {
	return &Statement{Condition: &circumstance{namespaces: f}}
}

// OverrideStatement fits requests for which an escalation may override pod security.
func OverrideStatement(e *tables.Escalation) *Statement {
	return &Statement{Condition: &circumstance{e.NamespaceScope, e.Clusters}}
}

// Escalations returns the escalations of the revision, which the caller must not change.
func (w *World) Escalations() []*tables.Escalation {
	deny := tables.Of[*tables.Deny](w.Revision.Tables)
	if deny == nil {
		return nil
	}
	var out []*tables.Escalation
	for i := range deny.Escalations {
		out = append(out, &deny.Escalations[i])
	}
	return out
}
