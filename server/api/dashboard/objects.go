package dashboard

import (
	"context"
	"net/url"
	"slices"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// The objects of the debugging API. Their lists are never null.
type (
	userObject struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	}
	policiesObject struct {
		User            userObject         `json:"user"`
		TotalPolicies   int                `json:"total_policies"`
		Policies        []assignmentObject `json:"policies"`
		EvaluationOrder []string           `json:"evaluation_order"`
		RetrievedAt     string             `json:"retrieved_at"`
	}
	assignmentObject struct {
		Source   string       `json:"source"`
		Priority int          `json:"priority"`
		State    string       `json:"state"`
		Policy   policyObject `json:"policy"`
	}
	policyObject struct {
		PolicyName           string   `json:"policy_name"`
		Namespace            string   `json:"namespace"`
		Priority             int      `json:"priority"`
		Effect               string   `json:"effect"`
		Enabled              bool     `json:"enabled"`
		NotBefore            *string  `json:"not_before"`
		NotAfter             *string  `json:"not_after"`
		DefaultClusterAccess string   `json:"default_cluster_access"`
		CustomResourceTypes  []string `json:"custom_resource_types"`
		Hash                 string   `json:"hash"`
	}
	permissionsObject struct {
		User                   userObject               `json:"user"`
		Summary                summaryObject            `json:"summary"`
		Clusters               map[string]clusterObject `json:"clusters"`
		AccessibleClusterNames []string                 `json:"accessible_cluster_names"`
		EvaluatedAt            string                   `json:"evaluated_at"`
	}
	summaryObject struct {
		TotalClusters      int `json:"total_clusters"`
		AccessibleClusters int `json:"accessible_clusters"`
	}
	clusterObject struct {
		Permissions []string `json:"permissions"`
		AccessLevel string   `json:"access_level"`
	}
	typeObject struct {
		ResourceTypeName string `json:"resourceTypeName"`
		SourceID         string `json:"sourceId"`
		*typeDetails
	}
	typeDetails struct {
		Source         sourceObject `json:"source"`
		Fields         []string     `json:"fields"`
		ComputedFields []string     `json:"computedFields"`
		Aggregations   []string     `json:"aggregations"`
	}
	sourceObject struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Scope      string `json:"scope"`
	}
)

// Answers of the endpoints, for their schemas.
var (
	PoliciesAnswer    any = policiesObject{}
	PermissionsAnswer any = permissionsObject{}
	TypesAnswer       any = []typeObject{}
)

func user(who decision.Principal) userObject {
	return userObject{who.User, append([]string{}, who.Groups...)}
}

// listPolicies answers which policies name the caller.
func (d *Dashboard) listPolicies(ctx context.Context, p decision.Policies, who decision.Principal, _ url.Values) (any, *decision.Listing, *exchange.Refusal) {
	listing := p.Lists().ListPolicies(ctx, who)
	out := policiesObject{
		User: user(who), TotalPolicies: len(listing.Policies), RetrievedAt: instant(listing.At),
		Policies: []assignmentObject{}, EvaluationOrder: []string{},
	}
	for i := range listing.Policies {
		summary := &listing.Policies[i]
		out.Policies = append(out.Policies, assignmentObject{summary.Source, summary.Priority, string(summary.State), policy(summary)})
		out.EvaluationOrder = append(out.EvaluationOrder, summary.Name)
	}
	return out, &listing.Listing, nil
}

func policy(p *decision.PolicySummary) policyObject {
	out := policyObject{
		PolicyName: p.Name, Namespace: p.Namespace, Priority: p.Priority, Effect: "Allow", Enabled: p.Enabled,
		DefaultClusterAccess: p.Default, CustomResourceTypes: append([]string{}, p.CustomTypes...), Hash: p.Hash,
	}
	if p.Deny {
		out.Effect = "Deny"
	}
	if p.NotBefore != "" {
		out.NotBefore = &p.NotBefore
	}
	if p.NotAfter != "" {
		out.NotAfter = &p.NotAfter
	}
	return out
}

// listPermissions answers what the caller may see of clusters.
func (d *Dashboard) listPermissions(ctx context.Context, p decision.Policies, who decision.Principal, query url.Values) (any, *decision.Listing, *exchange.Refusal) {
	clusters := query["cluster"]
	if slices.Contains(clusters, "") {
		return nil, nil, exchange.BadRequest("cluster", "the parameter cluster must not be empty")
	}
	listing := p.Lists().ListPermissions(ctx, who, clusters, d.Labels)
	out := permissionsObject{
		User: user(who), Summary: summaryObject{listing.Candidates, len(listing.Accessible)},
		Clusters: map[string]clusterObject{}, AccessibleClusterNames: []string{}, EvaluatedAt: instant(listing.At),
	}
	for _, c := range listing.Accessible {
		level := "limited"
		if c.Full {
			level = "full"
		}
		out.Clusters[c.Cluster] = clusterObject{append([]string{}, c.Permissions...), level}
		out.AccessibleClusterNames = append(out.AccessibleClusterNames, c.Cluster)
	}
	return out, &listing.Listing, nil
}

// listCustomTypes answers which custom types the caller can discover.
func (d *Dashboard) listCustomTypes(ctx context.Context, p decision.Policies, who decision.Principal, query url.Values) (any, *decision.Listing, *exchange.Refusal) {
	const details = "include_source_details"
	detailed := false
	switch given := query[details]; {
	case len(given) > 1, len(given) == 1 && given[0] != "true" && given[0] != "false":
		return nil, nil, exchange.BadRequest(details, "the parameter "+details+" must be true or false, once")
	case len(given) == 1:
		detailed = given[0] == "true"
	}
	listing := p.Lists().ListCustomTypes(ctx, who)
	out := []typeObject{}
	for i := range listing.Types {
		t := &listing.Types[i]
		object := typeObject{ResourceTypeName: t.Type, SourceID: t.Namespace + "/" + t.Name}
		if detailed {
			object.typeDetails = &typeDetails{
				Source: sourceObject{t.APIVersion, t.Kind, t.Scope},
				Fields: append([]string{}, t.Fields...), ComputedFields: append([]string{}, t.Computed...),
				Aggregations: append([]string{}, t.Aggregations...),
			}
		}
		out = append(out, object)
	}
	return out, &listing.Listing, nil
}
