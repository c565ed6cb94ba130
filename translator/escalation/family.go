package escalation

import (
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is the family of clusters and identity providers.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Requestable) }

// Lower returns the table of escalations and clusters. For one cluster it leaves out the
// others, and what can only be requested on them.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	t := &tables.Requestable{Clusters: make(map[string]tables.ClusterConfig)}
	for _, c := range directory.DocumentsOf[*ClusterConfig](d) {
		if d.Cluster == "" || d.Cluster == c.Name {
			t.Clusters[c.Name] = tables.ClusterConfig{Tenant: c.Tenant, SelfApproval: c.SelfApproval, Domains: tables.Entries(c.Domains)}
		}
	}
	for _, e := range directory.DocumentsOf[*deny.BreakglassEscalation](d) {
		fits := func(g tables.PathGlob) bool { return g.Match(d.Cluster) }
		if d.Cluster == "" || slices.ContainsFunc(e.Clusters, fits) {
			t.Escalations = append(t.Escalations, row(e))
		}
	}
	slices.SortFunc(t.Escalations, tables.CompareEscalations)
	if len(t.Escalations) > 0 {
		t.Prefixes = d.SessionGroupPrefixes
	}
	return t, nil
}

func row(e *deny.BreakglassEscalation) tables.RequestableEscalation {
	return tables.RequestableEscalation{
		Namespace: e.Given.In, Name: e.Name, Source: e.At.Source(), Group: e.EscalatedGroup, Ready: e.Ready,
		Clusters: e.Clusters, Groups: tables.Entries(e.Groups),
		ApproverUsers: entries(e.Approvers.Users), ApproverGroups: entries(e.Approvers.Groups),
		RequesterProviders: entries(e.RequesterProviders), ApproverProviders: entries(e.ApproverProviders),
		SelfApproval: e.SelfApproval, Domains: tables.Entries(e.Domains), DenyPolicies: entries(e.DenyPolicyRefs),
	}
}

// entries returns the values of a list, sorted, each once.
func entries(list []syntax.Text) []string {
	values := elements.Map(list, func(text syntax.Text) string { return text.Value })
	return tables.Entries(values)
}

// Emit returns no files: all of the table is data.
func (*Family) Emit(tables.Table, emit.Options) map[string][]byte { return nil }
