package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// MissingFacts returns the facts that deny policies in scope read and the request lacks.
// It returns an error if the evaluation fails.
func (e *Engine) MissingFacts(ctx context.Context, r *decision.Request) (decision.Facts, error) {
	var facts decision.Facts
	if !e.features.Has(tables.FeatureDenyPolicies) || r.Path != "" {
		return facts, nil
	}
	facts.NamespaceLabels = e.features.Has(tables.FeatureNamespaceLabels) && r.Namespace != "" && r.NamespaceLabels == nil
	if r.Pod != nil || r.PodError != "" || !concernsPod(r) {
		return facts, nil
	}
	now, named := e.now(), e.named(r)
	v := evaluation{request: named, sendRequest: true, forms: match.FormsOf(r, e.queries.denyResources), lent: e.lend(named, dates.Of(now))}
	if v.lent.debug != nil {
		return decision.Facts{}, nil // it decides before all policies
	}
	queries, err := e.queries.wait(ctx)
	if err != nil {
		return facts, err
	}
	value, err := e.query(ctx, &queries.wantsPod, v, now)
	if err != nil {
		return facts, err
	}
	pod, ok := value.(ast.Boolean)
	if !ok {
		return facts, errors.New("wants_pod did not evaluate to a boolean")
	}
	facts.Pod = bool(pod)
	return facts, nil
}

// concernsPod reports whether some form of the request is about a subresource of a pod.
func concernsPod(r *decision.Request) bool {
	if r.APIGroup != "" || !slices.Contains(pods, strings.ToLower(r.Resource)) {
		return false
	}
	return rule.Subresource(r.Verb, r.Subresource) != ""
}

// pods are the lower-case words for the resource pods.
var pods = tables.KindSynonyms(podResource)

const podResource = "pods"

// unknownFacts returns what the restrictions of hits read of the object that a request names
// and does not describe. Nothing is known of an object that is being created, and a request
// for many objects has no labels.
func unknownFacts(r *decision.Request, hits []match.Hit) decision.Facts {
	verb := strings.ToLower(r.Verb)
	if r.Name == "" || r.Resource == "" || r.Subresource == "" && !slices.Contains(onObjects, verb) {
		return decision.Facts{}
	}
	var reads tables.Reads
	for _, h := range hits {
		reads |= h.Restrictions().Reads()
	}
	return decision.Facts{
		Labels: reads&tables.ReadsLabels != 0,
		Node:   reads&tables.ReadsNodes != 0 && r.APIGroup == "" && slices.Contains(pods, strings.ToLower(r.Resource)),
	}.Lacking(r)
}

// onObjects are the verbs of requests about one object that exists.
var onObjects = []string{"get", "update", "patch", "delete"}
