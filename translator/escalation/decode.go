package escalation

import (
	_ "embed"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

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
	h, c := d.Begin(n, kind, family, version, "status")
	h.Auxiliary = true
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
	var out syntax.Document
	if h.Kind == kindCluster {
		cluster := &ClusterConfig{Header: h}
		decodeCluster(d, spec, cluster)
		out = cluster
	} else {
		provider := &IdentityProvider{Header: h}
		provider.Issuer = spec.Text("issuer").Text()
		provider.Disabled, _ = spec.Boolean("disabled", false)
		spec.DoneWithSlips()
		out = provider
	}
	if identified {
		d.Out = append(d.Out, out)
	}
}

func decodeCluster(d *syntax.Decoder, spec *syntax.Cursor, out *ClusterConfig) {
	out.Tenant = spec.Text("tenant").Text()
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
