package deny

import (
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// impersonation adds, for each way in which an entry denies, a request that it denies,
// and one with another verb that it does not.
func (t *denySamples) impersonation(r *tables.ImpersonationRule) {
	note := fmt.Sprintf("impersonation rule %d", r.Rule)
	add := func(suffix string, hit map[string]any) {
		t.denied[note+suffix] = map[string]any{"stage": 1, "rule": r.Rule, "request": hit}
		miss := maps.Clone(hit)
		miss["verb"] = emit.StrangeVerb
		t.passed["beside "+note+suffix] = map[string]any{"stage": 1, "rule": r.Rule, "request": miss}
	}
	if r.Identity == nil && r.Action == nil {
		for suffix, verb := range map[string]string{"": impersonate, ", a mode": impersonatePrefix + "writ", ", an action": actionPrefix + "writ:get"} {
			hit := maps.Clone(t.base)
			hit["verb"], hit["resource"] = verb, "users"
			add(suffix, hit)
		}
	}
	if r.Identity != nil {
		add(", an identity", t.identity(r.Identity))
	}
	if r.Action != nil {
		add(", an action", t.action(r.Action))
	}
}

func (t *denySamples) identity(i *tables.ImpersonatedIdentity) map[string]any {
	hit := maps.Clone(t.base)
	hit["verb"], hit["resource"] = i.Verbs[0], firstOr(i.Resources, "users")
	if len(i.Names) > 0 {
		hit["name"] = i.Names[0].Sample()
	}
	if len(i.ExtraKeys) > 0 {
		hit["subresource"] = i.ExtraKeys[0].Sample()
	}
	if f := i.Namespaces; f != nil && len(f.Patterns) > 0 {
		hit["namespace"] = f.Patterns[0].Sample()
	} else if f != nil {
		// Labels that are not known are denied as well.
		hit["namespace"] = "writ-namespace"
		delete(hit, "namespaceLabels")
	}
	return hit
}

func (t *denySamples) action(a *tables.ImpersonatedAction) map[string]any {
	hit := maps.Clone(t.base)
	hit["verb"], hit["apiGroup"] = actionPrefix+a.Modes[0]+":"+firstOr(a.Verbs, "get"), firstOr(a.Groups, "")
	hit["resource"] = "pods"
	if len(a.Resources) > 0 {
		resource := &a.Resources[0]
		hit["resource"], hit["subresource"] = firstOr(resource.Resources, "pods"), firstOr(resource.Subresources, "")
		if resource.NeedsSubresource {
			hit["subresource"] = "status"
		}
	}
	if hit["resource"] == "" {
		hit["path"] = emit.StrangePath
	}
	return hit
}
