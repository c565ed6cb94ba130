package deny

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// impersonation adds a form for each way in which an entry denies.
func (t *denySamples) impersonation(r *tables.ImpersonationRule) {
	fit := func(q request) fit { return t.fitOf(rule.Impersonation(r), q) }
	add := func(suffix string, hit request, vary func(v *variations)) {
		f := form{
			fmt.Sprintf("impersonation rule %d%s", r.Rule, suffix), hit,
			[]any{t.policy.Precedence, t.policy.Name, 1, r.Rule, r.Source}, []any{r.Reason}, fit,
		}
		v := variations{base: hit}
		v.add("another verb", "verb", emit.StrangeVerb)
		vary(&v)
		t.scopeVariations(&v)
		f.add(t, testRule, v.list)
	}
	if r.Identity == nil && r.Action == nil {
		hit := maps.Clone(t.base)
		hit["verb"], hit["resource"] = impersonate, "users"
		add("", hit, func(v *variations) {
			for _, verb := range []string{impersonatePrefix + "writ", actionPrefix + "writ:get", impersonate + "z"} {
				v.add(verb, "verb", verb)
			}
			v.add("another resource", "resource", emit.StrangeResource)
		})
	}
	if i := r.Identity; i != nil {
		add(", an identity", t.identity(i), func(v *variations) {
			v.words("verb", i.Verbs, emit.StrangeVerb)
			v.words("resource", i.Resources, emit.StrangeResource)
			v.globs("name", i.Names)
			v.globs("subresource", i.ExtraKeys)
			v.namespaces(i.Namespaces)
		})
	}
	if a := r.Action; a != nil {
		if len(a.Resources) == 0 {
			add(", an action", t.action(a, nil), func(v *variations) { varyAction(v, a, nil) })
		}
		for i := range a.Resources {
			add(fmt.Sprintf(", an action %d", i), t.action(a, &a.Resources[i]), func(v *variations) { varyAction(v, a, &a.Resources[i]) })
		}
	}
}

func (t *denySamples) identity(i *tables.ImpersonatedIdentity) request {
	hit := maps.Clone(t.base)
	hit["verb"], hit["resource"] = i.Verbs[0], firstOr(i.Resources, "users")
	if len(i.Names) > 0 {
		hit["name"] = i.Names[0].Sample()
	}
	if len(i.ExtraKeys) > 0 {
		hit["subresource"] = i.ExtraKeys[0].Sample()
	}
	place(hit, i.Namespaces)
	return hit
}

func (t *denySamples) action(a *tables.ImpersonatedAction, resource *tables.DenyResource) request {
	hit := maps.Clone(t.base)
	hit["verb"], hit["apiGroup"] = actionPrefix+a.Modes[0]+":"+firstOr(a.Verbs, "get"), firstOr(a.Groups, "")
	hit["resource"] = "pods"
	if resource != nil {
		hit.aim(resource)
	}
	if hit["resource"] == "" {
		hit["path"] = emit.StrangePath
	}
	return hit
}

func varyAction(v *variations, a *tables.ImpersonatedAction, resource *tables.DenyResource) {
	verbs := a.Verbs
	if verbs == nil {
		verbs = []string{"get", "a:b", ""}
	}
	for _, mode := range append([]string{"writ"}, a.Modes...) {
		for _, verb := range append([]string{emit.StrangeVerb}, verbs...) {
			v.add(mode+":"+verb, "verb", actionPrefix+mode+":"+verb)
		}
	}
	v.words("apiGroup", a.Groups, emit.StrangeGroup)
	resource = cmp.Or(resource, new(tables.DenyResource))
	v.words("resource", resource.Resources, emit.StrangeResource)
	v.words("subresource", resource.Subresources, "writ-other")
	v.add("no subresource", "subresource", "")
}
