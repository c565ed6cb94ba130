package tables

// Key implements Table.
func (*Access) Key() string { return "access" }

// IsEmpty is false: the access tables are part of every bundle.
func (*Access) IsEmpty() bool { return false }

// Features implements Table.
func (*Access) Features() Features { return nil }

// Entrypoint implements Table.
func (*Access) Entrypoint() string { return "writ/access/decision" }

// Key implements Table. The package of the generated rules is compiled.deny.
func (*Deny) Key() string { return "deny_tables" }

// IsEmpty implements Table.
func (d *Deny) IsEmpty() bool { return len(d.Policies)+len(d.Escalations)+len(d.Owned) == 0 }

// Features implements Table.
func (d *Deny) Features() Features {
	return Features{FeatureDenyPolicies: len(d.Policies) > 0, FeatureNamespaceLabels: d.readsNamespaceLabels()}
}

// Entrypoint is empty: deny policies are part of the access decision.
func (*Deny) Entrypoint() string { return "" }

// JSON implements Table.
func (d *Deny) JSON() (Text, error) { return wholeJSON(d) }

// Key implements Table.
func (*Requestable) Key() string { return "requestable" }

// IsEmpty implements Table.
func (r *Requestable) IsEmpty() bool { return len(r.Escalations)+len(r.Clusters) == 0 }

// Features implements Table.
func (*Requestable) Features() Features { return nil }

// Entrypoint is empty: no decision point asks who may request.
func (*Requestable) Entrypoint() string { return "" }

// JSON implements Table.
func (r *Requestable) JSON() (Text, error) { return wholeJSON(r) }

// Key implements Table. The package of the generated rules is compiled.visibility.
func (*Visibility) Key() string { return "visibility_tables" }

// IsEmpty implements Table.
func (v *Visibility) IsEmpty() bool { return len(v.Policies)+len(v.Sources) == 0 }

// Features implements Table.
func (v *Visibility) Features() Features { return Features{FeatureVisibility: !v.IsEmpty()} }

// Entrypoint implements Table.
func (*Visibility) Entrypoint() string { return "writ/visibility/decision" }

// JSON implements Table.
func (v *Visibility) JSON() (Text, error) { return wholeJSON(v) }

// Key implements Table. The package of the generated rules is compiled.gateway.
func (*Gateway) Key() string { return "effective" }

// IsEmpty implements Table. Routes alone count as empty: traffic reaches them
// through a gateway.
func (g *Gateway) IsEmpty() bool { return len(g.Gateways)+len(g.Policies) == 0 }

// Features implements Table.
func (g *Gateway) Features() Features { return Features{FeatureGateway: !g.IsEmpty()} }

// Entrypoint implements Table.
func (*Gateway) Entrypoint() string { return "writ/gateway/decision" }

// JSON implements Table.
func (g *Gateway) JSON() (Text, error) { return wholeJSON(g) }
