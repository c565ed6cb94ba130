package tables

// Scope is what appliesTo of a deny policy compares of a request at the access point: texts,
// empty where a request has none.
type Scope struct{ Cluster, Tenant, Session, Escalation string }

// The indices of ScopeAttributes.
const (
	ScopeCluster = iota
	ScopeTenant
	ScopeSession
	ScopeEscalation
)

// ScopeAttribute is the names of a member of Scope. Decoders, emitters, projections and searches
// loop over ScopeAttributes, so that a new member is added here, and to the structs whose fields
// it has: DenyPolicy, the request of package decision, and the footprint.
type ScopeAttribute struct {
	Key  string // of a request
	List string // of appliesTo and of DenyPolicy
	// IsReferred states that an escalation which refers to a policy stands for the member.
	IsReferred bool
}

// ScopeAttributes are the members of Scope, in the order in which policies, requests and
// questions state them.
var ScopeAttributes = [...]ScopeAttribute{
	ScopeCluster: {"cluster", "clusters", false}, ScopeTenant: {"tenant", "tenants", false},
	ScopeSession: {"session", "sessions", true}, ScopeEscalation: {"escalation", "escalationRefs", true},
}

// At returns a member by its index in ScopeAttributes.
func (s *Scope) At(i int) *string {
	switch i {
	case ScopeCluster:
		return &s.Cluster
	case ScopeTenant:
		return &s.Tenant
	case ScopeSession:
		return &s.Session
	default:
		return &s.Escalation
	}
}

// Scope returns the lists of a policy for ScopeAttributes, in their order.
func (p *DenyPolicy) Scope() [len(ScopeAttributes)]*[]PathGlob {
	return [...]*[]PathGlob{ScopeCluster: &p.Clusters, ScopeTenant: &p.Tenants, ScopeSession: &p.Sessions, ScopeEscalation: &p.EscalationRefs}
}

// ScopeKeys returns the keys of ScopeAttributes in a request, after others.
func ScopeKeys(others ...string) []string {
	for i := range ScopeAttributes {
		others = append(others, ScopeAttributes[i].Key)
	}
	return others
}

// Tenants leads from clusters to their tenants. The nil Tenants has none.
type Tenants map[string]string

// TenantsOf returns the tenants of clusters. The empty cluster is that of the bundle.
func TenantsOf(list List) Tenants {
	t := Of[*Requestable](list)
	if t == nil {
		return nil
	}
	out := make(Tenants)
	for name, c := range t.Clusters {
		if c.Tenant == "" {
			continue
		}
		out[name] = c.Tenant
		if access := Of[*Access](list); access != nil && access.Cluster == name {
			out[""] = c.Tenant
		}
	}
	return out
}

// In returns the scope of a request with the tenant of its cluster, unless it states one.
func (t Tenants) In(s Scope) Scope {
	if s.Tenant == "" {
		s.Tenant = t[s.Cluster]
	}
	return s
}
