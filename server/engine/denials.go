package engine

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/tables"
)

// denyRules are the deny policies and escalations of one revision.
type denyRules struct {
	denials   *match.Denials
	resources map[string][]string // as in queries
	hashes    map[string]string   // of the rows
}

func denyRulesOf(denials *match.Denials, resources map[string][]string) *denyRules {
	hashes := make(map[string]string)
	for _, policy := range denials.Policies() {
		hashes[policyKey+policy.Name] += tables.HashOf(&policy)
	}
	for _, escalation := range denials.Escalations() {
		hashes[escalationKey+escalation.Name] += tables.HashOf(&escalation)
	}
	return &denyRules{denials, resources, hashes}
}

// The beginnings of the keys of denyRules.hashes, before the name of a document.
const (
	policyKey     = "policy "
	escalationKey = "escalation "
)

// denyChange states which requests deny policies may decide differently in two revisions.
type denyChange struct {
	isAny       bool
	policies    *match.Denials      // those that changed, as they were and as they are
	resources   map[string][]string // that policies of both revisions name
	escalations map[string]bool     // the names of those that changed
}

func (d *denyRules) changeSince(before *denyRules) *denyChange {
	c := &denyChange{escalations: make(map[string]bool), resources: make(map[string][]string)}
	var policies []tables.DenyPolicy
	for _, rules := range [...]*denyRules{d, before} {
		for _, policy := range rules.denials.Policies() {
			if key := policyKey + policy.Name; d.hashes[key] != before.hashes[key] {
				policies = append(policies, policy)
			}
		}
		for _, escalation := range rules.denials.Escalations() {
			if key := escalationKey + escalation.Name; d.hashes[key] != before.hashes[key] {
				c.escalations[escalation.Name] = true
			}
		}
		for word, named := range rules.resources {
			c.resources[word] = append(c.resources[word], named...)
		}
	}
	c.isAny, c.policies = len(policies)+len(c.escalations) > 0, match.DenialsOf(policies)
	return c
}

// affects reports whether a policy or an escalation that changed can concern the request.
func (c *denyChange) affects(r *decision.Request) bool {
	return c.isAny && (c.escalations[r.Escalation] || c.policies.CanConcern(r, match.FormsOf(r, c.resources), nil))
}

// askDenyResources are the resources that deny policies name, by the lower-case words
// for the same kind. The document is undefined if none is named.
const askDenyResources = "data.compiled.deny_resources.named"

// denyResources reads askDenyResources from compiled modules.
func denyResources(ctx context.Context, compiler *ast.Compiler) (map[string][]string, error) {
	result, err := rego.New(rego.Query(askDenyResources), rego.Compiler(compiler)).Eval(ctx)
	if err != nil || len(result) == 0 {
		return nil, err
	}
	value, err := ast.InterfaceToValue(result[0].Expressions[0].Value)
	if err != nil {
		return nil, err
	}
	var named map[string][]string
	if err := readTerm(value, &named); err != nil {
		return nil, fmt.Errorf("read %s: %w", askDenyResources, err)
	}
	return named, nil
}
