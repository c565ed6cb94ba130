package question

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Escalations answers who may request which group, and who may approve that.
type Escalations struct {
	Escalations []EscalationTerms `json:"escalations"`
}

// EscalationTerms is an escalation with who may request and approve it. SelfApproval and
// Domains hold for clusters that PerCluster does not list.
type EscalationTerms struct {
	Namespace    string         `json:"namespace"`
	Name         string         `json:"name"`
	Group        string         `json:"group"`
	Clusters     []string       `json:"clusters"`
	Ready        *bool          `json:"ready"` // nil where it is not known
	Request      Requesters     `json:"request"`
	Approve      Approvers      `json:"approve"`
	PerCluster   []ClusterTerms `json:"perCluster"`
	SelfApproval bool           `json:"selfApproval"`
	Domains      []string       `json:"domains"`
	// Both are the groups whose members may request and approve, somewhere.
	Both         []string `json:"both"`
	DenyPolicies []string `json:"denyPolicies"`
	// Sessions is how many sessions of the escalation are valid now.
	Sessions int    `json:"sessions"`
	Source   string `json:"source"`
}

// Requesters are those who may request. IdentityProviders is null for any.
type Requesters struct {
	Groups            []string  `json:"groups"`
	IdentityProviders *[]string `json:"identityProviders"`
}

// Approvers are those who may approve. IdentityProviders is null for any.
type Approvers struct {
	Users             []string  `json:"users"`
	Groups            []string  `json:"groups"`
	IdentityProviders *[]string `json:"identityProviders"`
}

// ClusterTerms are the terms on one cluster.
type ClusterTerms struct {
	Cluster      string   `json:"cluster"`
	SelfApproval bool     `json:"selfApproval"`
	Domains      []string `json:"domains"`
}

// EscalationsOf answers from the tables of a revision at an instant. An empty name stands
// for all escalations, and an empty cluster for all clusters: with one, only the escalations
// that fit it are listed, with the terms there.
func EscalationsOf(list tables.List, name, cluster string, at dates.Instant) *Escalations {
	out := &Escalations{Escalations: []EscalationTerms{}}
	t := tables.Of[*tables.Requestable](list)
	if t == nil {
		return out
	}
	sessions := make(map[string]int) // by owner
	for s := range tables.Of[*tables.Sessions](list).Valid(at) {
		sessions[s.Owner]++
	}
	for i := range t.Escalations {
		e := &t.Escalations[i]
		if name != "" && name != e.Name && name != e.Namespace+"/"+e.Name || cluster != "" && !fitsCluster(e, cluster) {
			continue
		}
		terms := termsOf(e, t.Clusters, cluster)
		terms.Sessions = sessions[e.Name]
		out.Escalations = append(out.Escalations, terms)
	}
	return out
}

func fitsCluster(e *tables.RequestableEscalation, cluster string) bool {
	return slices.ContainsFunc(e.Clusters, func(g tables.PathGlob) bool { return g.Match(cluster) })
}

// termsOf returns the terms of an escalation, those of one cluster unless it is empty.
func termsOf(e *tables.RequestableEscalation, clusters map[string]tables.ClusterConfig, only string) EscalationTerms {
	terms := EscalationTerms{
		Namespace: e.Namespace, Name: e.Name, Group: e.Group, Source: e.Source, Ready: e.Ready,
		Clusters: tables.Entries(statement.GlobTexts(e.Clusters)), PerCluster: []ClusterTerms{},
		Request: Requesters{listed(e.Groups), orNil(e.RequesterProviders)},
		Approve: Approvers{listed(e.ApproverUsers), listed(e.ApproverGroups), orNil(e.ApproverProviders)},
		Both:    []string{}, DenyPolicies: listed(e.DenyPolicies),
	}
	general := termsOn(e, tables.ClusterConfig{}, "")
	self := hasOther(e, clusters) && general.SelfApproval
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		if only != "" && name != only || !fitsCluster(e, name) {
			continue
		}
		on := termsOn(e, clusters[name], name)
		terms.PerCluster = append(terms.PerCluster, on)
		self = self || on.SelfApproval
		if only != "" {
			general, self = on, on.SelfApproval
		}
	}
	terms.SelfApproval, terms.Domains = general.SelfApproval, general.Domains
	if len(terms.Domains) > 0 {
		terms.Approve.Users = slices.DeleteFunc(terms.Approve.Users, func(user string) bool { return !InDomains(user, terms.Domains) })
	}
	if self {
		for _, group := range e.Groups {
			if slices.Contains(e.ApproverGroups, group) {
				terms.Both = append(terms.Both, statement.GroupPrefix+group)
			}
		}
	}
	return terms
}

// hasOther reports whether there may be a cluster without a ClusterConfig on which the
// escalation can be requested.
func hasOther(e *tables.RequestableEscalation, clusters map[string]tables.ClusterConfig) bool {
	return slices.ContainsFunc(e.Clusters, func(g tables.PathGlob) bool {
		name, literal := g.Literal()
		_, known := clusters[name]
		return !literal || !known
	})
}

// termsOn returns the terms on a cluster: those of the escalation before those of the
// cluster.
func termsOn(e *tables.RequestableEscalation, c tables.ClusterConfig, name string) ClusterTerms {
	out := ClusterTerms{Cluster: name, SelfApproval: true, Domains: listed(e.Domains)}
	switch {
	case e.SelfApproval != nil:
		out.SelfApproval = *e.SelfApproval
	case c.SelfApproval != nil:
		out.SelfApproval = *c.SelfApproval
	}
	if len(out.Domains) == 0 {
		out.Domains = listed(c.Domains)
	}
	return out
}

// InDomains reports whether an address is of one of some domains, in any case.
func InDomains(address string, domains []string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		return strings.HasSuffix(strings.ToLower(address), "@"+strings.ToLower(domain))
	})
}

// listed returns a copy of a list, empty for nil.
func listed(list []string) []string { return append([]string{}, list...) }

// orNil returns a list, nil for an empty one.
func orNil(list []string) *[]string {
	if len(list) == 0 {
		return nil
	}
	return &list
}

// Table returns the answer for people: a paragraph for each escalation.
func (e *Escalations) Table() string {
	var out diag.Lines
	if len(e.Escalations) == 0 {
		out.Addf("No escalation.")
	}
	for i := range e.Escalations {
		t := &e.Escalations[i]
		clusters := "no cluster"
		if len(t.Clusters) > 0 {
			clusters = strings.Join(statement.Shorten(t.Clusters), ", ")
		}
		out.Addf("%s: group %s on %s (%s)", t.locator(), t.Group, clusters, t.Source)
		rows := [][]string{
			{"  request", textOf(principals(t.Request.Groups, nil), t.Request.IdentityProviders)},
			{"  approve", textOf(principals(t.Approve.Groups, t.Approve.Users), t.Approve.IdentityProviders)},
			{"  self-approval", termsText(t.SelfApproval, t.Domains)},
		}
		for _, c := range t.PerCluster {
			if c.SelfApproval != t.SelfApproval || !slices.Equal(c.Domains, t.Domains) {
				rows = append(rows, []string{"  on " + c.Cluster, termsText(c.SelfApproval, c.Domains)})
			}
		}
		for _, more := range []struct {
			name string
			list []string
		}{{"  in both", t.Both}, {"  deny policies", t.DenyPolicies}} {
			if len(more.list) > 0 {
				rows = append(rows, []string{more.name, strings.Join(statement.Shorten(more.list), ", ")})
			}
		}
		if t.Ready != nil && !*t.Ready {
			rows = append(rows, []string{"  ready", "no: it cannot be requested"})
		}
		if t.Sessions > 0 {
			rows = append(rows, []string{"  sessions", strconv.Itoa(t.Sessions)})
		}
		out.AddTable(rows)
	}
	return out.String()
}

// locator is the name of the escalation, after its namespace if it has one.
func (t *EscalationTerms) locator() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "/" + t.Name
}

func principals(groups, users []string) []string {
	out := elements.Map(groups, func(group string) string { return "group " + group })
	return append(out, elements.Map(users, func(user string) string { return "user " + user })...)
}

// textOf lists principals, and the identity providers that they must come from.
func textOf(list []string, providers *[]string) string {
	if len(list) == 0 {
		return "no user or group"
	}
	text := strings.Join(statement.Shorten(list), ", ")
	if providers != nil {
		text += " (from " + strings.Join(statement.Shorten(*providers), ", ") + ")"
	}
	return text
}

func termsText(selfApproval bool, domains []string) string {
	text := "not permitted"
	if selfApproval {
		text = "permitted"
	}
	if len(domains) > 0 {
		text += "; addresses of approvers end in @" + strings.Join(statement.Shorten(domains), " or @")
	}
	return text
}
