package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// The folders of what deny policies and escalations are compiled to. The third has the
// resources that deny policies name, which matter to requests only through the policies.
const (
	denyFolder          = "compiled/deny/"
	escalationFolder    = "compiled/escalations/"
	denyResourcesFolder = "compiled/deny_resources/"
)

// isDenial reports whether the module at a path is of deny policies or escalations.
func isDenial(path string) bool {
	return strings.HasPrefix(path, denyFolder) || strings.HasPrefix(path, escalationFolder) ||
		strings.HasPrefix(path, denyResourcesFolder)
}

// denyRules are the deny policies and escalations of one revision.
type denyRules struct {
	denials   *match.Denials
	files     map[string][sha256.Size]byte // hashes of their modules, by path
	resources map[string][]string          // as in queries
}

func denyRulesOf(b *bundles.Bundle, e *Engine) denyRules {
	d := denyRules{e.denials, make(map[string][sha256.Size]byte), e.queries.denyResources}
	for path, content := range b.Files {
		if decidesAccess(path) && isDenial(path) {
			d.files[path] = sha256.Sum256(content)
		}
	}
	return d
}

// changedPaths returns the paths of modules of policies and escalations that differ.
func (d *denyRules) changedPaths(before *denyRules) map[string]bool {
	paths := make(map[string]bool)
	for _, files := range [...]map[string][sha256.Size]byte{d.files, before.files} {
		for path := range files {
			now, isNow := d.files[path]
			was, isBefore := before.files[path]
			if (isNow != isBefore || now != was) && !strings.HasPrefix(path, denyResourcesFolder) {
				paths[path] = true
			}
		}
	}
	return paths
}

// denyChange states which requests deny policies may decide differently in two revisions.
type denyChange struct {
	isAny bool
	// isUnknown means that a module changed that belongs to no known document.
	isUnknown   bool
	policies    *match.Denials      // those that changed, as they were and as they are
	resources   map[string][]string // that policies of both revisions name
	escalations map[string]bool     // the names of those that changed
}

// changeSince compares modules rather than documents: they are what decides.
func (d *denyRules) changeSince(before *denyRules) *denyChange {
	paths := d.changedPaths(before)
	c := &denyChange{isAny: len(paths) > 0, escalations: make(map[string]bool), resources: make(map[string][]string)}
	var policies []tables.DenyPolicy
	known := make(map[string]bool)
	for _, rules := range [...]*denyRules{d, before} {
		for _, policy := range rules.denials.Policies() {
			if path := denyFolder + emit.FileName(policy.Name) + ".rego"; paths[path] {
				known[path] = true
				policies = append(policies, policy)
			}
		}
		for _, escalation := range rules.denials.Escalations() {
			if path := escalationFolder + emit.FileName(escalation.Name) + ".rego"; paths[path] {
				known[path] = true
				c.escalations[escalation.Name] = true
			}
		}
		for word, named := range rules.resources {
			c.resources[word] = append(c.resources[word], named...)
		}
	}
	c.isUnknown, c.policies = len(known) != len(paths), match.DenialsOf(policies)
	return c
}

// affects reports whether a policy or an escalation that changed can concern the request.
func (c *denyChange) affects(r *decision.Request) bool {
	return c.isAny && (c.isUnknown || c.escalations[r.Escalation] || c.policies.CanConcern(r, match.FormsOf(r, c.resources), nil))
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
