package escalation

import (
	_ "embed"
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

//go:embed fields.txt
var fieldTexts string

// family is the name of the family in identities of documents.
const family = "escalation"

const (
	version      = tables.BreakglassVersion
	kindCluster  = "ClusterConfig"
	kindProvider = "IdentityProvider"
)

var kinds = syntax.KindsOf(version, decode, kindCluster, kindProvider).WithWords("breakglass").WithTexts(fieldTexts)

// ClusterConfig is a ClusterConfig, as far as it is read.
type ClusterConfig struct {
	syntax.Header // without a namespace: requests name a cluster by its name alone
	Tenant        string
	// SelfApproval is nil without blockSelfApproval.
	SelfApproval *bool
	Domains      []string      // allowedApproverDomains
	Providers    []syntax.Text // identityProviderRefs
}

// IdentityProvider is an IdentityProvider, as far as it is read.
type IdentityProvider struct {
	syntax.Header // without a namespace: others name a provider by its name alone
	Issuer        string
	Disabled      bool
}

// decode decodes a document of the family. It takes part in no decision by itself.
func decode(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h := d.Header(family, version, kind.Value.Value, kind.Key)
	h.Auxiliary = true
	c := d.Cursor(n, h.Kind, false)
	c.At = kind.Key
	c.Skip("apiVersion", "kind", "status")
	identified := false
	if m := c.RequiredMapping("metadata", "write metadata: {name: NAME}"); m != nil {
		identified = d.CustomNameInto(m, &h)
		m.Labels("labels")
		if namespace := m.Text("namespace"); namespace != nil && namespace.Value != "" {
			d.CheckNamespace(namespace)
		}
	}
	spec := c.Mapping("spec")
	c.DoneWithSlips()
	if h.Kind == kindCluster {
		out := &ClusterConfig{Header: h}
		decodeCluster(d, spec, out)
		if identified {
			d.Out = append(d.Out, out)
		}
		return
	}
	out := &IdentityProvider{Header: h}
	if issuer := spec.Text("issuer"); issuer != nil {
		out.Issuer = issuer.Value
	}
	out.Disabled, _ = spec.Boolean("disabled", false)
	spec.DoneWithSlips()
	if identified {
		d.Out = append(d.Out, out)
	}
}

func decodeCluster(d *syntax.Decoder, spec *syntax.Cursor, out *ClusterConfig) {
	if tenant := spec.Text("tenant"); tenant != nil {
		out.Tenant = tenant.Value
	}
	if block, at := spec.Boolean("blockSelfApproval", false); at != nil {
		permitted := !block
		out.SelfApproval = &permitted
	}
	domains, _ := spec.Texts("allowedApproverDomains")
	out.Domains = syntax.Values(domains)
	providers, _ := spec.Texts("identityProviderRefs")
	out.Providers = append(out.Providers, elements.Map(providers, d.Text)...)
	spec.DoneWithSlips()
}
